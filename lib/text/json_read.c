/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_read.c - the parser of JSON.
 *
 * Strings are decoded in place, in a copy of the text: none becomes longer by
 * it, and its NUL takes the place of the closing quote. A second copy stays as
 * the text was. Each value but the first follows a comma or a bracket, so
 * counting those bounds the number of values.
 */
#include "text/json_read.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A value takes far more memory than the two characters that make one. */
#define MAX_VALUES (((size_t)64 << 20) / sizeof(struct bfs_value))

struct bfs_document {
	char *raw;			/* the text, and behind it the copy */
	char *copy;
	size_t len;
	struct bfs_value *values;
	size_t n, cap;
};

/* Where the parser is: an offset in both copies. */
struct parser {
	struct bfs_document *doc;
	size_t at;
	unsigned depth;
	struct bfs_diag *diag;
};

static enum bfs_err bad(const struct parser *p, const char *what)
{
	return bfs_fail(p->diag, BFS_ERR_CORRUPT, p->at, "%s in JSON", what);
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->doc->len && strchr(" \t\r\n", p->doc->raw[p->at]) &&
	       p->doc->raw[p->at])
		p->at++;
}

/* The next character, or NUL at the end. */
static char peek(const struct parser *p)
{
	return p->at < p->doc->len ? p->doc->raw[p->at] : '\0';
}

static bool take_char(struct parser *p, char c)
{
	skip_blanks(p);
	if (p->at >= p->doc->len || p->doc->raw[p->at] != c)
		return false;
	p->at++;
	return true;
}

static bool take_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	if (p->doc->len - p->at < len ||
	    memcmp(p->doc->raw + p->at, word, len))
		return false;
	p->at += len;
	return true;
}

/* ---- strings ---------------------------------------------------------- */

