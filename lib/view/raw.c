/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw.c - raw/frame, the container's own bytes, the same under the name that
 * the container was opened by, and raw/chunks/N, each chunk as it is stored.
 */
#include "base/mem.h"
#include "container/nametree.h"
#include "view/kept.h"
#include "view/numbers.h"
#include "view/parts.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

#define TWIN "%~2"		/* behind a name that is taken */

/* raw/frame is so called whatever format the container has. */
enum kind { KIND_DIR, KIND_FRAME, KIND_CHUNKS, KIND_CHUNK, KIND_NAMED };

/* ---- the container's own name ---------------------------------------- */

/* What a directory can have as it is. */
static bool is_file_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* As the container's directory is called, so far as that can be told from the
 * name that it was opened by; "" where there is none. */
static enum bfs_err find_own_name(struct bfs_file *file, void **ret_state,
				  struct bfs_diag *diag)
{
	const char *name = file->array->container->name;
	char *own = bfs_zalloc(1, BFS_NAME_MAX + 1), *text = NULL;
	size_t len = name ? strlen(name) : 0;

	if (own && name && !is_file_name(name)) {
		text = bfs_name_escape(name, len, 1);
		name = text;
		len = text ? strlen(text) : 0;
	}
	if (!own || (!name && file->array->container->name)) {
		bfs_free(own);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a container's name");
	}
	if (name && (!strcmp(name, "frame") || !strcmp(name, "chunks")))
		snprintf(own, BFS_NAME_MAX + 1, "%s%s", name, TWIN);
	else if (name && len <= BFS_NAME_MAX)
		memcpy(own, name, len);
	bfs_free(text);
	*ret_state = own;
	return BFS_OK;
}

static const char *own_name(struct bfs_file *file)
{
	const void *own;

	return bfs_kept_state(file, BFS_ROW_raw, find_own_name, &own, NULL) ==
	       BFS_OK ? own : "";
}

/* ---- entries --------------------------------------------------------- */

static size_t raw_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "raw", KIND_DIR };
	return 1;
}

/* The entry of raw/ at a position; NULL behind the last. */
static const char *entry_name(struct bfs_file *file, uint64_t pos,
			      uint16_t *ret_kind)
{
	static const uint16_t kinds[] = { KIND_FRAME, KIND_CHUNKS,
					  KIND_NAMED };
	const char *own;

	if (pos > 2)
		return NULL;
	*ret_kind = kinds[pos];
	if (pos < 2)
		return pos == 0 ? "frame" : "chunks";
	own = own_name(file);
	return own[0] ? own : NULL;
}

static bool raw_lookup(struct bfs_file *file, const struct bfs_node *dir,
		       const char *name, size_t name_len,
		       struct bfs_node *ret_node)
{
	const char *entry;
	uint16_t kind;

	if (dir->kind == KIND_CHUNKS)
		return bfs_per_chunk_lookup(file, dir, KIND_CHUNK, name,
					    name_len, ret_node);
	if (dir->kind != KIND_DIR)
		return false;
	for (uint64_t pos = 0; (entry = entry_name(file, pos, &kind)); pos++)
		if (strlen(entry) == name_len &&
		    !memcmp(entry, name, name_len)) {
			*ret_node = (struct bfs_node){ dir->view, kind, 0 };
			return true;
		}
	return false;
}

static bool raw_list(struct bfs_file *file, const struct bfs_node *dir,
		     uint64_t pos, char *name, struct bfs_node *ret_node)
{
	const char *entry;
	uint16_t kind;

	if (dir->kind == KIND_CHUNKS)
		return bfs_per_chunk_list(file, dir, KIND_CHUNK, pos, name,
					  ret_node);
	if (dir->kind != KIND_DIR || !(entry = entry_name(file, pos, &kind)))
		return false;
	strcpy(name, entry);
	*ret_node = (struct bfs_node){ dir->view, kind, 0 };
	return true;
}

/* ---- files ----------------------------------------------------------- */

static struct bfs_stream find_stream(const struct bfs_node *node)
{
	return (struct bfs_stream){ node->kind == KIND_CHUNK ?
					    BFS_STREAM_RAW_CHUNK :
					    BFS_STREAM_SOURCE,
				    node->index };
}

static bool is_dir(const struct bfs_node *node)
{
	return node->kind == KIND_DIR || node->kind == KIND_CHUNKS;
}

static bool raw_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)file;
	return node->kind == KIND_CHUNK || is_dir(node);
}

static void raw_stat(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr)
{
	struct bfs_stream stream = find_stream(node);

	ret_attr->is_dir = is_dir(node);
	if (!ret_attr->is_dir)
		bfs_stream_stat(file, &stream, ret_attr);
}

static enum bfs_err raw_open(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_diag *diag)
{
	struct bfs_stream stream = find_stream(node);

	return is_dir(node) ? BFS_OK : bfs_array_ready(file->array, &stream,
						       diag);
}

static enum bfs_err raw_part(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint64_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag)
{
	struct bfs_stream stream = find_stream(node);

	(void)file;
	(void)diag;
	bfs_stream_part(&stream, off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_raw = {
	.name = "raw",
	.roots = raw_roots,
	.lookup = raw_lookup,
	.list = raw_list,
	.is_dir = is_dir,
	.keeps = raw_keeps,
	.stat = raw_stat,
	.open = raw_open,
	.part = raw_part,
	.release = bfs_free,
};
