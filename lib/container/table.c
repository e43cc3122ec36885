/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - a table, as a container beside the folder that it is: it has no
 * chunks, and what its columns hold is read by views.
 *
 * Of a directory only the index is opened here. Below a key of a store it is a
 * store of the members there.
 */
#include "container/table.h"

#include "base/mem.h"
#include "container/nametree.h"
#include "container/rootdirs.h"

#include <stdatomic.h>
#include <string.h>

#define META_FILE BFS_TABLE_META ".b2f"
#define MARKS_FILE BFS_TABLE_MARKS ".b2nd"

static bool is_ctable(struct bfs_dir *dir)
{
	uint64_t len;

	return bfs_dir_has(dir, MARKS_FILE, &len) &&
	       bfs_dir_has(dir, META_FILE, &len);
}

static bool probe_dir(struct bfs_dir *dir)
{
	uint64_t len;

	return is_ctable(dir) || bfs_dir_has(dir, BFS_ROOTDIRS, &len);
}

static enum bfs_err open_table(struct bfs_container *f, const char *name,
			       struct bfs_diag *diag)
{
	(void)name;
	f->is_store = true;
	f->chunksize = -1;
	f->nbytes_known = true;
	if (!f->dir)
		return BFS_OK;
	BFS_TRY(bfs_dir_file(f->dir, is_ctable(f->dir) ? MARKS_FILE :
			     BFS_ROOTDIRS, &f->guard, &f->source, diag));
	f->cbytes = bfs_source_len(f->source);
	return BFS_OK;
}

/* ---- below a key of a store ------------------------------------------ */

static bool has_member(const struct bfs_nametree *tree, uint32_t dir,
		       const char *name)
{
	uint32_t node;

	return bfs_nametree_find(tree, dir, name, strlen(name), &node) &&
	       tree->nodes[node].member >= 0;
}

bool bfs_table_is_below(const struct bfs_container *store, uint32_t dir)
{
	const struct bfs_nametree *tree = store->tree;

	/* What is the root's is the store's own. */
	return tree && dir && dir < tree->n && tree->nodes[dir].member < 0 &&
	       ((has_member(tree, dir, MARKS_FILE) &&
		 has_member(tree, dir, META_FILE)) ||
		(has_member(tree, dir, BFS_TABLE_MARKS) &&
		 has_member(tree, dir, BFS_TABLE_META)));
}

/* Numbers the members that the names lead to anew. */
static enum bfs_err take_members(struct bfs_container *f,
				 const struct bfs_container *store,
				 struct bfs_diag *diag)
{
	size_t n = 0;

	f->members = bfs_zalloc(f->tree->n, sizeof(*f->members));
	if (!f->members)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	f->cbytes = 0;
	for (uint32_t i = 0; i < f->tree->n; i++) {
		struct bfs_name_node *node = &f->tree->nodes[i];
		const struct bfs_member *from;

		if (node->member < 0)
			continue;
		from = &store->members[node->member];
		f->members[n] = (struct bfs_member){
			.off = from->off, .len = from->len, .err = from->err,
			.why = from->why,
		};
		f->cbytes += from->len;
		node->member = (int64_t)n++;
	}
	f->n_members = n;
	return BFS_OK;
}

enum bfs_err bfs_table_open_below(const struct bfs_container *store,
				  uint32_t dir, struct bfs_source *source,
				  struct bfs_cache *cache,
				  struct bfs_container **ret_container,
				  struct bfs_diag *diag)
{
	struct bfs_container *f;
	enum bfs_err err;

	BFS_TRY(bfs_container_new(&bfs_container_table, cache, &f, diag));
	f->source = bfs_source_ref(source);
	err = bfs_nametree_cut(store->tree, dir, &f->tree, diag);
	if (err == BFS_OK)
		err = take_members(f, store, diag);
	if (err == BFS_OK)
		err = open_table(f, NULL, diag);
	if (err != BFS_OK) {
		bfs_container_close(f);
		return err;
	}
	f->kind = BFS_KIND_STORE;
	*ret_container = f;
	return BFS_OK;
}

static const struct bfs_dir_part parts[] = {
	{ "", ".b2nd" }, { "", ".b2f" }, { "", BFS_ROOTDIRS },
	{ "_cols", ".b2nd" }, { "_cols", ".b2b" }, { "_cols", ".b2f" },
	{ NULL, NULL },
};

const struct bfs_format bfs_container_table = {
	.name = "table",
	.beside = true,
	.probe_dir = probe_dir,
	.index_name = MARKS_FILE,
	.index_else = BFS_ROOTDIRS,
	.parts = parts,
	.open = open_table,
};
