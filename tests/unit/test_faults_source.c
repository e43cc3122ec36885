/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults_source.c - a source of the caller's own that fails: each read
 * in turn, once or from then on, of one sample of each kind; and reads that
 * give too little.
 */
#include "fault_walk.h"
#include "far_source.h"

#include <inttypes.h>

static struct far far;
static unsigned fail_at;
static bool is_short;
static uint8_t *bytes;

/* The file's bytes, as far away. */
static void load(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	free(bytes);
	bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	far.p = bytes;
	far.len = (size_t)st.st_size;
}

static enum bloscfs_err probe(int fd, const char *name,
			      const char **ret_format)
{
	struct bloscfs_source source;

	load(fd);
	source = far_source(&far);
	return bloscfs_probe_source(&source, name, ret_format, NULL);
}

static enum bloscfs_err open_far(struct bloscfs *fs, int fd, const char *name,
				 struct bloscfs_file **ret_file)
{
	struct bloscfs_source source = far_source(&far);

	(void)fd;
	return bloscfs_open_source(fs, &source, name, ret_file, NULL);
}

/* The count goes on from call to call. */
static void arm(bool on)
{
	if (on) {
		atomic_store(&far.fail_at, fail_at);
		atomic_store(&far.is_short, is_short);
	} else {
		fail_at = atomic_load(&far.fail_at);
		atomic_store(&far.fail_at, 0);
		atomic_store(&far.is_short, false);
	}
}

static struct sample samples[] = {
	{ .path = "good-nd-structured.b2nd" },
	{ .path = "good-frame-vlmetalayers.b2frame" },
	{ .path = "good-frame-specials.b2frame" },
	{ .path = "good-frame-vlblocks.b2frame" },
	{ .path = "good-early-9c-usermeta.b2frame" },
	{ .path = "good-packed-a4-delta.b2packed" },
	{ .path = "good-blp3-array.blp" },
	{ .path = "good-blp2-sha512.blp" },
	{ .path = "good-dict-zstd.blosc2" },
	{ .path = "good-store-single.b2z" },
	{ .path = "good-store.b2e" },
	{ .path = "bad-frame-index.b2frame" },
	{ .path = "unsupported-frame-filter200.b2frame" },
};

#define N_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void run(struct sample *sample, enum bloscfs_err err, bool lasting,
		unsigned last)
{
	struct walk walk = { .arm = arm, .fault = err, .probe = probe,
			     .open = open_far };
	unsigned n = 0;

	do {
		n += 1 + n / 24;
		memset(&far, 0, sizeof(far));
		far.fail_with = err;
		far.fails_on = lasting;
		fail_at = n;
		walk_round(&walk, sample);
	} while (atomic_load(&far.n_failed) && n < last);
	assert_true(walk.n_faults > 0);
}

static void run_all(enum bloscfs_err err, bool lasting, unsigned last)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		walk_learn(&samples[i]);
		run(&samples[i], err, lasting, last);
		walk_unlearn(&samples[i]);
	}
}

static void an_error_of_a_source_is_told_and_forgotten(void **state)
{
	(void)state;
	run_all(BLOSCFS_ERR_IO, false, 1000);
}

static void a_denied_source_is_told_and_forgotten(void **state)
{
	(void)state;
	run_all(BLOSCFS_ERR_ACCESS, true, 16);
}

static void a_changed_source_is_told_and_forgotten(void **state)
{
	(void)state;
	run_all(BLOSCFS_ERR_CHANGED, false, 16);
}

static void short_reads_are_errors(void **state)
{
	(void)state;
	is_short = true;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct walk walk = { .arm = arm, .fault = BLOSCFS_ERR_IO,
				     .probe = probe, .open = open_far };

		walk_learn(&samples[i]);
		memset(&far, 0, sizeof(far));
		walk_round(&walk, &samples[i]);
		assert_true(walk.n_faults > 0);
		walk_unlearn(&samples[i]);
	}
	is_short = false;
}

static int tear_down(void **state)
{
	(void)state;
	free(bytes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_of_a_source_is_told_and_forgotten),
		cmocka_unit_test(a_denied_source_is_told_and_forgotten),
		cmocka_unit_test(a_changed_source_is_told_and_forgotten),
		cmocka_unit_test(short_reads_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
