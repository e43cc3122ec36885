/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.h - the table of formats: one row in rows.def and one file for each
 * kind of container.
 *
 * Rows are tried in their order; see docs/formats/ for what they read.
 */
#ifndef BFS_CONTAINER_FORMAT_H
#define BFS_CONTAINER_FORMAT_H

#include "base/err.h"
#include "chunk/plan.h"
#include "container/parts.h"
#include "source/dir.h"
#include "source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_CONTAINER_PROBE 512	/* bytes that a probe may look at */
#define BFS_CONTAINER_MIN 4	/* shorter files are no container */

struct bfs_container;
struct bfs_examiner;

/* Files of a container that is a directory: all in a folder of it whose names
 * end so. */
struct bfs_dir_part {
	const char *folder;		/* "": the directory itself */
	const char *ending;
};

struct bfs_format {
	const char *name;		/* "b2frame", "chunk", ... */
	/* What names of its files end with, up to a NULL: a hint only. */
	const char *endings[8];
	/* Whether head (the first head_len bytes, BFS_CONTAINER_PROBE if
	 * there) of a file of file_len bytes is such a container. `name` is
	 * the file's name (a hint) and may be NULL. May read more of source
	 * for formats without magic. */
	bool (*probe)(struct bfs_source *source, const uint8_t *head,
		      size_t head_len, const char *name);
	/* Whether the file ends before its head says; or NULL. */
	bool (*is_short)(const uint8_t *head, size_t head_len,
			 uint64_t file_len);
	/* The probe of containers that are directories; `probe` is NULL
	 * then. A glance: one or two openat. */
	bool (*probe_dir)(struct bfs_dir *dir);
	/* Of a directory: it stays one, and the container's entries stand
	 * among its own. */
	bool beside;
	/* Of a directory: the file in it that a writer changes with the
	 * content; one that tells a damaged container without it. */
	const char *index_name, *index_else;
	/* Of a directory: the files that it may consist of, up to a NULL. */
	const struct bfs_dir_part *parts;
	/* Fills container (zeroed, source set; for a directory dir, and the
	 * row sets source). Damage is not a failure: it sets status and
	 * why, and leaves what can be served. */
	enum bfs_err (*open)(struct bfs_container *container, const char *name,
			     struct bfs_diag *diag);
	/* Where chunk n (< n_chunks) lies. */
	enum bfs_err (*span)(struct bfs_container *container, uint64_t n,
			     struct bfs_span *ret_span, struct bfs_diag *diag);
	/* The source of a stored chunk, referenced; NULL: the container's. */
	enum bfs_err (*source)(struct bfs_container *container,
			       const struct bfs_span *span,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag);
	/* Before any of a chunk's bytes are used (checksums); NULL: nothing
	 * to verify. */
	enum bfs_err (*verify)(struct bfs_container *container,
			       const struct bfs_span *span,
			       struct bfs_diag *diag);
	/* What is wrong with parts that are neither chunks nor members
	 * (examine.h); or NULL. */
	enum bfs_err (*examine)(struct bfs_container *container,
				const struct bfs_examiner *examiner,
				struct bfs_diag *diag);
	/* bfs_source_rest of files beside the container's own source; or
	 * NULL. */
	void (*rest)(struct bfs_container *container);
	void (*close)(struct bfs_container *container);
};

#define BFS_CONTAINER_ROW(stem) \
	extern const struct bfs_format bfs_container_##stem;
#include "container/rows.def"
#undef BFS_CONTAINER_ROW

extern const struct bfs_format *const bfs_formats[];
extern const size_t bfs_n_formats;

/* Whether a file's name (or NULL) says that it is of this format. */
bool bfs_format_claims(const struct bfs_format *format, const char *name);
/* The format that a file's name (or NULL) says it is (the name of a row), or
 * NULL: "x.b2nd" is a "b2frame". */
const char *bfs_claimed_container(const char *name);

#endif
