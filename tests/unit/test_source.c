/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_source.c - bytes at an offset: bounds of files, windows and memory,
 * what is counted, and files that change or are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static uint8_t data[1000];
static char dir[64];
static int dirfd = -1;

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	strcpy(dir, "/tmp/bloscfs-source-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(dirfd);
	return rmdir(dir) || bfs_mem_used() != 0;
}

static void put_file(const char *name, const void *p, size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

static struct bfs_source *open_member(const char *name)
{
	struct bfs_source *s = NULL;
	struct bfs_diag diag = { 0 };

	assert_int_equal(bfs_source_member(dirfd, name, &s, &diag), BFS_OK);
	return s;
}

static struct bfs_source *open_memory(void)
{
	struct bfs_source *s = NULL;

	assert_int_equal(bfs_source_memory(data, sizeof(data), false, &s,
					   NULL), BFS_OK);
	return s;
}

static struct bfs_source *open_window(struct bfs_source *parent, uint64_t off,
				      uint64_t len)
{
	struct bfs_source *s = NULL;

	assert_int_equal(bfs_source_window(parent, off, len, &s, NULL),
			 BFS_OK);
	return s;
}

/* A source over data[at, at + len), whatever its kind. */
static void check_bounds(struct bfs_source *s, size_t at, size_t len)
{
	static const struct { uint64_t off, len; } beyond[] = {
		{ 0, 1 }, { UINT64_MAX, 1 }, { UINT64_MAX, 0 },
		{ INT64_MAX, 1 }, { 1, 0 },
	};
	struct bfs_diag diag = { 0 };
	uint8_t got[1000];

	assert_int_equal(bfs_source_len(s), len);
	assert_int_equal(bfs_source_read(s, 0, got, len, NULL), BFS_OK);
	assert_memory_equal(got, data + at, len);
	assert_int_equal(bfs_source_read(s, len / 2, got, 3, NULL), BFS_OK);
	assert_memory_equal(got, data + at + len / 2, 3);
	assert_int_equal(bfs_source_read(s, len, got, 0, NULL), BFS_OK);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		uint64_t off = beyond[i].off < 2 ? len + beyond[i].off :
						   beyond[i].off;

		memset(&diag, 0, sizeof(diag));
		got[0] = 0x55;
		assert_int_equal(bfs_source_read(s, off, got,
						 (size_t)beyond[i].len,
						 &diag), BFS_ERR_TRUNCATED);
		assert_true(diag.text[0] != '\0');
		assert_int_equal(diag.off, off);
		assert_int_equal(got[0], 0x55);
	}
	assert_int_equal(bfs_source_read(s, 1, got, len, NULL),
			 BFS_ERR_TRUNCATED);
	assert_int_equal(bfs_source_read(s, 0, got, SIZE_MAX, NULL),
			 BFS_ERR_TRUNCATED);
	assert_int_equal(bfs_source_check(s, NULL), BFS_OK);
	bfs_source_will_need(s, 0, UINT64_MAX);
}

static void sources_of_all_kinds_keep_their_bounds(void **state)
{
	struct bfs_source *s = open_memory(), *w;

	(void)state;
	check_bounds(s, 0, sizeof(data));
	w = open_window(s, 100, 300);
	check_bounds(w, 100, 300);
	bfs_source_unref(w);
	bfs_source_unref(s);
	put_file("f", data, sizeof(data));
	s = open_member("f");
	check_bounds(s, 0, sizeof(data));
	w = open_window(s, 999, 1);
	bfs_source_unref(s);
	/* The window holds what it looks through. */
	assert_int_equal(bfs_source_len(w), 1);
	assert_int_equal(bfs_source_check(w, NULL), BFS_OK);
	bfs_source_unref(w);
	unlinkat(dirfd, "f", 0);
}

static void windows_nest_and_never_reach_beyond_their_parent(void **state)
{
	static const struct { uint64_t off, len; } beyond[] = {
		{ 0, 301 }, { 300, 1 }, { 301, 0 }, { UINT64_MAX, 0 },
		{ 1, UINT64_MAX }, { UINT64_MAX, UINT64_MAX },
		{ UINT64_MAX - 100, 101 },
	};
	struct bfs_source *s = open_memory(), *w, *inner, *none = NULL;
	struct bfs_diag diag;

	(void)state;
	w = open_window(s, 100, 300);
	inner = open_window(w, 50, 100);
	check_bounds(inner, 150, 100);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		memset(&diag, 0, sizeof(diag));
		assert_int_equal(bfs_source_window(w, beyond[i].off,
						   beyond[i].len, &none,
						   &diag), BFS_ERR_RANGE);
		assert_true(diag.text[0] != '\0');
		assert_null(none);
	}
	bfs_source_unref(open_window(w, 300, 0));
	bfs_source_unref(w);
	bfs_source_unref(inner);
	bfs_source_unref(s);
}

