/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_simple.c - simple types of NumPy: order, kind, size, unit of time.
 */
#include "text/dtype_priv.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

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

enum bfs_err bfs_dt_scan_simple(struct bfs_dt *ps, const char *text, size_t len,
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

enum bfs_err bfs_dt_parse_simple(struct bfs_dt *ps, struct bfs_dtype *ret_type)
{
	struct bfs_dtype type = { 0 };
	struct bfs_dt_lit lit;
	enum bfs_err err;

	BFS_TRY(bfs_dt_string(ps, &lit));
	err = bfs_dt_scan_simple(ps, lit.text, lit.len, &type);
	bfs_free(lit.text);
	BFS_TRY(err);
	*ret_type = type;
	return BFS_OK;
}
