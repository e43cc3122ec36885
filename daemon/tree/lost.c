/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lost.c - a SOURCE that was removed or replaced is told in the log, once each.
 */
#include "tree/lost.h"

#include "log/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#define EACH_SECONDS 2

enum state { THERE, REMOVED, REPLACED };

static _Atomic time_t next;
static atomic_int last = THERE;

/* -1: cannot be said now, as who serves may not be let on the way to it. */
static int find_state(const struct src *src, const char *source)
{
	struct stat own, now;

	if (src->file)
		return fstatat(src->root_fd, src->file, &now, 0) == 0 ? THERE :
		       errno == ENOENT ? REMOVED : -1;
	if (fstat(src->root_fd, &own) < 0)
		return -1;
	if (own.st_nlink == 0)
		return REMOVED;
	if (stat(source, &now) < 0)
		return errno == ENOENT || errno == ENOTDIR ? REMOVED : -1;
	return own.st_dev == now.st_dev && own.st_ino == now.st_ino ? THERE :
								 REPLACED;
}

static void tell(enum state state, const char *source)
{
	char quoted[512];

	log_quote(quoted, sizeof(quoted), source);
	switch (state) {
	case THERE:
		log_msg(LEVEL_NOTICE, "SOURCE %s is there again", quoted);
		break;
	case REMOVED:
		log_msg(LEVEL_WARN, "SOURCE %s was removed or moved; what is "
			"left of it is shown, unmount it when that is of no "
			"more use", quoted);
		break;
	case REPLACED:
		log_msg(LEVEL_WARN, "SOURCE %s was replaced; the former one is "
			"shown until it is mounted anew", quoted);
		break;
	}
}

void lost_look(struct src *src, const char *source)
{
	struct timespec now;
	time_t due = atomic_load(&next);
	int state;

	clock_gettime(CLOCK_MONOTONIC, &now);
	/* Who comes first looks for all. */
	if (src->far || src->sides.n || now.tv_sec < due ||
	    !atomic_compare_exchange_strong(&next, &due,
					    now.tv_sec + EACH_SECONDS))
		return;
	state = find_state(src, source);
	if (state >= 0 && atomic_exchange(&last, state) != state)
		tell((enum state)state, source);
}
