/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nesting.c - containers inside containers: numbers, opening, closing.
 *
 * The lock guards the table; opening, reading and closing happen outside of
 * it. An opened child holds its parent open.
 */
#include "view/nesting.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/dispatch.h"
#include "view/kept.h"
#include "view/members.h"

#define MAX_CHILDREN (UINT32_C(1) << 20)

struct child {
	uint32_t parent;
	uint32_t depth;
	uint64_t id;			/* of its own root */
	struct bfs_node node;		/* in the parent */
	struct bfs_file *file;		/* NULL: closed */
	uint32_t refs;			/* takers, and opened children */
	uint64_t used;
};

struct bfs_nesting {
	struct bfs_engine *engine;
	uint32_t views;
	struct bfs_file *root;
	pthread_mutex_t lock;		/* guards all below */
	struct child *list;		/* child number - 1 */
	uint32_t n, cap, n_open;
	uint32_t *hash;			/* child number, or 0 */
	uint32_t hash_cap;
	uint64_t clock;
};

enum bfs_err bfs_nesting_new(struct bfs_engine *engine, uint32_t views,
			     struct bfs_file *root,
			     struct bfs_nesting **ret_nesting,
			     struct bfs_diag *diag)
{
	struct bfs_nesting *nesting = bfs_zalloc(1, sizeof(*nesting));

	if (!nesting) {
		bfs_file_free(root);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for an opened container");
	}
	nesting->engine = engine;
	nesting->views = views;
	nesting->root = root;
	pthread_mutex_init(&nesting->lock, NULL);
	*ret_nesting = nesting;
	return BFS_OK;
}

/* Children come after their parents in the table, and are freed first. */
void bfs_nesting_free(struct bfs_nesting *nesting)
{
	uint32_t i;

	if (!nesting)
		return;
	for (i = nesting->n; i-- > 0;)
		bfs_file_free(nesting->list[i].file);
	bfs_file_free(nesting->root);
	bfs_free(nesting->list);
	bfs_free(nesting->hash);
	pthread_mutex_destroy(&nesting->lock);
	bfs_free(nesting);
}

static uint64_t node_id(uint64_t parent, const struct bfs_node *node)
{
	uint64_t id = bfs_mix(parent + ((uint64_t)node->view << 16 |
					node->kind));

	return bfs_mix(id + node->index);
}

uint64_t bfs_nesting_id(struct bfs_nesting *nesting,
			const struct bfs_place *place)
{
	uint64_t parent = 0;

	if (!place->child)
		return node_id(0, &place->node);
	pthread_mutex_lock(&nesting->lock);
	if (place->child <= nesting->n)
		parent = nesting->list[place->child - 1].id;
	pthread_mutex_unlock(&nesting->lock);
	return node_id(parent, &place->node);
}

/* ---- numbers --------------------------------------------------------- */

static uint32_t *find_slot(struct bfs_nesting *nesting, uint32_t parent,
			   const struct bfs_node *node)
{
	uint64_t h = (node->index * 31 + parent) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(h >> 32) & (nesting->hash_cap - 1);

	while (nesting->hash[i]) {
		const struct child *c = &nesting->list[nesting->hash[i] - 1];

		if (c->parent == parent && c->node.view == node->view &&
		    c->node.index == node->index)
			break;
		i = (i + 1) & (nesting->hash_cap - 1);
	}
	return &nesting->hash[i];
}

static bool grow(struct bfs_nesting *nesting)
{
	uint32_t cap = nesting->cap ? 2 * nesting->cap : 16, *hash, i;
	struct child *list;

	if (nesting->n < nesting->cap)
		return true;
	if (cap > MAX_CHILDREN)
		return false;
	list = bfs_realloc(nesting->list, cap * sizeof(*list));
	if (list)
		nesting->list = list;
	hash = bfs_zalloc(4 * cap, sizeof(*hash));
	if (!list || !hash) {
		bfs_free(hash);
		return false;
	}
	bfs_free(nesting->hash);
	nesting->hash = hash;
	nesting->hash_cap = 4 * cap;
	nesting->cap = cap;
	for (i = 0; i < nesting->n; i++)
		*find_slot(nesting, list[i].parent, &list[i].node) = i + 1;
	return true;
}

