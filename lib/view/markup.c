/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * markup.c - hostile texts, and numbers, in XML and HTML.
 */
#include "view/markup.h"

#include "base/bytes.h"
#include "text/seen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NO_CHARACTER 0xfffd

void bfs_markup_put(struct bfs_markup *markup, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(markup->buf + markup->len, markup->cap - markup->len,
			fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= markup->cap - markup->len) {
		markup->buf[markup->len] = 0;
		markup->full = true;
	} else {
		markup->len += (size_t)len;
	}
}

/* ---- text ------------------------------------------------------------ */

/* The character at p and its length; NO_CHARACTER of one byte where there is
 * none: too long a form, a surrogate, beyond Unicode, cut off. */
static uint32_t next_character(const uint8_t *p, size_t left, size_t *ret_len)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	size_t more = p[0] < 0x80 ? 0 : p[0] < 0xc2 ? 4 : p[0] < 0xe0 ? 1 :
		      p[0] < 0xf0 ? 2 : p[0] < 0xf5 ? 3 : 4;
	uint32_t c;

	*ret_len = 1;
	if (more == 0)
		return p[0];
	if (more == 4 || more >= left)
		return NO_CHARACTER;
	c = p[0] & (0x3f >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return NO_CHARACTER;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return NO_CHARACTER;
	*ret_len = more + 1;
	return c;
}

static const char *entity(uint32_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&#34;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void bfs_markup_text(struct bfs_markup *markup, const void *text, size_t len,
		     size_t max_len)
{
	const uint8_t *p = text;
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		uint32_t c = next_character(p + at, len - at, &n);

		if (at + n > max_len) {
			bfs_markup_put(markup, "\xe2\x80\xa6");
			return;
		}
		if (c == NO_CHARACTER || !bfs_is_seen(c))
			bfs_markup_put(markup, "\xef\xbf\xbd");
		else if (entity(c))
			bfs_markup_put(markup, "%s", entity(c));
		else
			bfs_markup_put(markup, "%.*s", (int)n,
				       (const char *)p + at);
	}
}

/* ---- numbers --------------------------------------------------------- */

void bfs_markup_count(struct bfs_markup *markup, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (size_t i = 0; i < len; i++)
		bfs_markup_put(markup, "%s%c",
			       i && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

void bfs_markup_size(struct bfs_markup *markup, uint64_t n)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	uint64_t rest = 0;
	size_t unit = 0;

	for (; n >= 1024; unit++) {
		rest = n % 1024;
		n /= 1024;
	}
	if (unit == 0 || n >= 100)
		bfs_markup_put(markup, "%" PRIu64 " %s", n, units[unit]);
	else
		bfs_markup_put(markup, "%" PRIu64 ".%" PRIu64 " %s", n,
			       rest * 10 / 1024, units[unit]);
}
