/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - where nodes are found: a slot for each id, buckets for names.
 */
#include "tree/table.h"

#include "invariant.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS UINT32_MAX
#define FIRST_SLOTS 64
#define FIRST_BUCKETS 64
/* Buckets that one name more adds at most. */
#define STEP 2

int table_init(struct tree *tree)
{
	tree->buckets = calloc(FIRST_BUCKETS, sizeof(*tree->buckets));
	tree->slots = calloc(FIRST_SLOTS, sizeof(*tree->slots));
	tree->n_buckets = tree->max_buckets = FIRST_BUCKETS;
	tree->bucket_mask = FIRST_BUCKETS - 1;
	tree->n_slots = ROOT_SLOT;	/* 0 is never a node */
	tree->max_slots = FIRST_SLOTS;
	return tree->buckets && tree->slots ? 0 : -ENOMEM;
}

void table_release(struct tree *tree)
{
	free(tree->slots);
	free(tree->buckets);
}

static uint32_t hash_name(uint64_t parent_id, const char *name)
{
	return (uint32_t)hash_text(hash_word(hash_seed(), parent_id), name);
}

/* By one bit less where that bucket is not there yet. */
static struct node **bucket_of(struct tree *tree, uint32_t hash)
{
	size_t i = hash & tree->bucket_mask;

	if (i >= tree->n_buckets)
		i = hash & tree->bucket_mask >> 1;
	return &tree->buckets[i];
}

struct node *table_find(struct tree *tree, const struct node *parent,
			const char *name)
{
	uint32_t hash = hash_name(parent->id, name);
	struct node *node = *bucket_of(tree, hash);

	while (node && !(node->hash == hash && node->parent == parent &&
			 strcmp(node->name, name) == 0))
		node = node->next;
	return node;
}

static bool add_room(struct tree *tree)
{
	struct node **grown;

	if (tree->n_buckets < tree->max_buckets)
		return true;
	grown = realloc(tree->buckets,
			2 * tree->max_buckets * sizeof(*grown));
	if (!grown)
		return false;
	tree->buckets = grown;
	tree->max_buckets *= 2;
	return true;
}

/* One more bucket, to which names of one other move; how many were looked at.
 * Failing to grow costs time only. */
static size_t split(struct tree *tree)
{
	size_t new = tree->n_buckets, n = 0;
	struct node **from, **to, *node;

	if (!add_room(tree))
		return 0;
	if (new > tree->bucket_mask)
		tree->bucket_mask = 2 * tree->bucket_mask + 1;
	tree->n_buckets++;
	from = &tree->buckets[new & tree->bucket_mask >> 1];
	to = &tree->buckets[new];
	*to = NULL;
	for (; (node = *from); n++) {
		if ((node->hash & tree->bucket_mask) != new) {
			from = &node->next;
			continue;
		}
		*from = node->next;
		node->next = *to;
		*to = node;
	}
	return n;
}

static void grow_buckets(struct tree *tree)
{
	size_t n_moved = 0;

	for (int i = 0; i < STEP && tree->n_nodes > tree->n_buckets; i++)
		n_moved += split(tree);
	if (n_moved > tree->most_moved)
		tree->most_moved = n_moved;
}

void table_hash(struct tree *tree, struct node *node)
{
	struct node **bucket;

	/* A name leads to one node. */
	INVARIANT_WALK(!table_find(tree, node->parent, node->name));
	grow_buckets(tree);
	node->hash = hash_name(node->parent->id, node->name);
	bucket = bucket_of(tree, node->hash);
	node->next = *bucket;
	*bucket = node;
	node->hashed = true;
}

void table_unhash(struct tree *tree, struct node *node)
{
	struct node **at;

	if (!node->hashed)
		return;
	at = bucket_of(tree, node->hash);
	while (*at != node) {
		INVARIANT(*at);
		at = &(*at)->next;
	}
	*at = node->next;
	node->hashed = false;
}

/* One slot that was never used. 0: there is no memory for it. */
static uint32_t fresh_slot(struct tree *tree)
{
	struct slot *grown;

	if (tree->n_slots == tree->max_slots) {
		if (tree->max_slots > MAX_SLOTS / 2)
			return 0;
		grown = realloc(tree->slots,
				2 * tree->max_slots * sizeof(*grown));
		if (!grown)
			return 0;
		tree->slots = grown;
		tree->max_slots *= 2;
	}
	tree->slots[tree->n_slots] = (struct slot){ 0 };
	return (uint32_t)tree->n_slots++;
}

int table_take_slot(struct tree *tree, struct node *node)
{
	uint32_t i = tree->first_free;

	if (i)
		tree->first_free = tree->slots[i].next_free;
	else
		i = fresh_slot(tree);
	if (!i)
		return -ENOMEM;
	INVARIANT(i >= ROOT_SLOT && !tree->slots[i].node);
	tree->slots[i].node = node;
	node->id = (uint64_t)tree->slots[i].generation << 32 | i;
	return 0;
}

void table_free_slot(struct tree *tree, uint64_t id)
{
	uint32_t i = (uint32_t)id;

	INVARIANT(tree->slots[i].node &&
		  tree->slots[i].generation == id >> 32);
	tree->slots[i].node = NULL;
	/* A slot whose generations are used up is never used again. */
	if (++tree->slots[i].generation == 0)
		return;
	tree->slots[i].next_free = tree->first_free;
	tree->first_free = i;
}

struct node *table_node(struct tree *tree, uint64_t id)
{
	uint32_t i = (uint32_t)id;

	if (i >= tree->n_slots || tree->slots[i].generation != id >> 32)
		return NULL;
	return tree->slots[i].node;
}
