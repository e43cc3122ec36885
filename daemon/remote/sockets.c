/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sockets.c - which socket a request went over, by its port on this machine:
 * libcurl tells no socket before an answer is over.
 */
#include "remote/sockets.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

curl_socket_t sockets_open(struct sockets *s, const struct curl_sockaddr *addr)
{
	curl_socket_t fd = socket(addr->family, addr->socktype | SOCK_CLOEXEC,
				  addr->protocol);

	/* One that is not noted is acknowledged as the kernel likes. */
	if (fd >= 0 && s->n < MOST_SOCKETS)
		s->rows[s->n++] = (struct one_socket){ fd, 0 };
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

int sockets_close(void *arg, curl_socket_t fd)
{
	struct sockets *s = arg;

	for (size_t i = 0; i < s->n; i++) {
		if (s->rows[i].fd == fd) {
			s->rows[i] = s->rows[--s->n];
			break;
		}
	}
	return close(fd);
}

static int port_of(curl_socket_t fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, &addr.any, &len))
		return 0;
	if (addr.any.sa_family == AF_INET)
		return ntohs(addr.in.sin_port);
	return addr.any.sa_family == AF_INET6 ? ntohs(addr.in6.sin6_port) : 0;
}

/* A server that sends the head of an answer for itself may wait with the rest
 * until that has arrived (Nagle), which a kernel tells some 40 ms later unless
 * it is asked to, each time. */
void sockets_acknowledge(struct sockets *s, CURL *easy)
{
	long port = 0;

	if (curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &port) || port <= 0)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct one_socket *row = &s->rows[i];

		if (!row->port)
			row->port = port_of(row->fd);
		if (row->port == port)
			setsockopt(row->fd, IPPROTO_TCP, TCP_QUICKACK,
				   &(int){ 1 }, sizeof(int));
	}
}
