/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskcache.c - reading, the queue of what is to be written, and its thread.
 *
 * Nothing is held open between two calls: a look at a stripe is an open, an
 * fstat and a read of one page, which costs microseconds where a request costs
 * milliseconds, and sees what other processes did.
 */
#include "remote/diskcache.h"

#include "log/log.h"
#include "remote/diskfolder.h"
#include "remote/disknote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_QUEUED (16 << 20)
#define PAUSE_MS 60000		/* after a failed write */
#define LAST_MS 5000		/* for what is queued at the end */

struct job {
	struct job *next;
	struct disk_id id;	/* of a note: the address's digest */
	bool is_note;
	struct bloscfs *fs;	/* whose memory counts it; or NULL */
	uint64_t off, len;
	char bytes[];
};

struct diskcache {
	struct diskfolder folder;	/* of the thread, but for its fd */
	const char *path;
	struct bloscfs *fs;		/* whose memory it is; or NULL */

	pthread_mutex_t lock;		/* guards what follows */
	pthread_cond_t come;
	struct job *first, **last;
	uint64_t queued;		/* bytes, with those at work */
	bool running, ending;
	int64_t end_ms;			/* when to leave, while ending */
	int64_t paused_ms;		/* nothing is written until then */
	pthread_t thread;
	struct diskcache_counts counts;
	bool told_write, told_damage;
};

int diskcache_open(const char *path, uint64_t limit,
		   struct diskcache **ret_cache, char *error,
		   size_t error_cap)
{
	struct diskcache *c = calloc(1, sizeof(*c));
	int status = -ENOMEM;

	*ret_cache = NULL;
	if (c)
		status = diskfolder_open(path, limit, &c->folder, error,
					 error_cap);
	if (status) {
		free(c);
		if (status == -EINVAL || status == -ENOMEM)
			return status;
		log_msg(LEVEL_WARN, "%s; reads go on without it", error);
		return 0;
	}
	c->path = path;
	c->last = &c->first;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->come, NULL);
	*ret_cache = c;
	return 0;
}

void diskcache_set_library(struct diskcache *c, struct bloscfs *fs)
{
	if (c)
		c->fs = fs;
}

