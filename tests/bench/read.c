/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.c - one measurement of reading files, whatever file system they are
 * in; mount.py runs it in rounds.
 *
 * bench-read [-b KIB] [-j THREADS] [-r SEED] [-s SECONDS] [-d] [-w] TEST PATH
 *
 *   seq     reads of -b KiB (128) in order, with -d past the page cache;
 *           THREADS each have their part of the file              GB/s
 *   rand    aligned reads of 4 KiB at random; they stop at an eighth of the
 *           pages, or later ones would be warm; with -w they do not   /s
 *   mmap    one byte in 64 of the mapped file, in order           GB/s
 *   touch   one byte of mapped pages at random                      /s
 *   ls      names of a folder                                       /s
 *   lsl     names of a folder, and the attributes of each           /s
 *   stat    attributes of the names of a folder                     /s
 *   open    files of a folder opened, read to 4 KiB and closed      /s
 *
 * Prints the value.
 */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define MAX_THREADS 64

static struct {
	size_t block;
	int n_threads;
	uint64_t seed;
	double seconds;
	bool direct, warm;
	const char *path;
	size_t len;		/* of a file */
	char **names;		/* of a folder */
	size_t n_names;
} opt = { 128 << 10, 1, 1, 0.5, false, false, NULL, 0, NULL, 0 };

/* What one thread does, and how much that was. */
struct task {
	int i;
	double amount;
	double (*run)(int i);
};

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static int open_path(int flags)
{
	int fd = open(opt.path, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0)
		bench_die("cannot open the path");
	return fd;
}

static double read_part(int i)
{
	size_t part = opt.len / (size_t)opt.n_threads / PAGE * PAGE;
	size_t off = part * (size_t)i, end = off + part;
	uint8_t *buf = bench_alloc(opt.block);
	int fd = open_path(opt.direct ? O_DIRECT : 0);
	double done = 0;

	if (i == opt.n_threads - 1)
		end = opt.len;
	while (off < end) {
		ssize_t n = pread(fd, buf, opt.block, (off_t)off);

		if (n <= 0)
			bench_die("cannot read");
		off += (size_t)n;
		done += (double)n;
	}
	close(fd);
	free(buf);
	return done / 1e9;
}

static double read_randomly(int i)
{
	uint64_t state = opt.seed * 1000 + (uint64_t)i;
	size_t n_pages = opt.len / PAGE, n = 0, most;
	double end = bench_wall() + opt.seconds;
	uint8_t buf[4096];
	int fd = open_path(0);

	most = opt.warm ? SIZE_MAX : n_pages / 8 / (size_t)opt.n_threads + 1;
	while (n < most && bench_wall() < end) {
		off_t off = (off_t)(draw(&state) % n_pages * PAGE);

		if (pread(fd, buf, PAGE, off) != (ssize_t)PAGE)
			bench_die("cannot read");
		n++;
	}
	close(fd);
	return (double)n;
}

