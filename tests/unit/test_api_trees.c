/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_api_trees.c - the calls of the public interface that serve programs
 * which show whole trees: names and folders before anything is opened, entries
 * that outlive an opening, memory that sources hold.
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

static struct frame_bytes frame;

static int set_up(void **state)
{
	struct frame_input in;

	if (frames_setup(state))
		return 1;
	in = frames_rich_input();
	frame = frames_build(&in);
	return 0;
}

static int tear_down(void **state)
{
	free(frame.p);
	return frames_teardown(state);
}

/* A file that has no name, with the first len bytes of the frame. */
static int make_file(size_t len)
{
	char name[] = "/tmp/bloscfs-test-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(write(fd, frame.p, len), len);
	return fd;
}

/* ---- before anything is opened --------------------------------------- */

static void each_index_of_a_folder_has_its_format(void **state)
{
	bool sparse = false, column = false;
	size_t n;

	(void)state;
	for (n = 0; bloscfs_dir_index(n); n++) {
		const char *format = bloscfs_dir_format(n);
		const char *folder, *ending;

		assert_non_null(format);
		sparse |= !strcmp(bloscfs_dir_index(n), "chunks.b2frame") &&
			  !strcmp(format, "sparse b2frame");
		column |= !strcmp(bloscfs_dir_index(n), "meta/storage") &&
			  !strcmp(format, "bcolz");
		assert_true(bloscfs_dir_part(n, 0, &folder, &ending));
		assert_non_null(folder);
		assert_non_null(ending);
		assert_false(bloscfs_dir_part(n, 100, &folder, &ending));
		assert_false(bloscfs_dir_part(n, 0, NULL, &ending));
	}
	assert_true(sparse && column);
	assert_null(bloscfs_dir_format(n));
}

static void a_frame_that_is_still_copied_is_short(void **state)
{
	int whole = make_file(frame.len), part = make_file(frame.len / 2);
	int other = make_file(8);

	(void)state;
	assert_false(bloscfs_is_short(whole, "x.b2frame"));
	assert_true(bloscfs_is_short(part, "x.b2frame"));
	assert_true(bloscfs_is_short(part, NULL));
	assert_false(bloscfs_is_short(other, "x.txt"));
	assert_false(bloscfs_is_short(-1, NULL));
	close(whole);
	close(part);
	close(other);
}

/* ---- stores of others ------------------------------------------------ */

static void make_text(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void expect_foreign(int dirfd, bool want)
{
	bool is = !want;

	assert_int_equal(bloscfs_is_foreign(dirfd, &is), BLOSCFS_OK);
	assert_int_equal(is, want);
}

static void stores_of_zarr_and_n5_are_told_by_their_files(void **state)
{
	static const struct {
		const char *name, *text;
		bool is;
	} files[] = {
		{ ".zarray", "{}", true },
		{ ".zgroup", "{}", true },
		{ "zarr.json", "{}", true },
		{ "attributes.json", "{\"n5\": \"2.0.0\"}", true },
		{ "attributes.json", "{\"dimensions\": [4], "
				     "\"blockSize\": [2], "
				     "\"dataType\": \"uint8\"}", true },
		{ "attributes.json", "{\"owner\": \"me\"}", false },
		{ "attributes.json", "no JSON", false },
		{ "data.bin", "x", false },
	};
	char name[] = "/tmp/bloscfs-test-XXXXXX";
	int dirfd;

	(void)state;
	assert_non_null(mkdtemp(name));
	dirfd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dirfd >= 0);
	expect_foreign(dirfd, false);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		make_text(dirfd, files[i].name, files[i].text);
		expect_foreign(dirfd, files[i].is);
		assert_int_equal(unlinkat(dirfd, files[i].name, 0), 0);
	}
	assert_int_equal(bloscfs_is_foreign(dirfd, NULL), BLOSCFS_ERR_INVALID);
	close(dirfd);
	assert_int_equal(rmdir(name), 0);
}

/* ---- opened ---------------------------------------------------------- */

static bool keeps(struct bloscfs_file *file, const char *path)
{
	struct bloscfs_node node = bloscfs_root(), dir;
	size_t len;

	for (; *path; path += len + (path[len] == '/')) {
		char name[64];

		len = strcspn(path, "/");
		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		dir = node;
		assert_true(bloscfs_lookup(file, &dir, name, &node));
	}
	return bloscfs_keeps(file, &node);
}

static void what_growth_leaves_alone_is_kept(void **state)
{
	struct bloscfs_options options = { .size = sizeof(options),
					   .views = "info,data,chunks,raw,"
						    "lazy,blocks" };
	struct bloscfs_file *file;
	struct bloscfs *fs;

	(void)state;
	assert_int_equal(bloscfs_new(&options, &fs, NULL), BLOSCFS_OK);
	assert_int_equal(bloscfs_open(fs, make_file(frame.len), "x", 0, 0,
				      &file, NULL), BLOSCFS_OK);
	assert_true(keeps(file, "data.bin"));
	assert_true(keeps(file, "chunks/0000000000"));
	assert_false(keeps(file, "info.json"));
	assert_true(bloscfs_is_removed(file));
	bloscfs_settle(fs);
	bloscfs_close(file);
	bloscfs_free(fs);
}

/* ---- memory ---------------------------------------------------------- */

static void want(void *arg, uint64_t bytes)
{
	(void)bytes;
	++*(unsigned *)arg;
}

static void what_sources_hold_counts_and_is_given_back(void **state)
{
	struct bloscfs_options options = { .size = sizeof(options),
					   .max_memory = 64 << 20,
					   .cache_size = 1 << 20 };
	struct bloscfs_stats stats = { .size = sizeof(stats) };
	unsigned wanted = 0;
	struct bloscfs *fs;
	uint64_t before;

	(void)state;
	assert_int_equal(bloscfs_new(&options, &fs, NULL), BLOSCFS_OK);
	bloscfs_on_want(fs, want, &wanted);
	bloscfs_stats_get(fs, &stats);
	before = stats.memory;
	assert_false(bloscfs_is_tight(fs));
	assert_true(bloscfs_charge(fs, 1 << 20));
	bloscfs_stats_get(fs, &stats);
	assert_int_equal(stats.memory, before + (1 << 20));
	/* More than there is, it does without. */
	assert_false(bloscfs_charge(fs, UINT64_C(1) << 40));
	bloscfs_give_back(fs, 1 << 20);
	bloscfs_stats_get(fs, &stats);
	assert_int_equal(stats.memory, before);
	bloscfs_beside(fs, 4096);
	bloscfs_stats_get(fs, &stats);
	assert_int_equal(stats.memory, before + 4096);
	bloscfs_beside(fs, 0);
	bloscfs_free(fs);
	assert_int_equal(wanted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_index_of_a_folder_has_its_format),
		cmocka_unit_test(a_frame_that_is_still_copied_is_short),
		cmocka_unit_test(stores_of_zarr_and_n5_are_told_by_their_files),
		cmocka_unit_test(what_growth_leaves_alone_is_kept),
		cmocka_unit_test(what_sources_hold_counts_and_is_given_back),
	};

	return cmocka_run_group_tests_name("trees", tests, set_up, tear_down);
}