void diskcache_close(struct diskcache *c)
{
	if (!c)
		return;
	diskcache_rest(c);
	diskfolder_close(&c->folder);
	pthread_cond_destroy(&c->come);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- jobs ------------------------------------------------------------- */

/* Of so many bytes, which count as memory of the library where there is one
 * by now; NULL where that or memory itself is wanting. */
static struct job *make_job(const struct diskcache *c, uint64_t len)
{
	struct bloscfs *fs = c->fs;
	struct job *job;

	if (fs && !bloscfs_charge(fs, len))
		return NULL;
	job = malloc(sizeof(*job) + len);
	if (job)
		*job = (struct job){ .fs = fs, .len = len };
	else if (fs)
		bloscfs_give_back(fs, len);
	return job;
}

static void free_job(struct job *job)
{
	if (job->fs)
		bloscfs_give_back(job->fs, job->len);
	free(job);
}

/* ---- faults ----------------------------------------------------------- */

/* Counts a fault, and says whether it is the first of its kind. */
static bool count_fault(struct diskcache *c, bool *told)
{
	bool first;

	pthread_mutex_lock(&c->lock);
	c->counts.n_faults++;
	first = !*told;
	*told = true;
	pthread_mutex_unlock(&c->lock);
	return first;
}

/* What is not there is no fault, nor what another version has put there. */
static void tell_fault(struct diskcache *c, const char *name, int status)
{
	char quoted[256];

	if (status == -ENOENT || status == -ENOTSUP || status == -ENOMEM ||
	    status == -EMFILE || status == -ENFILE)
		return;
	if (count_fault(c, &c->told_damage))
		log_msg(LEVEL_WARN, "disk cache %s: %s: %s",
			log_quote(quoted, sizeof(quoted), c->path), name,
			status == -EBADMSG ? "it is damaged; what is damaged "
			"is removed, and asked for again" :
			strerror(-status));
}

/* A damaged file is removed. */
static void file_fault(struct diskcache *c, const char *name, int status)
{
	if (status == -EBADMSG)
		diskfolder_remove(&c->folder, name);
	tell_fault(c, name, status);
}

static void stripe_fault(struct diskcache *c, const struct disk_id *id,
			 uint64_t number, int status)
{
	char name[STRIPE_NAME_CAP];

	stripe_name(id, number, name);
	file_fault(c, name, status);
}

/* Of a stripe that is read; damaged cells alone go. */
static void cells_fault(struct diskcache *c, const struct stripe *stripe,
			uint64_t off, uint64_t len, int status)
{
	char name[STRIPE_NAME_CAP];

	if (status == -EBADMSG)
		stripe_forget(c->folder.fd, stripe, off, len);
	stripe_name(stripe->id, stripe->number, name);
	tell_fault(c, name, status);
}

/* Nothing is written for a while. */
static void pause_writing(struct diskcache *c, int status)
{
	char quoted[256];

	if (count_fault(c, &c->told_write))
		log_msg(LEVEL_WARN, "disk cache %s: cannot write: %s; reads "
			"go on without it",
			log_quote(quoted, sizeof(quoted), c->path),
			strerror(-status));
	pthread_mutex_lock(&c->lock);
	c->paused_ms = remote_now_ms() + PAUSE_MS;
	pthread_mutex_unlock(&c->lock);
}

/* ---- writing, by the thread ------------------------------------------- */

static int open_to_write(struct diskcache *c, const struct disk_id *id,
			 uint64_t number, struct stripe *stripe)
{
	int status = stripe_open(c->folder.fd, id, number, true, stripe);

	if (status == -EBADMSG) {
		stripe_fault(c, id, number, status);
		status = stripe_open(c->folder.fd, id, number, true, stripe);
	}
	return status;
}

/* What lies in one stripe. */
static int write_stripe(struct diskcache *c, const struct job *job,
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

static int write_note(struct diskcache *c, const struct job *job)
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
		file_fault(c, name, status);
	status = disk_open_file(c->folder.fd, name, O_RDWR | O_CREAT, &fd,
				&used);
	if (status)
		return status;
	status = disk_write_all(fd, job->bytes, job->len, 0);
	close(fd);
	return status;
}

static int write_job(struct diskcache *c, const struct job *job)
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
static void do_job(struct diskcache *c, struct job *job)
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
	c->queued -= job->len;
	free_job(job);
}

static void *work(void *arg)
{
	struct diskcache *c = arg;
	struct job *job;

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
	/* By which the sandbox names a call. */
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

static void count_dropped(struct diskcache *c)
{
	pthread_mutex_lock(&c->lock);
	c->counts.n_dropped++;
	pthread_mutex_unlock(&c->lock);
}

/* Owns the job. */
static void put_in(struct diskcache *c, struct job *job)
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
		pthread_cond_signal(&c->come);
	} else {
		c->counts.n_dropped++;
	}
	pthread_mutex_unlock(&c->lock);
	if (!taken)
		free_job(job);
}

/* ---- for all threads -------------------------------------------------- */

bool diskcache_recall(struct diskcache *c, const char *url,
		      struct object_facts *ret_facts)
{
	uint8_t address[DIGEST_LEN];
	char name[STRIPE_NAME_CAP];
	int status;

	if (!c || !disknote_address(url, address))
		return false;
	status = disknote_read(c->folder.fd, address, ret_facts);
	if (status) {
		disknote_file(address, name);
		file_fault(c, name, status);
	}
	return !status;
}

void diskcache_note(struct diskcache *c, const char *url,
		    const struct object_facts *facts)
{
	struct job *job = c ? make_job(c, DISKNOTE_LEN) : NULL;

	if (!job)
		return;
	job->is_note = true;
	if (disknote_address(url, job->id.name) &&
	    disknote_write(job->id.name, facts, (uint8_t *)job->bytes))
		put_in(c, job);
	else
		free_job(job);
}

