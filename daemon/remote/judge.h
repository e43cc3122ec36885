/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.h - what an answer, or the want of one, means; in words for users.
 */
#ifndef BFS_DAEMON_REMOTE_JUDGE_H
#define BFS_DAEMON_REMOTE_JUDGE_H

#include "remote/request.h"

#include <curl/curl.h>

#define JUDGE_TEXT_CAP 1024

struct judged {
	long status;		/* of HTTP; 0: there was none */
	bool whole, ranged;	/* as in the request; Content-Range holds */
	bool unless;		/* unless_tag or unless_date was sent */
	uint64_t got;		/* bytes of the body */
	bool began;		/* some bytes came */
	long verdict;		/* OpenSSL's on the certificate; 0: good */
	const char *text;	/* of the body of an error; or libcurl's */
};

void judge_refuse(struct response *r, enum outcome outcome, const char *why);
/* Of an answer that came whole. */
void judge_status(struct response *r, const struct judged *j);
/* Of a connection that failed. */
void judge_code(struct response *r, CURLcode code, const struct judged *j);

#endif
