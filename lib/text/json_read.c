/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_read.c - the parser of JSON.
 *
 * Strings are decoded in a copy of the text (json_token.h). A second copy stays
 * as the text was. Each value but the first follows a comma or a bracket, so
 * counting those bounds the number of values.
 */
#include "text/json_read.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/json_token.h"

#include <math.h>
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

struct parser {
	struct bfs_document *doc;
	struct bfs_json_at at;
	unsigned depth;
};

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
		return bfs_fail(p->at.diag, BFS_ERR_NOMEM, 0,
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
	if (!bfs_json_take_char(&p->at, '"'))
		return bfs_json_bad(&p->at, "no key");
	BFS_TRY(bfs_json_take_string(&p->at, ret_key, ret_len));
	return bfs_json_take_char(&p->at, ':') ? BFS_OK :
	       bfs_json_bad(&p->at, "no colon");
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
		return bfs_fail(p->at.diag, BFS_ERR_LIMIT, p->at.at,
				"more than %d levels in JSON",
				BFS_JSON_MAX_DEPTH);
	if (!bfs_json_take_char(&p->at, end)) {
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
		} while (bfs_json_take_char(&p->at, ','));
		if (!bfs_json_take_char(&p->at, end))
			return bfs_json_bad(&p->at, "no end of a list");
	}
	v->first = first;
	p->depth--;
	return is_object ? shadow(p, first, v->n) : BFS_OK;
}

static enum bfs_err expect_word(struct parser *p, const char *word)
{
	return bfs_json_take_word(&p->at, word) ? BFS_OK :
	       bfs_json_bad(&p->at, "no value");
}

static enum bfs_err take_number(struct parser *p, struct bfs_value *v)
{
	struct bfs_json_number number;

	BFS_TRY(bfs_json_take_number(&p->at, &number));
	switch (number.kind) {
	case BFS_JSON_INT:
		v->kind = BFS_VALUE_INT;
		v->i = number.i;
		break;
	case BFS_JSON_UINT:
		v->kind = BFS_VALUE_UINT;
		v->u = number.u;
		break;
	case BFS_JSON_DOUBLE:
		v->kind = BFS_VALUE_DOUBLE;
		v->d = number.d;
		break;
	}
	return BFS_OK;
}

static enum bfs_err take_kind(struct parser *p, struct bfs_value *v)
{
	switch (bfs_json_peek(&p->at)) {
	case '{':
	case '[':
		v->kind = bfs_json_peek(&p->at) == '{' ? BFS_VALUE_OBJECT :
			  BFS_VALUE_ARRAY;
		p->at.at++;
		return take_list(p, v);
	case '"':
		v->kind = BFS_VALUE_STRING;
		p->at.at++;
		return bfs_json_take_string(&p->at, &v->s.text, &v->s.len);
	case 't':
	case 'f':
		v->kind = BFS_VALUE_BOOL;
		v->truth = bfs_json_peek(&p->at) == 't';
		return expect_word(p, v->truth ? "true" : "false");
	case 'n':
		return expect_word(p, "null");
	case 'N':
		v->kind = BFS_VALUE_DOUBLE;
		v->d = NAN;
		return expect_word(p, "NaN");
	default:
		return take_number(p, v);
	}
}

static enum bfs_err take_value(struct parser *p, struct bfs_value **ret_value)
{
	struct bfs_value *v;
	size_t start;

	bfs_json_skip_blanks(&p->at);
	if (p->doc->n == p->doc->cap)
		return bfs_json_bad(&p->at, "no value");
	v = &p->doc->values[p->doc->n++];
	start = p->at.at;
	BFS_TRY(take_kind(p, v));
	v->raw = p->at.raw + start;
	v->raw_len = p->at.at - start;
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
	struct parser p = { .doc = NULL };
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
	p.at = (struct bfs_json_at){
		.raw = p.doc->raw, .copy = p.doc->copy, .len = len,
		.diag = diag,
	};
	err = take_value(&p, &root);
	bfs_json_skip_blanks(&p.at);
	if (err == BFS_OK && p.at.at < len)
		err = bfs_json_bad(&p.at, "something behind the end");
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
