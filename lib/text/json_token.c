/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_token.c - strings and numbers of JSON.
 *
 * Strings are decoded in place, in the copy of the text: none becomes longer by
 * it, and its NUL takes the place of the closing quote.
 */
#include "text/json_token.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- strings ---------------------------------------------------------- */

static bool take_hex(struct bfs_json_at *p, uint32_t *ret_unit)
{
	uint32_t unit = 0;
	int i;

	if (p->len - p->at < 4)
		return false;
	for (i = 0; i < 4; i++) {
		char c = p->raw[p->at + (size_t)i];

		if (c >= '0' && c <= '9')
			unit = unit << 4 | (uint32_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			unit = unit << 4 | (uint32_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	p->at += 4;
	*ret_unit = unit;
	return true;
}

/* Half of a surrogate pair alone becomes U+FFFD. */
static bool take_unicode(struct bfs_json_at *p, uint32_t *ret_code)
{
	uint32_t high, low;
	size_t behind;

	if (!take_hex(p, &high))
		return false;
	*ret_code = high >= 0xd800 && high < 0xe000 ? 0xfffd : high;
	if (high < 0xd800 || high >= 0xdc00)
		return true;
	behind = p->at;
	if (bfs_json_take_word(p, "\\u") && take_hex(p, &low) &&
	    low >= 0xdc00 && low < 0xe000)
		*ret_code = 0x10000 + ((high - 0xd800) << 10) + low - 0xdc00;
	else
		p->at = behind;
	return true;
}

static char *put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*to++ = (char)(0xe0 | code >> 12);
		} else {
			*to++ = (char)(0xf0 | code >> 18);
			*to++ = (char)(0x80 | (code >> 12 & 63));
		}
		*to++ = (char)(0x80 | (code >> 6 & 63));
	}
	*to++ = (char)(0x80 | (code & 63));
	return to;
}

/* Behind the backslash. */
static enum bfs_err take_escape(struct bfs_json_at *p, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	char c = bfs_json_peek(p);
	const char *found = c ? strchr(from, c) : NULL;
	uint32_t code;

	if (found) {
		p->at++;
		*(*to)++ = into[found - from];
		return BFS_OK;
	}
	if (c != 'u')
		return bfs_json_bad(p, "an unknown escape");
	p->at++;
	if (!take_unicode(p, &code))
		return bfs_json_bad(p, "an escape that breaks off");
	*to = put_utf8(*to, code);
	return BFS_OK;
}

/* Behind the quote. */
enum bfs_err bfs_json_take_string(struct bfs_json_at *p, const char **ret_text,
				size_t *ret_len)
{
	char *start = p->copy + p->at, *to = start;

	for (;;) {
		char c;

		if (p->at >= p->len)
			return bfs_json_bad(p, "a string without an end");
		c = p->raw[p->at++];
		if (c == '"')
			break;
		if ((unsigned char)c < 0x20) {
			p->at--;
			return bfs_json_bad(p, "a control character");
		}
		if (c == '\\')
			BFS_TRY(take_escape(p, &to));
		else
			*to++ = c;
	}
	/* Decoding never overtakes reading, so the NUL is inside the copy. */
	BFS_CHECK(to < p->copy + p->at);
	*to = '\0';
	*ret_text = start;
	*ret_len = (size_t)(to - start);
	return BFS_OK;
}

/* ---- numbers ---------------------------------------------------------- */

static locale_t plain_locale;

static void make_locale(void)
{
	plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static enum bfs_err take_double(struct bfs_json_at *p, size_t start,
				struct bfs_json_number *v)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	/* A user's locale may have another decimal point. */
	pthread_once(&once, make_locale);
	v->kind = BFS_JSON_DOUBLE;
	v->d = plain_locale ?
	       strtod_l(p->raw + start, NULL, plain_locale) :
	       strtod(p->raw + start, NULL);
	return BFS_OK;
}

static size_t skip_digits(struct bfs_json_at *p)
{
	size_t start = p->at;

	while (bfs_json_peek(p) >= '0' && bfs_json_peek(p) <= '9')
		p->at++;
	return p->at - start;
}

/* Whole numbers as they are, if 64 bits hold them. */
static bool set_whole(struct bfs_json_number *v, const char *digits, size_t n,
		      bool minus)
{
	uint64_t u = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (!bfs_mul(u, 10, &u) ||
		    !bfs_add(u, (uint64_t)(digits[i] - '0'), &u))
			return false;
	if (u <= INT64_MAX || (minus && u == (uint64_t)INT64_MAX + 1)) {
		v->kind = BFS_JSON_INT;
		v->i = minus ? (int64_t)(0 - u) : (int64_t)u;
		return true;
	}
	v->kind = BFS_JSON_UINT;
	v->u = u;
	return !minus;
}

enum bfs_err bfs_json_take_number(struct bfs_json_at *p,
				  struct bfs_json_number *v)
{
	size_t start = p->at, digits, n;
	bool minus = bfs_json_take_word(p, "-"), whole = true;

	if (bfs_json_take_word(p, "Infinity")) {
		v->kind = BFS_JSON_DOUBLE;
		v->d = minus ? -INFINITY : INFINITY;
		return BFS_OK;
	}
	digits = p->at;
	n = skip_digits(p);
	if (n == 0 || (n > 1 && p->raw[digits] == '0'))
		return bfs_json_bad(p, "no value");
	if (bfs_json_take_word(p, ".")) {
		whole = false;
		if (!skip_digits(p))
			return bfs_json_bad(p, "a number that breaks off");
	}
	if (bfs_json_peek(p) == 'e' || bfs_json_peek(p) == 'E') {
		whole = false;
		p->at++;
		if (bfs_json_peek(p) == '+' || bfs_json_peek(p) == '-')
			p->at++;
		if (!skip_digits(p))
			return bfs_json_bad(p, "a number that breaks off");
	}
	if (whole && set_whole(v, p->raw + digits, n, minus))
		return BFS_OK;
	return take_double(p, start, v);
}
