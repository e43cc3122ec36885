/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_control.c - the texts below .bloscfs/: counters, faults, metrics. Of
 * the daemon these parts need nothing but the public interface.
 */
#include "log/counters.h"
#include "log/faults.h"
#include "log/metrics.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *text_of_faults(void)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	faults_write(out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), len);
	return text;
}

static char *text_of_metrics(const struct metrics *metrics)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	metrics_write(out, metrics);
	assert_int_equal(fclose(out), 0);
	return text;
}

static bool note(const char *path, int64_t chunk, uint64_t off, int error)
{
	struct bloscfs_diag why = { .err = BLOSCFS_ERR_CORRUPT,
				    .chunk = chunk, .off = off,
				    .text = "bits are wrong" };

	return faults_note(&(struct fault){ path, "read of x", error, &why },
			   true);
}

static char told_path[64];
static uint64_t told_n, n_told;

static void tell(const char *path, uint64_t n_repeats)
{
	snprintf(told_path, sizeof(told_path), "%s", path);
	told_n = n_repeats;
	n_told++;
}

static int forget(void **state)
{
	(void)state;
	faults_sum_up(tell);
	n_told = 0;
	return 0;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* ---- faults ---------------------------------------------------------- */

static void a_fault_is_listed_once_with_its_count(void **state)
{
	struct fault_counts counts;
	char *text;

	(void)state;
	assert_true(note("a", 3, 40, EIO));
	assert_false(note("a", 3, 40, EIO));
	assert_false(note("a", 3, 40, 0));
	assert_true(note("a", 4, 40, EIO));
	assert_true(note("b", -1, 40, EIO));
	text = text_of_faults();
	assert_int_equal(count_lines(text), 4);
	assert_non_null(strstr(text, "Z\ta\t3\tcorrupt\tbits are wrong, "
			       "offset 40\t3\n"));
	assert_non_null(strstr(text, "Z\tb\t-\tcorrupt\t"));
	free(text);
	/* What no program saw is no failed request. */
	faults_count(&counts);
	assert_int_equal(counts.failed[BLOSCFS_ERR_CORRUPT], 4);
	assert_int_equal(counts.n_distinct, 3);
	assert_int_equal(counts.n_dropped, 0);
}

static void fields_of_faults_end_no_line(void **state)
{
	char *text;

	(void)state;
	assert_true(note("tab\there\nline\\\x01\x7f", 0, 0, EIO));
	text = text_of_faults();
	assert_int_equal(count_lines(text), 2);
	assert_non_null(strstr(text,
			       "\ttab\\there\\nline\\\\\\x01\\x7f\t0\t"));
	free(text);
}

static void the_list_of_faults_is_bounded(void **state)
{
	struct fault_counts counts;
	char *text;

	(void)state;
	for (int i = 0; i < FAULTS_MAX; i++)
		assert_true(note("a", i, 0, EIO));
	assert_false(note("a", FAULTS_MAX, 0, EIO));
	assert_false(note("a", FAULTS_MAX + 1, 0, EIO));
	assert_false(note("a", 0, 0, EIO));
	faults_count(&counts);
	assert_int_equal(counts.n_distinct, FAULTS_MAX);
	assert_int_equal(counts.n_dropped, 2);
	text = text_of_faults();
	assert_int_equal(count_lines(text), FAULTS_MAX + 2);
	assert_non_null(strstr(text, "further faults, not kept one by one"
			       "\t2\n"));
	free(text);
	assert_int_equal(faults_sum_up(tell), 2);
	assert_int_equal(n_told, 1);
}

static void repeats_are_summed_up_once(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		note("again", 1, 1, EIO);
	note("once", 1, 1, EIO);
	assert_int_equal(faults_sum_up(tell), 0);
	assert_int_equal(n_told, 1);
	assert_string_equal(told_path, "again");
	assert_int_equal(told_n, 4);
	assert_int_equal(faults_sum_up(tell), 0);
	assert_int_equal(n_told, 1);
}

static void lack_of_memory_needs_no_diagnosis(void **state)
{
	struct bloscfs_diag none = { .chunk = -1 };
	struct fault_counts counts;
	char *text;

	(void)state;
	assert_true(faults_note(&(struct fault){ "a", "read of data.bin",
						 ENOMEM, &none }, true));
	faults_count(&counts);
	assert_int_equal(counts.failed[BLOSCFS_ERR_NOMEM], 1);
	text = text_of_faults();
	assert_non_null(strstr(text, "\tread of data.bin, offset 0\t1\n"));
	free(text);
}

/* ---- counters -------------------------------------------------------- */

static void *count_some(void *arg)
{
	(void)arg;
	counters_thread_init();
	for (int i = 0; i < 1000; i++) {
		counters_request(FUSE_READ);
		counters_request(FUSE_READDIRPLUS);
		counters_served(SERVED_CONTAINER, 4096);
	}
	counters_request(1u << 20);
	return NULL;
}

/* More threads than there are shards: the last ones share. */
static void counts_of_all_threads_are_summed(void **state)
{
	enum { N = 300, AT_ONCE = 4 };
	pthread_t threads[AT_ONCE];
	struct counts counts;

	(void)state;
	for (int i = 0; i < N; i += AT_ONCE) {
		for (int k = 0; k < AT_ONCE; k++)
			assert_int_equal(pthread_create(&threads[k], NULL,
							count_some, NULL), 0);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(threads[k], NULL);
	}
	counters_sum(&counts);
	assert_int_equal(counts.requests[REQUEST_READ], N * 1000);
	assert_int_equal(counts.requests[REQUEST_READDIR], N * 1000);
	assert_int_equal(counts.requests[REQUEST_OTHER], N);
	assert_int_equal(counts.requests[REQUEST_OPEN], 0);
	assert_int_equal(counts.served[SERVED_CONTAINER],
			 UINT64_C(4096) * N * 1000);
	assert_int_equal(counters_sum_requests(), N * 2001);
}

/* ---- metrics --------------------------------------------------------- */

static void metrics_are_what_was_counted(void **state)
{
	struct metrics metrics = {
		.counts = { .requests = { [REQUEST_OPEN] = 7 },
			    .served = { [SERVED_PLAIN] = 8 } },
		.faults = { .failed = { [BLOSCFS_ERR_CORRUPT] = 5 } },
		.stats = { .cache_hits = 11, .cache_misses = 12,
			   .cache_evictions = 13,
			   .decode_ns = UINT64_C(12000000034) },
		.containers_open = 3,
	};
	static const char *const lines[] = {
		"\nbloscfs_requests_total{kind=\"open\"} 7\n",
		"\nbloscfs_served_bytes_total{from=\"plain\"} 8\n",
		"\nbloscfs_errors_total{kind=\"corrupt\"} 5\n",
		"\nbloscfs_cache_hits_total 11\n",
		"\nbloscfs_cache_misses_total 12\n",
		"\nbloscfs_cache_evictions_total 13\n",
		"\nbloscfs_decode_seconds_total 12.000000034\n",
		"\nbloscfs_frames_open 3\n",
	};
	char *text = text_of_metrics(&metrics);

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(strstr(text, lines[i]));
	free(text);
}

static void metrics_end_with_the_mark_of_their_end(void **state)
{
	static const char mark[] = "\n# EOF\n";
	struct metrics metrics = { .started = 1 };
	char *text = text_of_metrics(&metrics);

	(void)state;
	assert_string_equal(text + strlen(text) - strlen(mark), mark);
	assert_ptr_equal(strstr(text, "# EOF"), text + strlen(text) - 6);
	assert_ptr_equal(strstr(text, "# TYPE "), text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_fault_is_listed_once_with_its_count, forget,
			forget),
		cmocka_unit_test_setup_teardown(
			fields_of_faults_end_no_line, forget, forget),
		cmocka_unit_test_setup_teardown(
			the_list_of_faults_is_bounded, forget, forget),
		cmocka_unit_test_setup_teardown(
			repeats_are_summed_up_once, forget, forget),
		cmocka_unit_test_setup_teardown(
			lack_of_memory_needs_no_diagnosis, forget, forget),
		cmocka_unit_test(counts_of_all_threads_are_summed),
		cmocka_unit_test(metrics_are_what_was_counted),
		cmocka_unit_test(metrics_end_with_the_mark_of_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
