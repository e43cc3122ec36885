/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_oracle_chunks.c - the library and the oracle over the chunks of those
 * containers that the oracle does not take apart itself: sparse frames, early
 * frames, packed super-chunks, Bloscpack. The library says where a chunk
 * lies; both decode the bytes there, and both are held to the manifest.
 *
 * Directories with a MANIFEST.tsv as in test_oracle.c: BLOSCFS_TEST_DATA,
 * else tests/data, and BLOSCFS_CORPUS.
 */
#include "container/container.h"

#include "base/bytes.h"
#include "support/decode.h"
#include "support/folders.h"
#include "support/manifest.h"
#include "support/oracle.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_COMPARED 256

static struct manifest manifests[2];
static size_t n_manifests, n_compared, n_against_manifest;

static bool is_ours(const struct manifest_row *row)
{
	static const char *const kinds[] = {
		"sframe", "b2nd-sframe", "cframe-beta", "packed", "bloscpack",
	};

	for (size_t i = 0; i < BFS_ARRAY_LEN(kinds); i++)
		if (!strcmp(row->kind, kinds[i]))
			return true;
	return false;
}

static struct bfs_container *open_frame(const char *dir, const char *name)
{
	struct bfs_container *container = NULL;
	struct bfs_source *source;
	struct stat st;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	if (S_ISDIR(st.st_mode)) {
		if (folder_open(fd, &container) != BFS_OK)
			container = NULL;
		close(fd);
		return container;
	}
	assert_int_equal(bfs_source_file(fd, &source, NULL), BFS_OK);
	if (bfs_container_open(source, name, NULL, NULL, &container, NULL) !=
	    BFS_OK)
		container = NULL;
	bfs_source_unref(source);
	return container;
}

/* The bytes of chunk n as they are stored; NULL where there are none, or none
 * that hold. */
static uint8_t *read_chunk(struct bfs_container *f, uint64_t n, size_t *ret_len)
{
	struct bfs_chunk_head head;
	struct bfs_source *source;
	struct bfs_span span;
	uint8_t *buf = NULL;

	if (bfs_container_span(f, n, &span, NULL) != BFS_OK ||
	    span.special != BFS_CHUNK_BLOCKS ||
	    bfs_container_peek(f, &span, &head, NULL) != BFS_OK ||
	    bfs_container_source(f, &span, &source, NULL) != BFS_OK)
		return NULL;
	buf = decode_alloc(head.cbytes);
	*ret_len = head.cbytes;
	if (bfs_source_read(source, span.off, buf, head.cbytes, NULL)) {
		free(buf);
		buf = NULL;
	}
	bfs_source_unref(source);
	return buf;
}

/* What the container knows around the chunk is handed to it, as in use. */
static enum bfs_err decode_by_library(struct bfs_container *f, const uint8_t *p,
				      size_t len, uint8_t **ret_data,
				      size_t *ret_len, struct bfs_diag *diag)
{
	struct bfs_scratch *scratch = bfs_scratch_new();
	struct bfs_source *source;
	struct bfs_chunk *chunk = NULL;
	uint8_t *data = NULL;
	enum bfs_err err;

	assert_int_equal(bfs_source_memory(p, len, false, &source, NULL),
			 BFS_OK);
	err = bfs_chunk_open(source, 0, len, UINT32_MAX, &f->env, &chunk,
			     diag);
	if (err == BFS_OK) {
		data = decode_alloc(chunk->head.nbytes);
		*ret_len = chunk->head.nbytes;
		err = bfs_chunk_read_all(chunk, source, 0, data, scratch,
					 diag);
		bfs_chunk_unref(chunk);
	}
	bfs_source_unref(source);
	bfs_scratch_free(scratch);
	if (err == BFS_OK)
		*ret_data = data;
	else
		free(data);
	return err;
}

/* The row of this chunk, if its hash is one of these bytes: the delta of the
 * alphas is added later. */
static const struct manifest_row *find_row(const struct manifest_row *rows,
					   size_t n_rows, uint64_t n)
{
	char what[32];

	snprintf(what, sizeof(what), "chunk:%llu", (unsigned long long)n);
	for (size_t i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].what, what) && strlen(rows[i].sha) == 64 &&
		    !strstr(rows[i].notes, "subtract reference"))
			return &rows[i];
	return NULL;
}

