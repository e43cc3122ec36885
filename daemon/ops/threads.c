/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads.c - see threads.h.
 */
#include "ops/threads.h"

#include "invariant.h"
#include "log/log.h"
#include "ops/reply.h"
#include "ops/work_priv.h"
#include "tree/tell.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMPUTING 16	/* slow threads where none waits for a server */
/* Lower than that of who answers with what is there. */
#define SLOW_NICE 5

static bool was_cancelled(void)
{
	return bloscfs_call_stopped(work_call(), NULL) == BLOSCFS_ERR_CANCELLED;
}

static const struct bloscfs_call_limits patient = {
	sizeof(patient), QUICK_LEN, QUICK_MS, 0, BLOSCFS_WAITS_FOR_LITTLE,
};

/* Answers what was given up for good. */
static void answer_stopped(struct daemon *daemon, struct task *task)
{
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = bloscfs_call_stopped(work_call(), &why);
	struct node *node;

	if (err == BLOSCFS_ERR_TOO_MUCH) {
		node = tree_get(&daemon->tree, task->id);
		if (node) {
			look_tell_failure(daemon, node, task->deed,
					  bloscfs_err_errno(err), &why);
			tree_put(&daemon->tree, node);
		}
	}
	fuse_reply_err(task->req, err == BLOSCFS_OK ? EIO :
		       bloscfs_err_errno(err));
}

/* With the lock held: ends it, or makes it wait for a slow thread. */
static void leave_stage(struct work *work, struct parked *p, bool done)
{
	INVARIANT(p->call == work_call());
	p->call = NULL;
	if (call_awaited())
		p->server = call_awaited();
	if (done) {
		parking_take_out(&work->parking, p);
		free(p);
		return;
	}
	/* Heard too late: it waits, and is swept away. */
	if (p->cancelled)
		atomic_fetch_add(&work->n_cancelled, 1);
	work_enter_stage(work, p, SLOW);
	pthread_cond_signal(&work->come[SLOW]);
}

/* With the lock held, but for the work itself. */
static void run_parked(struct daemon *daemon, struct parked *p)
{
	struct work *work = daemon->work;
	const struct bloscfs_call_limits slow = {
		sizeof(slow), daemon->opts->max_request, 0, 0, BLOSCFS_WAITS,
	};
	uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	enum stage stage = p->stage;
	bool done;

	INVARIANT(p->ready);
	work_end_wait(work, p);
	/* Under the lock: an interrupt from here on is heard. */
	bloscfs_call_start(work_call(), stage == SLOW ? &slow : &patient);
	if (p->cancelled)
		bloscfs_call_cancel(work_call());
	p->call = work_call();
	call_let_wait(stage == SLOW);
	pthread_mutex_unlock(&work->lock);
	if (stage == PATIENT)
		tree_shed_idle(&daemon->tree);
	done = p->task.run(daemon, &p->task);
	bloscfs_call_end(work_call());
	if (!done && (stage == SLOW ||
		      (was_cancelled() && !call_must_wait()))) {
		answer_stopped(daemon, &p->task);
		done = true;
	}
	pthread_mutex_lock(&work->lock);
	work_add_cost(work, p->container,
		      now_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	leave_stage(work, p, done);
	/* Another of this container may go on, which was not picked. */
	pthread_cond_signal(&work->come[stage]);
}

/* Batch: what wakes up goes first. */
static void lower_priority(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
	(void)setpriority(PRIO_PROCESS, 0, SLOW_NICE);
}

static void wait_for_work(struct work *work, enum stage stage)
{
	reply_thread_trim();
	pthread_cond_wait(&work->come[stage], &work->lock);
}

static void work_off(struct daemon *daemon, enum stage stage)
{
	struct work *work = daemon->work;
	struct parked *p;
	bool ready;

	ready = work_thread_init(daemon) == 0 && reply_thread_init(false) == 0;
	if (!ready)
		log_msg(LEVEL_ERR, "no memory for a thread's buffers");
	pthread_mutex_lock(&work->lock);
	for (;;) {
		bool all = work->ending || stage != SLOW;

		p = ready ? parking_pick(&work->parking, stage, &work->costs,
					 all ? UINT_MAX : work->share,
					 all ? UINT_MAX :
					       work->n_threads - 1) : NULL;
		if (p)
			run_parked(daemon, p);
		else if (work->ending)
			break;
		else
			wait_for_work(work, stage);
	}
	pthread_mutex_unlock(&work->lock);
	reply_thread_release();
	work_thread_release();
}

static void *work_slowly(void *arg)
{
	lower_priority();
	work_off(arg, SLOW);
	return NULL;
}

static void *work_patiently(void *arg)
{
	work_off(arg, PATIENT);
	return NULL;
}

static bool start_thread(struct daemon *daemon, void *(*run)(void *arg))
{
	struct work *work = daemon->work;
	bool made;

	/* Those that run already count who there is. */
	pthread_mutex_lock(&work->lock);
	made = pthread_create(&work->threads[work->n_threads], NULL, run,
			      daemon) == 0;
	work->n_threads += made;
	pthread_mutex_unlock(&work->lock);
	return made;
}

int threads_start(struct daemon *daemon)
{
	struct work *work = calloc(1, sizeof(*work));
	unsigned most = daemon->src.far ? MAX_SLOW : MAX_COMPUTING;
	unsigned n = daemon->n_threads < 2 ? 2 :
		     daemon->n_threads < most ?
			(unsigned)daemon->n_threads : most;

	if (!work)
		return -ENOMEM;
	n = n < daemon->max_workers ? n : daemon->max_workers;
	pthread_mutex_init(&work->lock, NULL);
	for (size_t i = 0; i <= SLOW; i++)
		pthread_cond_init(&work->come[i], NULL);
	parking_init(&work->parking);
	work->began = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	work->max_quick = (unsigned)daemon->n_threads;
	work->share = n > 1 ? n / 2 : 1;
	daemon->work = work;
	if (!start_thread(daemon, work_patiently))
		return -EAGAIN;
	while (work->n_threads <= n && start_thread(daemon, work_slowly))
		;
	return work->n_threads > 1 && work->began >= 0 ? 0 : -EAGAIN;
}

/* wait_ms 0: for as long as it takes. */
static bool join_within(pthread_t thread, unsigned wait_ms)
{
	struct timespec until;

	if (!wait_ms)
		return pthread_join(thread, NULL) == 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += wait_ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT;
}

bool threads_stop(struct daemon *daemon, unsigned wait_ms)
{
	struct work *work = daemon->work;
	struct parked *p;

	if (!work)
		return true;
	bloscfs_cancel_all(daemon->fs);
	pthread_mutex_lock(&work->lock);
	work->ending = true;
	for (size_t i = 0; i <= SLOW; i++)
		pthread_cond_broadcast(&work->come[i]);
	pthread_mutex_unlock(&work->lock);
	for (unsigned i = 0; i < work->n_threads; i++)
		if (!join_within(work->threads[i], wait_ms))
			return false;
	while ((p = work->parking.first)) {
		/* No thread is left that could be at it. */
		INVARIANT(!p->call);
		parking_take_out(&work->parking, p);
		fuse_reply_err(p->task.req, EINTR);
		free(p);
	}
	for (size_t i = 0; i <= SLOW; i++)
		pthread_cond_destroy(&work->come[i]);
	pthread_mutex_destroy(&work->lock);
	if (work->began >= 0)
		close(work->began);
	free(work);
	daemon->work = NULL;
	return true;
}
