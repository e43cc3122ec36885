/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_stat.c - what was found of an entry of the source, compared.
 */
#include "tree/source_stat.h"

#include <time.h>

bool src_same_file(const struct src_stat *a, const struct src_stat *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->nested == b->nested;
}

bool src_same_content(const struct src_stat *a, const struct src_stat *b)
{
	return src_same_file(a, b) && a->size == b->size &&
	       a->mtime_sec == b->mtime_sec &&
	       a->mtime_nsec == b->mtime_nsec &&
	       !a->index_mode == !b->index_mode;
}

bool src_same_container(const struct src_stat *a, const struct src_stat *b)
{
	return src_same_content(a, b) && a->parts == b->parts &&
	       a->parts_mix == b->parts_mix;
}

int64_t src_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool src_is_hot(const struct src_stat *stat, int64_t now)
{
	return now - stat->mtime_sec * 1000000000 - stat->mtime_nsec <
	       HOT_NS;
}

bool src_same_rights(const struct src_stat *a, const struct src_stat *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->index_mode == b->index_mode && a->acl == b->acl &&
	       a->parts == b->parts;
}
