/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.h - a request to a server and what became of it. Plain values.
 */
#ifndef BFS_DAEMON_REMOTE_REQUEST_H
#define BFS_DAEMON_REMOTE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_TAG_CAP 128	/* longer ETags are no identity */
#define REMOTE_WHY_CAP 160

/* Texts are borrowed and outlive the transport. */
struct transport_options {
	uint64_t connect_ms;	/* until a connection stands */
	uint64_t silence_ms;	/* without a byte */
	const char *ca_file;	/* NULL: the system's authorities */
	const char *region;	/* of S3 */
};

struct signer;
struct response;

struct request {
	const char *url;
	bool s3;
	struct signer *signer;	/* NULL: it is not signed; lives as long */
	uint64_t off;		/* the first byte wanted */
	bool from_end;		/* the last len bytes instead */
	bool whole;		/* all of an answer of up to len bytes: a
				 * listing, or an object that may be empty */
	uint64_t len;		/* > 0 */
	const char *if_tag;	/* only where this is the ETag; or NULL */
	int64_t if_date;	/* only where not modified since; 0: any */
	const char *unless_tag;	/* only where this is not the ETag; or NULL */
	int64_t unless_date;	/* only where modified since; 0: any */
	void *buf;		/* takes len */
	/* Told by the transport's thread as bytes of a range come: 0 when the
	 * answer's headers hold and nothing is in buf yet, then how many are.
	 * An answer that fails after all, or is asked for again, begins at 0
	 * anew. Or NULL. */
	void (*progress)(void *arg, const struct response *response,
			 uint64_t got);
	void *progress_arg;
};

/* What became of it. */
enum outcome {
	REMOTE_OK,
	REMOTE_SAME,		/* what unless_tag or unless_date says (304) */
	REMOTE_CHANGED,		/* another object by now (412) */
	REMOTE_ABSENT,		/* 404, 410 */
	REMOTE_DENIED,		/* 401, 403 */
	REMOTE_EXPIRED,		/* the keys were good once */
	REMOTE_BEYOND,		/* nothing lies there (416) */
	REMOTE_REFUSED,		/* the server cannot do it, or lies: why */
	REMOTE_BUSY,		/* worth another try later: why */
	REMOTE_STOPPED,		/* nobody waits for it any more */
};

struct response {
	enum outcome outcome;
	uint64_t off, len;	/* of the bytes in buf */
	uint64_t total;		/* of the object; UINT64_MAX: not told */
	char tag[REMOTE_TAG_CAP];	/* the ETag as sent, "" where none */
	int64_t modified;	/* seconds since 1970; 0: not told */
	int64_t date;		/* ... of the answer */
	long slow_down;		/* the server has too much to do: 429, 503 */
	uint64_t retry_ms;	/* ... and asks for so long a pause */
	uint64_t took_ms;
	uint64_t wait_ms;	/* of these, from the request to the answer */
	char why[REMOTE_WHY_CAP];	/* no secret, no address */
};

#endif
