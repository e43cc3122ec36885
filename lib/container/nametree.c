/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nametree.c - builds the name tree of a store.
 *
 * Nodes are first made in the order of the paths and found again by a hash of
 * (parent, name), seeded so that no file can be made to collide; then sorted,
 * so that siblings lie side by side.
 */
#include "container/nametree.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define NAME_MAX_LEN 255

static bool needs_escape(uint8_t c)
{
	return c < 0x20 || c == '%' || c == '/' || c == 0x7f;
}

char *bfs_name_escape(const char *name, size_t len, size_t nth)
{
	static const char hex[] = "0123456789ABCDEF";
	bool dots = (len == 1 || len == 2) && memcmp(name, "..", len) == 0;
	char *text;
	size_t n = 0, i;

	if (len > (SIZE_MAX - 32) / 3)
		return NULL;
	text = bfs_alloc(3 * len + 32);	/* room for "%", "%~" and a number */
	if (!text)
		return NULL;
	for (i = 0; i < len; i++) {
		uint8_t c = (uint8_t)name[i];

		if (dots || needs_escape(c)) {
			text[n++] = '%';
			text[n++] = hex[c >> 4];
			text[n++] = hex[c & 15];
		} else {
			text[n++] = (char)c;
		}
	}
	if (!len)
		text[n++] = '%';
	text[n] = '\0';
	if (nth >= 2)
		snprintf(text + n, 24, "%%~%zu", nth);
	return text;
}

/* A tree being built. */
struct builder {
	struct bfs_name_node *nodes;
	uint32_t *twins;		/* the directory beside a file, or 0 */
	uint32_t *next;			/* the number a namesake gets, or 0 */
	uint32_t *hash;			/* node + 1, or 0 */
	uint32_t n, cap, hash_cap;
	uint64_t seed;
};

/* The same in every run, since it is part of the names that cut_name makes. */
static uint32_t hash_name(uint32_t parent, const char *name)
{
	uint32_t h = parent * 2654435761u + 5381;

	for (; *name; name++)
		h = h * 33 ^ (uint8_t)*name;
	return h ^ h >> 15;
}

/* Seeded anew in every run, so that no file can hold names that all collide. */
static uint32_t hash_slot(const struct builder *b, uint32_t parent,
			  const char *name)
{
	uint64_t h = (b->seed ^ parent) * UINT64_C(0x9e3779b97f4a7c15);

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return (uint32_t)(bfs_mix(h) >> 32);
}

static uint32_t *find_slot(struct builder *b, uint32_t parent, const char *name)
{
	uint32_t i = hash_slot(b, parent, name) & (b->hash_cap - 1);

	while (b->hash[i]) {
		const struct bfs_name_node *node = &b->nodes[b->hash[i] - 1];

		if (node->parent == parent && !strcmp(node->name, name))
			break;
		i = (i + 1) & (b->hash_cap - 1);
	}
	return &b->hash[i];
}

static enum bfs_err rehash(struct builder *b)
{
	uint32_t i;

	bfs_free(b->hash);
	b->hash_cap = 4 * b->cap;
	b->hash = bfs_zalloc(b->hash_cap, sizeof(*b->hash));
	if (!b->hash)
		return BFS_ERR_NOMEM;
	for (i = 1; i < b->n; i++)
		*find_slot(b, b->nodes[i].parent, b->nodes[i].name) = i + 1;
	return BFS_OK;
}

static enum bfs_err grow(struct builder *b)
{
	uint32_t cap = b->cap ? 2 * b->cap : 64, *twins, *next;
	struct bfs_name_node *nodes;

	if (b->n < b->cap)
		return BFS_OK;
	if (cap > BFS_NAMETREE_MAX)
		return BFS_ERR_LIMIT;
	nodes = bfs_realloc(b->nodes, cap * sizeof(*nodes));
	if (nodes)
		b->nodes = nodes;
	twins = bfs_realloc(b->twins, cap * sizeof(*twins));
	if (twins)
		b->twins = twins;
	next = bfs_realloc(b->next, cap * sizeof(*next));
	if (next)
		b->next = next;
	if (!nodes || !twins || !next)
		return BFS_ERR_NOMEM;
	b->cap = cap;
	return rehash(b);
}

/* Adds a node; takes over name. */
static enum bfs_err add_node(struct builder *b, uint32_t parent, char *name,
			     int64_t member, uint32_t *ret_node)
{
	enum bfs_err err = grow(b);

	if (err != BFS_OK) {
		bfs_free(name);
		return err;
	}
	b->nodes[b->n] = (struct bfs_name_node){ .name = name,
						 .parent = parent,
						 .member = member };
	b->twins[b->n] = 0;
	b->next[b->n] = 0;
	*find_slot(b, parent, name) = b->n + 1;
	*ret_node = b->n++;
	return BFS_OK;
}

