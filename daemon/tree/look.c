/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look.c - stat, probe and open what a node stands for; tell the tree.
 */
#include "tree/look.h"

#include "call.h"
#include "log/log.h"
#include "tree/far.h"
#include "tree/leave.h"
#include "tree/paths.h"
#include "tree/reopen.h"
#include "tree/source_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A container that ends too early, and was not written to for so long, will
 * not become whole. */
#define ARRIVAL_SECONDS 3
/* One write takes less. */
#define WRITE_NS 5000000
/* A writer that pauses for longer than this has stopped half-way. */
#define WRITER_NS 10000000
#define WRITER_TRIES 20
/* What was not written to for a day is not going to grow. */
#define GROWING_NS (INT64_C(86400) * 1000000000)
/* A file not looked at for longer may have changed in any way. */
#define WATCHED_NS (INT64_C(30) * 1000000000)

void look_free_path(char **path)
{
	free(*path);
}

int look_path(const struct daemon *daemon, struct node *node, char **ret_path)
{
	*ret_path = daemon->src.file && !node->parent ?
		    strdup(daemon->src.file) : tree_long_path(node);
	return *ret_path ? 0 : -ENOMEM;
}

void look_name(const struct daemon *daemon, struct node *node, char *buf)
{
	if (daemon->src.file && !node->parent)
		strcpy(buf, daemon->src.file);
	else if (tree_path(node, buf, PATH_MAX))
		strcpy(buf, "(a path too long to tell)");
	else if (!*buf)
		strcpy(buf, ".");
}

static enum node_kind node_kind_of(enum src_kind kind)
{
	switch (kind) {
	case SRC_DIR:
		return NODE_DIR;
	case SRC_LINK:
		return NODE_LINK;
	case SRC_CONTAINER:
		return NODE_CONTAINER;
	case SRC_PLAIN:
	case SRC_HIDDEN:
		break;
	}
	return NODE_PLAIN;
}

bool look_is_nested(struct daemon *daemon, struct node *node)
{
	struct src_stat st;
	uint64_t ino;
	bool open;

	if (node->kind != NODE_DIR)
		return false;
	tree_stat(&daemon->tree, node, &st, &ino, &open);
	return st.nested;
}

/* The path does not lead to it any more. */
int look_as_stale(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -EXDEV ? -ESTALE : error;
}

/* The node's file is another, or has other content, than it had. */
static int accept_change(struct daemon *daemon, struct node *node,
			 const char *path, const struct src_stat *old,
			 const struct src_stat *now)
{
	enum src_kind kind;
	int status;

	if (node->kind != NODE_CONTAINER && !src_same_file(old, now))
		return -ESTALE;
	if ((daemon->opts->keep && node->kind != NODE_CONTAINER) ||
	    leave_known(daemon, node->parent, path)) {
		kind = src_plain_kind(now);
	} else {
		status = src_kind(&daemon->src, -1, path, now, &kind);
		if (status)
			return look_as_stale(status);
	}
	if (kind == SRC_HIDDEN || node_kind_of(kind) != node->kind)
		return -ESTALE;
	return 0;
}

/* The root has no name that could come to stand for something else. */
static struct src_stat look_at_root(struct daemon *daemon,
				    const struct src_stat *old)
{
	struct src_stat now;
	const char *path = daemon->src.file ? daemon->src.file : "";

	if (src_look(&daemon->src, -1, path, old, &now) ||
	    (now.mode & S_IFMT) != (old->mode & S_IFMT))
		return *old;
	tree_update(&daemon->tree, daemon->tree.root, &now);
	return now;
}

int look_again(struct daemon *daemon, struct node *node,
	       struct src_stat *ret_st)
{
	LOOK_PATH path = NULL;
	struct src_stat old, now;
	uint64_t ino;
	bool open;
	int status;

	tree_stat(&daemon->tree, node, &old, &ino, &open);
	if (daemon->opts->immutable) {
		*ret_st = old;
		return 0;
	}
	if (!node->parent) {
		*ret_st = look_at_root(daemon, &old);
		return 0;
	}
	status = look_path(daemon, node, &path);
	if (!status)
		status = src_look(&daemon->src, -1, path, &old, &now);
	if (!status && !src_same_content(&old, &now))
		status = accept_change(daemon, node, path, &old, &now);
	if (status)
		return look_as_stale(status);
	tree_update(&daemon->tree, node, &now);
	*ret_st = now;
	return 0;
}

/* 1 where a container of a file that was written to since we mounted, and
 * moments ago, ends too early: then it is on its way here. Else 0 or
 * -errno. */
