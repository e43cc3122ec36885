/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opening.c - see opening.h. A file that is being written to is not taken for
 * a damaged one.
 */
#include "tree/opening.h"

#include "call.h"
#include "log/log.h"
#include "tree/far.h"
#include "tree/look.h"
#include "tree/reopen.h"
#include "tree/source_rights.h"
#include "tree/tell.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One write takes less. */
#define WRITE_NS 5000000
/* Writes one after the other that are waited for. */
#define MAX_WRITES 3
/* A writer that pauses for longer than this has stopped half-way. */
#define WRITER_NS 10000000
#define WRITER_TRIES 20
/* What was not written to for a day is not going to grow. */
#define GROWING_NS (INT64_C(86400) * 1000000000)

/* Its descriptor may be closed while nobody reads. On no memory it stays. */
static void let_go(struct daemon *daemon, const char *path,
		   const struct src_stat *st, struct bloscfs_file *file)
{
	struct bloscfs_reopen way;

	if (reopen_by_path(&daemon->src, path, st, &way) &&
	    !bloscfs_let_go(file, &way))
		way.release(way.arg);
}

/* A file of a directory may be read if who may read by the rights that the
 * container is shown with may read that file, too. */
static bool may_read(void *arg, int fd)
{
	struct rights rights;

	return !src_rights_fd(fd, &rights) && rights_readers_may(arg, &rights);
}

static int open_dir(struct daemon *daemon, const char *path,
		    struct src_stat *st, struct bloscfs_file **ret_file,
		    struct bloscfs_diag *why)
{
	struct bloscfs_guard guard = { .may = may_read };
	enum bloscfs_err err;
	int fd = src_open_dir(&daemon->src, -1, path, st), status;

	if (fd < 0)
		return fd;
	status = src_look_fd(&daemon->src, fd, st);
	if (!status) {
		guard.arg = (void *)(uintptr_t)st->parts;
		/* Without an index it is no container any more. */
		err = st->parts ? bloscfs_open_guarded(daemon->fs, fd, &guard,
						       ret_file, why) :
				  bloscfs_open_dir(daemon->fs, fd, ret_file,
						   why);
		status = -bloscfs_err_errno(err);
	}
	close(fd);
	if (!status)
		let_go(daemon, path, st, *ret_file);
	return status;
}

static int open_file(struct daemon *daemon, const char *path,
		     struct src_stat *st, struct bloscfs_file **ret_file,
		     struct bloscfs_diag *why)
{
	enum bloscfs_err err;
	int fd = src_open_file(&daemon->src, -1, path, st), status;

	if (fd < 0)
		return fd;
	status = src_look_fd(&daemon->src, fd, st);
	if (status) {
		close(fd);
		return status;
	}
	err = bloscfs_open(daemon->fs, fd, sides_hint(&daemon->src.sides, path),
			   daemon->opts->offset, daemon->opts->length,
			   ret_file, why);
	if (err != BLOSCFS_OK)
		close(fd);
	else
		let_go(daemon, path, st, *ret_file);
	return -bloscfs_err_errno(err);
}

/* Waits for a write that is under way, until its date is as old as a write
 * takes at most: its bytes come after its date. Who writes all the time is not
 * waited for, since others need the thread: the container counts as hot then,
 * and is opened once more later. */
static void let_write(struct daemon *daemon, const char *path)
{
	struct timespec moment = { 0 };
	struct src_stat st;
	int64_t age;

	for (int i = 0; i < MAX_WRITES; i++) {
		age = src_now();
		if (src_stat(&daemon->src, -1, path, &st))
			return;
		age -= st.mtime_sec * 1000000000 + st.mtime_nsec;
		/* Another machine's clock may be ahead. */
		if (age > WRITE_NS || age < -INT64_C(1000000000))
			return;
		moment.tv_nsec = age > 0 ? WRITE_NS + 1 - age : WRITE_NS;
		nanosleep(&moment, NULL);
	}
}

static int open_once(struct daemon *daemon, const char *path,
		     struct opened *opened, struct bloscfs_diag *why)
{
	int64_t start = src_now();
	int status;

	*why = (struct bloscfs_diag){ .chunk = -1 };
	if (daemon->src.far)
		return far_open_container(daemon->src.far, daemon->src.choice,
					  daemon->fs, path, &opened->st,
					  &opened->file, why);
	status = src_stat(&daemon->src, -1, path, &opened->st);
	if (status)
		return status;
	status = S_ISDIR(opened->st.mode) ?
		 open_dir(daemon, path, &opened->st, &opened->file, why) :
		 open_file(daemon, path, &opened->st, &opened->file, why);
	opened->hot = src_is_hot(&opened->st, start);
	return status;
}

