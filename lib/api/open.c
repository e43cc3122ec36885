/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c - the public interface to containers: from a descriptor, a folder or
 * memory to an opened one, and to its end.
 */
#include "api/priv.h"

#include "base/mem.h"
#include "base/moment.h"
#include "container/container.h"
#include "source/source.h"
#include "view/dispatch.h"
#include "view/facts.h"
#include "view/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A source over a copy of fd: the caller's own stays as it is. */
static enum bfs_err open_source(int fd, struct bfs_source **ret_source,
				struct bfs_diag *diag)
{
	enum bfs_err err;
	int copy;

	do {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	} while (copy < 0 && bfs_fd_may_retry(errno));
	if (copy < 0)
		return bfs_source_errno(errno, "the file descriptor cannot be "
					"copied", 0, diag);
	err = bfs_source_file(copy, ret_source, diag);
	if (err != BFS_OK)
		close(copy);
	return err;
}

enum bfs_err bfs_api_probe(struct bfs_source *source, const char *name,
			   const char **ret_format, struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	const struct bfs_format *ops = bfs_container_probe(source, name);
	enum bfs_err err;

	bfs_source_unref(source);
	err = bfs_moment_settle(mark, BFS_OK, diag);
	if (err == BFS_OK && !ops)
		err = bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
			       "not a container that is known here");
	if (err == BFS_OK)
		*ret_format = ops->name;
	return err;
}

enum bloscfs_err bloscfs_probe(int fd, const char *name,
			       const char **ret_format)
{
	struct bfs_source *source;
	enum bfs_err err;

	if (!ret_format)
		return BLOSCFS_ERR_INVALID;
	err = open_source(fd, &source, NULL);
	if (err == BFS_OK)
		err = bfs_api_probe(source, name, ret_format, NULL);
	return (enum bloscfs_err)err;
}

bool bloscfs_is_short(int fd, const char *name)
{
	struct bfs_source *source;
	bool is_short;

	if (open_source(fd, &source, NULL) != BFS_OK)
		return false;
	is_short = bfs_container_is_short(source, name);
	bfs_source_unref(source);
	return is_short;
}

enum bfs_err bfs_api_probe_in(struct bfs_dir *dir, const char **ret_format,
			      struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	const struct bfs_format *row = bfs_container_probe_in(dir);

	BFS_TRY(bfs_moment_settle(mark, row ? BFS_OK : BFS_ERR_NOT_FORMAT,
				  diag));
	*ret_format = row->name;
	return BFS_OK;
}

enum bloscfs_err bloscfs_probe_dir(int dirfd, const char **ret_format)
{
	struct bfs_dir *dir;
	enum bfs_err err;

	if (!ret_format)
		return BLOSCFS_ERR_INVALID;
	err = bfs_dir_fd(dirfd, &dir, NULL);
	if (err == BFS_OK) {
		err = bfs_api_probe_in(dir, ret_format, NULL);
		bfs_dir_unref(dir);
	}
	return (enum bloscfs_err)err;
}

/* The rest of opening, the same for all formats. Takes over container. */
static enum bfs_err wrap_container(struct bloscfs *fs,
				   struct bfs_container *container,
				   struct bloscfs_file **ret_file,
				   struct bfs_diag *diag)
{
	struct bloscfs_file *file = bfs_zalloc(1, sizeof(*file));
	struct bfs_array *array;
	enum bfs_err err;

	if (!file) {
		bfs_container_close(container);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for an opened container");
	}
	err = bfs_array_open(fs->engine, container, &array, diag);
	if (err == BFS_OK)
		err = bfs_file_new(array, fs->views, &file->root, diag);
	if (err == BFS_OK)
		err = bfs_nesting_new(fs->engine, fs->views, file->root,
				      &file->nesting, diag);
	file->budget = fs->budget;
	if (err == BFS_OK)
		*ret_file = file;
	else
		bfs_free(file);
	return err;
}

enum bfs_err bfs_api_open(struct bloscfs *fs, struct bfs_source *source,
			  const char *name, struct bloscfs_file **ret_file,
			  struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_container *container;
	struct bfs_turn turn;
	enum bfs_err err;

	bfs_turn_begin(&turn, fs->budget, true);
	do {
		err = bfs_container_open(source, name, NULL,
					 bfs_engine_cache(fs->engine),
					 &container, diag);
		if (err == BFS_OK)
			err = wrap_container(fs, container, ret_file, diag);
	} while (bfs_api_again(&turn, mark, &err, diag));
	bfs_turn_end(&turn);
	return err;
}

enum bfs_err bfs_api_open_in(struct bloscfs *fs, struct bfs_dir *dir,
			     const struct bfs_guard *guard,
			     struct bloscfs_file **ret_file,
			     struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_container *container;
	struct bfs_turn turn;
	enum bfs_err err;

	bfs_turn_begin(&turn, fs->budget, true);
	do {
		err = bfs_container_open_in(dir, guard,
					    bfs_engine_cache(fs->engine),
					    &container, diag);
		if (err == BFS_OK)
			err = wrap_container(fs, container, ret_file, diag);
	} while (bfs_api_again(&turn, mark, &err, diag));
	bfs_turn_end(&turn);
	return err;
}

