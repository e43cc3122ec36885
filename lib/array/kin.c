/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kin.c - when a frame has grown by appended chunks, the new opening goes on
 * with the decoded blocks of the chunks that were there before.
 *
 * The openings of one growing frame are its kin: they share generations of
 * blocks. A chunk's blocks go to a shared generation if the file had not been
 * changed for a moment when the chunk was read: the kernel dates a write before
 * its bytes arrive. A later opening takes the blocks over if place, header,
 * bstarts and first bytes of the chunk are what they were. Whatever is in doubt
 * gets a generation of its own, and is read again.
 *
 * That the new index begins like the old one is not enough: a frame of
 * uncompressed chunks that is written anew with other data has the same index.
 * So the first bytes of each chunk that was ever looked at, and of some others,
 * are compared with what they were.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "container/index.h"
#include "base/mem.h"
#include "base/moment.h"

#include <stdatomic.h>
#include <time.h>

/* Shared generations of one kin; the first is that of most chunks. */
#define MAX_SHARED 16
/* Of a frame with more chunks the next opening takes nothing over. */
#define MAX_CHUNKS (UINT64_C(1) << 16)
/* Chunks with files of their own whose files are told apart, at most. */
#define MAX_FILES (UINT64_C(1) << 16)
/* Chunks that are looked at before anybody asks for them. */
#define N_SAMPLES 8
/* So long after its last change a file counts as quiet. */
#define QUIET_NS INT64_C(20000000)

struct bfs_kin {
	pthread_mutex_t lock;		/* guards all below */
	uint32_t refs;
	unsigned n_shared;
	uint64_t shared[MAX_SHARED];
	/* Of which file a chunk's plan was made first, a number; 0: none was.
	 * NULL: one file has all chunks. Not locked. */
	_Atomic uint64_t *files;
	uint64_t n_files;
};

/* Chunks that are appended later have room, too. */
static bool add_files(struct bfs_kin *kin, const struct bfs_container *f)
{
	if (!f->ops->source)
		return true;
	kin->n_files = bfs_min(2 * bfs_min(f->n_chunks, MAX_FILES) + 64,
			       MAX_FILES);
	kin->files = bfs_zalloc(kin->n_files, sizeof(*kin->files));
	return kin->files != NULL;
}

enum bfs_err bfs_kin_new(struct bfs_array *a)
{
	struct bfs_kin *kin = bfs_zalloc(1, sizeof(*kin));

	if (!kin || !add_files(kin, a->container)) {
		bfs_free(kin);
		return BFS_ERR_NOMEM;
	}
	pthread_mutex_init(&kin->lock, NULL);
	kin->refs = 1;
	kin->n_shared = 1;
	kin->shared[0] = bfs_cache_new_gen(a->engine->cache);
	a->kin = kin;
	a->kin_gen = kin->shared[0];
	return BFS_OK;
}

void bfs_kin_put(struct bfs_array *a)
{
	struct bfs_kin *kin = a->kin;
	uint32_t left;

	if (!kin)
		return;
	pthread_mutex_lock(&kin->lock);
	BFS_CHECK(kin->refs > 0);
	left = --kin->refs;
	pthread_mutex_unlock(&kin->lock);
	a->kin = NULL;
	if (left)
		return;
	bfs_plans_drop(a->engine, kin->shared[0]);
	for (unsigned i = 0; i < kin->n_shared; i++)
		bfs_cache_drop(a->engine->cache, kin->shared[i]);
	pthread_mutex_destroy(&kin->lock);
	bfs_free(kin->files);
	bfs_free(kin);
}

/* A shared generation in which no block of any chunk is yet. */
static bool add_shared(struct bfs_array *a, uint64_t *ret_gen)
{
	struct bfs_kin *kin = a->kin;
	bool added;

	pthread_mutex_lock(&kin->lock);
	added = kin->n_shared < MAX_SHARED;
	if (added) {
		*ret_gen = bfs_cache_new_gen(a->engine->cache);
		kin->shared[kin->n_shared++] = *ret_gen;
	}
	pthread_mutex_unlock(&kin->lock);
	return added;
}

