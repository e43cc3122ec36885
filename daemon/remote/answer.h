/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.h - the headers of an answer, held against what was asked for.
 */
#ifndef BFS_DAEMON_REMOTE_ANSWER_H
#define BFS_DAEMON_REMOTE_ANSWER_H

#include "remote/request.h"

struct answer {
	const struct request *request;
	struct response *response;	/* what the headers tell goes here */
	bool ranged;		/* Content-Range was there and holds */
	bool coded;		/* Content-Encoding is not identity */
};

/* The headers of each answer on the way, of redirects too: the last count. */
void answer_begin(struct answer *a);
/* One header, which ends without a NUL; others than those that count are
 * passed over. */
void answer_take(struct answer *a, const char *line, size_t len);

#endif
