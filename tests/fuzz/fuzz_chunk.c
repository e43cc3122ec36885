/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_chunk.c - any bytes as one chunk: the library and the oracle give the
 * same bytes or both refuse, and blocks alone are what they are in the whole.
 *
 * The first byte is the typesize of the frame around (0: none), and the
 * library runs at the level that BLOSCFS_CPU names.
 */
#include "entries.h"
#include "mutate.h"

#include "base/bytes.h"
#include "support/decode.h"
#include "support/oracle.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed);

#define MOST ((uint32_t)4 << 20)

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	return mutate_file(data, len, 1, max, seed);
}

static bool is_no_opinion(enum bfs_err err)
{
	return err == BFS_ERR_UNSUPPORTED || err == BFS_ERR_LIMIT ||
	       err == BFS_ERR_NOMEM;
}

/* Each block alone, into memory that held something else. */
static void check_blocks(const struct bfs_chunk *chunk, const uint8_t *p,
			 const uint8_t *whole)
{
	for (uint32_t k = 0; k < chunk->head.n_blocks && k < 64; k++) {
		const uint8_t *want = whole + bfs_chunk_block_off(chunk, k);
		uint8_t *block = NULL;

		need(decode_block(chunk, p, k, whole, (uint8_t)(k * 37 + 1),
				  &block, NULL) == BFS_OK);
		need(memcmp(block, want, bfs_chunk_block_len(chunk, k)) == 0);
		free(block);
	}
}

/* As in a container that says how much the chunk decodes to: what a bare chunk
 * must hold besides, the oracle does not ask. */
static enum bfs_err decode(const uint8_t *p, size_t len, uint32_t typesize,
			   uint8_t **ret_whole, size_t *ret_len,
			   struct bfs_diag *diag)
{
	struct bfs_codec_env env = { .typesize = typesize };
	struct bfs_scratch *scratch = bfs_scratch_new();
	uint32_t want = len < 8 ? UINT32_MAX : bfs_le32(p + 4);
	struct bfs_chunk *chunk = NULL;
	struct bfs_source *source;
	enum bfs_err err;

	err = bfs_source_memory(p, len, false, &source, NULL);
	need(scratch && err == BFS_OK);
	err = bfs_chunk_open(source, 0, len, want, &env, &chunk, diag);
	if (err == BFS_OK && chunk->head.nbytes > MOST)
		err = BFS_ERR_LIMIT;
	if (err == BFS_OK) {
		*ret_len = chunk->head.nbytes;
		*ret_whole = decode_alloc(*ret_len);
		memset(*ret_whole, 0xa5, *ret_len);
		err = bfs_chunk_read_all(chunk, source, 0, *ret_whole,
					 scratch, diag);
	}
	if (err == BFS_OK)
		check_blocks(chunk, p, *ret_whole);
	if (chunk)
		bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	bfs_scratch_free(scratch);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct oracle_env env;
	struct oracle_bytes bytes = { 0 };
	struct bfs_diag diag = { 0 };
	char why[ORACLE_ERR];
	enum oracle_verdict v;
	uint8_t *whole = NULL;
	size_t whole_len = 0;
	enum bfs_err err;

	if (len < 1)
		return 0;
	env.typesize = data[0];
	err = decode(data + 1, len - 1, env.typesize, &whole, &whole_len,
		     &diag);
	need(err == BFS_OK || err == BFS_ERR_LIMIT || diag.text[0]);
	if (is_no_opinion(err)) {
		free(whole);
		return 0;
	}
	v = oracle_chunk(data + 1, len - 1, &env, &bytes, why);
	if ((v == ORACLE_GOOD && err != BFS_OK) ||
	    (v == ORACLE_BAD && err == BFS_OK)) {
		fprintf(stderr, "library: '%s', oracle: '%s'\n", diag.text,
			v == ORACLE_BAD ? why : "");
		abort();
	}
	if (v == ORACLE_GOOD)
		need(bytes.len == whole_len &&
		     memcmp(bytes.data, whole, whole_len) == 0);
	oracle_release(&bytes);
	free(whole);
	return 0;
}
