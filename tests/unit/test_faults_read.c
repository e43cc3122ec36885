/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults_read.c - reading that fails: each read and each opening of a
 * file in turn, once or from then on, of one sample of each container.
 *
 * pread and openat of the library are ours in this program.
 */
/* Its headers define these calls themselves. */
#undef _FORTIFY_SOURCE

#include "fault_samples.h"

#include <inttypes.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum mode { EIO_ONCE, EIO_LASTING, EMFILE_ONCE, SHORT, INTERRUPTED };

static struct {
	enum mode mode;
	bool on;
	uint64_t at;		/* the n-th call from arming on */
	uint64_t n;		/* calls so far */
	uint64_t n_hits;
} fault;

/* Whether this call is one that the mode is about. */
static bool hits(bool opens)
{
	bool hit;

	if (!fault.on || opens != (fault.mode == EMFILE_ONCE))
		return false;
	fault.n++;
	if (fault.mode == EIO_LASTING)
		hit = fault.n >= fault.at;
	else if (fault.mode == SHORT || fault.mode == INTERRUPTED)
		hit = fault.n % fault.at == 0;
	else
		hit = fault.n == fault.at;
	fault.n_hits += hit;
	return hit;
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	struct iovec iov = { buf, len };

	if (!hits(false))
		return preadv(fd, &iov, 1, off);
	if (fault.mode == SHORT) {
		iov.iov_len = (len + 1) / 2;
		return preadv(fd, &iov, 1, off);
	}
	errno = fault.mode == INTERRUPTED ? EINTR : EIO;
	return -1;
}

int openat(int dirfd, const char *path, int flags, ...)
{
	if (hits(true)) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_openat, dirfd, path, flags, 0);
}

static void arm(bool on)
{
	fault.on = on;
}

/* All rounds of one mode for a sample: until the n-th call never comes. After
 * the first, which open it, not every one. How many calls told of it. */
static uint64_t run(struct sample *sample, enum mode mode, enum bloscfs_err err,
		uint64_t last)
{
	struct walk walk = { .arm = arm, .fault = err };
	uint64_t n = 0, n_rounds = 0;

	do {
		n = samples_next(sample, n, 24);
		n_rounds++;
		memset(&fault, 0, sizeof(fault));
		fault.mode = mode;
		fault.at = n;
		walk_round(&walk, sample);
	} while (fault.n_hits && n < last);
	print_message("# %s: %" PRIu64 " rounds, %" PRIu64 " calls compared, %"
		      PRIu64 " told of the fault\n", sample->path, n_rounds,
		      walk.n_calls, walk.n_faults);
	/* The first one came, where every sample makes such calls, and who
	 * cannot go on told of it. */
	assert_true(walk.n_calls > 0);
	assert_true(n_rounds > 1 || mode == EMFILE_ONCE);
	assert_true(walk.n_faults > 0 || err != BLOSCFS_ERR_IO);
	return walk.n_faults;
}

static void run_all(enum mode mode, enum bloscfs_err err, uint64_t last)
{
	uint64_t n_told = 0;

	for (size_t i = 0; i < N_SAMPLES; i++) {
		walk_learn(&samples[i]);
		n_told += run(&samples[i], mode, err, last);
		walk_unlearn(&samples[i]);
	}
	/* Of samples at large: one file alone opens no others. */
	if (N_SAMPLES > 1)
		assert_int_equal(n_told > 0, err != BLOSCFS_ERR_INVALID);
}

static void one_failed_read_is_told_and_forgotten(void **state)
{
	(void)state;
	run_all(EIO_ONCE, BLOSCFS_ERR_IO, UINT64_MAX);
}

static void a_lasting_failure_is_never_a_fact_about_the_file(void **state)
{
	(void)state;
	run_all(EIO_LASTING, BLOSCFS_ERR_IO, 24);
}

static void a_lack_of_descriptors_is_told_and_forgotten(void **state)
{
	(void)state;
	run_all(EMFILE_ONCE, BLOSCFS_ERR_NO_FILES, UINT64_MAX);
}

/* Nobody hears of these. */
static void short_reads_go_on(void **state)
{
	(void)state;
	run_all(SHORT, BLOSCFS_ERR_INVALID, 3);
}

static void interrupted_reads_go_on(void **state)
{
	(void)state;
	/* Each one interrupted would never end. */
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct walk walk = { .arm = arm, .fault = BLOSCFS_ERR_INVALID };

		walk_learn(&samples[i]);
		for (uint64_t n = 2; n < 5; n++) {
			memset(&fault, 0, sizeof(fault));
			fault.mode = INTERRUPTED;
			fault.at = n;
			walk_round(&walk, &samples[i]);
			assert_true(fault.n_hits > 0 || n > 2);
		}
		walk_unlearn(&samples[i]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_container_has_a_sample),
		cmocka_unit_test(one_failed_read_is_told_and_forgotten),
		cmocka_unit_test(
			a_lasting_failure_is_never_a_fact_about_the_file),
		cmocka_unit_test(a_lack_of_descriptors_is_told_and_forgotten),
		cmocka_unit_test(short_reads_go_on),
		cmocka_unit_test(interrupted_reads_go_on),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, samples_make, samples_remove);
}
