/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctable.c - a table of python-blosc2 in a store.
 */
#include "view/arrow/ctable.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/table.h"
#include "text/json.h"
#include "text/json_read.h"
#include "view/arrow/batches.h"
#include "view/arrow/living.h"
#include "view/arrow/message.h"
#include "view/arrow/packed.h"
#include "view/arrow/sentinel.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS "_cols/"

/* What a table is made of. */
struct making {
	struct bfs_file *file;
	struct bfs_arrow_table *table;
	struct bfs_arrow_lefts *lefts;
	struct bfs_arrow_stores *stores;
	size_t valid;			/* the store of marks */
	uint64_t n_valid;		/* their number */
};

/* A column of the schema that is being added. */
struct item {
	const struct bfs_value *value;
	const char *name, *kind;
	size_t name_len;
	char *key;			/* owned */
};

bool bfs_arrow_is_ctable(struct bfs_file *file)
{
	return bfs_arrow_has_key(file, BFS_TABLE_META) &&
	       bfs_arrow_has_key(file, BFS_TABLE_MARKS);
}

/* ---- keys ------------------------------------------------------------ */

static char *put_percent(char *to, unsigned char c)
{
	static const char hex[] = "0123456789ABCDEF";

	*to++ = '%';
	*to++ = hex[c >> 4];
	*to++ = hex[c & 15];
	return to;
}

/* Where a column lies: its dots lead into folders, but for those behind a
 * backslash. NULL without memory. */
static char *make_key(const char *name, size_t len)
{
	char *key = bfs_alloc(sizeof(COLUMNS) + 3 * len), *to = key;

	if (!key)
		return NULL;
	memcpy(to, COLUMNS, sizeof(COLUMNS) - 1);
	to += sizeof(COLUMNS) - 1;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '.') {
			*to++ = '/';
		} else if (c == '\\' && i + 1 < len &&
			   (name[i + 1] == '.' || name[i + 1] == '\\')) {
			to = put_percent(to, (unsigned char)name[++i]);
		} else if (c == '%' || c == '/' || c == '\\') {
			to = put_percent(to, c);
		} else {
			*to++ = (char)c;
		}
	}
	*to = '\0';
	return key;
}

/* Opens KEY<ending>. */
static enum bfs_err open_beside(const struct making *making,
				const struct item *item, const char *ending,
				size_t *ret_store, struct bfs_diag *diag)
{
	size_t len = strlen(item->key) + strlen(ending) + 1;
	char *key = bfs_alloc(len);
	enum bfs_err err;

	if (!key)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a name");
	snprintf(key, len, "%s%s", item->key, ending);
	err = bfs_arrow_open_key(making->file, making->stores, key, ret_store,
				 diag);
	bfs_free(key);
	return err;
}

/* ---- columns --------------------------------------------------------- */

static bool is_kind(const struct item *item, const char *kind)
{
	return strcmp(item->kind, kind) == 0;
}

/* Marks of rows: a byte each. */
static enum bfs_err need_marks(const struct making *making, size_t store,
			       uint64_t n, struct bfs_diag *diag)
{
	const struct bfs_container *container =
		making->stores->list[store]->container;

	BFS_TRY(bfs_arrow_need_rows(making->stores, store, n, diag));
	if (container->array.ndim != 1 || container->typesize != 1)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"marks of rows are not a byte each");
	return BFS_OK;
}

/* Truth values with a third one are whole numbers of a byte. */
static void take_bool(struct bfs_arrow_column *column)
{
	struct bfs_arrow_type *type = &column->type;

	if (type->src != 1 || type->id == BFS_ARROW_FIXED_BINARY)
		return;
	type->id = BFS_ARROW_BOOL;
	type->way = BFS_ARROW_BITS;
	type->width = 0;
}

static enum bfs_err take_timestamp(const struct item *item,
				   struct bfs_arrow_column *column,
				   struct bfs_diag *diag)
{
	static const char *const units[] = { "s", "ms", "us", "ns" };
	const struct bfs_value *unit = bfs_value_get(item->value, "unit");
	const struct bfs_value *zone = bfs_value_get(item->value, "timezone");
	unsigned i = 0;

