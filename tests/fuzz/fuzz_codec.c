/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_codec.c - one stream into any codec.
 *
 * The first byte picks the row and whether there is a dictionary, the next two
 * are the length of the output, a fourth that of the dictionary or else the
 * codec's parameter; then come the dictionary and the stream. All buffers are
 * of exactly their size. The block lies in an array of one dimension.
 */
#include "codec/codec.h"

#include "base/bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void *copy_of(const uint8_t *p, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, p, len);
	return copy;
}

/* A result that depends on what was in the output before is a leak. */
static void decode_twice(const struct bfs_codec *codec,
			 struct bfs_codec_job *job,
			 struct bfs_codec_states *states)
{
	uint8_t *first = malloc(job->dst_len ? job->dst_len : 1);
	uint8_t *again = malloc(job->dst_len ? job->dst_len : 1);
	enum bfs_err a, b;

	if (!first || !again)
		abort();
	memset(first, 0x00, job->dst_len);
	memset(again, 0xff, job->dst_len);
	job->dst = first;
	a = bfs_codec_decode(codec, job, states);
	job->dst = again;
	b = bfs_codec_decode(codec, job, states);
	if (a != b)
		abort();
	if (a == BFS_OK && memcmp(first, again, job->dst_len))
		abort();
	free(first);
	free(again);
}

static void run(const struct bfs_codec *codec, struct bfs_codec_job *job)
{
	struct bfs_codec_states *states = bfs_codec_states_new();
	struct bfs_codec_dict *ready = NULL;

	if (job->dict_len && codec->dict_new)
		ready = codec->dict_new(job->dict, job->dict_len);
	job->ready = ready;
	if (states)
		decode_twice(codec, job, states);
	if (ready)
		codec->dict_free(ready);
	bfs_codec_states_free(states);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bfs_codec_env env = { .ndim = 1 };
	struct bfs_codec_job job = { .env = &env };
	const struct bfs_codec *codec;
	uint8_t *src, *dict = NULL;

	if (len < 4)
		return 0;
	codec = bfs_codecs[(data[0] & 0x7f) % bfs_n_codecs];
	job.dst_len = bfs_le16(data + 1);
	job.dict_len = data[0] & 0x80 ? data[3] : 0;
	job.meta = data[0] & 0x80 ? 0 : data[3];
	env.typesize = job.dst_len % 8 ? 4 : 8;
	env.blockshape[0] = (int32_t)(job.dst_len / env.typesize);
	data += 4;
	len -= 4;
	if (job.dict_len > len)
		job.dict_len = len;
	if (job.dict_len)
		dict = copy_of(data, job.dict_len);
	job.dict = dict;
	job.src_len = len - job.dict_len;
	src = copy_of(data + job.dict_len, job.src_len);
	job.src = src;
	run(codec, &job);
	free(src);
	free(dict);
	return 0;
}