static bool take_hex(struct parser *p, uint32_t *ret_unit)
{
	uint32_t unit = 0;
	int i;

	if (p->doc->len - p->at < 4)
		return false;
	for (i = 0; i < 4; i++) {
		char c = p->doc->raw[p->at + (size_t)i];

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
static bool take_unicode(struct parser *p, uint32_t *ret_code)
{
	uint32_t high, low;
	size_t behind;

	if (!take_hex(p, &high))
		return false;
	*ret_code = high >= 0xd800 && high < 0xe000 ? 0xfffd : high;
	if (high < 0xd800 || high >= 0xdc00)
		return true;
	behind = p->at;
	if (take_word(p, "\\u") && take_hex(p, &low) && low >= 0xdc00 &&
	    low < 0xe000)
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
static enum bfs_err take_escape(struct parser *p, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	char c = peek(p);
	const char *found = c ? strchr(from, c) : NULL;
	uint32_t code;

	if (found) {
		p->at++;
		*(*to)++ = into[found - from];
		return BFS_OK;
	}
	if (c != 'u')
		return bad(p, "an unknown escape");
	p->at++;
	if (!take_unicode(p, &code))
		return bad(p, "an escape that breaks off");
	*to = put_utf8(*to, code);
	return BFS_OK;
}

/* Behind the quote. */
static enum bfs_err take_string(struct parser *p, const char **ret_text,
				size_t *ret_len)
{
	char *start = p->doc->copy + p->at, *to = start;

	for (;;) {
		char c;

		if (p->at >= p->doc->len)
			return bad(p, "a string without an end");
		c = p->doc->raw[p->at++];
		if (c == '"')
			break;
		if ((unsigned char)c < 0x20) {
			p->at--;
			return bad(p, "a control character");
		}
		if (c == '\\')
			BFS_TRY(take_escape(p, &to));
		else
			*to++ = c;
	}
	/* Decoding never overtakes reading, so the NUL is inside the copy. */
	BFS_CHECK(to < p->doc->copy + p->at);
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

static enum bfs_err take_double(struct parser *p, size_t start,
				struct bfs_value *v)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	/* A user's locale may have another decimal point. */
	pthread_once(&once, make_locale);
	v->kind = BFS_VALUE_DOUBLE;
	v->d = plain_locale ?
	       strtod_l(p->doc->raw + start, NULL, plain_locale) :
	       strtod(p->doc->raw + start, NULL);
	return BFS_OK;
}

static size_t skip_digits(struct parser *p)
{
	size_t start = p->at;

	while (peek(p) >= '0' && peek(p) <= '9')
		p->at++;
	return p->at - start;
}

/* Whole numbers as they are, if 64 bits hold them. */
static bool set_whole(struct bfs_value *v, const char *digits, size_t n,
		      bool minus)
{
	uint64_t u = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (!bfs_mul(u, 10, &u) ||
		    !bfs_add(u, (uint64_t)(digits[i] - '0'), &u))
			return false;
	if (u <= INT64_MAX || (minus && u == (uint64_t)INT64_MAX + 1)) {
		v->kind = BFS_VALUE_INT;
		v->i = minus ? (int64_t)(0 - u) : (int64_t)u;
		return true;
	}
	v->kind = BFS_VALUE_UINT;
	v->u = u;
	return !minus;
}

static enum bfs_err take_number(struct parser *p, struct bfs_value *v)
{
	size_t start = p->at, digits, n;
	bool minus = take_word(p, "-"), whole = true;

	if (take_word(p, "Infinity")) {
		v->kind = BFS_VALUE_DOUBLE;
		v->d = minus ? -INFINITY : INFINITY;
		return BFS_OK;
	}
	digits = p->at;
	n = skip_digits(p);
	if (n == 0 || (n > 1 && p->doc->raw[digits] == '0'))
		return bad(p, "no value");
	if (take_word(p, ".")) {
		whole = false;
		if (!skip_digits(p))
			return bad(p, "a number that breaks off");
	}
	if (peek(p) == 'e' || peek(p) == 'E') {
		whole = false;
		p->at++;
		if (peek(p) == '+' || peek(p) == '-')
			p->at++;
		if (!skip_digits(p))
			return bad(p, "a number that breaks off");
	}
	if (whole && set_whole(v, p->doc->raw + digits, n, minus))
		return BFS_OK;
	return take_double(p, start, v);
}

/* ---- values ----------------------------------------------------------- */

static enum bfs_err take_value(struct parser *p, struct bfs_value **ret_value);

static int compare_keys(const void *pa, const void *pb)
{
	const struct bfs_value *a = *(struct bfs_value *const *)pa;
	const struct bfs_value *b = *(struct bfs_value *const *)pb;
	int c = memcmp(a->key, b->key, bfs_min(a->key_len, b->key_len));

	if (c || a->key_len != b->key_len)
		return c ? c : a->key_len < b->key_len ? -1 : 1;
	return a < b ? -1 : a > b;	/* later ones lie behind */
}

/* Of equal keys the last one counts. */
static enum bfs_err shadow(struct parser *p, struct bfs_value *first,
			   size_t n)
{
	struct bfs_value **list, *v;
	size_t i = 0;

	if (n < 2)
		return BFS_OK;
	list = bfs_alloc(n * sizeof(struct bfs_value *));
	if (!list)
		return bfs_fail(p->diag, BFS_ERR_NOMEM, 0,
				"no memory for JSON");
	for (v = first; i < n; i++) {
		list[i] = v;
		v = p->doc->values + (v->next ? v->next - p->doc->values : 0);
	}
	qsort(list, n, sizeof(struct bfs_value *), compare_keys);
	for (i = 0; i + 1 < n; i++)
		list[i]->shadowed = list[i]->key_len == list[i + 1]->key_len &&
				    !memcmp(list[i]->key, list[i + 1]->key,
					    list[i]->key_len);
	bfs_free(list);
	return BFS_OK;
}

static enum bfs_err take_key(struct parser *p, const char **ret_key,
			     size_t *ret_len)
{
	if (!take_char(p, '"'))
		return bad(p, "no key");
	BFS_TRY(take_string(p, ret_key, ret_len));
	return take_char(p, ':') ? BFS_OK : bad(p, "no colon");
}

/* Behind the bracket. */
static enum bfs_err take_list(struct parser *p, struct bfs_value *v)
{
	bool is_object = v->kind == BFS_VALUE_OBJECT;
	char end = is_object ? '}' : ']';
	struct bfs_value *first = NULL, *last = NULL, *item;
	const char *key = NULL;
	size_t key_len = 0;

	if (++p->depth > BFS_JSON_MAX_DEPTH)
		return bfs_fail(p->diag, BFS_ERR_LIMIT, p->at,
				"more than %d levels in JSON",
				BFS_JSON_MAX_DEPTH);
	if (!take_char(p, end)) {
		do {
			if (is_object)
				BFS_TRY(take_key(p, &key, &key_len));
			BFS_TRY(take_value(p, &item));
			item->key = key;
			item->key_len = key_len;
			if (last)
				last->next = item;
			else
				first = item;
			last = item;
			v->n++;
		} while (take_char(p, ','));
		if (!take_char(p, end))
			return bad(p, "no end of a list");
	}
	v->first = first;
	p->depth--;
	return is_object ? shadow(p, first, v->n) : BFS_OK;
}

static enum bfs_err take_kind(struct parser *p, struct bfs_value *v)
{
	switch (peek(p)) {
	case '{':
	case '[':
		v->kind = peek(p) == '{' ? BFS_VALUE_OBJECT : BFS_VALUE_ARRAY;
		p->at++;
		return take_list(p, v);
	case '"':
		v->kind = BFS_VALUE_STRING;
		p->at++;
		return take_string(p, &v->s.text, &v->s.len);
	case 't':
	case 'f':
		v->kind = BFS_VALUE_BOOL;
		v->truth = peek(p) == 't';
		return take_word(p, v->truth ? "true" : "false") ? BFS_OK :
		       bad(p, "no value");
	case 'n':
		return take_word(p, "null") ? BFS_OK : bad(p, "no value");
	case 'N':
		v->kind = BFS_VALUE_DOUBLE;
		v->d = NAN;
		return take_word(p, "NaN") ? BFS_OK : bad(p, "no value");
	default:
		return take_number(p, v);
	}
}

static enum bfs_err take_value(struct parser *p, struct bfs_value **ret_value)
{
	struct bfs_value *v;
	size_t start;

	skip_blanks(p);
	if (p->doc->n == p->doc->cap)
		return bad(p, "no value");
	v = &p->doc->values[p->doc->n++];
	start = p->at;
	BFS_TRY(take_kind(p, v));
	v->raw = p->doc->raw + start;
	v->raw_len = p->at - start;
	*ret_value = v;
	return BFS_OK;
}

/* ---- the document ----------------------------------------------------- */

/* The most values that a text can have. */
static size_t count_values(const char *text, size_t len)
{
	size_t n = 1, i;

	for (i = 0; i < len; i++)
		n += text[i] == ',' || text[i] == '[' || text[i] == '{';
	return n;
}

static struct bfs_document *new_document(const void *text, size_t len,
					 size_t cap)
{
	struct bfs_document *doc = bfs_zalloc(1, sizeof(*doc) +
					      2 * (len + 1));

	if (!doc)
		return NULL;
	doc->raw = (char *)(doc + 1);
	doc->copy = doc->raw + len + 1;
	doc->len = len;
	if (len)
		memcpy(doc->raw, text, len);
	doc->cap = cap;
	doc->values = bfs_zalloc(doc->cap, sizeof(*doc->values));
	if (!doc->values) {
		bfs_free(doc);
		return NULL;
	}
	return doc;
}

enum bfs_err bfs_json_read(const void *text, size_t len,
			   struct bfs_document **ret_document,
			   struct bfs_diag *diag)
{
	struct parser p = { .diag = diag };
	struct bfs_value *root;
	enum bfs_err err;
	size_t cap;

	cap = len <= BFS_JSON_MAX_LEN ? count_values(text, len) : SIZE_MAX;
	if (cap > MAX_VALUES)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"JSON of %zu bytes has too many parts", len);
	p.doc = new_document(text, len, cap);
	if (!p.doc)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for JSON");
	err = take_value(&p, &root);
	skip_blanks(&p);
	if (err == BFS_OK && p.at < len)
		err = bad(&p, "something behind the end");
	if (err != BFS_OK) {
		bfs_document_free(p.doc);
		return err;
	}
	*ret_document = p.doc;
	return BFS_OK;
}

void bfs_document_free(struct bfs_document *doc)
{
	if (!doc)
		return;
	bfs_free(doc->values);
	bfs_free(doc);
}

const struct bfs_value *bfs_document_root(const struct bfs_document *doc)
{
	return &doc->values[0];
}

const struct bfs_value *bfs_value_get(const struct bfs_value *v,
				      const char *key)
{
	const struct bfs_value *m = bfs_value_is(v, BFS_VALUE_OBJECT) ?
				    v->first : NULL;
	size_t len = strlen(key);

	while (m && (m->shadowed || m->key_len != len ||
		     memcmp(m->key, key, len)))
		m = m->next;
	return m;
}

const struct bfs_value *bfs_value_at(const struct bfs_value *v, size_t i)
{
	const struct bfs_value *item = bfs_value_is(v, BFS_VALUE_ARRAY) ?
				       v->first : NULL;

	while (item && i-- > 0)
		item = item->next;
	return item;
}

char *bfs_value_compact(const struct bfs_value *v, size_t *ret_len)
{
	char *text = bfs_alloc(v->raw_len + 1), *to = text;
	bool quoted = false;
	size_t i;

	if (!text)
		return NULL;
	for (i = 0; i < v->raw_len; i++) {
		char c = v->raw[i];

		if (quoted && c == '\\' && i + 1 < v->raw_len) {
			*to++ = c;
			c = v->raw[++i];
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted && strchr(" \t\r\n", c)) {
			continue;
		}
		*to++ = c;
	}
	*to = '\0';
	*ret_len = (size_t)(to - text);
	return text;
}
