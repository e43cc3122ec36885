/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange.h - one request and its answer: what is sent, and whether what
 * comes back is what was asked for. For transport.c alone; all calls come
 * from its thread.
 */
#ifndef BFS_DAEMON_REMOTE_EXCHANGE_H
#define BFS_DAEMON_REMOTE_EXCHANGE_H

#include "remote/answer.h"
#include "remote/judge.h"
#include "remote/request.h"
#include "remote/wire.h"

struct exchange {
	const struct request *request;
	struct response *response;
	void *owner;		/* what libcurl's CURLINFO_PRIVATE tells */
	int64_t begin_ms;
	struct wire wire;	/* from begin to end */
	uint64_t skipped;	/* bytes of the body until now */
	char text[JUDGE_TEXT_CAP];	/* ... where it tells an error */
	int64_t heard_ms;	/* when bytes came last; 0: none yet */
	long status;		/* of HTTP, while headers come */
	struct answer answer;	/* its headers */
	bool checked;		/* the headers, before the first byte */
};

/* False on no memory. */
bool exchange_begin(struct exchange *x,
		    const struct transport_options *options,
		    struct sockets *sockets);
/* Whether an answer that began has paused for longer than silence_ms; hurry:
 * or one that has not begun. */
bool exchange_is_silent(const struct exchange *x, uint64_t silence_ms,
			bool hurry);
/* Fills the response from libcurl's verdict. */
void exchange_end(struct exchange *x, CURLcode code, bool cancelled);

#endif
