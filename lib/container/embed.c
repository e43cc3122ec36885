/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * embed.c - keys of an embed store: the variable-length metalayer
 * estore_metadata, MessagePack that is read as JSON.
 *
 * Offsets are places in the decoded bytes. Remote entries (a URL instead of
 * a place) are left out: nothing is ever fetched. See docs/formats/stores.md.
 */
#include "container/embed.h"

#include "bytes.h"
#include "container/metajson.h"
#include "container/nametree.h"
#include "mem.h"

#include <inttypes.h>

static bool is_store(const struct bfs_frame *f)
{
	return bfs_meta_find(f->metas, f->n_metas, "b2embed") ||
	       bfs_meta_find(f->metas, f->n_metas, "b2dict") ||
	       bfs_meta_find(f->metas, f->n_metas, "b2tree");
}

/* The place of one key; false where it has none here. */
static bool take_place(struct bfs_frame *f, struct json_object *v,
		       struct bfs_member *m)
{
	struct json_object *off, *len;
	int64_t o, n;

	if (!json_object_is_type(v, json_type_object) ||
	    !json_object_object_get_ex(v, "offset", &off) ||
	    !json_object_object_get_ex(v, "length", &len) ||
	    !json_object_is_type(off, json_type_int) ||
	    !json_object_is_type(len, json_type_int))
		return false;
	o = json_object_get_int64(off);
	n = json_object_get_int64(len);
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
	bfs_frame_blame(f, &m->why);
	return true;
}

static enum bfs_err take_keys(struct bfs_frame *f, struct json_object *map,
			      struct bfs_diag *diag)
{
	size_t n = (size_t)json_object_object_length(map), i = 0;
	struct bfs_path *paths = bfs_zalloc(n, sizeof(*paths));
	enum bfs_err err;

	f->members = bfs_zalloc(n, sizeof(*f->members));
	if (!paths || !f->members) {
		bfs_free(paths);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	json_object_object_foreach(map, key, v) {
		const char *path = key[0] == '/' ? key + 1 : key;

		if (i >= n || !take_place(f, v, &f->members[i]))
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

static enum bfs_err open_map(struct bfs_frame *f, const struct bfs_meta *m,
			     struct bfs_diag *diag)
{
	struct json_object *root = NULL, *map;
	enum bfs_err err;

	BFS_TRY(bfs_meta_decode(f, m, &root, diag));
	if (json_object_object_get_ex(root, "embed_map", &map) &&
	    json_object_is_type(map, json_type_object))
		err = take_keys(f, map, diag);
	else
		err = bfs_fail(diag, BFS_ERR_CORRUPT, m->off,
			       "the map of keys has no embed_map");
	json_object_put(root);
	return err;
}

enum bfs_err bfs_embed_open(struct bfs_frame *f, struct bfs_diag *diag)
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
	if (err == BFS_OK)
		return BFS_OK;
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(diag, err, 0, "no memory");
	bfs_frame_blame(f, &why);
	return f->tree ? BFS_OK : bfs_nametree_build(NULL, 0, &f->tree, diag);
}
