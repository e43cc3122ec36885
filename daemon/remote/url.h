/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.h - SOURCE as an address: https://, http:// or s3://BUCKET/KEY; or a
 * tree of objects: s3://BUCKET, s3://BUCKET/PREFIX/.
 */
#ifndef BFS_DAEMON_REMOTE_URL_H
#define BFS_DAEMON_REMOTE_URL_H

#include <stdbool.h>
#include <stddef.h>

struct url {
	char *http;	/* what is asked for, of HTTP; owned. Of a tree: the
			 * bucket, without a "/" at the end */
	char *name;	/* its last component, as a file's name; owned */
	bool s3;	/* requests are signed as S3 wants it */
	char *prefix;	/* of a tree: "" or ending in "/", as bytes; owned.
			 * NULL: one object */
};

/* Where S3 answers. Texts are borrowed; endpoint NULL: Amazon's of the
 * region. */
struct url_s3 {
	const char *endpoint, *region;
};

/* Whether SOURCE is an address and no path. */
bool url_is(const char *source);
/* Whether it looks like one of another kind, which no path need be. */
bool url_is_other(const char *source);
/* What is said of such a one. */
#define URL_OTHER "is no address that bloscfs reads; give one of https://, " \
		  "http:// or s3://, or a path"
/* 0, -ENOMEM, or -EINVAL with one sentence in error. An address that holds a
 * user or password is refused: it would show in tables of processes. */
int url_parse(const char *source, const struct url_s3 *s3,
	      struct url *ret_url, char *error, size_t error_cap);
void url_release(struct url *url);

/* text with each byte as %XX that no path of a request holds as it is, and
 * "/" too if wanted; to be freed. NULL on no memory. */
char *url_encode(const char *text, bool slash);

#endif
