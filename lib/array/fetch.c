/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetch.c - blocks of one chunk, pinned: what the cache lacks is read,
 * neighbours in one pread, and decoded by the asking thread.
 *
 * A thread never waits for another's block while it holds claims of its own:
 * it claims what is free, finishes all of it, and only then waits. So no two
 * threads can wait for each other.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/call.h"
#include "base/moment.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Neighbours are read together up to this many compressed bytes. */
#define MERGE_LEN (UINT32_C(1) << 20)
/* Where compressed bytes lie in the decoded blocks of an outer container, a
 * block of this length or more is claimed only when its bytes have been read:
 * so there is memory for one large block at a time, and not for one in each
 * container around it. */
#define LATE_CLAIM (UINT32_C(256) << 10)

/* One chunk's blocks being fetched. */
struct fetching {
	struct bfs_array *array;
	uint64_t id;
	const struct bfs_plan *plan;
	struct bfs_source *source;	/* while claims are filled */
	const uint8_t *ref;
	struct bfs_scratch *scratch;
	bool has_read;			/* scratch->in has the block's bytes */
	struct bfs_diag *diag;
};

/* A claimed block: where its bytes lie, and the buffer to fill. */
struct claim {
	uint32_t block;
	uint32_t off, len;		/* compressed, in the chunk */
	struct bfs_cache_pin *pin;
	enum bfs_err err;
	struct bfs_diag why;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct bfs_cache_key make_key(const struct fetching *f, uint32_t block)
{
	struct bfs_cache_key key = { f->plan->gen, f->id, block };

