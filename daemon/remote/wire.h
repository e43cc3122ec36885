/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.h - a request as libcurl is told it: where it goes, what it says, and
 * how long it may take.
 */
#ifndef BFS_DAEMON_REMOTE_WIRE_H
#define BFS_DAEMON_REMOTE_WIRE_H

#include "remote/request.h"
#include "remote/sockets.h"

#include <curl/curl.h>

struct wire {
	CURL *easy;		/* from begin to end */
	CURLU *url;		/* its address, in parts */
	struct curl_slist *headers;
	struct sockets *sockets;	/* where its own is noted */
	const struct request *request;
	struct response *response;	/* refused where it leads astray */
	char error[CURL_ERROR_SIZE];	/* libcurl's words */
};

/* False on no memory; to be ended in any case. w, request and response stay
 * where they are until then, sockets for longer than libcurl's connections. */
bool wire_begin(struct wire *w, const struct request *request,
		struct response *response,
		const struct transport_options *options,
		struct sockets *sockets);
void wire_end(struct wire *w);

#endif
