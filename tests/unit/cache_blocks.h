/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_blocks.h - for the tests of the cache: blocks filled with bytes that
 * follow from their keys, so that a hit proves which block it is; and a check
 * that every test gives back all its memory.
 */
#ifndef BFS_CACHE_BLOCKS_H
#define BFS_CACHE_BLOCKS_H

#include "cache/cache.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
/* What a cache of the sizes used here may take beside its budget. */
#define FIXED_LEN (96 * KIB)

static uint64_t base_len;	/* held when a test begins */

static inline int begin_test(void **state)
{
	(void)state;
	bfs_mem_fail_at(0);
	base_len = bfs_mem_used();
	return 0;
}

static inline int end_test(void **state)
{
	(void)state;
	return bfs_mem_used() != base_len;
}

static inline struct bfs_cache *make_cache(uint64_t budget_len)
{
	struct bfs_cache *cache = NULL;

	assert_int_equal(bfs_cache_new(budget_len, &cache), BFS_OK);
	return cache;
}

static inline struct bfs_cache_key make_key(uint64_t gen, uint64_t n)
{
	struct bfs_cache_key key = { gen, n / 16, n % 16 };

	return key;
}

static inline uint8_t byte_of(const struct bfs_cache_key *key)
{
	return (uint8_t)(1 + (key->gen * 91 + key->chunk * 31 + key->block) %
			 251);
}

static inline void fill(const struct bfs_cache_key *key,
			struct bfs_cache_pin *pin)
{
	memset(pin->data, byte_of(key), pin->len);
}

static inline bool is_filled(const struct bfs_cache_key *key,
			     const struct bfs_cache_pin *pin)
{
	uint8_t byte = byte_of(key);

	return !pin->len ||
	       (pin->data[0] == byte &&
		!memcmp(pin->data, pin->data + 1, pin->len - 1));
}

static inline struct bfs_cache_stats get_stats(struct bfs_cache *cache)
{
	struct bfs_cache_stats stats;

	bfs_cache_get_stats(cache, &stats);
	return stats;
}

/* A pin on a block that is ready, whoever made it so. */
static inline enum bfs_cache_state
pin_block(struct bfs_cache *cache, uint64_t gen, uint64_t n, size_t len,
	  struct bfs_cache_pin *pin)
{
	struct bfs_cache_key key = make_key(gen, n);
	enum bfs_cache_state state;

	assert_int_equal(bfs_cache_get(cache, &key, len, &state, pin, NULL),
			 BFS_OK);
	assert_int_equal(pin->len, len);
	if (state == BFS_CACHE_CLAIMED) {
		fill(&key, pin);
		bfs_cache_commit(cache, pin);
	}
	assert_true(is_filled(&key, pin));
	return state;
}

static inline enum bfs_cache_state use(struct bfs_cache *cache, uint64_t n,
				       size_t len)
{
	struct bfs_cache_pin pin;
	enum bfs_cache_state state = pin_block(cache, 1, n, len, &pin);

	bfs_cache_unpin(cache, &pin, false);
	return state;
}

static inline void consume(struct bfs_cache *cache, uint64_t n, size_t len)
{
	struct bfs_cache_pin pin;

	pin_block(cache, 1, n, len, &pin);
	bfs_cache_unpin(cache, &pin, true);
}

static inline bool has(struct bfs_cache *cache, uint64_t gen, uint64_t n)
{
	struct bfs_cache_key key = make_key(gen, n);

	return bfs_cache_has(cache, &key);
}

static inline unsigned count_there(struct bfs_cache *cache, uint64_t first,
			    uint64_t end)
{
	unsigned n = 0;

	for (; first < end; first++)
		n += has(cache, 1, first);
	return n;
}

static inline uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 11) % below;
}

static inline void pause_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, begin_test, end_test)

#endif
