/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.c - opened containers: one per node, shared by its users, kept
 * for a while when idle.
 *
 * A container without users is in the list of the idle exactly if it has a
 * node.
 */
#include "tree/containers_priv.h"

#include "invariant.h"

#include <stdlib.h>

/* Those used last stay open where memory is short: more than the one of a mount
 * of a single container. */
#define SHED_IDLE 4
/* Descriptors of SOURCE beyond which idle containers are closed. */
#define MAX_RESTING_FILES 512

static void unlink_idle(struct tree *tree, struct container *container)
{
	INVARIANT(container->newer || tree->newest == container);
	INVARIANT(container->older || tree->oldest == container);
	if (container->newer)
		container->newer->older = container->older;
	else
		tree->newest = container->older;
	if (container->older)
		container->older->newer = container->newer;
	else
		tree->oldest = container->newer;
	container->newer = container->older = NULL;
	INVARIANT(tree->n_idle > 0);
	tree->n_idle--;
}

static void link_idle(struct tree *tree, struct container *container)
{
	INVARIANT(container->refs == 0 && container->node);
	container->older = tree->newest;
	container->newer = NULL;
	if (tree->newest)
		tree->newest->newer = container;
	else
		tree->oldest = container;
	tree->newest = container;
	tree->n_idle++;
}

static void collect(struct tree *tree, struct container *container,
		    struct container **closing)
{
	INVARIANT(container->refs == 0 && !container->node);
	container->older = *closing;
	*closing = container;
	INVARIANT(tree->n_containers > 0);
	tree->n_containers--;
}

void containers_detach(struct tree *tree, struct node *node,
		       struct container **closing)
{
	struct container *container = node->container;

	if (!container)
		return;
	INVARIANT(container->node == node);
	node->container = NULL;
	container->node = NULL;
	/* Entries that name a container inside hold for one opening. */
	if (bloscfs_has_children(container->file))
		node->inside = true;
	if (container->refs)
		return;
	unlink_idle(tree, container);
	collect(tree, container, closing);
}

void containers_outdate(struct tree *tree, struct node *node, bool same_file,
			struct container **closing)
{
	if (node->container)
		atomic_store(&node->container->replaced, true);
	if (!same_file)
		containers_detach(tree, node, closing);
}

void containers_close(struct container *closing)
{
	struct container *container;

	while ((container = closing)) {
		closing = container->older;
		bloscfs_close(container->file);
		free(container);
	}
}

static struct container *take(struct tree *tree, struct container *container)
{
	/* Without users it is the node's, or closed already. */
	INVARIANT(container->refs > 0 || container->node);
	if (container->refs++ == 0)
		unlink_idle(tree, container);
	return container;
}

/* With the lock held. A container that was opened while it was written to is
 * opened once more when that is over: what was read then may be of before. */
static bool is_outdated(struct node *node, struct container *container,
			const struct src_stat *st)
{
	if (atomic_load(&container->replaced))
		return true;
	if (src_same_container(&container->st, st)) {
		if (!container->hot || src_is_hot(st, src_now()))
			return false;
		node->version++;
	}
	atomic_store(&container->replaced, true);
	return true;
}

struct container *tree_find_container(struct tree *tree, struct node *node,
				      const struct src_stat *st)
{
	struct container *container;

	pthread_mutex_lock(&tree->lock);
	container = node->container;
	if (container && is_outdated(node, container, st))
		container = NULL;
	if (container) {
		atomic_store_explicit(&container->seen, src_now(),
				      memory_order_relaxed);
		take(tree, container);
	}
	pthread_mutex_unlock(&tree->lock);
	return container;
}

struct container *tree_last_container(struct tree *tree, struct node *node)
{
	struct container *container;

	pthread_mutex_lock(&tree->lock);
	container = node->container;
	if (container) {
		/* Entries are only ever made for a version with a container. */
		node->version = container->version;
		container->hot = false;
		atomic_store(&container->replaced, false);
		take(tree, container);
	}
	pthread_mutex_unlock(&tree->lock);
	return container;
}

struct container *tree_any_container(struct tree *tree, struct node *node)
{
	struct container *container;

	pthread_mutex_lock(&tree->lock);
	container = node->container;
	if (container)
		take(tree, container);
	pthread_mutex_unlock(&tree->lock);
	return container;
}

/* With the lock held. */
static struct container *attach(struct tree *tree, struct node *node,
				struct container *fresh,
				const struct container *continues,
				struct container **closing)
{
	bool goes_on = continues && continues == node->container;

