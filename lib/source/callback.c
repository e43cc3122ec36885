/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callback.c - see callback.h. What a callback says is checked here: a read
 * that gives fewer bytes than it should, and errors that a source cannot
 * know anything of.
 */
#include "source/callback.h"

#include "base/call.h"
#include "base/digest.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

struct callback {
	struct bfs_source base;
	struct bfs_callback how;
	atomic_bool owned;		/* how.arg is closed at the end */
};

/* What a source says is never a fact about the container. */
static enum bfs_err settle(enum bfs_err err, const struct bfs_diag *why,
			   uint64_t off, const char *deed,
			   struct bfs_diag *diag)
{
	if (!bfs_err_passes(err))
		err = BFS_ERR_IO;
	if (why->text[0])
		return bfs_fail(diag, err, off, "%s", why->text);
	return bfs_fail(diag, err, off, "%s: %s", deed, bfs_err_name(err));
}

static enum bfs_err read_callback(struct bfs_source *s, uint64_t off,
				  void *buf, size_t len, struct bfs_diag *diag)
{
	const struct callback *c = (const struct callback *)s;
	struct bfs_diag why = { .chunk = -1 };
	size_t got = 0;
	enum bfs_err err;

	BFS_TRY(bfs_call_spend(len, "reading", diag));
	err = c->how.read(c->how.arg, off, buf, len, &got, &why);
	if (err != BFS_OK)
		return settle(err, &why, off, "read", diag);
	if (got != len)
		return bfs_fail(diag, BFS_ERR_IO, off, "the source gave %zu "
				"of %zu bytes", got, len);
	return BFS_OK;
}

static enum bfs_err check_callback(struct bfs_source *s, struct bfs_diag *diag)
{
	const struct callback *c = (const struct callback *)s;
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (!c->how.check)
		return BFS_OK;
	err = c->how.check(c->how.arg, &why);
	return err == BFS_OK ? BFS_OK : settle(err, &why, 0, "check", diag);
}

static void will_read_callback(struct bfs_source *s,
			       const struct bfs_range *ranges, size_t n)
{
	const struct callback *c = (const struct callback *)s;

	c->how.will_read(c->how.arg, ranges, n);
}

static bool is_near_callback(struct bfs_source *s, uint64_t off, uint64_t len)
{
	const struct callback *c = (const struct callback *)s;

	return c->how.is_near && c->how.is_near(c->how.arg, off, len);
}

static void close_callback(struct bfs_source *s)
{
	struct callback *c = (struct callback *)s;

	if (atomic_load(&c->owned) && c->how.close)
		c->how.close(c->how.arg);
	bfs_free(c);
}

static const struct bfs_source_ops callback_ops = {
	.read = read_callback,
	.check = check_callback,
	.is_near = is_near_callback,
	.close = close_callback,
};

/* The same, of sources that are told. */
static const struct bfs_source_ops told_ops = {
	.read = read_callback,
	.check = check_callback,
	.will_read = will_read_callback,
	.is_near = is_near_callback,
	.close = close_callback,
};

/* As if it were a file's: equal for equal identities, and dated long ago,
 * since what has one does not change behind it. */
static enum bfs_err identify(const struct bfs_callback *how,
			     struct bfs_source_id *ret_id)
{
	static _Atomic uint64_t next = 1;
	uint8_t bytes[BFS_DIGEST_MAX];
	struct bfs_digest digest;

	*ret_id = (struct bfs_source_id){ .dev = UINT64_MAX, .len = how->len };
	if (!how->identity_len) {
		ret_id->ino = atomic_fetch_add(&next, 1);
		return BFS_OK;
	}
	BFS_TRY(bfs_digest_init(&digest, BFS_DIGEST_SHA256));
	bfs_digest_add(&digest, how->identity, how->identity_len);
	BFS_TRY(bfs_digest_finish(&digest, bytes));
	memcpy(&ret_id->dev, bytes, sizeof(ret_id->dev));
	memcpy(&ret_id->ino, bytes + 8, sizeof(ret_id->ino));
	return BFS_OK;
}

enum bfs_err bfs_source_callback(const struct bfs_callback *how,
				 struct bfs_source **ret_source,
				 struct bfs_diag *diag)
{
	struct callback *c = bfs_zalloc(1, sizeof(*c));
	enum bfs_err err;

	if (!c)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	err = identify(how, &c->base.id);
	if (err != BFS_OK) {
		bfs_free(c);
		return bfs_fail(diag, err, 0, "no identity can be made of "
				"the source's");
	}
	c->base.ops = how->will_read ? &told_ops : &callback_ops;
	c->base.is_told = how->will_read != NULL;
	c->base.wait_cost = how->wait_cost;
	c->base.len = how->len;
	c->base.refs = 1;
	c->how = *how;
	c->how.identity = NULL;
	*ret_source = &c->base;
	return BFS_OK;
}

void bfs_source_callback_own(struct bfs_source *source)
{
	atomic_store(&((struct callback *)source)->owned, true);
}
