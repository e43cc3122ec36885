/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.c - worker threads behind a bounded queue.
 *
 * A thread is started when a job finds none idle, until there are as many as
 * asked for. A job may submit others, but must not wait for the pool.
 */
#include "base/pool.h"

#include "base/assert.h"
#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#define JOBS_PER_THREAD 16
#define MIN_JOBS 64
#define MAX_THREADS 1024
#define NICE 5
#define STACK_LEN ((size_t)1 << 20)	/* some libcs give far less */

struct job {
	void (*run)(void *arg);
	void *arg;
};

struct bfs_pool {
	pthread_mutex_t lock;	/* guards all below but what is constant */
	pthread_cond_t work;	/* a job came, or the end */
	pthread_cond_t rest;	/* nothing is queued or running */
	struct job *jobs;	/* a ring */
	size_t n_max_jobs;
	size_t first;
	size_t n_jobs;
	pthread_t *threads;
	unsigned n_max_threads;
	unsigned n_threads;
	unsigned n_running;	/* jobs that are being run */
	bool ending;
};

enum bfs_err bfs_pool_new(unsigned n_threads, struct bfs_pool **ret_pool)
{
	struct bfs_pool *pool = bfs_zalloc(1, sizeof(*pool));

	if (!pool)
		return BFS_ERR_NOMEM;
	if (!n_threads)
		n_threads = bfs_pool_cpus();
	if (n_threads > MAX_THREADS)
		n_threads = MAX_THREADS;
	pool->n_max_threads = n_threads;
	pool->n_max_jobs = MIN_JOBS + (size_t)n_threads * JOBS_PER_THREAD;
	pool->jobs = bfs_zalloc(pool->n_max_jobs, sizeof(*pool->jobs));
	pool->threads = bfs_zalloc(n_threads, sizeof(*pool->threads));
	if (!pool->jobs || !pool->threads) {
		bfs_free(pool->threads);
		bfs_free(pool->jobs);
		bfs_free(pool);
		return BFS_ERR_NOMEM;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->rest, NULL);
	*ret_pool = pool;
	return BFS_OK;
}

/* With the lock held, which is given up while the job runs. */
static void run_first(struct bfs_pool *pool)
{
	struct job job = pool->jobs[pool->first];

	BFS_ASSERT_HELD(&pool->lock);
	BFS_ASSERT(pool->n_jobs > 0 && pool->n_jobs <= pool->n_max_jobs);
	pool->first = (pool->first + 1) % pool->n_max_jobs;
	pool->n_jobs--;
	pool->n_running++;
	pthread_mutex_unlock(&pool->lock);
	job.run(job.arg);
	pthread_mutex_lock(&pool->lock);
	pool->n_running--;
	if (!pool->n_jobs && !pool->n_running)
		pthread_cond_broadcast(&pool->rest);
}

/* What is done ahead comes behind what somebody waits for: threads that wake
 * up to answer go first. */
static void lower_priority(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
	(void)setpriority(PRIO_PROCESS, 0, NICE);
}

static void *work(void *arg)
{
	struct bfs_pool *pool = arg;

	lower_priority();
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		if (pool->n_jobs)
			run_first(pool);
		else if (pool->ending)
			break;
		else
			pthread_cond_wait(&pool->work, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* A thread inherits the mask of signals from its maker. A call that a filter
 * stops is told by a signal to who made it. */
static bool start_thread(struct bfs_pool *pool)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int failed;

	BFS_ASSERT(pool->n_threads < pool->n_max_threads);
	if (pthread_attr_init(&attr))
		return false;
	(void)pthread_attr_setstacksize(&attr, STACK_LEN);
	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&pool->threads[pool->n_threads], &attr, work,
				pool);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!failed)
		pool->n_threads++;
	return !failed;
}

static bool wants_thread(const struct bfs_pool *pool)
{
	return pool->n_running + pool->n_jobs >= pool->n_threads &&
	       pool->n_threads < pool->n_max_threads && !pool->ending;
}

bool bfs_pool_submit(struct bfs_pool *pool, void (*run)(void *arg), void *arg)
{
	bool taken = false;

	pthread_mutex_lock(&pool->lock);
	if (pool->n_jobs == pool->n_max_jobs)
		goto out;
	if (wants_thread(pool) && !start_thread(pool) && !pool->n_threads)
		goto out;
	pool->jobs[(pool->first + pool->n_jobs) % pool->n_max_jobs] =
		(struct job){ run, arg };
	pool->n_jobs++;
	taken = true;
	pthread_cond_signal(&pool->work);
out:
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

void bfs_pool_wait(struct bfs_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->n_jobs || pool->n_running)
		pthread_cond_wait(&pool->rest, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

void bfs_pool_free(struct bfs_pool *pool)
{
	unsigned i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->n_threads; i++)
		pthread_join(pool->threads[i], NULL);
	BFS_CHECK(!pool->n_jobs && !pool->n_running);
	pthread_cond_destroy(&pool->rest);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	bfs_free(pool->threads);
	bfs_free(pool->jobs);
	bfs_free(pool);
}
