/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stores.c - the arrays that a table's columns lie in.
 */
#include "view/arrow/stores.h"

#include "base/mem.h"
#include "container/nametree.h"
#include "view/members.h"

#include <stdio.h>
#include <string.h>

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

void bfs_arrow_close_last(struct bfs_arrow_stores *stores)
{
	stores->n--;
	if (stores->n || !stores->borrows)
		bfs_array_close(stores->list[stores->n]);
}

void bfs_arrow_stores_release(struct bfs_arrow_stores *stores)
{
	while (stores->n)
		bfs_arrow_close_last(stores);
	bfs_free(stores->list);
	*stores = (struct bfs_arrow_stores){ 0 };
}

static enum bfs_err make_room(struct bfs_arrow_stores *stores,
			      struct bfs_diag *diag)
{
	size_t cap = stores->cap ? 2 * stores->cap : 8;
	struct bfs_array **list;

	if (stores->n == BFS_ARROW_STORES)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"its columns lie in more than %d arrays",
				BFS_ARROW_STORES);
	if (stores->n < stores->cap)
		return BFS_OK;
	list = bfs_realloc(stores->list, cap * sizeof(struct bfs_array *));
	if (!list)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for columns");
	stores->list = list;
	stores->cap = cap;
	return BFS_OK;
}

enum bfs_err bfs_arrow_store_own(struct bfs_arrow_stores *stores,
				 struct bfs_array *array, struct bfs_diag *diag)
{
	BFS_TRY(make_room(stores, diag));
	stores->list[stores->n++] = array;
	stores->borrows = true;
	return BFS_OK;
}

/* ---- keys ------------------------------------------------------------ */

/* A component of a key, as the tree of names has it. */
static enum bfs_err find_name(const struct bfs_nametree *tree, uint32_t dir,
			      const char *name, size_t len, bool *ret_found,
			      uint32_t *ret_node)
{
	char *escaped = bfs_name_escape(name, len, 1);

	if (!escaped)
		return BFS_ERR_NOMEM;
	*ret_found = bfs_nametree_find(tree, dir, escaped, strlen(escaped),
				       ret_node);
	bfs_free(escaped);
	return BFS_OK;
}

static enum bfs_err find_path(const struct bfs_nametree *tree, const char *path,
			      bool *ret_found, uint32_t *ret_node)
{
	*ret_found = true;
	*ret_node = 0;
	while (*ret_found && *path) {
		size_t len = strcspn(path, "/");

		BFS_TRY(find_name(tree, *ret_node, path, len, ret_found,
				  ret_node));
		path += len;
		path += *path == '/';
	}
	return BFS_OK;
}

/* In directories and ZIPs a key has one of these endings, in embed stores
 * none. */
static enum bfs_err find_key(const struct bfs_nametree *tree, const char *key,
			     bool *ret_found, uint32_t *ret_node)
{
	static const char *const endings[] = { ".b2nd", ".b2f", ".b2b", "" };
	size_t len = strlen(key);
	char *path = bfs_alloc(len + 8);
	enum bfs_err err = BFS_OK;

	if (!path)
		return BFS_ERR_NOMEM;
	*ret_found = false;
	for (size_t i = 0; i < 4 && err == BFS_OK && !*ret_found; i++) {
		snprintf(path, len + 8, "%s%s", key, endings[i]);
		err = find_path(tree, path, ret_found, ret_node);
		if (err == BFS_OK && *ret_found &&
		    tree->nodes[*ret_node].member < 0)
			*ret_found = false;
	}
	bfs_free(path);
	return err;
}

bool bfs_arrow_has_key(struct bfs_file *file, const char *key)
{
	const struct bfs_nametree *tree = file->array->container->tree;
	uint32_t node;
	bool found;

	return tree && find_key(tree, key, &found, &node) == BFS_OK && found;
}

static enum bfs_err open_node(struct bfs_file *file, uint32_t index,
			      struct bfs_array **ret_array,
			      struct bfs_diag *diag)
{
	const struct bfs_node node = { .view = BFS_ROW_members,
				       .index = index };
	struct bfs_engine *engine = file->array->engine;
	struct bfs_container *container;
	struct bfs_source *source;
	const char *name;
	enum bfs_err err;

	BFS_TRY(bfs_member_source(file, &node, &source, &name, diag));
	err = bfs_container_open(source, name, NULL, bfs_engine_cache(engine),
				 &container, diag);
	bfs_source_unref(source);
	BFS_TRY(err);
	return bfs_array_open(engine, container, ret_array, diag);
}

enum bfs_err bfs_arrow_open_key(struct bfs_file *file,
				struct bfs_arrow_stores *stores,
				const char *key, size_t *ret_store,
				struct bfs_diag *diag)
{
	const struct bfs_nametree *tree = file->array->container->tree;
	struct bfs_array *array;
	uint32_t node;
	bool found;

	if (find_key(tree, key, &found, &node) != BFS_OK)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a name");
	if (!found)
		return bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
				"there is no %.100s", key);
	BFS_TRY(make_room(stores, diag));
	BFS_TRY(open_node(file, node, &array, diag));
	*ret_store = stores->n;
	stores->list[stores->n++] = array;
	return BFS_OK;
}

/* ---- their bytes ----------------------------------------------------- */

enum bfs_err bfs_arrow_store_len(const struct bfs_arrow_stores *stores,
				 size_t store, uint64_t *ret_len,
				 struct bfs_diag *diag)
{
	BFS_TRY(bfs_array_ready(stores->list[store], &data_stream, diag));
	return bfs_array_len(stores->list[store], &data_stream, ret_len, diag);
}

static enum bfs_err read_store(const void *arg, size_t store, uint64_t off,
			       void *buf, size_t len, struct bfs_diag *diag)
{
	const struct bfs_arrow_stores *stores = arg;

	return bfs_array_read(stores->list[store], &data_stream, off, buf, len,
			      diag);
}

struct bfs_arrow_reader bfs_arrow_reader(const struct bfs_arrow_stores *stores)
{
	return (struct bfs_arrow_reader){ read_store, stores };
}