static void reads_are_counted_in_window_and_parent(void **state)
{
	struct bfs_source *s = open_memory();
	struct bfs_source *w = open_window(s, 10, 100);
	uint8_t got[50];

	(void)state;
	assert_int_equal(bfs_source_read(w, 0, got, 50, NULL), BFS_OK);
	assert_int_equal(bfs_source_read(s, 0, got, 20, NULL), BFS_OK);
	/* What fails or asks for nothing is no read. */
	assert_int_equal(bfs_source_read(w, 99, got, 2, NULL),
			 BFS_ERR_TRUNCATED);
	assert_int_equal(bfs_source_read(w, 5, got, 0, NULL), BFS_OK);
	assert_int_equal(w->n_reads, 1);
	assert_int_equal(w->read_len, 50);
	assert_int_equal(s->n_reads, 2);
	assert_int_equal(s->read_len, 70);
	bfs_source_unref(w);
	bfs_source_unref(s);
}

static void owned_memory_is_freed_with_its_source(void **state)
{
	uint64_t before = bfs_mem_used();
	struct bfs_source *s = NULL;
	uint8_t *p = bfs_alloc(1000);

	(void)state;
	assert_non_null(p);
	memcpy(p, data, sizeof(data));
	assert_int_equal(bfs_source_memory(p, 1000, true, &s, NULL), BFS_OK);
	check_bounds(s, 0, 1000);
	bfs_source_unref(bfs_source_ref(s));
	check_bounds(s, 0, 1000);
	bfs_source_unref(s);
	bfs_source_unref(NULL);
	assert_int_equal(bfs_mem_used(), before);
}

static void file_that_was_written_to_is_changed(void **state)
{
	struct bfs_source *s, *w;
	struct bfs_diag diag = { 0 };
	uint8_t got[1000];

	(void)state;
	put_file("f", data, sizeof(data));
	s = open_member("f");
	w = open_window(s, 10, 10);
	put_file("f", data, 500);
	assert_int_equal(bfs_source_check(s, &diag), BFS_ERR_CHANGED);
	assert_true(diag.text[0] != '\0');
	assert_int_equal(bfs_source_check(w, NULL), BFS_ERR_CHANGED);
	/* What is gone is not made up. */
	assert_int_equal(bfs_source_read(s, 400, got, 200, &diag),
			 BFS_ERR_CHANGED);
	assert_int_equal(bfs_source_read(s, 900, got, 10, &diag),
			 BFS_ERR_CHANGED);
	assert_int_equal(bfs_source_len(s), 1000);
	bfs_source_unref(w);
	bfs_source_unref(s);
	unlinkat(dirfd, "f", 0);
}

static void file_of_the_same_length_and_another_time_is_changed(void **state)
{
	struct timespec times[2] = { { 1000000, 0 }, { 1000000, 1 } };
	struct bfs_source *s;

	(void)state;
	put_file("f", data, 100);
	s = open_member("f");
	assert_int_equal(utimensat(dirfd, "f", times, 0), 0);
	assert_int_equal(bfs_source_check(s, NULL), BFS_ERR_CHANGED);
	bfs_source_unref(s);
	unlinkat(dirfd, "f", 0);
}

static void file_that_was_removed_is_still_the_one_opened(void **state)
{
	struct bfs_source *s;

	(void)state;
	put_file("f", data, sizeof(data));
	s = open_member("f");
	unlinkat(dirfd, "f", 0);
	put_file("f", "another", 7);
	check_bounds(s, 0, sizeof(data));
	bfs_source_unref(s);
	unlinkat(dirfd, "f", 0);
}

static void put_socket(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", dir, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
}

