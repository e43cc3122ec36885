/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sockets.h - the connections of a transport as sockets, which libcurl opens
 * and closes by these. By the transport's thread alone, or while there is none.
 */
#ifndef BFS_DAEMON_REMOTE_SOCKETS_H
#define BFS_DAEMON_REMOTE_SOCKETS_H

#include <curl/curl.h>
#include <stddef.h>

#define MOST_SOCKETS 64

struct sockets {
	struct one_socket {
		curl_socket_t fd;
		int port;	/* of this machine; 0: not known yet */
	} rows[MOST_SOCKETS];
	size_t n;
};

/* CURL_SOCKET_BAD, and errno: there is none. */
curl_socket_t sockets_open(struct sockets *sockets,
			   const struct curl_sockaddr *addr);
/* CURLOPT_CLOSESOCKETFUNCTION; arg is a struct sockets, which lives longer than
 * libcurl's connections do. */
int sockets_close(void *arg, curl_socket_t fd);
/* Tells the server at once that what came of its answer to easy is here. In
 * libcurl's callbacks. */
void sockets_acknowledge(struct sockets *sockets, CURL *easy);

#endif
