/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.c - what --check prints: lines in the order of the list, whatever is
 * done first, how far it is, and a summary.
 */
#include "check/report.h"

#include "check/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 200	/* between two looks at the progress */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* "12.3 MB" */
static const char *say_bytes(double n, char buf[24])
{
	static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB",
					     "PB", "EB" };
	unsigned unit = 0;

	while (n >= 999.5 && unit < 6) {
		n /= 1000;
		unit++;
	}
	snprintf(buf, 24, unit ? "%.1f %s" : "%.0f %s", n, units[unit]);
	return buf;
}

static double count_bytes(const struct check *check,
			  struct check_worker *workers)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < check->n_workers; i++)
		n += atomic_load(&workers[i].n_bytes);
	return (double)n;
}

/* "1:02:03 left"; nothing while a guess would be wild. */
static void say_left(const struct check *check, struct check_worker *workers,
		     double seconds, char *text, size_t cap)
{
	double size = (double)check->done_size, left;
	unsigned long n;

	for (unsigned i = 0; i < check->n_workers; i++)
		size += (double)atomic_load(&workers[i].part);
	*text = '\0';
	if (seconds < 1 || size <= 0)
		return;
	left = seconds * ((double)check->jobs.size - size) / size;
	if (left < 0 || left > 1e6)
		return;
	n = (unsigned long)left;
	snprintf(text, cap, ", %lu:%02lu:%02lu left", n / 3600, n / 60 % 60,
		 n % 60);
}

void report_erase(const struct report *report)
{
	if (report->progress)
		fputs("\r\033[K", stderr);
}

void report_progress(struct report *report, const struct check *check,
			  struct check_worker *workers)
{
	double seconds = now() - report->start;
	double bytes = count_bytes(check, workers);
	char size[24], rate[24], left[48];

	if (!report->progress || seconds < report->shown + TICK_MS / 1e3)
		return;
	report->shown = seconds;
	say_left(check, workers, seconds, left, sizeof(left));
	fprintf(stderr, "\r%zu of %zu containers, %s, %s/s%s\033[K",
		check->n_done, check->jobs.n, say_bytes(bytes, size),
		say_bytes(seconds > 0 ? bytes / seconds : 0, rate), left);
}

void report_code(struct report *report, enum exit_code code)
{
	if (code > report->code)
		report->code = code;
}

/* What cannot be had again is told, and is no good verdict. */
static void print_text(struct report *report, const struct check_job *job,
		       struct spill *text, FILE *out)
{
	int status = text ? spill_copy(text, out) : -ENOMEM;

	if (!status)
		return;
	fprintf(stderr, "bloscfs: what was found in '%s' cannot be told: %s; "
		"free memory, or name a folder with space by TMPDIR\n",
		job->path, strerror(-status));
	report->counts[CHECK_UNREADABLE]++;
}

static void print_job(struct report *report, struct check *check,
		      struct check_job *job)
{
	print_text(report, job, job->lines, stdout);
	if (check->page)
		print_text(report, job, job->rows, page_rows(check->page));
	for (unsigned i = 0; i < CHECK_N_VERDICTS; i++)
		report->counts[i] += job->counts[i];
	if (job->named && job->error)
		report_code(report, EXIT_SOURCE);
	spill_free(job->lines);
	spill_free(job->rows);
	job->lines = job->rows = NULL;
}

void report_done(struct report *report, struct check *check)
{
	struct check_job *job;
	bool printed = false;

	while (report->n_printed < check->jobs.n) {
		job = &check->jobs.list[report->n_printed];
		if (!job->done)
			break;
		pthread_mutex_unlock(&check->lock);
		if (!printed)
			report_erase(report);
		print_job(report, check, job);
		printed = true;
		report->n_printed++;
		pthread_mutex_lock(&check->lock);
	}
	if (printed && fflush(stdout) && !report->error)
		report->error = errno;
}

void report_wait(const struct report *report, struct check *check)
{
	struct timespec end;

	if (!report->progress) {
		pthread_cond_wait(&check->finished, &check->lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += TICK_MS * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&check->finished, &check->lock, &end);
}

void report_summary(struct report *report, const struct check *check,
		   struct check_worker *workers)
{
	double bytes = count_bytes(check, workers);
	double seconds = now() - report->start;
	char size[24], rate[24], more[48] = "";

	if (report->counts[CHECK_UNRECOGNISED])
		snprintf(more, sizeof(more), ", %" PRIu64 " unrecognised",
			 report->counts[CHECK_UNRECOGNISED]);
	fprintf(stderr, "bloscfs: %" PRIu64 " good, %" PRIu64 " damaged, %"
		PRIu64 " unsupported, %" PRIu64 " unreadable%s; %s in %.1f s, "
		"%s/s\n", report->counts[CHECK_GOOD],
		report->counts[CHECK_DAMAGED],
		report->counts[CHECK_UNSUPPORTED],
		report->counts[CHECK_UNREADABLE], more, say_bytes(bytes, size),
		seconds, say_bytes(seconds > 0 ? bytes / seconds : 0, rate));
}

void report_begin(struct report *report)
{
	*report = (struct report){ .start = now(),
				   .progress = isatty(STDERR_FILENO) == 1,
				   .shown = -1 };
}

enum exit_code report_end(struct report *report, enum exit_code code)
{
	if (fflush(stdout) && !report->error)
		report->error = errno;
	if (!report->error && !ferror(stdout))
		return code;
	fprintf(stderr, "bloscfs: cannot write: %s; check where the output "
		"goes\n", strerror(report->error ? report->error : EIO));
	return EXIT_FAILED;
}
