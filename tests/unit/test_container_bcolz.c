/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_bcolz.c - columns of bcolz: what the files of meta/ say
 * wrongly, and what is shown all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZES "meta/sizes"
#define STORAGE "meta/storage"
#define ATTRS "__attrs__"
#define MOST_JSON (256 << 10)

static char dir[64];
static int dirfd = -1;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/bloscfs-bcolz-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd < 0 || mkdirat(dirfd, "meta", 0700) ||
	       mkdirat(dirfd, "data", 0700);
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(dirfd, SIZES, 0);
	unlinkat(dirfd, STORAGE, 0);
	unlinkat(dirfd, ATTRS, 0);
	unlinkat(dirfd, "meta", AT_REMOVEDIR);
	unlinkat(dirfd, "data", AT_REMOVEDIR);
	close(dirfd);
	return rmdir(dir) || bfs_mem_used() != 0;
}

static void put_text(const char *name, const char *text, size_t len)
{
	int fd;

	if (!text) {
		unlinkat(dirfd, name, 0);
		return;
	}
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static struct bfs_container *open_column(const char *sizes,
					 const char *storage)
{
	struct bfs_container *f = NULL;

	put_text(SIZES, sizes, sizes ? strlen(sizes) : 0);
	put_text(STORAGE, storage, storage ? strlen(storage) : 0);
	assert_non_null(folder_probe(dirfd));
	assert_int_equal(folder_open(dirfd, &f), BFS_OK);
	assert_string_equal(f->ops->name, "bcolz");
	return f;
}

/* Has files to show, and no chunk is taken for one. */
static void check_refused(const char *sizes, const char *storage,
			  enum bfs_status status, const char *why)
{
	struct bfs_container *f = open_column(sizes, storage);

	if (f->status != status || !strstr(f->why.text, why))
		fail_msg("%s, %s: %s", sizes, storage, f->why.text);
	assert_non_null(f->source);
	assert_false(f->nbytes_known);
	assert_true(f->n_metas > 0);
	bfs_container_close(f);
}

#define SIZED "{\"shape\": [20], \"nbytes\": 40}"
#define TYPED "{\"dtype\": \"<i2\", \"chunklen\": 10}"

static void meta_that_lies_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *sizes, *storage;
		enum bfs_status status;
		const char *why;
	} rows[] = {
		{ "[20]", TYPED, BFS_DAMAGED, "meta/sizes is no JSON object" },
		{ "20", TYPED, BFS_DAMAGED, "meta/sizes is no JSON object" },
		{ SIZED, "\"x\"", BFS_DAMAGED,
		  "meta/storage is no JSON object" },
		{ "{", TYPED, BFS_DAMAGED, "" },
		{ "", TYPED, BFS_DAMAGED, "" },
		{ NULL, TYPED, BFS_DAMAGED, "" },
		{ "{}", TYPED, BFS_DAMAGED, "does not tell shape and dtype" },
		{ "{\"shape\": []}", TYPED, BFS_DAMAGED, "does not tell" },
		{ "{\"shape\": 20}", TYPED, BFS_DAMAGED, "does not tell" },
		{ "{\"shape\": [-20]}", TYPED, BFS_DAMAGED, "does not tell" },
		{ SIZED, "{\"chunklen\": 10}", BFS_DAMAGED, "does not tell" },
		{ SIZED, "{\"dtype\": 2, \"chunklen\": 10}", BFS_DAMAGED,
		  "does not tell shape and dtype" },
		{ "{\"shape\": [20], \"nbytes\": 41}", TYPED, BFS_DAMAGED,
		  "meta/sizes says 41 bytes where the shape has 40" },
		{ "{\"shape\": [9007199254740992, 2]}",
		  "{\"dtype\": \"<i8\", \"chunklen\": 9007199254740992}",
		  BFS_DAMAGED, "chunks of 9007199254740992 rows of 16 bytes" },
		{ "{\"shape\": [4611686018427387904]}",
		  "{\"dtype\": \"<i8\", \"chunklen\": 4611686018427387904}",
		  BFS_DAMAGED, "4611686018427387904 rows of 8 bytes" },
		{ "{\"shape\": [20, 4611686018427387904, 4]}", TYPED,
		  BFS_DAMAGED, "20 rows of 0 bytes" },
		{ "{\"shape\": [20, 0]}", TYPED, BFS_DAMAGED,
		  "20 rows of 0 bytes" },
		{ SIZED, "{\"dtype\": \"<i2\", \"chunklen\": 0}", BFS_DAMAGED,
		  "20 rows, 0 in a chunk" },
		{ SIZED, "{\"dtype\": \"<i2\", \"chunklen\": -1}", BFS_DAMAGED,
		  "20 rows, -1 in a chunk" },
		{ SIZED, "{\"dtype\": \"<i2\"}", BFS_DAMAGED,
		  "20 rows, -1 in a chunk" },
		{ "{\"shape\": [100000000]}",
		  "{\"dtype\": \"<i2\", \"chunklen\": 1}", BFS_DAMAGED,
		  "100000000 rows, 1 in a chunk" },
		{ SIZED, "{\"dtype\": \"<i2\", \"chunklen\": 1073741824}",
		  BFS_DAMAGED, "chunks of 1073741824 rows of 2 bytes" },
		{ SIZED, "{\"dtype\": \"object\", \"chunklen\": 10}",
		  BFS_UNSUPPORTED, "a column of Python objects" },
		{ "{\"shape\": [20]}", "{\"dtype\": \"?!\", \"chunklen\": 10}",
		  BFS_UNSUPPORTED, "dtype: unknown type" },
		{ "{\"shape\": [20], \"nbytes\": 41}",
		  "{\"dtype\": \"?!\", \"chunklen\": 10}", BFS_UNSUPPORTED,
		  "dtype: unknown type" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_refused(rows[i].sizes, rows[i].storage, rows[i].status,
			      rows[i].why);
}

static void meta_that_is_too_long_is_shown_and_not_parsed(void **state)
{
	char *text = malloc(MOST_JSON + 2);
	struct bfs_container *f;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', MOST_JSON + 1);
	memcpy(text, SIZED, strlen(SIZED));
	text[MOST_JSON] = 0;
	f = open_column(text, TYPED);
	assert_int_equal(f->status, BFS_GOOD);
	bfs_container_close(f);
	text[MOST_JSON] = ' ';
	text[MOST_JSON + 1] = 0;
	f = open_column(text, TYPED);
	assert_int_equal(f->status, BFS_DAMAGED);
	assert_string_equal(f->why.text, "meta/sizes is too long");
	assert_int_equal(f->n_metas, 2);
	assert_int_equal(bfs_source_len(f->metas[0].source), MOST_JSON + 1);
	bfs_container_close(f);
	free(text);
}

/* Where the dtype is unknown all bytes are divided among the rows. */
static void rows_of_an_unknown_dtype_have_their_share(void **state)
{
	struct bfs_container *f =
		open_column("{\"shape\": [20], \"nbytes\": 60}",
			    "{\"dtype\": \"?!\", \"chunklen\": 8}");
	struct bfs_span span;

	(void)state;
	assert_true(f->nbytes_known);
	assert_int_equal(f->nbytes, 60);
	assert_int_equal(f->chunksize, 24);
	assert_int_equal(f->n_chunks, 3);
	assert_int_equal(bfs_container_span(f, 2, &span, NULL), BFS_OK);
	assert_int_equal(span.nbytes, 12);
	assert_int_equal(bfs_container_span(f, 3, &span, NULL), BFS_ERR_RANGE);
	bfs_container_close(f);
}

/* Many chunk files are not asked for: what bcolz noted counts. */
static void of_very_many_chunks_the_noted_size_is_told(void **state)
{
	static const char *const noted[] = { "123456", "-5", "\"x\"" };
	char sizes[100];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct bfs_container *f;

		snprintf(sizes, sizeof(sizes),
			 "{\"shape\": [9000], \"cbytes\": %s}", noted[i]);
		f = open_column(sizes, "{\"dtype\": \"<i2\", "
				       "\"chunklen\": 1}");
		assert_int_equal(f->status, BFS_GOOD);
		assert_int_equal(f->n_chunks, 9000);
		assert_int_equal(f->cbytes, strlen(sizes) +
				 bfs_source_len(f->metas[1].source) +
				 (i == 0 ? 123456 : 0));
		bfs_container_close(f);
	}
}

