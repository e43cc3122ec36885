/* SPDX-License-Identifier: BSD-3-Clause */
/* strictmarkup.c - see strictmarkup.h. */
#include "support/strictmarkup.h"

#include <stdint.h>
#include <string.h>

#define MOST_DEPTH 64
#define MOST_NAME 32

struct reading {
	const char *at, *end;
	bool is_html;
	const char *why;
	char open[MOST_DEPTH][MOST_NAME];
	size_t depth, n_roots;
};

static bool fail(struct reading *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return false;
}

static bool starts(const struct reading *r, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(r->end - r->at) >= len &&
	       memcmp(r->at, word, len) == 0;
}

static bool take(struct reading *r, const char *word)
{
	if (!starts(r, word))
		return false;
	r->at += strlen(word);
	return true;
}

/* ---- characters ------------------------------------------------------ */

bool strict_is_seen(uint32_t c)
{
	static const uint32_t hidden[][2] = {
		{ 0, 31 }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f },
		{ 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xd800, 0xdfff },
		{ 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i][0] && c <= hidden[i][1])
			return false;
	return c <= 0x10ffff && (c & 0xffff) < 0xfffe;
}

static bool check_characters(struct reading *r)
{
	const uint8_t *p = (const uint8_t *)r->at;
	const uint8_t *end = (const uint8_t *)r->end;

	while (p < end) {
		size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 :
			   p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
		uint32_t c = n == 1 ? p[0] : p[0] & (0xffU >> (n + 1));

		r->at = (const char *)p;
		if (!n || (size_t)(end - p) < n)
			return fail(r, "no UTF-8");
		for (size_t i = 1; i < n; i++) {
			if (p[i] >> 6 != 2)
				return fail(r, "no UTF-8");
			c = c << 6 | (p[i] & 0x3f);
		}
		if ((n == 2 && c < 0x80) || (n == 3 && c < 0x800) ||
		    (n == 4 && c < 0x10000))
			return fail(r, "UTF-8 of too many bytes");
		if (c != '\n' && !strict_is_seen(c))
			return fail(r, "a hidden character");
		p += n;
	}
	return true;
}

/* ---- markup ---------------------------------------------------------- */

static bool is_of(char c, const char *others)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr(others, c));
}

static bool take_entity(struct reading *r)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&#34;",
					     "&#39;", "&quot;" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (take(r, known[i]))
			return true;
	return fail(r, "an & that begins no entity");
}

static bool take_name(struct reading *r, const char *others, char *name)
{
	size_t n = 0;

	while (r->at < r->end && n < MOST_NAME - 1 && is_of(*r->at, others))
		name[n++] = *r->at++;
	name[n] = 0;
	return n > 0 || fail(r, "no name");
}

static bool take_attribute(struct reading *r)
{
	char name[MOST_NAME];
	bool is_address;

	if (!take_name(r, "-:0123456789", name))
		return false;
	if (!strncmp(name, "on", 2))
		return fail(r, "a script in an attribute");
	is_address = !strcmp(name, "href") || !strcmp(name, "src");
	if (!take(r, "=\""))
		return r->is_html || fail(r, "an attribute without a value");
	while (r->at < r->end && *r->at != '"') {
		if (*r->at == '<' || (is_address && *r->at == ':'))
			return fail(r, "what no attribute may have");
		if (*r->at != '&')
			r->at++;
		else if (!take_entity(r))
			return false;
	}
	return take(r, "\"") || fail(r, "an attribute without an end");
}

static bool has_no_end(const struct reading *r, const char *name)
{
	return r->is_html && (!strcmp(name, "meta") || !strcmp(name, "img") ||
			      !strcmp(name, "br"));
}

/* Of HTML: texts of ours that end at a tag alone. */
static bool skip_raw(struct reading *r, const char *name)
{
	const char *end = !strcmp(name, "style") ? "</style>" : "</script>";

	if (!r->is_html || (strcmp(name, "style") && strcmp(name, "script")))
		return true;
	while (r->at < r->end && !starts(r, end))
		r->at++;
	return r->at < r->end || fail(r, "a text without an end");
}

static bool take_begin(struct reading *r)
{
	char name[MOST_NAME];

	if (!take_name(r, "0123456789", name))
		return false;
	while (take(r, " "))
		if (!take_attribute(r))
			return false;
	if (r->depth == 0 && r->n_roots++)
		return fail(r, "a second root");
	if (take(r, "/>"))
		return true;
	if (!take(r, ">"))
		return fail(r, "a tag without an end");
	if (has_no_end(r, name))
		return true;
	if (r->depth == MOST_DEPTH)
		return fail(r, "too deep");
	strcpy(r->open[r->depth++], name);
	return skip_raw(r, name);
}

static bool take_end(struct reading *r)
{
	char name[MOST_NAME];

	if (!take_name(r, "0123456789", name) || !take(r, ">"))
		return fail(r, "an end tag without an end");
	if (r->depth == 0 || strcmp(name, r->open[r->depth - 1]))
		return fail(r, "an end of what is not open");
	r->depth--;
	return true;
}

static bool take_all(struct reading *r)
{
	while (r->at < r->end) {
		if (take(r, "</")) {
			if (!take_end(r))
				return false;
		} else if (take(r, "<")) {
			if (!take_begin(r))
				return false;
		} else if (*r->at == '&') {
			if (!take_entity(r))
				return false;
		} else if (*r->at == '>') {
			return fail(r, "a > of no tag");
		} else if (r->depth == 0 && !strchr(" \n", *r->at)) {
			return fail(r, "text outside of all tags");
		} else {
			r->at++;
		}
	}
	/* The end of a page ends it. */
	if (r->depth == 1 && r->is_html && !strcmp(r->open[0], "html"))
		return true;
	return (r->depth == 0 && r->n_roots == 1) ||
	       fail(r, "a tag is not closed");
}

const char *strict_markup(const char *text, size_t len, bool is_html,
			  size_t *ret_off)
{
	struct reading r = { .at = text, .end = text + len,
			     .is_html = is_html };

	if (check_characters(&r)) {
		r.at = text;
		if (is_html && !take(&r, "<!doctype html>"))
			fail(&r, "no HTML");
		else
			take_all(&r);
	}
	*ret_off = (size_t)(r.at - text);
	return r.why;
}