	return key;
}

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

static enum bfs_err read_span(struct fetching *f, uint32_t off, uint8_t *dst,
			      size_t len, struct bfs_diag *why)
{
	struct bfs_engine *e = f->array->engine;

	if (len == 0)
		return BFS_OK;
	atomic_fetch_add_explicit(&e->n_source_reads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&e->source_len, len, memory_order_relaxed);
	return bfs_source_read(f->source, f->plan->span.off + off, dst, len,
			       why);
}

/* What was read may be used only if the file is still the one that was
 * planned. */
static enum bfs_err check_sources(struct fetching *f, struct bfs_diag *why)
{
	BFS_TRY(bfs_source_check(f->source, why));
	if (f->source == f->array->container->source)
		return BFS_OK;
	return bfs_source_check(f->array->container->source, why);
}

static enum bfs_err finish_block(const struct fetching *f, struct claim *c)
{
	return bfs_chunk_finish(f->plan->chunk, c->block, c->pin->data,
				&c->why);
}

/* Decodes one claim whose compressed bytes are in memory. */
static void decode_claim(struct fetching *f, struct claim *c,
			 const uint8_t *in)
{
	struct bfs_engine *e = f->array->engine;
	uint64_t start = now_ns();

	c->err = bfs_chunk_decode(f->plan->chunk, c->block, in, c->len, f->ref,
				  c->pin->data, f->scratch, &c->why);
	bfs_diag_shift(&c->why, c->err, f->plan->span.off);
	if (c->err == BFS_OK)
		c->err = finish_block(f, c);
	atomic_fetch_add_explicit(&e->decode_ns, now_ns() - start,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&e->decoded_len, c->pin->len,
				  memory_order_relaxed);
}

static void fail_claims(struct claim *claims, size_t n, enum bfs_err err,
			const struct bfs_diag *why)
{
	size_t i;

	for (i = 0; i < n; i++) {
		claims[i].err = err;
		claims[i].why = *why;
	}
}

/* How many claims from the first on lie back to back. */
static size_t count_neighbours(const struct claim *claims, size_t n)
{
	uint64_t len = claims[0].len;
	size_t i;

	for (i = 1; i < n; i++) {
		if (claims[i].off != claims[i - 1].off + claims[i - 1].len ||
		    len + claims[i].len > MERGE_LEN)
			break;
		len += claims[i].len;
	}
	return i;
}

static size_t largest_block(const struct claim *claims, size_t n)
{
	size_t len = 0, i;

	for (i = 0; i < n; i++)
		len = (size_t)bfs_max(len, claims[i].pin->len);
	return len;
}

static enum bfs_err no_memory(const struct fetching *f, struct bfs_diag *why)
{
	return bfs_fail(why, BFS_ERR_NOMEM, f->plan->span.off,
			"no memory for a block");
}

/* Reads compressed bytes into the scratch. Memory to decode them is taken
 * afterwards: this read may have to decode blocks of an outer container. */
static enum bfs_err read_in(struct fetching *f, uint32_t off, size_t len,
			    struct bfs_diag *why)
{
	if (bfs_scratch_fit_in(f->scratch, len) != BFS_OK)
		return no_memory(f, why);
	return read_span(f, off, f->scratch->in, len, why);
}

/* Reads and decodes n claims that lie back to back. */
static void fill_neighbours(struct fetching *f, struct claim *claims, size_t n)
{
	uint32_t off = claims[0].off;
	size_t len = claims[n - 1].off + (size_t)claims[n - 1].len - off, i;
	struct bfs_diag why;
	enum bfs_err err = BFS_OK;

	if (!f->has_read)
		err = read_in(f, off, len, &why);
	if (err == BFS_OK && bfs_scratch_fit(f->scratch, f->plan->chunk,
					     largest_block(claims, n)))
		err = no_memory(f, &why);
	if (err == BFS_OK)
		err = check_sources(f, &why);
	if (err != BFS_OK) {
		fail_claims(claims, n, err, &why);
		return;
	}
	BFS_CHECK(f->scratch->in_len >= len);
	/* Special chunks have no bytes, so there may be no buffer for them. */
	for (i = 0; i < n; i++)
		decode_claim(f, &claims[i], len == 0 ? NULL :
			     f->scratch->in + (claims[i].off - off));
}

/* A block that is stored uncompressed is read straight into the cache. */
static void fill_raw(struct fetching *f, struct claim *c)
{
	BFS_CHECK(c->len == c->pin->len);
	c->err = bfs_call_spend(c->pin->len, "copying a block", &c->why);
	if (c->err == BFS_OK)
		c->err = read_span(f, c->off, c->pin->data, c->len, &c->why);
	if (c->err == BFS_OK)
		c->err = check_sources(f, &c->why);
	if (c->err == BFS_OK)
		c->err = finish_block(f, c);
	atomic_fetch_add_explicit(&f->array->engine->decoded_len, c->pin->len,
				  memory_order_relaxed);
}

static void drop_scratch(struct fetching *f)
{
	bfs_engine_give_scratch(f->array->engine, f->scratch);
	f->scratch = NULL;
	f->has_read = false;
}

static void fill_from_source(struct fetching *f, struct claim *claims,
			     size_t n)
{
	struct bfs_diag why;
	size_t i, k;

	if (f->plan->chunk->head.kind == BFS_CHUNK_RAW) {
		for (i = 0; i < n; i++)
			fill_raw(f, &claims[i]);
		return;
	}
	if (!f->scratch)
		f->scratch = bfs_engine_take_scratch(f->array->engine);
	if (!f->scratch) {
		fail_claims(claims, n, no_memory(f, &why), &why);
		return;
	}
	qsort(claims, n, sizeof(*claims), compare_claims);
	for (i = 0; i < n; i += k) {
		k = count_neighbours(claims + i, n - i);
		fill_neighbours(f, claims + i, k);
	}
	drop_scratch(f);
}

static void fill_claims(struct fetching *f, struct claim *claims, size_t n)
{
	struct bfs_diag why;
	enum bfs_err err;

	err = bfs_array_source(f->array, f->id, f->plan, &f->source, &why);
	if (err != BFS_OK) {
		fail_claims(claims, n, err, &why);
		return;
	}
	fill_from_source(f, claims, n);
	bfs_source_unref(f->source);
	f->source = NULL;
}

/* Fills all claims and commits or abandons each. */
static enum bfs_err settle_claims(struct fetching *f, struct claim *claims,
				  size_t n)
{
	struct bfs_cache *cache = f->array->engine->cache;
	uint64_t mark = bfs_moment_mark();
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err = BFS_OK;
	size_t i;

	fill_claims(f, claims, n);
	for (i = 0; i < n; i++) {
		struct claim *c = &claims[i];

		if (c->err == BFS_OK) {
			bfs_cache_commit(cache, c->pin);
			continue;
		}
		if (!(f->id & (BFS_VLMETA_ID | BFS_META_ID)))
			bfs_diag_chunk(&c->why, c->err, f->id);
		bfs_cache_abandon(cache, c->pin, c->err, &c->why);
		c->pin->data = NULL;
		if (err == BFS_OK) {
			err = c->err;
			why = c->why;
		}
	}
	if (err != BFS_OK && f->diag)
		*f->diag = why;
	return bfs_array_fault(f->array, f->id, mark, err, &why);
}

static void add_claim(const struct fetching *f, uint32_t block,
		      struct bfs_cache_pin *pin, struct claim *claim)
{
	*claim = (struct claim){ .block = block, .pin = pin };
	bfs_chunk_block_span(f->plan->chunk, block, &claim->off, &claim->len);
}

/* Fails before a block is claimed that exceeds what the call may still decode:
 * memory for it would be taken in vain, and others would wait in vain. */
static enum bfs_err check_price(struct fetching *f, uint32_t block)
{
	struct bfs_cache_key key = make_key(f, block);
	uint32_t len = bfs_chunk_block_len(f->plan->chunk, block);

