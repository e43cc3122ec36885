/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers.c - the threads of --check, and what each takes up next.
 */
#include "check/workers.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_WORKERS 1024

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

unsigned check_workers_choose(const struct opts *opts)
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

void check_worker_release(struct check_worker *worker)
{
	bloscfs_pieces_free(worker->pieces[0]);
	bloscfs_pieces_free(worker->pieces[1]);
	free(worker->buf);
}

void check_workers_start(struct check *check, struct check_worker *workers)
{
	unsigned n = check->n_workers;

	while (check->n_alive < n &&
	       start_worker(check, &workers[check->n_alive]))
		check->n_alive++;
	for (unsigned i = check->n_alive; i < n; i++)
		check_worker_release(&workers[i]);
	check->n_workers = check->n_alive;
}
