/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * staged_source.h - for tests: bytes in memory as a source, with a function
 * that is asked about each read while it is made. It may read the same
 * container meanwhile, as another thread would, and do other bytes or an error
 * to the read.
 */
#ifndef STAGED_SOURCE_H
#define STAGED_SOURCE_H

#include "source/source.h"

#include <string.h>

struct staged {
	struct bfs_source base;
	const uint8_t *p;
	/* Behind the copy of [off, off + len) to buf. NULL: nothing. */
	enum bfs_err (*act)(uint64_t off, uint8_t *buf, size_t len);
	bool changed;		/* what a check says */
};

static enum bfs_err staged_read(struct bfs_source *s, uint64_t off, void *buf,
				size_t len, struct bfs_diag *diag)
{
	struct staged *t = (struct staged *)s;
	enum bfs_err err;

	memcpy(buf, t->p + off, len);
	err = t->act ? t->act(off, buf, len) : BFS_OK;
	return err == BFS_OK ? BFS_OK :
	       bfs_fail(diag, err, off, "a failure of the test");
}

static enum bfs_err staged_check(struct bfs_source *s, struct bfs_diag *diag)
{
	return !((struct staged *)s)->changed ? BFS_OK :
	       bfs_fail(diag, BFS_ERR_CHANGED, 0, "a change of the test");
}

static void staged_close(struct bfs_source *s)
{
	(void)s;
}

static const struct bfs_source_ops staged_ops = {
	.read = staged_read,
	.check = staged_check,
	.close = staged_close,
};

/* Both must outlive who opens the source. */
static void staged_begin(struct staged *t, const uint8_t *p, size_t len)
{
	memset(t, 0, sizeof(*t));
	t->base.ops = &staged_ops;
	t->base.len = len;
	t->base.refs = 1;
	t->p = p;
}

#endif
