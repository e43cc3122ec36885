/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interrupts.c - see interrupts.h.
 *
 * An interrupt names its task by a number, never by an address: libfuse may
 * deliver one while the request is being answered.
 */
#include "ops/interrupts.h"

#include "invariant.h"
#include "ops/work_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* With the lock held: who is at it stops, or whoever sweeps answers it. */
static void cancel(struct work *work, struct parked *p)
{
	INVARIANT(!p->cancelled);
	p->cancelled = true;
	work->counts.n_interrupted++;
	if (p->call)
		bloscfs_call_cancel(p->call);
	else
		atomic_fetch_add(&work->n_cancelled, 1);
}

void interrupts_hear(fuse_req_t req, void *data)
{
	struct daemon *daemon = fuse_req_userdata(req);
	struct work *work = daemon->work;
	struct parked *p;

	pthread_mutex_lock(&work->lock);
	p = parking_find(&work->parking, (uintptr_t)data);
	if (p && !p->cancelled)
		cancel(work, p);
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
		work_end_wait(work, p);
	}
	pthread_mutex_unlock(&work->lock);
	return p;
}

void interrupts_sweep(struct daemon *daemon)
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

bool interrupts_watch(struct daemon *daemon)
{
	struct work *work = daemon->work;
	struct parked *p;
	eventfd_t n;

	(void)eventfd_read(work->began, &n);
	pthread_mutex_lock(&work->lock);
	for (p = work->parking.first; p; p = p->next) {
		if (p->stage == QUICK || p->cancelled || !is_gone(p->asker))
			continue;
		cancel(work, p);
	}
	p = work->parking.first;
	work->watched = p != NULL;
	pthread_mutex_unlock(&work->lock);
	interrupts_sweep(daemon);
	return p != NULL;
}

int interrupts_watch_fd(const struct daemon *daemon)
{
	return daemon->work->began;
}
