/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype.c - NumPy dtypes as text, parsed.
 *
 * Text that nobody has checked comes in, a tree of types goes out. The text
 * is what Python prints for a dtype, or the JSON of the same lists. Depth,
 * fields and sizes are bounded; every size fits in 31 bits, as in NumPy.
 */
#include "text/dtype.h"

#include "base/bytes.h"
#include "text/dtype_text.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A growing array of fields. In the dict form one property of all fields is
 * read after the other. */
struct fields {
	struct bfs_dtype_field *at;
	size_t n, cap;
};

static enum bfs_err parse_type(struct bfs_dt *ps, struct bfs_dtype *ret_type);

/* Simple types: order, kind, size, unit */

static bool scan_unit(const char *text, size_t len, struct bfs_dtype *type)
{
	static const char *const names[] = { "Y", "M", "W", "D", "h", "m", "s",
		"ms", "us", "ns", "ps", "fs", "as" };
	uint64_t v = 1;
	size_t i = 1, k;

	if (!len)
		return true;
	if (len < 3 || text[0] != '[' || text[len - 1] != ']')
		return false;
	if (len == 9 && !memcmp(text, "[generic]", 9))
		return true;
	if (bfs_dt_is_digit(text[1]) &&
	    (!bfs_dt_scan_number(text, len, &i, &v) || !v))
		return false;
	for (k = 0; k < BFS_ARRAY_LEN(names); k++)
		if (strlen(names[k]) == len - 1 - i &&
		    !memcmp(names[k], text + i, len - 1 - i))
			break;
	if (k == BFS_ARRAY_LEN(names))
		return false;
	if (v == 1)
		snprintf(type->unit, sizeof(type->unit), "[%s]", names[k]);
	else
		snprintf(type->unit, sizeof(type->unit), "[%u%s]", (unsigned)v,
			 names[k]);
	return true;
}

/* Whether numbers of this kind come in this size. */
static bool is_size(char kind, uint64_t n)
{
	switch (kind) {
	case 'b':
		return n == 1;
	case 'i':
	case 'u':
		return n == 1 || n == 2 || n == 4 || n == 8;
	case 'f':
		return n == 2 || n == 4 || n == 8 || n == 12 || n == 16;
	case 'c':
		return n == 8 || n == 16 || n == 24 || n == 32;
	case 'M':
	case 'm':
		return n == 8;
	case 'O':
		return n == 4 || n == 8;
	default:
		return true;
	}
}

/* '|' where the order of bytes means nothing; native order is little-endian. */
static char find_order(char order, const struct bfs_dtype *type)
{
	if (strchr("bSVO", type->kind) ||
	    (type->unit_size == 1 && strchr("iu", type->kind)))
		return '|';
	return order == '>' ? '>' : '<';
}

/* The alignment that C has on x86-64, which NumPy uses. */
static unsigned find_align(const struct bfs_dtype *type)
{
	uint64_t size = type->unit_size / (type->kind == 'c' ? 2 : 1);

	if (strchr("SV", type->kind))
		return 1;
	return type->kind == 'U' || size == 12 ? 4 : (unsigned)size;
}

static bool takes_word(const char *text, size_t len, size_t *pos,
		       const char *word)
{
	size_t word_len = strlen(word);

	if (len - *pos < word_len || memcmp(text + *pos, word, word_len))
		return false;
	*pos += word_len;
	return true;
}

/* Kind and size at text[*pos], with *pos behind them. */
static enum bfs_err scan_kind(struct bfs_dt *ps, const char *text, size_t len,
			      size_t *pos, char *ret_kind, uint64_t *ret_n)
{
	size_t i = *pos;

	*ret_n = 8;
	*pos = len;
	if (bfs_dt_find_letter(text + i, len - i, ret_kind, ret_n) ||
	    (i == 0 && bfs_dt_find_word(text, len, ret_kind, ret_n)))
		return BFS_OK;
	*pos = i;
	*ret_kind = takes_word(text, len, pos, "datetime64") ? 'M' :
		    takes_word(text, len, pos, "timedelta64") ? 'm' : '\0';
	if (*ret_kind)
		return BFS_OK;
	if (i == len || !text[i] || !strchr("biufcSUVMmOa", text[i]))
		return bfs_dt_refuse(ps, "unknown type");
	*ret_kind = text[i] == 'a' ? 'S' : text[i];
	*pos = ++i;
	if (i == len || !bfs_dt_is_digit(text[i]))
		return bfs_dt_refuse(ps, "unknown type");
	if (!bfs_dt_scan_number(text, len, pos, ret_n))
		return bfs_dt_break(ps, "an item is too big");
	return BFS_OK;
}