static void check_row(const struct manifest_row *row,
		      const struct oracle_bytes *bytes)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	char hex[65];

	if (!row)
		return;
	SHA256(bytes->data, bytes->len, sum);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	if (strcmp(hex, row->sha) != 0)
		fail_msg("%s, %s: the oracle has other bytes", row->path,
			 row->what);
	n_against_manifest++;
}

/* The oracle goes by versions alone and cannot know that a frame is one of
 * those betas that kept the old rule in version 4. */
static bool oracle_is_blind(const struct bfs_container *f, const uint8_t *chunk)
{
	return f->env.old_bitshuffle && chunk[0] == 4 &&
	       memchr(chunk + 16, 2, 6);
}

static void compare_chunk(struct bfs_container *f, const char *path, uint64_t n,
			  const struct manifest_row *row)
{
	struct oracle_env env = { f->env.typesize };
	struct oracle_bytes bytes;
	struct bfs_diag diag = { 0 };
	char why[ORACLE_ERR] = "";
	size_t len, got_len = 0;
	uint8_t *got = NULL, *chunk = read_chunk(f, n, &len);
	enum oracle_verdict v;
	enum bfs_err err;

	if (!chunk)
		return;
	err = decode_by_library(f, chunk, len, &got, &got_len, &diag);
	v = oracle_chunk(chunk, len, &env, &bytes, why);
	if (v == ORACLE_UNSUPPORTED || v == ORACLE_LIMIT ||
	    oracle_is_blind(f, chunk))
		goto out;
	if ((err == BFS_OK) != (v == ORACLE_GOOD))
		fail_msg("%s, chunk %llu: library '%s', oracle '%s'", path,
			 (unsigned long long)n, err ? diag.text : "good",
			 v ? why : "good");
	if (err == BFS_OK && (got_len != bytes.len ||
			      memcmp(got, bytes.data, got_len) != 0))
		fail_msg("%s, chunk %llu: other bytes", path,
			 (unsigned long long)n);
	if (v == ORACLE_GOOD)
		check_row(row, &bytes);
	n_compared++;
out:
	oracle_release(&bytes);
	free(got);
	free(chunk);
}

/* The rows of one container. Damaged ones may not open. */
static void compare_container(const struct manifest *m,
			      const struct manifest_row *rows, size_t n_rows)
{
	struct bfs_container *container = open_frame(m->dir, rows->path);
	bool damaged = false;

	for (size_t i = 0; i < n_rows; i++)
		damaged = damaged || !strcmp(rows[i].what, "corrupt");
	if (!container && !damaged)
		fail_msg("%s does not open", rows->path);
	for (uint64_t n = 0;
	     container && n < container->n_chunks && n < MAX_COMPARED; n++)
		compare_chunk(container, rows->path, n,
			      find_row(rows, n_rows, n));
	bfs_container_close(container);
}

static void chunks_of_all_containers_decode_alike(void **state)
{
	(void)state;
	for (size_t k = 0; k < n_manifests; k++) {
		const struct manifest *m = &manifests[k];

		for (size_t i = 0, n; i < m->n_rows; i += n) {
			for (n = 1; i + n < m->n_rows; n++)
				if (strcmp(m->rows[i].path,
					   m->rows[i + n].path))
					break;
			if (is_ours(&m->rows[i]))
				compare_container(m, &m->rows[i], n);
		}
	}
	printf("# %zu chunks compared, %zu of them against a manifest\n",
	       n_compared, n_against_manifest);
	assert_true(n_compared > 100 && n_against_manifest > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_of_all_containers_decode_alike),
	};
	const char *data = getenv("BLOSCFS_TEST_DATA");
	const char *corpus = getenv("BLOSCFS_CORPUS");
	int failed;

	manifest_load(data && *data ? data : TEST_DATA_DIR,
		      &manifests[n_manifests++]);
	if (corpus && *corpus)
		manifest_load(corpus, &manifests[n_manifests++]);
	failed = cmocka_run_group_tests_name("oracle, chunks", tests, NULL,
					     NULL);
	while (n_manifests > 0)
		manifest_release(&manifests[--n_manifests]);
	return failed;
}
