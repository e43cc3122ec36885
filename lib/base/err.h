/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.h - one error enum for every call that can fail, and a diagnosis.
 *
 * Every fallible function returns enum bfs_err, which must be used. Outputs
 * are named ret_, come last and are untouched on failure. A diagnosis may be
 * NULL wherever one is taken; it is filled only on failure.
 */
#ifndef BFS_BASE_ERR_H
#define BFS_BASE_ERR_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

enum bfs_err {
	BFS_OK = 0,
	BFS_ERR_NOMEM,		/* no memory, or over the memory budget */
	BFS_ERR_IO,		/* the source could not be read */
	BFS_ERR_NOT_FORMAT,	/* this is not such a container */
	BFS_ERR_TRUNCATED,	/* bytes end before they should */
	BFS_ERR_CORRUPT,	/* bytes contradict the format */
	BFS_ERR_UNSUPPORTED,	/* known, but not built or not decodable */
	BFS_ERR_LIMIT,		/* legal, but over a limit of ours */
	BFS_ERR_RANGE,		/* the caller asked beyond the end */
	BFS_ERR_CHANGED,	/* the source is not the one opened */
	BFS_ERR_INVALID,	/* the caller's mistake */
	BFS_ERR_CANCELLED,	/* the caller gave the call up */
	BFS_ERR_TOO_MUCH,	/* more work than one call may make */
	BFS_ERR_NO_FILES,	/* no descriptor is free */
	BFS_ERR_ACCESS,		/* the source may not be read */
	BFS_N_ERRS
};

#define BFS_DIAG_TEXT 200

/* Why something failed: the place (bytes from the start of what the call was
 * given: a container, a chunk, a section) and one phrase without full stop. */
struct bfs_diag {
	enum bfs_err err;
	uint64_t off;
	int64_t chunk;		/* its number; -1: not about one chunk */
	char text[BFS_DIAG_TEXT];
};

/* Fills diag (if not NULL) and returns err, which is not OK. Errors of the
 * moment are counted (moment.h). A macro, which names err twice, so that who
 * reads a caller sees that it does not return BFS_OK: compilers and analyzers
 * do not look into other files. */
#define bfs_fail(diag, err, off, ...) \
	(bfs_fail_note(diag, err, off, __VA_ARGS__), bfs_err_same(err))

void bfs_fail_note(struct bfs_diag *diag, enum bfs_err err, uint64_t off,
		   const char *fmt, ...) BFS_PRINTF(4, 5);

static inline enum bfs_err bfs_err_same(enum bfs_err err)
{
	return err;
}

/* Adds base to the place of a diagnosis, when a caller knows where the thing
 * lies inside a bigger one. Returns err unchanged. */
static inline enum bfs_err bfs_diag_shift(struct bfs_diag *diag,
					  enum bfs_err err, uint64_t base)
{
	if (diag && err != BFS_OK)
		diag->off += base;
	return err;
}

/* Notes which chunk it was, where a caller knows. Returns err unchanged. */
static inline enum bfs_err bfs_diag_chunk(struct bfs_diag *diag,
					  enum bfs_err err, uint64_t chunk)
{
	if (diag && err != BFS_OK)
		diag->chunk = (int64_t)chunk;
	return err;
}

/* A short lower-case name such as "corrupt"; never NULL. */
const char *bfs_err_name(enum bfs_err err);

/* The errno that the error becomes for a program; 0 for BFS_OK. The only
 * place where this is decided. */
int bfs_err_errno(enum bfs_err err);

/* Whether an error is one of the moment (or of the call) and says nothing about
 * the container: it is passed on to the caller and never kept as a finding. */
static inline bool bfs_err_passes(enum bfs_err err)
{
	return err == BFS_ERR_NOMEM || err == BFS_ERR_IO ||
	       err == BFS_ERR_CHANGED || err == BFS_ERR_CANCELLED ||
	       err == BFS_ERR_TOO_MUCH || err == BFS_ERR_NO_FILES ||
	       err == BFS_ERR_ACCESS;
}

#define BFS_TRY(expr)                                   \
	do {                                            \
		enum bfs_err bfs_try_ = (expr);         \
		if (BFS_UNLIKELY(bfs_try_ != BFS_OK))   \
			return bfs_try_;                \
	} while (0)

/* For inner loops of decoders: bad data unless cond holds. */
#define BFS_NEED(cond)                                  \
	do {                                            \
		if (BFS_UNLIKELY(!(cond)))              \
			return BFS_ERR_CORRUPT;         \
	} while (0)

#endif
