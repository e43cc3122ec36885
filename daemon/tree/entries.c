/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entries.c - nodes for entries within containers.
 */
#include "tree/entries.h"

#include "invariant.h"
#include "tree/nodes_priv.h"
#include "tree/table.h"

#include <errno.h>

/* With the lock held: whether an entry of one version is one of another. */
static bool goes_on(const struct node *owner, const struct entry *entry,
		    uint32_t version)
{
	return entry->version == version ||
	       (entry->keeps && entry->version >= owner->since &&
		version + 1 == owner->settled);
}

static bool is_same_entry(const struct node *owner, const struct entry *a,
			  const struct entry *b)
{
	return a->node.view == b->node.view && a->node.kind == b->node.kind &&
	       a->node.child == b->node.child &&
	       a->node.index == b->node.index &&
	       goes_on(owner, a, b->version);
}

/* Whether it is a directory never changes, and is read without the lock. */
static void set_sizes(struct node *node, const struct bloscfs_attr *attr)
{
	INVARIANT(node->kind == NODE_ENTRY);
	node->entry.attr.size = attr->size;
	node->entry.attr.stored = attr->stored;
}

int tree_enter_entry(struct tree *tree, struct node *parent,
		     const char *name, const struct entry *entry,
		     uint64_t *ret_id, uint64_t *ret_ino)
{
	const struct node *owner = tree_owner(parent);
	struct node *node;
	int status = -ENOMEM;

	pthread_mutex_lock(&tree->lock);
	if (owner->version != entry->version) {
		pthread_mutex_unlock(&tree->lock);
		return -ESTALE;
	}
	node = table_find(tree, parent, name);
	INVARIANT(owner->kind == NODE_CONTAINER);
	/* Below a container there is nothing else: entry is what is set. */
	INVARIANT(!node || node->kind == NODE_ENTRY);
	if (node && !is_same_entry(owner, &node->entry, entry)) {
		table_unhash(tree, node);
		node = NULL;
	}
	if (node) {
		node->n_lookups++;
		set_sizes(node, &entry->attr);
	} else {
		node = nodes_add(tree, parent, name, NODE_ENTRY);
		if (node) {
			node->entry = *entry;
			node->st_ino = tree_ino(&owner->st, NODE_ENTRY,
						entry->number);
		}
	}
	if (node) {
		*ret_id = node->id;
		*ret_ino = node->st_ino;
		status = 0;
	}
	pthread_mutex_unlock(&tree->lock);
	return status;
}

bool tree_is_current(struct tree *tree, struct node *entry)
{
	const struct node *owner = tree_owner(entry);
	bool current;

	INVARIANT(entry->kind == NODE_ENTRY);
	pthread_mutex_lock(&tree->lock);
	current = owner->version == entry->entry.version;
	pthread_mutex_unlock(&tree->lock);
	return current;
}

struct bloscfs_attr tree_entry_attr(struct tree *tree, struct node *entry)
{
	struct bloscfs_attr attr;

	pthread_mutex_lock(&tree->lock);
	attr = entry->entry.attr;
	pthread_mutex_unlock(&tree->lock);
	return attr;
}

void tree_note_attr(struct tree *tree, struct node *entry,
		    const struct bloscfs_attr *attr)
{
	pthread_mutex_lock(&tree->lock);
	set_sizes(entry, attr);
	pthread_mutex_unlock(&tree->lock);
}

bool tree_holds(struct tree *tree, struct node *entry,
		const struct container *container)
{
	bool holds;

	pthread_mutex_lock(&tree->lock);
	holds = goes_on(tree_owner(entry), &entry->entry, container->version);
	pthread_mutex_unlock(&tree->lock);
	return holds;
}

bool tree_note_entry(struct tree *tree, struct node *entry, uint32_t version)
{
	bool same;

	INVARIANT(entry->kind == NODE_ENTRY);
	pthread_mutex_lock(&tree->lock);
	same = entry->opened == 0 || entry->opened == version + 1;
	entry->opened = version + 1;
	pthread_mutex_unlock(&tree->lock);
	return same;
}
