/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * embed.c - keys of an embed store: the variable-length metalayer
 * estore_metadata, MessagePack that is read as JSON.
 *
 * Offsets are places in the decoded bytes. Remote entries (a URL instead of
 * a place) are left out: nothing is ever fetched. See docs/formats/stores.md.
 */
#include "container/embed.h"

#include "base/bytes.h"
#include "container/metajson.h"
#include "container/nametree.h"
#include "base/mem.h"

#include <inttypes.h>

static bool is_store(const struct bfs_container *f)
{
	return bfs_meta_find(f->metas, f->n_metas, "b2embed") ||
	       bfs_meta_find(f->metas, f->n_metas, "b2dict") ||
	       bfs_meta_find(f->metas, f->n_metas, "b2tree");
}

/* A whole number. One beyond int64_t becomes INT64_MAX, which is no place in
 * any container either. */
static bool take_whole(const struct bfs_value *v, int64_t *ret_number)
{
	if (!bfs_value_is(v, BFS_VALUE_INT) &&
	    !bfs_value_is(v, BFS_VALUE_UINT))
		return false;
	*ret_number = v->kind == BFS_VALUE_INT ? v->i : INT64_MAX;
	return true;
}

/* The place of one key; false where it has none here. */
static bool take_place(struct bfs_container *f, const struct bfs_value *v,
		       struct bfs_member *m)
{
	int64_t o, n;

	if (!take_whole(bfs_value_get(v, "offset"), &o) ||
	    !take_whole(bfs_value_get(v, "length"), &n))
		return false;
	m->decoded = true;
	if (o >= 0 && n >= 0 && bfs_inside((uint64_t)o, (uint64_t)n,
					   f->nbytes)) {
		m->off = (uint64_t)o;
		m->len = (uint64_t)n;
		return true;
	}
	m->err = bfs_fail(&m->why, BFS_ERR_CORRUPT, 0,
			  "a key names bytes %" PRId64 " + %" PRId64 " of %"
			  PRIu64, o, n, f->nbytes);
	bfs_container_blame(f, &m->why);
	return true;
}

static enum bfs_err take_keys(struct bfs_container *f,
			      const struct bfs_value *map,
			      struct bfs_diag *diag)
{
	size_t n = map->n, i = 0;
	struct bfs_path *paths = bfs_zalloc(n, sizeof(*paths));
	const struct bfs_value *v;
	enum bfs_err err;

	f->members = bfs_zalloc(n, sizeof(*f->members));
	if (!paths || !f->members) {
		bfs_free(paths);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	for (v = map->first; v; v = v->next) {
		const char *path = v->key[0] == '/' ? v->key + 1 : v->key;

		if (v->shadowed || !take_place(f, v, &f->members[i]))
			continue;
		paths[i] = (struct bfs_path){ path, strlen(path),
					      (uint32_t)i };
		i++;
	}
	f->n_members = i;
	err = bfs_nametree_build(paths, i, &f->tree, diag);
	bfs_free(paths);
	return err;
}

static enum bfs_err open_map(struct bfs_container *f, const struct bfs_meta *m,
			     struct bfs_diag *diag)
{
	struct bfs_document *doc = NULL;
	const struct bfs_value *map;
	enum bfs_err err;

	BFS_TRY(bfs_meta_decode(f, m, &doc, diag));
	map = bfs_value_get(bfs_document_root(doc), "embed_map");
	if (bfs_value_is(map, BFS_VALUE_OBJECT))
		err = take_keys(f, map, diag);
	else
		err = bfs_fail(diag, BFS_ERR_CORRUPT, m->off,
			       "the map of keys has no embed_map");
	bfs_document_free(doc);
	return err;
}

enum bfs_err bfs_embed_open(struct bfs_container *f, struct bfs_diag *diag)
{
	const struct bfs_meta *m;
	struct bfs_diag why;
	enum bfs_err err;

	if (!is_store(f))
		return BFS_OK;
	f->format = "b2e";
	m = bfs_meta_find(f->vlmetas, f->n_vlmetas, "estore_metadata");
	if (!m)
		return bfs_nametree_build(NULL, 0, &f->tree, diag);
	err = open_map(f, m, &why);
	BFS_TRY(bfs_container_settle(f, err, &why, diag));
	return f->tree ? BFS_OK : bfs_nametree_build(NULL, 0, &f->tree, diag);
}
