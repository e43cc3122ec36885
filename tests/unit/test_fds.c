/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fds.c - descriptors that are let go and opened again.
 */
#include "source/fds.h"

#include "source/below.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef __GLIBC__
#define strerrordesc_np strerror
#endif

#define N_FILES 12
#define N_THREADS 6
#define N_TAKES 3000

struct file {
	char path[64];
	int number;
	atomic_int n_opened, n_released;
	int refuse;		/* errno, or 0 */
	struct bfs_fd *fd;
};

static char folder[] = "/tmp/bloscfs-fds.XXXXXX";
static struct file files[N_FILES];

static int open_file(void *arg)
{
	struct file *file = arg;
	int fd = file->refuse ? -1 : open(file->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return file->refuse ? -file->refuse : -errno;
	atomic_fetch_add(&file->n_opened, 1);
	return fd;
}

static void release_file(void *arg)
{
	atomic_fetch_add(&((struct file *)arg)->n_released, 1);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < N_FILES; i++) {
		struct file *file = &files[i];
		struct bfs_fd_how how = { open_file, release_file, file };
		int fd;

		*file = (struct file){ .number = i };
		snprintf(file->path, sizeof(file->path), "%s/%d", folder, i);
		fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, &i, sizeof(i)), sizeof(i));
		file->fd = bfs_fd_new(fd);
		assert_non_null(file->fd);
		bfs_fd_set_how(file->fd, &how);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < N_FILES; i++) {
		bfs_fd_unref(files[i].fd);
		assert_int_equal(files[i].n_released, 1);
		unlink(files[i].path);
	}
	rmdir(folder);
	bfs_fd_set_limit(SIZE_MAX);
	assert_int_equal(bfs_fd_count(), 0);
	return 0;
}

static bool is_right(int fd, int number)
{
	int got = -1;

	return fd >= 0 && pread(fd, &got, sizeof(got), 0) == sizeof(got) &&
	       got == number;
}

static void read_one(struct file *file)
{
	int fd = bfs_fd_take(file->fd);

	assert_true(is_right(fd, file->number));
	bfs_fd_give(file->fd);
}

static void test_those_not_used_lately_go_first(void **state)
{
	(void)state;
	assert_int_equal(bfs_fd_count(), N_FILES);
	/* All were new; the first round of the hand forgets that. */
	assert_true(bfs_fd_spare());
	for (int i = 6; i < N_FILES; i++)
		read_one(&files[i]);
	for (int i = 0; i < 5; i++)
		assert_true(bfs_fd_spare());
	for (int i = 6; i < N_FILES; i++)
		read_one(&files[i]);
	for (int i = 6; i < N_FILES; i++)
		assert_int_equal(files[i].n_opened, 0);
	assert_int_equal(bfs_fd_count(), 6);
	read_one(&files[0]);
	assert_int_equal(files[0].n_opened, 1);
}

static void test_what_is_in_use_stays(void **state)
{
	int fd = bfs_fd_take(files[3].fd);

	(void)state;
	for (int i = 1; i < N_FILES; i++)
		assert_true(bfs_fd_spare());
	assert_false(bfs_fd_spare());
	assert_true(is_right(fd, 3));
	bfs_fd_give(files[3].fd);
	assert_true(bfs_fd_spare());
	assert_int_equal(bfs_fd_count(), 0);
}

static void test_what_has_no_name_any_more_stays(void **state)
{
	(void)state;
	unlink(files[5].path);
	for (int i = 1; i < N_FILES; i++)
		assert_true(bfs_fd_spare());
	assert_false(bfs_fd_spare());
	read_one(&files[5]);
	assert_int_equal(files[5].n_opened, 0);
}

