/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c - the strict JSON writer.
 *
 * Calls come in, one growing text goes out. The text is well-formed as soon
 * as all that was begun has ended; calls out of order set INVALID. Characters
 * that a terminal would obey (C0, DEL, C1) are always escaped.
 */
#include "text/json.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "text/seen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_LEN ((size_t)64 << 20)
#define FIRST_CAP 256

static void set_err(struct bfs_json *json, enum bfs_err err)
{
	if (json->err == BFS_OK)
		json->err = err;
}

/* Room for `more` bytes and a NUL behind them. */
static bool reserve(struct bfs_json *json, size_t more)
{
	size_t need, cap;
	char *buf;

	if (json->err != BFS_OK)
		return false;
	BFS_CHECK(json->len <= json->max_len);
	if (more > json->max_len - json->len) {
		set_err(json, BFS_ERR_LIMIT);
		return false;
	}
	need = json->len + more + 1;
	if (need <= json->cap)
		return true;
	cap = json->cap ? json->cap * 2 : FIRST_CAP;
	if (cap > json->max_len + 1)
		cap = json->max_len + 1;
	if (cap < need)
		cap = need;
	buf = bfs_realloc(json->buf, cap);
	if (!buf) {
		set_err(json, BFS_ERR_NOMEM);
		return false;
	}
	json->buf = buf;
	json->cap = cap;
	return true;
}

static void put(struct bfs_json *json, const void *p, size_t len)
{
	if (!len || !reserve(json, len))
		return;
	memcpy(json->buf + json->len, p, len);
	json->len += len;
	json->buf[json->len] = '\0';
}

static void put_text(struct bfs_json *json, const char *text)
{
	put(json, text, strlen(text));
}

static void put_newline(struct bfs_json *json)
{
	size_t indent = (size_t)json->depth * 2;

	if (!reserve(json, 1 + indent))
		return;
	json->buf[json->len] = '\n';
	memset(json->buf + json->len + 1, ' ', indent);
	json->len += 1 + indent;
	json->buf[json->len] = '\0';
}

/* What stands before a key or before an array's value. */
static void put_separator(struct bfs_json *json)
{
	unsigned top = json->depth - 1;

	BFS_CHECK(json->depth > 0);
	if (json->filled[top])
		put_text(json, json->is_inline[top] ? ", " : ",");
	json->filled[top] = 1;
	if (!json->is_inline[top])
		put_newline(json);
}

/* Checks that a value may stand here, and writes what precedes it. */
static bool begin_value(struct bfs_json *json)
{
	if (json->err != BFS_OK)
		return false;
	if (!json->depth) {
		if (json->len)
			set_err(json, BFS_ERR_INVALID);
	} else if (json->is_array[json->depth - 1]) {
		put_separator(json);
	} else if (json->after_key) {
		json->after_key = false;
	} else {
		set_err(json, BFS_ERR_INVALID);
	}
	return json->err == BFS_OK;
}

static void open_level(struct bfs_json *json, bool is_array, bool is_inline)
{
	unsigned depth = json->depth;

	if (!begin_value(json))
		return;
	if (depth == BFS_JSON_DEPTH) {
		set_err(json, BFS_ERR_LIMIT);
		return;
	}
	put_text(json, is_array ? "[" : "{");
	/* Whatever is inside an inline array is inline, too. */
	json->is_inline[depth] =
		is_inline || json->one_line ||
		(depth && json->is_inline[depth - 1]);
	json->is_array[depth] = is_array;
	json->filled[depth] = 0;
	json->depth++;
}

static void close_level(struct bfs_json *json, bool is_array)
{
	unsigned top;

	if (json->err != BFS_OK)
		return;
	if (!json->depth || json->after_key ||
	    json->is_array[json->depth - 1] != is_array) {
		set_err(json, BFS_ERR_INVALID);
		return;
	}
	top = --json->depth;
	if (json->filled[top] && !json->is_inline[top])
		put_newline(json);
	put_text(json, is_array ? "]" : "}");
}