/* Parses text, all of which must be one simple type. After a failure *type may
 * be set in part. */
static enum bfs_err scan_simple(struct bfs_dt *ps, const char *text, size_t len,
				struct bfs_dtype *type)
{
	char order = '|';
	uint64_t n = 0;
	size_t i = 0;

	if (len == 0)
		return bfs_dt_refuse(ps, "unknown type");
	if (text[i] && strchr("<>|=", text[i]))
		order = text[i++];
	BFS_TRY(scan_kind(ps, text, len, &i, &type->kind, &n));
	if (!is_size(type->kind, n))
		return bfs_dt_refuse(ps, "unknown size");
	if (type->kind == 'U' && n > BFS_DT_MAX_SIZE / 4)
		return bfs_dt_break(ps, "an item is too big");
	type->unit_size = type->kind == 'U' ? n * 4 : n;
	type->itemsize = type->unit_size;
	type->order = find_order(order, type);
	type->align = find_align(type);
	if (strchr("Mm", type->kind)) {
		if (!scan_unit(text + i, len - i, type))
			return bfs_dt_refuse(ps, "unknown unit of time");
	} else if (i != len) {
		return bfs_dt_refuse(ps, "unknown type");
	}
	if (type->kind == 'O')
		ps->saw_object = true;
	return BFS_OK;
}

static enum bfs_err parse_simple(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	struct bfs_dtype type = { 0 };
	struct bfs_dt_lit lit;
	enum bfs_err err;

	BFS_TRY(bfs_dt_string(ps, &lit));
	err = scan_simple(ps, lit.text, lit.len, &type);
	bfs_free(lit.text);
	BFS_TRY(err);
	*ret_type = type;
	return BFS_OK;
}

/* Sub-arrays */

/* A number, or numbers in parentheses or brackets. */
static enum bfs_err parse_dims(struct bfs_dt *ps, uint64_t *ret_dims,
			       unsigned *ret_n)
{
	char close = bfs_dt_peek(ps) == '[' ? ']' : ')';
	unsigned n = 0;

	if (bfs_dt_is_digit(bfs_dt_peek(ps))) {
		BFS_TRY(bfs_dt_number(ps, &ret_dims[0]));
		*ret_n = 1;
		return BFS_OK;
	}
	if (!bfs_dt_take(ps, '(') && !bfs_dt_take(ps, '['))
		return bfs_dt_refuse(ps, "a shape is missing");
	while (!bfs_dt_take(ps, close)) {
		if (n == BFS_DTYPE_MAXDIM)
			return bfs_dt_break(ps, "too many dimensions");
		BFS_TRY(bfs_dt_number(ps, &ret_dims[n++]));
		if (!bfs_dt_take(ps, ',') && bfs_dt_peek(ps) != close)
			return bfs_dt_refuse(ps, "a shape has no end");
	}
	*ret_n = n;
	return BFS_OK;
}

/* Makes type an array of what it was: these dims come before its own. */
static enum bfs_err add_dims(struct bfs_dt *ps, const uint64_t *dims,
			     unsigned n, struct bfs_dtype *type)
{
	uint64_t len = type->itemsize;
	unsigned i;

	if (n > BFS_DTYPE_MAXDIM - type->n_dims)
		return bfs_dt_break(ps, "too many dimensions");
	for (i = 0; i < n; i++)
		if (!bfs_mul(len, dims[i], &len) || len > BFS_DT_MAX_SIZE)
			return bfs_dt_break(ps, "an item is too big");
	memmove(type->dims + n, type->dims,
		type->n_dims * sizeof(type->dims[0]));
	memcpy(type->dims, dims, n * sizeof(type->dims[0]));
	type->n_dims += n;
	type->itemsize = len;
	return BFS_OK;
}

