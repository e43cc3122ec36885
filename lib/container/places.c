/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.c - places of all stored chunks, sorted and compared.
 *
 * Several entries that name one chunk are legal, and so are bytes that no entry
 * names. Both at once are damage, and so is a single pair of entries that name
 * one chunk: that is what an entry with a changed byte looks like. In a sparse
 * frame no two entries may name one file.
 */
#include "container/places.h"

#include "base/bytes.h"
#include "container/index.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_places(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Where stored chunks begin, or the numbers of their files. An entry that is
 * damaged is its own chunk's error. */
static enum bfs_err collect(struct bfs_container *f, uint64_t *places,
			    uint64_t *ret_n, struct bfs_diag *why)
{
	uint64_t n = 0, i;

	for (i = 0; i < f->n_chunks; i++) {
		struct bfs_span span;
		enum bfs_err err = bfs_container_span(f, i, &span, why);

		if (bfs_err_passes(err))
			return err;
		if (err != BFS_OK || span.special != BFS_CHUNK_BLOCKS)
			continue;
		places[n++] = f->ops->source ? span.file : span.off;
	}
	qsort(places, (size_t)n, sizeof(*places), compare_places);
	*ret_n = n;
	return BFS_OK;
}

/* Whether the named chunks take all bytes between header and index. */
static enum bfs_err covers_all(struct bfs_container *f, const uint64_t *places,
			       uint64_t n, bool *ret_all, struct bfs_diag *why)
{
	uint64_t last = f->data_off + f->data_len, end = f->data_off, i;

	*ret_all = false;
	for (i = 0; i < n; i++) {
		struct bfs_span span = { .off = places[i],
					 .avail = last - places[i] };
		struct bfs_chunk_head h;

		if (i > 0 && places[i] == places[i - 1])
			continue;
		if (places[i] > end)
			return BFS_OK;
		BFS_TRY(bfs_container_peek(f, &span, &h, why));
		end = bfs_max(end, places[i] + h.cbytes);
	}
	*ret_all = end >= last;
	return BFS_OK;
}

static enum bfs_err compare(struct bfs_container *f, const uint64_t *places,
			    uint64_t n, struct bfs_diag *why)
{
	uint64_t i, n_again = 0, place = 0;
	enum bfs_err err = BFS_OK;
	bool all = false;

	for (i = 1; i < n; i++)
		if (places[i] == places[i - 1]) {
			place = places[i];
			n_again++;
		}
	if (n_again == 0)
		return BFS_OK;
	if (f->ops->source)
		return bfs_fail(why, BFS_ERR_CORRUPT, f->data_off,
				"two entries of the index name file %" PRIu64,
				place);
	if (n_again > 1)
		err = covers_all(f, places, n, &all, why);
	if (bfs_err_passes(err) || all)
		return err;
	return bfs_fail(why, BFS_ERR_CORRUPT, f->data_off + f->data_len,
			"two entries of the index name the chunk at %" PRIu64,
			place);
}

static enum bfs_err look(struct bfs_container *f, struct bfs_diag *why)
{
	BFS_CLEANUP(bfs_freep) uint64_t *places = NULL;
	uint64_t n = 0;

	places = bfs_alloc((size_t)f->n_chunks * sizeof(*places));
	if (!places)
		return bfs_fail(why, BFS_ERR_NOMEM, 0,
				"no memory for the places of chunks");
	BFS_TRY(collect(f, places, &n, why));
	return compare(f, places, n, why);
}

enum bfs_err bfs_places_check(struct bfs_container *f, struct bfs_diag *diag)
{
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;
	bool known;

	if (!f->index || f->n_chunks > BFS_PLACES_MAX)
		return BFS_OK;
	pthread_mutex_lock(&f->sizes_lock);
	known = f->places_known;
	err = f->places_err;
	why = f->places_why;
	pthread_mutex_unlock(&f->sizes_lock);
	if (!known) {
		why = (struct bfs_diag){ .chunk = -1 };
		err = look(f, &why);
		if (!bfs_err_passes(err)) {
			pthread_mutex_lock(&f->sizes_lock);
			f->places_known = true;
			f->places_err = err;
			f->places_why = why;
			pthread_mutex_unlock(&f->sizes_lock);
		}
	}
	if (err != BFS_OK && diag)
		*diag = why;
	return err;
}
