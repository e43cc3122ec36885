/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_markup.c - any bytes as texts of XML and HTML: what a parser reads back
 * is what was meant, and nothing of it is markup, hidden or turned round.
 */
#include "bloscfs.h"
#include "check/words.h"
#include "support/strictmarkup.h"
#include "view/markup.h"

#include <expat.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 65536
#define BAD "\xef\xbf\xbd"	/* U+FFFD */

/* What a parser found between the tags. */
struct heard {
	char text[ROOM];
	size_t len;
	unsigned n_tags;
};

static char text[ROOM];
static struct heard heard;

static void hear_text(void *arg, const char *s, int len)
{
	struct heard *h = arg;

	assert_true(h->len + (size_t)len < ROOM);
	memcpy(h->text + h->len, s, (size_t)len);
	h->len += (size_t)len;
	h->text[h->len] = 0;
}

static void hear_tag(void *arg, const char *name, const char **values)
{
	struct heard *h = arg;

	(void)name;
	h->n_tags++;
	for (; *values; values += 2)
		hear_text(arg, values[1], (int)strlen(values[1]));
}

static void parse(const char *xml, size_t len)
{
	XML_Parser parser = XML_ParserCreate("UTF-8");
	const char *why;
	size_t off;

	assert_non_null(parser);
	heard.len = 0;
	heard.n_tags = 0;
	XML_SetUserData(parser, &heard);
	XML_SetElementHandler(parser, hear_tag, NULL);
	XML_SetCharacterDataHandler(parser, hear_text);
	if (XML_Parse(parser, xml, (int)len, 1) != XML_STATUS_OK)
		fail_msg("%s: %s", XML_ErrorString(XML_GetErrorCode(parser)),
			 xml);
	XML_ParserFree(parser);
	why = strict_markup(xml, len, false, &off);
	if (why)
		fail_msg("%s at %zu: %s", why, off, xml);
	assert_int_equal(heard.n_tags, 1);
}

