/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container.h - an opened container, whatever its format (format.h).
 *
 * A container says where chunk N lies and what surrounds the chunks; it
 * decodes nothing but its own index. Immutable after opening, except for the
 * index and the sizes of variable chunks, which guard themselves.
 */
#ifndef BFS_CONTAINER_CONTAINER_H
#define BFS_CONTAINER_CONTAINER_H

#include "chunk/plan.h"
#include "container/format.h"
#include "container/parts.h"
#include "base/err.h"
#include "cache/cache.h"
#include "source/source.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bfs_container;
struct bfs_index;
struct bfs_nametree;

enum bfs_status { BFS_GOOD, BFS_DAMAGED, BFS_UNSUPPORTED };

struct bfs_container {
	const struct bfs_format *ops;
	struct bfs_source *source;	/* the container's own bytes */
	struct bfs_dir *dir;		/* of a directory; else NULL */
	struct bfs_guard guard;		/* of a directory's files */
	void *priv;			/* the row's own */
	char *name;			/* it was opened by; owned, or NULL */
	const char *format;		/* shown to users */
	char format_detail[48];		/* "2, contiguous", may be empty */
	enum bfs_status status;
	struct bfs_diag why;		/* when status is not GOOD */

	uint64_t nbytes;		/* of all chunks, decoded */
	bool nbytes_known;
	uint64_t claim;			/* nbytes as headers claim it, for sizes
					 * where nbytes is not known; or 0 */
	/* Length or order of the joined bytes are in doubt: chunks are served,
	 * not what they make together. */
	bool in_doubt;
	struct bfs_diag doubt;		/* why, then */
	uint64_t cbytes;		/* of the container */
	uint64_t n_chunks;		/* chunks 0 ... n_chunks - 1 exist */
	int64_t chunksize;		/* > 0 fixed; 0 variable; -1 none */
	uint32_t blocksize;		/* 0 = not said */
	uint32_t typesize;		/* >= 1 */
	unsigned codec;			/* API code */
	unsigned clevel;
	uint8_t codec_meta;
	uint8_t filters[BFS_N_FILTER_SLOTS];
	uint8_t filters_meta[BFS_N_FILTER_SLOTS];
	bool vlblocks;
	bool has_defaults;		/* codec ... filters are known */

	struct bfs_meta *metas;
	size_t n_metas;
	struct bfs_meta *vlmetas;
	size_t n_vlmetas;
	struct bfs_array_meta array;

	/* Stores: names and what they stand for. */
	bool is_store;			/* has members instead of chunks */
	struct bfs_nametree *tree;	/* NULL where there are none */
	struct bfs_member *members;
	size_t n_members;

	enum bfs_kind kind;		/* kind.h */
	bool no_blank;			/* entries of zeros stand for chunks
					 * that were never written */
	bool no_blocks;			/* no chunk is known to be complete */
	uint64_t n_fetched;		/* of a proxy: chunks written */

	struct bfs_codec_env env;	/* handed to every chunk */
	struct bfs_chunk_last last;	/* of every data chunk's plan */
	struct bfs_cache *cache;	/* for what it decodes itself, or NULL;
					 * borrowed */
	struct bfs_index *index;	/* chunk offsets, or NULL */
	uint64_t data_off, data_len;	/* where stored chunks may lie */
	uint32_t chunk_tail;		/* bytes that belong to a stored chunk
					 * behind it: its checksum */

	/* Guards all below, which is found once, when first needed. */
	pthread_mutex_t sizes_lock;
	/* Variable chunk sizes. */
	uint64_t *starts;		/* n_chunks + 1, or NULL */
	enum bfs_err starts_err;
	struct bfs_diag starts_why;

	/* Whether the index names each place once (places.h). */
	bool places_known;
	enum bfs_err places_err;
	struct bfs_diag places_why;
};

/* The row that takes this source, or NULL. Reads at most BFS_CONTAINER_PROBE
 * bytes for formats with magic. Sources without enough bytes: NULL. */
const struct bfs_format *bfs_container_probe(struct bfs_source *source,
					     const char *name);

/* Whether there is one, and its head says that more should follow. */
bool bfs_container_is_short(struct bfs_source *source, const char *name);
/* The row that takes this directory, or NULL. */
const struct bfs_format *bfs_container_probe_in(struct bfs_dir *dir);
/* One of a row, without a source, for the row to fill. */
enum bfs_err bfs_container_new(const struct bfs_format *ops,
			       struct bfs_cache *cache,
			       struct bfs_container **ret_container,
			       struct bfs_diag *diag) BFS_MUST_CHECK;
/* Tells how the container's file or directory is opened again, whose descriptor
 * may be let go from then on; how->arg is taken over. False where there is none
 * (memory, a window of a file). Before the container is shared. */
bool bfs_container_set_how(struct bfs_container *container,
			   const struct bfs_fd_how *how);
