/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moment.h - errors of the moment, and what was found out while they were
 * met.
 *
 * A read that fails, memory or descriptors that are short, a source that
 * changes: they say nothing about a container, yet whoever probes, judges or
 * counts may take them for an answer ("no magic there", "no array"). So each
 * thread counts those that it meets (bfs_fail, which every one of them
 * passes). Whoever is about to keep or to tell a finding takes a mark before
 * it looks and settles afterwards: where an error of the moment was met in
 * between, there is no finding, whatever came out, and the error is returned.
 */
#ifndef BFS_BASE_MOMENT_H
#define BFS_BASE_MOMENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* How many errors of the moment this thread has met. */
uint64_t bfs_moment_mark(void);

/* In settle.c: err; or, where this thread met an error of the moment since the
 * mark or its call was stopped, that error (and diag is filled). */
enum bfs_err bfs_moment_settle(uint64_t mark, enum bfs_err err,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* The last one that this thread met. For settle.c. */
void bfs_moment_last(struct bfs_diag *ret_why);

/* Forgets what was met since the mark, because it changes no answer: the step
 * that failed would only have saved time, or another way led to the end. */
void bfs_moment_forget(uint64_t mark);

/* For bfs_fail: counts an error that passes, and remembers why. */
void bfs_moment_note(const struct bfs_diag *why);

#endif