/* An optional ", dims" and an optional comma, in front of close. */
static enum bfs_err parse_tail(struct bfs_dt *ps, char close,
			       struct bfs_dtype *type)
{
	uint64_t dims[BFS_DTYPE_MAXDIM] = { 0 };
	unsigned n = 0;

	if (bfs_dt_take(ps, ',') && bfs_dt_peek(ps) != close) {
		BFS_TRY(parse_dims(ps, dims, &n));
		BFS_TRY(add_dims(ps, dims, n, type));
		(void)bfs_dt_take(ps, ',');
	}
	if (!bfs_dt_take(ps, close))
		return bfs_dt_refuse(ps, "a tuple has no end");
	return BFS_OK;
}

/* ('<i4', (2, 3)) or (numpy.record, [...]); pos is behind the parenthesis. */
static enum bfs_err parse_tuple(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	bool is_record = bfs_dt_take_word(ps, "numpy.record");
	bool align = ps->align;
	struct bfs_dtype type;
	enum bfs_err err;

	if (is_record && (!bfs_dt_take(ps, ',') ||
			  !strchr("[{", bfs_dt_peek(ps))))
		return bfs_dt_refuse(ps, "a record has no fields");
	/* Alignment does not reach into a record, and a record needs none. */
	ps->align = align && !is_record;
	err = parse_type(ps, &type);
	ps->align = align;
	BFS_TRY(err);
	if (is_record)
		type.align = 1;
	err = parse_tail(ps, ')', &type);
	if (err != BFS_OK) {
		bfs_dtype_release(&type);
		return err;
	}
	*ret_type = type;
	return BFS_OK;
}

/* Fields */

static void release_field(struct bfs_dtype_field *field)
{
	bfs_free(field->name);
	bfs_free(field->title);
	bfs_dtype_release(&field->type);
}

static void release_fields(struct fields *fields)
{
	size_t i;

	for (i = 0; i < fields->n; i++)
		release_field(&fields->at[i]);
	bfs_free(fields->at);
}

