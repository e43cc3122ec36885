/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.c - see work.h.
 */
#include "ops/work_priv.h"

#include "invariant.h"
#include "ops/interrupts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* What a glance at names and attributes may read and decode. */
#define GLANCE_LEN (256u << 10)
#define GLANCE_MS 3

static _Thread_local struct bloscfs_call *my_call;

static const struct bloscfs_call_limits glance_names = {
	sizeof(glance_names), GLANCE_LEN, GLANCE_MS, 0, BLOSCFS_WAITS_NEVER,
};
static const struct bloscfs_call_limits glance_bytes = {
	sizeof(glance_bytes), 1, 0, 0, BLOSCFS_WAITS_NEVER,
};
static const struct bloscfs_call_limits quick = {
	sizeof(quick), QUICK_LEN, QUICK_MS, 0, BLOSCFS_WAITS_NEVER,
};

struct bloscfs_call *work_call(void)
{
	return my_call;
}

int work_thread_init(struct daemon *daemon)
{
	my_call = bloscfs_call_new(daemon->fs);
	call_use(my_call);
	return my_call ? 0 : -ENOMEM;
}

void work_thread_release(void)
{
	call_use(NULL);
	bloscfs_call_free(my_call);
	my_call = NULL;
}

/* Whether it was answered. */
static bool run_within(struct daemon *daemon, struct task *task,
		       const struct bloscfs_call_limits *limits)
{
	bool done;

	call_let_wait(false);
	bloscfs_call_start(my_call, limits);
	done = task->run(daemon, task);
	bloscfs_call_end(my_call);
	return done;
}

/* Whose a task is; to compare, never to follow. */
static const void *find_container(struct daemon *daemon,
				  const struct task *task)
{
	struct node *node = tree_get(&daemon->tree, task->id);
	const void *container = NULL;

	if (node) {
		container = tree_owner(node);
		tree_put(&daemon->tree, node);
	}
	return container;
}

static struct parked *make_parked(struct daemon *daemon,
				  const struct task *task, enum stage stage)
{
	size_t len = task->name ? strlen(task->name) + 1 : 0;
	struct parked *p = calloc(1, sizeof(*p) + len);

	if (!p)
		return NULL;
	p->task = *task;
	p->stage = stage;
	p->since_ns = now_ns(CLOCK_MONOTONIC);
	p->asker = fuse_req_ctx(task->req)->pid;
	if (len)
		p->task.name = memcpy(p->name, task->name, len);
	p->container = find_container(daemon, task);
	p->server = call_awaited();
	return p;
}

void work_enter_stage(struct work *work, struct parked *p, enum stage stage)
{
	/* It only ever goes on to where there is more time. */
	INVARIANT(stage >= p->stage && !p->call);
	p->stage = stage;
	work->counts.n_waiting++;
	work->counts.n_slow += stage == SLOW;
	if (stage != QUICK && !work->watched) {
		work->watched = true;
		(void)eventfd_write(work->began, 1);
	}
}

/* With the lock held. */
static bool take_permit(struct work *work)
{
	bool taken = work->n_quick < work->max_quick;

	INVARIANT(work->n_quick <= work->max_quick);
	work->n_quick += taken;
	return taken;
}

/* Puts a task at the end of the queue. Not with the lock held: libfuse calls
 * interrupts_hear from here where the interrupt has come already. True: there
 * is a permit by now, for whoever of the queue it is to have. */
static bool park(struct daemon *daemon, const struct task *task,
		 enum stage stage)
{
	struct work *work = daemon->work;
	struct parked *p = make_parked(daemon, task, stage);
	bool permitted = false;
	uintptr_t number;

	if (!p) {
		fuse_reply_err(task->req, ENOMEM);
		return false;
	}
	pthread_mutex_lock(&work->lock);
	number = (uintptr_t)(p->number = ++work->next_number);
	parking_append(&work->parking, p);
	work_enter_stage(work, p, stage);
	pthread_mutex_unlock(&work->lock);
	fuse_req_interrupt_func(task->req, interrupts_hear, (void *)number);
	pthread_mutex_lock(&work->lock);
	p->ready = true;
	if (stage == QUICK)
		permitted = take_permit(work);
	else
		pthread_cond_signal(&work->come[stage]);
	pthread_mutex_unlock(&work->lock);
	return permitted;
}

void work_add_cost(struct work *work, const void *container, uint64_t ns)
{
	costs_add(&work->costs, container, ns,
		  (time_t)(now_ns(CLOCK_MONOTONIC) / 1000000000));
}

/* The next that waits for our permit; or gives it back. */
static struct parked *pass_permit(struct work *work)
{
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	INVARIANT(work->n_quick > 0);
	p = parking_pick(&work->parking, QUICK, &work->costs, UINT_MAX,
			 UINT_MAX);
	if (p) {
		parking_take_out(&work->parking, p);
		work_end_wait(work, p);
	} else {
		work->n_quick--;
	}
	pthread_mutex_unlock(&work->lock);
	return p;
}

static void do_quick(struct daemon *daemon, struct task *task,
		     const void *container)
{
	struct work *work = daemon->work;
	uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!run_within(daemon, task, &quick))
		(void)park(daemon, task, !call_must_wait() &&
			   bloscfs_call_would_wait(my_call) ? PATIENT : SLOW);
	pthread_mutex_lock(&work->lock);
	work_add_cost(work, container, now_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	pthread_mutex_unlock(&work->lock);
}

/* With a permit, until nobody waits for it. */
static void use_permit(struct daemon *daemon)
{
	struct parked *p;

	while ((p = pass_permit(daemon->work))) {
		/* It goes back into the queue, where it takes much. */
		fuse_req_interrupt_func(p->task.req, NULL, NULL);
		if (p->cancelled)
			fuse_reply_err(p->task.req, EINTR);
		else
			do_quick(daemon, &p->task, p->container);
		free(p);
	}
}

void work_do(struct daemon *daemon, struct task *task)
{
	struct work *work = daemon->work;
	bool permitted;

	if (run_within(daemon, task, task->decodes ? &glance_bytes :
						     &glance_names))
		return;
	if (call_must_wait()) {
		(void)park(daemon, task, SLOW);
		return;
	}
	pthread_mutex_lock(&work->lock);
	permitted = take_permit(work);
	pthread_mutex_unlock(&work->lock);
	if (permitted)
		do_quick(daemon, task, find_container(daemon, task));
	else
		permitted = park(daemon, task, QUICK);
	if (permitted)
		use_permit(daemon);
}

void work_count(const struct daemon *daemon, struct work_counts *ret_counts)
{
	pthread_mutex_lock(&daemon->work->lock);
	*ret_counts = daemon->work->counts;
	pthread_mutex_unlock(&daemon->work->lock);
}
