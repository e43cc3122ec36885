/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.c - the lives of nodes: made, counted, let go.
 *
 * No lock is held over I/O: callers look at the source first and tell the
 * tree what they found. Opened containers are tree/containers.c's.
 */
#include "tree/nodes.h"

#include "invariant.h"
#include "tree/containers_priv.h"
#include "tree/nodes_priv.h"
#include "tree/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a node takes of the heap, but for its name; and from what difference on
 * the library is told. */
#define NODE_LEN (sizeof(struct node) + 24)
#define TELL_LEN ((size_t)64 << 10)

uint64_t tree_ino(const struct src_stat *st, enum node_kind kind,
		  uint64_t number)
{
	uint64_t ino = tree_mix(st->ino + tree_mix(st->dev + 1));

	/* Containers and plain files never share a number's meaning. */
	ino = tree_mix(ino + kind);
	ino = tree_mix(ino + number);
	return ino < 2 ? ino + 2 : ino;
}

static struct node *make_node(const char *name, enum node_kind kind)
{
	size_t len = strlen(name) + 1;
	struct node *node = calloc(1, sizeof(*node) + len);

	if (!node)
		return NULL;
	memcpy(node->name, name, len);
	node->kind = (uint8_t)kind;
	return node;
}

static void free_node(struct node *node)
{
	if (node->kind == NODE_CONTROL)
		free(node->control.text);
	free(node);
}

/* With the lock held: the memory of nodes counts against max_memory. */
static void tell_memory(struct tree *tree)
{
	size_t len = tree->n_nodes * NODE_LEN + tree->name_len +
		     tree->max_slots * sizeof(*tree->slots) +
		     tree->max_buckets * sizeof(*tree->buckets);
	size_t differs = len > tree->told_len ? len - tree->told_len :
						tree->told_len - len;

	if (!tree->fs || differs < TELL_LEN)
		return;
	tree->told_len = len;
	bloscfs_beside(tree->fs, len);
}

/* A new node below parent, with one lookup, that no name leads to. */
struct node *nodes_add_nameless(struct tree *tree, struct node *parent,
				const char *name, enum node_kind kind)
{
	struct node *node = make_node(name, kind);

	/* Whoever adds to a folder holds it. */
	INVARIANT(parent->refs > 0);
	if (!node || table_take_slot(tree, node)) {
		free(node);
		return NULL;
	}
	node->parent = parent;
	parent->refs++;
	node->n_lookups = 1;
	tree->n_nodes++;
	tree->name_len += strlen(name);
	tell_memory(tree);
	return node;
}

/* The same, hashed. */
struct node *nodes_add(struct tree *tree, struct node *parent,
		       const char *name, enum node_kind kind)
{
	struct node *node = nodes_add_nameless(tree, parent, name, kind);

	if (node)
		table_hash(tree, node);
	return node;
}

static bool is_unused(const struct node *node)
{
	return node->parent && !node->refs && !node->n_lookups;
}

/* Frees an unused node; its parent may be unused by now. */
static struct node *let_go(struct tree *tree, struct node *node,
			   struct container **closing)
{
	struct node *parent = node->parent;

	INVARIANT(is_unused(node) && !node->waiting && node->n_opens == 0);
	if (node->kind == NODE_CONTAINER)
		containers_detach(tree, node, closing);
	INVARIANT(node->kind != NODE_CONTROL ||
		  tree->control_len >= node->control.len);
	if (node->kind == NODE_CONTROL)
		tree->control_len -= node->control.len;
	table_unhash(tree, node);
	table_free_slot(tree, node->id);
	/* The root stays. */
	INVARIANT(tree->n_nodes > 1 && tree->name_len >= strlen(node->name));
	tree->n_nodes--;
	tree->name_len -= strlen(node->name);
	free_node(node);
	tell_memory(tree);
	INVARIANT(parent->refs > 0);
	parent->refs--;
	return parent;
}

/* Puts an unused node in line to be freed, in the place of the one that
 * waited longest. If that is unused still it is freed: its parent, or NULL. */
static struct node *wait_in_line(struct tree *tree, struct node *node,
				 struct container **closing)
{
	uint64_t *place = &tree->waiting[tree->next_waiting];
	struct node *first = table_node(tree, *place);

	tree->next_waiting = (tree->next_waiting + 1) % TREE_WAITING;
	*place = node->id;
	node->waiting = true;
	if (!first)
		return NULL;
	first->waiting = false;
	return is_unused(first) ? let_go(tree, first, closing) : NULL;
}