static void test_failing_to_open_again_is_told_and_tried_again(void **state)
{
	(void)state;
	while (bfs_fd_spare())
		;
	files[1].refuse = ESTALE;
	assert_int_equal(bfs_fd_take(files[1].fd), -ESTALE);
	/* No other can be let go: there is truly none. */
	files[1].refuse = EMFILE;
	assert_int_equal(bfs_fd_take(files[1].fd), -EMFILE);
	files[1].refuse = 0;
	read_one(&files[1]);
}

static void test_want_of_descriptors_costs_an_idle_one(void **state)
{
	(void)state;
	while (bfs_fd_spare())
		;
	read_one(&files[0]);
	files[1].refuse = EMFILE;
	assert_int_equal(bfs_fd_take(files[1].fd), -EMFILE);
	assert_int_equal(bfs_fd_count(), 0);
	assert_false(bfs_fd_may_retry(EACCES));
	files[1].refuse = 0;
}

static void test_only_a_full_ring_costs_another_its_descriptor(void **state)
{
	(void)state;
	while (bfs_fd_spare())
		;
	bfs_fd_set_limit(4);
	for (int i = 0; i < 4; i++) {
		read_one(&files[i]);
		assert_int_equal(bfs_fd_count(), i + 1);
	}
	for (int i = 4; i < N_FILES; i++) {
		read_one(&files[i]);
		assert_int_equal(bfs_fd_count(), 4);
	}
}

static void *take_many(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg, n_wrong = 0;

	for (int i = 0; i < N_TAKES; i++) {
		struct file *file = &files[rand_r(&seed) % N_FILES];
		int fd = bfs_fd_take(file->fd);

		n_wrong += !is_right(fd, file->number);
		if (fd >= 0)
			bfs_fd_give(file->fd);
		if (i % 16 == 0)
			bfs_fd_unref(bfs_fd_ref(file->fd));
	}
	return (void *)(uintptr_t)n_wrong;
}

static void test_many_threads_get_the_right_file(void **state)
{
	pthread_t threads[N_THREADS];
	void *n_wrong;

	(void)state;
	bfs_fd_set_limit(3);
	for (uintptr_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_many,
						(void *)(i + 1)), 0);
	for (int i = 0; i < N_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &n_wrong), 0);
		assert_null(n_wrong);
	}
}

static void test_a_file_below_a_directory_is_held_against_what_it_was(
	void **state)
{
	struct bfs_source *source;
	struct bfs_diag diag;
	struct bfs_fd *dir;
	int number, fd;

	(void)state;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	dir = bfs_fd_new(fd);
	assert_non_null(dir);
	assert_int_equal(bfs_below_file(dir, "7", NULL, &source, &diag),
			 BFS_OK);
	bfs_fd_unref(dir);
	while (bfs_fd_spare())
		;
	assert_int_equal(bfs_source_read(source, 0, &number, sizeof(number),
					 &diag), BFS_OK);
	assert_int_equal(number, 7);
	while (bfs_fd_spare())
		;
	assert_int_equal(rename(files[8].path, files[7].path), 0);
	assert_int_equal(bfs_source_read(source, 0, &number, sizeof(number),
					 &diag), BFS_ERR_CHANGED);
	bfs_source_unref(source);
}

static void test_a_closed_one_is_not_opened_for_what_can_wait(void **state)
{
	int fd;

	(void)state;
	fd = bfs_fd_take_open(files[2].fd);
	assert_true(is_right(fd, 2));
	bfs_fd_give(files[2].fd);
	while (bfs_fd_spare())
		;
	assert_int_equal(bfs_fd_take_open(files[2].fd), -EBADF);
	assert_false(bfs_fd_is_nameless(files[2].fd));
	assert_int_equal(files[2].n_opened, 0);
	read_one(&files[2]);
	assert_int_equal(files[2].n_opened, 1);
}

/* Both are in the middle of opening it before one of them is done. */
static pthread_barrier_t both;

static int open_together(void *arg)
{
	int fd = open_file(arg);

	pthread_barrier_wait(&both);
	return fd;
}

