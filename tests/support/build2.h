/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build2.h - for tests of containers: chunks that store their bytes, members
 * of ZIP files, any container opened from bytes or from a directory, and
 * what must be true of a hostile one.
 *
 * Between hostile_setup and hostile_teardown the library may hold 64 MiB and
 * no more; the teardown fails if it then holds anything.
 */
#ifndef BUILD2_H
#define BUILD2_H

#include "array/array.h"
#include "support/build.h"
#include "view/dispatch.h"
#include "view/kept.h"

#include <stdbool.h>

#define HOSTILE_MEMORY (UINT64_C(64) << 20)

/* ---- bytes ----------------------------------------------------------- */

/* Overwrites n bytes at `at`, in either order of bytes. */
void patch_le(struct build *b, size_t at, uint64_t v, unsigned n);
void patch_be(struct build *b, size_t at, uint64_t v, unsigned n);
/* A copy to be patched; free p. */
struct build build_copy(const struct build *b);
/* A sample of tests/data. */
struct build build_sample(const char *name);

/* A memcpyed chunk behind a header of 16 bytes. */
void build_plain(struct build *b, unsigned version, unsigned typesize,
		 const void *p, size_t len);
/* One block whose only stream is stored: not memcpyed, so that what is done
 * after decoding is done. Version 3 may have the header of 32 bytes. */
void build_stored(struct build *b, unsigned version, bool extended,
		  unsigned typesize, const void *p, size_t len);

/* ---- ZIP ------------------------------------------------------------- */

struct zip_member {
	const char *name;
	size_t name_len;	/* 0: up to the NUL */
	const void *p;
	size_t len;
	unsigned flags, method;
	unsigned extra_len;	/* zeros behind the local name */
	bool zip64;		/* sizes in 64-bit extra fields */
	bool descriptor;	/* sizes only in the central directory */
};

struct zip {
	struct build out, central;
	size_t n;
};

/* Appends a member; returns where its local header lies. */
size_t zip_add(struct zip *z, const struct zip_member *m);
/* Writes directory and end record (64-bit ones too) and frees the rest. */
void zip_finish(struct zip *z, bool zip64);

/* ---- opening --------------------------------------------------------- */

extern struct bfs_engine *hostile_engine;
int hostile_setup(void **state);
int hostile_teardown(void **state);

/* Opens a copy of exactly len bytes. */
enum bfs_err hostile_try(const void *p, size_t len, const char *name,
			 struct bfs_array **ret_array, struct bfs_diag *diag);
struct bfs_array *hostile_open(const struct build *b, const char *name);
/* The same with all views. */
struct bfs_file *hostile_file(const struct build *b, const char *name);

/* ---- what must be true ----------------------------------------------- */

void expect_good(const struct bfs_array *a);
/* Damaged or unsupported, with a reason that has `word` in it. */
void expect_blamed(const struct bfs_array *a, enum bfs_status status,
		   const char *word);
/* Opens, is blamed, serves no chunk and no data. */
void expect_useless(const struct build *b, const char *name,
		    enum bfs_status status, const char *word);
void expect_stream(struct bfs_array *a, enum bfs_stream_kind kind,
		   uint64_t index, const void *want, size_t len);
/* Reading one byte of the stream fails so, with a reason. */
void expect_failure(struct bfs_array *a, enum bfs_stream_kind kind,
		    uint64_t index, enum bfs_err err, const char *word);
/* Every length and up to `most` bytes of every stream: no claim that does
 * not come true, no memory above the bound. */
void read_all_streams(struct bfs_array *a, size_t most);

#endif