/* Lets go of a node that nothing holds any more, and then of its parents
 * alike. Containers to close come back as a list. */
static struct container *reap(struct tree *tree, struct node *node)
{
	struct container *closing = NULL;

	while (node && is_unused(node) && !node->waiting)
		/* What its name has left will not be found again. */
		node = node->hashed ? wait_in_line(tree, node, &closing) :
				      let_go(tree, node, &closing);
	return closing;
}

int tree_init(struct tree *tree, enum node_kind kind,
	      const struct src_stat *st, size_t max_idle)
{
	*tree = (struct tree){ .max_idle = max_idle };
	pthread_mutex_init(&tree->lock, NULL);
	tree->waiting = calloc(TREE_WAITING, sizeof(*tree->waiting));
	tree->root = make_node("", kind);
	if (table_init(tree) || !tree->waiting || !tree->root ||
	    table_take_slot(tree, tree->root)) {
		tree_release(tree);
		return -ENOMEM;
	}
	INVARIANT(tree->root->id == ROOT_SLOT);
	tree->root->st_ino = 1;
	tree->root->st = *st;
	tree->n_nodes = 1;
	return 0;
}

void tree_release(struct tree *tree)
{
	struct node *node;

	/* It may also be one that could not be made. */
	INVARIANT_WALK(tree->n_nodes == 0 || tree_is_sound(tree));
	for (size_t i = ROOT_SLOT; tree->slots && i < tree->n_slots; i++) {
		struct container *closing = NULL;

		node = tree->slots[i].node;
		if (!node)
			continue;
		if (node->kind == NODE_CONTAINER)
			containers_detach(tree, node, &closing);
		containers_close(closing);
		if (node != tree->root)
			free_node(node);
	}
	free(tree->root);
	table_release(tree);
	free(tree->waiting);
	pthread_mutex_destroy(&tree->lock);
	*tree = (struct tree){ 0 };
}

struct node *tree_get(struct tree *tree, uint64_t id)
{
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = table_node(tree, id);
	if (node)
		node->refs++;
	pthread_mutex_unlock(&tree->lock);
	return node;
}

void tree_put(struct tree *tree, struct node *node)
{
	struct container *closing;

	pthread_mutex_lock(&tree->lock);
	INVARIANT(node->refs > 0);
	node->refs--;
	closing = reap(tree, node);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

void tree_opened(struct tree *tree, struct node *node)
{
	pthread_mutex_lock(&tree->lock);
	INVARIANT(node->refs > 0);
	node->refs++;
	node->n_opens++;
	pthread_mutex_unlock(&tree->lock);
}

void tree_closed(struct tree *tree, struct node *node)
{
	pthread_mutex_lock(&tree->lock);
	/* Each opening holds a reference. */
	INVARIANT(node->n_opens > 0 && node->refs >= node->n_opens);
	node->n_opens--;
	pthread_mutex_unlock(&tree->lock);
	tree_put(tree, node);
}

void tree_forget(struct tree *tree, uint64_t id, uint64_t n_lookups)
{
	struct container *closing = NULL;
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = table_node(tree, id);
	if (node) {
		node->n_lookups -= n_lookups < node->n_lookups ?
				   n_lookups : node->n_lookups;
		closing = reap(tree, node);
	}
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

void tree_looked_up(struct tree *tree, struct node *node)
{
	pthread_mutex_lock(&tree->lock);
	INVARIANT(node->refs > 0 || !node->parent);
	node->n_lookups++;
	pthread_mutex_unlock(&tree->lock);
}

void tree_count(struct tree *tree, uint64_t *ret_nodes,
		uint64_t *ret_open, uint64_t *ret_idle)
{
	pthread_mutex_lock(&tree->lock);
	*ret_nodes = tree->n_nodes;
	*ret_open = tree->n_containers;
	*ret_idle = tree->n_idle;
	pthread_mutex_unlock(&tree->lock);
}

bool tree_is_beside(const struct node *node)
{
	return strcmp(node->name, TREE_BESIDE) == 0;
}

struct node *tree_owner(struct node *node)
{
	while (node->kind == NODE_ENTRY) {
		INVARIANT(node->parent);
		node = node->parent;
	}
	return node;
}

void tree_stat(struct tree *tree, struct node *node, struct src_stat *ret_st,
	       uint64_t *ret_ino, bool *ret_open)
{
	const struct node *source = tree_owner(node);

	pthread_mutex_lock(&tree->lock);
	*ret_st = source->st;
	*ret_ino = node->st_ino;
	*ret_open = node->n_opens > 0;
	pthread_mutex_unlock(&tree->lock);
}