	while (i < 4 && (!bfs_value_is(unit, BFS_VALUE_STRING) ||
			 strcmp(unit->s.text, units[i]) != 0))
		i++;
	if (i == 4 || column->type.way != BFS_ARROW_COPY ||
	    column->type.src != 8)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"its times are not as Arrow has them");
	column->type.id = BFS_ARROW_TIMESTAMP;
	column->type.unit = (enum bfs_arrow_unit)i;
	if (bfs_value_is(zone, BFS_VALUE_STRING) &&
	    bfs_json_is_utf8(zone->s.text, zone->s.len)) {
		column->zone = bfs_memdup0(zone->s.text, zone->s.len);
		if (!column->zone)
			return bfs_fail(diag, BFS_ERR_NOMEM, 0,
					"no memory for a column");
	}
	return BFS_OK;
}

/* What stands for values that are none. */
static enum bfs_err take_nulls(const struct making *making,
			       const struct item *item,
			       struct bfs_arrow_column *column,
			       struct bfs_diag *diag)
{
	const struct bfs_value *value = bfs_value_get(item->value,
						      "null_value");
	const struct bfs_value *may = bfs_value_get(item->value, "nullable");
	struct bfs_arrow_nulls *nulls = &column->nulls;
	enum bfs_err err;

	nulls->rule = BFS_ARROW_ALL;
	if (!bfs_value_is(may, BFS_VALUE_BOOL) || !may->truth)
		return BFS_OK;
	err = open_beside(making, item, ".notnull", &nulls->marks, diag);
	if (err == BFS_OK) {
		nulls->rule = BFS_ARROW_MARKED;
		nulls->by_row = column->n_lists > 0;
		return need_marks(making, nulls->marks,
				  making->table->n_rows, diag);
	}
	if (err != BFS_ERR_NOT_FORMAT)
		return err;
	if (!value || value->kind == BFS_VALUE_NULL)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"nothing tells which of its values are none");
	return bfs_arrow_set_sentinel(column, value, diag);
}

static enum bfs_err add_items(const struct making *making,
			      const struct item *item, size_t store,
			      struct bfs_diag *diag)
{
	const struct bfs_container *container =
		making->stores->list[store]->container;
	struct bfs_arrow_table *table = making->table;
	size_t before = table->n_columns;
	struct bfs_arrow_column *column;
	enum bfs_err err = BFS_OK;
	uint64_t n_rows;

	BFS_TRY(bfs_arrow_add_items(table, making->lefts, &container->array,
				    container->typesize, item->name,
				    item->name_len, store, &n_rows, diag));
	if (table->n_columns != before + 1)
		return BFS_OK;
	column = &table->columns[before];
	if (is_kind(item, "bool"))
		take_bool(column);
	if (is_kind(item, "timestamp"))
		err = take_timestamp(item, column, diag);
	if (err == BFS_OK)
		err = take_nulls(making, item, column, diag);
	if (err != BFS_OK)
		bfs_arrow_drop(table);
	return err;
}

/* The bytes of texts; the array under the column's own key has offsets. */
static enum bfs_err add_texts(const struct making *making,
			      const struct item *item, size_t store,
			      struct bfs_diag *diag)
{
	struct bfs_arrow_type type = { .id = BFS_ARROW_LARGE_UTF8,
				       .way = BFS_ARROW_OFFSETS, .width = 8,
				       .src = 8, .swap = 1 };
	const struct bfs_array_meta *meta =
		&making->stores->list[store]->container->array;
	struct bfs_arrow_column *column;
	size_t text_store;
	uint64_t len;
	enum bfs_err err;

	if (meta->ndim != 1 || !meta->dtype || meta->dtype_len != 3 ||
	    memcmp(meta->dtype + 1, "i8", 2) != 0)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"its offsets are not as Arrow has them");
	type.swap = meta->dtype[0] == '>' ? 8 : 1;
	BFS_TRY(open_beside(making, item, ".utf8", &text_store, diag));
	BFS_TRY(bfs_arrow_store_len(making->stores, text_store, &len, diag));
	if (len > INT64_MAX / BFS_ARROW_COLUMNS / 4)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it has too many bytes");
	BFS_TRY(bfs_arrow_add(making->table, item->name, item->name_len, &type,
			      &column, diag));
	column->store = store;
	column->step = 8;
	column->text_store = text_store;
	column->text = making->table->n_texts++;
	err = take_nulls(making, item, column, diag);
	if (err != BFS_OK) {
		bfs_arrow_drop(making->table);
		making->table->n_texts--;
	}
	return err;
}

