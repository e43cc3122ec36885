/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look.c - what a node, or a name, stands for now: stat and probe; the tree is
 * told.
 */
#include "tree/look.h"

#include "call.h"
#include "invariant.h"
#include "log/log.h"
#include "tree/far.h"
#include "tree/leave.h"
#include "tree/paths.h"
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

bool look_is_gathered(const struct daemon *daemon, const struct node *node)
{
	return daemon->src.sides.n && !node->parent;
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
	if (tree_is_beside(node))
		return now->index_mode && bloscfs_dir_is_beside(now->index) ?
		       0 : -ESTALE;
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

/* The name to judge by. */
static const char *hint(const struct daemon *daemon, int dir_fd,
			const char *name)
{
	return dir_fd < 0 ? sides_hint(&daemon->src.sides, name) : name;
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
	is_short = bloscfs_is_short(fd, hint(daemon, dir_fd, name));
	close(fd);
	status = -bloscfs_err_errno(bloscfs_met(mark, NULL));
	return status ? status : is_short;
}

static bool is_unreadable(const struct daemon *daemon, int dir_fd,
			  const char *name)
{
	const char *own;
	int fd = src_parent(&daemon->src, dir_fd, name, &own);
	bool may = fd < 0 || faccessat(fd, own, R_OK, AT_EACCESS) == 0 ||
		   (errno != EACCES && errno != EPERM);

	src_leave(&daemon->src, dir_fd, fd);
	return !may;
}

/* A plain file may be a container that we may not read: what has the name of
 * one is told. */
static void note_unreadable(const struct daemon *daemon, struct node *parent,
			    int dir_fd, const char *name)
{
	struct bloscfs_diag why = { .err = BLOSCFS_ERR_IO, .chunk = -1 };
	char path[PATH_MAX + NAME_MAX + 2];
	size_t len;

	if (!bloscfs_claimed(hint(daemon, dir_fd, name)) ||
	    !is_unreadable(daemon, dir_fd, name))
		return;
	snprintf(why.text, sizeof(why.text), "%s", strerror(EACCES));
	look_name(daemon, parent, path);
	len = strlen(path);
	if (strcmp(path, ".") == 0)
		len = 0;
	snprintf(path + len, sizeof(path) - len, "%s%s", len ? "/" : "", name);
	log_fault(LEVEL_WARN, path, "cannot be read, shown as a plain file",
		  EACCES, &why);
}

int look_join(const struct daemon *daemon, struct node *parent,
	      const char *name, char **ret_path)
{
	LOOK_PATH folder = NULL;
	int status = look_path(daemon, parent, &folder);

	if (!status && asprintf(ret_path, "%s%s%s", folder,
				*folder ? "/" : "", name) < 0) {
		*ret_path = NULL;
		status = -ENOMEM;
	}
	return status;
}

/* The same where SOURCE is on a server. */
static int look_far(struct daemon *daemon, struct node *parent,
		    const char *name, const char *node_name,
		    enum node_kind *ret_kind, struct src_stat *ret_st)
{
	LOOK_PATH path = NULL;
	enum src_kind kind;
	struct src_stat st;
	bool left = false;
	int status = src_hides(name) ? -ENOENT :
				       look_join(daemon, parent, name, &path);

	if (!status)
		status = far_look(daemon->src.far, path, &st);
	if (status)
		return status;
	kind = far_kind(daemon->src.far, daemon->src.choice, path, &st);
	/* What is a file whatever lies around it needs no look there. */
	if (kind != SRC_PLAIN)
		status = leave_far(daemon, parent, name, &left);
	if (status)
		return status;
	if (left || !node_name)
		kind = src_plain_kind(&st);
	else
		status = far_judge(daemon->src.far, daemon->src.choice, path,
				   &st, &kind);
	if (status)
		return status;
	*ret_kind = node_kind_of(kind);
	*ret_st = st;
	return 0;
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

	if (daemon->src.far)
		return look_far(daemon, parent, name, node_name, ret_kind,
				ret_st);
	if (src_hides(name))
		return -ENOENT;
	has = tree_known(&daemon->tree, parent, node_name ? node_name : name,
			 &known_kind, &known);
	status = src_look(&daemon->src, dir_fd, name, has ? &known : NULL,
			  &now);
	if (!status)
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
	INVARIANT(kind != SRC_HIDDEN);
	*ret_kind = node_kind_of(kind);
	*ret_st = now;
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