	if (BFS_LIKELY(bfs_call_affords(len)) ||
	    bfs_cache_has(f->array->engine->cache, &key))
		return BFS_OK;
	return bfs_call_spend(len, "decoding a block", f->diag);
}

/* Phase one: pin what is there, claim what is free, leave what is busy. */
static enum bfs_err pin_free(struct fetching *f, const uint32_t *blocks,
			     size_t n, struct bfs_cache_pin *pins)
{
	struct claim claims[BFS_FETCH_MAX];
	struct bfs_cache *cache = f->array->engine->cache;
	enum bfs_err err = BFS_OK, settled = BFS_OK;
	size_t n_claims = 0, i;

	for (i = 0; i < n && err == BFS_OK; i++) {
		struct bfs_cache_key key = make_key(f, blocks[i]);
		enum bfs_cache_state state;

		err = check_price(f, blocks[i]);
		if (err != BFS_OK)
			break;
		err = bfs_cache_try(cache, &key,
				    bfs_chunk_block_len(f->plan->chunk,
							blocks[i]),
				    &state, &pins[i], f->diag);
		if (err == BFS_OK && state == BFS_CACHE_BUSY)
			pins[i].data = NULL;
		else if (err == BFS_OK && state == BFS_CACHE_CLAIMED)
			add_claim(f, blocks[i], &pins[i], &claims[n_claims++]);
	}
	if (n_claims > 0)
		settled = settle_claims(f, claims, n_claims);
	return err != BFS_OK ? err : settled;
}

/* Phase two: wait for what others decode; if they gave it up, do it. */
static enum bfs_err pin_busy(struct fetching *f, uint32_t block,
			     struct bfs_cache_pin *pin)
{
	struct bfs_cache_key key = make_key(f, block);
	enum bfs_cache_state state;
	uint32_t len = bfs_chunk_block_len(f->plan->chunk, block);
	struct claim claim;

