/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.c - see work.h.
 *
 * An interrupt names its task by a number, never by an address: libfuse may
 * deliver one while the request is being answered.
 */
#include "ops/work.h"

#include "log/log.h"
#include "tree/tell.h"
#include "ops/parked.h"
#include "ops/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a glance at names and attributes may read and decode. */
#define GLANCE_LEN (256u << 10)
#define GLANCE_MS 3
/* What one worker may do for a request that has a permit. */
#define QUICK_LEN (8u << 20)
#define QUICK_MS 20
#define MAX_SLOW 32
#define MAX_COMPUTING 16	/* of these, without a server to wait for */
/* Lower than that of who answers with what is there. */
#define SLOW_NICE 5

struct work {
	pthread_mutex_t lock;		/* guards all below */
	/* Something to do for a thread of a stage, or the end. */
	pthread_cond_t come[SLOW + 1];
	struct parking parking;
	struct costs costs;
	uint64_t next_number;
	unsigned n_quick;		/* permits in use */
	unsigned max_quick;
	unsigned share;			/* slow threads of one container */
	unsigned n_threads;		/* the first is the patient one */
	pthread_t threads[1 + MAX_SLOW];
	bool watched;			/* somebody looks for the gone */
	int began;			/* eventfd: now is the time to */
	bool ending;
	atomic_uint n_cancelled;	/* that wait */
	struct work_counts counts;
};

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
static const struct bloscfs_call_limits patient = {
	sizeof(patient), QUICK_LEN, QUICK_MS, 0, BLOSCFS_WAITS_FOR_LITTLE,
};

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

static bool was_cancelled(void)
{
	return bloscfs_call_stopped(my_call, NULL) == BLOSCFS_ERR_CANCELLED;
}

