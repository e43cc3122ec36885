/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.c - the faults met in an opened container, each chunk once.
 */
#include "array/faults.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"

#include <string.h>

#define FIRST_CAP 16

void bfs_faults_init(struct bfs_faults *faults)
{
	pthread_mutex_init(&faults->lock, NULL);
}

void bfs_faults_release(struct bfs_faults *faults)
{
	bfs_free(faults->all);
	bfs_free(faults->told);
	pthread_mutex_destroy(&faults->lock);
}

size_t bfs_faults_place(const struct bfs_fault *all, size_t n, uint64_t id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether there is memory for one more. */
static bool fit_one(struct bfs_faults *faults)
{
	size_t cap = faults->cap ? 2 * faults->cap : FIRST_CAP;
	void *all;

	if (!faults->told)
		faults->told = bfs_zalloc(BFS_FAULTS_TOLD,
					  sizeof(*faults->told));
	if (!faults->told)
		return false;
	if (faults->n < faults->cap)
		return true;
	all = bfs_realloc(faults->all, cap * sizeof(*faults->all));
	if (!all)
		return false;
	faults->all = all;
	faults->cap = cap;
	return true;
}

static void keep_reason(struct bfs_faults *faults, uint64_t id,
			const struct bfs_diag *why)
{
	if (faults->n_told == BFS_FAULTS_TOLD)
		return;
	faults->told[faults->n_told] = *why;
	faults->told[faults->n_told++].chunk = id > INT64_MAX / 2 ?
					       -1 : (int64_t)id;
}

/* Whether something new is known now. */
static bool miss(struct bfs_faults *faults, uint64_t id, bool for_good)
{
	if (faults->more || (faults->has_missed && faults->missed == id &&
			     !for_good))
		return false;
	faults->more = for_good || faults->has_missed;
	faults->has_missed = true;
	faults->missed = id;
	return true;
}

/* The same. */
static bool keep(struct bfs_faults *faults, uint64_t id,
		 const struct bfs_diag *why)
{
	size_t at = bfs_faults_place(faults->all, faults->n, id);

	if (at < faults->n && faults->all[at].id == id)
		return false;
	if (faults->n == BFS_FAULTS_MAX)
		return miss(faults, id, true);
	if (!fit_one(faults))
		return miss(faults, id, false);
	memmove(faults->all + at + 1, faults->all + at,
		(faults->n - at) * sizeof(*faults->all));
	faults->all[at] = (struct bfs_fault){ id, why->err };
	faults->n++;
	keep_reason(faults, id, why);
	if (faults->has_missed && faults->missed == id)
		faults->has_missed = false;
	return true;
}

void bfs_faults_note(struct bfs_faults *faults, uint64_t id,
		     const struct bfs_diag *why)
{
	uint64_t mark = bfs_moment_mark();

	pthread_mutex_lock(&faults->lock);
	if (keep(faults, id, why))
		atomic_fetch_add_explicit(&faults->edition, 1,
					  memory_order_release);
	pthread_mutex_unlock(&faults->lock);
	/* The fault is what the caller hears of. */
	bfs_moment_forget(mark);
}

enum bfs_err bfs_faults_copy(struct bfs_faults *faults,
			     struct bfs_faults_known *ret_known,
			     struct bfs_diag *diag)
{
	struct bfs_faults_known known = { 0 };
	enum bfs_err err = BFS_OK;

	pthread_mutex_lock(&faults->lock);
	if (faults->n) {
		known.all = bfs_alloc(faults->n * sizeof(*known.all));
		if (!known.all)
			err = bfs_fail(diag, BFS_ERR_NOMEM, 0,
				       "no memory for known faults");
		else
			memcpy(known.all, faults->all,
			       faults->n * sizeof(*known.all));
		known.n = faults->n;
	}
	if (faults->n_told)
		memcpy(known.told, faults->told,
		       faults->n_told * sizeof(*known.told));
	known.n_told = faults->n_told;
	known.more = faults->more || faults->has_missed;
	pthread_mutex_unlock(&faults->lock);
	if (err == BFS_OK)
		*ret_known = known;
	return err;
}