static void *take_one(void *arg)
{
	struct bfs_fd *f = arg;
	int fd = bfs_fd_take(f), right = is_right(fd, 4);

	bfs_fd_give(f);
	return (void *)(uintptr_t)right;
}

static void test_two_who_open_it_again_at_once_share_one(void **state)
{
	struct bfs_fd_how how = { open_together, NULL, &files[4] };
	struct bfs_fd *f = bfs_fd_new(open(files[4].path,
					   O_RDONLY | O_CLOEXEC));
	pthread_t threads[2];
	void *right;

	(void)state;
	assert_non_null(f);
	bfs_fd_set_how(f, &how);
	while (bfs_fd_spare())
		;
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_one,
						f), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &right), 0);
		assert_non_null(right);
	}
	pthread_barrier_destroy(&both);
	assert_int_equal(files[4].n_opened, 2);
	assert_int_equal(bfs_fd_count(), 1);
	bfs_fd_unref(f);
}

/* What a file that is not to be opened again gives instead of bytes. */
static void test_a_source_whose_file_is_gone_says_so(void **state)
{
	static const struct { int error; enum bfs_err err; } rows[] = {
		{ ESTALE, BFS_ERR_CHANGED }, { ENOENT, BFS_ERR_CHANGED },
		{ ELOOP, BFS_ERR_CHANGED }, { EACCES, BFS_ERR_IO },
		{ ENOMEM, BFS_ERR_NOMEM }, { EMFILE, BFS_ERR_NO_FILES },
	};
	struct file *file = &files[6];
	struct bfs_fd_how how = { open_file, NULL, file };
	struct bfs_source *source, *memory;
	struct bfs_diag diag;
	int number;

	(void)state;
	assert_int_equal(bfs_source_file(open(file->path, O_RDONLY |
					      O_CLOEXEC), &source, &diag),
			 BFS_OK);
	assert_true(bfs_source_set_how(source, &how));
	assert_true(bfs_source_drop_behind(source));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		while (bfs_fd_spare())
			;
		file->refuse = rows[i].error;
		number = 77;
		assert_int_equal(bfs_source_read(source, 0, &number,
						 sizeof(number), &diag),
				 rows[i].err);
		assert_int_equal(number, 77);
		assert_int_equal(bfs_source_check(source, &diag), rows[i].err);
		assert_non_null(strstr(diag.text,
				       strerrordesc_np(rows[i].error)));
		bfs_source_will_need(source, 0, 4);
		bfs_source_rest(source);
		assert_int_equal(file->n_opened, i);
		file->refuse = 0;
		assert_int_equal(bfs_source_read(source, 0, &number,
						 sizeof(number), &diag),
				 BFS_OK);
		assert_int_equal(number, 6);
	}
	/* Resting opens nothing. */
	while (bfs_fd_spare())
		;
	bfs_source_rest(source);
	assert_int_equal(file->n_opened, sizeof(rows) / sizeof(*rows));
	bfs_source_unref(source);
	assert_int_equal(bfs_source_memory(&number, 4, false, &memory, &diag),
			 BFS_OK);
	assert_false(bfs_source_set_how(memory, &how));
	assert_true(bfs_source_drop_behind(memory));
	assert_false(bfs_source_is_nameless(memory));
	bfs_source_unref(memory);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_those_not_used_lately_go_first),
		TEST(test_what_is_in_use_stays),
		TEST(test_what_has_no_name_any_more_stays),
		TEST(test_failing_to_open_again_is_told_and_tried_again),
		TEST(test_want_of_descriptors_costs_an_idle_one),
		TEST(test_only_a_full_ring_costs_another_its_descriptor),
		TEST(test_many_threads_get_the_right_file),
		TEST(test_a_file_below_a_directory_is_held_against_what_it_was),
		TEST(test_a_closed_one_is_not_opened_for_what_can_wait),
		TEST(test_two_who_open_it_again_at_once_share_one),
		TEST(test_a_source_whose_file_is_gone_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
