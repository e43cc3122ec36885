/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.c - open files and directories: made, found, let go.
 */
#include "handle.h"

#include <stdlib.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	struct handle *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct handle *handle_new(struct daemon *daemon, struct node *node)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	atomic_init(&handle->refs, 1);
	handle->node = node;
	handle->fd = -1;
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
	atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
}

void handle_put(struct daemon *daemon, struct handle *handle)
{
	if (atomic_fetch_sub(&handle->refs, 1) != 1)
		return;
	pthread_mutex_lock(&all.lock);
	*handle->at = handle->next;
	if (handle->next)
		handle->next->at = handle->at;
	pthread_mutex_unlock(&all.lock);
	if (handle->frame)
		tree_put_frame(&daemon->tree, handle->frame);
	if (handle->fd >= 0)
		close(handle->fd);
	if (handle->dir)
		closedir(handle->dir);
	pthread_mutex_destroy(&handle->lock);
	tree_closed(&daemon->tree, handle->node);
	free(handle);
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

struct bloscfs_node handle_entry(const struct node *node)
{
	return node->kind == NODE_ENTRY ? node->entry.node : bloscfs_root();
}
