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
#include "container/nametree.h"
#include "json.h"
#include "mem.h"
#include "msgpack.h"

#include <inttypes.h>
#include <json-c/json.h>

#define MAX_MAP (UINT32_C(16) << 20)

static const struct bfs_meta *find(const struct bfs_meta *metas, size_t n,
				   const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (metas[i].name_len == strlen(name) &&
		    !memcmp(metas[i].name, name, metas[i].name_len))
			return &metas[i];
	return NULL;
}

static bool is_store(const struct bfs_frame *f)
{
	return find(f->metas, f->n_metas, "b2embed") ||
	       find(f->metas, f->n_metas, "b2dict") ||
	       find(f->metas, f->n_metas, "b2tree");
}

/* Decodes a variable-length metalayer whole; the caller frees. */
static enum bfs_err decode(struct bfs_frame *f, const struct bfs_meta *m,
			   uint8_t **ret_buf, size_t *ret_len,
			   struct bfs_diag *diag)
{
	static const struct bfs_codec_env none;
	struct bfs_scratch *scratch = NULL;
	struct bfs_chunk *chunk;
	uint8_t *buf = NULL;
	enum bfs_err err = BFS_ERR_NOMEM;

	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_open(f->source, m->off, m->len,
						    UINT32_MAX, &none, &chunk,
						    diag), m->off));
	if (chunk->head.nbytes > MAX_MAP) {
		err = bfs_fail(diag, BFS_ERR_LIMIT, m->off,
			       "a map of keys of %" PRIu32 " bytes",
			       chunk->head.nbytes);
	} else {
		buf = bfs_alloc(chunk->head.nbytes);
		scratch = bfs_scratch_new();
		if (buf && scratch)
			err = bfs_diag_shift(diag, bfs_chunk_read_all(
				chunk, f->source, m->off, buf, scratch, diag),
				m->off);
		else
			bfs_fail(diag, err, 0, "no memory");
	}
	*ret_len = chunk->head.nbytes;
	bfs_scratch_free(scratch);
	bfs_chunk_unref(chunk);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_buf = buf;
	return BFS_OK;
}

static enum bfs_err parse(const uint8_t *buf, size_t len,
			  struct json_object **ret_root, struct bfs_diag *diag)
{
	struct bfs_json json;
	struct json_object *root;
	size_t text_len;
	char *text;
	enum bfs_err err;

	bfs_json_init(&json, 4 * (size_t)MAX_MAP);
	err = bfs_msgpack_to_json(buf, len, NULL, &json);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, &text, &text_len);
	bfs_json_release(&json);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "the map of keys is too big");
	root = json_tokener_parse(text);
	bfs_free(text);
	if (!json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the map of keys is no MessagePack map");
	}
	*ret_root = root;
	return BFS_OK;
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
	uint8_t *buf = NULL;
	enum bfs_err err;
	size_t len;

	BFS_TRY(decode(f, m, &buf, &len, diag));
	err = parse(buf, len, &root, diag);
	bfs_free(buf);
	BFS_TRY(err);
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
	m = find(f->vlmetas, f->n_vlmetas, "estore_metadata");
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
