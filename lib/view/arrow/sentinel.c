/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sentinel.c - the value that stands for none.
 */
#include "view/arrow/sentinel.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static enum bfs_err refuse(struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
			"what stands for no value is no value of it");
}

/* An integer in the order of bytes that the column has. */
static void put(const struct bfs_arrow_type *type, uint64_t v, size_t n,
		uint8_t *to)
{
	for (size_t i = 0; i < n; i++)
		to[type->swap == 1 ? i : n - 1 - i] = (uint8_t)(v >> 8 * i);
}

static int digit(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' :
	       c >= 'a' && c <= 'z' ? c - 'a' + 26 :
	       c >= '0' && c <= '9' ? c - '0' + 52 :
	       c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Bytes of base64; false where it is none or they are more than max. */
static bool decode(const char *text, size_t len, uint8_t *to, size_t max,
		   size_t *ret_n)
{
	uint32_t bits = 0;
	unsigned n_bits = 0;

	*ret_n = 0;
	while (len && text[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++) {
		int v = digit(text[i]);

		if (v < 0)
			return false;
		bits = bits << 6 | (uint32_t)v;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		if (*ret_n == max)
			return false;
		n_bits -= 8;
		to[(*ret_n)++] = (uint8_t)(bits >> n_bits);
	}
	return true;
}

/* UTF-8, as Python wrote it, as UTF-32 of the column. */
static bool widen(const struct bfs_arrow_type *type, const char *text,
		  size_t len, uint8_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++) {
		uint8_t lead = (uint8_t)text[i++];
		unsigned more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 :
				lead < 0xf0 ? 2 : 3;
		uint32_t c = more ? lead & (0x3fU >> more) : lead;

		for (; more && i < len; more--)
			c = c << 6 | ((uint8_t)text[i++] & 0x3f);
		if (more || 4 * n + 4 > type->src)
			return false;
		put(type, c, 4, to + 4 * n);
	}
	return true;
}

static bool put_number(const struct bfs_arrow_type *type,
		       const struct bfs_value *value, uint8_t *to)
{
	bool is_int = bfs_value_is(value, BFS_VALUE_INT);
	double wide = is_int ? (double)value->i : value->d;
	float narrow = (float)wide;
	uint64_t bits = 0;
	uint32_t low;

	if (type->id != BFS_ARROW_FLOAT) {
		if (!is_int && !bfs_value_is(value, BFS_VALUE_UINT))
			return false;
		put(type, is_int ? (uint64_t)value->i : value->u, type->src,
		    to);
		return true;
	}
	if (type->src == 2 || bfs_value_is(value, BFS_VALUE_UINT))
		return false;
	if (type->src == 8) {
		memcpy(&bits, &wide, 8);
	} else {
		memcpy(&low, &narrow, 4);
		bits = low;
	}
	put(type, bits, type->src, to);
	return true;
}

/* The bytes of a text or of {"base64"}, as they are stored: at most max. */
static bool put_bytes(const struct bfs_value *value, uint8_t *to, size_t max,
		      size_t *ret_n)
{
	const struct bfs_value *digits = value;

	if (bfs_value_is(value, BFS_VALUE_STRING)) {
		if (value->s.len > max)
			return false;
		memcpy(to, value->s.text, value->s.len);
		*ret_n = value->s.len;
		return true;
	}
	if (!bfs_value_is(value, BFS_VALUE_OBJECT))
		return false;
	digits = bfs_value_get(value, "base64");
	return bfs_value_is(digits, BFS_VALUE_STRING) &&
	       decode(digits->s.text, digits->s.len, to, max, ret_n);
}

static bool put_value(struct bfs_arrow_column *column,
		      const struct bfs_value *value, size_t max)
{
	const struct bfs_arrow_type *type = &column->type;
	struct bfs_arrow_nulls *nulls = &column->nulls;

	nulls->same_len = type->src;
	switch (type->way) {
	case BFS_ARROW_OFFSETS:
		return put_bytes(value, nulls->same, max, &nulls->same_len);
	case BFS_ARROW_VIEWS:
		return bfs_value_is(value, BFS_VALUE_STRING) &&
		       widen(type, value->s.text, value->s.len, nulls->same);
	case BFS_ARROW_COPY:
	case BFS_ARROW_BITS:
		break;
	case BFS_ARROW_SCALE:
	case BFS_ARROW_DAYS:
	case BFS_ARROW_MONTHS:
	case BFS_ARROW_CODES:
		return false;
	}
	if (type->id == BFS_ARROW_FIXED_BINARY)
		return put_bytes(value, nulls->same, type->src,
				 &nulls->same_len);
	return (bfs_value_is(value, BFS_VALUE_INT) ||
		bfs_value_is(value, BFS_VALUE_UINT) ||
		bfs_value_is(value, BFS_VALUE_DOUBLE)) &&
	       put_number(type, value, nulls->same);
}

enum bfs_err bfs_arrow_set_sentinel(struct bfs_arrow_column *column,
				    const struct bfs_value *value,
				    struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &column->type;
	struct bfs_arrow_nulls *nulls = &column->nulls;
	size_t max = value->raw_len + type->src + 1;

	nulls->by_row = column->n_lists > 0;
	if (type->pairs)
		return refuse(diag);
	if (type->id == BFS_ARROW_FLOAT &&
	    bfs_value_is(value, BFS_VALUE_DOUBLE) && isnan(value->d)) {
		nulls->rule = BFS_ARROW_NAN;
		return BFS_OK;
	}
	nulls->same = bfs_zalloc(1, max);
	if (!nulls->same)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a value");
	if (!put_value(column, value, max))
		return refuse(diag);
	nulls->rule = BFS_ARROW_SAME;
	return BFS_OK;
}
