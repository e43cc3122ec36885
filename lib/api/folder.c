/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folder.c - the public interface to folders of the caller's own: its calls
 * and errors are translated here.
 */
#include "api/priv.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/foreign.h"

#include <stdatomic.h>
#include <string.h>

struct outside {
	struct bloscfs_folder how;
	atomic_bool owned;		/* how.arg is closed at the end */
};

/* What a folder says is never a fact about the container. */
static enum bfs_err settle(enum bloscfs_err answer,
			   const struct bloscfs_diag *why,
			   struct bfs_diag *diag)
{
	enum bfs_err err = bfs_api_take_err(answer);
	struct bfs_diag own = { .chunk = -1 };

	bfs_api_take_why(why, &own);
	if (!bfs_err_passes(err))
		err = BFS_ERR_IO;
	return bfs_fail(diag, err, 0, "%s",
			own.text[0] ? own.text : bfs_err_name(err));
}

static enum bfs_err find_outside(void *arg, const char *path,
				 enum bfs_there *ret_there, uint64_t *ret_len,
				 struct bfs_diag *diag)
{
	const struct outside *o = arg;
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_there there = BLOSCFS_NOTHING;
	enum bloscfs_err err;

	err = o->how.find(o->how.arg, path, &there, ret_len, &why);
	if (err != BLOSCFS_OK)
		return settle(err, &why, diag);
	*ret_there = there == BLOSCFS_A_FILE ? BFS_FILE :
		     there == BLOSCFS_A_FOLDER ? BFS_FOLDER : BFS_NOTHING;
	return BFS_OK;
}

static enum bfs_err open_outside(void *arg, const char *path,
				 struct bfs_source **ret_source,
				 struct bfs_diag *diag)
{
	const struct outside *o = arg;
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_source source = { .size = 0 };
	enum bloscfs_err answer;
	enum bfs_err err;

	answer = o->how.open(o->how.arg, path, &source, &why);
	if (answer != BLOSCFS_OK)
		return settle(answer, &why, diag);
	if (!source.size)
		return BFS_OK;
	err = bfs_api_source(&source, ret_source, diag);
	if (err != BFS_OK && source.close)
		source.close(source.arg);
	return err;
}

static void close_outside(void *arg)
{
	struct outside *o = arg;

	if (atomic_load(&o->owned) && o->how.close)
		o->how.close(o->how.arg);
	bfs_free(o);
}

static bool is_whole(const struct bloscfs_folder *given,
		     struct bloscfs_folder *ret_how)
{
	*ret_how = (struct bloscfs_folder){ .size = 0 };
	/* Of a caller that was built with a shorter struct. */
	if (given)
		memcpy(ret_how, given,
		       (size_t)bfs_min(given->size, sizeof(*ret_how)));
	return ret_how->find && ret_how->open;
}

static enum bfs_err make_dir(const struct bloscfs_folder *how,
			     struct outside **ret_outside,
			     struct bfs_dir **ret_dir, struct bfs_diag *diag)
{
	struct outside *o = bfs_zalloc(1, sizeof(*o));
	enum bfs_err err;

	if (!o)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	o->how = *how;
	err = bfs_dir_callback(&(struct bfs_dir_callback){
		.arg = o, .find = find_outside, .open = open_outside,
		.close = close_outside }, ret_dir, diag);
	if (err == BFS_OK)
		*ret_outside = o;
	else
		bfs_free(o);
	return err;
}

enum bloscfs_err bloscfs_probe_folder(const struct bloscfs_folder *folder,
				      const char **ret_format,
				      struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bloscfs_folder how;
	struct outside *o;
	struct bfs_dir *dir;
	enum bfs_err err;

	if (!is_whole(folder, &how) || !ret_format)
		return bfs_api_refuse(diag);
	err = make_dir(&how, &o, &dir, &own);
	if (err == BFS_OK) {
		err = bfs_api_probe_in(dir, ret_format, &own);
		bfs_dir_unref(dir);
	}
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_is_foreign_folder(const struct bloscfs_folder *folder,
					   bool *ret_is,
					   struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bloscfs_folder how;
	struct outside *o;
	struct bfs_dir *dir;
	enum bfs_err err;

	if (!is_whole(folder, &how) || !ret_is)
		return bfs_api_refuse(diag);
	err = make_dir(&how, &o, &dir, &own);
	if (err == BFS_OK) {
		err = bfs_foreign_in(dir, ret_is, &own);
		bfs_dir_unref(dir);
	}
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_open_folder(struct bloscfs *fs,
				     const struct bloscfs_folder *folder,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bloscfs_folder how;
	struct outside *o;
	struct bfs_dir *dir;
	enum bfs_err err;

	if (!fs || !is_whole(folder, &how) || !ret_file)
		return bfs_api_refuse(diag);
	BFS_CHARGE_TO(fs->budget);
	err = make_dir(&how, &o, &dir, &own);
	if (err == BFS_OK) {
		err = bfs_api_open_in(fs, dir, &(struct bfs_guard){ 0 },
				      ret_file, &own);
		atomic_store(&o->owned, err == BFS_OK);
		bfs_dir_unref(dir);
	}
	return bfs_api_answer(err, &own, diag);
}