/* The number of the container at a node of `parent`; 0 where there can be
 * none (too deep, too many, no memory). */
static uint32_t number_child(struct bfs_nesting *nesting, uint32_t parent,
			     const struct bfs_node *node)
{
	uint32_t *slot, number = 0, depth;

	pthread_mutex_lock(&nesting->lock);
	depth = parent ? nesting->list[parent - 1].depth + 1 : 1;
	if (nesting->hash)
		number = *find_slot(nesting, parent, node);
	if (!number && depth <= BFS_NESTING_DEPTH && grow(nesting)) {
		slot = find_slot(nesting, parent, node);
		nesting->list[nesting->n] = (struct child){
			.parent = parent,
			.depth = depth,
			.node = *node,
			.id = node_id(parent ? nesting->list[parent - 1].id : 0,
				      node)
		};
		*slot = number = ++nesting->n;
	}
	pthread_mutex_unlock(&nesting->lock);
	return number;
}

/* ---- opening --------------------------------------------------------- */

static enum bfs_err open_child(struct bfs_nesting *nesting,
			       struct bfs_file *parent,
			       const struct bfs_node *node,
			       struct bfs_file **ret_file,
			       struct bfs_diag *diag)
{
	struct bfs_container *container;
	struct bfs_array *array;

	BFS_TRY(bfs_member_open(parent, node, &container, diag));
	BFS_TRY(bfs_array_open(nesting->engine, container, &array, diag));
	return bfs_file_new(array, nesting->views, ret_file, diag);
}

/* Takes the child if it is open already. */
static bool take_open(struct bfs_nesting *nesting, uint32_t number,
		      struct bfs_file **ret_file)
{
	struct child *c;
	bool open;

	pthread_mutex_lock(&nesting->lock);
	c = &nesting->list[number - 1];
	open = c->file;
	if (open) {
		c->refs++;
		*ret_file = c->file;
	}
	pthread_mutex_unlock(&nesting->lock);
	return open;
}

static void read_child(struct bfs_nesting *nesting, uint32_t number,
		       uint32_t *ret_parent, struct bfs_node *ret_node)
{
	pthread_mutex_lock(&nesting->lock);
	*ret_parent = nesting->list[number - 1].parent;
	*ret_node = nesting->list[number - 1].node;
	pthread_mutex_unlock(&nesting->lock);
}

static bool was_numbered(struct bfs_nesting *nesting, uint32_t number)
{
	bool was;

	pthread_mutex_lock(&nesting->lock);
	was = number <= nesting->n;
	pthread_mutex_unlock(&nesting->lock);
	return was;
}

/* Publishes an opened child; false when another thread was faster. */
static bool install(struct bfs_nesting *nesting, uint32_t number,
		    struct bfs_file *file, struct bfs_file **ret_file)
{
	struct child *c;
	bool mine;

	pthread_mutex_lock(&nesting->lock);
	c = &nesting->list[number - 1];
	mine = !c->file;
	if (mine) {
		c->file = file;
		nesting->n_open++;
	}
	c->refs++;
	*ret_file = c->file;
	pthread_mutex_unlock(&nesting->lock);
	return mine;
}

enum bfs_err bfs_nesting_take(struct bfs_nesting *nesting, uint32_t number,
			      struct bfs_file **ret_file, struct bfs_diag *diag)
{
	struct bfs_file *parent_file, *file = NULL;
	struct bfs_node node;
	uint32_t parent;
	enum bfs_err err;