/* Answers what was given up for good. */
static void answer_stopped(struct daemon *daemon, struct task *task)
{
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = bloscfs_call_stopped(my_call, &why);
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

/* ---- interrupts ------------------------------------------------------ */

static void hear_interrupt(fuse_req_t req, void *data)
{
	struct daemon *daemon = fuse_req_userdata(req);
	struct work *work = daemon->work;
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	p = parking_find(&work->parking, (uintptr_t)data);
	if (p && !p->cancelled) {
		p->cancelled = true;
		work->counts.n_interrupted++;
		if (p->call)
			bloscfs_call_cancel(p->call);
		else
			atomic_fetch_add(&work->n_cancelled, 1);
	}
	pthread_mutex_unlock(&work->lock);
}

/* Takes out one that was interrupted while it waited; or NULL. */
static struct parked *take_cancelled(struct work *work)
{
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	p = parking_find_cancelled(&work->parking);
	if (p) {
		parking_take_out(&work->parking, p);
		work->counts.n_waiting--;
		atomic_fetch_sub(&work->n_cancelled, 1);
	}
	pthread_mutex_unlock(&work->lock);
	return p;
}

void work_sweep(struct daemon *daemon)
{
	struct parked *p;

	if (atomic_load_explicit(&daemon->work->n_cancelled,
				 memory_order_relaxed) == 0)
		return;
	while ((p = take_cancelled(daemon->work))) {
		fuse_reply_err(p->task.req, EINTR);
		free(p);
	}
}

/* Whether a thread is gone, as far as that can be told. */
static bool is_gone(pid_t tid)
{
	char path[32], text[512], *state;
	ssize_t len;
	int fd;

	if (tid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT && access("/proc/self", F_OK) == 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	state = strrchr(text, ')');
	return len <= 0 || (state && (state[2] == 'Z' || state[2] == 'X'));
}

bool work_watch(struct daemon *daemon)
{
	struct work *work = daemon->work;
	struct parked *p;
	eventfd_t n;

	(void)eventfd_read(work->began, &n);
	pthread_mutex_lock(&work->lock);
	for (p = work->parking.first; p; p = p->next) {
		if (p->stage == QUICK || p->cancelled || !is_gone(p->asker))
			continue;
		p->cancelled = true;
		work->counts.n_interrupted++;
		if (p->call)
			bloscfs_call_cancel(p->call);
		else
			atomic_fetch_add(&work->n_cancelled, 1);
	}
	p = work->parking.first;
	work->watched = p != NULL;
	pthread_mutex_unlock(&work->lock);
	work_sweep(daemon);
	return p != NULL;
}

int work_watch_fd(const struct daemon *daemon)
{
	return daemon->work->began;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- parking --------------------------------------------------------- */

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
	return p;
}

/* With the lock held: it goes on to threads that take their time. */
static void enter_stage(struct work *work, struct parked *p, enum stage stage)
{
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

	work->n_quick += taken;
	return taken;
}

/* Puts a task at the end of the queue. Not with the lock held: libfuse calls
 * hear_interrupt from here where the interrupt has come already. True: there
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
	enter_stage(work, p, stage);
	pthread_mutex_unlock(&work->lock);
	fuse_req_interrupt_func(task->req, hear_interrupt, (void *)number);
	pthread_mutex_lock(&work->lock);
	p->ready = true;
	if (stage == QUICK)
		permitted = take_permit(work);
	else
		pthread_cond_signal(&work->come[stage]);
	pthread_mutex_unlock(&work->lock);
	return permitted;
}

/* ---- permits --------------------------------------------------------- */

/* With the lock held. */
static void add_cost(struct work *work, const void *container, uint64_t ns)
{
	costs_add(&work->costs, container, ns,
		  (time_t)(now_ns(CLOCK_MONOTONIC) / 1000000000));
}

/* The next that waits for our permit; or gives it back. */
static struct parked *pass_permit(struct work *work)
{
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	p = parking_pick(&work->parking, QUICK, &work->costs, UINT_MAX);
	if (p) {
		parking_take_out(&work->parking, p);
		work->counts.n_waiting--;
		if (p->cancelled)
			atomic_fetch_sub(&work->n_cancelled, 1);
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
	add_cost(work, container, now_ns(CLOCK_THREAD_CPUTIME_ID) - start);
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

/* ---- the threads of later stages ------------------------------------- */

/* With the lock held: ends it, or makes it wait for a slow thread. */
static void leave_stage(struct work *work, struct parked *p, bool done)
{
	p->call = NULL;
	if (done) {
		parking_take_out(&work->parking, p);
		free(p);
		return;
	}
	/* Heard too late: it waits, and is swept away. */
	if (p->cancelled)
		atomic_fetch_add(&work->n_cancelled, 1);
	enter_stage(work, p, SLOW);
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

	work->counts.n_waiting--;
	if (p->cancelled)
		atomic_fetch_sub(&work->n_cancelled, 1);
	/* Under the lock: an interrupt from here on is heard. */
	bloscfs_call_start(my_call, stage == SLOW ? &slow : &patient);
	if (p->cancelled)
		bloscfs_call_cancel(my_call);
	p->call = my_call;
	call_let_wait(stage == SLOW);
	pthread_mutex_unlock(&work->lock);
	if (stage == PATIENT)
		tree_shed_idle(&daemon->tree);
	done = p->task.run(daemon, &p->task);
	bloscfs_call_end(my_call);
	if (!done && (stage == SLOW ||
		      (was_cancelled() && !call_must_wait()))) {
		answer_stopped(daemon, &p->task);
		done = true;
	}
	pthread_mutex_lock(&work->lock);
	add_cost(work, p->container, now_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	leave_stage(work, p, done);
	/* Another of this container may go on, which was not picked. */
	pthread_cond_signal(&work->come[stage]);
}

/* Batch: what wakes up goes first. */
static void lower_priority(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), SLOW_NICE);
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
		p = ready ? parking_pick(&work->parking, stage, &work->costs,
					 work->ending || stage != SLOW ?
					 UINT_MAX : work->share) : NULL;
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
	bool made = pthread_create(&work->threads[work->n_threads], NULL, run,
				   daemon) == 0;

	work->n_threads += made;
	return made;
}

int work_start(struct daemon *daemon)
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

bool work_stop(struct daemon *daemon, unsigned wait_ms)
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

void work_count(const struct daemon *daemon, struct work_counts *ret_counts)
{
	pthread_mutex_lock(&daemon->work->lock);
	*ret_counts = daemon->work->counts;
	pthread_mutex_unlock(&daemon->work->lock);
}
