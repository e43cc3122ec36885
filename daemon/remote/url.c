/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.c - addresses taken apart, and S3's made into HTTP's.
 */
#include "remote/url.h"

#include "remote/percent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const schemes[] = { "https://", "http://", "s3://" };

static const char *after_scheme(const char *source, size_t *ret_which)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i]);

		if (strncasecmp(source, schemes[i], len) == 0) {
			*ret_which = i;
			return source + len;
		}
	}
	return NULL;
}

bool url_is(const char *source)
{
	size_t which;

	return after_scheme(source, &which) != NULL;
}

bool url_is_other(const char *source)
{
	size_t len = strspn(source, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return len > 0 && strncmp(source + len, "://", 3) == 0 &&
	       !url_is(source);
}

__attribute__((format(printf, 3, 4)))
static int refuse(char *error, size_t error_cap, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, error_cap, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* Bytes that the path of a request may hold as they are; "/" divides. */
static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || strchr("-._~/", c);
}

char *url_encode(const char *text, bool slash)
{
	char *coded = malloc(3 * strlen(text) + 1), *to = coded;

	if (!coded)
		return NULL;
	for (; *text; text++) {
		if (is_plain((unsigned char)*text) &&
		    !(slash && *text == '/'))
			*to++ = *text;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*text);
	}
	*to = '\0';
	return coded;
}

/* The last component of a path, before any query; to be freed. %XX are
 * bytes, but for those that no file name holds. */
static char *last_component(const char *path, bool coded)
{
	size_t len = coded ? strcspn(path, "?#") : strlen(path), from = len;
	char *name = malloc(len + 1), *to = name;

	if (!name)
		return NULL;
	while (from > 0 && path[from - 1] != '/')
		from--;
	for (size_t i = from; i < len; i++) {
		int byte = coded && path[i] == '%' && i + 2 < len ?
			   percent_byte(path + i) : -1;

		*to++ = byte > 0 && byte != '/' ? (char)byte : path[i];
		i += byte > 0 && byte != '/' ? 2 : 0;
	}
	*to = '\0';
	return name;
}

static int parse_http(const char *source, const char *rest,
		      struct url *url, char *error, size_t error_cap)
{
	size_t host = strcspn(rest, "/?#");
	int shown = (int)strcspn(source, "?");	/* secrets may follow */

	if (memchr(rest, '@', host))
		return refuse(error, error_cap, "an address with a user or "
			      "password in it is not taken; put them into "
			      "~/.netrc");
	if (host == 0 || rest[host] != '/' || !rest[host + 1])
		return refuse(error, error_cap, "'%.*s' names no file on a "
			      "server; give the address of one, or of several "
			      "in a catalog=", shown, source);
	if (strchr(rest, '#'))
		return refuse(error, error_cap, "'%.*s' holds a #, which no "
			      "server is told of; write it as %%23", shown,
			      source);
	url->http = strdup(source);
	url->name = last_component(rest + host, true);
	return url->http && url->name ? 0 : -ENOMEM;
}

/* A bucket's name is part of a host's name or of a path. */
static bool is_bucket(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!is_plain((unsigned char)text[i]) || text[i] == '/' ||
		    text[i] == '~')
			return false;
	}
	return len >= 1 && len <= 255;
}

/* The bucket's address, without a "/" at its end; to be freed. */
static char *address_bucket(const char *bucket, int len,
			    const struct url_s3 *s3)
{
	int end = s3->endpoint ? (int)strlen(s3->endpoint) : 0, done;
	char *to = NULL;

	while (end > 0 && s3->endpoint[end - 1] == '/')
		end--;
	if (s3->endpoint)
		done = asprintf(&to, "%.*s/%.*s", end, s3->endpoint, len,
				bucket);
	else if (!memchr(bucket, '.', (size_t)len))
		done = asprintf(&to, "https://%.*s.s3.%s.amazonaws.com", len,
				bucket, s3->region);
	else
		/* A dot in a host's name would need another certificate. */
		done = asprintf(&to, "https://s3.%s.amazonaws.com/%.*s",
				s3->region, len, bucket);
	return done < 0 ? NULL : to;
}

static int parse_s3(const char *source, const char *rest,
		    const struct url_s3 *s3, struct url *url, char *error,
		    size_t error_cap)
{
	size_t bucket = strcspn(rest, "/");
	const char *key = rest[bucket] ? rest + bucket + 1 : "";
	char *coded, *address;

	if (strlen(rest) > 4096 || !is_bucket(rest, bucket))
		return refuse(error, error_cap, "'%s' names no bucket that "
			      "could exist", source);
	url->s3 = true;
	url->name = last_component(rest, false);
	address = address_bucket(rest, (int)bucket, s3);
	if (!*key || key[strlen(key) - 1] == '/') {
		url->prefix = strdup(key);
		url->http = address;
		return url->http && url->name && url->prefix ? 0 : -ENOMEM;
	}
	coded = url_encode(key, false);
	if (address && coded && asprintf(&url->http, "%s/%s", address,
					 coded) < 0)
		url->http = NULL;
	free(address);
	free(coded);
	return url->http && url->name ? 0 : -ENOMEM;
}

int url_parse(const char *source, const struct url_s3 *s3,
	      struct url *ret_url, char *error, size_t error_cap)
{
	struct url url = { 0 };
	size_t which = 0;
	const char *rest = after_scheme(source, &which);
	int status;

	if (!rest)
		return refuse(error, error_cap, "'%s' is no address", source);
	for (const char *p = source; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return refuse(error, error_cap, "an address holds no "
				      "control bytes");
	}
	status = which == 2 ?
		 parse_s3(source, rest, s3, &url, error, error_cap) :
		 parse_http(source, rest, &url, error, error_cap);
	if (status)
		url_release(&url);
	else
		*ret_url = url;
	return status;
}

void url_release(struct url *url)
{
	free(url->http);
	free(url->name);
	free(url->prefix);
	*url = (struct url){ 0 };
}
