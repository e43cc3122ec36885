/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.c - see work.h.
 *
 * An interrupt names its task by a number, never by an address: libfuse may
 * deliver one while the request is being answered.
 */
#include "ops/work.h"

#include "log/log.h"
#include "tree/look.h"
#include "ops/reply.h"

#include <errno.h>
#include <fcntl.h>
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
#define MAX_SLOW 16
/* Lower than that of who answers with what is there. */
#define SLOW_NICE 5
#define N_COSTS 256

enum stage {
	QUICK,
	SLOW,
};

/* A task that waits, or that a slow thread is at. */
struct parked {
	struct task task;
	struct parked *next;
	uint64_t number;
	const void *container;		/* whose it is; never followed */
	pid_t asker;			/* the thread that wants it; 0 */
	enum stage stage;
	bool ready;			/* to be taken */
	bool cancelled;
	struct bloscfs_call *call;	/* of the thread that is at it */
	char name[];
};

/* What a container's tasks took lately, in nanoseconds of computing. */
struct cost {
	const void *container;
	uint64_t ns;
};

struct work {
	pthread_mutex_t lock;		/* guards all below */
	pthread_cond_t come;		/* something to do, or the end */
	struct parked *first, **last;	/* in the order of their coming */
	uint64_t next_number;
	unsigned n_quick;		/* permits in use */
	unsigned max_quick;
	unsigned n_threads, share;	/* slow ones; most of one container */
	pthread_t threads[MAX_SLOW];
	struct cost costs[N_COSTS];
	time_t halved;			/* the costs */
	bool watched;			/* somebody looks for the gone */
	int began;			/* eventfd: now is the time to */
	bool ending;
	atomic_uint n_cancelled;	/* that wait */
	struct work_counts counts;
};

static _Thread_local struct bloscfs_call *my_call;

static const struct bloscfs_call_limits glance_names = {
	sizeof(glance_names), GLANCE_LEN, GLANCE_MS, 0,
};
static const struct bloscfs_call_limits glance_bytes = {
	sizeof(glance_bytes), 1, 0, 0,
};
static const struct bloscfs_call_limits quick = {
	sizeof(quick), QUICK_LEN, QUICK_MS, 0,
};

bool work_is_void(void)
{
	return my_call && bloscfs_call_stopped(my_call, NULL) != BLOSCFS_OK;
}

int work_thread_init(struct daemon *daemon)
{
	my_call = bloscfs_call_new(daemon->fs);
	return my_call ? 0 : -ENOMEM;
}

void work_thread_release(void)
{
	bloscfs_call_free(my_call);
	my_call = NULL;
}

/* Whether it was answered. */
static bool run_within(struct daemon *daemon, struct task *task,
		       const struct bloscfs_call_limits *limits)
{
	bool done;

	bloscfs_call_start(my_call, limits);
	done = task->run(daemon, task);
	bloscfs_call_end(my_call);
	return done;
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

/* ---- the queue: with the lock held ----------------------------------- */

static void append(struct work *work, struct parked *parked)
{
	parked->next = NULL;
	*work->last = parked;
	work->last = &parked->next;
}

static void take_out(struct work *work, struct parked *parked)
{
	struct parked **at = &work->first;

	while (*at != parked)
		at = &(*at)->next;
	*at = parked->next;
	if (!*at)
		work->last = at;
}

static bool is_waiting(const struct parked *parked)
{
	return parked->ready && !parked->call;
}

static unsigned count_running(const struct work *work, const void *container)
{
	unsigned n = 0;

	for (const struct parked *p = work->first; p; p = p->next)
		n += p->call && p->container == container;
	return n;
}

static struct cost *find_cost(struct work *work, const void *container)
{
	uintptr_t hash = (uintptr_t)container / sizeof(void *) * 2654435761u;
	struct cost *cost = &work->costs[hash >> 8 & (N_COSTS - 1)];

	if (cost->container != container)
		*cost = (struct cost){ .container = container };
	return cost;
}

static void add_cost(struct work *work, const void *container, uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != work->halved)
		for (size_t i = 0; i < N_COSTS; i++)
			work->costs[i].ns /= 2;
	work->halved = now.tv_sec;
	find_cost(work, container)->ns += ns;
}

/* Of those whose container has a thread left, the one whose container took
 * least lately; the oldest of several. */
