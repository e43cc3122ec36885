/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * granted.c - a reader of one flat object of JSON; what is nested is passed
 * over.
 */
#include "remote/granted.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_DEPTH 32

struct reader {
	const char *p, *end;
};

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end && strchr(" \t\r\n", *r->p) && *r->p)
		r->p++;
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

/* The four digits of \uXXXX, of which keys need ASCII alone; 0: none. */
static char unicode(struct reader *r)
{
	char digits[5] = "", *end;
	unsigned long code;

	if (r->end - r->p < 4 || !isxdigit((unsigned char)*r->p))
		return '\0';
	memcpy(digits, r->p, 4);
	r->p += 4;
	code = strtoul(digits, &end, 16);
	return !*end && code < 0x80 ? (char)code : '\0';
}

/* A string without what no key holds: NULs and what is not ASCII escaped. */
static int take_string(struct reader *r, char **ret_text)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char *text, *at;
	const char *found;

	if (!take(r, '"'))
		return -EINVAL;
	text = at = malloc((size_t)(r->end - r->p) + 1);
	if (!text)
		return -ENOMEM;
	while (r->p < r->end && *r->p != '"') {
		char c = *r->p++;

		if (c == '\\' && r->p < r->end) {
			c = *r->p++;
			found = c ? strchr(from, c) : NULL;
			c = c == 'u' ? unicode(r) :
			    found ? to[found - from] : '\0';
		}
		if (!c)
			break;
		*at++ = c;
	}
	*at = '\0';
	if (take(r, '"')) {
		*ret_text = text;
		return 0;
	}
	explicit_bzero(text, (size_t)(at - text));
	free(text);
	return -EINVAL;
}

static void forget(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void keys_forget(struct keys *keys)
{
	forget(&keys->id);
	forget(&keys->secret);
	forget(&keys->token);
}

/* A number, a word, an object or an array. Commas and colons are not looked
 * at in what nobody asked for. */
static bool skip_value(struct reader *r)
{
	unsigned depth = 0;
	char *text;

	do {
		skip_blanks(r);
		if (r->p == r->end)
			return false;
		if (*r->p == '"') {
			if (take_string(r, &text))
				return false;
			forget(&text);
		} else if (*r->p == '{' || *r->p == '[') {
			if (++depth > MOST_DEPTH)
				return false;
			r->p++;
		} else if (*r->p == '}' || *r->p == ']') {
			if (!depth--)
				return false;
			r->p++;
		} else if (*r->p == ',' || *r->p == ':') {
			if (!depth)
				return false;
			r->p++;
		} else {
			while (r->p < r->end && *r->p &&
			       !strchr(" \t\r\n,:{}[]\"", *r->p))
				r->p++;
			if (r->p < r->end && !*r->p)
				return false;
		}
	} while (depth);
	return true;
}

/* What is asked for, by name. */
struct found {
	char *id, *secret, *token, *until;
	bool version;
};

static char **place_of(struct found *f, const char *name)
{
	if (strcmp(name, "AccessKeyId") == 0)
		return &f->id;
	if (strcmp(name, "SecretAccessKey") == 0)
		return &f->secret;
	if (strcmp(name, "SessionToken") == 0)
		return &f->token;
	return strcmp(name, "Expiration") == 0 ? &f->until : NULL;
}

static int take_member(struct reader *r, struct found *f)
{
	char *name = NULL, **place;
	int status = take_string(r, &name);

	if (status)
		return status;
	place = place_of(f, name);
	if (!take(r, ':')) {
		status = -EINVAL;
	} else if (strcmp(name, "Version") == 0) {
		f->version = take(r, '1');
		status = f->version ? 0 : -EINVAL;
	} else {
		skip_blanks(r);
		if (place && !*place && r->p < r->end && *r->p == '"')
			status = take_string(r, place);
		else
			status = skip_value(r) ? 0 : -EINVAL;
	}
	forget(&name);
	return status;
}

static int take_object(struct reader *r, struct found *f)
{
	int status;

	if (!take(r, '{'))
		return -EINVAL;
	do {
		status = take_member(r, f);
		if (status)
			return status;
	} while (take(r, ','));
	if (!take(r, '}'))
		return -EINVAL;
	skip_blanks(r);
	return r->p == r->end ? 0 : -EINVAL;
}

/* "2026-11-28T16:20:28Z", or with a fraction, or with +01:00 in place of Z. */
static bool parse_time(const char *text, int64_t *ret_time)
{
	struct tm tm = { 0 };
	int end = 0, hours, minutes, offset = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
		   &end) != 6)
		return false;
	text += end;
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if ((*text == '+' || *text == '-') &&
	    sscanf(text + 1, "%2d:%2d", &hours, &minutes) == 2)
		offset = (hours * 60 + minutes) * (*text == '-' ? -60 : 60);
	else if (strcmp(text, "Z") != 0)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret_time = timegm(&tm) - offset;
	return true;
}

int granted_parse(const char *text, size_t len, struct keys *ret_keys,
		  int64_t *ret_until)
{
	struct reader r = { text, text + len };
	struct found f = { 0 };
	int64_t until = INT64_MAX;
	int status = take_object(&r, &f);

	if (!status && (!f.version || !f.id || !f.secret || !*f.id ||
			!*f.secret || (f.until &&
				       !parse_time(f.until, &until))))
		status = -EINVAL;
	if (!status) {
		*ret_keys = (struct keys){ f.id, f.secret, f.token };
		*ret_until = until;
		f.id = f.secret = f.token = NULL;
	}
	forget(&f.id);
	forget(&f.secret);
	forget(&f.token);
	forget(&f.until);
	return status;
}
