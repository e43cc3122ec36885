/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * type.c - what values of a NumPy dtype are in Arrow, and how they become so.
 *
 * Dates of days and longer are Date32, since Arrow has no such dates of eight
 * bytes; times of minutes and hours are seconds, and so are spans of these and
 * of days and weeks.
 */
#include "view/arrow/type.h"

#include "base/bytes.h"

#include <string.h>

#define MAX_FACTOR INT64_C(1000000000)

/* "[25s]" as its number and "s"; false where it is none. */
static bool split_unit(const char *unit, int64_t *ret_n, char *ret_word)
{
	int64_t n = 0;
	size_t len;

	if (*unit++ != '[')
		return false;
	for (; *unit >= '0' && *unit <= '9'; unit++) {
		n = 10 * n + (*unit - '0');
		if (n > MAX_FACTOR)
			return false;
	}
	len = strcspn(unit, "]");
	if (len < 1 || len > 2)
		return false;
	memcpy(ret_word, unit, len);
	ret_word[len] = '\0';
	*ret_n = n ? n : 1;
	return true;
}

static const struct unit {
	const char *word;
	enum bfs_arrow_unit unit;
	int64_t factor;
	enum bfs_arrow_way date;	/* of dates; of spans always SCALE */
} units[] = {
	{ "ns", BFS_ARROW_NS, 1, BFS_ARROW_SCALE },
	{ "us", BFS_ARROW_US, 1, BFS_ARROW_SCALE },
	{ "ms", BFS_ARROW_MS, 1, BFS_ARROW_SCALE },
	{ "s", BFS_ARROW_S, 1, BFS_ARROW_SCALE },
	{ "m", BFS_ARROW_S, 60, BFS_ARROW_SCALE },
	{ "h", BFS_ARROW_S, 3600, BFS_ARROW_SCALE },
	{ "D", BFS_ARROW_S, 86400, BFS_ARROW_DAYS },
	{ "W", BFS_ARROW_S, 7 * 86400, BFS_ARROW_DAYS },
	{ "M", BFS_ARROW_S, 0, BFS_ARROW_MONTHS },
	{ "Y", BFS_ARROW_S, 0, BFS_ARROW_MONTHS },
};

static enum bfs_err get_time(const struct bfs_dtype *dtype,
			     struct bfs_arrow_type *type,
			     struct bfs_diag *diag)
{
	const struct unit *unit = NULL;
	char word[3];
	int64_t n;

	if (!split_unit(dtype->unit, &n, word))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"its times have no unit");
	for (size_t i = 0; i < BFS_ARRAY_LEN(units); i++)
		if (strcmp(units[i].word, word) == 0)
			unit = &units[i];
	if (!unit || (dtype->kind == 'm' && !unit->factor))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"Arrow has no times in '%s'", word);
	type->way = dtype->kind == 'M' ? unit->date : BFS_ARROW_SCALE;
	type->id = dtype->kind == 'm' ? BFS_ARROW_DURATION :
		   type->way == BFS_ARROW_SCALE ? BFS_ARROW_TIMESTAMP :
						  BFS_ARROW_DATE;
	type->unit = unit->unit;
	type->width = type->way == BFS_ARROW_SCALE ? 8 : 4;
	if (type->way == BFS_ARROW_MONTHS)
		type->factor = n * (word[0] == 'Y' ? 12 : 1);
	else
		type->factor = type->way == BFS_ARROW_DAYS ?
			       n * (unit->factor / 86400) : n * unit->factor;
	type->has_nat = true;
	if (type->way == BFS_ARROW_SCALE && type->factor == 1)
		type->way = BFS_ARROW_COPY;
	return BFS_OK;
}

static enum bfs_err get_number(const struct bfs_dtype *dtype,
			       struct bfs_arrow_type *type,
			       struct bfs_diag *diag)
{
	uint32_t size = type->src;

	type->pairs = dtype->kind == 'c';
	if (type->pairs)
		type->src = size /= 2;
	if ((size != 1 && size != 2 && size != 4 && size != 8) ||
	    (size == 1 && strchr("fc", dtype->kind)) ||
	    (size == 2 && type->pairs))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"Arrow has no such numbers of %u bytes",
				(unsigned)dtype->unit_size);
	type->id = strchr("fc", dtype->kind) ? BFS_ARROW_FLOAT : BFS_ARROW_INT;
	type->is_signed = dtype->kind == 'i';
	type->bits = 8 * size;
	type->width = size;
	return BFS_OK;
}

enum bfs_err bfs_arrow_type_get(const struct bfs_dtype *dtype,
				struct bfs_arrow_type *ret_type,
				struct bfs_diag *diag)
{
	struct bfs_arrow_type type = { .way = BFS_ARROW_COPY, .swap = 1,
				       .factor = 1 };

