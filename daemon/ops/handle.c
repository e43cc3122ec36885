/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.c - open files and directories: made, found, let go.
 */
#include "ops/handle.h"

#include "call.h"
#include "invariant.h"
#include "ops/through.h"
#include "remote/shelf.h"
#include "tree/opening.h"

#include <errno.h>
#include <stdlib.h>

static struct {
	pthread_mutex_t lock;
	struct handle *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct handle *make_handle(struct daemon *daemon, struct node *node)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	atomic_init(&handle->refs, 1);
	handle->node = node;
	pthread_mutex_init(&handle->lock, NULL);
	tree_opened(&daemon->tree, node);
	pthread_mutex_lock(&all.lock);
	handle->next = all.first;
	handle->at = &all.first;
	if (handle->next)
		handle->next->at = &handle->next;
	all.first = handle;
	pthread_mutex_unlock(&all.lock);
	return handle;
}

void handle_ref(struct handle *handle)
{
	unsigned refs = atomic_fetch_add_explicit(&handle->refs, 1,
						  memory_order_relaxed);

	INVARIANT(refs > 0);
}

void handle_close_dir(struct daemon *daemon, struct handle *handle)
{
	unsigned n_dirs;

	if (!handle->dir)
		return;
	closedir(handle->dir);
	handle->dir = NULL;
	n_dirs = atomic_fetch_sub(&daemon->n_dirs, 1);
	INVARIANT(n_dirs > 0);
}

void handle_put(struct daemon *daemon, struct handle *handle)
{
	unsigned refs = atomic_fetch_sub(&handle->refs, 1);

	INVARIANT(refs > 0);
	if (refs > 1)
		return;
	pthread_mutex_lock(&all.lock);
	INVARIANT(*handle->at == handle);
	*handle->at = handle->next;
	if (handle->next)
		handle->next->at = handle->at;
	pthread_mutex_unlock(&all.lock);
	if (handle->container) {
		if (daemon->opts->drop_behind)
			bloscfs_rest(handle->container->file);
		tree_put_container(&daemon->tree, handle->container);
	}
	through_close(daemon, handle->through);
	bloscfs_fd_free(handle->file);
	shelf_give(handle->lent);
	handle_close_dir(daemon, handle);
	free(handle->places);
	pthread_mutex_destroy(&handle->lock);
	tree_closed(&daemon->tree, handle->node);
	free(handle);
}

bool handle_answer_open(struct daemon *daemon, struct task *task,
			handle_opener *open)
{
	struct node *node = tree_get(&daemon->tree, task->id);
	struct handle *handle = NULL;
	bool is_void;
	int status = -ESTALE;

	if (node) {
		handle = make_handle(daemon, node);
		status = handle ? open(daemon, node, handle, &task->fi) :
				  -ENOMEM;
		tree_put(&daemon->tree, node);
	}
	task->fi.fh = (uintptr_t)handle;
	is_void = call_is_void();
	/* An interrupted open is never released by the kernel. */
	if (is_void)
		status = -EINTR;
	else if (status)
		fuse_reply_err(task->req, -status);
	else if (fuse_reply_open(task->req, &task->fi) == -ENOENT)
		status = -EINTR;
	if (status && handle)
		handle_put(daemon, handle);
	return !is_void;
}

void handle_free_all(struct daemon *daemon)
{
	while (all.first)
		handle_put(daemon, all.first);
}

struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* Whether there is hope for a follower of the handle's container. */
static bool may_follow(struct handle *handle)
{
	bool may;

	if (handle->node->kind != NODE_ENTRY || !handle->node->entry.keeps)
		return false;
	pthread_mutex_lock(&handle->lock);
	may = !handle->stuck;
	pthread_mutex_unlock(&handle->lock);
	return may;
}

bool handle_follow(struct daemon *daemon, struct handle *handle,
		   const struct container *last)
{
	struct container *next, *old = NULL;
	bool moved;
	int status;

	if (!may_follow(handle))
		return false;
	status = look_container(daemon, handle->node, &next);
	pthread_mutex_lock(&handle->lock);
	if (!status) {
		old = handle->container;
		handle->container = next;
	}
	handle->stuck = status == -ESTALE;
	moved = handle->container != last;
	pthread_mutex_unlock(&handle->lock);
	if (old)
		tree_put_container(&daemon->tree, old);
	return moved;
}

struct container *handle_container(struct daemon *daemon, struct handle *handle)
{
	struct container *container;
	int i;

	for (i = 0;; i++) {
		pthread_mutex_lock(&handle->lock);
		/* What lies in a container was opened with it. */
		INVARIANT(handle->container);
		container =
			tree_hold_container(&daemon->tree, handle->container);
		pthread_mutex_unlock(&handle->lock);
		if (i > 0 || !atomic_load(&container->replaced) ||
		    !handle_follow(daemon, handle, container))
			return container;
		tree_put_container(&daemon->tree, container);
	}
}

struct bloscfs_node handle_entry(const struct node *node)
{
	return node->kind == NODE_ENTRY ? node->entry.node : bloscfs_root();
}