	if (number == 0) {
		*ret_file = nesting->root;
		return BFS_OK;
	}
	if (!was_numbered(nesting, number))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	if (take_open(nesting, number, ret_file))
		return BFS_OK;
	read_child(nesting, number, &parent, &node);
	/* Recursion is bounded by BFS_NESTING_DEPTH. */
	BFS_TRY(bfs_nesting_take(nesting, parent, &parent_file, diag));
	err = open_child(nesting, parent_file, &node, &file, diag);
	/* An installed child keeps its parent taken. */
	if (err == BFS_OK && install(nesting, number, file, ret_file))
		return BFS_OK;
	if (err == BFS_OK)
		bfs_file_free(file);
	bfs_nesting_give(nesting, parent);
	return err;
}

/* With the lock held: the child to close, or 0. */
static uint32_t find_idle(const struct bfs_nesting *nesting)
{
	uint32_t found = 0, i;

	if (nesting->n_open <= BFS_NESTING_OPEN)
		return 0;
	for (i = 0; i < nesting->n; i++) {
		const struct child *c = &nesting->list[i];

		if (c->file && c->refs == 0 &&
		    (!found || c->used < nesting->list[found - 1].used))
			found = i + 1;
	}
	return found;
}

void bfs_nesting_give(struct bfs_nesting *nesting, uint32_t number)
{
	struct bfs_file *gone = NULL;
	uint32_t idle, parent = 0;

	if (number == 0)
		return;
	pthread_mutex_lock(&nesting->lock);
	BFS_CHECK(nesting->list[number - 1].refs > 0);
	nesting->list[number - 1].refs--;
	nesting->list[number - 1].used = ++nesting->clock;
	idle = find_idle(nesting);
	if (idle) {
		gone = nesting->list[idle - 1].file;
		parent = nesting->list[idle - 1].parent;
		nesting->list[idle - 1].file = NULL;
		nesting->n_open--;
	}
	pthread_mutex_unlock(&nesting->lock);
	if (!gone)
		return;
	bfs_file_free(gone);
	bfs_nesting_give(nesting, parent);
}

/* ---- entries --------------------------------------------------------- */

bool bfs_nesting_has_children(struct bfs_nesting *nesting)
{
	bool has;

	pthread_mutex_lock(&nesting->lock);
	has = nesting->n > 0;
	pthread_mutex_unlock(&nesting->lock);
	return has;
}

/* A node found in `child`: a container there becomes its own root. */
static void place_node(struct bfs_nesting *nesting, uint32_t child,
		       struct bfs_file *file, const struct bfs_node *node,
		       struct bfs_place *ret_place)
{
	uint32_t inner = 0;

	if (node->view != BFS_VIEW_ROOT && bfs_member_is_container(file, node))
		inner = number_child(nesting, child, node);
	*ret_place = (struct bfs_place){ child, *node };
	if (inner)
		*ret_place = (struct bfs_place){
			inner, { .view = BFS_VIEW_ROOT } };
}

bool bfs_nesting_lookup(struct bfs_nesting *nesting,
			const struct bfs_place *dir, const char *name,
			size_t name_len, struct bfs_place *ret_place)
{
	struct bfs_file *file;
	struct bfs_node node;
	uint32_t child = dir->child;	/* which ret_place may overwrite */
	bool found;

	if (bfs_nesting_take(nesting, child, &file, NULL) != BFS_OK)
		return false;
	found = bfs_file_lookup(file, &dir->node, name, name_len, &node);
	if (found)
		place_node(nesting, child, file, &node, ret_place);
	bfs_nesting_give(nesting, child);
	return found;
}

bool bfs_nesting_list(struct bfs_nesting *nesting, const struct bfs_place *dir,
		      uint64_t pos, char *name, struct bfs_place *ret_place)
{
	struct bfs_file *file;
	struct bfs_node node;
	uint32_t child = dir->child;	/* which ret_place may overwrite */
	bool found;

	if (bfs_nesting_take(nesting, child, &file, NULL) != BFS_OK)
		return false;
	found = bfs_file_list(file, &dir->node, pos, name, &node);
	if (found)
		place_node(nesting, child, file, &node, ret_place);
	bfs_nesting_give(nesting, child);
	return found;
}
