/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words.c - names and reasons as fields, as JSON and as HTML.
 */
#include "check/words.h"

#include "bloscfs.h"

#include <stdbool.h>
#include <string.h>

#define NO_CHARACTER UINT32_MAX	/* bytes that are no UTF-8 */

/* Takes one character of *text, which is not at its end, or one byte where
 * there is none. */
static uint32_t next_character(const unsigned char **text)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = *text;
	unsigned n_more = *s < 0x80 ? 0 : *s < 0xc0 ? 4 : *s < 0xe0 ? 1 :
			  *s < 0xf0 ? 2 : *s < 0xf8 ? 3 : 4;
	uint32_t c = *s;

	*text = s + 1;
	if (n_more == 0)
		return c;
	if (n_more == 4)
		return NO_CHARACTER;
	c &= 0x3fu >> n_more;
	for (unsigned i = 1; i <= n_more; i++) {
		/* The NUL at the end is none of these. */
		if ((s[i] & 0xc0) != 0x80)
			return NO_CHARACTER;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (c < least[n_more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return NO_CHARACTER;
	*text = s + n_more + 1;
	return c;
}

static bool is_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		if (next_character(&s) == NO_CHARACTER)
			return false;
	}
	return true;
}

void words_field(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\\\", out);
		else if (*text == '\t')
			fputs("\\t", out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			fprintf(out, "\\x%02x", (unsigned)*text);
		else
			putc(*text, out);
	}
}

void words_json(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text, *before;
	uint32_t c;

	putc('"', out);
	while (*s) {
		before = s;
		c = next_character(&s);
		if (c == NO_CHARACTER)
			fputs("\xef\xbf\xbd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (int)c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", (unsigned)c);
		else
			fwrite(before, 1, (size_t)(s - before), out);
	}
	putc('"', out);
}

void words_base64(FILE *out, const void *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = bytes;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned v = (unsigned)s[i] << 16 |
			     (n > 1 ? (unsigned)s[i + 1] << 8 : 0) |
			     (n > 2 ? s[i + 2] : 0);

		putc(digits[v >> 18], out);
		putc(digits[v >> 12 & 63], out);
		putc(n > 1 ? digits[v >> 6 & 63] : '=', out);
		putc(n > 2 ? digits[v & 63] : '=', out);
	}
}

void words_json_path(FILE *out, const char *path)
{
	fputs("\"path\": ", out);
	words_json(out, path);
	if (is_utf8(path))
		return;
	fputs(", \"path_base64\": \"", out);
	words_base64(out, path, strlen(path));
	putc('"', out);
}

void words_html(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text, *before;
	uint32_t c;

	while (*s) {
		before = s;
		c = next_character(&s);
		if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c == NO_CHARACTER)
			fprintf(out, "\\x%02x", (unsigned)*before);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\x%02x", (unsigned)c);
		else if (!bloscfs_is_seen(c))
			fprintf(out, "\\u{%x}", (unsigned)c);
		else
			fwrite(before, 1, (size_t)(s - before), out);
	}
}
