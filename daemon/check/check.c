/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.c - --check: threads that check containers, and what is printed.
 *
 * Lines come in the order of the list, whatever is done first. The main
 * thread alone prints.
 */
#include "check/check.h"

#include "check/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 1024

/* Blocks are met once each: a small cache does, and stays in the CPU's. */
#define CACHE_SIZE ((uint64_t)32 << 20)
#define TICK_MS 200	/* between two looks at the progress */

/* ---- threads --------------------------------------------------------- */

/* With the lock held; a task whose chunks are all taken needs nobody. */
static struct check_task *find_task(const struct check *check)
{
	struct check_task *task = check->board;

	while (task && (atomic_load(&task->enough) ||
			atomic_load(&task->next) * task->step >=
			task->n - 1 + task->step))
		task = task->later;
	return task;
}

/* With the lock held, which it drops meanwhile. */
static void do_job(struct check_worker *worker)
{
	struct check *check = worker->check;
	struct check_job *job = &check->jobs.list[check->next_job++];

	check->n_busy++;
	pthread_mutex_unlock(&check->lock);
	check_job(worker, job);
	pthread_mutex_lock(&check->lock);
	check->n_busy--;
	check->n_done++;
	check->done_size += job->size;
	atomic_store(&worker->part, 0);
	job->done = true;
	pthread_cond_signal(&check->finished);
}

static void help(struct check_worker *worker, struct check_task *task)
{
	struct check *check = worker->check;

	task->n_helpers++;
	pthread_mutex_unlock(&check->lock);
	check_chunks(worker, task);
	pthread_mutex_lock(&check->lock);
	task->n_helpers--;
	pthread_cond_broadcast(&check->left);
}

static void *work(void *arg)
{
	struct check_worker *worker = arg;
	struct check *check = worker->check;
	struct check_task *task;

	pthread_mutex_lock(&check->lock);
	for (;;) {
		task = find_task(check);
		if (check->next_job < check->jobs.n)
			do_job(worker);
		else if (task)
			help(worker, task);
		else if (check->n_busy)
			pthread_cond_wait(&check->work, &check->lock);
		else
			break;
	}
	/* Those who wait for the last job end with it. */
	pthread_cond_broadcast(&check->work);
	check->n_alive--;
	pthread_cond_signal(&check->finished);
	pthread_mutex_unlock(&check->lock);
	return NULL;
}