static int is_arriving(struct daemon *daemon, int dir_fd, const char *name,
		       const struct src_stat *st)
{
	uint64_t mark = bloscfs_mark();
	struct src_stat opened;
	int64_t age = time(NULL) - st->mtime_sec;
	bool is_short;
	int fd, status;

	/* A date far in the future tells nothing of this moment. */
	if (!S_ISREG(st->mode) || st->mtime_sec <= daemon->started ||
	    age > ARRIVAL_SECONDS || age < -ARRIVAL_SECONDS)
		return 0;
	fd = src_open_file(&daemon->src, dir_fd, name, &opened);
	if (fd < 0)
		return fd;
	is_short = bloscfs_is_short(fd, name);
	close(fd);
	status = -bloscfs_err_errno(bloscfs_met(mark, NULL));
	return status ? status : is_short;
}

/* A plain file may be a container that we may not read: what has the name of
 * one is told. */
static void note_unreadable(const struct daemon *daemon, struct node *parent,
			    int dir_fd, const char *name)
{
	struct bloscfs_diag why = { .err = BLOSCFS_ERR_IO, .chunk = -1 };
	char path[PATH_MAX + NAME_MAX + 2];
	size_t len;

	if (!bloscfs_claimed(name) ||
	    faccessat(dir_fd, name, R_OK, AT_EACCESS) == 0 ||
	    (errno != EACCES && errno != EPERM))
		return;
	snprintf(why.text, sizeof(why.text), "%s", strerror(errno));
	look_name(daemon, parent, path);
	len = strlen(path);
	if (strcmp(path, ".") == 0)
		len = 0;
	snprintf(path + len, sizeof(path) - len, "%s%s", len ? "/" : "", name);
	log_fault(LEVEL_WARN, path, "cannot be read, shown as a plain file",
		  EACCES, &why);
}

/* As look_at. node_name: by which name it is known; NULL: as name, and as it
 * is in the source, whatever it holds. */
static int look_for(struct daemon *daemon, struct node *parent, int dir_fd,
		    const char *name, const char *node_name,
		    enum node_kind *ret_kind, struct src_stat *ret_st)
{
	enum node_kind known_kind;
	enum src_kind kind;
	struct src_stat known, now;
	bool has, left, ever;
	int status;

	if (src_hides(name))
		return -ENOENT;
	has = tree_known(&daemon->tree, parent, node_name ? node_name : name,
			 &known_kind, &known);
	status = src_look(&daemon->src, dir_fd, name, has ? &known : NULL,
			  &now);
	if (status)
		return status;
	status = leave_look(daemon, parent, dir_fd, name, &left, &ever);
	if (status)
		return status;
	if (left || !node_name) {
		kind = src_plain_kind(&now);
		*ret_kind = node_kind_of(kind);
		*ret_st = now;
		return kind == SRC_HIDDEN ? -ENOENT : 0;
	}
	has = has && (known_kind == NODE_CONTAINER || !ever);
	/* A plain file that came since may not be whole yet. */
	if ((S_ISREG(now.mode) || now.index_mode) && has &&
	    (known_kind != NODE_PLAIN || now.mtime_sec <= daemon->started) &&
	    src_same_content(&known, &now) &&
	    src_same_rights(&known, &now)) {
		*ret_kind = known_kind;
		*ret_st = now;
		return 0;
	}
	status = src_kind(&daemon->src, dir_fd, name, &now, &kind);
	if (status)
		return status;
	if (kind == SRC_HIDDEN)
		return -ENOENT;
	if (kind == SRC_PLAIN)
		note_unreadable(daemon, parent, dir_fd, name);
	if (kind == SRC_CONTAINER && !(has && known_kind == NODE_CONTAINER)) {
		status = is_arriving(daemon, dir_fd, name, &now);
		if (status < 0)
			return status;
		if (status)
			kind = SRC_PLAIN;
	}
	if (call_is_void())
		return -EINTR;
	*ret_kind = node_kind_of(kind);
	*ret_st = now;
	return 0;
}

int look_far(struct daemon *daemon, struct node *parent, const char *name,
	     enum node_kind *ret_kind, struct src_stat *ret_st)
{
	LOOK_PATH folder = NULL;
	LOOK_PATH path = NULL;
	struct src_stat st;
	int status = look_path(daemon, parent, &folder);

	if (status)
		return status;
	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	status = src_hides(name) ? -ENOENT :
				   far_look(daemon->src.far, path, &st);
	if (status)
		return status;
	*ret_kind = node_kind_of(far_kind(daemon->src.far, daemon->src.choice,
					  path, &st));
	*ret_st = st;
	return 0;
}

enum node_kind look_kind(enum src_kind kind)
{
	return node_kind_of(kind);
}

int look_at(struct daemon *daemon, struct node *parent, int dir_fd,
	    const char *name, enum node_kind *ret_kind,
	    struct src_stat *ret_st)
{
	return look_for(daemon, parent, dir_fd, name,
			daemon->opts->keep ? NULL : name, ret_kind, ret_st);
}

int look_beside(struct daemon *daemon, struct node *parent, int dir_fd,
		const char *name, const char *dir_name,
		struct src_stat *ret_st)
{
	enum node_kind kind;
	struct src_stat st;
	int status = look_for(daemon, parent, dir_fd, name, dir_name, &kind,
			      &st);