/* The text between tags and in an attribute, as a parser reads it. */
static void read_back(const void *bytes, size_t len, size_t max, bool quoted)
{
	struct bfs_markup markup = { .buf = text, .cap = sizeof(text) };

	bfs_markup_put(&markup, quoted ? "<a b=\"" : "<a>");
	bfs_markup_text(&markup, bytes, len, max);
	bfs_markup_put(&markup, quoted ? "\"/>" : "</a>");
	assert_false(markup.full);
	assert_int_equal(strlen(text), markup.len);
	parse(text, markup.len);
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

static void what_markup_is_made_of_is_read_back_as_text(void **state)
{
	static const char hostile[] =
		"</a><script>alert('1 & 2 &lt; \"3\" &amp;')</script>]]>"
		"<!-- --><![CDATA[ x ]]><?php ?>&#60;&unknown;\\";

	(void)state;
	for (int quoted = 0; quoted < 2; quoted++) {
		read_back(hostile, sizeof(hostile) - 1, ROOM, quoted);
		assert_string_equal(heard.text, hostile);
	}
}

/* All planes but the first three have nothing but at their ends. */
static bool is_of_interest(uint32_t from)
{
	return (from < 0xd800 || from >= 0xe000) &&
	       (from < 0x30000 || from >= 0xe0000 ||
		(from & 0xffff) == 0xff00);
}

/* Those of a few at a time, so that each stands beside others. */
static void each_character_is_itself_or_replaced(void **state)
{
	static char given[256 * 4], want[256 * 4];

	(void)state;
	for (uint32_t from = 0; from < 0x110000; from += 256) {
		size_t n = 0, len = 0;

		if (!is_of_interest(from))
			continue;
		for (uint32_t c = from; c < from + 256; c++) {
			n += put_utf8(given + n, c);
			len += put_utf8(want + len,
					strict_is_seen(c) ? c : 0xfffd);
		}
		read_back(given, n, ROOM, false);
		assert_int_equal(heard.len, len);
		assert_memory_equal(heard.text, want, len);
	}
}

static void a_report_spells_what_a_page_replaces(void **state)
{
	char given[8], want[16];

	(void)state;
	for (uint32_t c = 1; c < 0x110000; c++) {
		FILE *out;
		size_t n;

		if (!is_of_interest(c & ~UINT32_C(0xff)))
			continue;
		assert_int_equal(bloscfs_is_seen(c), strict_is_seen(c));
		n = put_utf8(given, c);
		given[n] = '\0';
		if (strict_is_seen(c))
			snprintf(want, sizeof(want), "%s", given);
		else
			snprintf(want, sizeof(want), c < 0x20 || c == 0x7f ?
				 "\\x%02x" : "\\u{%x}", (unsigned)c);
		if (strchr("<>&\"", (int)(c & 0x7f)) && c < 0x80)
			continue;
		out = fmemopen(text, sizeof(text), "w");
		assert_non_null(out);
		words_html(out, given);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(text, want);
	}
}

static void bytes_that_are_no_utf8_are_replaced_one_by_one(void **state)
{
	static const struct {
		const char *bytes, *want;
	} rows[] = {
		{ "\xff", BAD }, { "\x80x", BAD "x" },
		{ "\xc3", BAD }, { "\xc3x", BAD "x" },
		{ "\xc0\xbc", BAD BAD },		/* a long < */
		{ "\xe0\x80\xbc", BAD BAD BAD },
		{ "\xf0\x80\x80\xbc", BAD BAD BAD BAD },
		{ "\xf8\x80\x80\x80\xbc", BAD BAD BAD BAD BAD },
		{ "\xed\xa0\x80", BAD BAD BAD },	/* a surrogate */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD },
		{ "\xe2\x82", BAD BAD }, { "\xe2\x82<", BAD BAD "<" },
		{ "\xf0\x9f\x98&", BAD BAD BAD "&" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int quoted = 0; quoted < 2; quoted++) {
			read_back(rows[i].bytes, strlen(rows[i].bytes), ROOM,
				  quoted);
			assert_string_equal(heard.text, rows[i].want);
		}
}

static uint32_t draw(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

static void any_bytes_are_text_of_any_length(void **state)
{
	uint32_t x = 2463534242;
	uint8_t bytes[64];

	(void)state;
	for (int round = 0; round < 4000; round++) {
		size_t len = draw(&x) % sizeof(bytes);

		/* Many of them are leads and what follows. */
		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)(draw(&x) >> 9 |
					     (round & 1 ? 0x80 : 0));
		read_back(bytes, len, draw(&x) % 70, round & 2);
	}
}

/* Not within a character, and it is told that more came. */
static void a_text_is_cut_between_characters(void **state)
{
	static const char given[] = "a\xc3\xa9\xf0\x9f\x98\x80<";
	static const char *const want[] = {
		"\xe2\x80\xa6", "a\xe2\x80\xa6", "a\xe2\x80\xa6",
		"a\xc3\xa9\xe2\x80\xa6", "a\xc3\xa9\xe2\x80\xa6",
		"a\xc3\xa9\xe2\x80\xa6", "a\xc3\xa9\xe2\x80\xa6",
		"a\xc3\xa9\xf0\x9f\x98\x80\xe2\x80\xa6", given,
	};

	(void)state;
	for (size_t max = 0; max < sizeof(want) / sizeof(*want); max++) {
		read_back(given, sizeof(given) - 1, max, false);
		assert_string_equal(heard.text, want[max]);
	}
}

static void what_does_not_fit_is_said_and_never_written_beyond(void **state)
{
	char buf[24];

	(void)state;
	for (size_t cap = 1; cap < sizeof(buf); cap++) {
		struct bfs_markup markup = { .buf = buf, .cap = cap };

		memset(buf, 'x', sizeof(buf));
		bfs_markup_text(&markup, "&<\xe2\x82\xac", 5, ROOM);
		bfs_markup_count(&markup, 1234567);
		assert_int_equal(markup.full, cap <= 5 + 4 + 3 + 9);
		assert_true(markup.len < cap);
		assert_int_equal(buf[markup.len], 0);
		for (size_t i = cap; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 'x');
	}
}

static void numbers_are_told_as_people_read_them(void **state)
{
	static const struct {
		uint64_t n;
		const char *count, *size;
	} rows[] = {
		{ 0, "0", "0 bytes" }, { 999, "999", "999 bytes" },
		{ 1000, "1,000", "1000 bytes" }, { 1024, "1,024", "1.0 KiB" },
		{ 1535, "1,535", "1.4 KiB" }, { 1536, "1,536", "1.5 KiB" },
		{ 123456789, "123,456,789", "117 MiB" },
		{ UINT64_MAX, "18,446,744,073,709,551,615", "15.9 EiB" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bfs_markup markup = { .buf = text, .cap = ROOM };

		bfs_markup_count(&markup, rows[i].n);
		bfs_markup_put(&markup, ": ");
		bfs_markup_size(&markup, rows[i].n);
		assert_int_equal(strncmp(text, rows[i].count,
					 strlen(rows[i].count)), 0);
		assert_string_equal(strchr(text, ':') + 2, rows[i].size);
	}
}

/* The page of --report writes what is hidden as an escape of its own. */
static void a_report_hides_nothing_and_is_no_markup(void **state)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "<b>&\"'", "<b>&\"'" },
		{ "a\nb\x7f\x01", "a\\x0ab\\x7f\\x01" },
		{ "\xe2\x80\xaegpj.exe", "\\u{202e}gpj.exe" },
		{ "\xef\xbb\xbfx\xc2\xad", "\\u{feff}x\\u{ad}" },
		{ "\xff\xc0\xbc", "\\xff\\xc0\\xbc" },
		{ "\xc3\xa9", "\xc3\xa9" },
	};
	uint32_t x = 88172645;

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		FILE *out = fmemopen(text, sizeof(text), "w");
		char name[40] = { 0 };

		assert_non_null(out);
		for (size_t k = 0; k < 30; k++)
			name[k] = (char)(draw(&x) >> 7);
		fputs("<a>", out);
		words_html(out, i < 6 ? rows[i].name : name);
		fputs("</a>", out);
		assert_int_equal(fclose(out), 0);
		parse(text, strlen(text));
		if (i < 6)
			assert_string_equal(heard.text, rows[i].want);
	}
}

