/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listing.c - ListBucketResult as entries.
 *
 * What counts: Contents/Key, Size, ETag, LastModified;
 * CommonPrefixes/Prefix; NextContinuationToken.
 */
#include "remote/listing.h"

#include "remote/percent.h"

#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_DEPTH 16
#define TEXT_CAP 8192		/* a key has 1,024 bytes, each as %XX */
#define MOST_ENTRIES 100000	/* of one page; S3 sends 1,000 */

enum where { ELSEWHERE, IN_CONTENTS, IN_PREFIXES };

struct reader {
	XML_Parser parser;
	const char *folder;
	size_t folder_len;
	struct page page;
	size_t cap;
	unsigned depth;
	enum where where;
	char text[TEXT_CAP];
	size_t text_len;
	char key[TEXT_CAP];
	struct listed entry;
	int status;
	const char *why;
};

static void stop(struct reader *r, int status, const char *why)
{
	if (!r->status) {
		r->status = status;
		r->why = why;
	}
	XML_StopParser(r->parser, XML_FALSE);
}

static void on_doctype(void *arg, const XML_Char *name, const XML_Char *sysid,
		       const XML_Char *pubid, int internal)
{
	(void)name;
	(void)sysid;
	(void)pubid;
	(void)internal;
	stop(arg, -EIO, "the listing declares a document type");
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **atts)
{
	struct reader *r = arg;

	(void)atts;
	r->text_len = 0;
	if (++r->depth > MOST_DEPTH)
		stop(r, -EIO, "the listing is nested too deeply");
	else if (r->depth == 1 && strcmp(name, "ListBucketResult") != 0)
		stop(r, -EIO, "the answer is no listing of a bucket");
	if (r->depth != 2)
		return;
	r->entry = (struct listed){ 0 };
	r->key[0] = '\0';
	r->where = strcmp(name, "Contents") == 0 ? IN_CONTENTS :
		   strcmp(name, "CommonPrefixes") == 0 ? IN_PREFIXES :
		   ELSEWHERE;
}

static void on_text(void *arg, const XML_Char *text, int len)
{
	struct reader *r = arg;

	if (len < 0 || (size_t)len >= sizeof(r->text) - r->text_len) {
		stop(r, -EIO, "the listing holds a text that is too long");
		return;
	}
	memcpy(r->text + r->text_len, text, (size_t)len);
	r->text_len += (size_t)len;
}

/* %XX and + are bytes; false where a NUL is among them. */
static bool decode(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int byte = *p == '%' ? percent_byte(p) : -1;

		if (byte == 0)
			return false;
		if (byte > 0) {
			*to++ = (char)byte;
			p += 2;
		} else {
			*to++ = *p == '+' ? ' ' : *p;
		}
	}
	*to = '\0';
	return true;
}

/* The entry's name, where the key lies right below the folder. */
static const char *name_of(struct reader *r, bool is_folder)
{
	size_t len = strlen(r->key);
	char *name = r->key + r->folder_len;

	if (len <= r->folder_len ||
	    memcmp(r->key, r->folder, r->folder_len) != 0)
		return NULL;
	if (is_folder) {
		if (r->key[len - 1] != '/')
			return NULL;
		r->key[len - 1] = '\0';
	}
	/* Between two slashes lies a folder without a name. */
	return (*name || is_folder) && !strchr(name, '/') ? name : NULL;
}

static bool grow(struct reader *r)
{
	size_t cap = r->cap ? 2 * r->cap : 64;
	struct listed *grown;

	if (r->page.n < r->cap)
		return true;
	grown = realloc(r->page.entries, cap * sizeof(*grown));
	if (!grown)
		return false;
	r->page.entries = grown;
	r->cap = cap;
	return true;
}

static void add(struct reader *r, bool is_folder)
{
	const char *name = decode(r->key) ? name_of(r, is_folder) : NULL;

	if (!name)
		return;
	if (r->page.n == MOST_ENTRIES) {
		stop(r, -EIO, "the listing has too many entries");
		return;
	}
	r->entry.is_folder = is_folder;
	r->entry.name = grow(r) ? strdup(name) : NULL;
	if (r->entry.name)
		r->page.entries[r->page.n++] = r->entry;
	else
		stop(r, -ENOMEM, "no memory");
}

/* "2026-11-28T16:20:28.000Z" */
static int64_t date_of(const char *text)
{
	struct tm tm = { 0 };

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return timegm(&tm);
}

static void take_field(struct reader *r, const char *name)
{
	struct listed *e = &r->entry;
	char *end;

	if (strcmp(name, "Key") == 0 || strcmp(name, "Prefix") == 0) {
		memcpy(r->key, r->text, r->text_len + 1);
	} else if (strcmp(name, "Size") == 0) {
		errno = 0;
		e->size = strtoull(r->text, &end, 10);
		if (errno || *end || end == r->text)
			stop(r, -EIO, "the listing tells no size of an "
			     "object");
	} else if (strcmp(name, "LastModified") == 0) {
		e->modified = date_of(r->text);
	} else if (strcmp(name, "ETag") == 0 &&
		   r->text_len < sizeof(e->tag)) {
		memcpy(e->tag, r->text, r->text_len + 1);
	}
}

static void on_end(void *arg, const XML_Char *name)
{
	struct reader *r = arg;

	r->text[r->text_len] = '\0';
	if (r->depth == 3 && r->where != ELSEWHERE)
		take_field(r, name);
	else if (r->depth == 2 && r->where != ELSEWHERE)
		add(r, r->where == IN_PREFIXES);
	else if (r->depth == 2 && !r->page.next && r->text_len &&
		 strcmp(name, "NextContinuationToken") == 0)
		r->page.next = strdup(r->text);
	r->text_len = 0;
	r->depth--;
}

int listing_parse(const char *xml, size_t len, const char *folder,
		  struct page *ret_page, char *why)
{
	struct reader *r = calloc(1, sizeof(*r));
	int status;

	if (!r)
		return -ENOMEM;
	r->folder = folder;
	r->folder_len = strlen(folder);
	r->parser = XML_ParserCreate("UTF-8");
	if (!r->parser || len > LISTING_CAP) {
		status = r->parser ? -EIO : -ENOMEM;
		XML_ParserFree(r->parser);
		free(r);
		strcpy(why, "the listing is too long");
		return status;
	}
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, on_start, on_end);
	XML_SetCharacterDataHandler(r->parser, on_text);
	XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
	if (XML_Parse(r->parser, xml, (int)len, 1) != XML_STATUS_OK &&
	    !r->status) {
		r->status = -EIO;
		r->why = "the listing is no XML";
	}
	status = r->status;
	if (status) {
		snprintf(why, REMOTE_WHY_CAP, "%s", r->why);
		listing_release(&r->page);
	} else {
		*ret_page = r->page;
	}
	XML_ParserFree(r->parser);
	free(r);
	return status;
}

void listing_release(struct page *page)
{
	for (size_t i = 0; i < page->n; i++)
		free(page->entries[i].name);
	free(page->entries);
	free(page->next);
	*page = (struct page){ 0 };
}