static void notes_of_users_are_metalayers_whatever_they_are(void **state)
{
	struct bfs_container *f;

	(void)state;
	put_text(ATTRS, "no JSON at all", 14);
	f = open_column(SIZED, TYPED);
	assert_int_equal(f->status, BFS_GOOD);
	assert_int_equal(f->n_metas, 3);
	assert_string_equal(f->metas[2].name, ATTRS);
	bfs_container_close(f);
	put_text(ATTRS, NULL, 0);
}

/* Each allocation fails once: an error, or all of it. */
static void without_memory_nothing_is_left_behind(void **state)
{
	struct bfs_container *f = NULL;
	enum bfs_err err = BFS_ERR_NOMEM;

	(void)state;
	put_text(ATTRS, "{}", 2);
	bfs_container_close(open_column(SIZED, TYPED));
	for (unsigned n = 1; err != BFS_OK; n++) {
		uint64_t before = bfs_mem_used();

		bfs_mem_fail_at(n);
		err = folder_open(dirfd, &f);
		bfs_mem_fail_at(0);
		if (err != BFS_OK) {
			assert_int_equal(err, BFS_ERR_NOMEM);
			assert_int_equal(bfs_mem_used(), before);
		}
		assert_true(n < 1000);
	}
	assert_int_equal(f->status, BFS_GOOD);
	assert_int_equal(f->n_metas, 3);
	bfs_container_close(f);
	put_text(ATTRS, NULL, 0);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(meta_that_lies_is_refused_with_a_reason),
		T(meta_that_is_too_long_is_shown_and_not_parsed),
		T(rows_of_an_unknown_dtype_have_their_share),
		T(of_very_many_chunks_the_noted_size_is_told),
		T(notes_of_users_are_metalayers_whatever_they_are),
		T(without_memory_nothing_is_left_behind),
	};

	return cmocka_run_group_tests_name("bcolz", tests, setup, teardown);
}
