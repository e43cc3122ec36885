/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype.c - NumPy dtypes as text, parsed.
 *
 * Text that nobody has checked comes in, a tree of types goes out. The text
 * is what Python prints for a dtype, or the JSON of the same lists. Depth,
 * fields and sizes are bounded; every size fits in 31 bits, as in NumPy.
 */
#include "text/dtype_priv.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

static enum bfs_err parse_type(struct bfs_dt *ps, struct bfs_dtype *ret_type);

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

/* Structs: a list of fields */

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
			*size = bfs_dt_round_up(*size, field.type.align);
		field.off = *size;
		*size += field.type.itemsize;
		if (*size > BFS_DT_MAX_SIZE)
			err = bfs_dt_break(ps, "an item is too big");
		else if (!field.name[0] && !field.title &&
			 field.type.kind == 'V' && !field.type.n_dims)
			goto out;
	}
	if (err == BFS_OK)
		err = bfs_dt_reach_field(ps, fields, fields->n);
	if (err == BFS_OK) {
		fields->at[fields->n - 1] = field;
		return BFS_OK;
	}
out:
	bfs_dt_release_field(&field);
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
	size = bfs_dt_round_up(size, bfs_dt_join_aligns(ps, &fields));
	if (err == BFS_OK)
		err = bfs_dt_make_struct(ps, &fields, size, ret_type);
	bfs_dt_release_fields(&fields);
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
		BFS_TRY(bfs_dt_reach_field(ps, &dict->fields, i));
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
				     bfs_dt_round_up(last, field->type.align) :
				     last;
		end = field->off + field->type.itemsize;
		last = bfs_max(last, end);
	}
	if (last > BFS_DT_MAX_SIZE)
		return bfs_dt_break(ps, "an item is too big");
	if (dict->has_size && dict->size < last)
		return bfs_dt_break(ps, "a field lies beyond the item");
	if (!dict->has_size)
		dict->size = bfs_dt_round_up(last,
			bfs_dt_join_aligns(ps, &dict->fields));
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
		err = bfs_dt_make_struct(ps, &dict.fields, dict.size, ret_type);
	bfs_dt_release_fields(&dict.fields);
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
		err = bfs_dt_parse_simple(ps, ret_type);
	ps->depth--;
	return err;
}

static enum bfs_err parse_text(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	struct bfs_dtype type = { 0 };

	if (!strchr("[{('\"", bfs_dt_peek(ps)) || ps->pos == ps->len) {
		BFS_TRY(bfs_dt_scan_simple(ps, ps->text, ps->len, &type));
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
