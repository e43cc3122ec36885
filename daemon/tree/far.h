/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far.h - SOURCE on a server, as the tree sees a source: what lies at a path,
 * what it is, and opening it. Where struct src has one, these answer instead
 * of the kernel.
 *
 * A name tells what may be a container, and of a folder the names in it; no
 * byte is asked for of other files, and of what is listed. Who looks one up has
 * it looked into, by its head and tail, which opening it takes anyway. What was
 * found holds as long as its content stays. Failures are -errno, and logged.
 * Where the thread may not wait (call_may_wait) all fail with EINTR.
 */
#ifndef BFS_DAEMON_TREE_FAR_H
#define BFS_DAEMON_TREE_FAR_H

#include "remote/shelf.h"
#include "bloscfs.h"
#include "tree/choice.h"
#include "tree/source_stat.h"

struct far;
struct opts;

/* Whether SOURCE, or an option, asks for one. */
bool far_is(const struct opts *opts, const char *source);
/* 0, or -errno with one sentence in error. Nothing is asked of a server. */
int far_open(const char *source, const struct opts *opts,
	     struct far **ret_far, char *error, size_t error_cap);
/* The same, and asks for what SOURCE names. */
int far_reach(const char *source, const struct opts *opts,
	      struct far **ret_far, char *error, size_t error_cap);
/* Nothing opened through it may be left. */
void far_close(struct far *far);
/* Before a fork. */
void far_rest(struct far *far);
/* Before anything is read: what is held counts against its max_memory. */
void far_set_library(struct far *far, struct bloscfs *fs);
void far_set_fresh(struct far *far, double seconds);
struct shelf *far_shelf(const struct far *far);

int far_look(struct far *far, const char *path, struct src_stat *ret_stat);
/* As far as that is known without asking. choice NULL: all are taken. */
enum src_kind far_kind(const struct far *far, const struct choice *choice,
		       const char *path, const struct src_stat *stat);
/* The same, looked into where it may be a container. What may not be read is
 * none. 0 or -errno. */
int far_judge(struct far *far, const struct choice *choice, const char *path,
	      const struct src_stat *stat, enum src_kind *ret_kind);
/* Whether nothing in what is shown as a folder is taken: it has the index of a
 * container and is one, or is a store of another system where these count. 0
 * or -errno. */
int far_leaves(struct far *far, const char *path, bool has_index, bool stores,
	       bool *ret_leaves);
/* Entry i of a folder: 0; 1 where its size and content are not known yet; or
 * -ENOENT behind the last. name takes NAME_MAX + 1. */
int far_list(struct far *far, const struct choice *choice, const char *path,
	     uint64_t i, char *name, enum src_kind *ret_kind,
	     struct src_stat *ret_stat);
/* Opens the container at path. What the library says against it is in *why;
 * else why->err is 0, and it was logged. */
int far_open_container(struct far *far, const struct choice *choice,
		       struct bloscfs *fs, const char *path,
		       struct src_stat *ret_stat,
		       struct bloscfs_file **ret_file,
		       struct bloscfs_diag *why);
/* The object at path, to be given back (shelf.h). */
int far_take(struct far *far, const char *path, struct lent **ret_lent,
	     struct src_stat *ret_stat);
/* All len bytes at off, which lie within its size. */
int far_read(struct lent *lent, const char *path, void *buf, size_t len,
	     off_t off);

#endif
