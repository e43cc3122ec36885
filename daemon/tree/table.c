/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - where nodes are found: a slot for each id, buckets for names.
 */
#include "tree/table.h"

#include "invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS UINT32_MAX

static uint32_t hash_name(uint64_t parent_id, const char *name)
{
	uint64_t key = tree_mix(parent_id);

	for (const unsigned char *s = (const unsigned char *)name; *s; s++)
		key = (key ^ *s) * UINT64_C(0x100000001b3);
	return (uint32_t)tree_mix(key);
}

static struct node **bucket_of(struct tree *tree, uint32_t hash)
{
	return &tree->buckets[hash & (tree->n_buckets - 1)];
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

/* Failing to grow costs time only. */
static void grow_buckets(struct tree *tree)
{
	size_t n_old = tree->n_buckets;
	struct node **old = tree->buckets, *node, **bucket;
	struct node **grown = calloc(2 * n_old, sizeof(*grown));

	if (!grown)
		return;
	tree->buckets = grown;
	tree->n_buckets = 2 * n_old;
	for (size_t i = 0; i < n_old; i++) {
		while ((node = old[i])) {
			old[i] = node->next;
			bucket = bucket_of(tree, node->hash);
			node->next = *bucket;
			*bucket = node;
		}
	}
	free(old);
}

void table_hash(struct tree *tree, struct node *node)
{
	struct node **bucket;

	if (tree->n_nodes > tree->n_buckets)
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
	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	node->hashed = false;
}

int table_grow_slots(struct tree *tree)
{
	size_t n_old = tree->n_slots, n_new = n_old ? 2 * n_old : 64;
	struct slot *grown;

	if (n_new > MAX_SLOTS)
		return -ENOMEM;
	grown = realloc(tree->slots, n_new * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	tree->slots = grown;
	tree->n_slots = n_new;
	if (n_old == 0)
		n_old = ROOT_SLOT + 1;	/* 0 is never a node */
	for (size_t i = n_new; i-- > n_old;) {
		grown[i] = (struct slot){
			.next_free = tree->first_free,
		};
		tree->first_free = (uint32_t)i;
	}
	return 0;
}

int table_take_slot(struct tree *tree, struct node *node)
{
	uint32_t i;

	if (!tree->first_free) {
		int error = table_grow_slots(tree);

		if (error)
			return error;
	}
	i = tree->first_free;
	tree->first_free = tree->slots[i].next_free;
	tree->slots[i].node = node;
	node->id = (uint64_t)tree->slots[i].generation << 32 | i;
	return 0;
}

void table_free_slot(struct tree *tree, uint64_t id)
{
	uint32_t i = (uint32_t)id;

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
