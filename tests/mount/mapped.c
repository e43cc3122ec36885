/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mapped.c - a program that knows its input only as shared memory.
 *
 * mount-mapped FILE PLAIN
 *
 * Compares the two files through shared mappings, by four threads that come
 * from both ends and meet in the same pages, once with each hint for reading.
 * Exit status 0: all equal.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_THREADS 4
#define STEP 4099	/* no multiple of a page */

struct pair {
	const unsigned char *a, *b;
	size_t len;
};

struct part {
	struct pair pair;
	int number;
	atomic_int differs;
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

static int open_or_die(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		die(path);
	*ret_len = (size_t)st.st_size;
	return fd;
}

static const unsigned char *map(int fd, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static int differs_at(const struct pair *p, size_t at)
{
	size_t n = p->len - at < STEP ? p->len - at : STEP;

	return memcmp(p->a + at, p->b + at, n) != 0;
}

/* Even ones go up, odd ones down. */
static void *compare(void *arg)
{
	struct part *part = arg;
	size_t steps = (part->pair.len + STEP - 1) / STEP;

	for (size_t i = 0; i < steps; i++) {
		size_t k = part->number & 1 ? steps - 1 - i : i;

		if (differs_at(&part->pair, k * STEP))
			part->differs = 1;
	}
	return NULL;
}

static int run_threads(const struct pair *pair)
{
	struct part parts[N_THREADS] = { 0 };
	pthread_t threads[N_THREADS];
	int differs = 0;

	for (int i = 0; i < N_THREADS; i++) {
		parts[i].pair = *pair;
		parts[i].number = i;
		if (pthread_create(&threads[i], NULL, compare, &parts[i]) != 0)
			die("pthread_create");
	}
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		differs |= parts[i].differs;
	}
	return differs;
}

/* Compares all of it, once with each hint, from a cold page cache. */
static int compare_by_hints(int fd, const unsigned char *plain, size_t len)
{
	static const int hints[] = { MADV_RANDOM, MADV_NORMAL, MADV_SEQUENTIAL,
				     MADV_WILLNEED };
	struct pair pair = { .b = plain, .len = len };
	int differs = 0;

	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		void *p = (void *)map(fd, len);

		if (madvise(p, len, hints[i]) != 0)
			die("madvise");
		pair.a = p;
		differs |= run_threads(&pair);
		munmap(p, len);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return differs;
}

int main(int argc, char **argv)
{
	size_t len, plain_len;
	int fd, plain;

	if (argc != 3) {
		fprintf(stderr, "usage: mount-mapped FILE PLAIN\n");
		return 2;
	}
	fd = open_or_die(argv[1], &len);
	plain = open_or_die(argv[2], &plain_len);
	if (len != plain_len) {
		fprintf(stderr, "%zu bytes, wanted %zu\n", len, plain_len);
		return 1;
	}
	if (mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED) {
		fprintf(stderr, "it can be mapped for writing\n");
		return 1;
	}
	if (compare_by_hints(fd, map(plain, len), len)) {
		fprintf(stderr, "other bytes\n");
		return 1;
	}
	return 0;
}