/* Makes sure that there is a field of index i; new ones are empty. */
static enum bfs_err reach_field(struct bfs_dt *ps, struct fields *fields,
				size_t i)
{
	struct bfs_dtype_field *at;
	size_t cap;

	if (i < fields->n)
		return BFS_OK;
	if (ps->n_fields == BFS_DTYPE_FIELDS)
		return bfs_dt_break(ps, "too many fields");
	if (fields->n == fields->cap) {
		cap = fields->cap ? fields->cap * 2 : 4;
		at = bfs_realloc(fields->at, cap * sizeof(*at));
		if (!at)
			return bfs_dt_no_memory(ps);
		fields->at = at;
		fields->cap = cap;
	}
	memset(&fields->at[fields->n++], 0, sizeof(*at));
	ps->n_fields++;
	return BFS_OK;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names and titles are one namespace, and each is there once. */
static enum bfs_err check_names(struct bfs_dt *ps, const struct fields *fields)
{
	BFS_CLEANUP(bfs_freep) char **names = NULL;
	size_t i, n = 0;

	names = bfs_zalloc(fields->n * 2, sizeof(*names));
	if (!names)
		return bfs_dt_no_memory(ps);
	for (i = 0; i < fields->n; i++) {
		names[n++] = fields->at[i].name;
		if (fields->at[i].title)
			names[n++] = fields->at[i].title;
	}
	qsort(names, n, sizeof(*names), compare_names);
	for (i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			return bfs_dt_refuse(ps, "two fields have one name");
	return BFS_OK;
}

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return bfs_div_up(v, to) * to;
}

/* The alignment that a struct of these fields has. */
static unsigned join_aligns(const struct bfs_dt *ps,
			    const struct fields *fields)
{
	unsigned align = 1;
	size_t i;

	for (i = 0; ps->align && i < fields->n; i++)
		if (fields->at[i].type.align > align)
			align = fields->at[i].type.align;
	return align;
}

/* Hands the fields over to a type of size bytes. */
static enum bfs_err make_struct(struct bfs_dt *ps, struct fields *fields,
				uint64_t size, struct bfs_dtype *ret_type)
{
	struct bfs_dtype type = { 0 };

	BFS_TRY(check_names(ps, fields));
	if (size > BFS_DT_MAX_SIZE)
		return bfs_dt_break(ps, "an item is too big");
	type.align = join_aligns(ps, fields);
	type.kind = 'T';
	type.order = '|';
	type.itemsize = size;
	type.unit_size = size;
	type.fields = fields->at;
	type.n_fields = fields->n;
	memset(fields, 0, sizeof(*fields));
	*ret_type = type;
	return BFS_OK;
}

/* 'name' or ('title', 'name'), into an empty field. */
static enum bfs_err parse_name(struct bfs_dt *ps, struct bfs_dtype_field *field)
{
	char close = bfs_dt_peek(ps) == '[' ? ']' : ')';
	struct bfs_dt_lit title, name;

	if (!bfs_dt_take(ps, '(') && !bfs_dt_take(ps, '[')) {
		BFS_TRY(bfs_dt_string(ps, &name));
		field->name = name.text;
		return BFS_OK;
	}
	BFS_TRY(bfs_dt_string(ps, &title));
	field->title = title.text;
	if (!bfs_dt_take(ps, ','))
		return bfs_dt_refuse(ps, "a title has no name");
	BFS_TRY(bfs_dt_string(ps, &name));
	field->name = name.text;
	if (!bfs_dt_take(ps, close))
		return bfs_dt_refuse(ps, "a title has no end");
	return BFS_OK;
}

static enum bfs_err fill_field(struct bfs_dt *ps, struct bfs_dtype_field *field)
{
	char close = bfs_dt_peek(ps) == '[' ? ']' : ')';

	if (!bfs_dt_take(ps, '(') && !bfs_dt_take(ps, '['))
		return bfs_dt_refuse(ps, "a field is missing");
	BFS_TRY(parse_name(ps, field));
	if (!bfs_dt_take(ps, ','))
		return bfs_dt_refuse(ps, "a field has no type");
	BFS_TRY(parse_type(ps, &field->type));
	return parse_tail(ps, close, &field->type);
}

/* One field of a list, behind *size bytes. ('', '|V4') is a gap. */
static enum bfs_err add_field(struct bfs_dt *ps, struct fields *fields,
			      uint64_t *size)
{
	struct bfs_dtype_field field = { 0 };
	enum bfs_err err = fill_field(ps, &field);

	if (err == BFS_OK) {
		if (ps->align)
			*size = round_up(*size, field.type.align);
		field.off = *size;
		*size += field.type.itemsize;
		if (*size > BFS_DT_MAX_SIZE)
			err = bfs_dt_break(ps, "an item is too big");
		else if (!field.name[0] && !field.title &&
			 field.type.kind == 'V' && !field.type.n_dims)
			goto out;
	}
	if (err == BFS_OK)
		err = reach_field(ps, fields, fields->n);
	if (err == BFS_OK) {
		fields->at[fields->n - 1] = field;
		return BFS_OK;
	}
out:
	release_field(&field);
	return err;
}

/* Pos is behind the bracket. */
static enum bfs_err parse_list(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	struct fields fields = { 0 };
	enum bfs_err err = BFS_OK;
	uint64_t size = 0;

	while (err == BFS_OK && !bfs_dt_take(ps, ']')) {
		err = add_field(ps, &fields, &size);
		if (err == BFS_OK && !bfs_dt_take(ps, ',') &&
		    bfs_dt_peek(ps) != ']')
			err = bfs_dt_refuse(ps, "a list has no end");
	}
	size = round_up(size, join_aligns(ps, &fields));
	if (err == BFS_OK)
		err = make_struct(ps, &fields, size, ret_type);
	release_fields(&fields);
	return err;
}

/* The dict form: one list for each property of the fields */

enum column { COL_NAMES, COL_FORMATS, COL_OFFSETS, COL_TITLES, N_COLS };

struct dict {
	struct fields fields;
	size_t n[N_COLS];
	bool has[N_COLS];
	bool has_size, has_aligned;
	bool aligned;
	uint64_t size;
};

static enum bfs_err parse_cell(struct bfs_dt *ps, enum column col,
			       struct bfs_dtype_field *field)
{
	struct bfs_dt_lit lit = { NULL, 0 };

	switch (col) {
	case COL_NAMES:
		BFS_TRY(bfs_dt_string(ps, &lit));
		field->name = lit.text;
		return BFS_OK;
	case COL_FORMATS:
		return parse_type(ps, &field->type);
	case COL_OFFSETS:
		return bfs_dt_number(ps, &field->off);
	case COL_TITLES:
		if (bfs_dt_take_word(ps, "None"))
			return BFS_OK;
		BFS_TRY(bfs_dt_string(ps, &lit));
		field->title = lit.text;
		return BFS_OK;
	case N_COLS:
		break;
	}
	return BFS_ERR_INVALID;
}

static enum bfs_err parse_column(struct bfs_dt *ps, enum column col,
				 struct dict *dict)
{
	char close = bfs_dt_peek(ps) == '[' ? ']' : ')';
	size_t i = 0;

	if (dict->has[col])
		return bfs_dt_refuse(ps, "a key is there twice");
	if (!bfs_dt_take(ps, '(') && !bfs_dt_take(ps, '['))
		return bfs_dt_refuse(ps, "a list is missing");
	for (; !bfs_dt_take(ps, close); i++) {
		BFS_TRY(reach_field(ps, &dict->fields, i));
		BFS_TRY(parse_cell(ps, col, &dict->fields.at[i]));
		if (!bfs_dt_take(ps, ',') && bfs_dt_peek(ps) != close)
			return bfs_dt_refuse(ps, "a list has no end");
	}
	dict->has[col] = true;
	dict->n[col] = i;
	return BFS_OK;
}

static enum bfs_err parse_entry(struct bfs_dt *ps, struct dict *dict)
{
	static const char *const names[N_COLS] = {
		"names", "formats", "offsets", "titles"
	};
	struct bfs_dt_lit key;
	unsigned col;
	bool is_size, is_aligned;

	BFS_TRY(bfs_dt_string(ps, &key));
	for (col = 0; col < N_COLS && strcmp(key.text, names[col]) != 0;)
		col++;
	is_size = !strcmp(key.text, "itemsize");
	is_aligned = !strcmp(key.text, "aligned");
	bfs_free(key.text);
	if (!bfs_dt_take(ps, ':'))
		return bfs_dt_refuse(ps, "a key has no value");
	if (col < N_COLS)
		return parse_column(ps, (enum column)col, dict);
	if (is_size && !dict->has_size) {
		dict->has_size = true;
		return bfs_dt_number(ps, &dict->size);
	}
	if (!is_aligned || dict->has_aligned)
		return bfs_dt_refuse(ps, "a key is unknown or there twice");
	dict->has_aligned = true;
	dict->aligned = bfs_dt_take_word(ps, "True");
	if (!dict->aligned && !bfs_dt_take_word(ps, "False"))
		return bfs_dt_refuse(ps, "True or False is missing");
	return BFS_OK;
}

/* Checks that the columns fit each other, and finds places and size. */
static enum bfs_err settle_dict(struct bfs_dt *ps, struct dict *dict)
{
	uint64_t end, last = 0;
	size_t i;

	if (!dict->has[COL_NAMES] || !dict->has[COL_FORMATS])
		return bfs_dt_refuse(ps, "names or formats are missing");
	for (i = 0; i < N_COLS; i++)
		if (dict->has[i] && dict->n[i] != dict->fields.n)
			return bfs_dt_refuse(ps, "lists of unequal length");
	for (i = 0; i < dict->fields.n; i++) {
		struct bfs_dtype_field *field = &dict->fields.at[i];

		if (!dict->has[COL_OFFSETS])
			field->off = ps->align ?
				     round_up(last, field->type.align) : last;
		end = field->off + field->type.itemsize;
		last = bfs_max(last, end);
	}
	if (last > BFS_DT_MAX_SIZE)
		return bfs_dt_break(ps, "an item is too big");
	if (dict->has_size && dict->size < last)
		return bfs_dt_break(ps, "a field lies beyond the item");
	if (!dict->has_size)
		dict->size = round_up(last, join_aligns(ps, &dict->fields));
	return BFS_OK;
}

static enum bfs_err parse_entries(struct bfs_dt *ps, bool *ret_aligned,
				  struct bfs_dtype *ret_type)
{
	struct dict dict = { 0 };
	enum bfs_err err = BFS_OK;

	while (err == BFS_OK && !bfs_dt_take(ps, '}')) {
		err = parse_entry(ps, &dict);
		if (err == BFS_OK && !bfs_dt_take(ps, ',') &&
		    bfs_dt_peek(ps) != '}')
			err = bfs_dt_refuse(ps, "a dict has no end");
	}
	*ret_aligned = dict.aligned;
	if (err == BFS_OK)
		err = settle_dict(ps, &dict);
	if (err == BFS_OK)
		err = make_struct(ps, &dict.fields, dict.size, ret_type);
	release_fields(&dict.fields);
	return err;
}

/*
 * Pos is behind the brace. 'aligned' comes last in the text, but holds for the
 * formats before it, too, and for all that is nested in them (as in NumPy). So
 * where it is True the dict is parsed again. Inside a record alignment is off
 * again, so each level of dicts and records in turn doubles the work: the bytes
 * that are parsed again are bounded.
 */
static enum bfs_err parse_dict(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	size_t pos = ps->pos, n_fields = ps->n_fields;
	bool aligned = false;
	struct bfs_dtype type;
	enum bfs_err err;

	BFS_TRY(parse_entries(ps, &aligned, &type));
	if (aligned && !ps->align) {
		bfs_dtype_release(&type);
		ps->n_again += ps->pos - pos;
		if (ps->n_again / (2 * BFS_DTYPE_DEPTH) > ps->len)
			return bfs_dt_break(ps, "aligned too often");
		ps->pos = pos;
		ps->n_fields = n_fields;
		ps->align = true;
		err = parse_entries(ps, &aligned, &type);
		ps->align = false;
		BFS_TRY(err);
	}
	*ret_type = type;
	return BFS_OK;
}

static enum bfs_err parse_type(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	enum bfs_err err;

	if (ps->depth == BFS_DTYPE_DEPTH)
		return bfs_dt_break(ps, "nested too deep");
	ps->depth++;
	if (bfs_dt_take(ps, '['))
		err = parse_list(ps, ret_type);
	else if (bfs_dt_take(ps, '{'))
		err = parse_dict(ps, ret_type);
	else if (bfs_dt_take(ps, '('))
		err = parse_tuple(ps, ret_type);
	else
		err = parse_simple(ps, ret_type);
	ps->depth--;
	return err;
}

static enum bfs_err parse_text(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	struct bfs_dtype type = { 0 };

	if (!strchr("[{('\"", bfs_dt_peek(ps)) || ps->pos == ps->len) {
		BFS_TRY(scan_simple(ps, ps->text, ps->len, &type));
	} else {
		BFS_TRY(parse_type(ps, &type));
		(void)bfs_dt_peek(ps);
		if (ps->pos != ps->len) {
			bfs_dtype_release(&type);
			return bfs_dt_refuse(ps, "text goes on behind its end");
		}
	}
	*ret_type = type;
	return BFS_OK;
}

enum bfs_err bfs_dtype_parse(const char *text, size_t len,
			     struct bfs_dtype *ret_dtype, struct bfs_diag *diag)
{
	struct bfs_dt ps = { .text = text, .len = len, .diag = diag };
	struct bfs_dtype type;

	BFS_TRY(parse_text(&ps, &type));
	if (ps.saw_object) {
		bfs_dtype_release(&type);
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"dtype: Python objects");
	}
	*ret_dtype = type;
	return BFS_OK;
}

enum bfs_err bfs_dtype_has_object(const char *text, size_t len, bool *ret_has)
{
	struct bfs_dt ps = { .text = text, .len = len };
	struct bfs_dtype type;
	enum bfs_err err = parse_text(&ps, &type);

	if (err == BFS_ERR_NOMEM)
		return err;
	if (err == BFS_OK)
		bfs_dtype_release(&type);
	*ret_has = err == BFS_OK && ps.saw_object;
	return BFS_OK;
}

void bfs_dtype_release(struct bfs_dtype *dtype)
{
	struct fields fields = { dtype->fields, dtype->n_fields, 0 };

	release_fields(&fields);
	memset(dtype, 0, sizeof(*dtype));
}