	INVARIANT(node->kind == NODE_CONTAINER);
	/* Who compares with it holds it. */
	INVARIANT(!continues || continues->refs > 0);
	if (node->container && !atomic_load(&node->container->replaced) &&
	    src_same_container(&node->container->st, &fresh->st)) {
		collect(tree, fresh, closing);
		return take(tree, node->container);
	}
	containers_detach(tree, node, closing);
	if (!src_same_container(&node->st, &fresh->st) || node->inside)
		node->version++;
	node->inside = false;
	node->st = fresh->st;
	if (!goes_on)
		/* Of another opening of the same nothing is known later. */
		node->since = node->version +
			      (node->settled == node->version + 1);
	node->settled = node->version + 1;
	fresh->version = node->version;
	fresh->node = node;
	fresh->refs = 1;
	node->container = fresh;
	return fresh;
}

struct container *tree_add_container(struct tree *tree, struct node *node,
				     const struct opened *opened)
{
	struct container *container = calloc(1, sizeof(*container)),
			 *closing = NULL;

	if (!container) {
		bloscfs_close(opened->file);
		return NULL;
	}
	container->file = opened->file;
	container->st = opened->st;
	container->hot = opened->hot;
	atomic_init(&container->seen, src_now());
	pthread_mutex_lock(&tree->lock);
	tree->n_containers++;
	container = attach(tree, node, container, opened->continues, &closing);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
	return container;
}

struct container *tree_hold_container(struct tree *tree,
				      struct container *container)
{
	pthread_mutex_lock(&tree->lock);
	take(tree, container);
	pthread_mutex_unlock(&tree->lock);
	return container;
}

/* With the lock held: closes the longest idle while there are too many. */
static void trim_idle(struct tree *tree, size_t most,
		      struct container **closing)
{
	while (tree->n_idle > most) {
		INVARIANT(tree->oldest && tree->oldest->node);
		containers_detach(tree, tree->oldest->node, closing);
	}
}

void tree_shed_idle(struct tree *tree)
{
	struct container *closing = NULL;

	pthread_mutex_lock(&tree->lock);
	trim_idle(tree, SHED_IDLE, &closing);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

/* With the lock held: whether no name leads to the node any more. What is
 * opened there, by who stands in it, nobody else will find. */
static bool is_left(const struct node *node)
{
	return node->parent && !node->hashed;
}

void tree_put_container(struct tree *tree, struct container *container)
{
	struct container *closing = NULL;

	pthread_mutex_lock(&tree->lock);
	INVARIANT(container->refs > 0);
	if (--container->refs == 0) {
		if (container->node) {
			link_idle(tree, container);
			if (is_left(container->node))
				containers_detach(tree, container->node,
						  &closing);
			trim_idle(tree, tree->max_idle, &closing);
		} else {
			collect(tree, container, &closing);
		}
	}
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

/* Idle containers, the oldest first, each with a reference. */
static size_t hold_idle(struct tree *tree, struct container **list, size_t cap)
{
	struct container *container, *next;
	size_t n = 0;

	pthread_mutex_lock(&tree->lock);
	INVARIANT_WALK(tree_is_sound(tree));
	for (container = tree->oldest; container && n < cap; container = next) {
		next = container->newer;
		list[n++] = take(tree, container);
	}
	pthread_mutex_unlock(&tree->lock);
	return n;
}

/* With the lock held: whether a swept container is of no use. One whose file
 * was written to may be gone on from, for as long as it counts as watched. */
static bool is_past(const struct container *container)
{
	const struct node *node = container->node;
	int64_t seen = atomic_load_explicit(&container->seen,
					    memory_order_relaxed);

	/* A folder above may be left, too. */
	while (node->parent && node->hashed)
		node = node->parent;
	return node->parent || (atomic_load(&container->replaced) &&
				src_now() - seen >= WATCHED_NS);
}

/* Closes what has idled for longest while idle ones hold many descriptors. The
 * one file of a mount may be gone, and stays open. */
static void rest_files(struct tree *tree)
{
	bool more = true;

	while (more && bloscfs_fd_count() > MAX_RESTING_FILES) {
		struct container *closing = NULL;

		pthread_mutex_lock(&tree->lock);
		if (tree->oldest && tree->oldest->node->parent)
			containers_detach(tree, tree->oldest->node, &closing);
		pthread_mutex_unlock(&tree->lock);
		more = closing != NULL;
		containers_close(closing);
	}
}

void tree_sweep(struct tree *tree)
{
	struct container **list = calloc(tree->max_idle + 1, sizeof(*list));
	struct container *closing = NULL;
	size_t n = list ? hold_idle(tree, list, tree->max_idle + 1) : 0;

	for (size_t i = 0; i < n; i++) {
		bool removed = bloscfs_is_removed(list[i]->file);

		pthread_mutex_lock(&tree->lock);
		/* The one file of a mount may be gone. */
		if (list[i]->node && list[i]->node->parent &&
		    (removed || is_past(list[i])))
			containers_detach(tree, list[i]->node, &closing);
		pthread_mutex_unlock(&tree->lock);
		tree_put_container(tree, list[i]);
	}
	containers_close(closing);
	free(list);
	rest_files(tree);
}
