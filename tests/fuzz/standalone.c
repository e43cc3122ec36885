/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standalone.c - drives a fuzz target without a fuzzing engine.
 *
 * In: files and directories of seeds as arguments (those that do not exist
 * are passed over). Each seed runs as it is; then, for BLOSCFS_FUZZ_SECONDS
 * (3), mutated seeds and random bytes from the generator that starts at
 * BLOSCFS_FUZZ_SEED (1). Out: TAP. The same seed gives the same inputs in
 * the same order. An input that crashes or hangs (20 s of computing, or 120 s
 * on the wall) is left behind as crash-PROGRAM.bin in the working directory. A
 * target that brings changes of its own (LLVMFuzzerCustomMutator) gets half of
 * them from there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAX_LEN ((size_t)256 << 10)
#define MAX_SEEDS 4096
#define HANG_SECONDS 20	/* of computing: others may use the CPU as well */
#define STUCK_SECONDS 120

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* A target's own changes, where it has such; for these, ours. */
__attribute__((weak))
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

struct seed {
	uint8_t *data;
	size_t len;
};

static struct seed seeds[MAX_SEEDS];
static size_t n_seeds;
static uint64_t state;

/* What runs now, for the signal handler. */
static const uint8_t *volatile now_data;
static volatile size_t now_len;
static char crash_name[256];

