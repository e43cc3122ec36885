/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskfault.c - what is wrong with files of the disk cache.
 */
#include "remote/diskfault.h"

#include "log/log.h"

#include <errno.h>
#include <string.h>

bool diskfault_is_first(struct diskcache *c, bool *told)
{
	bool first;

	pthread_mutex_lock(&c->lock);
	c->counts.n_faults++;
	first = !*told;
	*told = true;
	pthread_mutex_unlock(&c->lock);
	return first;
}

static void tell_fault(struct diskcache *c, const char *name, int status)
{
	char quoted[256];

	if (status == -ENOENT || status == -ENOTSUP || status == -ENOMEM ||
	    status == -EMFILE || status == -ENFILE)
		return;
	if (diskfault_is_first(c, &c->told_damage))
		log_msg(LEVEL_WARN, "disk cache %s: %s: %s",
			log_quote(quoted, sizeof(quoted), c->path), name,
			status == -EBADMSG ? "it is damaged; what is damaged "
			"is removed, and asked for again" :
			strerror(-status));
}

void diskfault_of_file(struct diskcache *c, const char *name, int status)
{
	if (status == -EBADMSG)
		diskfolder_remove(&c->folder, name);
	tell_fault(c, name, status);
}

void diskfault_of_stripe(struct diskcache *c, const struct disk_id *id,
			 uint64_t number, int status)
{
	char name[STRIPE_NAME_CAP];

	stripe_name(id, number, name);
	diskfault_of_file(c, name, status);
}

void diskfault_of_cells(struct diskcache *c, const struct stripe *stripe,
			uint64_t off, uint64_t len, int status)
{
	char name[STRIPE_NAME_CAP];

	if (status == -EBADMSG)
		stripe_forget(c->folder.fd, stripe, off, len);
	stripe_name(stripe->id, stripe->number, name);
	tell_fault(c, name, status);
}
