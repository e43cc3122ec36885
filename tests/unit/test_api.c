/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_api.c - the public interface: who owns what, what is refused, and
 * that values come through unchanged.
 */
#include "bloscfs.h"
#include "support/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_frame.h"

/* A file that has no name, with `before` bytes in front of the frame. */
static int make_file(size_t before, size_t behind)
{
	char name[] = "/tmp/bloscfs-test-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(unlink(name), 0);
	for (size_t i = 0; i < before; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(write(fd, frame.p, frame.len), frame.len);
	for (size_t i = 0; i < behind; i++)
		assert_int_equal(write(fd, "y", 1), 1);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void expect_data(struct bloscfs_file *file)
{
	struct bloscfs_node root = bloscfs_root(), node;
	uint8_t *buf = malloc(sizeof(frames_pattern));
	struct bloscfs_attr attr;
	size_t n;

	assert_true(bloscfs_lookup(file, &root, "data.bin", &node));
	bloscfs_stat(file, &node, &attr);
	assert_false(attr.is_dir);
	assert_int_equal(attr.size, sizeof(frames_pattern));
	assert_int_equal(attr.stored, sizeof(frames_pattern) - 32768);
	assert_int_equal(attr.blksize, 4096);
	assert_int_equal(bloscfs_access(file, &node, NULL), BLOSCFS_OK);
	assert_int_equal(bloscfs_read(file, &node, 0, buf,
				      sizeof(frames_pattern), &n, NULL),
			 BLOSCFS_OK);
	assert_int_equal(n, sizeof(frames_pattern));
	assert_memory_equal(buf, frames_pattern, 32768);
	assert_memory_equal(buf + 65536, frames_pattern + 65536,
			    sizeof(frames_pattern) - 65536);
	free(buf);
}

static void an_opened_file_owns_its_descriptor(void **state)
{
	struct bloscfs_diag diag = { 0 };
	struct bloscfs_file *file = NULL;
	int fd = make_file(0, 0);

	(void)state;
	assert_int_equal(bloscfs_open(fs, fd, "x", 0, 0, &file, &diag),
			 BLOSCFS_OK);
	assert_false(is_open(fd));
	assert_int_equal(bloscfs_file_status(file, &diag), BLOSCFS_GOOD);
	assert_int_equal(bloscfs_file_check(file, &diag), BLOSCFS_OK);
	assert_int_equal(diag.text[0], 0);
	expect_data(file);
	bloscfs_close(file);
}

static void a_refused_file_keeps_its_descriptor(void **state)
{
	struct bloscfs_diag diag = { 0 };
	struct bloscfs_file *file = NULL;
	int fd = make_file(3, 0);

	(void)state;
	assert_int_equal(bloscfs_open(fs, fd, "x", 0, 0, &file, &diag),
			 BLOSCFS_ERR_NOT_FORMAT);
	assert_true(is_open(fd));
	assert_int_equal(diag.err, BLOSCFS_ERR_NOT_FORMAT);
	assert_true(diag.text[0] != 0);
	assert_int_equal(bloscfs_open(fs, fd, "x", frame.len + 4, 0, &file,
				      NULL), BLOSCFS_ERR_RANGE);
	assert_int_equal(bloscfs_open(fs, fd, "x", 3, frame.len + 1, &file,
				      NULL), BLOSCFS_ERR_RANGE);
	assert_true(is_open(fd));
	assert_null(file);
	assert_int_equal(bloscfs_open(fs, -1, "x", 0, 0, &file, &diag),
			 BLOSCFS_ERR_IO);
	close(fd);
}

static void a_container_is_opened_inside_a_bigger_file(void **state)
{
	struct bloscfs_file *file = NULL;
	int fd;

	(void)state;
	fd = make_file(1000, 7);
	assert_int_equal(bloscfs_open(fs, fd, NULL, 1000, frame.len, &file,
				      NULL), BLOSCFS_OK);
	expect_data(file);
	bloscfs_close(file);
	fd = make_file(5, 0);
	assert_int_equal(bloscfs_open(fs, fd, NULL, 5, 0, &file, NULL),
			 BLOSCFS_OK);
	expect_data(file);
	bloscfs_close(file);
}

static void a_changed_file_is_noticed(void **state)
{
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	struct bloscfs_diag diag = { 0 };
	struct bloscfs_file *file;
	int fd = make_file(0, 0), other = dup(fd);

	(void)state;
	assert_int_equal(bloscfs_open(fs, fd, "x", 0, 0, &file, NULL),
			 BLOSCFS_OK);
	assert_int_equal(futimens(other, times), 0);
	assert_int_equal(bloscfs_file_check(file, &diag),
			 BLOSCFS_ERR_CHANGED);
	assert_int_equal(bloscfs_err_errno(diag.err), ESTALE);
	bloscfs_close(file);
	close(other);
}

static void probing_leaves_the_file_as_it_is(void **state)
{
	const char *format = NULL;
	int fd = make_file(0, 0);

	(void)state;
	assert_int_equal(bloscfs_probe(fd, "x", &format), BLOSCFS_OK);
	assert_string_equal(format, "b2frame");
	assert_true(is_open(fd));
	close(fd);
	fd = make_file(1, 0);
	format = NULL;
	assert_int_equal(bloscfs_probe(fd, NULL, &format),
			 BLOSCFS_ERR_NOT_FORMAT);
	assert_null(format);
	close(fd);
}

static void memory_is_opened_like_a_file(void **state)
{
	struct bloscfs_file *file;

	(void)state;
	assert_int_equal(bloscfs_open_memory(fs, frame.p, frame.len, NULL,
					     &file, NULL), BLOSCFS_OK);
	expect_data(file);
	bloscfs_close(file);
	assert_int_equal(bloscfs_open_memory(fs, NULL, 1, NULL, &file, NULL),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_open_memory(fs, "", 0, NULL, &file, NULL),
			 BLOSCFS_ERR_NOT_FORMAT);
}

static void options_may_come_from_an_older_program(void **state)
{
	struct bloscfs_options options = {
		.size = offsetof(struct bloscfs_options, views),
		.cache_size = 1 << 20, .views = "nosuch",
	};
	struct bloscfs_diag diag = { 0 };
	struct bloscfs *other = NULL;

	(void)state;
	/* What lies beyond its size is not looked at. */
	assert_int_equal(bloscfs_new(&options, &other, &diag), BLOSCFS_OK);
	bloscfs_free(other);
	other = NULL;
	options.size = sizeof(options);
	assert_int_equal(bloscfs_new(&options, &other, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_null(other);
	assert_non_null(strstr(diag.text, "nosuch"));
	assert_int_equal(bloscfs_new(NULL, NULL, NULL), BLOSCFS_ERR_INVALID);
}

static void made_up_nodes_are_refused(void **state)
{
	struct bloscfs_file *file;
	struct bloscfs_attr attr;
	char buf[8], name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node found;
	size_t n = 99, n_found = 0;

	(void)state;
	assert_int_equal(bloscfs_open_memory(fs, frame.p, frame.len, NULL,
					     &file, NULL), BLOSCFS_OK);
	for (unsigned view = 0; view < 40; view++) {
		for (unsigned kind = 0; kind < 16; kind++) {
			struct bloscfs_node node = {
				.view = (uint16_t)view, .kind = (uint16_t)kind,
				.index = UINT64_MAX,
			};

			bloscfs_stat(file, &node, &attr);
			n_found += bloscfs_lookup(file, &node, "x", &found);
			n_found += bloscfs_list(file, &node, UINT64_MAX, name,
						&found);
			if (!attr.size)
				assert_false(bloscfs_read(file, &node, 0, buf,
							  8, &n, NULL) ==
					     BLOSCFS_OK);
		}
	}
	assert_int_equal(n, 99);
	assert_int_equal(n_found, 0);
	found = bloscfs_root();
	assert_int_equal(bloscfs_read(file, &found, 0, buf, 8, &n, NULL),
			 BLOSCFS_ERR_INVALID);
	bloscfs_close(file);
}

static void pieces_are_reused(void **state)
{
	struct bloscfs_pieces *pieces = bloscfs_pieces_new();
	struct bloscfs_node root = bloscfs_root(), node;
	const struct iovec *iov;
	struct bloscfs_file *file;
	size_t n, sum;
	uint8_t *buf = malloc(20000);

	(void)state;
	assert_int_equal(bloscfs_open_memory(fs, frame.p, frame.len, NULL,
					     &file, NULL), BLOSCFS_OK);
	assert_true(bloscfs_lookup(file, &root, "data.bin", &node));
	for (size_t len = 1; len < 20000; len = len * 3 + 1) {
		assert_int_equal(bloscfs_pin(file, &node, 100, buf, len,
					     pieces, &iov, &n, NULL),
				 BLOSCFS_OK);
		sum = 0;
		for (size_t i = 0; i < n; i++) {
			assert_memory_equal(iov[i].iov_base,
					    frames_pattern + 100 + sum,
					    iov[i].iov_len);
			sum += iov[i].iov_len;
		}
		assert_int_equal(sum, len);
		bloscfs_unpin(file, pieces);
		bloscfs_unpin(file, pieces);
	}
	assert_int_equal(bloscfs_pin(file, &node, sizeof(frames_pattern), buf,
				     10, pieces, &iov, &n, NULL), BLOSCFS_OK);
	assert_int_equal(n, 0);
	bloscfs_unpin(file, pieces);
	bloscfs_pieces_free(pieces);
	bloscfs_close(file);
	free(buf);
}

static void tables_name_what_is_built(void **state)
{
	static const char *const want[][2] = {
		{ "codec", "lz4" }, { "filter", "shuffle" },
		{ "container", "b2frame" }, { "view", "npy" },
		{ "view groups", "npy" },
	};
	const char *name, *version;
	bool built;

	(void)state;
	for (size_t t = 0; t < 5; t++) {
		bool seen = false;

		for (size_t i = 0; bloscfs_table(want[t][0], i, &name,
						 &version, &built); i++)
			seen = seen || (!strcmp(name, want[t][1]) && built);
		assert_true(seen);
	}
	assert_false(bloscfs_table("nosuch", 0, &name, &version, &built));
	assert_false(bloscfs_table(NULL, 0, &name, &version, &built));
	assert_true(strlen(bloscfs_version()) > 0);
	assert_string_equal(bloscfs_err_name(BLOSCFS_ERR_CORRUPT), "corrupt");
	assert_int_equal(bloscfs_err_errno(BLOSCFS_ERR_UNSUPPORTED),
			 EOPNOTSUPP);
}

static void counters_are_told(void **state)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };
	struct bloscfs_stats part = {
		.size = offsetof(struct bloscfs_stats, decoded),
		.decoded = 12345,
	};
	struct bloscfs_file *file;
	uint64_t before;

	(void)state;
	bloscfs_stats_get(fs, &stats);
	before = stats.cache_misses;
	assert_int_equal(bloscfs_open_memory(fs, frame.p, frame.len, NULL,
					     &file, NULL), BLOSCFS_OK);
	expect_data(file);
	bloscfs_stats_get(fs, &stats);
	assert_true(stats.cache_misses > before);
	assert_int_equal(stats.cache_budget, 256 << 20);
	assert_true(stats.memory > 0 && stats.source_bytes > 0);
	bloscfs_stats_get(fs, &part);
	assert_int_equal(part.cache_budget, stats.cache_budget);
	assert_int_equal(part.decoded, 12345);
	bloscfs_close(file);
	bloscfs_trim(fs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opened_file_owns_its_descriptor),
		cmocka_unit_test(a_refused_file_keeps_its_descriptor),
		cmocka_unit_test(a_container_is_opened_inside_a_bigger_file),
		cmocka_unit_test(a_changed_file_is_noticed),
		cmocka_unit_test(probing_leaves_the_file_as_it_is),
		cmocka_unit_test(memory_is_opened_like_a_file),
		cmocka_unit_test(options_may_come_from_an_older_program),
		cmocka_unit_test(made_up_nodes_are_refused),
		cmocka_unit_test(pieces_are_reused),
		cmocka_unit_test(tables_name_what_is_built),
		cmocka_unit_test(counters_are_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