void bfs_json_init(struct bfs_json *json, size_t max_len)
{
	memset(json, 0, sizeof(*json));
	json->max_len = max_len ? max_len : DEFAULT_MAX_LEN;
	/* Room for the NUL is added to lengths up to max_len. */
	if (json->max_len > SIZE_MAX / 4)
		json->max_len = SIZE_MAX / 4;
}

void bfs_json_release(struct bfs_json *json)
{
	bfs_free(json->buf);
	memset(json, 0, sizeof(*json));
}

void bfs_json_object(struct bfs_json *json)
{
	open_level(json, false, false);
}

void bfs_json_object_end(struct bfs_json *json)
{
	close_level(json, false);
}

void bfs_json_array(struct bfs_json *json)
{
	open_level(json, true, false);
}

void bfs_json_object_inline(struct bfs_json *json)
{
	open_level(json, false, true);
}

void bfs_json_array_inline(struct bfs_json *json)
{
	open_level(json, true, true);
}

void bfs_json_array_end(struct bfs_json *json)
{
	close_level(json, true);
}

/*
 * The length of the UTF-8 sequence at p, or 0 where there is none; then
 * *ret_bad is how many bytes one U+FFFD stands for (the longest beginning of
 * a sequence, as the Unicode standard recommends). len is at least 1.
 */
static size_t scan_utf8(const uint8_t *p, size_t len, size_t *ret_bad)
{
	uint8_t lo = 0x80, hi = 0xbf;
	size_t want, i;

	*ret_bad = 1;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	want = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	/* No overlong forms, no surrogates, nothing beyond U+10FFFF. */
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < want; i++) {
		if (i == len || p[i] < lo || p[i] > hi) {
			*ret_bad = i;
			return 0;
		}
		lo = 0x80;
		hi = 0xbf;
	}
	return want;
}

bool bfs_json_is_utf8(const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t i, n, bad;

	for (i = 0; i < len; i += n) {
		/* Most texts are ASCII for most of their length. */
		n = 8;
		if (len - i >= 8 &&
		    !(bfs_le64(p + i) & UINT64_C(0x8080808080808080)))
			continue;
		n = scan_utf8(p + i, len - i, &bad);
		if (!n)
			return false;
	}
	return true;
}

/* One unit of UTF-16. */
static void put_unit(struct bfs_json *json, unsigned c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15],
			 hex[c >> 4 & 15], hex[c & 15] };

	put(json, text, sizeof(text));
}

static void put_escape(struct bfs_json *json, unsigned c)
{
	static const char from[] = "\"\\\b\f\n\r\t";
	static const char to[] = "\"\\bfnrt";
	const char *found = c && c < 0x80 ? strchr(from, (int)c) : NULL;

	if (found) {
		put(json, (const char[]){ '\\', to[found - from] }, 2);
	} else if (c > 0xffff) {
		put_unit(json, 0xd800 + ((c - 0x10000) >> 10));
		put_unit(json, 0xdc00 + (c & 0x3ff));
	} else {
		put_unit(json, c);
	}
}