static bool is_quiet(const struct bfs_source_id *id)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec -
	       id->mtime_ns > QUIET_NS;
}

static bool same_place(const struct bfs_array *a, const struct bfs_plan *x,
		       const struct bfs_plan *y)
{
	return x->span.special == y->span.special &&
	       x->span.off == y->span.off && x->span.file == y->span.file &&
	       /* A chunk's own file tells more. */
	       (!a->container->ops->source ||
		x->span.special != BFS_CHUNK_BLOCKS ||
		bfs_source_same(&x->file_id, &y->file_id));
}

static bool same_chunk(const struct bfs_chunk *x, const struct bfs_chunk *y)
{
	return x->head.nbytes == y->head.nbytes &&
	       x->head.cbytes == y->head.cbytes &&
	       x->head.kind == y->head.kind &&
	       x->head.n_blocks == y->head.n_blocks &&
	       x->fingerprint == y->fingerprint && !x->starts == !y->starts &&
	       (!x->starts || !memcmp(x->starts, y->starts,
				      x->head.n_blocks * sizeof(*x->starts)));
}

/* Whether no plan of the chunk was ever made of another file than this one:
 * plans are forgotten sooner than blocks, which must not be mixed with those of
 * a file that has replaced theirs. Where there are very many chunks one may be
 * taken for another: then no. */
static bool is_first_file(struct bfs_kin *kin, uint64_t id,
			  const struct bfs_source_id *file)
{
	uint64_t seen = 0, mark;

	if (!kin->files)
		return true;
	mark = bfs_mix(file->dev ^ bfs_mix(file->ino ^ bfs_mix(
		file->len ^ bfs_mix((uint64_t)file->mtime_ns ^
				    bfs_mix(id))))) | 1;
	return atomic_compare_exchange_strong(&kin->files[id % kin->n_files],
					      &seen, mark) ||
	       seen == mark;
}

void bfs_kin_place(struct bfs_array *a, uint64_t id, struct bfs_plan *plan,
		   const struct bfs_plan *known)
{
	plan->gen = a->gen;
	plan->shared = false;
	if (id & (BFS_VLMETA_ID | BFS_META_ID))
		return;
	if (!is_first_file(a->kin, id, &plan->file_id)) {
		/* Nobody finds its blocks when the plan is gone, and they leave
		 * the cache as others do that are not used. */
		plan->gen = bfs_cache_new_gen(a->engine->cache);
		return;
	}
	if (!a->digested) {
		plan->gen = a->kin_gen;
		return;
	}
	if (known && known->shared && same_place(a, known, plan) &&
	    same_chunk(known->chunk, plan->chunk)) {
		plan->gen = known->gen;
		plan->shared = true;
	} else if (!is_quiet(&plan->file_id)) {
		return;
	} else if (!known && id >= a->n_before) {
		plan->gen = a->kin_gen;
		plan->shared = true;
	} else {
		plan->shared = add_shared(a, &plan->gen);
	}
}

void bfs_kin_note(struct bfs_array *a, uint64_t id,
		  const struct bfs_plan *plan)
{
	if (a->digested && id < a->container->n_chunks)
		atomic_store(&a->fingerprints[id],
			     plan->chunk->fingerprint | 1);
}

static bool can_grow(const struct bfs_container *f)
{
	return f->index && f->status == BFS_GOOD && f->nbytes_known &&
	       f->chunksize > 0 && !f->is_store && !f->tree &&
	       !f->array.present && f->n_chunks <= MAX_CHUNKS;
}

