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
#include "view/arrow/text.h"

#include <string.h>

#define VERSION 4		/* V5 */
#define HEADER_SCHEMA 1		/* of the union MessageHeader */
#define HEADER_DICTIONARY 2
#define HEADER_BATCH 3
#define MAGIC "ARROW1"
#define MAGIC_LEN 6
#define CONTINUED 8		/* 0xffffffff, the metadata's length */
#define BLOCK_LEN 24
#define PAIR_LEN 16		/* FieldNode, Buffer */

/* ---- the schema ------------------------------------------------------ */

static size_t put_integer(struct bfs_flat *flat, unsigned bits, bool is_signed)
{
	static const uint8_t sizes[] = { 4, 1 };
	size_t at = bfs_flat_table(flat, sizes, 2);

	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0), bits, 4);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 1), is_signed, 1);
	return at;
}

static size_t put_timestamp(struct bfs_flat *flat,
			    const struct bfs_arrow_column *column)
{
	static const uint8_t sizes[] = { 2, 4 };
	size_t at = bfs_flat_table(flat, sizes, column->zone ? 2 : 1);

	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0),
		     (unsigned)column->type.unit, 2);
	if (column->zone)
		bfs_flat_link(flat, bfs_flat_slot(flat, at, 1),
			      bfs_flat_string(flat, column->zone,
					      strlen(column->zone)));
	return at;
}

/* The table of a column's type; `list`: of a fixed-size list of so many
 * instead. */
static size_t put_type(struct bfs_flat *flat,
		       const struct bfs_arrow_column *column, uint32_t list)
{
	static const uint8_t one4[] = { 4 }, one2[] = { 2 };
	const struct bfs_arrow_type *type = &column->type;
	size_t at;

	if (list || type->id == BFS_ARROW_FIXED_BINARY) {
		at = bfs_flat_table(flat, one4, 1);
		bfs_flat_set(flat, bfs_flat_slot(flat, at, 0),
			     list ? list : type->width, 4);
		return at;
	}
	if (type->id == BFS_ARROW_INT)
		return put_integer(flat, type->bits, type->is_signed);
	if (type->id == BFS_ARROW_TIMESTAMP)
		return put_timestamp(flat, column);
	if (type->id == BFS_ARROW_BOOL || type->id == BFS_ARROW_LARGE_UTF8 ||
	    type->id == BFS_ARROW_UTF8_VIEW)
		return bfs_flat_table(flat, NULL, 0);
	at = bfs_flat_table(flat, one2, 1);
	/* Precision: of 16, 32, 64 bits. Dates are in days, 0. */
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0),
		     type->id == BFS_ARROW_FLOAT ? type->bits / 32 :
		     type->id == BFS_ARROW_DATE ? 0 : (unsigned)type->unit, 2);
	return at;
}

/* DictionaryEncoding */
static size_t put_dictionary(struct bfs_flat *flat, int64_t id)
{
	static const uint8_t sizes[] = { 8, 4 };
	size_t at = bfs_flat_table(flat, sizes, 2);

	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0), (uint64_t)id, 8);
	bfs_flat_link(flat, bfs_flat_slot(flat, at, 1),
		      put_integer(flat, 32, true));
	return at;
}

/* A field: the column itself (level 0), or what its lists have. */
static size_t put_field(struct bfs_flat *flat,
			const struct bfs_arrow_column *column, unsigned level)
{
	bool is_list = level < column->n_lists;
	bool has_words = !is_list && column->dictionary >= 0;
	const uint8_t sizes[] = { 4, 1, 1, 4, has_words ? 4 : 0, 4 };
	size_t at = bfs_flat_table(flat, sizes, 6);

	bfs_flat_set(flat, bfs_flat_slot(flat, at, 1), 1, 1);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 2),
		     is_list ? BFS_ARROW_FIXED_LIST : column->type.id, 1);
	bfs_flat_link(flat, bfs_flat_slot(flat, at, 0),
		      level ? bfs_flat_string(flat, "item", 4)
			    : bfs_flat_string(flat, column->name,
					      column->name_len));
	bfs_flat_link(flat, bfs_flat_slot(flat, at, 3),
		      put_type(flat, column,
			       is_list ? column->lists[level] : 0));
	if (has_words)
		bfs_flat_link(flat, bfs_flat_slot(flat, at, 4),
			      put_dictionary(flat, column->dictionary));
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