/* The code point of a valid sequence of n bytes. */
static int code_point(const uint8_t *p, size_t n)
{
	int c = n == 1 ? p[0] : p[0] & (0x7f >> n);
	size_t i;

	for (i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* The code to escape at a valid sequence of n bytes, or -1: write as it is.
 * What is not seen is escaped: it may turn what follows before somebody's
 * eyes. */
static int escaped_char(const uint8_t *p, size_t n, bool ascii)
{
	int c = code_point(p, n);

	if (c == '"' || c == '\\' || (n > 1 && ascii) ||
	    !bfs_is_seen((uint32_t)c))
		return c;
	return -1;
}

static void put_quoted(struct bfs_json *json, const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t i = 0, plain = 0, n, bad;
	int c;

	put_text(json, "\"");
	while (i < len && json->err == BFS_OK) {
		n = scan_utf8(p + i, len - i, &bad);
		c = n ? escaped_char(p + i, n, json->ascii) : -1;
		if (n && c < 0) {
			i += n;
			continue;
		}
		put(json, p + plain, i - plain);
		if (n)
			put_escape(json, (unsigned)c);
		else
			put_text(json, json->ascii ? "\\ufffd" :
						     "\xef\xbf\xbd");
		i += n ? n : bad;
		plain = i;
	}
	if (plain < len)
		put(json, p + plain, len - plain);
	put_text(json, "\"");
}

void bfs_json_key_n(struct bfs_json *json, const void *key, size_t len)
{
	if (json->err != BFS_OK)
		return;
	if (!json->depth || json->is_array[json->depth - 1] ||
	    json->after_key) {
		set_err(json, BFS_ERR_INVALID);
		return;
	}
	put_separator(json);
	put_quoted(json, key, len);
	put_text(json, ": ");
	json->after_key = true;
}

void bfs_json_key(struct bfs_json *json, const char *key)
{
	bfs_json_key_n(json, key, strlen(key));
}

void bfs_json_string_n(struct bfs_json *json, const void *text, size_t len)
{
	if (begin_value(json))
		put_quoted(json, text, len);
}

void bfs_json_string(struct bfs_json *json, const char *text)
{
	bfs_json_string_n(json, text, strlen(text));
}

static void put_word(struct bfs_json *json, const char *word)
{
	if (begin_value(json))
		put_text(json, word);
}

void bfs_json_u64(struct bfs_json *json, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	put_word(json, text);
}

void bfs_json_i64(struct bfs_json *json, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	put_word(json, text);
}

/* The locale may have another decimal point, of several bytes even. */
static void fix_point(char *text)
{
	char *from, *to = text;

	for (from = text; *from; from++) {
		if (strchr("0123456789+-e", *from))
			*to++ = *from;
		else if (to == text || to[-1] != '.')
			*to++ = '.';
	}
	*to = '\0';
}

void bfs_json_double(struct bfs_json *json, double v)
{
	char text[48];
	int digits;

	if (isnan(v)) {
		bfs_json_string(json, "NaN");
		return;
	}
	if (isinf(v)) {
		bfs_json_string(json, v < 0 ? "-Infinity" : "Infinity");
		return;
	}
	/* The fewest digits that give the same number back. */
	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	fix_point(text);
	/* So that a reader does not take it for an integer. */
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	put_word(json, text);
}

void bfs_json_bool(struct bfs_json *json, bool v)
{
	put_word(json, v ? "true" : "false");
}

void bfs_json_null(struct bfs_json *json)
{
	put_word(json, "null");
}

static void put_base64(struct bfs_json *json, const uint8_t *p, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t i;
	char *to;

	if (len / 3 >= json->max_len / 4) {
		set_err(json, BFS_ERR_LIMIT);
		return;
	}
	if (!reserve(json, len / 3 * 4 + (len % 3 ? 4 : 0)))
		return;
	to = json->buf + json->len;
	for (i = 0; i < len; i += 3) {
		unsigned v = (unsigned)p[i] << 16;

		v |= i + 1 < len ? (unsigned)p[i + 1] << 8 : 0;
		v |= i + 2 < len ? p[i + 2] : 0;
		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digits[v & 63] : '=';
	}
	*to = '\0';
	json->len = (size_t)(to - json->buf);
}

void bfs_json_base64_text(struct bfs_json *json, const void *p, size_t len)
{
	if (!begin_value(json))
		return;
	put_text(json, "\"");
	put_base64(json, p, len);
	put_text(json, "\"");
}

void bfs_json_base64(struct bfs_json *json, const void *p, size_t len)
{
	open_level(json, false, true);
	bfs_json_key(json, "base64");
	bfs_json_base64_text(json, p, len);
	bfs_json_object_end(json);
}

enum bfs_err bfs_json_finish(struct bfs_json *json, char **ret_text,
			     size_t *ret_len)
{
	if (json->err == BFS_OK && (json->depth || !json->len))
		set_err(json, BFS_ERR_INVALID);
	put_text(json, "\n");
	if (json->err != BFS_OK)
		return json->err;
	*ret_text = json->buf;
	*ret_len = json->len;
	json->buf = NULL;
	json->len = 0;
	json->cap = 0;
	return BFS_OK;
}