static struct parked *pick_slow(struct work *work)
{
	struct parked *best = NULL;
	uint64_t least = UINT64_MAX, ns;

	for (struct parked *p = work->first; p; p = p->next) {
		if (p->stage != SLOW || !is_waiting(p))
			continue;
		ns = find_cost(work, p->container)->ns;
		if (ns < least &&
		    (work->ending || count_running(work, p->container) <
				     work->share)) {
			best = p;
			least = ns;
		}
	}
	return best;
}

static struct parked *pick_quick(struct work *work)
{
	struct parked *p = work->first;

	while (p && (p->stage != QUICK || !is_waiting(p)))
		p = p->next;
	return p;
}

/* ---- interrupts ------------------------------------------------------ */

static void hear_interrupt(fuse_req_t req, void *data)
{
	struct daemon *daemon = fuse_req_userdata(req);
	struct work *work = daemon->work;
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	for (p = work->first; p; p = p->next)
		if ((uintptr_t)p->number == (uintptr_t)data)
			break;
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
	for (p = work->first; p; p = p->next)
		if (p->cancelled && is_waiting(p))
			break;
	if (p) {
		take_out(work, p);
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
	for (p = work->first; p; p = p->next) {
		if (p->stage != SLOW || p->cancelled || !is_gone(p->asker))
			continue;
		p->cancelled = true;
		work->counts.n_interrupted++;
		if (p->call)
			bloscfs_call_cancel(p->call);
		else
			atomic_fetch_add(&work->n_cancelled, 1);
	}
	p = work->first;
	work->watched = p != NULL;
	pthread_mutex_unlock(&work->lock);
	work_sweep(daemon);
	return p != NULL;
}

int work_watch_fd(const struct daemon *daemon)
{
	return daemon->work->began;
}

/* ---- parking --------------------------------------------------------- */

static struct parked *make_parked(struct daemon *daemon,
				  const struct task *task, enum stage stage)
{
	size_t len = task->name ? strlen(task->name) + 1 : 0;
	struct parked *p = calloc(1, sizeof(*p) + len);
	struct node *node;

	if (!p)
		return NULL;
	p->task = *task;
	p->stage = stage;
	p->asker = fuse_req_ctx(task->req)->pid;
	if (len)
		p->task.name = memcpy(p->name, task->name, len);
	node = tree_get(&daemon->tree, task->id);
	if (node) {
		p->container = tree_container(node);
		tree_put(&daemon->tree, node);
	}
	return p;
}

/* Puts a task at the end of the queue. Not with the lock held: libfuse calls
 * hear_interrupt from here where the interrupt has come already. */
static void park(struct daemon *daemon, const struct task *task,
		 enum stage stage)
{
	struct work *work = daemon->work;
	struct parked *p = make_parked(daemon, task, stage);
	uintptr_t number;

	if (!p) {
		fuse_reply_err(task->req, ENOMEM);
		return;
	}
	pthread_mutex_lock(&work->lock);
	number = (uintptr_t)(p->number = ++work->next_number);
	append(work, p);
	work->counts.n_waiting++;
	work->counts.n_slow += stage == SLOW;
	if (stage == SLOW && !work->watched) {
		work->watched = true;
		(void)eventfd_write(work->began, 1);
	}
	pthread_mutex_unlock(&work->lock);
	fuse_req_interrupt_func(task->req, hear_interrupt, (void *)number);
	pthread_mutex_lock(&work->lock);
	p->ready = true;
	if (stage == SLOW)
		pthread_cond_signal(&work->come);
	pthread_mutex_unlock(&work->lock);
}

/* ---- permits --------------------------------------------------------- */

static bool take_permit(struct work *work)
{
	bool taken;

	pthread_mutex_lock(&work->lock);
	taken = work->n_quick < work->max_quick;
	work->n_quick += taken;
	pthread_mutex_unlock(&work->lock);
	return taken;
}

/* The next that waits for our permit; or gives it back. */
static struct parked *pass_permit(struct work *work)
{
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	p = pick_quick(work);
	if (p) {
		take_out(work, p);
		work->counts.n_waiting--;
		if (p->cancelled)
			atomic_fetch_sub(&work->n_cancelled, 1);
	} else {
		work->n_quick--;
	}
	pthread_mutex_unlock(&work->lock);
	return p;
}

static void do_quick(struct daemon *daemon, struct task *task)
{
	if (!run_within(daemon, task, &quick))
		park(daemon, task, SLOW);
}

/* With a permit, which is passed on in the end. */
static void use_permit(struct daemon *daemon, struct task *task)
{
	struct parked *p;

	do_quick(daemon, task);
	while ((p = pass_permit(daemon->work))) {
		/* It goes back into the queue, where it takes much. */
		fuse_req_interrupt_func(p->task.req, NULL, NULL);
		if (p->cancelled)
			fuse_reply_err(p->task.req, EINTR);
		else
			do_quick(daemon, &p->task);
		free(p);
	}
}

void work_do(struct daemon *daemon, struct task *task)
{
	if (run_within(daemon, task, task->decodes ? &glance_bytes :
						     &glance_names))
		return;
	if (take_permit(daemon->work))
		use_permit(daemon, task);
	else
		park(daemon, task, QUICK);
}

/* ---- the slow threads ------------------------------------------------ */

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* With the lock held, but for the work itself. */
static void run_slow(struct daemon *daemon, struct parked *p)
{
	struct work *work = daemon->work;
	const struct bloscfs_call_limits limits = {
		sizeof(limits), daemon->opts->max_request, 0, 0,
	};
	uint64_t start = thread_ns();

	work->counts.n_waiting--;
	if (p->cancelled)
		atomic_fetch_sub(&work->n_cancelled, 1);
	/* Under the lock: an interrupt from here on is heard. */
	bloscfs_call_start(my_call, &limits);
	if (p->cancelled)
		bloscfs_call_cancel(my_call);
	p->call = my_call;
	pthread_mutex_unlock(&work->lock);
	if (!p->task.run(daemon, &p->task)) {
		bloscfs_call_end(my_call);
		answer_stopped(daemon, &p->task);
	}
	bloscfs_call_end(my_call);
	pthread_mutex_lock(&work->lock);
	take_out(work, p);
	add_cost(work, p->container, thread_ns() - start);
	/* Another of this container may go on, which was not picked. */
	pthread_cond_signal(&work->come);
	free(p);
}

/* Batch: what wakes up goes first. */
static void lower_priority(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), SLOW_NICE);
}