static uint64_t draw(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A number below n (n > 0). */
static size_t draw_below(size_t n)
{
	return (size_t)(draw() % n);
}

static void keep_input(int sig)
{
	int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t n = -1;

	if (fd >= 0) {
		n = write(fd, now_data, now_len);
		close(fd);
	}
	if (n >= 0) {
		n = write(STDERR_FILENO, "# input kept in ", 16);
		n = write(STDERR_FILENO, crash_name, strlen(crash_name));
		n = write(STDERR_FILENO, "\n", 1);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Runs one input from a block of exactly its size, so that a sanitizer sees
 * the first byte read beyond it. */
static void run(const uint8_t *data, size_t len)
{
	static const struct itimerval computing = {
		.it_value = { .tv_sec = HANG_SECONDS },
	}, none;
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		exit(1);
	if (len)
		memcpy(copy, data, len);
	now_data = copy;
	now_len = len;
	setitimer(ITIMER_PROF, &computing, NULL);
	alarm(STUCK_SECONDS);
	LLVMFuzzerTestOneInput(copy, len);
	alarm(0);
	setitimer(ITIMER_PROF, &none, NULL);
	now_len = 0;
	free(copy);
}

static void add_seed(const char *path)
{
	struct stat st;
	uint8_t *data;
	FILE *f = fopen(path, "rb");

	if (!f)
		return;
	if (n_seeds < MAX_SEEDS && !fstat(fileno(f), &st) &&
	    (uint64_t)st.st_size <= MAX_LEN) {
		data = malloc((size_t)st.st_size + 1);
		if (!data)
			exit(1);
		seeds[n_seeds].data = data;
		seeds[n_seeds].len = fread(data, 1, (size_t)st.st_size, f);
		n_seeds++;
	}
	fclose(f);
}

/* Files in order of their names, directories with what is in them. */
static void add_path(const char *path)
{
	struct dirent **names;
	struct stat st;
	char *sub;
	int n;

	if (stat(path, &st))
		return;
	if (S_ISREG(st.st_mode))
		add_seed(path);
	if (!S_ISDIR(st.st_mode))
		return;
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			if (asprintf(&sub, "%s/%s", path,
				     names[i]->d_name) < 0)
				exit(1);
			add_path(sub);
			free(sub);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* Numbers that sit at the edges of what formats check. */
static uint64_t draw_edge(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 15, 16, 31, 32, 33, 127, 128, 255, 256,
		0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffdf, 0x7fffffef,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		INT64_MAX, UINT64_C(1) << 63, UINT64_MAX,
	};
	size_t n = sizeof(edges) / sizeof(edges[0]);

	return edges[draw_below(n)];
}

static void put_number(uint8_t *buf, size_t len)
{
	size_t width = (size_t)1 << draw_below(4);
	uint64_t v = draw() & 1 ? draw_edge() : draw() >> draw_below(64);
	bool big = draw() & 1;
	size_t at;

	if (width > len)
		return;
	/* Headers decide the most: half of the hits go there. */
	at = draw_below(draw() & 1 && len > 128 ? 128 - width :
						  len - width + 1);
	for (size_t i = 0; i < width; i++)
		buf[at + i] = (uint8_t)(v >> 8 *
					(big ? width - 1 - i : i));
}

static void copy_part(uint8_t *buf, size_t len)
{
	const struct seed *from = &seeds[draw_below(n_seeds)];
	size_t n, at;

	if (!from->len || !len)
		return;
	at = draw_below(from->len);
	n = 1 + draw_below(from->len - at);
	if (n > len)
		n = len;
	memmove(buf + draw_below(len - n + 1), from->data + at, n);
}

/* A few changes to buf (max bytes of room); returns the new length. */
static size_t mutate(uint8_t *buf, size_t len, size_t max)
{
	for (size_t n = 1 + draw_below(6); n > 0; n--) {
		if (!len)
			return len;
		switch (draw_below(8)) {
		case 0:
			buf[draw_below(len)] ^=
				(uint8_t)(1u << draw_below(8));
			break;
		case 1:
			buf[draw_below(len)] = (uint8_t)draw();
			break;
		case 2:
			len = draw_below(len + 1);
			break;
		case 3:
			copy_part(buf, len);
			break;
		case 4:
			if (len < max)
				buf[len++] = (uint8_t)draw();
			break;
		default:
			put_number(buf, len);
		}
	}
	return len;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	return mutate(data, size, max_size);
}

static size_t make_input(uint8_t *buf)
{
	const struct seed *seed;
	size_t len;

	if (!n_seeds || draw_below(16) == 0) {
		len = draw_below((size_t)1 << draw_below(14));
		for (size_t i = 0; i < len; i++)
			buf[i] = (uint8_t)draw();
		return len;
	}
	seed = &seeds[draw_below(n_seeds)];
	memcpy(buf, seed->data, seed->len);
	if (LLVMFuzzerCustomMutator && draw() & 1)
		return LLVMFuzzerCustomMutator(buf, seed->len, MAX_LEN,
					       (unsigned)draw());
	return mutate(buf, seed->len, MAX_LEN);
}

static double read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void catch_signals(const char *program)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				       SIGABRT, SIGALRM, SIGPROF };
	const char *slash = strrchr(program, '/');

	snprintf(crash_name, sizeof(crash_name), "crash-%s.bin",
		 slash ? slash + 1 : program);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], keep_input);
}

int main(int argc, char **argv)
{
	const char *env = getenv("BLOSCFS_FUZZ_SEED");
	const char *time_env = getenv("BLOSCFS_FUZZ_SECONDS");
	double seconds = time_env ? strtod(time_env, NULL) : 3;
	double end;
	uint8_t *buf = malloc(MAX_LEN);
	size_t n = 0;

	if (!buf)
		return 1;
	state = env ? strtoull(env, NULL, 0) : 1;
	catch_signals(argv[0]);
	for (int i = 1; i < argc; i++)
		add_path(argv[i]);
	printf("1..2\n");
	for (size_t i = 0; i < n_seeds; i++)
		run(seeds[i].data, seeds[i].len);
	printf("ok 1 - %zu seeds\n", n_seeds);
	fflush(stdout);
	for (end = read_clock() + seconds; n == 0 || read_clock() < end; n++)
		run(buf, make_input(buf));
	printf("ok 2 - %zu made inputs\n", n);
	for (size_t i = 0; i < n_seeds; i++)
		free(seeds[i].data);
	free(buf);
	return 0;
}