	if (status)
		return status;
	if (kind != NODE_CONTAINER)
		return -ENOENT;
	*ret_st = st;
	return 0;
}

void look_tell_error(const struct daemon *daemon, struct node *node,
		     const char *deed, int error)
{
	struct bloscfs_diag why = { .err = BLOSCFS_ERR_IO, .chunk = -1 };
	char path[PATH_MAX], what[64];

	look_name(daemon, node, path);
	snprintf(what, sizeof(what), "%s of the source failed", deed);
	snprintf(why.text, sizeof(why.text), "%s", strerror(error));
	log_fault(LEVEL_ERR, path, what, error, &why);
}

void look_tell_failure(const struct daemon *daemon, struct node *node,
		       const char *deed, int error,
		       const struct bloscfs_diag *why)
{
	struct node *owner = tree_owner(node);
	char path[PATH_MAX], inner[PATH_MAX], what[PATH_MAX + 64];

	look_name(daemon, owner, path);
	if (tree_path(node, inner, sizeof(inner)))
		strcpy(inner, "?");
	else if (owner->parent)
		memmove(inner, inner + strlen(path) + 1,
			strlen(inner + strlen(path) + 1) + 1);
	snprintf(what, sizeof(what), "%s of %s failed", deed, inner);
	/* A changed source is nobody's fault. */
	log_fault(error == ESTALE ? LEVEL_WARN : LEVEL_ERR, path, what, error,
		  why);
}

void look_tell_status(const char *path, struct bloscfs_file *file)
{
	char quoted[512];
	struct bloscfs_diag why = { .chunk = -1 };
	uint64_t mark = bloscfs_mark();
	enum bloscfs_status status = bloscfs_file_status(file, &why);

	/* Nothing is known then; whoever asks is told. */
	if (bloscfs_met(mark, NULL) != BLOSCFS_OK)
		return;
	switch (status) {
	case BLOSCFS_GOOD:
		log_msg(LEVEL_INFO, "%s: opened",
			log_quote(quoted, sizeof(quoted), path));
		break;
	case BLOSCFS_DAMAGED:
		log_fault(LEVEL_WARN, path, "damaged, serving what can be "
			  "decoded", 0, &why);
		break;
	case BLOSCFS_UNSUPPORTED:
		log_fault(LEVEL_WARN, path, "not decodable by this build",
			  0, &why);
		break;
	}
}

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
	const char *slash = strrchr(path, '/');
	enum bloscfs_err err;
	int fd = src_open_file(&daemon->src, -1, path, st), status;

	if (fd < 0)
		return fd;
	status = src_look_fd(&daemon->src, fd, st);
	if (status) {
		close(fd);
		return status;
	}
	err = bloscfs_open(daemon->fs, fd, slash ? slash + 1 : path,
			   daemon->opts->offset, daemon->opts->length,
			   ret_file, why);
	if (err != BLOSCFS_OK)
		close(fd);
	else
		let_go(daemon, path, st, *ret_file);
	return -bloscfs_err_errno(err);
}

/* Waits for a write that is under way: its bytes come after its date. Who
 * writes all the time is not waited for. */
static void let_write(struct daemon *daemon, const char *path)
{
	const struct timespec moment = { .tv_nsec = WRITE_NS };
	struct src_stat st;
	int64_t age;

	for (int i = 0; i < WRITER_TRIES; i++) {
		age = src_now();
		if (src_stat(&daemon->src, -1, path, &st))
			return;
		age -= st.mtime_sec * 1000000000 + st.mtime_nsec;
		/* Another machine's clock may be ahead. */
		if (age > WRITE_NS || age < -INT64_C(1000000000))
			return;
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
		return far_open_container(daemon->src.far, daemon->fs, path,
					  &opened->st, &opened->file, why);
	status = src_stat(&daemon->src, -1, path, &opened->st);
	if (status)
		return status;
	status = S_ISDIR(opened->st.mode) ?
		 open_dir(daemon, path, &opened->st, &opened->file, why) :
		 open_file(daemon, path, &opened->st, &opened->file, why);
	opened->hot = src_is_hot(&opened->st, start);
	return status;
}

/* Whether a container looks damaged because somebody writes to it: it was
 * just then, and a moment later it has other content. */
static bool is_being_written(struct daemon *daemon, const char *path,
			     const struct opened *opened)
{
	const struct timespec moment = { .tv_nsec = WRITER_NS };
	uint64_t mark = bloscfs_mark();
	struct src_stat now;

	if (!opened->hot ||
	    bloscfs_file_status(opened->file, NULL) != BLOSCFS_DAMAGED ||
	    bloscfs_met(mark, NULL) != BLOSCFS_OK)
		return false;
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
		    !is_being_written(daemon, path, &opened))
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
	/* Whether blocks may be taken over is a matter of proof, and also
	 * of how much can have happened meanwhile. */
	/* Who had it open with other rights must ask again. */
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
