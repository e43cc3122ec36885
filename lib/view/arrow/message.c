/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.c - Arrow's metadata as FlatBuffers.
 *
 * Numbers of slots are those of Schema.fbs, Message.fbs and File.fbs.
 */
#include "view/arrow/message.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/arrow/flat.h"

#include <string.h>

#define VERSION 4		/* V5 */
#define HEADER_SCHEMA 1		/* of the union MessageHeader */
#define HEADER_BATCH 3
#define MAGIC "ARROW1"
#define MAGIC_LEN 6
#define CONTINUED 8		/* 0xffffffff, the metadata's length */
#define BLOCK_LEN 24
#define PAIR_LEN 16		/* FieldNode, Buffer */

/* ---- the schema ------------------------------------------------------ */

/* The table of a type; `list`: of a fixed-size list of so many instead. */
static size_t put_type(struct bfs_flat *flat, const struct bfs_arrow_type *type,
		       uint32_t list)
{
	static const uint8_t one4[] = { 4 }, one2[] = { 2 };
	static const uint8_t integer[] = { 4, 1 };
	size_t at;

	if (list || type->id == BFS_ARROW_FIXED_BINARY) {
		at = bfs_flat_table(flat, one4, 1);
		bfs_flat_set(flat, bfs_flat_slot(flat, at, 0),
			     list ? list : type->width, 4);
		return at;
	}
	if (type->id == BFS_ARROW_INT) {
		at = bfs_flat_table(flat, integer, 2);
		bfs_flat_set(flat, bfs_flat_slot(flat, at, 0), type->bits, 4);
		bfs_flat_set(flat, bfs_flat_slot(flat, at, 1),
			     type->is_signed, 1);
		return at;
	}
	if (type->id == BFS_ARROW_BOOL || type->id == BFS_ARROW_LARGE_UTF8)
		return bfs_flat_table(flat, NULL, 0);
	at = bfs_flat_table(flat, one2, 1);
	/* Precision: of 16, 32, 64 bits. Dates are in days, 0. */
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0),
		     type->id == BFS_ARROW_FLOAT ? type->bits / 32 :
		     type->id == BFS_ARROW_DATE ? 0 : (unsigned)type->unit, 2);
	return at;
}

/* A field: the column itself (level 0), or what its lists have. */
static size_t put_field(struct bfs_flat *flat,
			const struct bfs_arrow_column *column, unsigned level)
{
	static const uint8_t sizes[] = { 4, 1, 1, 4, 0, 4 };
	size_t at = bfs_flat_table(flat, sizes, 6);
	bool is_list = level < column->n_lists;

	bfs_flat_set(flat, bfs_flat_slot(flat, at, 1), 1, 1);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 2),
		     is_list ? BFS_ARROW_FIXED_LIST : column->type.id, 1);
	bfs_flat_link(flat, bfs_flat_slot(flat, at, 0),
		      level ? bfs_flat_string(flat, "item", 4)
			    : bfs_flat_string(flat, column->name,
					      column->name_len));
	bfs_flat_link(flat, bfs_flat_slot(flat, at, 3),
		      put_type(flat, &column->type,
			       is_list ? column->lists[level] : 0));
	return at;
}

/* A field with all that lies in it, each the only child of the one before. */
static size_t put_fields(struct bfs_flat *flat,
			 const struct bfs_arrow_column *column)
{
	size_t first = put_field(flat, column, 0), at = first;

	for (unsigned level = 0; level <= column->n_lists; level++) {
		bool is_list = level < column->n_lists;
		size_t vector = bfs_flat_vector(flat, is_list, 4, 4);
		size_t child;

		bfs_flat_link(flat, bfs_flat_slot(flat, at, 5), vector);
		if (!is_list)
			break;
		child = put_field(flat, column, level + 1);
		bfs_flat_link(flat, vector + 4, child);
		at = child;
	}
	return first;
}

