/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * members.c - what a store holds, by names: members of a ZIP in the store's
 * own directory, keys of an embed store below tree/.
 *
 * A member that is a container becomes a directory of its own; that is
 * nesting.c's business, which asks here for its bytes.
 */
#include "base/bytes.h"
#include "base/moment.h"
#include "container/nametree.h"
#include "container/table.h"
#include "view/kept.h"
#include "view/members.h"
#include "view/view.h"

#include <stdatomic.h>
#include <stdio.h>

#define KIND_NODE 0

enum { UNSEEN, PLAIN, CONTAINER };

static const struct bfs_name_node *find_node(const struct bfs_file *file,
					     const struct bfs_node *node)
{
	const struct bfs_nametree *tree = file->array->container->tree;

	if (!tree || node->index >= tree->n)
		return NULL;
	return &tree->nodes[node->index];
}

static struct bfs_member *find_member(const struct bfs_file *file,
				      const struct bfs_node *node)
{
	const struct bfs_name_node *at = find_node(file, node);

	return at && at->member >= 0
		       ? &file->array->container->members[at->member]
		       : NULL;
}

/* The bytes of a member as a source of their own, and its name. */
static enum bfs_err open_source(struct bfs_file *file,
				const struct bfs_node *node,
				struct bfs_source **ret_source,
				const char **ret_name, struct bfs_diag *diag)
{
	static const struct bfs_stream joined = { BFS_STREAM_JOINED, 0 };
	struct bfs_member *m = find_member(file, node);

	if (!m)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such member");
	if (m->err != BFS_OK) {
		if (diag)
			*diag = m->why;
		return m->err;
	}
	*ret_name = find_node(file, node)->name;
	if (m->decoded)
		return bfs_array_as_source(file->array, &joined, m->off,
					   m->len, ret_source, diag);
	return bfs_source_window(file->array->container->source, m->off, m->len,
				 ret_source, diag);
}

static bool is_table(const struct bfs_file *file, const struct bfs_node *node)
{
	return bfs_file_shows(file, BFS_ROW_arrow) &&
	       bfs_table_is_below(file->array->container,
				  (uint32_t)bfs_min(node->index, UINT32_MAX));
}

/* What the offsets of members lead into. */
static enum bfs_err open_whole(struct bfs_file *file,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag)
{
	static const struct bfs_stream joined = { BFS_STREAM_JOINED, 0 };
	const struct bfs_container *container = file->array->container;

	if (container->is_store) {
		*ret_source = bfs_source_ref(container->source);
		return BFS_OK;
	}
	return bfs_array_as_source(file->array, &joined, 0, container->nbytes,
				   ret_source, diag);
}

enum bfs_err bfs_member_open(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_container **ret_container,
			     struct bfs_diag *diag)
{
	struct bfs_cache *cache = bfs_engine_cache(file->array->engine);
	struct bfs_source *source;
	const char *name;
	enum bfs_err err;

	if (is_table(file, node)) {
		BFS_TRY(open_whole(file, &source, diag));
		err = bfs_table_open_below(file->array->container,
					   (uint32_t)node->index, source,
					   cache, ret_container, diag);
	} else {
		BFS_TRY(open_source(file, node, &source, &name, diag));
		err = bfs_container_open(source, name, NULL, cache,
					 ret_container, diag);
	}
	bfs_source_unref(source);
	return err;
}

bool bfs_member_is_container(struct bfs_file *file, const struct bfs_node *node)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_member *m;
	struct bfs_source *source;
	const char *name;
	uint8_t looked;

	if (node->view != BFS_ROW_members)
		return false;
	m = find_member(file, node);
	if (!m)
		return is_table(file, node);
	if (m->err != BFS_OK)
		return false;
	looked = atomic_load(&m->looked);
	if (looked == UNSEEN) {
		if (open_source(file, node, &source, &name, NULL))
			return false;
		looked = bfs_container_probe(source, name) ? CONTAINER : PLAIN;
		bfs_source_unref(source);
		if (bfs_moment_settle(mark, BFS_OK, NULL) != BFS_OK)
			return false;
		atomic_store(&m->looked, looked);
	}
	return looked == CONTAINER;
}

static size_t members_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	/* Those of a plain store stand in its own directory (spread). */
	if (!file->array->container->tree || file->array->container->is_store)
		return 0;
	ret_roots[0] = (struct bfs_root){ "tree", KIND_NODE };
	return 1;
}

static bool members_lookup(struct bfs_file *file, const struct bfs_node *dir,
			   const char *name, size_t name_len,
			   struct bfs_node *ret_node)
{
	const struct bfs_nametree *tree = file->array->container->tree;
	uint32_t found;

	if (!find_node(file, dir) ||
	    !bfs_nametree_find(tree, (uint32_t)dir->index, name, name_len,
			       &found))
		return false;
	*ret_node = *dir;
	ret_node->index = found;
	return true;
}

static bool members_list(struct bfs_file *file, const struct bfs_node *dir,
			 uint64_t pos, char *name, struct bfs_node *ret_node)
{
	const struct bfs_nametree *tree = file->array->container->tree;
	const struct bfs_name_node *at = find_node(file, dir);

	if (!at || pos >= at->n_children)
		return false;
	*ret_node = *dir;
	ret_node->index = at->first + pos;
	snprintf(name, BFS_NAME_MAX + 1, "%s",
		 tree->nodes[ret_node->index].name);
	return true;
}

static void members_stat(struct bfs_file *file, const struct bfs_node *node,
			 struct bfs_attr *ret_attr)
{
	const struct bfs_member *m = find_member(file, node);

	ret_attr->is_dir = !m && find_node(file, node);
	if (!m)
		return;
	ret_attr->len = m->len;
	ret_attr->stored_len = m->len;
	ret_attr->blksize = 65536;
}

static enum bfs_err members_open(struct bfs_file *file,
				 const struct bfs_node *node,
				 struct bfs_diag *diag)
{
	const struct bfs_member *m = find_member(file, node);

	if (!find_node(file, node))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	if (m && m->err != BFS_OK && diag)
		*diag = m->why;
	return m ? m->err : BFS_OK;
}

static enum bfs_err members_part(struct bfs_file *file,
				 const struct bfs_node *node, uint64_t off,
				 uint64_t len, struct bfs_part *ret_part,
				 struct bfs_diag *diag)
{
	const struct bfs_member *m = find_member(file, node);

	BFS_TRY(members_open(file, node, diag));
	if (!m || !bfs_inside(off, len, m->len))
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"beyond the end of a member");
	ret_part->stream.kind = m->decoded ? BFS_STREAM_JOINED :
					     BFS_STREAM_SOURCE;
	ret_part->off = m->off + off;
	ret_part->len = len;
	return BFS_OK;
}

const struct bfs_view bfs_view_members = {
	.name = "members",
	.on = true,
	.always = true,
	.spread = true,
	.roots = members_roots,
	.lookup = members_lookup,
	.list = members_list,
	.stat = members_stat,
	.open = members_open,
	.part = members_part,
};
