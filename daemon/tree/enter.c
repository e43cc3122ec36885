/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * enter.c - nodes for entries of the source and for the mount's own folder.
 */
#include "tree/enter.h"

#include "invariant.h"
#include "tree/containers_priv.h"
#include "tree/keepname.h"
#include "tree/nodes_priv.h"
#include "tree/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CONTROL ((size_t)64 << 20)	/* bytes of snapshots in use */

/* The same for what is an entry of the source, or a directory beside one. */
static struct node *add_source(struct tree *tree, struct node *parent,
			       const char *name, enum node_kind kind,
			       const struct src_stat *st)
{
	struct node *node = nodes_add(tree, parent, name, kind);
	unsigned number;

	if (!node)
		return NULL;
	node->st = *st;
	node->st_ino = tree_ino(st, kind, 0);
	if (!strcmp(name, TREE_BESIDE))
		node->suffix = (uint8_t)strlen(name);
	else if (tree->keeps && kind == NODE_CONTAINER)
		node->suffix = (uint8_t)keep_suffix(name, &number);
	return node;
}

bool tree_known(struct tree *tree, struct node *parent, const char *name,
		enum node_kind *ret_kind, struct src_stat *ret_st)
{
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = table_find(tree, parent, name);
	if (node && node->kind != NODE_ENTRY) {
		*ret_kind = (enum node_kind)node->kind;
		*ret_st = node->st;
	}
	pthread_mutex_unlock(&tree->lock);
	return node && node->kind != NODE_ENTRY;
}

/* With the lock held. */
static void set_stat(struct tree *tree, struct node *node,
		     const struct src_stat *st, struct container **closing)
{
	if (node->kind == NODE_CONTAINER &&
	    !src_same_container(&node->st, st)) {
		containers_outdate(tree, node, src_same_file(&node->st, st),
			       closing);
		node->version++;
	}
	node->st = *st;
	if (node != tree->root)
		node->st_ino = tree_ino(st, (enum node_kind)node->kind, 0);
}

void tree_update(struct tree *tree, struct node *node,
		 const struct src_stat *st)
{
	struct container *closing = NULL;

	pthread_mutex_lock(&tree->lock);
	set_stat(tree, node, st, &closing);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

bool tree_note_open(struct tree *tree, struct node *node,
		    const struct src_stat *st)
{
	uint64_t now = tree_mix(st->ino + tree_mix(st->dev + 1));
	bool same;

	now = tree_mix(now + st->size);
	now = tree_mix(now + (uint64_t)st->mtime_sec);
	now = tree_mix(now + st->mtime_nsec) | 1;
	pthread_mutex_lock(&tree->lock);
	same = node->opened_as == now || node->opened_as == 0;
	node->opened_as = now;
	pthread_mutex_unlock(&tree->lock);
	return same;
}

/* A container stays the node it is when its file is replaced: what changes
 * are the entries below. Anything else is a new node then, since the kernel
 * may hold pages of the old one. */
static bool is_same(const struct node *node, enum node_kind kind,
		    const struct src_stat *st)
{
	return node->kind == kind &&
	       (kind == NODE_CONTAINER || src_same_file(&node->st, st));
}

/* With the lock held: it is left to those who have it open. */
static void leave_node(struct tree *tree, struct node *node,
		       struct container **closing)
{
	table_unhash(tree, node);
	if (node->kind == NODE_CONTAINER)
		containers_detach(tree, node, closing);
}

int tree_enter_source(struct tree *tree, struct node *parent,
		      const char *name, enum node_kind kind,
		      const struct src_stat *st, uint64_t *ret_id,
		      uint64_t *ret_ino)
{
	struct container *closing = NULL;
	struct node *node;
	int status = -ENOMEM;

	/* Of these st is not set. */
	INVARIANT(kind != NODE_ENTRY && kind != NODE_CONTROL);
	pthread_mutex_lock(&tree->lock);
	node = table_find(tree, parent, name);
	if (node && !is_same(node, kind, st)) {
		leave_node(tree, node, &closing);
		node = NULL;
	}
	if (node) {
		node->n_lookups++;
		set_stat(tree, node, st, &closing);
	} else {
		node = add_source(tree, parent, name, kind, st);
	}
	if (node) {
		*ret_id = node->id;
		*ret_ino = node->st_ino;
		status = 0;
	}
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
	return status;
}

bool tree_is_control(const struct node *parent, const char *name)
{
	return !parent->parent && strcmp(name, CONTROL_NAME) == 0;
}

/* Numbers as of a source's entry that cannot be. */
uint64_t tree_control_ino(uint32_t file)
{
	static const struct src_stat nowhere = { .dev = UINT64_MAX,
						 .ino = UINT64_MAX };

	return tree_ino(&nowhere, NODE_CONTROL, file);
}

/* With the lock held. */
static struct node *enter_control(struct tree *tree, struct node *parent,
				  const char *name,
				  const struct control *control)
{
	bool folder = control->file == CONTROL_FOLDER;
	struct node *node = folder ? table_find(tree, parent, name) : NULL;

	if (node) {
		node->n_lookups++;
		return node;
	}
	INVARIANT(tree->control_len <= MAX_CONTROL);
	if (control->len > MAX_CONTROL - tree->control_len)
		return NULL;
	node = folder ? nodes_add(tree, parent, name, NODE_CONTROL) :
			nodes_add_nameless(tree, parent, name, NODE_CONTROL);
	if (node) {
		node->control = *control;
		node->st_ino = tree_control_ino(control->file);
		tree->control_len += control->len;
	}
	return node;
}

int tree_enter_control(struct tree *tree, struct node *parent,
		       const char *name, const struct control *control,
		       uint64_t *ret_id)
{
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = enter_control(tree, parent, name, control);
	if (node)
		*ret_id = node->id;
	pthread_mutex_unlock(&tree->lock);
	if (!node)
		free(control->text);
	return node ? 0 : -ENOMEM;
}

void tree_drop(struct tree *tree, struct node *parent, const char *name)
{
	struct container *closing = NULL;
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = table_find(tree, parent, name);
	if (node)
		leave_node(tree, node, &closing);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}
