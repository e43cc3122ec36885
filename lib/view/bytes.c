/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.c - the bytes of entries, part after part, whatever view they belong
 * to.
 */
#include "view/dispatch.h"

#include "base/bytes.h"
#include "base/moment.h"
#include "view/kept.h"
#include "view/parts.h"

#include <string.h>

/* How much of [off, off + len) is inside the file. A known size of 0 may mean
 * that it is not: then open tells why. */
static enum bfs_err clip(struct bfs_file *file, const struct bfs_node *node,
			 uint64_t off, size_t len, size_t *ret_len,
			 struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_attr attr;

	bfs_file_stat_known(file, node, &attr);
	BFS_TRY(bfs_moment_settle(mark, BFS_OK, diag));
	if (attr.is_dir)
		return bfs_fail(diag, BFS_ERR_INVALID, 0,
				"a directory has no bytes");
	if (!attr.len)
		BFS_TRY(bfs_file_open(file, node, diag));
	*ret_len = off < attr.len ? (size_t)bfs_min(len, attr.len - off) : 0;
	return BFS_OK;
}

static enum bfs_err get_part(const struct bfs_view *row, struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     size_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag)
{
	const char *text;
	size_t text_len;

	if (!row->text)
		return row->part(file, node, off, len, ret_part, diag);
	BFS_TRY(row->text(file, &text, &text_len, diag));
	return bfs_text_part(text, text_len, off, len, ret_part, diag);
}

/* The part at off; a row that gives nothing would never end. */
static enum bfs_err next_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      size_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	const struct bfs_view *row = bfs_file_row(file, node);

	if (!row)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	*ret_part = (struct bfs_part){ .made = !row->part && !row->text,
				       .len = len };
	if (ret_part->made)
		return BFS_OK;
	BFS_TRY(get_part(row, file, node, off, len, ret_part, diag));
	if (!ret_part->len || ret_part->len > len)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"no byte of the file lies there");
	return BFS_OK;
}

static enum bfs_err read_parts(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	size_t done = 0;

	while (done < len) {
		struct bfs_part part;

		BFS_TRY(next_part(file, node, off + done, len - done, &part,
				  diag));
		if (part.made)
			BFS_TRY(bfs_file_row(file, node)->fill(
				file, node, off + done, buf + done,
				(size_t)part.len, diag));
		else if (part.bytes)
			memcpy(buf + done, part.bytes, (size_t)part.len);
		else
			BFS_TRY(bfs_array_read(file->array, &part.stream,
					       part.off, buf + done,
					       (size_t)part.len, diag));
		done += (size_t)part.len;
	}
	return BFS_OK;
}

enum bfs_err bfs_file_read(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, void *buf, size_t len,
			   size_t *ret_len, struct bfs_diag *diag)
{
	size_t n;

	BFS_TRY(clip(file, node, off, len, &n, diag));
	BFS_TRY(read_parts(file, node, off, buf, n, diag));
	*ret_len = n;
	return BFS_OK;
}

static void add_piece(struct bfs_pieces *pieces, void *p, size_t len)
{
	pieces->iov[pieces->n].iov_base = p;
	pieces->iov[pieces->n].iov_len = len;
	pieces->n++;
}

/* A reply only reads what an iovec points at. */
static void *drop_const(const void *p)
{
	union {
		const void *in;
		void *out;
	} u = { p };

	return u.out;
}

/* Pins part after part; false in *ret_all where there are too many pieces, or
 * bytes that must be made. */
static enum bfs_err pin_parts(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint8_t *buf, size_t len,
			      struct bfs_pieces *pieces, bool *ret_all,
			      struct bfs_diag *diag)
{
	size_t done = 0;

	while (done < len && pieces->n < BFS_MAX_PIECES) {
		struct bfs_part part;

		BFS_TRY(next_part(file, node, off + done, len - done, &part,
				  diag));
		if (part.made)
			break;
		if (part.bytes)
			add_piece(pieces, drop_const(part.bytes),
				  (size_t)part.len);
		else
			BFS_TRY(bfs_array_pin(file->array, &part.stream,
					      part.off, buf + done,
					      (size_t)part.len, pieces,
					      diag));
		done += (size_t)part.len;
	}
	*ret_all = done == len;
	return BFS_OK;
}

static void release(struct bfs_file *file, struct bfs_pieces *pieces)
{
	bfs_array_release(file->array, pieces);
	pieces->n = 0;
	pieces->n_pins = 0;
}

enum bfs_err bfs_file_pin(struct bfs_file *file, const struct bfs_node *node,
			  uint64_t off, void *buf, size_t len,
			  struct bfs_pieces *ret_pieces, struct bfs_diag *diag)
{
	enum bfs_err err;
	bool all = false;
	size_t n;

	ret_pieces->n = 0;
	ret_pieces->n_pins = 0;
	BFS_TRY(clip(file, node, off, len, &n, diag));
	err = pin_parts(file, node, off, buf, n, ret_pieces, &all, diag);
	if (err == BFS_OK && all)
		return BFS_OK;
	release(file, ret_pieces);
	BFS_TRY(err);
	BFS_TRY(read_parts(file, node, off, buf, n, diag));
	add_piece(ret_pieces, buf, n);
	return BFS_OK;
}