static const volatile uint8_t *map(void)
{
	int fd = open_path(0);
	void *p = mmap(NULL, opt.len, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		bench_die("cannot map");
	close(fd);
	return p;
}

static double read_mapped(int i)
{
	const volatile uint8_t *p = map();
	unsigned sum = 0;

	(void)i;
	for (size_t off = 0; off < opt.len; off += 64)
		sum += p[off];
	return sum < UINT32_MAX ? (double)opt.len / 1e9 : 0;
}

static double touch_mapped(int i)
{
	const volatile uint8_t *p = map();
	size_t n_pages = opt.len / PAGE, n = 0;
	double end = bench_wall() + opt.seconds;
	uint64_t state = opt.seed;
	unsigned sum = 0;

	(void)i;
	while (n < n_pages / 8 && bench_wall() < end) {
		sum += p[draw(&state) % n_pages * PAGE];
		n++;
	}
	return sum < UINT32_MAX ? (double)n : 0;
}

static size_t list(bool with_attributes, bool keep)
{
	DIR *dir = opendir(opt.path);
	struct dirent *entry;
	struct stat st;
	size_t n = 0;

	if (!dir)
		bench_die("cannot list the folder");
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (with_attributes &&
		    fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			bench_die("cannot stat an entry");
		if (keep) {
			opt.names = realloc(opt.names, (n + 1) *
					    sizeof(*opt.names));
			opt.names[n] = strdup(entry->d_name);
		}
		n++;
	}
	closedir(dir);
	return n;
}

static double list_names(int i)
{
	(void)i;
	return (double)list(false, false);
}

static double list_long(int i)
{
	(void)i;
	return (double)list(true, false);
}

static double stat_names(int i)
{
	int fd = open_path(O_DIRECTORY);
	struct stat st;

	(void)i;
	for (size_t k = 0; k < opt.n_names; k++)
		if (fstatat(fd, opt.names[k], &st, 0) < 0)
			bench_die("cannot stat an entry");
	close(fd);
	return (double)opt.n_names;
}

static double open_files(int i)
{
	int dir = open_path(O_DIRECTORY), fd;
	uint8_t buf[4096];
	double n = 0;

	for (size_t k = (size_t)i; k < opt.n_names;
	     k += (size_t)opt.n_threads) {
		fd = openat(dir, opt.names[k], O_RDONLY);
		if (fd < 0 || read(fd, buf, sizeof(buf)) < 0)
			bench_die("cannot read an entry");
		close(fd);
		n++;
	}
	close(dir);
	return n;
}

static const struct test {
	const char *name;
	double (*run)(int i);
	bool folder, names;	/* whose names are needed before */
} tests[] = {
	{ "seq", read_part, false, false },
	{ "rand", read_randomly, false, false },
	{ "mmap", read_mapped, false, false },
	{ "touch", touch_mapped, false, false },
	{ "ls", list_names, true, false },
	{ "lsl", list_long, true, false },
	{ "stat", stat_names, true, true },
	{ "open", open_files, true, true },
};

static void *run_task(void *arg)
{
	struct task *task = arg;

	task->amount = task->run(task->i);
	return NULL;
}

static double run(const struct test *test)
{
	struct task tasks[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	double begin, sum = 0;

	if (test->names)
		opt.n_names = list(false, true);
	begin = bench_wall();
	for (int i = 0; i < opt.n_threads; i++) {
		tasks[i] = (struct task){ .i = i, .run = test->run };
		if (pthread_create(&threads[i], NULL, run_task, &tasks[i]))
			bench_die("cannot start a thread");
	}
	for (int i = 0; i < opt.n_threads; i++) {
		pthread_join(threads[i], NULL);
		sum += tasks[i].amount;
	}
	return sum / (bench_wall() - begin);
}

static const struct test *find_test(const char *name)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strcmp(tests[i].name, name) == 0)
			return &tests[i];
	bench_die("no such test");
}

int main(int argc, char **argv)
{
	const struct test *test;
	struct stat st;
	int c;

	while ((c = getopt(argc, argv, "b:j:r:s:dw")) != -1) {
		if (c == 'b')
			opt.block = strtoul(optarg, NULL, 10) << 10;
		else if (c == 'j')
			opt.n_threads = atoi(optarg);
		else if (c == 'r')
			opt.seed = strtoul(optarg, NULL, 10);
		else if (c == 's')
			opt.seconds = strtod(optarg, NULL);
		else if (c == 'd')
			opt.direct = true;
		else
			opt.warm = true;
	}
	if (argc - optind != 2 || opt.n_threads < 1 || !opt.block ||
	    opt.n_threads > MAX_THREADS)
		bench_die("usage: bench-read [-b KIB] [-j THREADS] [-r SEED] "
			  "[-s SECONDS] [-d] [-w] TEST PATH");
	test = find_test(argv[optind]);
	opt.path = argv[optind + 1];
	if (stat(opt.path, &st) < 0 || !S_ISDIR(st.st_mode) == test->folder)
		bench_die("not a path for this test");
	opt.len = (size_t)st.st_size;
	if (!test->folder && opt.len < 64 * PAGE)
		bench_die("too short a file");
	printf("%.6g\n", run(test));
	return 0;
}
