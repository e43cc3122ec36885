/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskqueue.c - what the disk cache is to write, and the thread that does.
 */
#include "remote/diskqueue.h"

#include "invariant.h"
#include "log/log.h"
#include "remote/diskfault.h"
#include "remote/disknote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_QUEUED (16 << 20)
#define PAUSE_MS 60000		/* after a failed write */
#define LAST_MS 5000		/* for what is queued at the end */

struct diskjob *diskqueue_make(const struct diskcache *c, uint64_t len)
{
	struct bloscfs *fs = c->fs;
	struct diskjob *job;

	if (fs && !bloscfs_charge(fs, len))
		return NULL;
	job = malloc(sizeof(*job) + len);
	if (job)
		*job = (struct diskjob){ .fs = fs, .len = len };
	else if (fs)
		bloscfs_give_back(fs, len);
	return job;
}

void diskqueue_free(struct diskjob *job)
{
	if (job->fs)
		bloscfs_give_back(job->fs, job->len);
	free(job);
}

/* Nothing is written for a while. */
static void pause_writing(struct diskcache *c, int status)
{
	char quoted[256];

	if (diskfault_is_first(c, &c->told_write))
		log_msg(LEVEL_WARN, "disk cache %s: cannot write: %s; reads "
			"go on without it",
			log_quote(quoted, sizeof(quoted), c->path),
			strerror(-status));
	pthread_mutex_lock(&c->lock);
	c->paused_ms = remote_now_ms() + PAUSE_MS;
	pthread_mutex_unlock(&c->lock);
}

static int open_to_write(struct diskcache *c, const struct disk_id *id,
			 uint64_t number, struct stripe *stripe)
{
	int status = stripe_open(c->folder.fd, id, number, true, stripe);

	if (status == -EBADMSG) {
		diskfault_of_stripe(c, id, number, status);
		status = stripe_open(c->folder.fd, id, number, true, stripe);
	}
	return status;
}

/* What lies in one stripe. */
static int write_stripe(struct diskcache *c, const struct diskjob *job,
			uint64_t off, uint64_t len, uint64_t *ret_taken)
{
	struct stripe stripe;
	uint64_t written = 0;
	int status = open_to_write(c, &job->id, off / STRIPE_LEN, &stripe);

	if (status == -ENOTSUP)
		return 0;
	if (status)
		return status;
	status = stripe_write(&stripe, off, len,
			      job->bytes + (off - job->off), &written);
	stripe_close(&stripe);
	*ret_taken = written + (stripe.fresh ? STRIPE_HEAD : 0);
	pthread_mutex_lock(&c->lock);
	c->counts.written += written;
	pthread_mutex_unlock(&c->lock);
	return status;
}

static int write_note(struct diskcache *c, const struct diskjob *job)
{
	struct object_facts facts;
	char name[STRIPE_NAME_CAP];
	int64_t used;
	int fd, status;

	disknote_file(job->id.name, name);
	status = disknote_read(c->folder.fd, job->id.name, &facts);
	if (status == -ENOTSUP)
		return 0;
	if (status == -EBADMSG)
		diskfault_of_file(c, name, status);
	status = disk_open_file(c->folder.fd, name, O_RDWR | O_CREAT, &fd,
				&used);
	if (status)
		return status;
	status = disk_write_all(fd, job->bytes, job->len, 0);
	close(fd);
	return status;
}

static int write_job(struct diskcache *c, const struct diskjob *job)
{
	uint64_t off = job->off, end = job->off + job->len, taken = 0;
	/* Not before there is room, and counted from the start. */
	int status = diskfolder_add(&c->folder, 0);

	if (job->is_note) {
		if (!status)
			status = write_note(c, job);
		return status ? status :
		       diskfolder_add(&c->folder, STRIPE_CELL);
	}
	while (!status && off < end) {
		uint64_t next = (off / STRIPE_LEN + 1) * STRIPE_LEN;

		next = next < end ? next : end;
		taken = 0;
		status = write_stripe(c, job, off, next - off, &taken);
		if (!status)
			status = diskfolder_add(&c->folder, taken);
		off = next;
	}
	return status;
}