/* Reads the values of a dictionary, and keeps them. */
static enum bfs_err add_words(const struct making *making, size_t store,
			      uint32_t *ret_n, struct bfs_diag *diag)
{
	struct bfs_arrow_table *table = making->table;
	struct bfs_arrow_words *words = bfs_realloc(
		table->words, (table->n_words + 1) * sizeof(*words));
	struct bfs_arrow_list list;
	enum bfs_err err;

	if (!words)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a dictionary");
	table->words = words;
	BFS_TRY(bfs_arrow_get_list(making->stores->list[store], &list, diag));
	*ret_n = (uint32_t)list.n;
	err = bfs_arrow_make_words((int64_t)table->n_words, list.offsets,
				   list.n, list.joined,
				   &words[table->n_words], diag);
	bfs_arrow_list_release(&list);
	if (err == BFS_OK)
		table->n_words++;
	return err;
}

static enum bfs_err add_dictionary(const struct making *making,
				   const struct item *item, size_t store,
				   struct bfs_diag *diag)
{
	const struct bfs_array_meta *meta =
		&making->stores->list[store]->container->array;
	struct bfs_arrow_type type = { .id = BFS_ARROW_LARGE_UTF8,
				       .way = BFS_ARROW_CODES, .width = 4,
				       .src = 4, .swap = 1 };
	struct bfs_arrow_column *column;
	size_t words_store;
	enum bfs_err err;

	if (meta->ndim != 1 || !meta->dtype || meta->dtype_len != 3 ||
	    memcmp(meta->dtype + 1, "i4", 2) != 0)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"its codes are not as Arrow has them");
	type.swap = meta->dtype[0] == '>' ? 4 : 1;
	BFS_TRY(open_beside(making, item, "_dict", &words_store, diag));
	err = add_words(making, words_store, &type.n_words, diag);
	bfs_arrow_close_last(making->stores);
	BFS_TRY(err);
	err = bfs_arrow_add(making->table, item->name, item->name_len, &type,
			    &column, diag);
	if (err != BFS_OK) {
		bfs_free(making->table->words[--making->table->n_words].bytes);
		return err;
	}
	column->store = store;
	column->step = 4;
	column->nulls.rule = BFS_ARROW_NEGATIVE;
	column->dictionary = (int64_t)making->table->n_words - 1;
	return BFS_OK;
}

static enum bfs_err add_column(const struct making *making,
			       const struct item *item, struct bfs_diag *diag)
{
	static const char *const others[] = { "vlstring", "vlbytes", "list",
					      "struct", "object" };
	size_t store;

	for (size_t i = 0; i < BFS_ARRAY_LEN(others); i++)
		if (is_kind(item, others[i]))
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"values of variable length that are "
					"not stored as Arrow has them");
	BFS_TRY(open_beside(making, item, "", &store, diag));
	BFS_TRY(bfs_arrow_need_rows(making->stores, store,
				    making->table->n_rows +
				    is_kind(item, "utf8"), diag));
	if (is_kind(item, "utf8"))
		return add_texts(making, item, store, diag);
	if (is_kind(item, "dictionary"))
		return add_dictionary(making, item, store, diag);
	return add_items(making, item, store, diag);
}

/* Adds a column, or notes why not; then what it opened is closed again. */
static enum bfs_err try_column(const struct making *making,
			       const struct bfs_value *value,
			       struct bfs_diag *diag)
{
	const struct bfs_value *name = bfs_value_get(value, "name");
	const struct bfs_value *kind = bfs_value_get(value, "kind");
	struct bfs_diag why = { .chunk = -1 };
	size_t before = making->stores->n;
	struct item item = { .value = value };
	enum bfs_err err;