/* Cuts a name that is too long for a file name; a hash of the whole name behind
 * the rest tells it from others. */
static void cut_name(char *text)
{
	uint32_t hash = hash_name(0, text);
	size_t n = NAME_MAX_LEN - 24;

	if (strlen(text) <= NAME_MAX_LEN)
		return;
	while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80)
		n--;
	snprintf(text + n, 24, "%%~~%08x", hash);
}

/* Finds the first of name, name%~2, name%~3 ... that is free. The first one
 * remembers how far it got. */
static enum bfs_err add_fresh(struct builder *b, uint32_t parent,
			      const char *name, size_t len, int64_t member,
			      uint32_t *ret_node)
{
	uint32_t first = 0, nth = 1;

	while (nth <= BFS_NAMETREE_MAX) {
		char *text = bfs_name_escape(name, len, nth);
		uint32_t found;

		if (!text)
			return BFS_ERR_NOMEM;
		cut_name(text);
		found = *find_slot(b, parent, text);
		if (!found) {
			if (first)
				b->next[first - 1] = nth + 1;
			return add_node(b, parent, text, member, ret_node);
		}
		bfs_free(text);
		if (!first)
			first = found;
		nth = nth == 1 && b->next[first - 1] ? b->next[first - 1] :
						       nth + 1;
	}
	return BFS_ERR_LIMIT;
}

/* The directory of a component, made where it is missing. */
static enum bfs_err enter(struct builder *b, uint32_t parent, const char *name,
			  size_t len, uint32_t *ret_node)
{
	char *text = bfs_name_escape(name, len, 1);
	uint32_t found;

	if (!text)
		return BFS_ERR_NOMEM;
	cut_name(text);
	found = *find_slot(b, parent, text);
	bfs_free(text);
	if (!found)
		return add_fresh(b, parent, name, len, -1, ret_node);
	found--;
	if (b->nodes[found].member < 0) {
		*ret_node = found;
		return BFS_OK;
	}
	if (!b->twins[found]) {
		uint32_t twin;

		BFS_TRY(add_fresh(b, parent, name, len, -1, &twin));
		b->twins[found] = twin;
	}
	*ret_node = b->twins[found];
	return BFS_OK;
}

static enum bfs_err add_path(struct builder *b, const struct bfs_path *path)
{
	const char *p = path->text, *end = p + path->len;
	uint32_t dir = 0, node;
	unsigned depth = 0;

	for (;;) {
		const char *slash = memchr(p, '/', (size_t)(end - p));

		if (++depth > BFS_NAMETREE_DEPTH)
			return BFS_ERR_LIMIT;
		if (!slash)
			return p == end ? BFS_OK :
				add_fresh(b, dir, p, (size_t)(end - p),
					  path->member, &node);
		BFS_TRY(enter(b, dir, p, (size_t)(slash - p), &dir));
		p = slash + 1;
	}
}

static int compare_nodes(const void *pa, const void *pb, void *arg)
{
	const struct bfs_name_node *nodes = arg;
	const struct bfs_name_node *a = &nodes[*(const uint32_t *)pa];
	const struct bfs_name_node *b = &nodes[*(const uint32_t *)pb];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Puts siblings side by side. A parent is older than its children, so its
 * old number orders them; numbers are translated afterwards. */
static enum bfs_err sort_nodes(struct builder *b, struct bfs_nametree *tree)
{
	uint32_t *order = bfs_alloc(b->n * sizeof(*order));
	uint32_t *moved = bfs_alloc(b->n * sizeof(*moved)), i;

	tree->nodes = bfs_alloc(b->n * sizeof(*tree->nodes));
	if (!order || !moved || !tree->nodes) {
		bfs_free(order);
		bfs_free(moved);
		return BFS_ERR_NOMEM;
	}
	for (i = 0; i < b->n; i++)
		order[i] = i;
	qsort_r(order + 1, b->n - 1, sizeof(*order), compare_nodes, b->nodes);
	for (i = 0; i < b->n; i++) {
		moved[order[i]] = i;
		tree->nodes[i] = b->nodes[order[i]];
		b->nodes[order[i]].name = NULL;
	}
	tree->n = b->n;
	for (i = 1; i < tree->n; i++) {
		struct bfs_name_node *node = &tree->nodes[i], *parent;

		node->parent = moved[node->parent];
		/* Sorted, a parent comes before its children. */
		BFS_CHECK(node->parent < i);
		parent = &tree->nodes[node->parent];
		if (parent->n_children++ == 0)
			parent->first = i;
	}
	bfs_free(order);
	bfs_free(moved);
	return BFS_OK;
}

static void release_builder(struct builder *b)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		bfs_free(b->nodes[i].name);
	bfs_free(b->nodes);
	bfs_free(b->twins);
	bfs_free(b->next);
	bfs_free(b->hash);
}

