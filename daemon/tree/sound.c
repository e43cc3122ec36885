/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sound.c - whether the parts of a tree agree with one another.
 */
#include "tree/containers_priv.h"

#include <string.h>

struct sums {
	size_t n_nodes, name_len, control_len, n_opened;
	uint64_t refs;
};

static bool add_node(const struct node *node, size_t slot, struct sums *sums)
{
	const struct container *container =
		node->kind == NODE_CONTAINER ? node->container : NULL;

	sums->n_nodes++;
	sums->name_len += strlen(node->name);
	sums->refs += node->refs;
	if (node->kind == NODE_CONTROL)
		sums->control_len += node->control.len;
	sums->n_opened += container != NULL;
	return (uint32_t)node->id == slot && node->refs >= node->n_opens &&
	       (!container || container->node == node);
}

static bool are_sound(const struct tree *tree, struct sums *ret_sums)
{
	struct sums sums = { 0 };

	for (size_t i = 1; i < tree->n_slots; i++)
		if (tree->slots[i].node &&
		    !add_node(tree->slots[i].node, i, &sums))
			return false;
	*ret_sums = sums;
	return true;
}

/* Each has no users, a node, and neighbours that know it. */
static bool is_idle_sound(const struct tree *tree)
{
	const struct container *newer = NULL, *c = tree->newest;
	size_t n = 0;

	for (; c; newer = c, c = c->older, n++)
		if (c->refs || !c->node || c->newer != newer ||
		    n == tree->n_idle)
			return false;
	return tree->oldest == newer && n == tree->n_idle;
}

bool tree_is_sound(const struct tree *tree)
{
	struct sums sums;

	/* Each node but the root holds its parent. */
	return are_sound(tree, &sums) && sums.n_nodes == tree->n_nodes &&
	       sums.name_len == tree->name_len &&
	       sums.control_len == tree->control_len &&
	       sums.refs >= sums.n_nodes - 1 &&
	       sums.n_opened <= tree->n_containers && is_idle_sound(tree);
}