enum bloscfs_err bloscfs_open_guarded(struct bloscfs *fs, int dirfd,
				      const struct bloscfs_guard *guard,
				      struct bloscfs_file **ret_file,
				      struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_guard inside;
	struct bfs_dir *dir;
	enum bfs_err err;

	if (!fs || !guard || !ret_file)
		return bfs_api_refuse(diag);
	BFS_CHARGE_TO(fs->budget);
	inside = (struct bfs_guard){ guard->may, guard->arg, fs->drop_behind };
	err = bfs_dir_fd(dirfd, &dir, &own);
	if (err == BFS_OK) {
		err = bfs_api_open_in(fs, dir, &inside, ret_file, &own);
		bfs_dir_unref(dir);
	}
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_open_dir(struct bloscfs *fs, int dirfd,
				  struct bloscfs_file **ret_file,
				  struct bloscfs_diag *diag)
{
	return bloscfs_open_guarded(fs, dirfd, &(struct bloscfs_guard){ 0 },
				    ret_file, diag);
}

bool bloscfs_let_go(struct bloscfs_file *file,
		    const struct bloscfs_reopen *how)
{
	struct bfs_fd_how own;

	if (!file || !how || !how->open)
		return false;
	own = (struct bfs_fd_how){ how->open, how->release, how->arg };
	return bfs_container_set_how(file->root->array->container, &own);
}

bool bloscfs_is_removed(struct bloscfs_file *file)
{
	return file && bfs_container_is_removed(file->root->array->container);
}

/* Puts the window in the place of the whole. */
static enum bfs_err cut_source(struct bfs_source **source, uint64_t offset,
			       uint64_t length, struct bfs_diag *diag)
{
	uint64_t whole = bfs_source_len(*source);
	struct bfs_source *window;

	if (!offset && !length)
		return BFS_OK;
	if (offset > whole)
		return bfs_fail(diag, BFS_ERR_RANGE, offset,
				"the file ends before the offset");
	if (!length)
		length = whole - offset;
	BFS_TRY(bfs_source_window(*source, offset, length, &window, diag));
	bfs_source_unref(*source);
	*source = window;
	return BFS_OK;
}

enum bloscfs_err bloscfs_open(struct bloscfs *fs, int fd, const char *name,
			      uint64_t offset, uint64_t length,
			      struct bloscfs_file **ret_file,
			      struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_source *source;
	enum bfs_err err;

	if (!fs || !ret_file)
		return bfs_api_refuse(diag);
	BFS_CHARGE_TO(fs->budget);
	err = open_source(fd, &source, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	if (fs->drop_behind && !bfs_source_drop_behind(source))
		err = bfs_fail(&own, BFS_ERR_NOMEM, 0, "no memory");
	if (err == BFS_OK)
		err = cut_source(&source, offset, length, &own);
	if (err == BFS_OK)
		err = bfs_api_open(fs, source, name, ret_file, &own);
	bfs_source_unref(source);
	if (err == BFS_OK)
		close(fd);
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_open_memory(struct bloscfs *fs, const void *buf,
				     size_t len, const char *name,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_source *source;
	enum bfs_err err;

	if (!fs || !ret_file || (!buf && len))
		return bfs_api_refuse(diag);
	BFS_CHARGE_TO(fs->budget);
	err = bfs_source_memory(buf, len, false, &source, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	err = bfs_api_open(fs, source, name, ret_file, &own);
	bfs_source_unref(source);
	return bfs_api_answer(err, &own, diag);
}

void bloscfs_close(struct bloscfs_file *file)
{
	if (!file)
		return;
	bfs_nesting_free(file->nesting);
	bfs_free(file);
}

void bloscfs_rest(struct bloscfs_file *file)
{
	if (file)
		bfs_container_rest(file->root->array->container);
}

void bloscfs_remember(struct bloscfs_file *file)
{
	if (!file)
		return;
	BFS_CHARGE_TO(file->budget);
	bfs_array_digest(file->root->array);
}

bool bloscfs_continues(struct bloscfs_file *newer, struct bloscfs_file *older,
		       bool take_blocks)
{
	if (!newer || !older)
		return false;
	BFS_CHARGE_TO(newer->budget);
	return bfs_array_continue(newer->root->array, older->root->array,
				  take_blocks);
}

enum bloscfs_status bloscfs_file_status(struct bloscfs_file *file,
					struct bloscfs_diag *ret_why)
{
	struct bfs_diag own = { .chunk = -1 };
	const struct bfs_verdict *verdict;
	enum bfs_err err;

	if (!file) {
		bfs_api_refuse(ret_why);
		return BLOSCFS_DAMAGED;
	}
	BFS_CHARGE_TO(file->budget);
	err = bfs_file_judge(file->root, &verdict, &own);
	if (err != BFS_OK) {
		bfs_api_answer(err, &own, ret_why);
		return BLOSCFS_DAMAGED;
	}
	if (verdict->status != BFS_GOOD)
		bfs_api_show(&verdict->why, ret_why);
	return (enum bloscfs_status)verdict->status;
}

enum bloscfs_err bloscfs_file_check(struct bloscfs_file *file,
				    struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };

	if (!file)
		return bfs_api_refuse(diag);
	BFS_CHARGE_TO(file->budget);
	return bfs_api_answer(
		bfs_source_check(file->root->array->container->source, &own),
		&own, diag);
}