static void wait_for_work(struct work *work)
{
	reply_thread_trim();
	pthread_cond_wait(&work->come, &work->lock);
}

static void *work_slowly(void *arg)
{
	struct daemon *daemon = arg;
	struct work *work = daemon->work;
	struct parked *p;

	lower_priority();
	if (work_thread_init(daemon) || reply_thread_init(false))
		log_msg(LEVEL_ERR, "no memory for a thread's buffers");
	pthread_mutex_lock(&work->lock);
	for (;;) {
		p = my_call && reply_pieces() ? pick_slow(work) : NULL;
		if (p)
			run_slow(daemon, p);
		else if (work->ending)
			break;
		else
			wait_for_work(work);
	}
	pthread_mutex_unlock(&work->lock);
	reply_thread_release();
	work_thread_release();
	return NULL;
}

int work_start(struct daemon *daemon)
{
	struct work *work = calloc(1, sizeof(*work));
	unsigned n = daemon->n_threads < 2 ? 2 :
		     daemon->n_threads < MAX_SLOW ?
			(unsigned)daemon->n_threads : MAX_SLOW;

	if (!work)
		return -ENOMEM;
	n = n < daemon->max_workers ? n : daemon->max_workers;
	pthread_mutex_init(&work->lock, NULL);
	pthread_cond_init(&work->come, NULL);
	work->last = &work->first;
	work->began = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	work->max_quick = (unsigned)daemon->n_threads;
	work->share = n / 2;
	daemon->work = work;
	while (work->n_threads < n &&
	       pthread_create(&work->threads[work->n_threads], NULL,
			      work_slowly, daemon) == 0)
		work->n_threads++;
	return work->n_threads && work->began >= 0 ? 0 : -EAGAIN;
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
	pthread_cond_broadcast(&work->come);
	pthread_mutex_unlock(&work->lock);
	for (unsigned i = 0; i < work->n_threads; i++)
		if (!join_within(work->threads[i], wait_ms))
			return false;
	while ((p = work->first)) {
		take_out(work, p);
		fuse_reply_err(p->task.req, EINTR);
		free(p);
	}
	pthread_cond_destroy(&work->come);
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
