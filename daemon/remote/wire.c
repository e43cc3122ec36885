/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.c - a request as libcurl is told it.
 */
#include "remote/wire.h"

#include "remote/judge.h"
#include "remote/signer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define MOST_REDIRECTS 5
#define SLOWEST 16384		/* bytes a second over a whole answer */

/* Addresses that answer with secrets of the machine itself, wherever a name
 * or a redirect leads. */
static bool is_forbidden(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)addr;

		return ntohl(in->sin_addr.s_addr) >> 16 == 0xa9fe;
	}
	if (addr->sa_family == AF_INET6) {
		static const uint8_t metadata[16] = {
			0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54
		};
		const uint8_t *b =
			((const struct sockaddr_in6 *)(const void *)addr)
				->sin6_addr.s6_addr;

		return (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) ||
		       memcmp(b, metadata, 16) == 0 ||
		       (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)b) &&
			b[12] == 169 && b[13] == 254);
	}
	return true;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose,
				 struct curl_sockaddr *addr)
{
	struct wire *w = arg;

	(void)purpose;
	if (is_forbidden(&addr->addr)) {
		judge_refuse(w->response, REMOTE_REFUSED, "it leads to an "
			     "address of this machine's own, where nothing is "
			     "asked for");
		return CURL_SOCKET_BAD;
	}
	return sockets_open(w->sockets, addr);
}

static bool add_header(struct wire *w, const char *line)
{
	struct curl_slist *grown = curl_slist_append(w->headers, line);

	if (grown)
		w->headers = grown;
	return grown;
}

