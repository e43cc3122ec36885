/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec_jobs.h - codec_try.h for codecs that need a parameter or an array
 * around the stream: the same trials on a whole job.
 */
#ifndef BFS_TESTS_CODEC_JOBS_H
#define BFS_TESTS_CODEC_JOBS_H

#include "codec_try.h"

/* Decodes `in` with some of its stream's bytes changed; whether refused. */
static inline int try_changed(const struct bfs_codec *codec,
			      const struct bfs_codec_job *in)
{
	static uint8_t mutant[ARENA_LEN];
	struct bfs_codec_job job = *in;
	enum bfs_err err;

	memcpy(mutant, in->src, in->src_len);
	for (uint32_t n = 1 + draw(4); n > 0; n--)
		mutant[draw((uint32_t)in->src_len)] =
			(uint8_t)(draw(3) ? draw(256) : 0xff + draw(2));
	job.src = mutant;
	if (draw(4) == 0)
		job.src_len = 1 + draw((uint32_t)in->src_len);
	err = decode_job(codec, &job);
	assert_true(err == BFS_OK || err == BFS_ERR_CORRUPT);
	return err != BFS_OK;
}

static inline void expect_changes_contained(const struct bfs_codec *codec,
					    const struct bfs_codec_job *in)
{
	int n_refused = 0;

	for (int i = 0; i < 300; i++)
		n_refused += try_changed(codec, in);
	assert_true(n_refused > 0);
}

/* Every stream that ends early is refused, and so are other lengths. */
static inline void expect_exact(const struct bfs_codec *codec,
				const struct bfs_codec_job *in)
{
	struct bfs_codec_job job = *in;

	for (size_t n = 0; n < in->src_len; n++) {
		job.src_len = n;
		if (decode_job(codec, &job) != BFS_ERR_CORRUPT)
			fail_msg("%s: %zu of %zu bytes", codec->name, n,
				 in->src_len);
	}
	job.src_len = in->src_len;
	for (int d = -9; d <= 9; d++) {
		if (d == 0 || (d < 0 && (size_t)-d > in->dst_len))
			continue;
		job.dst_len = in->dst_len + (size_t)d;
		assert_int_equal(decode_job(codec, &job), BFS_ERR_CORRUPT);
	}
}

static inline void expect_result(const struct bfs_codec *codec,
				 const struct bfs_codec_job *job,
				 const void *want)
{
	assert_int_equal(decode_job(codec, job), BFS_OK);
	assert_memory_equal(result, want, job->dst_len);
}

#endif
