/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.c - the public interface to sources of the caller's own: its calls
 * and errors are translated here, source/callback.c checks them.
 */
#include "api/priv.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "source/callback.h"

#include <string.h>

#define MOVED 64		/* ranges that are translated at once */

/* What the calls below get as arg. */
struct outside {
	struct bloscfs_source how;
};

void bfs_api_take_why(const struct bloscfs_diag *pub, struct bfs_diag *own)
{
	memcpy(own->text, pub->text, sizeof(own->text));
	own->text[sizeof(own->text) - 1] = '\0';
}

enum bfs_err bfs_api_take_err(enum bloscfs_err err)
{
	return (unsigned)err < BFS_N_ERRS ? (enum bfs_err)err : BFS_ERR_IO;
}

static enum bfs_err read_outside(void *arg, uint64_t off, void *buf,
				 size_t len, size_t *ret_len,
				 struct bfs_diag *diag)
{
	const struct outside *o = arg;
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err;

	err = o->how.read(o->how.arg, off, buf, len, ret_len, &why);
	bfs_api_take_why(&why, diag);
	return bfs_api_take_err(err);
}

static enum bfs_err check_outside(void *arg, struct bfs_diag *diag)
{
	const struct outside *o = arg;
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = o->how.check(o->how.arg, &why);

	bfs_api_take_why(&why, diag);
	return bfs_api_take_err(err);
}

static void tell_outside(void *arg, const struct bfs_range *ranges, size_t n)
{
	const struct outside *o = arg;
	struct bloscfs_range moved[MOVED];
	size_t i, k;

	for (; n > 0; n -= k, ranges += k) {
		k = (size_t)bfs_min(n, MOVED);
		for (i = 0; i < k; i++)
			moved[i] = (struct bloscfs_range){ ranges[i].off,
							   ranges[i].len };
		o->how.will_need(o->how.arg, moved, k);
	}
}

static bool is_near_outside(void *arg, uint64_t off, uint64_t len)
{
	const struct outside *o = arg;

	return o->how.is_near(o->how.arg, off, len);
}

static void close_outside(void *arg)
{
	struct outside *o = arg;

	if (o->how.close)
		o->how.close(o->how.arg);
	bfs_free(o);
}

/* Of a caller that was built with a shorter struct. */
static struct bloscfs_source take_how(const struct bloscfs_source *given)
{
	struct bloscfs_source how = { .size = 0 };

	memcpy(&how, given, (size_t)bfs_min(given->size, sizeof(how)));
	return how;
}

/* The source, and *ret_outside to be freed while it does not own that. */
static enum bfs_err make_source(const struct bloscfs_source *given,
				struct outside **ret_outside,
				struct bfs_source **ret_source,
				struct bfs_diag *diag)
{
	struct outside *o = bfs_zalloc(1, sizeof(*o));
	struct bfs_callback how = { .read = read_outside, .arg = o,
				    .close = close_outside };
	enum bfs_err err;

	if (!o)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	o->how = take_how(given);
	how.len = o->how.length;
	how.identity = o->how.identity;
	how.identity_len = o->how.identity_len;
	how.check = o->how.check ? check_outside : NULL;
	how.will_read = o->how.will_need ? tell_outside : NULL;
	how.wait_cost = o->how.wait_cost;
	how.is_near = o->how.is_near ? is_near_outside : NULL;
	o->how.identity = NULL;
	err = bfs_source_callback(&how, ret_source, diag);
	if (err == BFS_OK)
		*ret_outside = o;
	else
		bfs_free(o);
	return err;
}

/* Ends what make_source began, where no opened container took it over. */
static void drop_source(struct outside *o, struct bfs_source *source)
{
	bfs_source_unref(source);
	bfs_free(o);
}

static bool is_whole(const struct bloscfs_source *source)
{
	struct bloscfs_source how;

	if (!source)
		return false;
	how = take_how(source);
	return how.read && (how.identity || !how.identity_len);
}

enum bfs_err bfs_api_source(const struct bloscfs_source *given,
			    struct bfs_source **ret_source,
			    struct bfs_diag *diag)
{
	struct outside *o;

	if (!is_whole(given))
		return bfs_fail(diag, BFS_ERR_IO, 0, "a source without "
				"functions");
	BFS_TRY(make_source(given, &o, ret_source, diag));
	bfs_source_callback_own(*ret_source);
	return BFS_OK;
}

enum bloscfs_err bloscfs_probe_source(const struct bloscfs_source *source,
				      const char *name,
				      const char **ret_format,
				      struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_source *inside;
	struct outside *o;
	enum bfs_err err;

	if (!is_whole(source) || !ret_format)
		return bfs_api_refuse(diag);
	err = make_source(source, &o, &inside, &own);
	if (err == BFS_OK) {
		err = bfs_api_probe(inside, name, ret_format, &own);
		bfs_free(o);
	}
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_open_source(struct bloscfs *fs,
				     const struct bloscfs_source *source,
				     const char *name,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_source *inside;
	struct outside *o;
	enum bfs_err err;

	if (!fs || !is_whole(source) || !ret_file)
		return bfs_api_refuse(diag);
	BFS_CHARGE_TO(fs->budget);
	err = make_source(source, &o, &inside, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	err = bfs_api_open(fs, inside, name, ret_file, &own);
	if (err != BFS_OK) {
		drop_source(o, inside);
		return bfs_api_answer(err, &own, diag);
	}
	bfs_source_callback_own(inside);
	bfs_source_unref(inside);
	return BLOSCFS_OK;
}
