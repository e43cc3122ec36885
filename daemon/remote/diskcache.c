/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskcache.c - what servers sent, looked for in a folder and kept there.
 *
 * Nothing is held open between two calls: a look at a stripe is an open, an
 * fstat and a read of one page, which costs microseconds where a request costs
 * milliseconds, and sees what other processes did.
 */
#include "remote/diskcache.h"

#include "invariant.h"
#include "log/log.h"
#include "remote/diskfault.h"
#include "remote/disknote.h"
#include "remote/diskqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

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
	INVARIANT(!c->first && c->last == &c->first && !c->queued);
	diskfolder_close(&c->folder);
	pthread_cond_destroy(&c->come);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

bool diskcache_recall(struct diskcache *c, const char *url,
		      struct object_facts *ret_facts)
{
	uint8_t address[DIGEST_LEN], bytes[DISKNOTE_LEN];
	char name[STRIPE_NAME_CAP];
	int status;

	if (!c || !disknote_address(url, address))
		return false;
	/* A disk may be slow, and what lies there one opening old. */
	if (diskqueue_find_note(c, address, bytes))
		return !disknote_parse(address, bytes, ret_facts);
	status = disknote_read(c->folder.fd, address, ret_facts);
	if (status) {
		disknote_file(address, name);
		diskfault_of_file(c, name, status);
	}
	return !status;
}

void diskcache_note(struct diskcache *c, const char *url,
		    const struct object_facts *facts)
{
	struct diskjob *job = c ? diskqueue_make(c, DISKNOTE_LEN) : NULL;

	if (!job)
		return;
	job->is_note = true;
	if (disknote_address(url, job->id.name) &&
	    disknote_write(job->id.name, facts, (uint8_t *)job->bytes))
		diskqueue_put(c, job);
	else
		diskqueue_free(job);
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
		diskfault_of_stripe(o->cache, &o->id, number, status);
		return run;
	}
	run = stripe_run(&stripe, off, end, ret_there);
	if (*ret_there && buf) {
		status = stripe_read(&stripe, off, run, buf, &good);
		stripe_touch(&stripe);
		if (status)
			diskfault_of_cells(o->cache, &stripe, off, run, status);
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
	struct diskjob *job;

	if (!o->cache || !is_whole(o, off, len))
		return;
	job = diskqueue_make(o->cache, len);
	if (!job) {
		diskqueue_count_dropped(o->cache);
		return;
	}
	job->id = o->id;
	job->off = off;
	memcpy(job->bytes, bytes, len);
	diskqueue_put(o->cache, job);
}

void diskcache_count(struct diskcache *c, struct diskcache_counts *ret_counts)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	*ret_counts = c->counts;
	pthread_mutex_unlock(&c->lock);
}
