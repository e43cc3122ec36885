/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.c - opened containers: one per node, shared by its users, kept
 * for a while when idle.
 *
 * A frame without users is in the list of the idle exactly if it has a node.
 */
#include "tree/containers_priv.h"

#include "invariant.h"

#include <stdlib.h>

/* Those used last stay open where memory is short: more than the one of a mount
 * of a single container. */
#define SHED_IDLE 4

static void unlink_idle(struct tree *tree, struct frame *frame)
{
	if (frame->newer)
		frame->newer->older = frame->older;
	else
		tree->newest = frame->older;
	if (frame->older)
		frame->older->newer = frame->newer;
	else
		tree->oldest = frame->newer;
	frame->newer = frame->older = NULL;
	INVARIANT(tree->n_idle > 0);
	tree->n_idle--;
}

static void link_idle(struct tree *tree, struct frame *frame)
{
	frame->older = tree->newest;
	frame->newer = NULL;
	if (tree->newest)
		tree->newest->newer = frame;
	else
		tree->oldest = frame;
	tree->newest = frame;
	tree->n_idle++;
}

static void collect(struct tree *tree, struct frame *frame,
		    struct frame **closing)
{
	frame->older = *closing;
	*closing = frame;
	INVARIANT(tree->n_frames > 0);
	tree->n_frames--;
}

void frames_detach(struct tree *tree, struct node *node,
		   struct frame **closing)
{
	struct frame *frame = node->frame;

	if (!frame)
		return;
	node->frame = NULL;
	frame->node = NULL;
	/* Entries that name a container inside hold for one opening. */
	if (bloscfs_has_children(frame->file))
		node->inside = true;
	if (frame->refs)
		return;
	unlink_idle(tree, frame);
	collect(tree, frame, closing);
}

void frames_outdate(struct tree *tree, struct node *node, bool same_file,
		    struct frame **closing)
{
	if (node->frame)
		atomic_store(&node->frame->replaced, true);
	if (!same_file)
		frames_detach(tree, node, closing);
}

void frames_close(struct frame *closing)
{
	struct frame *frame;

	while ((frame = closing)) {
		closing = frame->older;
		bloscfs_close(frame->file);
		free(frame);
	}
}

static struct frame *take(struct tree *tree, struct frame *frame)
{
	if (frame->refs++ == 0)
		unlink_idle(tree, frame);
	return frame;
}

/* With the lock held. A container that was opened while it was written to is
 * opened once more when that is over: what was read then may be of before. */
static bool is_outdated(struct node *node, struct frame *frame,
			const struct src_stat *st)
{
	if (atomic_load(&frame->replaced))
		return true;
	if (src_same_container(&frame->st, st)) {
		if (!frame->hot || src_is_hot(st, src_now()))
			return false;
		node->version++;
	}
	atomic_store(&frame->replaced, true);
	return true;
}

struct frame *tree_find_frame(struct tree *tree, struct node *node,
			      const struct src_stat *st)
{
	struct frame *frame;

	pthread_mutex_lock(&tree->lock);
	frame = node->frame;
	if (frame && is_outdated(node, frame, st))
		frame = NULL;
	if (frame) {
		atomic_store_explicit(&frame->seen, src_now(),
				      memory_order_relaxed);
		take(tree, frame);
	}
	pthread_mutex_unlock(&tree->lock);
	return frame;
}

struct frame *tree_last_frame(struct tree *tree, struct node *node)
{
	struct frame *frame;

	pthread_mutex_lock(&tree->lock);
	frame = node->frame;
	if (frame) {
		/* Entries are only ever made for a version with a frame. */
		node->version = frame->version;
		frame->hot = false;
		atomic_store(&frame->replaced, false);
		take(tree, frame);
	}
	pthread_mutex_unlock(&tree->lock);
	return frame;
}

struct frame *tree_any_frame(struct tree *tree, struct node *node)
{
	struct frame *frame;

	pthread_mutex_lock(&tree->lock);
	frame = node->frame;
	if (frame)
		take(tree, frame);
	pthread_mutex_unlock(&tree->lock);
	return frame;
}

/* With the lock held. */
static struct frame *attach(struct tree *tree, struct node *node,
			    struct frame *fresh, const struct frame *continues,
			    struct frame **closing)
{
	bool goes_on = continues && continues == node->frame;

	if (node->frame && !atomic_load(&node->frame->replaced) &&
	    src_same_container(&node->frame->st, &fresh->st)) {
		collect(tree, fresh, closing);
		return take(tree, node->frame);
	}
	frames_detach(tree, node, closing);
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
	node->frame = fresh;
	return fresh;
}

struct frame *tree_add_frame(struct tree *tree, struct node *node,
			     const struct opened *opened)
{
	struct frame *frame = calloc(1, sizeof(*frame)), *closing = NULL;

	if (!frame) {
		bloscfs_close(opened->file);
		return NULL;
	}
	frame->file = opened->file;
	frame->st = opened->st;
	frame->hot = opened->hot;
	atomic_init(&frame->seen, src_now());
	pthread_mutex_lock(&tree->lock);
	tree->n_frames++;
	frame = attach(tree, node, frame, opened->continues, &closing);
	pthread_mutex_unlock(&tree->lock);
	frames_close(closing);
	return frame;
}

struct frame *tree_hold_frame(struct tree *tree, struct frame *frame)
{
	pthread_mutex_lock(&tree->lock);
	take(tree, frame);
	pthread_mutex_unlock(&tree->lock);
	return frame;
}

/* With the lock held: closes the longest idle while there are too many. */
static void trim_idle(struct tree *tree, size_t most, struct frame **closing)
{
	while (tree->n_idle > most)
		frames_detach(tree, tree->oldest->node, closing);
}

void tree_shed_idle(struct tree *tree)
{
	struct frame *closing = NULL;

	pthread_mutex_lock(&tree->lock);
	trim_idle(tree, SHED_IDLE, &closing);
	pthread_mutex_unlock(&tree->lock);
	frames_close(closing);
}

void tree_put_frame(struct tree *tree, struct frame *frame)
{
	struct frame *closing = NULL;

	pthread_mutex_lock(&tree->lock);
	INVARIANT(frame->refs > 0);
	if (--frame->refs == 0) {
		if (frame->node) {
			link_idle(tree, frame);
			trim_idle(tree, tree->max_idle, &closing);
		} else {
			collect(tree, frame, &closing);
		}
	}
	pthread_mutex_unlock(&tree->lock);
	frames_close(closing);
}

/* Idle frames, the oldest first, each with a reference. */
static size_t hold_idle(struct tree *tree, struct frame **list, size_t cap)
{
	struct frame *frame, *next;
	size_t n = 0;

	pthread_mutex_lock(&tree->lock);
	for (frame = tree->oldest; frame && n < cap; frame = next) {
		next = frame->newer;
		list[n++] = take(tree, frame);
	}
	pthread_mutex_unlock(&tree->lock);
	return n;
}

void tree_sweep(struct tree *tree)
{
	struct frame **list = calloc(tree->max_idle + 1, sizeof(*list));
	struct frame *closing = NULL;
	size_t n = list ? hold_idle(tree, list, tree->max_idle + 1) : 0;

	for (size_t i = 0; i < n; i++) {
		if (bloscfs_is_removed(list[i]->file)) {
			pthread_mutex_lock(&tree->lock);
			/* The one file of a mount may be gone. */
			if (list[i]->node && list[i]->node->parent)
				frames_detach(tree, list[i]->node, &closing);
			pthread_mutex_unlock(&tree->lock);
		}
		tree_put_frame(tree, list[i]);
	}
	frames_close(closing);
	free(list);
}