	if (!dtype->unit_size || dtype->unit_size > INT32_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"its items have no bytes, or too many");
	type.src = type.width = (uint32_t)dtype->unit_size;
	switch (dtype->kind) {
	case 'b':
		type.id = BFS_ARROW_BOOL;
		type.way = BFS_ARROW_BITS;
		type.width = 0;
		break;
	case 'u':
	case 'i':
	case 'f':
	case 'c':
		BFS_TRY(get_number(dtype, &type, diag));
		break;
	case 'M':
	case 'm':
		BFS_TRY(get_time(dtype, &type, diag));
		break;
	case 'S':
	case 'V':
		type.id = BFS_ARROW_FIXED_BINARY;
		break;
	case 'U':
		if (type.src % 4)
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"its texts are no UTF-32");
		if (type.src > BFS_ARROW_TEXT_MAX)
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"its texts are too long");
		type.id = BFS_ARROW_UTF8_VIEW;
		type.way = BFS_ARROW_VIEWS;
		type.width = 16;
		break;
	default:
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"Arrow has no such items");
	}
	if (dtype->order == '>' && !strchr("SVb", dtype->kind))
		type.swap = dtype->kind == 'U' ? 4 : type.src;
	*ret_type = type;
	return BFS_OK;
}

/* ---- values ---------------------------------------------------------- */

static void copy(const struct bfs_arrow_type *type, const uint8_t *from,
		 size_t len, uint8_t *to)
{
	size_t unit = type->swap;

	if (unit == 1) {
		memcpy(to, from, len);
		return;
	}
	for (size_t at = 0; at < len; at += unit)
		for (size_t i = 0; i < unit; i++)
			to[at + i] = from[at + unit - 1 - i];
}

static void make_bits(const uint8_t *from, size_t n, uint8_t *to)
{
	memset(to, 0, (n + 7) / 8);
	for (size_t i = 0; i < n; i++)
		to[i / 8] |= (uint8_t)((from[i] != 0) << i % 8);
}

uint64_t bfs_arrow_load(const struct bfs_arrow_type *type, const uint8_t *from)
{
	uint64_t v = 0;

	if (type->src == 8)
		return type->swap == 1 ? bfs_le64(from) : bfs_be64(from);
	for (unsigned i = 0; i < type->src; i++)
		v |= (uint64_t)from[type->swap == 1 ? i : type->src - 1 - i]
		     << 8 * i;
	return v;
}

void bfs_arrow_store(uint8_t *to, uint64_t v, size_t n)
{
	uint64_t little = bfs_le64(&v);

	memcpy(to, &little, n);
}

/* The day on which a month begins, both since 1970. Years are turned so that
 * they begin in March and a leap day ends one: the days before a month are
 * regular then. */
static bool month_begins(int64_t month, int64_t *ret_day)
{
	const int64_t era_len = 146097;		/* days in 400 years */
	int64_t turned, era, year, of_year;

	if (month < -(INT64_C(1) << 32) || month > INT64_C(1) << 32)
		return false;
	turned = month + 1970 * 12 - 2;		/* months since March of 0 */
	era = turned / 4800 - (turned % 4800 < 0);
	turned -= era * 4800;
	year = turned / 12;
	of_year = (153 * (turned % 12) + 2) / 5;
	*ret_day = era * era_len + 365 * year + year / 4 - year / 100 +
		   of_year - 719468;
	return true;
}

/* What an integer is in Arrow. */
static bool convert(const struct bfs_arrow_type *type, int64_t v,
		    int64_t *ret_v)
{
	if (v == INT64_MIN) {		/* not a time: it is told by a bit */
		*ret_v = type->width == 8 ? v : 0;
		return true;
	}
	if (__builtin_mul_overflow(v, type->factor, &v))
		return false;
	if (type->way == BFS_ARROW_MONTHS && !month_begins(v, &v))
		return false;
	*ret_v = v;
	return type->width == 8 || (v >= INT32_MIN && v <= INT32_MAX);
}

/* Codes below 0 stand for none: any word will do. */
static enum bfs_err make_codes(const struct bfs_arrow_type *type,
			       const uint8_t *from, size_t n, uint8_t *to,
			       struct bfs_diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = bfs_arrow_load(type, from + 4 * i);

		if (v > INT32_MAX)
			v = 0;
		else if (v >= type->n_words)
			return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
					"a code beyond its dictionary");
		bfs_arrow_store(to + 4 * i, v, 4);
	}
	return BFS_OK;
}

enum bfs_err bfs_arrow_type_make(const struct bfs_arrow_type *type,
				 const uint8_t *from, size_t n, uint8_t *to,
				 struct bfs_diag *diag)
{
	if (type->way == BFS_ARROW_COPY) {
		copy(type, from, n * type->src, to);
		return BFS_OK;
	}
	if (type->way == BFS_ARROW_BITS) {
		make_bits(from, n, to);
		return BFS_OK;
	}
	if (type->way == BFS_ARROW_CODES)
		return make_codes(type, from, n, to, diag);
	for (size_t i = 0; i < n; i++) {
		int64_t v;

		if (!convert(type, (int64_t)bfs_arrow_load(type, from + 8 * i),
			     &v))
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"a time that Arrow's type cannot hold");
		bfs_arrow_store(to + type->width * i, (uint64_t)v, type->width);
	}
	return BFS_OK;
}