static void member_that_is_no_regular_file_is_refused(void **state)
{
	static const char *const names[] = { "fifo", "dir", "link", "loop",
					     "socket", "missing", ".", ".." };

	(void)state;
	put_file("target", data, 10);
	assert_int_equal(mkfifoat(dirfd, "fifo", 0600), 0);
	assert_int_equal(mkdirat(dirfd, "dir", 0700), 0);
	assert_int_equal(symlinkat("target", dirfd, "link"), 0);
	assert_int_equal(symlinkat("loop", dirfd, "loop"), 0);
	put_socket("socket");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct bfs_source *s = NULL;
		struct bfs_diag diag = { 0 };
		enum bfs_err err = bfs_source_member(dirfd, names[i], &s,
						     &diag);

		assert_true(err == BFS_ERR_CORRUPT || err == BFS_ERR_IO);
		assert_non_null(strstr(diag.text, names[i]));
		assert_null(s);
	}
	unlinkat(dirfd, "target", 0);
	unlinkat(dirfd, "fifo", 0);
	unlinkat(dirfd, "dir", AT_REMOVEDIR);
	unlinkat(dirfd, "link", 0);
	unlinkat(dirfd, "loop", 0);
	unlinkat(dirfd, "socket", 0);
}

static void member_names_are_no_paths(void **state)
{
	struct bfs_source *s = NULL;

	(void)state;
	assert_int_equal(bfs_source_member(dirfd, "../etc/passwd", &s, NULL),
			 BFS_ERR_INVALID);
	assert_int_equal(bfs_source_member(dirfd, "/etc/passwd", &s, NULL),
			 BFS_ERR_INVALID);
	assert_int_equal(bfs_source_member(dirfd, "a/b", &s, NULL),
			 BFS_ERR_INVALID);
	assert_null(s);
}

static void descriptor_of_no_regular_file_stays_the_callers(void **state)
{
	struct bfs_source *s = NULL;
	struct bfs_diag diag = { 0 };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(bfs_source_file(fds[0], &s, &diag),
			 BFS_ERR_NOT_FORMAT);
	assert_int_equal(bfs_source_file(dirfd, &s, &diag),
			 BFS_ERR_NOT_FORMAT);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(bfs_source_file(-1, &s, &diag), BFS_ERR_IO);
	assert_int_equal(fcntl(dirfd, F_GETFD), FD_CLOEXEC);
}

static void no_memory_leaves_nothing_behind(void **state)
{
	struct bfs_source *s = open_memory(), *none = NULL;
	int fd;

	(void)state;
	bfs_mem_fail_at(1);
	assert_int_equal(bfs_source_window(s, 0, 1, &none, NULL),
			 BFS_ERR_NOMEM);
	bfs_mem_fail_at(1);
	assert_int_equal(bfs_source_memory(data, 1, false, &none, NULL),
			 BFS_ERR_NOMEM);
	put_file("f", data, 10);
	fd = openat(dirfd, "f", O_RDONLY | O_CLOEXEC);
	bfs_mem_fail_at(1);
	assert_int_equal(bfs_source_file(fd, &none, NULL), BFS_ERR_NOMEM);
	bfs_mem_fail_at(1);
	assert_int_equal(bfs_source_member(dirfd, "f", &none, NULL),
			 BFS_ERR_NOMEM);
	bfs_mem_fail_at(0);
	assert_null(none);
	assert_int_equal(close(fd), 0);
	bfs_source_unref(s);
	unlinkat(dirfd, "f", 0);
}

/* ---- guards ----------------------------------------------------------- */

struct asked {
	unsigned n;
	bool may;
};

static bool ask(void *arg, int fd)
{
	struct asked *asked = arg;

	assert_true(fd >= 0);
	asked->n++;
	return asked->may;
}

/* Changes its rights until its change time is another one. */
static void change_rights(const char *name)
{
	struct stat before, st;

	assert_int_equal(fstatat(dirfd, name, &before, 0), 0);
	do {
		assert_int_equal(fchmodat(dirfd, name, 0400, 0), 0);
		assert_int_equal(fchmodat(dirfd, name, 0600, 0), 0);
		assert_int_equal(fstatat(dirfd, name, &st, 0), 0);
	} while (before.st_ctim.tv_sec == st.st_ctim.tv_sec &&
		 before.st_ctim.tv_nsec == st.st_ctim.tv_nsec);
}