	/* What the call may not decode it does not wait for either. */
	if (!bfs_call_affords(len))
		return bfs_call_spend(len, "decoding a block", f->diag);
	BFS_TRY(bfs_cache_get(f->array->engine->cache, &key,
			      len, &state, pin, f->diag));
	if (state == BFS_CACHE_HIT)
		return BFS_OK;
	add_claim(f, block, pin, &claim);
	return settle_claims(f, &claim, 1);
}

static enum bfs_err pin_all(struct fetching *f, const uint32_t *blocks,
			    size_t n, struct bfs_cache_pin *pins)
{
	struct bfs_cache *cache = f->array->engine->cache;
	enum bfs_err err;
	size_t i;

	BFS_CHECK(n > 0 && n <= BFS_FETCH_MAX);
	memset(pins, 0, n * sizeof(*pins));
	err = pin_free(f, blocks, n, pins);
	for (i = 0; i < n && err == BFS_OK; i++) {
		if (pins[i].data)
			continue;
		err = pin_busy(f, blocks[i], &pins[i]);
		if (err != BFS_OK)
			pins[i].data = NULL;
	}
	if (err == BFS_OK)
		return BFS_OK;
	for (i = 0; i < n; i++)
		if (pins[i].data)
			bfs_cache_unpin(cache, &pins[i], false);
	return err;
}

/* Reads the bytes of a large block of an inner container before the block is
 * claimed. If another thread decodes it meanwhile, they are not needed. */
static enum bfs_err read_early(struct fetching *f, uint32_t block)
{
	struct bfs_cache_key key = make_key(f, block);
	uint32_t off, len;
	enum bfs_err err;

	if (bfs_cache_has(f->array->engine->cache, &key))
		return BFS_OK;
	bfs_chunk_block_span(f->plan->chunk, block, &off, &len);
	BFS_TRY(bfs_array_source(f->array, f->id, f->plan, &f->source,
				 f->diag));
	f->scratch = bfs_engine_take_scratch(f->array->engine);
	err = f->scratch ? read_in(f, off, len, f->diag) :
			   no_memory(f, f->diag);
	bfs_source_unref(f->source);
	f->source = NULL;
	f->has_read = err == BFS_OK;
	if (err != BFS_OK && !(f->id & (BFS_VLMETA_ID | BFS_META_ID)))
		bfs_diag_chunk(f->diag, err, f->id);
	return err;
}

static bool claims_late(const struct fetching *f, const uint32_t *blocks,
			size_t n)
{
	const struct bfs_chunk *c = f->plan->chunk;

	return n == 1 && f->array->container->source->decoded &&
	       (c->head.kind == BFS_CHUNK_BLOCKS ||
		c->head.kind == BFS_CHUNK_VLBLOCKS) &&
	       bfs_chunk_block_len(c, blocks[0]) >= LATE_CLAIM;
}

/* The same as pin_all, but a single large block is claimed late: LATE_CLAIM. */
static enum bfs_err pin_large(struct fetching *f, const uint32_t *blocks,
			      size_t n, struct bfs_cache_pin *pins)
{
	enum bfs_err err = BFS_OK;

	if (claims_late(f, blocks, n))
		err = read_early(f, blocks[0]);
	if (err == BFS_OK)
		err = pin_all(f, blocks, n, pins);
	if (f->scratch)
		drop_scratch(f);
	return err;
}

static bool wants_ref(const struct bfs_plan *plan, const uint32_t *blocks,
		      size_t n)
{
	return plan->chunk->needs_ref && (n > 1 || blocks[0] != 0);
}

enum bfs_err bfs_array_fetch(struct bfs_array *array, uint64_t id,
			     const struct bfs_plan *plan,
			     const uint32_t *blocks, size_t n,
			     struct bfs_cache_pin *ret_pins,
			     struct bfs_diag *diag)
{
	static const uint32_t first = 0;
	struct fetching f = { .array = array, .id = id, .plan = plan,
			      .diag = diag };
	struct bfs_cache_pin pins[BFS_FETCH_MAX], ref;
	bool has_ref = wants_ref(plan, blocks, n);
	enum bfs_err err;

	if (has_ref) {
		BFS_TRY(pin_large(&f, &first, 1, &ref));
		f.ref = ref.data;
	}
	if (BFS_UNLIKELY(array->container->source->decoded))
		err = pin_large(&f, blocks, n, pins);
	else
		err = pin_all(&f, blocks, n, pins);
	if (has_ref)
		bfs_cache_unpin(array->engine->cache, &ref, false);
	if (err == BFS_OK)
		memcpy(ret_pins, pins, n * sizeof(*pins));
	return err;
}
