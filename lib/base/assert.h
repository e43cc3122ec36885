/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.h - what the code relies on, said where it relies on it.
 *
 * Both end the program with a line on stderr that names the file, the line
 * and the condition. They are for mistakes of our own: what a file says is
 * checked and becomes an error, and never reaches an assertion.
 */
#ifndef BFS_BASE_ASSERT_H
#define BFS_BASE_ASSERT_H

#include "base/compiler.h"

#include <errno.h>
#include <pthread.h>

void bfs_assert_failed(const char *cond, const char *file, int line)
	__attribute__((noreturn, cold));

/* Always on: for conditions that cost next to nothing, above all where going
 * on would hand out the wrong bytes or free memory that is in use. */
#define BFS_CHECK(cond)                                         \
	(BFS_LIKELY(cond) ? (void)0 :                           \
	 bfs_assert_failed(#cond, __FILE__, __LINE__))

/* On in builds for debugging, tests and fuzzing; a release build (meson's
 * b_ndebug, which defines NDEBUG) compiles the condition and never evaluates
 * it. */
#ifdef NDEBUG
#define BFS_ASSERT(cond) ((void)sizeof(!(cond)))
#else
#define BFS_ASSERT(cond) BFS_CHECK(cond)
#endif

/* "The caller holds this mutex": somebody does, which nearly always tells. */
#define BFS_ASSERT_HELD(mutex) \
	BFS_ASSERT(pthread_mutex_trylock(mutex) == EBUSY)

#endif
