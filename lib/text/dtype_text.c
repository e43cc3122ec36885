/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_text.c - the tokens of a dtype: numbers, punctuation and strings with
 * Python's escapes.
 *
 * Bytes that nobody has checked come in; strings go out as valid UTF-8
 * without NUL, never longer than they were written.
 */
#include "text/dtype_text.h"

#include "text/json.h"
#include "base/mem.h"

#include <string.h>

enum bfs_err bfs_dt_refuse(const struct bfs_dt *ps, const char *what)
{
	return bfs_fail(ps->diag, BFS_ERR_UNSUPPORTED, ps->pos,
			"dtype: %s", what);
}

enum bfs_err bfs_dt_break(const struct bfs_dt *ps, const char *what)
{
	return bfs_fail(ps->diag, BFS_ERR_CORRUPT, ps->pos, "dtype: %s", what);
}

enum bfs_err bfs_dt_no_memory(const struct bfs_dt *ps)
{
	return bfs_fail(ps->diag, BFS_ERR_NOMEM, ps->pos,
			"no memory for a dtype");
}

char bfs_dt_peek(struct bfs_dt *ps)
{
	while (ps->pos < ps->len && ps->text[ps->pos] &&
	       strchr(" \t\r\n", ps->text[ps->pos]))
		ps->pos++;
	return ps->pos < ps->len ? ps->text[ps->pos] : '\0';
}

bool bfs_dt_take(struct bfs_dt *ps, char want)
{
	if (bfs_dt_peek(ps) != want || ps->pos == ps->len)
		return false;
	ps->pos++;
	return true;
}

bool bfs_dt_take_word(struct bfs_dt *ps, const char *word)
{
	size_t n = strlen(word);

	(void)bfs_dt_peek(ps);
	if (n > ps->len - ps->pos || memcmp(ps->text + ps->pos, word, n) != 0)
		return false;
	ps->pos += n;
	return true;
}

bool bfs_dt_scan_number(const char *text, size_t len, size_t *pos,
			uint64_t *ret_v)
{
	uint64_t v = 0;
	size_t i = *pos;

	for (; i < len && bfs_dt_is_digit(text[i]); i++) {
		v = v * 10 + (uint64_t)(text[i] - '0');
		if (v > BFS_DT_MAX_SIZE)
			return false;
	}
	if (i == *pos)
		return false;
	*pos = i;
	*ret_v = v;
	return true;
}

enum bfs_err bfs_dt_number(struct bfs_dt *ps, uint64_t *ret_v)
{
	if (!bfs_dt_is_digit(bfs_dt_peek(ps)))
		return bfs_dt_refuse(ps, "a number is missing");
	if (!bfs_dt_scan_number(ps->text, ps->len, &ps->pos, ret_v))
		return bfs_dt_break(ps, "a number is too big");
	return BFS_OK;
}

/* String literals */

