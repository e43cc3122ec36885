/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.c - how calls of the public interface end: a result and a diagnosis
 * become those of the public header.
 *
 * The public types are declared apart from the internal ones so that those
 * may change; where they are equal today, the compiler proves it.
 */
#include "api/priv.h"

#include "base/moment.h"
#include "view/dispatch.h"
#include "view/facts.h"
#include "view/xattr.h"

#include <string.h>

#define SAME(pub, own) \
	_Static_assert((int)(pub) == (int)(own), #pub " is not " #own)

SAME(BLOSCFS_OK, BFS_OK);
SAME(BLOSCFS_ERR_NOMEM, BFS_ERR_NOMEM);
SAME(BLOSCFS_ERR_IO, BFS_ERR_IO);
SAME(BLOSCFS_ERR_NOT_FORMAT, BFS_ERR_NOT_FORMAT);
SAME(BLOSCFS_ERR_TRUNCATED, BFS_ERR_TRUNCATED);
SAME(BLOSCFS_ERR_CORRUPT, BFS_ERR_CORRUPT);
SAME(BLOSCFS_ERR_UNSUPPORTED, BFS_ERR_UNSUPPORTED);
SAME(BLOSCFS_ERR_LIMIT, BFS_ERR_LIMIT);
SAME(BLOSCFS_ERR_RANGE, BFS_ERR_RANGE);
SAME(BLOSCFS_ERR_CHANGED, BFS_ERR_CHANGED);
SAME(BLOSCFS_ERR_INVALID, BFS_ERR_INVALID);
SAME(BLOSCFS_ERR_CANCELLED, BFS_ERR_CANCELLED);
SAME(BLOSCFS_ERR_TOO_MUCH, BFS_ERR_TOO_MUCH);
SAME(BLOSCFS_ERR_NO_FILES, BFS_ERR_NO_FILES);
SAME(BLOSCFS_ERR_ACCESS, BFS_ERR_ACCESS);
SAME(BLOSCFS_ERR_ACCESS + 1, BFS_N_ERRS);
SAME(BLOSCFS_GOOD, BFS_GOOD);
SAME(BLOSCFS_DAMAGED, BFS_DAMAGED);
SAME(BLOSCFS_UNSUPPORTED, BFS_UNSUPPORTED);
SAME(BLOSCFS_NAME_MAX, BFS_NAME_MAX);
SAME(BLOSCFS_XATTR_MAX, BFS_XATTR_MAX);
SAME(sizeof(((struct bloscfs_diag *)0)->text), BFS_DIAG_TEXT);

void bfs_api_show(const struct bfs_diag *own, struct bloscfs_diag *pub)
{
	if (!pub)
		return;
	pub->err = (enum bloscfs_err)own->err;
	pub->off = own->off;
	pub->chunk = own->chunk;
	memset(pub->reserved, 0, sizeof(pub->reserved));
	memcpy(pub->text, own->text, sizeof(pub->text));
}

/* Ends a call: fills the caller's diagnosis on failure only. */
enum bloscfs_err bfs_api_answer(enum bfs_err err, struct bfs_diag *own,
				struct bloscfs_diag *pub)
{
	if (err != BFS_OK) {
		own->err = err;
		if (!own->text[0])
			bfs_fail(own, err, own->off, "%s", bfs_err_name(err));
		bfs_api_show(own, pub);
	}
	return (enum bloscfs_err)err;
}

enum bloscfs_err bfs_api_refuse(struct bloscfs_diag *pub)
{
	struct bfs_diag own = { 0 };

	return bfs_api_answer(bfs_fail(&own, BFS_ERR_INVALID, 0,
			       "an argument is missing"), &own, pub);
}

void bfs_api_give(const void *pub, size_t len, void *ret_struct, size_t size)
{
	if (size > len)
		memset((char *)ret_struct + len, 0, size - len);
	memcpy(ret_struct, pub, size < len ? size : len);
	/* The first member, where there is any. */
	if (size >= sizeof(size))
		memcpy(ret_struct, &size, sizeof(size));
}

bool bfs_api_again(struct bfs_turn *turn, uint64_t mark, enum bfs_err *err,
		   struct bfs_diag *diag)
{
	if (*err != BFS_OK)
		*err = bfs_moment_settle(mark, *err, diag);
	if (!bfs_turn_again(turn, err, diag))
		return false;
	bfs_moment_forget(mark);
	return true;
}

uint64_t bloscfs_mark(void)
{
	return bfs_moment_mark();
}

enum bloscfs_err bloscfs_met(uint64_t mark, struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };

	return bfs_api_answer(bfs_moment_settle(mark, BFS_OK, &own), &own,
			      diag);
}
