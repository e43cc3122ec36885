/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.h - the faults that were met while chunks of an opened container were
 * planned or decoded: which chunks, and why the first of them. They are
 * forgotten when it is closed.
 *
 * What fails for a reason of the moment (moment.h) is no fault, and neither is
 * a part of a proxy that was never fetched.
 */
#ifndef BFS_ARRAY_FAULTS_H
#define BFS_ARRAY_FAULTS_H

#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_FAULTS_MAX 4096	/* chunks that are kept */
#define BFS_FAULTS_TOLD 16	/* of which the reason is kept */

/* A chunk, or a metalayer that is one (array/priv.h). */
struct bfs_fault {
	uint64_t id;
	enum bfs_err err;
};

struct bfs_faults {
	pthread_mutex_t lock;		/* guards all but edition */
	/* Grows with what is kept, and with what is not. */
	_Atomic uint64_t edition;
	struct bfs_fault *all;		/* by rising id; owned */
	size_t n, cap;
	bool more;			/* some are not kept */
	/* There was no memory for this one alone; it is met again where it is
	 * read again. */
	bool has_missed;
	uint64_t missed;
	struct bfs_diag *told;		/* the first ones; owned */
	size_t n_told;
};

void bfs_faults_init(struct bfs_faults *faults);
void bfs_faults_release(struct bfs_faults *faults);

/* Keeps that chunk `id` failed, unless that is known. Where there is no memory
 * for it, it is kept that one more did. */
void bfs_faults_note(struct bfs_faults *faults, uint64_t id,
		     const struct bfs_diag *why);

/* The same number as long as nothing else is known: for texts that tell
 * faults. 0: none was met. */
static inline uint64_t bfs_faults_edition(struct bfs_faults *faults)
{
	return atomic_load_explicit(&faults->edition, memory_order_acquire);
}

/* Where the fault of a chunk is among all, which are by rising id, or would be
 * put: from 0 to n. */
size_t bfs_faults_place(const struct bfs_fault *all, size_t n, uint64_t id);

/* A copy of what is known at one moment. */
struct bfs_faults_known {
	struct bfs_fault *all;		/* by rising id; owned */
	size_t n;
	bool more;
	struct bfs_diag told[BFS_FAULTS_TOLD];	/* in the order of being met */
	size_t n_told;
};

/* NOMEM alone. The caller frees `all` (bfs_free). */
enum bfs_err bfs_faults_copy(struct bfs_faults *faults,
			     struct bfs_faults_known *ret_known,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