/* ---- batches --------------------------------------------------------- */

static void put_pair(struct bfs_flat *flat, size_t *at, uint64_t first,
		     uint64_t second)
{
	bfs_flat_set(flat, *at, first, 8);
	bfs_flat_set(flat, *at + 8, second, 8);
	*at += PAIR_LEN;
}

/* Whether the field of the column's level has its bits. */
static bool has_bits(const struct bfs_arrow_column *column, unsigned level)
{
	return level == (column->nulls.by_row ? 0 : column->n_lists);
}

/* FieldNode: values, and how many are none, which is told where the bits
 * are. */
static void put_nodes(struct bfs_flat *flat, size_t vector,
		      const struct bfs_arrow_table *table, uint64_t n_rows,
		      const int64_t *n_nulls)
{
	size_t at = vector + 4;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		uint64_t n = n_rows;

		for (unsigned k = 0; k <= column->n_lists; k++) {
			put_pair(flat, &at, n, n_nulls && has_bits(column, k) ?
				 (uint64_t)n_nulls[i] : 0);
			if (k < column->n_lists)
				n *= column->lists[k];
		}
	}
}

static uint64_t count_more(const struct bfs_arrow_lens *lens)
{
	if (lens->more_each == INT64_MAX)
		return 1;
	return lens->more / (lens->more_each ? lens->more_each : 1) +
	       (lens->more_each && lens->more % lens->more_each);
}

/* Buffer: where it lies in the body, and its length. */
static void put_buffers(struct bfs_flat *flat, size_t vector,
			const struct bfs_arrow_table *table,
			const struct bfs_arrow_run *run)
{
	size_t at = vector + 4;
	uint64_t off = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		struct bfs_arrow_lens lens = bfs_arrow_lens(column, run);
		uint64_t n_more = count_more(&lens);

		for (unsigned k = 0; k <= column->n_lists; k++)
			if (has_bits(column, k)) {
				put_pair(flat, &at, off, lens.bits);
				off += bfs_arrow_pad(lens.bits);
			} else {
				put_pair(flat, &at, off, 0);
			}
		put_pair(flat, &at, off, lens.data);
		off += bfs_arrow_pad(lens.data);
		for (uint64_t k = 0; k < n_more; k++) {
			uint64_t len = bfs_min(lens.more, lens.more_each);

			put_pair(flat, &at, off, len);
			off += bfs_arrow_pad(len);
			lens.more -= len;
		}
	}
}

uint64_t bfs_arrow_body_len(const struct bfs_arrow_table *table,
			    const struct bfs_arrow_run *run)
{
	uint64_t len = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		struct bfs_arrow_lens lens =
			bfs_arrow_lens(&table->columns[i], run);

		len += bfs_arrow_pad(lens.bits) + bfs_arrow_pad(lens.data) +
		       bfs_arrow_pad(lens.more);
	}
	return len;
}

uint64_t bfs_arrow_n_slots(const struct bfs_arrow_table *table,
			   const struct bfs_arrow_run *run)
{
	uint64_t n = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		struct bfs_arrow_lens lens =
			bfs_arrow_lens(&table->columns[i], run);

		n += count_more(&lens);
	}
	return n;
}

/* Of each column of views, how many buffers have slots. */
static size_t put_counts(struct bfs_flat *flat,
			 const struct bfs_arrow_table *table,
			 const struct bfs_arrow_run *run)
{
	size_t n = 0, vector;

	for (size_t i = 0; i < table->n_columns; i++)
		n += table->columns[i].type.way == BFS_ARROW_VIEWS;
	vector = bfs_flat_vector(flat, n, 8, 8);
	n = 0;
	for (size_t i = 0; i < table->n_columns; i++) {
		struct bfs_arrow_lens lens =
			bfs_arrow_lens(&table->columns[i], run);

		if (table->columns[i].type.way == BFS_ARROW_VIEWS)
			bfs_flat_set(flat, vector + 4 + 8 * n++,
				     count_more(&lens), 8);
	}
	return vector;
}