static int hex_value(char c)
{
	if (bfs_dt_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool scan_hex(struct bfs_dt *ps, unsigned digits, uint32_t *ret_v)
{
	uint32_t v = 0;

	if (digits > ps->len - ps->pos)
		return false;
	for (; digits; digits--) {
		int d = hex_value(ps->text[ps->pos++]);

		if (d < 0)
			return false;
		v = v << 4 | (uint32_t)d;
	}
	*ret_v = v;
	return true;
}

/* JSON writes what lies beyond U+FFFF as two halves. */
static bool join_halves(struct bfs_dt *ps, uint32_t *v)
{
	uint32_t low;

	if (ps->len - ps->pos < 6 || ps->text[ps->pos] != '\\' ||
	    ps->text[ps->pos + 1] != 'u')
		return false;
	ps->pos += 2;
	if (!scan_hex(ps, 4, &low) || low < 0xdc00 || low > 0xdfff)
		return false;
	*v = 0x10000 + ((*v - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* The code point of a numeric escape; pos is behind the letter. */
static bool scan_code(struct bfs_dt *ps, char letter, uint32_t *ret_v)
{
	unsigned digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
	uint32_t v = 0;
	unsigned i;

	if (bfs_dt_is_digit(letter)) {
		for (i = 0, ps->pos--; i < 3 && ps->pos < ps->len &&
		     ps->text[ps->pos] >= '0' && ps->text[ps->pos] < '8'; i++)
			v = v * 8 + (uint32_t)(ps->text[ps->pos++] - '0');
		*ret_v = v;
		return i > 0;
	}
	if (!scan_hex(ps, digits, &v))
		return false;
	if (v >= 0xd800 && v < 0xdc00 && !join_halves(ps, &v))
		return false;
	*ret_v = v;
	return v <= 0x10ffff && !(v >= 0xd800 && v <= 0xdfff);
}

static void add_utf8(struct bfs_dt_lit *lit, uint32_t v)
{
	char *to = lit->text + lit->len;

	if (v < 0x80) {
		*to++ = (char)v;
	} else if (v < 0x800) {
		*to++ = (char)(0xc0 | v >> 6);
		*to++ = (char)(0x80 | (v & 63));
	} else if (v < 0x10000) {
		*to++ = (char)(0xe0 | v >> 12);
		*to++ = (char)(0x80 | (v >> 6 & 63));
		*to++ = (char)(0x80 | (v & 63));
	} else {
		*to++ = (char)(0xf0 | v >> 18);
		*to++ = (char)(0x80 | (v >> 12 & 63));
		*to++ = (char)(0x80 | (v >> 6 & 63));
		*to++ = (char)(0x80 | (v & 63));
	}
	lit->len = (size_t)(to - lit->text);
}

/* One escape; pos is behind its backslash. An unknown one keeps its backslash,
 * as in Python, except \/ of JSON. What comes out is never longer than the
 * escape itself. */
static bool undo_escape(struct bfs_dt *ps, struct bfs_dt_lit *lit)
{
	static const char from[] = "\\'\"/abfnrtv";
	static const char to[] = "\\'\"/\a\b\f\n\r\t\v";
	const char *found;
	uint32_t v;
	char c;

	if (ps->pos == ps->len)
		return false;
	c = ps->text[ps->pos++];
	if (!c || c == '\n' || c == '\r' || c == 'N')
		return false;
	if (c == 'x' || c == 'u' || c == 'U' || bfs_dt_is_digit(c)) {
		if ((c == '8' || c == '9') || !scan_code(ps, c, &v) || !v)
			return false;
		add_utf8(lit, v);
		return true;
	}
	found = strchr(from, c);
	if (!found)
		lit->text[lit->len++] = '\\';
	lit->text[lit->len++] = found ? to[found - from] : c;
	return true;
}

/* What stands between the quotes, up to end. */
static bool undo_escapes(struct bfs_dt *ps, size_t end, struct bfs_dt_lit *lit)
{
	while (ps->pos < end) {
		char c = ps->text[ps->pos++];

		if (c == '\\') {
			if (!undo_escape(ps, lit))
				return false;
			continue;
		}
		if (!c || c == '\n' || c == '\r')
			return false;
		lit->text[lit->len++] = c;
	}
	lit->text[lit->len] = '\0';
	return bfs_json_is_utf8(lit->text, lit->len);
}

enum bfs_err bfs_dt_string(struct bfs_dt *ps, struct bfs_dt_lit *ret_lit)
{
	struct bfs_dt_lit lit = { NULL, 0 };
	char quote = bfs_dt_peek(ps);
	size_t end;

	if (quote != '\'' && quote != '"')
		return bfs_dt_refuse(ps, "a quoted string is missing");
	for (end = ++ps->pos; end < ps->len && ps->text[end] != quote; end++)
		if (ps->text[end] == '\\')
			end++;
	if (end >= ps->len)
		return bfs_dt_refuse(ps, "a string has no end");
	lit.text = bfs_alloc(end - ps->pos + 1);
	if (!lit.text)
		return bfs_dt_no_memory(ps);
	if (!undo_escapes(ps, end, &lit)) {
		bfs_free(lit.text);
		return bfs_dt_refuse(ps, "a string holds what it may not");
	}
	ps->pos = end + 1;
	*ret_lit = lit;
	return BFS_OK;
}
