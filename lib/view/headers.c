/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headers.c - data.nhdr, data.mhd, data.vrt and data.hdr: texts that describe
 * data.bin to programs that know NRRD, MetaImage, GDAL's VRT or ENVI. The
 * first two have the dimension that varies fastest first.
 *
 * They hold numbers and words of ours alone: nothing of the container's texts.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"
#include "view/image/headers.h"
#include "view/parts.h"
#include "view/payload.h"
#include "view/view.h"

#include <stdio.h>

static const char *const names[BFS_HEADER_N] = {
	[BFS_HEADER_NRRD] = "data.nhdr",
	[BFS_HEADER_META] = "data.mhd",
	[BFS_HEADER_VRT] = "data.vrt",
	[BFS_HEADER_ENVI] = "data.hdr",
};

struct headers {
	struct bfs_plain plain;
	char why[BFS_HEADER_N][BFS_PLAIN_WHY];	/* why one is not there; "" */
};

static enum bfs_err judge(const struct bfs_file *file,
			  const struct bfs_plain *plain,
			  enum bfs_header which, struct bfs_diag *diag)
{
	if (!bfs_file_shows(file, BFS_ROW_data))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it names data.bin, whose view is off");
	return bfs_header_judge(plain, which, diag);
}

static enum bfs_err find_headers(struct bfs_file *file, void **ret_state,
				 struct bfs_diag *diag)
{
	struct headers *headers = bfs_zalloc(1, sizeof(*headers));
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err none, err;

	if (!headers)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for headers");
	none = bfs_plain_get(file, &headers->plain, &why);
	if (bfs_err_passes(none)) {
		bfs_free(headers);
		return bfs_fail(diag, none, 0, "no memory for headers");
	}
	for (unsigned i = 0; i < BFS_HEADER_N; i++) {
		err = none == BFS_OK ? judge(file, &headers->plain,
					     (enum bfs_header)i, &why) : none;
		if (err != BFS_OK)
			snprintf(headers->why[i], sizeof(headers->why[i]),
				 "%s", why.text);
	}
	*ret_state = headers;
	return BFS_OK;
}

static const struct headers *get_headers(struct bfs_file *file)
{
	const void *headers;

	return bfs_kept_state(file, BFS_ROW_headers, find_headers, &headers,
			      NULL) == BFS_OK ? headers : NULL;
}

static size_t headers_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	const struct headers *headers = get_headers(file);
	size_t n = 0;

	for (unsigned i = 0; headers && i < BFS_HEADER_N; i++)
		if (!headers->why[i][0])
			ret_roots[n++] = (struct bfs_root){ names[i],
							    (uint16_t)i };
	return n;
}

static enum bfs_err make_text(struct bfs_file *file, unsigned key,
			      char **ret_text, size_t *ret_len,
			      struct bfs_diag *diag)
{
	const struct headers *headers = get_headers(file);

	if (!headers)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for headers");
	return bfs_header_text(&headers->plain, (enum bfs_header)key, ret_text,
			       ret_len, diag);
}

static enum bfs_err get_text(struct bfs_file *file, const struct bfs_node *node,
			     const char **ret_text, size_t *ret_len,
			     struct bfs_diag *diag)
{
	const struct headers *headers = get_headers(file);

	if (!headers || node->kind >= BFS_HEADER_N ||
	    headers->why[node->kind][0])
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return bfs_kept_text(file, BFS_ROW_headers, node->kind, make_text,
			     ret_text, ret_len, diag);
}

static void headers_stat(struct bfs_file *file, const struct bfs_node *node,
			 struct bfs_attr *ret_attr)
{
	const char *text;
	size_t len;

	if (get_text(file, node, &text, &len, NULL) == BFS_OK)
		bfs_text_stat(len, ret_attr);
}

/* A header of bytes that cannot be had would be a lie. */
static enum bfs_err headers_open(struct bfs_file *file,
				 const struct bfs_node *node,
				 struct bfs_diag *diag)
{
	const struct headers *headers;
	const char *text;
	size_t len;

	BFS_TRY(get_text(file, node, &text, &len, diag));
	headers = get_headers(file);
	if (!headers)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for headers");
	return bfs_plain_ready(file, &headers->plain, diag);
}

static enum bfs_err headers_part(struct bfs_file *file,
				 const struct bfs_node *node, uint64_t off,
				 uint64_t len, struct bfs_part *ret_part,
				 struct bfs_diag *diag)
{
	const char *text;
	size_t text_len;

	BFS_TRY(get_text(file, node, &text, &text_len, diag));
	return bfs_text_part(text, text_len, off, len, ret_part, diag);
}

static void headers_note(struct bfs_file *file, struct bfs_json *json)
{
	static const char *const keys[BFS_HEADER_N] = {
		[BFS_HEADER_NRRD] = "nhdr",
		[BFS_HEADER_META] = "mhd",
		[BFS_HEADER_VRT] = "vrt",
		[BFS_HEADER_ENVI] = "hdr",
	};
	const struct headers *headers;

	if (!bfs_payload_is_array(file))
		return;
	headers = get_headers(file);
	if (!headers)
		return;
	bfs_json_key(json, "headers");
	bfs_json_object(json);
	for (unsigned i = 0; i < BFS_HEADER_N; i++)
		bfs_plain_put(json, keys[i], headers->why[i]);
	bfs_json_object_end(json);
}

static void headers_release(void *state)
{
	bfs_free(state);
}

const struct bfs_view bfs_view_headers = {
	.name = "headers",
	.groups = " imaging ",
	.n_texts = BFS_HEADER_N,
	.roots = headers_roots,
	.stat = headers_stat,
	.open = headers_open,
	.part = headers_part,
	.note = headers_note,
	.release = headers_release,
};