/* Whether a container may look damaged because somebody writes to it. */
static bool looks_half_written(const struct opened *opened)
{
	uint64_t mark = bloscfs_mark();

	return opened->hot &&
	       bloscfs_file_status(opened->file, NULL) == BLOSCFS_DAMAGED &&
	       bloscfs_met(mark, NULL) == BLOSCFS_OK;
}

/* Whether it has other content a moment later. */
static bool is_being_written(struct daemon *daemon, const char *path,
			     const struct opened *opened)
{
	const struct timespec moment = { .tv_nsec = WRITER_NS };
	struct src_stat now;

	nanosleep(&moment, NULL);
	return src_stat(&daemon->src, -1, path, &now) ||
	       !src_same_content(&now, &opened->st);
}

int look_open(struct daemon *daemon, const char *path,
	      struct opened *ret_opened, struct bloscfs_diag *why)
{
	struct opened opened = { 0 };
	int status, tries = 0;

	for (;;) {
		if (!daemon->opts->immutable && !daemon->src.far)
			let_write(daemon, path);
		status = open_once(daemon, path, &opened, why);
		if (status || ++tries == WRITER_TRIES ||
		    !looks_half_written(&opened))
			break;
		/* Threads that answer for names have no time for that. */
		if (!call_may_wait(0) || call_is_void()) {
			bloscfs_close(opened.file);
			return -EINTR;
		}
		if (!is_being_written(daemon, path, &opened))
			break;
		bloscfs_close(opened.file);
	}
	if (!status && !daemon->src.far &&
	    src_now() - opened.st.mtime_sec * 1000000000 < GROWING_NS)
		bloscfs_remember(opened.file);
	if (!status)
		*ret_opened = opened;
	return status;
}

/* Holds a new opening against the container that its node had until now. */
static void find_former(struct daemon *daemon, struct node *node,
			struct opened *opened)
{
	struct container *former = tree_any_container(&daemon->tree, node);
	int64_t seen;

	if (!former)
		return;
	seen = atomic_load_explicit(&former->seen, memory_order_relaxed);
	/* Blocks are taken over by proof, and only where little can have
	 * happened since. Who had it open with other rights asks again. */
	if (src_same_file(&former->st, &opened->st) &&
	    former->st.parts == opened->st.parts &&
	    bloscfs_continues(opened->file, former->file,
			      src_now() - seen < WATCHED_NS))
		opened->continues = former;
	else
		tree_put_container(&daemon->tree, former);
}

static int open_container(struct daemon *daemon, struct node *node,
			  const char *path, struct container **ret_container)
{
	struct bloscfs_diag why;
	struct opened opened;
	struct container *container;
	int status = look_open(daemon, path, &opened, &why);

	if (status && call_is_void())
		return status;
	if (status && why.err == BLOSCFS_OK) {
		status = look_as_stale(status);
		/* What is on a server was told with its reason. */
		if (!daemon->src.far && status != -ESTALE &&
		    status != -EACCES)
			look_tell_error(daemon, node, "open", -status);
		return status;
	}
	if (why.err == BLOSCFS_ERR_NOT_FORMAT && node->parent)
		return -ESTALE;
	if (status) {
		log_fault(LEVEL_ERR, path, "open of the container failed",
			  -status, &why);
		return status;
	}
	look_tell_status(path, opened.file);
	if (call_is_void()) {
		bloscfs_close(opened.file);
		return -EINTR;
	}
	find_former(daemon, node, &opened);
	/* Who was stopped while it compared has not seen that it differs. */
	if (call_is_void()) {
		if (opened.continues)
			tree_put_container(&daemon->tree, opened.continues);
		bloscfs_close(opened.file);
		return -EINTR;
	}
	container = tree_add_container(&daemon->tree, node, &opened);
	if (opened.continues)
		tree_put_container(&daemon->tree, opened.continues);
	if (!container)
		return -ENOMEM;
	*ret_container = container;
	return 0;
}

int look_container(struct daemon *daemon, struct node *node,
		   struct container **ret_container)
{
	struct node *owner = tree_owner(node);
	LOOK_PATH path = NULL;
	struct container *container;
	struct src_stat st;
	int status = look_again(daemon, owner, &st);

	if (!status)
		status = look_path(daemon, owner, &path);
	if (status)
		return status;
	container = tree_find_container(&daemon->tree, owner, &st);
	if (!container)
		status = open_container(daemon, owner, path, &container);
	/* The one file of a mount may be gone while we still have it. */
	if (status == -ESTALE && !owner->parent) {
		container = tree_last_container(&daemon->tree, owner);
		if (container)
			status = 0;
	}
	if (status)
		return status;
	if (node != owner && !tree_holds(&daemon->tree, node, container)) {
		tree_put_container(&daemon->tree, container);
		return -ESTALE;
	}
	*ret_container = container;
	return 0;
}