/* What the tests of pages rely on. */
static void what_is_wrong_with_a_text_is_found(void **state)
{
	static const char *const rows[] = {
		"", "x", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x",
		"<a>&</a>", "<a>&nbsp;</a>", "<a>></a>", "<a>< b</a>",
		"<a b=c/>", "<a b=\"<\"/>", "<a b=\"&\"/>", "<a b/>",
		"<a b=\"", "<a", "<a onclick=\"x\"/>",
		"<a href=\"javascript:x\"/>", "<a>\x01</a>", "<a>\t</a>",
		"<a>\xff</a>", "<a>\xc0\xbc</a>", "<a>\xe2\x80\xae</a>",
		"<a>\xe2\x80</a>", "<a>\xed\xa0\x80</a>",
	};
	size_t off;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strict_markup(rows[i], strlen(rows[i]), false, &off))
			fail_msg("taken: %s", rows[i]);
	assert_null(strict_markup("<a b=\"&#34;c\">&lt;<b/>\n</a>\n", 28,
				  false, &off));
	assert_non_null(strict_markup("<a/>", 4, true, &off));
	assert_null(strict_markup("<!doctype html><p hidden><br>x</p>", 34,
				  true, &off));
	assert_non_null(strict_markup("<!doctype html><p><br></p></p>", 30,
				      true, &off));
	assert_non_null(strict_markup("<!doctype html><style>x", 23, true,
				      &off));
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_markup_is_made_of_is_read_back_as_text),
		T(each_character_is_itself_or_replaced),
		T(a_report_spells_what_a_page_replaces),
		T(bytes_that_are_no_utf8_are_replaced_one_by_one),
		T(any_bytes_are_text_of_any_length),
		T(a_text_is_cut_between_characters),
		T(what_does_not_fit_is_said_and_never_written_beyond),
		T(numbers_are_told_as_people_read_them),
		T(a_report_hides_nothing_and_is_no_markup),
		T(what_is_wrong_with_a_text_is_found),
	};

	return cmocka_run_group_tests_name("markup", tests, NULL, NULL);
}
