/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stores.c - the arrays that a table's columns lie in.
 */
#include "view/arrow/stores.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"
#include "container/nametree.h"
#include "container/rootdirs.h"
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
static const char *const endings[] = { ".b2nd", ".b2f", ".b2b", "" };

static enum bfs_err find_key(const struct bfs_nametree *tree, const char *key,
			     bool *ret_found, uint32_t *ret_node)
{
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

/* ---- directories ----------------------------------------------------- */

/* The folder that a path leads to, referenced, and what its last component is
 * called there; NULL where there is none. No name is longer than the path. */
static struct bfs_dir *find_folder(struct bfs_dir *dir, const char *path,
				   char *ret_name)
{
	dir = bfs_dir_ref(dir);
	while (dir) {
		size_t len = strcspn(path, "/");
		struct bfs_dir *below;

		memcpy(ret_name, path, len);
		ret_name[len] = '\0';
		if (!len || !strcmp(ret_name, ".") || !strcmp(ret_name, "..")) {
			bfs_dir_unref(dir);
			return NULL;
		}
		if (!path[len])
			return dir;
		path += len + 1;
		below = bfs_dir_below(dir, ret_name);
		bfs_dir_unref(dir);
		dir = below;
	}
	return NULL;
}

/* The folder that has a file under a key, and its name there, which takes all
 * of the key and 8 bytes more. */
static struct bfs_dir *find_file(struct bfs_dir *dir, const char *key,
				 char *ret_name)
{
	struct bfs_dir *folder = find_folder(dir, key, ret_name);
	size_t len = folder ? strlen(ret_name) : 0;
	uint64_t file_len;

	for (size_t i = 0; folder && i < 3; i++) {
		snprintf(ret_name + len, 8, "%s", endings[i]);
		if (bfs_dir_has(folder, ret_name, &file_len))
			return folder;
	}
	bfs_dir_unref(folder);
	return NULL;
}

static bool dir_has_key(struct bfs_dir *dir, const char *key)
{
	char *name = bfs_alloc(strlen(key) + 8);
	struct bfs_dir *folder = name ? find_file(dir, key, name) : NULL;
	bool has = folder;

	bfs_dir_unref(folder);
	bfs_free(name);
	return has;
}

static enum bfs_err open_file(struct bfs_file *file, struct bfs_dir *folder,
			      const char *name, struct bfs_array **ret_array,
			      struct bfs_diag *diag)
{
	const struct bfs_container *table = file->array->container;
	struct bfs_engine *engine = file->array->engine;
	struct bfs_container *container;
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_dir_file(folder, name, &table->guard, &source, diag));
	err = bfs_container_open(source, name, NULL, bfs_engine_cache(engine),
				 &container, diag);
	bfs_source_unref(source);
	BFS_TRY(err);
	return bfs_array_open(engine, container, ret_array, diag);
}

static enum bfs_err open_in_dir(struct bfs_file *file, const char *key,
				struct bfs_array **ret_array,
				struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	char *name = bfs_alloc(strlen(key) + 8);
	struct bfs_dir *folder;
	enum bfs_err err;

	if (!name)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a name");
	folder = find_file(file->array->container->dir, key, name);
	if (folder)
		err = open_file(file, folder, name, ret_array, diag);
	else
		err = bfs_moment_settle(mark, bfs_fail(
				diag, BFS_ERR_NOT_FORMAT, 0,
				"there is no %.100s", key), diag);
	bfs_dir_unref(folder);
	bfs_free(name);
	return err;
}

/* ---- both ------------------------------------------------------------ */

bool bfs_arrow_has_key(struct bfs_file *file, const char *key)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_nametree *tree = container->tree;
	uint32_t node;
	bool found;

	if (container->dir)
		return container->ops == &bfs_container_table &&
		       dir_has_key(container->dir, key);
	return tree && find_key(tree, key, &found, &node) == BFS_OK && found;
}

static enum bfs_err open_node(struct bfs_file *file, uint32_t index,
			      struct bfs_array **ret_array,
			      struct bfs_diag *diag)
{
	const struct bfs_node node = { .view = BFS_ROW_members,
				       .index = index };
	struct bfs_container *container;

	BFS_TRY(bfs_member_open(file, &node, &container, diag));
	return bfs_array_open(file->array->engine, container, ret_array, diag);
}

static enum bfs_err open_in_store(struct bfs_file *file, const char *key,
				  struct bfs_array **ret_array,
				  struct bfs_diag *diag)
{
	uint32_t node;
	bool found;

	if (find_key(file->array->container->tree, key, &found, &node) !=
	    BFS_OK)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a name");
	if (!found)
		return bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
				"there is no %.100s", key);
	return open_node(file, node, ret_array, diag);
}

enum bfs_err bfs_arrow_open_key(struct bfs_file *file,
				struct bfs_arrow_stores *stores,
				const char *key, size_t *ret_store,
				struct bfs_diag *diag)
{
	struct bfs_array *array;

	BFS_TRY(make_room(stores, diag));
	if (file->array->container->dir)
		BFS_TRY(open_in_dir(file, key, &array, diag));
	else
		BFS_TRY(open_in_store(file, key, &array, diag));
	*ret_store = stores->n;
	stores->list[stores->n++] = array;
	return BFS_OK;
}

enum bfs_err bfs_arrow_open_folder(struct bfs_file *file,
				   struct bfs_arrow_stores *stores,
				   const char *name, size_t *ret_store,
				   struct bfs_diag *diag)
{
	const struct bfs_container *table = file->array->container;
	struct bfs_engine *engine = file->array->engine;
	struct bfs_container *container;
	struct bfs_array *array;

	BFS_TRY(make_room(stores, diag));
	BFS_TRY(bfs_rootdirs_open(table->dir, name, &table->guard,
				  bfs_engine_cache(engine), &container, diag));
	BFS_TRY(bfs_array_open(engine, container, &array, diag));
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

enum bfs_err bfs_arrow_need_rows(const struct bfs_arrow_stores *stores,
				 size_t store, uint64_t n,
				 struct bfs_diag *diag)
{
	const struct bfs_array *array = stores->list[store];
	const struct bfs_array_meta *meta = &array->container->array;
	uint64_t len, wanted = array->container->typesize;

	if (!meta->present || meta->ndim < 1 ||
	    (!meta->linear && !array->has_nd))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"its container is no sound array");
	for (unsigned d = 0; d < meta->ndim; d++)
		if (meta->shape[d] < 0 ||
		    !bfs_mul(wanted, (uint64_t)meta->shape[d], &wanted))
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"it has too many items");
	BFS_TRY(bfs_arrow_store_len(stores, store, &len, diag));
	if (len != wanted)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the data has not the length of its shape");
	if ((uint64_t)meta->shape[0] < n)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"it has less rows than the table");
	return BFS_OK;
}

static enum bfs_err read_store(const void *arg, size_t store, uint64_t off,
			       void *buf, size_t len, struct bfs_diag *diag)
{
	const struct bfs_arrow_stores *stores = arg;
	struct bfs_array *array = stores->list[store];

	BFS_TRY(bfs_array_read(array, &data_stream, off, buf, len, diag));
	/* A file of its own may have changed where the table's has not. */
	return bfs_source_check(array->container->source, diag);
}

struct bfs_arrow_reader bfs_arrow_reader(const struct bfs_arrow_stores *stores)
{
	return (struct bfs_arrow_reader){ read_store, stores };
}
