/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.c - --check: from the command line to the exit code.
 */
#include "check/check.h"

#include "check/page.h"
#include "check/report.h"
#include "check/workers.h"

#include <stdlib.h>
#include <string.h>

/* Blocks are met once each: a small cache does, and stays in the CPU's. */
#define CACHE_SIZE ((uint64_t)32 << 20)

/* Runs the threads to their end, and prints meanwhile. */
static void run_workers(struct check *check, struct report *report,
			struct check_worker *workers)
{
	pthread_mutex_lock(&check->lock);
	check_workers_start(check, workers);
	while (check->n_alive) {
		report_progress(report, check, workers);
		report_wait(report, check);
		report_done(report, check);
	}
	report_done(report, check);
	pthread_mutex_unlock(&check->lock);
	report_erase(report);
	for (unsigned i = 0; i < check->n_workers; i++)
		pthread_join(workers[i].thread, NULL);
}

static enum exit_code no_start(const char *why)
{
	fprintf(stderr, "bloscfs: cannot start: %s; free memory, or give "
		"fewer jobs\n", why);
	return EXIT_FAILED;
}

static enum exit_code check_all(struct check *check, struct report *report)
{
	struct check_worker *workers;

	check->n_workers = check_workers_choose(check->opts);
	workers = calloc(check->n_workers, sizeof(*workers));
	if (!workers)
		return no_start("no memory");
	if (!check->opts->json)
		puts("#path\tverdict\tformat\tnbytes\tcbytes\tchunks\t"
		     "error");
	run_workers(check, report, workers);
	if (check->n_workers)
		report_summary(report, check, workers);
	else
		report_code(report, no_start("no threads"));
	for (unsigned i = 0; i < check->n_workers; i++)
		check_worker_release(&workers[i]);
	free(workers);
	for (unsigned i = CHECK_GOOD + 1; i < CHECK_N_VERDICTS; i++) {
		if (report->counts[i])
			report_code(report, EXIT_FAILED);
	}
	if (check->jobs.wrong_source)
		report_code(report, EXIT_SOURCE);
	return report->code;
}

/* Opens the instance, which shows what is needed whatever views= says. */
static enum exit_code check_list(struct check *check, struct report *report)
{
	const struct opts *opts = check->opts;
	struct bloscfs_options options = {
		.size = sizeof(options),
		.cache_size = opts->cache_size ? opts->cache_size :
						 CACHE_SIZE,
		.max_memory = opts->max_memory, .threads = 1,
		.views = "info,data,npy,chunks,meta,raw",
	};
	struct bloscfs_diag why = { .chunk = -1 };
	enum exit_code code;

	if (bloscfs_new(&options, &check->fs, &why) != BLOSCFS_OK)
		return no_start(why.text);
	if (check_find(&check->jobs, opts) == 0)
		code = check_all(check, report);
	else
		code = no_start("no memory");
	bloscfs_free(check->fs);
	return code;
}

/* The page of --report, whatever came of the check. */
static enum exit_code finish_page(const struct check *check,
				  const struct report *report,
				  enum exit_code code)
{
	int status = page_finish(check->page, report->counts,
				 check->jobs.size);

	if (!status)
		return code;
	fprintf(stderr, "bloscfs: cannot write the report '%s': %s; check the "
		"folder and its space\n", check->opts->report,
		strerror(-status));
	return code > EXIT_FAILED ? code : EXIT_FAILED;
}

static bool open_page(struct check *check)
{
	char error[4200];

	if (!check->opts->report)
		return true;
	check->page = page_new(check->opts, error, sizeof(error));
	if (!check->page)
		fprintf(stderr, "bloscfs: %s\n", error);
	return check->page;
}

enum exit_code check_run(const struct opts *opts)
{
	struct check check = { .opts = opts };
	struct report report;
	enum exit_code code;

	if (!open_page(&check))
		return EXIT_FAILED;
	report_begin(&report);
	pthread_mutex_init(&check.lock, NULL);
	pthread_cond_init(&check.work, NULL);
	pthread_cond_init(&check.left, NULL);
	pthread_cond_init(&check.finished, NULL);
	code = check_list(&check, &report);
	if (check.page)
		code = finish_page(&check, &report, code);
	page_free(check.page);
	check_jobs_release(&check.jobs);
	pthread_cond_destroy(&check.finished);
	pthread_cond_destroy(&check.left);
	pthread_cond_destroy(&check.work);
	pthread_mutex_destroy(&check.lock);
	return report_end(&report, code);
}