enum bfs_err bfs_arrow_make_batch(const struct bfs_arrow_table *table,
				  size_t i, const int64_t *n_nulls,
				  uint8_t **ret_meta, size_t *ret_len,
				  struct bfs_diag *diag)
{
	static const uint8_t sizes[] = { 8, 4, 4, 0, 4 };
	const struct bfs_arrow_run *run = &table->runs[i];
	size_t slot, at, vector, n_nodes = 0;
	struct bfs_flat flat;

	for (size_t k = 0; k < table->n_columns; k++)
		n_nodes += table->columns[k].n_lists + 1;
	begin_message(&flat, HEADER_BATCH, bfs_arrow_body_len(table, run),
		      &slot);
	at = bfs_flat_table(&flat, sizes, 5);
	bfs_flat_link(&flat, slot, at);
	bfs_flat_set(&flat, bfs_flat_slot(&flat, at, 0), run->n, 8);
	vector = bfs_flat_vector(&flat, n_nodes, PAIR_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 1), vector);
	put_nodes(&flat, vector, table, run->n, n_nulls);
	/* One of each list, two of each column, and those of texts. */
	vector = bfs_flat_vector(&flat, n_nodes + table->n_columns +
				 (size_t)bfs_arrow_n_slots(table, run),
				 PAIR_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 2), vector);
	put_buffers(&flat, vector, table, run);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 4),
		      put_counts(&flat, table, run));
	BFS_TRY(finish(&flat, CONTINUED, BFS_ARROW_ALIGN, ret_meta, ret_len,
		       diag));
	put_prefix(*ret_meta, 0, *ret_len);
	return BFS_OK;
}

/* ---- dictionaries ---------------------------------------------------- */

/* Bits that are not there, offsets, bytes. */
static void put_words(struct bfs_flat *flat, size_t slot, int64_t id, size_t n,
		      uint64_t len)
{
	static const uint8_t sizes[] = { 8, 4 }, batch_sizes[] = { 8, 4, 4 };
	size_t at = bfs_flat_table(flat, sizes, 2), batch, vector, pair;
	uint64_t offsets_len = 8 * ((uint64_t)n + 1);

	bfs_flat_link(flat, slot, at);
	bfs_flat_set(flat, bfs_flat_slot(flat, at, 0), (uint64_t)id, 8);
	batch = bfs_flat_table(flat, batch_sizes, 3);
	bfs_flat_link(flat, bfs_flat_slot(flat, at, 1), batch);
	bfs_flat_set(flat, bfs_flat_slot(flat, batch, 0), n, 8);
	vector = bfs_flat_vector(flat, 1, PAIR_LEN, 8);
	bfs_flat_link(flat, bfs_flat_slot(flat, batch, 1), vector);
	bfs_flat_set(flat, vector + 4, n, 8);
	vector = bfs_flat_vector(flat, 3, PAIR_LEN, 8);
	bfs_flat_link(flat, bfs_flat_slot(flat, batch, 2), vector);
	pair = vector + 4;
	put_pair(flat, &pair, 0, 0);
	put_pair(flat, &pair, 0, offsets_len);
	put_pair(flat, &pair, bfs_arrow_pad(offsets_len), len);
}

enum bfs_err bfs_arrow_make_words(int64_t id, const uint64_t *offsets, size_t n,
				  const char *joined,
				  struct bfs_arrow_words *ret_words,
				  struct bfs_diag *diag)
{
	size_t slot, meta_len, body_len, bytes_at;
	struct bfs_flat flat;
	uint8_t *meta, *bytes;