void diskcache_name(struct diskcache *c, const char *url,
		    const struct object_facts *facts,
		    struct disk_object *ret_object)
{
	uint8_t address[DIGEST_LEN];

	*ret_object = (struct disk_object){ .cache = c };
	if (c && !(disknote_address(url, address) &&
		   disknote_name(address, facts, &ret_object->id)))
		ret_object->cache = NULL;
}

/* How far from off on it is there or not, to the end of a stripe at most. */
static uint64_t look(const struct disk_object *o, uint64_t off, uint64_t end,
		     void *buf, bool *ret_there)
{
	uint64_t number = off / STRIPE_LEN, run, good;
	uint64_t last = (number + 1) * STRIPE_LEN;
	struct stripe stripe;
	int status = stripe_open(o->cache->folder.fd, &o->id, number, false,
				 &stripe);

	*ret_there = false;
	run = (last < end ? last : end) - off;
	if (status) {
		stripe_fault(o->cache, &o->id, number, status);
		return run;
	}
	run = stripe_run(&stripe, off, end, ret_there);
	if (*ret_there && buf) {
		status = stripe_read(&stripe, off, run, buf, &good);
		stripe_touch(&stripe);
		if (status)
			cells_fault(o->cache, &stripe, off, run, status);
		*ret_there = good > 0;
		run = good ? good : run;
	} else if (*ret_there) {
		posix_fadvise(stripe.fd, (off_t)(STRIPE_HEAD +
						 off % STRIPE_LEN),
			      (off_t)run, POSIX_FADV_WILLNEED);
	}
	stripe_close(&stripe);
	return run;
}

static void count_read(struct diskcache *c, uint64_t len)
{
	pthread_mutex_lock(&c->lock);
	if (len)
		c->counts.n_hits++;
	else
		c->counts.n_misses++;
	c->counts.read += len;
	pthread_mutex_unlock(&c->lock);
}

static bool is_whole(const struct disk_object *o, uint64_t off, uint64_t len)
{
	return len && off % STRIPE_CELL == 0 && off <= o->id.size &&
	       len <= o->id.size - off &&
	       ((off + len) % STRIPE_CELL == 0 || off + len == o->id.size);
}

uint64_t diskcache_lacks(const struct disk_object *o, uint64_t off,
			 uint64_t len, uint64_t *ret_there)
{
	uint64_t lacking = 0, run;
	bool there = false;

	*ret_there = 0;
	if (!o->cache || !is_whole(o, off, len))
		return len;
	while (lacking < len && !there) {
		run = look(o, off + lacking, off + len, NULL, &there);
		if (there)
			*ret_there = run;
		else
			lacking += run;
	}
	return lacking;
}

uint64_t diskcache_read(const struct disk_object *o, uint64_t off,
			uint64_t len, void *buf, uint64_t *ret_lacking)
{
	uint64_t done = 0, run;
	bool there = true;

	*ret_lacking = len;
	if (!o->cache || !is_whole(o, off, len))
		return 0;
	while (done < len && there) {
		run = look(o, off + done, off + len, (char *)buf + done,
			   &there);
		if (there)
			done += run;
	}
	count_read(o->cache, done);
	if (!done)
		*ret_lacking = diskcache_lacks(o, off, len, &run);
	/* Where others have written it meanwhile it is read twice. */
	if (!done && !*ret_lacking)
		*ret_lacking = len;
	return done;
}

void diskcache_keep(const struct disk_object *o, uint64_t off, uint64_t len,
		    const void *bytes)
{
	struct job *job;

	if (!o->cache || !is_whole(o, off, len))
		return;
	job = make_job(o->cache, len);
	if (!job) {
		count_dropped(o->cache);
		return;
	}
	job->id = o->id;
	job->off = off;
	memcpy(job->bytes, bytes, len);
	put_in(o->cache, job);
}

void diskcache_count(struct diskcache *c, struct diskcache_counts *ret_counts)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	*ret_counts = c->counts;
	pthread_mutex_unlock(&c->lock);
}