static void guard_is_asked_again_when_the_change_time_differs(void **state)
{
	struct asked asked = { .may = true };
	const struct bfs_guard guard = { .may = ask, .arg = &asked };
	struct bfs_source *s = NULL, *none = NULL;
	struct bfs_diag diag = { 0 };

	(void)state;
	put_file("f", data, 10);
	assert_int_equal(bfs_source_guarded(dirfd, "f", &guard, &s, &diag),
			 BFS_OK);
	assert_int_equal(asked.n, 1);
	assert_int_equal(bfs_source_check(s, &diag), BFS_OK);
	assert_int_equal(asked.n, 1);
	change_rights("f");
	assert_int_equal(bfs_source_check(s, &diag), BFS_OK);
	assert_int_equal(bfs_source_check(s, &diag), BFS_OK);
	assert_int_equal(asked.n, 2);
	change_rights("f");
	asked.may = false;
	/* A no is not kept: it is asked each time. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bfs_source_check(s, &diag), BFS_ERR_CHANGED);
		assert_non_null(strstr(diag.text, "fewer users may read"));
	}
	assert_int_equal(asked.n, 4);
	assert_int_equal(bfs_source_guarded(dirfd, "f", &guard, &none, &diag),
			 BFS_ERR_CHANGED);
	assert_null(none);
	asked.may = true;
	assert_int_equal(bfs_source_check(s, &diag), BFS_OK);
	bfs_source_unref(s);
	unlinkat(dirfd, "f", 0);
}

static bool is_g(int fd, const char *name)
{
	assert_int_equal(fd, dirfd);
	return !strcmp(name, "g");
}

static void names_to_avoid_are_not_opened(void **state)
{
	struct bfs_source *s = NULL;
	struct bfs_diag diag = { 0 };

	(void)state;
	put_file("f", data, 10);
	put_file("g", data, 10);
	bfs_source_set_avoid(is_g);
	assert_int_equal(bfs_source_member(dirfd, "g", &s, &diag),
			 BFS_ERR_CORRUPT);
	assert_non_null(strstr(diag.text, "g lies on a mount"));
	assert_null(s);
	bfs_source_unref(open_member("f"));
	bfs_source_set_avoid(NULL);
	bfs_source_unref(open_member("g"));
	unlinkat(dirfd, "f", 0);
	unlinkat(dirfd, "g", 0);
}

static void errors_of_the_system_are_of_the_moment_or_not(void **state)
{
	static const struct { int error; enum bfs_err err; } rows[] = {
		{ EMFILE, BFS_ERR_NO_FILES }, { ENFILE, BFS_ERR_NO_FILES },
		{ ENOMEM, BFS_ERR_NOMEM }, { ESTALE, BFS_ERR_CHANGED },
		{ ENOENT, BFS_ERR_CORRUPT }, { ENOTDIR, BFS_ERR_CORRUPT },
		{ ELOOP, BFS_ERR_CORRUPT }, { ENXIO, BFS_ERR_CORRUPT },
		{ EIO, BFS_ERR_IO }, { EACCES, BFS_ERR_IO },
		{ ETIMEDOUT, BFS_ERR_IO },
	};
	struct bfs_diag diag;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(bfs_source_errno(rows[i].error, "deed", 7,
						  &diag), rows[i].err);
		assert_int_equal(diag.off, 7);
		assert_non_null(strstr(diag.text, "deed: "));
	}
}

static void giving_pages_back_needs_memory_or_the_file_is_not_opened(
	void **state)
{
	const struct bfs_guard guard = { .drop_behind = true };
	struct bfs_source *s = NULL;
	enum bfs_err err = BFS_ERR_NOMEM;
	unsigned n;

	(void)state;
	put_file("f", data, 1000);
	for (n = 1; err != BFS_OK && n < 20; n++) {
		bfs_mem_fail_at(n);
		err = bfs_source_guarded(dirfd, "f", &guard, &s, NULL);
		bfs_mem_fail_at(0);
		assert_true(err == BFS_OK || (err == BFS_ERR_NOMEM && !s));
	}
	/* The file, its descriptor, what is noted of its pages. */
	assert_true(n > 3 && err == BFS_OK);
	check_bounds(s, 0, 1000);
	bfs_source_rest(s);
	check_bounds(s, 0, 1000);
	bfs_source_unref(s);
	unlinkat(dirfd, "f", 0);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(sources_of_all_kinds_keep_their_bounds),
		T(windows_nest_and_never_reach_beyond_their_parent),
		T(reads_are_counted_in_window_and_parent),
		T(owned_memory_is_freed_with_its_source),
		T(file_that_was_written_to_is_changed),
		T(file_of_the_same_length_and_another_time_is_changed),
		T(file_that_was_removed_is_still_the_one_opened),
		T(member_that_is_no_regular_file_is_refused),
		T(member_names_are_no_paths),
		T(descriptor_of_no_regular_file_stays_the_callers),
		T(no_memory_leaves_nothing_behind),
		T(guard_is_asked_again_when_the_change_time_differs),
		T(names_to_avoid_are_not_opened),
		T(errors_of_the_system_are_of_the_moment_or_not),
		T(giving_pages_back_needs_memory_or_the_file_is_not_opened),
	};

	return cmocka_run_group_tests_name("source", tests, setup, teardown);
}