static size_t put_schema(struct bfs_flat *flat,
			 const struct bfs_arrow_table *table)
{
	static const uint8_t sizes[] = { 2, 4 };	/* little-endian: 0 */
	size_t at = bfs_flat_table(flat, sizes, 2);
	size_t vector = bfs_flat_vector(flat, table->n_columns, 4, 4);

	bfs_flat_link(flat, bfs_flat_slot(flat, at, 1), vector);
	for (size_t i = 0; i < table->n_columns; i++)
		bfs_flat_link(flat, vector + 4 + 4 * i,
			      put_fields(flat, &table->columns[i]));
	return at;
}

/* ---- messages -------------------------------------------------------- */

/* Begins a message; the caller links *ret_slot to its header. */
static void begin_message(struct bfs_flat *flat, unsigned kind,
			  uint64_t body_len, size_t *ret_slot)
{
	static const uint8_t sizes[] = { 2, 1, 4, 8 };
	size_t at;

	bfs_flat_init(flat);
	at = bfs_flat_table(flat, sizes, 4);
	bfs_flat_root(flat, at);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0), VERSION, 2);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 1), kind, 1);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 3), body_len, 8);
	*ret_slot = bfs_flat_slot(flat, at, 2);
}

/* What was written, `before` bytes of room first and up to a multiple of
 * `align`; releases the builder. */
static enum bfs_err finish(struct bfs_flat *flat, size_t before, size_t align,
			   uint8_t **ret_buf, size_t *ret_len,
			   struct bfs_diag *diag)
{
	enum bfs_err err = flat->err;
	uint8_t *buf = NULL;
	size_t len;

	len = (before + flat->len + align - 1) / align * align;
	if (err == BFS_OK)
		buf = bfs_zalloc(1, len);
	if (buf)
		memcpy(buf + before, flat->buf, flat->len);
	bfs_flat_release(flat);
	if (!buf && err == BFS_ERR_LIMIT)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"its metadata would be too long");
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for Arrow's metadata");
	*ret_buf = buf;
	*ret_len = len;
	return BFS_OK;
}

static void store(uint8_t *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* Before a message's metadata, which end at `end`. */
static void put_prefix(uint8_t *buf, size_t at, size_t end)
{
	store(buf + at, UINT32_MAX, 4);
	store(buf + at + 4, end - at - CONTINUED, 4);
}

enum bfs_err bfs_arrow_make_head(const struct bfs_arrow_table *table,
				 uint8_t **ret_head, size_t *ret_len,
				 struct bfs_diag *diag)
{
	struct bfs_flat flat;
	size_t slot;

	begin_message(&flat, HEADER_SCHEMA, 0, &slot);
	bfs_flat_link(&flat, slot, put_schema(&flat, table));
	BFS_TRY(finish(&flat, 8 + CONTINUED, BFS_ARROW_ALIGN, ret_head, ret_len,
		       diag));
	memcpy(*ret_head, MAGIC, MAGIC_LEN);
	put_prefix(*ret_head, 8, *ret_len);
	return BFS_OK;
}

/* ---- batches --------------------------------------------------------- */

static void put_pair(struct bfs_flat *flat, size_t *at, uint64_t first,
		     uint64_t second)
{
	bfs_flat_set(flat, *at, first, 8);
	bfs_flat_set(flat, *at + 8, second, 8);
	*at += PAIR_LEN;
}

/* FieldNode: values, and how many are none. */
static void put_nodes(struct bfs_flat *flat, size_t vector,
		      const struct bfs_arrow_table *table, uint64_t n_rows,
		      const int64_t *n_nulls)
{
	size_t at = vector + 4;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		uint64_t n = n_rows;

		for (unsigned k = 0; k < column->n_lists; k++) {
			put_pair(flat, &at, n, 0);
			n *= column->lists[k];
		}
		put_pair(flat, &at, n, !column->has_nulls ? 0 :
			 n_nulls ? (uint64_t)n_nulls[i] : UINT64_MAX);
	}
}

/* Buffer: where it lies in the body, and its length. */
static void put_buffers(struct bfs_flat *flat, size_t vector,
			const struct bfs_arrow_table *table, uint64_t n_rows)
{
	size_t at = vector + 4;
	uint64_t off = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		struct bfs_arrow_lens buffers =
			bfs_arrow_lens(column, n_rows);

		for (unsigned k = 0; k < column->n_lists; k++)
			put_pair(flat, &at, off, 0);
		put_pair(flat, &at, off, buffers.bits);
		off += bfs_arrow_pad(buffers.bits);
		put_pair(flat, &at, off, buffers.data);
		off += bfs_arrow_pad(buffers.data);
	}
}

