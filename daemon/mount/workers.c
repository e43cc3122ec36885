/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers.c - the threads that take requests from the kernel and answer them.
 */
#include "mount/workers.h"

#include "check/info.h"
#include "log/counters.h"
#include "log/log.h"
#include "ops/farewell.h"
#include "ops/interrupts.h"
#include "ops/reply.h"
#include "ops/threads.h"
#include "ops/work.h"

#include <errno.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FREE_WORKERS 2
/* Ending workers are looked for so often, and given up in the end. */
#define WAIT_MS 100
#define STUCK_MS 1500
/* Interrupts a worker's system call; known signals have other uses. */
#define WAKE SIGRTMIN

/* Requests come in memory, never through a pipe: splicing is off. */
static void count_request(const struct fuse_buf *buf)
{
	const struct fuse_in_header *head = buf->mem;

	counters_request(buf->flags & FUSE_BUF_IS_FD ? 0 : head->opcode);
}

/* Ends whatever is under way; the keeper unmounts. */
_Noreturn static void leave_at_once(void)
{
	_exit(EXIT_FAILED);
}

/* Storage that does not answer holds a worker for good. */
_Noreturn static void give_up(void)
{
	log_msg(LEVEL_ERR, "some reads do not come to an end: ends without "
		"them");
	leave_at_once();
}

static void *work(void *arg)
{
	struct workers *workers = arg;
	struct daemon *daemon = workers->daemon;
	struct fuse_buf buf = { 0 };
	uint64_t one = 1;
	int len;

	pthread_setname_np(pthread_self(), workers->name);
	counters_thread_init();
	if (reply_thread_init(true) || work_thread_init(daemon)) {
		/* Whoever asked already would wait for ever. */
		log_msg(LEVEL_ERR, "no memory for a worker's buffers: ends");
		leave_at_once();
	}
	while (!fuse_session_exited(daemon->session)) {
		len = fuse_session_receive_buf(daemon->session, &buf);
		if (len == -EINTR)
			continue;
		if (len <= 0)
			break;
		count_request(&buf);
		farewell_expect();
		fuse_session_process_buf(daemon->session, &buf);
		if (!(buf.flags & FUSE_BUF_IS_FD))
			farewell_settle(daemon, buf.mem, (size_t)len);
		interrupts_sweep(daemon);
	}
	fuse_session_exit(daemon->session);
	free(buf.mem);
	work_thread_release();
	reply_thread_release();
	if (write(workers->ended, &one, sizeof(one)) < 0)
		log_msg(LEVEL_ERR, "cannot tell that a worker ended");
	return NULL;
}

/* Some more: they answer while as many as may decode do. */
static unsigned count_workers(const struct daemon *daemon)
{
	unsigned most = daemon->max_workers < MAX_WORKERS ?
			daemon->max_workers : MAX_WORKERS;

	return daemon->n_threads + FREE_WORKERS < most ?
	       (unsigned)daemon->n_threads + FREE_WORKERS : most;
}

static void wake(int signal)
{
	(void)signal;
}

int workers_start(struct workers *workers)
{
	struct sigaction interrupt = { .sa_handler = wake };
	unsigned n = count_workers(workers->daemon);
	int status = threads_start(workers->daemon);

	if (status)
		return status;
	sigaction(WAKE, &interrupt, NULL);
	while (workers->n < n) {
		if (pthread_create(&workers->threads[workers->n], NULL,
				   work, workers))
			break;
		workers->n++;
	}
	return workers->n ? 0 : -EAGAIN;
}

/* Workers may sleep in a read that nothing ends: interrupt them. */
static void join(struct workers *workers)
{
	unsigned n_waits = 0;
	struct timespec until;

	for (unsigned i = 0; i < workers->n; i++) {
		for (;;) {
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += WAIT_MS * 1000000;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			if (pthread_timedjoin_np(workers->threads[i], NULL,
						 &until) != ETIMEDOUT)
				break;
			if (workers->forced && ++n_waits * WAIT_MS > STUCK_MS)
				give_up();
			pthread_kill(workers->threads[i], WAKE);
		}
	}
	workers->n = 0;
}

void workers_wake(struct workers *workers)
{
	bloscfs_cancel_all(workers->daemon->fs);
	fuse_session_exit(workers->daemon->session);
	for (unsigned i = 0; i < workers->n; i++)
		pthread_kill(workers->threads[i], WAKE);
}

void workers_end(struct workers *workers)
{
	join(workers);
	if (!threads_stop(workers->daemon, workers->forced ? STUCK_MS : 0))
		give_up();
}