/* Nobody reads it for now (bfs_source_rest): its source and its files. */
void bfs_container_rest(struct bfs_container *container);
/* Whether its file or directory was removed while a descriptor holds it. */
bool bfs_container_is_removed(const struct bfs_container *container);
/* What all that open have in common. cache: where blocks of what the container
 * decodes for itself are kept (blocks.h), which must outlive it; NULL: each
 * such thing gets a small cache of its own. A damaged container opens with
 * status DAMAGED. */

/* Opens a directory container, or the one beside a directory that is none,
 * with a guard for its files, which is copied. References dir. */
enum bfs_err bfs_container_open_in(struct bfs_dir *dir,
				   const struct bfs_guard *guard,
				   struct bfs_cache *cache,
				   struct bfs_container **ret_container,
				   struct bfs_diag *diag) BFS_MUST_CHECK;
/* Opens what probe found (ops NULL: probes itself; NOT_FORMAT if nothing).
 * References source. */
enum bfs_err bfs_container_open(struct bfs_source *source, const char *name,
				const struct bfs_format *ops,
				struct bfs_cache *cache,
				struct bfs_container **ret_container,
				struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_container_close(struct bfs_container *container);

/* What was probed is no longer there: CHANGED, or the error of the moment met
 * since the mark (moment.h) that hides it. */
enum bfs_err bfs_container_gone(uint64_t mark, const char *what,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* Sets status DAMAGED or UNSUPPORTED with the first reason given. */
void bfs_container_blame(struct bfs_container *container,
			 const struct bfs_diag *why);

/* The same, and puts the joined bytes in doubt: what is not told from a
 * shorter, longer or reordered container is an error and never those bytes.
 * While the container is opened, before others see it. */
void bfs_container_doubt(struct bfs_container *container,
			 const struct bfs_diag *why);

/* Blames a header of which nothing can be believed: the sizes that were read
 * from it are unknown again. */
void bfs_container_disbelieve(struct bfs_container *container,
			      const struct bfs_diag *why);

/* What became of opening one section: an error of the moment is the caller's
 * failure (copied to diag), whatever else is wrong is blamed on the
 * container. */
enum bfs_err bfs_container_settle(struct bfs_container *container,
				  enum bfs_err err, const struct bfs_diag *why,
				  struct bfs_diag *diag) BFS_MUST_CHECK;

/* The same of a section that the joined bytes hang on: what is wrong with it
 * puts them in doubt. */
enum bfs_err bfs_container_settle_doubt(struct bfs_container *container,
					enum bfs_err err,
					const struct bfs_diag *why,
					struct bfs_diag *diag) BFS_MUST_CHECK;

enum bfs_err bfs_container_span(struct bfs_container *container, uint64_t n,
				struct bfs_span *ret_span,
				struct bfs_diag *diag) BFS_MUST_CHECK;
/* The source that a span lies in, referenced. */
enum bfs_err bfs_container_source(struct bfs_container *container,
				  const struct bfs_span *span,
				  struct bfs_source **ret_source,
				  struct bfs_diag *diag) BFS_MUST_CHECK;
/* The source of a metalayer, borrowed. */
struct bfs_source *bfs_meta_source(const struct bfs_container *container,
				   const struct bfs_meta *meta);
/* The header of a stored chunk, read from its source. */
enum bfs_err bfs_container_peek(struct bfs_container *container,
				const struct bfs_span *span,
				struct bfs_chunk_head *ret_head,
				struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same from a source that the caller has: the one that span lies in, or a
 * sweep of it. */
enum bfs_err bfs_container_peek_in(struct bfs_source *source,
				   const struct bfs_span *span,
				   struct bfs_chunk_head *ret_head,
				   struct bfs_diag *diag) BFS_MUST_CHECK;
/* RANGE: there is no chunk n. */
enum bfs_err bfs_container_no_chunk(const struct bfs_container *container,
				    uint64_t n,
				    struct bfs_diag *diag) BFS_MUST_CHECK;
/* Decoded length of chunk n; reads its header only where sizes vary. */
enum bfs_err bfs_container_chunk_len(struct bfs_container *container,
				     uint64_t n, uint32_t *ret_len,
				     struct bfs_diag *diag) BFS_MUST_CHECK;
/* Where chunk n begins in the joined data (n may be n_chunks: the end). */
enum bfs_err bfs_container_chunk_off(struct bfs_container *container,
				     uint64_t n, uint64_t *ret_off,
				     struct bfs_diag *diag) BFS_MUST_CHECK;
/* The chunk that holds byte off (< nbytes) of the joined data. */
enum bfs_err bfs_container_chunk_at(struct bfs_container *container,
				    uint64_t off, uint64_t *ret_n,
				    struct bfs_diag *diag) BFS_MUST_CHECK;

/* For a container whose row has set starts: where all chunks but a shorter last
 * one are equal, sets that chunksize and gives up starts. */
void bfs_container_note_sizes(struct bfs_container *container);

/* Adds one metalayer of container->source (copies the name); for rows. */
enum bfs_err bfs_container_add_meta(struct bfs_meta **metas, size_t *n_metas,
				    const void *name, size_t name_len,
				    uint64_t off, uint64_t len,
				    bool is_chunk) BFS_MUST_CHECK;

#endif