/* With the lock held, which is left meanwhile. */
static void do_job(struct diskcache *c, struct diskjob *job)
{
	bool late = c->ending && remote_now_ms() > c->end_ms;
	bool paused = remote_now_ms() < c->paused_ms;
	int status = late || paused ? -EAGAIN : 0;

	if (!status) {
		pthread_mutex_unlock(&c->lock);
		status = write_job(c, job);
		/* Another process is making room for so long. */
		if (status && status != -EAGAIN)
			pause_writing(c, status);
		pthread_mutex_lock(&c->lock);
	}
	c->counts.n_evicted = c->folder.n_evicted;
	c->counts.n_dropped += status != 0;
	INVARIANT(c->queued >= job->len);
	c->queued -= job->len;
	c->n_notes -= job->is_note;
	c->at_work = NULL;
	diskqueue_free(job);
}

static void *work(void *arg)
{
	struct diskcache *c = arg;
	struct diskjob *job;

	pthread_mutex_lock(&c->lock);
	while (!c->ending || c->first) {
		job = c->first;
		if (!job) {
			pthread_cond_wait(&c->come, &c->lock);
			continue;
		}
		c->first = job->next;
		if (!c->first)
			c->last = &c->first;
		c->at_work = job;
		do_job(c, job);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* With the lock held. Signals are for other threads, and a limit of file
 * sizes is an error that comes back. */
static bool start(struct diskcache *c)
{
	sigset_t all, before;

	if (c->running)
		return true;
	sigfillset(&all);
	/* Else the sandbox could not say which call it ended us for. */
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->running = pthread_create(&c->thread, NULL, work, c) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (c->running)
		pthread_setname_np(c->thread, "bloscfs-disk");
	return c->running;
}

void diskcache_rest(struct diskcache *c)
{
	pthread_t thread;
	bool running;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	running = c->running;
	thread = c->thread;
	c->ending = true;
	c->end_ms = remote_now_ms() + LAST_MS;
	pthread_cond_signal(&c->come);
	pthread_mutex_unlock(&c->lock);
	if (running)
		pthread_join(thread, NULL);
	c->running = c->ending = false;
}

static bool is_note_of(const struct diskjob *job, const uint8_t *address)
{
	return job->is_note && !memcmp(job->id.name, address, DIGEST_LEN);
}

bool diskqueue_find_note(struct diskcache *c, const uint8_t *address,
			 uint8_t *ret_bytes)
{
	const struct diskjob *found = NULL;

	pthread_mutex_lock(&c->lock);
	if (c->n_notes && c->at_work && is_note_of(c->at_work, address))
		found = c->at_work;
	for (const struct diskjob *job = c->n_notes ? c->first : NULL; job;
	     job = job->next)
		if (is_note_of(job, address))
			found = job;
	if (found)
		memcpy(ret_bytes, found->bytes, DISKNOTE_LEN);
	pthread_mutex_unlock(&c->lock);
	return found;
}

void diskqueue_count_dropped(struct diskcache *c)
{
	pthread_mutex_lock(&c->lock);
	c->counts.n_dropped++;
	pthread_mutex_unlock(&c->lock);
}

void diskqueue_put(struct diskcache *c, struct diskjob *job)
{
	bool taken;

	pthread_mutex_lock(&c->lock);
	taken = c->queued + job->len <= MOST_QUEUED &&
		remote_now_ms() >= c->paused_ms && start(c);
	if (taken) {
		job->next = NULL;
		*c->last = job;
		c->last = &job->next;
		c->queued += job->len;
		c->n_notes += job->is_note;
		pthread_cond_signal(&c->come);
	} else {
		c->counts.n_dropped++;
	}
	pthread_mutex_unlock(&c->lock);
	if (!taken)
		diskqueue_free(job);
}