/* The fingerprint of chunk n as it is now; 1 where nothing is stored. */
static enum bfs_err read_fingerprint(struct bfs_array *a, uint64_t n,
				     uint64_t *ret_fingerprint)
{
	struct bfs_source *source;
	struct bfs_span span;
	enum bfs_err err;

	*ret_fingerprint = 1;
	BFS_TRY(bfs_container_span(a->container, n, &span, NULL));
	if (span.special != BFS_CHUNK_BLOCKS)
		return BFS_OK;
	BFS_TRY(bfs_container_source(a->container, &span, &source, NULL));
	err = bfs_chunk_fingerprint(source, span.off, span.avail,
				    ret_fingerprint, NULL);
	bfs_source_unref(source);
	return err;
}

/* Fingerprints of a few chunks, the last among them: where a frame is written
 * anew some of these change, also if nobody has looked at any chunk. */
static enum bfs_err take_samples(struct bfs_array *a)
{
	uint64_t n = a->container->n_chunks, step = n / N_SAMPLES + 1, now;

	BFS_ASSERT(n > 0);
	for (uint64_t i = 0; i < n; i += step) {
		BFS_TRY(read_fingerprint(a, i, &now));
		a->fingerprints[i] = now;
	}
	BFS_TRY(read_fingerprint(a, n - 1, &now));
	a->fingerprints[n - 1] = now;
	return BFS_OK;
}

void bfs_array_digest(struct bfs_array *a)
{
	struct bfs_container *f = a->container;
	uint64_t mark = bfs_moment_mark();

	if (!can_grow(f))
		return;
	a->fingerprints = bfs_zalloc(f->n_chunks, sizeof(*a->fingerprints));
	a->digested = a->fingerprints &&
		bfs_index_digest(f->index, f->n_chunks, &a->digest, NULL) ==
			BFS_OK &&
		take_samples(a) == BFS_OK &&
		bfs_source_check(f->source, NULL) == BFS_OK;
	/* Without a digest the next opening reads everything again. */
	bfs_moment_forget(mark);
}

static bool same_form(const struct bfs_container *x,
		      const struct bfs_container *y)
{
	return x->ops == y->ops && x->chunksize == y->chunksize &&
	       x->typesize == y->typesize && x->blocksize == y->blocksize &&
	       x->vlblocks == y->vlblocks && x->data_off == y->data_off &&
	       x->env.typesize == y->env.typesize;
}

/* Chunks appended behind full ones; or no change at all. */
static bool has_grown(const struct bfs_container *x,
		      const struct bfs_container *y)
{
	if (bfs_source_same(&x->source->id, &y->source->id))
		return x->n_chunks == y->n_chunks;
	return y->n_chunks > x->n_chunks && y->nbytes > x->nbytes &&
	       x->nbytes % (uint64_t)x->chunksize == 0;
}

/* All that anybody has seen of the older one is there, as it was. */
static bool same_chunks(struct bfs_array *newer, const struct bfs_array *older)
{
	uint64_t n = older->container->n_chunks, digest, seen, now, i;

	if (bfs_index_digest(newer->container->index, n, &digest, NULL) !=
		    BFS_OK ||
	    digest != older->digest)
		return false;
	for (i = 0; i < n; i++) {
		seen = atomic_load(&older->fingerprints[i]);
		if (seen && (read_fingerprint(newer, i, &now) != BFS_OK ||
			     now != seen))
			return false;
		if (seen)
			newer->fingerprints[i] = seen;
	}
	return bfs_source_check(newer->container->source, NULL) == BFS_OK;
}

bool bfs_array_continue(struct bfs_array *newer, const struct bfs_array *older,
			bool take_blocks)
{
	uint64_t mark = bfs_moment_mark();
	bool goes_on = older->digested && newer->digested &&
		       same_form(older->container, newer->container) &&
		       has_grown(older->container, newer->container) &&
		       same_chunks(newer, older);

	bfs_moment_forget(mark);
	if (!goes_on)
		return false;
	if (!take_blocks)
		return true;
	bfs_kin_put(newer);
	newer->kin = older->kin;
	newer->kin_gen = older->kin_gen;
	newer->n_before = older->container->n_chunks;
	pthread_mutex_lock(&newer->kin->lock);
	newer->kin->refs++;
	pthread_mutex_unlock(&newer->kin->lock);
	return true;
}