static enum bfs_err build(struct builder *b, const struct bfs_path *paths,
			  size_t n, struct bfs_nametree *tree)
{
	char *root = bfs_memdup0("", 0);
	uint32_t node;
	size_t i;

	if (!root)
		return BFS_ERR_NOMEM;
	BFS_TRY(add_node(b, 0, root, -1, &node));
	for (i = 0; i < n; i++)
		BFS_TRY(add_path(b, &paths[i]));
	return sort_nodes(b, tree);
}

enum bfs_err bfs_nametree_build(const struct bfs_path *paths, size_t n,
				struct bfs_nametree **ret_tree,
				struct bfs_diag *diag)
{
	struct bfs_nametree *tree = bfs_zalloc(1, sizeof(*tree));
	struct builder b = { 0 };
	enum bfs_err err;

	if (!tree)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	/* Where random bytes cannot be had, the address of the tree will do. */
	if (getrandom(&b.seed, sizeof(b.seed), GRND_NONBLOCK) < 0)
		b.seed = (uintptr_t)tree;
	err = build(&b, paths, n, tree);
	release_builder(&b);
	if (err != BFS_OK) {
		bfs_nametree_free(tree);
		return bfs_fail(diag, err, 0, err == BFS_ERR_LIMIT ?
				"too many names, or names too deep" :
				"no memory for names");
	}
	*ret_tree = tree;
	return BFS_OK;
}

void bfs_nametree_free(struct bfs_nametree *tree)
{
	uint32_t i;

	if (!tree)
		return;
	for (i = 0; i < tree->n; i++)
		bfs_free(tree->nodes[i].name);
	bfs_free(tree->nodes);
	bfs_free(tree);
}

/* ---- a part of a tree ------------------------------------------------- */

/* Adds a copy of node `from`, whose children are not there yet: first is where
 * they are in the old tree. */
static bool add_copy(struct bfs_nametree *tree, uint32_t *cap,
		     const struct bfs_name_node *from, const char *name,
		     uint32_t parent)
{
	struct bfs_name_node *nodes = tree->nodes;

	if (tree->n == *cap) {
		*cap = *cap ? 2 * *cap : 16;
		nodes = bfs_realloc(nodes, *cap * sizeof(*nodes));
		if (!nodes)
			return false;
		tree->nodes = nodes;
	}
	nodes[tree->n] = *from;
	nodes[tree->n].parent = parent;
	nodes[tree->n].name = bfs_memdup0(name, strlen(name));
	return nodes[tree->n++].name != NULL;
}

enum bfs_err bfs_nametree_cut(const struct bfs_nametree *tree, uint32_t node,
			      struct bfs_nametree **ret_tree,
			      struct bfs_diag *diag)
{
	struct bfs_nametree *cut = bfs_zalloc(1, sizeof(*cut));
	uint32_t cap = 0;
	bool ok = cut && add_copy(cut, &cap, &tree->nodes[node], "", 0);

	/* Each one's children go behind all that were met before them. */
	for (uint32_t i = 0; ok && i < cut->n; i++) {
		uint32_t from = cut->nodes[i].first;

		cut->nodes[i].first = cut->n;
		for (uint32_t k = 0; ok && k < cut->nodes[i].n_children; k++)
			ok = add_copy(cut, &cap, &tree->nodes[from + k],
				      tree->nodes[from + k].name, i);
	}
	if (!ok) {
		bfs_nametree_free(cut);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for names");
	}
	*ret_tree = cut;
	return BFS_OK;
}

int bfs_name_compare(const char *have, const char *name, size_t len)
{
	int c = strncmp(have, name, len);

	return c == 0 && have[len] ? 1 : c;
}

bool bfs_nametree_find(const struct bfs_nametree *tree, uint32_t dir,
		       const char *name, size_t len, uint32_t *ret_node)
{
	uint32_t lo = tree->nodes[dir].first;
	uint32_t hi = lo + tree->nodes[dir].n_children;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int c = bfs_name_compare(tree->nodes[mid].name, name, len);

		if (c == 0) {
			*ret_node = mid;
			return true;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}