	bytes_at = (size_t)bfs_arrow_pad(8 * (n + 1));
	body_len = bytes_at + (size_t)bfs_arrow_pad(offsets[n]);
	begin_message(&flat, HEADER_DICTIONARY, body_len, &slot);
	put_words(&flat, slot, id, n, offsets[n]);
	BFS_TRY(finish(&flat, CONTINUED, BFS_ARROW_ALIGN, &meta, &meta_len,
		       diag));
	put_prefix(meta, 0, meta_len);
	bytes = bfs_realloc(meta, meta_len + body_len);
	if (!bytes) {
		bfs_free(meta);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a dictionary");
	}
	memset(bytes + meta_len, 0, body_len);
	for (size_t i = 0; i <= n; i++)
		store(bytes + meta_len + 8 * i, offsets[i], 8);
	if (offsets[n])
		memcpy(bytes + meta_len + bytes_at, joined, offsets[n]);
	*ret_words = (struct bfs_arrow_words){ bytes, meta_len + body_len,
					       meta_len };
	return BFS_OK;
}

/* ---- head and tail --------------------------------------------------- */

/* Appends what the file has between its schema and its first batch. */
static enum bfs_err append_words(const struct bfs_arrow_table *table,
				 uint8_t **head, size_t *len,
				 struct bfs_diag *diag)
{
	size_t longer = *len;
	uint8_t *buf;

	for (size_t i = 0; i < table->n_words; i++)
		longer += table->words[i].len;
	buf = bfs_realloc(*head, longer);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for dictionaries");
	for (size_t i = 0; i < table->n_words; i++) {
		memcpy(buf + *len, table->words[i].bytes, table->words[i].len);
		*len += table->words[i].len;
	}
	*head = buf;
	return BFS_OK;
}

enum bfs_err bfs_arrow_make_head(const struct bfs_arrow_table *table,
				 uint8_t **ret_head, size_t *ret_len,
				 struct bfs_diag *diag)
{
	struct bfs_flat flat;
	size_t slot, len;
	enum bfs_err err;
	uint8_t *head;

	begin_message(&flat, HEADER_SCHEMA, 0, &slot);
	bfs_flat_link(&flat, slot, put_schema(&flat, table));
	BFS_TRY(finish(&flat, 8 + CONTINUED, BFS_ARROW_ALIGN, &head, &len,
		       diag));
	memcpy(head, MAGIC, MAGIC_LEN);
	put_prefix(head, 8, len);
	err = append_words(table, &head, &len, diag);
	if (err != BFS_OK) {
		bfs_free(head);
		return err;
	}
	*ret_head = head;
	*ret_len = len;
	return BFS_OK;
}

/* The places of dictionaries, which end where the first batch begins. */
static void put_word_blocks(struct bfs_flat *flat, size_t vector,
			    const struct bfs_arrow_table *table)
{
	uint64_t off = table->head_len;

	for (size_t i = table->n_words; i-- > 0;) {
		const struct bfs_arrow_words *words = &table->words[i];
		size_t block = vector + 4 + BLOCK_LEN * i;

		off -= words->len;
		bfs_flat_set(flat, block, off, 8);
		bfs_flat_set(flat, block + 8, words->meta_len, 4);
		bfs_flat_set(flat, block + 16, words->len - words->meta_len, 8);
	}
}

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
	vector = bfs_flat_vector(&flat, table->n_words, BLOCK_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 2), vector);
	put_word_blocks(&flat, vector, table);
	vector = bfs_flat_vector(&flat, table->n_runs, BLOCK_LEN, 8);
	bfs_flat_link(&flat, bfs_flat_slot(&flat, at, 3), vector);
	for (size_t i = 0; i < table->n_runs; i++) {
		const struct bfs_arrow_run *run = &table->runs[i];
		size_t block = vector + 4 + BLOCK_LEN * i;

		bfs_flat_set(&flat, block, run->off, 8);
		bfs_flat_set(&flat, block + 8, run->meta_len, 4);
		bfs_flat_set(&flat, block + 16,
			     bfs_arrow_body_len(table, run), 8);
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