uint64_t bfs_arrow_body_len(const struct bfs_arrow_table *table,
			    uint64_t n_rows)
{
	uint64_t len = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		struct bfs_arrow_lens buffers =
			bfs_arrow_lens(&table->columns[i], n_rows);

		len += bfs_arrow_pad(buffers.bits) +
		       bfs_arrow_pad(buffers.data);
	}
	return len;
}

enum bfs_err bfs_arrow_make_batch(const struct bfs_arrow_table *table,
				  size_t i, const int64_t *n_nulls,
				  uint8_t **ret_meta, size_t *ret_len,
				  struct bfs_diag *diag)
{
	static const uint8_t sizes[] = { 8, 4, 4 };
	uint64_t n_rows = table->runs[i].n;
	size_t slot, at, vector, n_nodes = 0;
	struct bfs_flat flat;

	for (size_t k = 0; k < table->n_columns; k++)
		n_nodes += table->columns[k].n_lists + 1;
	begin_message(&flat, HEADER_BATCH, bfs_arrow_body_len(table, n_rows),
		      &slot);
	at = bfs_flat_table(&flat, sizes, 3);
	bfs_flat_link(&flat, slot, at);
	bfs_flat_set(&flat, bfs_flat_slot(&flat, at, 0), n_rows, 8);
	vector = bfs_flat_vector(&flat, n_nodes, PAIR_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 1), vector);
	put_nodes(&flat, vector, table, n_rows, n_nulls);
	/* One of each list, two of each column. */
	vector = bfs_flat_vector(&flat, n_nodes + table->n_columns, PAIR_LEN,
				 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 2), vector);
	put_buffers(&flat, vector, table, n_rows);
	BFS_TRY(finish(&flat, CONTINUED, BFS_ARROW_ALIGN, ret_meta, ret_len,
		       diag));
	put_prefix(*ret_meta, 0, *ret_len);
	return BFS_OK;
}

/* ---- the footer ------------------------------------------------------ */

enum bfs_err bfs_arrow_make_tail(const struct bfs_arrow_table *table,
				 uint8_t **ret_tail, size_t *ret_len,
				 struct bfs_diag *diag)
{
	static const uint8_t sizes[] = { 2, 4, 4, 4 };
	size_t at, vector, len;
	struct bfs_flat flat;
	uint8_t *tail, *longer;

	bfs_flat_init(&flat);
	at = bfs_flat_table(&flat, sizes, 4);
	bfs_flat_root(&flat, at);
	bfs_flat_set(&flat, bfs_flat_slot(&flat, at, 0), VERSION, 2);
	vector = bfs_flat_vector(&flat, 0, BLOCK_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 2), vector);
	vector = bfs_flat_vector(&flat, table->n_runs, BLOCK_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 3), vector);
	for (size_t i = 0; i < table->n_runs; i++) {
		const struct bfs_arrow_run *run = &table->runs[i];
		size_t block = vector + 4 + BLOCK_LEN * i;

		bfs_flat_set(&flat, block, run->off, 8);
		bfs_flat_set(&flat, block + 8, table->meta_len, 4);
		bfs_flat_set(&flat, block + 16,
			     bfs_arrow_body_len(table, run->n), 8);
	}
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 1),
		      put_schema(&flat, table));
	BFS_TRY(finish(&flat, CONTINUED, 8, &tail, &len, diag));
	longer = bfs_realloc(tail, len + 4 + MAGIC_LEN);
	if (!longer) {
		bfs_free(tail);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for Arrow's metadata");
	}
	/* No message follows. */
	store(longer, UINT32_MAX, 4);
	store(longer + len, len - CONTINUED, 4);
	memcpy(longer + len + 4, MAGIC, MAGIC_LEN);
	*ret_tail = longer;
	*ret_len = len + 4 + MAGIC_LEN;
	return BFS_OK;
}
