/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec_try.h - what the codecs' tests share: decoding between pages that
 * cannot be touched, bytes to compress, and mutants.
 *
 * Every decode runs in decode_job(): source, dictionary and output lie against
 * such pages, once at their ends and once at their starts, and the output's
 * old contents differ from run to run; all runs must agree.
 */
#ifndef BFS_TESTS_CODEC_TRY_H
#define BFS_TESTS_CODEC_TRY_H

#include "codec/codec.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

#define ARENA_LEN (1u << 20)
#define PAGE 65536u		/* a multiple of every page size in use */

static uint8_t *src_arena, *dst_arena, *dict_arena;
static uint8_t result[ARENA_LEN];	/* what the last decode() gave */
static struct bfs_codec_states *states;
static const struct bfs_codec_env env;

/* ARENA_LEN bytes between two pages that may not be touched. */
static inline uint8_t *map_arena(void)
{
	uint8_t *p = mmap(NULL, ARENA_LEN + 2 * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, ARENA_LEN, PROT_READ | PROT_WRITE),
			 0);
	return p + PAGE;
}

static inline uint8_t *place(uint8_t *arena, size_t len, int at_end)
{
	assert_true(len <= ARENA_LEN);
	return at_end ? arena + ARENA_LEN - len : arena;
}

static inline uint8_t *put(uint8_t *arena, const void *p, size_t len,
			   int at_end)
{
	uint8_t *to = place(arena, len, at_end);

	if (len)
		memcpy(to, p, len);
	return to;
}

/* Decodes with the fields of `in` apart from its dst; no env: no array. */
static inline enum bfs_err decode_job(const struct bfs_codec *codec,
				      const struct bfs_codec_job *in)
{
	enum bfs_err err[4] = { BFS_OK };

	for (int i = 0; i < 4; i++) {
		struct bfs_codec_job job = *in;

		if (!job.env)
			job.env = &env;
		job.src = put(src_arena, in->src, in->src_len, i & 1);
		if (in->dict)
			job.dict = put(dict_arena, in->dict, in->dict_len,
				       i & 1);
		job.dst = place(dst_arena, in->dst_len, i >> 1);
		memset(job.dst, 0x55 + i, in->dst_len);
		err[i] = bfs_codec_decode(codec, &job, states);
		assert_int_equal(err[i], err[0]);
		if (i > 0 && err[i] == BFS_OK)
			assert_memory_equal(job.dst, result, in->dst_len);
		memcpy(result, job.dst, in->dst_len);
	}
	return err[0];
}

static inline enum bfs_err decode(const struct bfs_codec *codec,
				  const void *src, size_t src_len,
				  size_t dst_len)
{
	struct bfs_codec_job job = {
		.src = src, .src_len = src_len, .dst_len = dst_len,
	};

	return decode_job(codec, &job);
}

static inline void expect_bytes(const struct bfs_codec *codec,
				const void *src, size_t src_len,
				const void *want, size_t want_len)
{
	assert_int_equal(decode(codec, src, src_len, want_len), BFS_OK);
	assert_memory_equal(result, want, want_len);
}

static inline void expect_corrupt(const struct bfs_codec *codec,
				  const void *src, size_t src_len,
				  size_t dst_len)
{
	assert_int_equal(decode(codec, src, src_len, dst_len),
			 BFS_ERR_CORRUPT);
}

static uint64_t seed = 1;

static inline uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

/* Bytes that every codec can make smaller: ramps, runs, echoes, noise. */
static inline void fill(uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len) {
		size_t n = 1 + draw(200), back = i ? 1 + draw((uint32_t)i) : 1;
		uint32_t kind = i ? draw(4) : 0;
		uint8_t byte = (uint8_t)draw(256);

		for (; n > 0 && i < len; n--, i++, byte++)
			p[i] = kind == 0 ? byte : kind == 1 ? 7 :
			       kind == 2 ? p[i - back] : (uint8_t)draw(256);
	}
}

/* Changes some bytes and decodes; returns whether it was refused. */
static inline int try_mutant(const struct bfs_codec *codec,
			     const uint8_t *src, size_t len, size_t dst_len)
{
	static uint8_t mutant[ARENA_LEN];
	uint32_t n = 1 + draw(4);
	enum bfs_err err;

	memcpy(mutant, src, len);
	while (n-- > 0)
		mutant[draw((uint32_t)len)] = draw(3) ? (uint8_t)draw(256) :
					      (uint8_t)(0xff + draw(2));
	if (draw(4) == 0)
		len = 1 + draw((uint32_t)len);
	err = decode(codec, mutant, len, dst_len);
	assert_true(err == BFS_OK || err == BFS_ERR_CORRUPT);
	return err != BFS_OK;
}

static inline void expect_mutants_contained(const struct bfs_codec *codec,
					    const uint8_t *src, size_t len,
					    size_t dst_len)
{
	int n_refused = 0;

	for (int i = 0; i < 300; i++)
		n_refused += try_mutant(codec, src, len, dst_len);
	assert_true(n_refused > 0);
}

static inline int set_up(void **unused)
{
	(void)unused;
	src_arena = map_arena();
	dst_arena = map_arena();
	dict_arena = map_arena();
	states = bfs_codec_states_new();
	return states ? 0 : -1;
}

static inline int tear_down(void **unused)
{
	(void)unused;
	bfs_codec_states_free(states);
	return bfs_mem_used() ? -1 : 0;
}

#endif