static unsigned count_cpus(void)
{
	cpu_set_t set;
	long n;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (unsigned)CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

static unsigned choose_n_workers(const struct opts *opts)
{
	uint64_t n = opts->jobs ? opts->jobs : count_cpus();

	return n < MAX_WORKERS ? (unsigned)n : MAX_WORKERS;
}

static bool start_worker(struct check *check, struct check_worker *worker)
{
	worker->check = check;
	worker->buf = malloc(CHECK_PIECE + 1);
	worker->pieces[0] = bloscfs_pieces_new();
	worker->pieces[1] = bloscfs_pieces_new();
	return worker->buf && worker->pieces[0] && worker->pieces[1] &&
	       pthread_create(&worker->thread, NULL, work, worker) == 0;
}

static void release_worker(struct check_worker *worker)
{
	bloscfs_pieces_free(worker->pieces[0]);
	bloscfs_pieces_free(worker->pieces[1]);
	free(worker->buf);
}

/* With the lock held, so that none of them begins before all are counted. */
static void start_workers(struct check *check, struct check_worker *workers)
{
	unsigned n = check->n_workers;

	while (check->n_alive < n &&
	       start_worker(check, &workers[check->n_alive]))
		check->n_alive++;
	for (unsigned i = check->n_alive; i < n; i++)
		release_worker(&workers[i]);
	check->n_workers = check->n_alive;
}

/* ---- what is printed ------------------------------------------------- */

struct report {
	double start;		/* seconds */
	bool progress;		/* stderr is a terminal */
	double shown;		/* when progress was last */
	size_t n_printed;	/* jobs */
	uint64_t counts[CHECK_N_VERDICTS];
	enum exit_code code;
	int error;		/* errno of writing */
};

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

static void erase_progress(const struct report *report)
{
	if (report->progress)
		fputs("\r\033[K", stderr);
}

/* With the lock held. */
static void show_progress(struct report *report, const struct check *check,
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

static void raise_code(struct report *report, enum exit_code code)
{
	if (code > report->code)
		report->code = code;
}

static void print_job(struct report *report, struct check_job *job)
{
	if (!job->lines) {
		fprintf(stderr, "bloscfs: no memory to check '%s'; free "
			"some\n", job->path);
		report->counts[CHECK_UNREADABLE]++;
	} else {
		fwrite(job->lines, 1, job->lines_len, stdout);
	}
	for (unsigned i = 0; i < CHECK_N_VERDICTS; i++)
		report->counts[i] += job->counts[i];
	if (job->named && job->error)
		raise_code(report, EXIT_SOURCE);
	free(job->lines);
	job->lines = NULL;
}

/* With the lock held, which it drops while it prints. */
static void print_done(struct report *report, struct check *check)
{
	struct check_job *job;
	bool printed = false;

	while (report->n_printed < check->jobs.n) {
		job = &check->jobs.list[report->n_printed];
		if (!job->done)
			break;
		pthread_mutex_unlock(&check->lock);
		if (!printed)
			erase_progress(report);
		print_job(report, job);
		printed = true;
		report->n_printed++;
		pthread_mutex_lock(&check->lock);
	}
	if (printed && fflush(stdout) && !report->error)
		report->error = errno;
}

/* With the lock held. */
static void wait_tick(const struct report *report, struct check *check)
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

static void print_summary(struct report *report, double bytes)
{
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

/* ---- the form -------------------------------------------------------- */

/* Runs the threads to their end, and prints meanwhile. */
static void run_workers(struct check *check, struct report *report,
			struct check_worker *workers)
{
	pthread_mutex_lock(&check->lock);
	start_workers(check, workers);
	while (check->n_alive) {
		show_progress(report, check, workers);
		wait_tick(report, check);
		print_done(report, check);
	}
	print_done(report, check);
	pthread_mutex_unlock(&check->lock);
	erase_progress(report);
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

	check->n_workers = choose_n_workers(check->opts);
	workers = calloc(check->n_workers, sizeof(*workers));
	if (!workers)
		return no_start("no memory");
	puts("#path\tverdict\tformat\tnbytes\tcbytes\tchunks\terror");
	run_workers(check, report, workers);
	if (check->n_workers)
		print_summary(report, count_bytes(check, workers));
	else
		raise_code(report, no_start("no threads"));
	for (unsigned i = 0; i < check->n_workers; i++)
		release_worker(&workers[i]);
	free(workers);
	for (unsigned i = CHECK_GOOD + 1; i < CHECK_N_VERDICTS; i++) {
		if (report->counts[i])
			raise_code(report, EXIT_FAILED);
	}
	if (check->jobs.wrong_source)
		raise_code(report, EXIT_SOURCE);
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

enum exit_code check_run(const struct opts *opts)
{
	struct report report = { .start = now(),
				 .progress = isatty(STDERR_FILENO) == 1,
				 .shown = -1 };
	struct check check = { .opts = opts };
	enum exit_code code;

	pthread_mutex_init(&check.lock, NULL);
	pthread_cond_init(&check.work, NULL);
	pthread_cond_init(&check.left, NULL);
	pthread_cond_init(&check.finished, NULL);
	code = check_list(&check, &report);
	check_jobs_release(&check.jobs);
	pthread_cond_destroy(&check.finished);
	pthread_cond_destroy(&check.left);
	pthread_cond_destroy(&check.work);
	pthread_mutex_destroy(&check.lock);
	if (fflush(stdout) && !report.error)
		report.error = errno;
	if (!report.error && !ferror(stdout))
		return code;
	fprintf(stderr, "bloscfs: cannot write: %s; check where the output "
		"goes\n", strerror(report.error ? report.error : EIO));
	return EXIT_FAILED;
}