	if (!bfs_value_is(name, BFS_VALUE_STRING) ||
	    !bfs_value_is(kind, BFS_VALUE_STRING) ||
	    !bfs_json_is_utf8(name->s.text, name->s.len) ||
	    memchr(name->s.text, 0, name->s.len))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"its schema has a column without a name");
	item.name = name->s.text;
	item.name_len = name->s.len;
	item.kind = kind->s.text;
	item.key = make_key(item.name, item.name_len);
	if (!item.key)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a name");
	err = add_column(making, &item, &why);
	bfs_free(item.key);
	if (err == BFS_OK)
		return BFS_OK;
	while (making->stores->n > before)
		bfs_arrow_close_last(making->stores);
	if (err == BFS_ERR_LIMIT) {
		if (diag)
			*diag = why;
		return err;
	}
	return bfs_arrow_leave(making->lefts, item.name, item.name_len, &why,
			       diag);
}

/* ---- the schema ------------------------------------------------------ */

static enum bfs_err add_columns(const struct making *making,
				const struct bfs_value *schema,
				struct bfs_diag *diag)
{
	const struct bfs_value *columns = bfs_value_get(schema, "columns");
	const struct bfs_value *computed = bfs_value_get(schema,
							 "computed_columns");
	const struct bfs_value *value;
	const struct bfs_diag why = { .err = BFS_ERR_UNSUPPORTED, .chunk = -1,
				      .text = "it is computed, not stored" };

	if (!bfs_value_is(columns, BFS_VALUE_ARRAY))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"its schema has no columns");
	if (columns->n > BFS_ARROW_COLUMNS)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0, "more than %d columns",
				BFS_ARROW_COLUMNS);
	for (value = columns->first; value; value = value->next)
		BFS_TRY(try_column(making, value, diag));
	if (!bfs_value_is(computed, BFS_VALUE_ARRAY))
		return BFS_OK;
	for (value = computed->first; value; value = value->next) {
		const struct bfs_value *name = bfs_value_get(value, "name");

		if (bfs_value_is(name, BFS_VALUE_STRING))
			BFS_TRY(bfs_arrow_leave(making->lefts, name->s.text,
						name->s.len, &why, diag));
	}
	return BFS_OK;
}

static enum bfs_err read_schema(const struct making *making,
				struct bfs_document **ret_schema,
				struct bfs_diag *diag)
{
	struct bfs_array *meta;
	size_t store, len;
	enum bfs_err err;
	bool is_table;
	char *text;

	BFS_TRY(bfs_arrow_open_key(making->file, making->stores,
				   BFS_TABLE_META, &store, diag));
	meta = making->stores->list[store];
	BFS_TRY(bfs_arrow_get_text(meta, "kind", &text, &len, diag));
	is_table = strcmp(text, "ctable") == 0;
	bfs_free(text);
	if (!is_table)
		return bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
				"it is another kind of store");
	BFS_TRY(bfs_arrow_get_text(meta, "schema", &text, &len, diag));
	err = bfs_json_read(text, len, ret_schema, diag);
	bfs_free(text);
	if (err == BFS_OK)
		bfs_arrow_close_last(making->stores);
	return err;
}

/* ---- rows ------------------------------------------------------------ */

/* A mark of a row, as a column. */
static enum bfs_err add_marks(const struct making *making,
			      struct bfs_diag *diag)
{
	const struct bfs_arrow_type type = { .id = BFS_ARROW_BOOL,
					     .way = BFS_ARROW_BITS, .src = 1,
					     .swap = 1 };
	struct bfs_arrow_column *column;

	BFS_TRY(bfs_arrow_add(making->table, "_valid", 6, &type, &column,
			      diag));
	column->store = making->valid;
	column->step = 1;
	return BFS_OK;
}

/* How many columns a schema has, for how many runs there may be. */
static size_t count(const struct bfs_value *schema, const char *kind)
{
	const struct bfs_value *value = bfs_value_get(schema, "columns");
	size_t n = 0;

	value = bfs_value_is(value, BFS_VALUE_ARRAY) ? value->first : NULL;
	for (; value; value = value->next) {
		const struct bfs_value *is = bfs_value_get(value, "kind");

		n += !kind || (bfs_value_is(is, BFS_VALUE_STRING) &&
			       strcmp(is->s.text, kind) == 0);
	}
	return n;
}

