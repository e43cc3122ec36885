/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv.h - what the files of the public interface share: the types that
 * are opaque outside, and how a call ends.
 */
#ifndef BFS_API_PRIV_H
#define BFS_API_PRIV_H

#pragma GCC visibility push(default)
#include "bloscfs.h"
#pragma GCC visibility pop

#include "array/array.h"
#include "base/call.h"
#include "base/err.h"
#include "base/mem_turn.h"
#include "source/dir.h"
#include "view/nesting.h"

struct bloscfs {
	struct bfs_engine *engine;
	struct bfs_budget *budget;	/* of all that it holds */
	uint32_t views;
	bool drop_behind;
	/* For budget.c. */
	struct bloscfs *next;		/* among those that live */
};

struct bloscfs_call {
	struct bfs_call own;
	struct bloscfs *fs;
};

struct bloscfs_file {
	struct bfs_nesting *nesting;
	struct bfs_budget *budget;	/* of its instance */
	struct bfs_file *root;		/* the outermost container */
};

struct bloscfs_pieces {
	struct bfs_pieces own;
	struct bfs_turn turn;		/* while they are pinned */
	struct bfs_file *file;		/* whose blocks are pinned, or NULL */
	uint32_t child;
};

#pragma GCC visibility push(hidden)
/* Gives an instance its budget, and takes it away. The cache is no more than
 * that allows. */
enum bfs_err bfs_api_set_budget(struct bloscfs *fs,
				const struct bloscfs_options *options,
				uint64_t *ret_cache_len) BFS_MUST_CHECK;
void bfs_api_end_budget(struct bloscfs *fs);
/* A diagnosis as the caller sees it; pub may be NULL. */
void bfs_api_show(const struct bfs_diag *own, struct bloscfs_diag *pub);
/* Ends a call: fills the caller's diagnosis on failure only. */
enum bloscfs_err bfs_api_answer(enum bfs_err err, struct bfs_diag *own,
				struct bloscfs_diag *pub);
enum bloscfs_err bfs_api_refuse(struct bloscfs_diag *pub);
/* Fills a caller's struct that begins with its size, and may be shorter or
 * longer than ours, which is len bytes. */
void bfs_api_give(const void *pub, size_t len, void *ret_struct, size_t size);
/* After a try that began with the mark (moment.h): whether to try again. Else
 * *err is what it is; what a file is blamed for while an error of the moment
 * was met is not its fault. */
bool bfs_api_again(struct bfs_turn *turn, uint64_t mark, enum bfs_err *err,
		   struct bfs_diag *diag);
/* Opens the container in a source, which stays the caller's. */
enum bfs_err bfs_api_open(struct bloscfs *fs, struct bfs_source *source,
			  const char *name, struct bloscfs_file **ret_file,
			  struct bfs_diag *diag);
/* The same of a directory, and guard as for bfs_container_open_in. */
enum bfs_err bfs_api_open_in(struct bloscfs *fs, struct bfs_dir *dir,
			     const struct bfs_guard *guard,
			     struct bloscfs_file **ret_file,
			     struct bfs_diag *diag);
enum bfs_err bfs_api_probe_in(struct bfs_dir *dir, const char **ret_format,
			      struct bfs_diag *diag);
/* A caller's own source, which is closed with it; on failure it is not. */
enum bfs_err bfs_api_source(const struct bloscfs_source *given,
			    struct bfs_source **ret_source,
			    struct bfs_diag *diag);
/* What a caller's own source or directory says, as ours. */
void bfs_api_take_why(const struct bloscfs_diag *pub, struct bfs_diag *own);
enum bfs_err bfs_api_take_err(enum bloscfs_err err);
/* The format of the container in a source, which is taken over. */
enum bfs_err bfs_api_probe(struct bfs_source *source, const char *name,
			   const char **ret_format, struct bfs_diag *diag);
#pragma GCC visibility pop

#endif