static bool add_date(struct wire *w, const char *name, int64_t date)
{
	char line[80], text[48];
	time_t when = (time_t)date;
	struct tm tm;

	if (!gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return false;
	snprintf(line, sizeof(line), "%s: %s", name, text);
	return add_header(w, line);
}

/* Of what is known already. */
static bool add_unless(struct wire *w)
{
	const struct request *q = w->request;
	char line[REMOTE_TAG_CAP + 32];

	if (!q->unless_tag)
		return !q->unless_date ||
		       add_date(w, "If-Modified-Since", q->unless_date);
	snprintf(line, sizeof(line), "If-None-Match: %s", q->unless_tag);
	return add_header(w, line);
}

static bool add_headers(struct wire *w)
{
	const struct request *q = w->request;
	char line[REMOTE_TAG_CAP + 32];

	if (!add_header(w, "Accept-Encoding: identity"))
		return false;
	/* A weak tag never matches by the rules of If-Match; it is compared
	 * when the answer comes. */
	if (q->if_tag && strncmp(q->if_tag, "W/", 2) != 0) {
		snprintf(line, sizeof(line), "If-Match: %s", q->if_tag);
		if (!add_header(w, line))
			return false;
	} else if (q->if_date &&
		   !add_date(w, "If-Unmodified-Since", q->if_date)) {
		return false;
	}
	if (!add_unless(w))
		return false;
	return !q->s3 ||
	       add_header(w, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
}

/* libcurl keeps copies of all texts but the list of headers. */
static bool take_keys(void *arg, const struct keys *keys)
{
	struct wire *w = arg;
	char line[4096];
	bool done;

	if (curl_easy_setopt(w->easy, CURLOPT_USERNAME, keys->id) ||
	    curl_easy_setopt(w->easy, CURLOPT_PASSWORD, keys->secret))
		return false;
	if (!keys->token)
		return true;
	done = snprintf(line, sizeof(line), "x-amz-security-token: %s",
			keys->token) < (int)sizeof(line) &&
	       add_header(w, line);
	explicit_bzero(line, sizeof(line));
	return done;
}

static bool sign(struct wire *w,
		 const struct transport_options *options)
{
	char provider[96];

	if (!w->request->signer)
		return true;
	snprintf(provider, sizeof(provider), "aws:amz:%s:s3",
		 options->region);
	return !curl_easy_setopt(w->easy, CURLOPT_AWS_SIGV4, provider) &&
	       signer_use(w->request->signer, take_keys, w);
}

static bool set_limits(struct wire *w,
		       const struct transport_options *options)
{
	uint64_t silence = (options->silence_ms + 999) / 1000;
	uint64_t whole = options->connect_ms + options->silence_ms +
			 w->request->len * 1000 / SLOWEST;

	return !curl_easy_setopt(w->easy, CURLOPT_CONNECTTIMEOUT_MS,
				 (long)options->connect_ms) &&
	       !curl_easy_setopt(w->easy, CURLOPT_LOW_SPEED_LIMIT, 1L) &&
	       !curl_easy_setopt(w->easy, CURLOPT_LOW_SPEED_TIME,
				 (long)silence) &&
	       !curl_easy_setopt(w->easy, CURLOPT_TIMEOUT_MS, (long)whole);
}

static bool is_secure(const struct request *q)
{
	return strncasecmp(q->url, "https:", 6) == 0;
}

/* Which protocols, and whom it may be sent on to: never from a secure one to
 * one that is not, and no signed request anywhere. */
static bool set_ways(struct wire *w,
		     const struct transport_options *options)
{
	bool secure = is_secure(w->request);

	return !curl_easy_setopt(w->easy, CURLOPT_PROTOCOLS_STR,
				 "http,https") &&
	       !curl_easy_setopt(w->easy, CURLOPT_REDIR_PROTOCOLS_STR,
				 secure ? "https" : "http,https") &&
	       !curl_easy_setopt(w->easy, CURLOPT_FOLLOWLOCATION,
				 w->request->s3 ? 0L : 1L) &&
	       !curl_easy_setopt(w->easy, CURLOPT_MAXREDIRS,
				 (long)MOST_REDIRECTS) &&
	       !curl_easy_setopt(w->easy, CURLOPT_DISALLOW_USERNAME_IN_URL,
				 1L) &&
	       !curl_easy_setopt(w->easy, CURLOPT_OPENSOCKETFUNCTION,
				 open_socket) &&
	       !curl_easy_setopt(w->easy, CURLOPT_OPENSOCKETDATA, w) &&
	       !curl_easy_setopt(w->easy, CURLOPT_CLOSESOCKETFUNCTION,
				 sockets_close) &&
	       !curl_easy_setopt(w->easy, CURLOPT_CLOSESOCKETDATA,
				 w->sockets) &&
	       !curl_easy_setopt(w->easy, CURLOPT_NETRC, w->request->s3 ?
				 (long)CURL_NETRC_IGNORED :
				 (long)CURL_NETRC_OPTIONAL) &&
	       (!options->ca_file ||
		!curl_easy_setopt(w->easy, CURLOPT_CAINFO,
				  options->ca_file));
}

/* A key may hold "..", which leads nowhere in a store. libcurl keeps it where
 * it is given the address in parts; told to leave paths as they are, its newer
 * versions sign nothing. */
static bool set_url(struct wire *w)
{
	const char *url = w->request->url;

	w->url = curl_url();
	if (!w->url)
		return false;
	if (curl_url_set(w->url, CURLUPART_URL, url,
			 CURLU_PATH_AS_IS | CURLU_DISALLOW_USER))
		/* It tells what is wrong with it. */
		return !curl_easy_setopt(w->easy, CURLOPT_URL, url);
	return !curl_easy_setopt(w->easy, CURLOPT_CURLU, w->url);
}

static bool set_request(struct wire *w)
{
	const struct request *q = w->request;
	char range[64];

	if (q->from_end)
		snprintf(range, sizeof(range), "-%" PRIu64, q->len);
	else
		snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64,
			 q->off, q->off + q->len - 1);
	return set_url(w) &&
	       !curl_easy_setopt(w->easy, CURLOPT_RANGE,
				 q->whole ? NULL : range) &&
	       !curl_easy_setopt(w->easy, CURLOPT_NOSIGNAL, 1L) &&
#if LIBCURL_VERSION_NUM >= 0x075700
	       /* Else giving one up waits for its name server, and all others
		* with it. */
	       !curl_easy_setopt(w->easy, CURLOPT_QUICK_EXIT, 1L) &&
#endif
	       !curl_easy_setopt(w->easy, CURLOPT_BUFFERSIZE, 262144L) &&
	       !curl_easy_setopt(w->easy, CURLOPT_USERAGENT,
				 "bloscfs/" BLOSCFS_VERSION) &&
	       !curl_easy_setopt(w->easy, CURLOPT_ERRORBUFFER, w->error) &&
	       !curl_easy_setopt(w->easy, CURLOPT_HTTP_VERSION,
				 (long)CURL_HTTP_VERSION_2TLS) &&
	       /* Only a secure connection may turn out to be one for all. */
	       !curl_easy_setopt(w->easy, CURLOPT_PIPEWAIT,
				 is_secure(q) ? 1L : 0L);
}

bool wire_begin(struct wire *w, const struct request *request,
		struct response *response,
		const struct transport_options *options,
		struct sockets *sockets)
{
	*w = (struct wire){ .request = request, .response = response,
			    .sockets = sockets };
	w->easy = curl_easy_init();
	return w->easy && set_request(w) && set_ways(w, options) &&
	       set_limits(w, options) && add_headers(w) &&
	       sign(w, options) &&
	       !curl_easy_setopt(w->easy, CURLOPT_HTTPHEADER, w->headers);
}

void wire_end(struct wire *w)
{
	curl_easy_cleanup(w->easy);
	curl_url_cleanup(w->url);
	curl_slist_free_all(w->headers);
	w->easy = NULL;
	w->url = NULL;
	w->headers = NULL;
}