static enum bfs_err find_rows(struct making *making,
			      const struct bfs_value *schema, bool *ret_all,
			      struct bfs_diag *diag)
{
	const struct bfs_arrow_reader reader = bfs_arrow_reader(making->stores);
	size_t most = bfs_arrow_most_runs(count(schema, NULL),
					  count(schema, "utf8"));

	BFS_TRY(bfs_arrow_open_key(making->file, making->stores,
				   BFS_TABLE_MARKS, &making->valid, diag));
	BFS_TRY(need_marks(making, making->valid, 0, diag));
	BFS_TRY(bfs_arrow_store_len(making->stores, making->valid,
				    &making->n_valid, diag));
	return bfs_arrow_find_living(making->table, &reader, making->valid,
				     making->n_valid, most,
				     ret_all, diag);
}

/* An offset of a column of texts. */
static enum bfs_err get_end(const struct making *making,
			    const struct bfs_arrow_column *column, uint64_t row,
			    uint64_t *ret_end, struct bfs_diag *diag)
{
	const struct bfs_arrow_reader reader = bfs_arrow_reader(making->stores);
	uint8_t buf[8];

	BFS_TRY(reader.read(reader.arg, column->store, 8 * row, buf, 8, diag));
	*ret_end = bfs_arrow_load(&column->type, buf);
	return BFS_OK;
}

/* The texts of a run: of the first row on from the start without a look, and
 * of the last one to the end. */
static enum bfs_err find_span(const struct making *making,
			      const struct bfs_arrow_column *column, size_t i,
			      struct bfs_diag *diag)
{
	struct bfs_arrow_run *run = &making->table->runs[i];
	struct bfs_arrow_span *span = &run->texts[column->text];
	uint64_t len, before = 0;

	BFS_TRY(bfs_arrow_store_len(making->stores, column->text_store, &len,
				    diag));
	span->start = 0;
	span->end = len;
	if (i)
		before = making->table->runs[i - 1].texts[column->text].end;
	if (run->first)
		BFS_TRY(get_end(making, column, run->first, &span->start,
				diag));
	if (i + 1 < making->table->n_runs)
		BFS_TRY(get_end(making, column, run->first + run->n,
				&span->end, diag));
	if (span->start < before || span->start > span->end || span->end > len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"offsets of texts are not in order");
	return BFS_OK;
}

static enum bfs_err find_spans(const struct making *making,
			       struct bfs_diag *diag)
{
	struct bfs_arrow_table *table = making->table;

	if (!table->n_texts)
		return BFS_OK;
	for (size_t i = 0; i < table->n_runs; i++) {
		struct bfs_arrow_run *run = &table->runs[i];

		run->texts = bfs_zalloc(table->n_texts, sizeof(*run->texts));
		if (!run->texts)
			return bfs_fail(diag, BFS_ERR_NOMEM, 0,
					"no memory for runs of rows");
		for (size_t k = 0; k < table->n_columns; k++)
			if (table->columns[k].type.way == BFS_ARROW_OFFSETS)
				BFS_TRY(find_span(making, &table->columns[k],
						  i, diag));
	}
	return BFS_OK;
}

static enum bfs_err add_all(struct making *making,
			    const struct bfs_value *schema,
			    struct bfs_diag *diag)
{
	bool all;

	BFS_TRY(find_rows(making, schema, &all, diag));
	BFS_TRY(add_columns(making, schema, diag));
	if (!making->table->n_columns)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"Arrow has none of its columns");
	if (all)
		BFS_TRY(add_marks(making, diag));
	BFS_TRY(bfs_arrow_cut_runs(making->table, BFS_ARROW_COUNTED, diag));
	return find_spans(making, diag);
}

enum bfs_err bfs_arrow_add_ctable(struct bfs_file *file,
				  struct bfs_arrow_table *table,
				  struct bfs_arrow_lefts *lefts,
				  struct bfs_arrow_stores *stores,
				  struct bfs_diag *diag)
{
	struct making making = { .file = file, .table = table, .lefts = lefts,
				 .stores = stores };
	struct bfs_document *schema;
	enum bfs_err err;

	BFS_TRY(read_schema(&making, &schema, diag));
	err = add_all(&making, bfs_document_root(schema), diag);
	bfs_document_free(schema);
	return err;
}
