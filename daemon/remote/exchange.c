/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange.c - a range asked for, and the answer held against it.
 *
 * A server may lie or err in each number that it sends: bytes are taken only
 * where the answer's own headers say that they are those asked for, and
 * never more of them.
 */
#include "remote/exchange.h"

#include "remote/judge.h"
#include "remote/signer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_REDIRECTS 5
#define MOST_ERROR_TEXT (64 << 10)
#define SLOWEST 16384		/* bytes a second over a whole answer */

static void refuse(struct exchange *x, enum outcome outcome, const char *why)
{
	judge_refuse(x->response, outcome, why);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether an answer leads elsewhere, where a connection may take its time. */
static bool is_sent_on(const struct exchange *x)
{
	long status = 0;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	return status / 100 == 3;
}

static size_t take_header(char *line, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * n;

	x->heard_ms = now_ms();
	/* What comes behind a body changes nothing any more. */
	if (x->checked)
		return len;
	if (len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		answer_begin(&x->answer);
		x->status = 1;
		x->skipped = 0;
		memset(x->text, 0, sizeof(x->text));
	} else if (len <= 2 && is_sent_on(x)) {
		x->heard_ms = 0;
	} else {
		answer_take(&x->answer, line, len);
	}
	return len;
}

/* Before the first byte of a body is taken. */
static bool is_as_asked(struct exchange *x)
{
	const struct request *q = x->request;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->status);
	if (x->status < 200 || x->status >= 300)
		return true;
	if (q->whole && x->status == 200 && !x->answer.coded) {
		x->response->len = q->len;
		return true;
	}
	if (x->status != 206)
		refuse(x, REMOTE_REFUSED, "the server sends whole files where "
		       "a range is asked for; bloscfs needs one that serves "
		       "ranges");
	else if (x->answer.coded)
		refuse(x, REMOTE_REFUSED, "the server compresses what it "
		       "sends, although asked not to");
	else if (!x->answer.ranged)
		refuse(x, REMOTE_REFUSED, "the server sends another range "
		       "than the one asked for");
	else if (q->if_tag && strcmp(q->if_tag, x->response->tag) != 0)
		refuse(x, REMOTE_CHANGED, "it is another object by now");
	else
		return true;
	return false;
}

/* The beginning of what a server says about an error. */
static void keep_text(struct exchange *x, const char *bytes, size_t len)
{
	size_t left = sizeof(x->text) - 1;

	left -= x->skipped < left ? x->skipped : left;
	memcpy(x->text + sizeof(x->text) - 1 - left, bytes,
	       len < left ? len : left);
}

/* Of an answer that is as long as it says. */
static void tell_progress(const struct exchange *x)
{
	const struct request *q = x->request;
	curl_off_t len = -1;

	if (q->progress && x->status == 206 &&
	    !curl_easy_getinfo(x->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
			       &len) &&
	    len >= 0 && (uint64_t)len == x->response->len)
		q->progress(q->progress_arg, x->response, x->skipped);
}

static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * n;

	x->heard_ms = now_ms();
	if (!x->checked) {
		if (!is_as_asked(x))
			return CURL_WRITEFUNC_ERROR;
		x->checked = true;
		tell_progress(x);
	}
	if (x->status != 206 && !(x->request->whole && x->status == 200)) {
		keep_text(x, bytes, len);
		x->skipped += len;
		return x->skipped <= MOST_ERROR_TEXT ? len :
						       CURL_WRITEFUNC_ERROR;
	}
	if (len > x->response->len - x->skipped) {
		refuse(x, REMOTE_REFUSED, "the server sends more than it "
		       "announced");
		return CURL_WRITEFUNC_ERROR;
	}
	memcpy((char *)x->request->buf + x->skipped, bytes, len);
	x->skipped += len;
	tell_progress(x);
	return len;
}

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
	struct exchange *x = arg;

	(void)purpose;
	if (is_forbidden(&addr->addr)) {
		refuse(x, REMOTE_REFUSED, "it leads to an address of this "
		       "machine's own, where nothing is asked for");
		return CURL_SOCKET_BAD;
	}
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC,
		      addr->protocol);
}

static bool add_header(struct exchange *x, const char *line)
{
	struct curl_slist *grown = curl_slist_append(x->headers, line);

	if (grown)
		x->headers = grown;
	return grown;
}

static bool add_date(struct exchange *x, const char *name, int64_t date)
{
	char line[80], text[48];
	time_t when = (time_t)date;
	struct tm tm;

	if (!gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return false;
	snprintf(line, sizeof(line), "%s: %s", name, text);
	return add_header(x, line);
}

/* Of what is known already. */
static bool add_unless(struct exchange *x)
{
	const struct request *q = x->request;
	char line[REMOTE_TAG_CAP + 32];

	if (!q->unless_tag)
		return !q->unless_date ||
		       add_date(x, "If-Modified-Since", q->unless_date);
	snprintf(line, sizeof(line), "If-None-Match: %s", q->unless_tag);
	return add_header(x, line);
}

static bool add_headers(struct exchange *x)
{
	const struct request *q = x->request;
	char line[REMOTE_TAG_CAP + 32];

	if (!add_header(x, "Accept-Encoding: identity"))
		return false;
	/* A weak tag never matches by the rules of If-Match; it is compared
	 * when the answer comes. */
	if (q->if_tag && strncmp(q->if_tag, "W/", 2) != 0) {
		snprintf(line, sizeof(line), "If-Match: %s", q->if_tag);
		if (!add_header(x, line))
			return false;
	} else if (q->if_date &&
		   !add_date(x, "If-Unmodified-Since", q->if_date)) {
		return false;
	}
	if (!add_unless(x))
		return false;
	return !q->s3 ||
	       add_header(x, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
}

/* libcurl keeps copies of all texts but the list of headers. */
static bool take_keys(void *arg, const struct keys *keys)
{
	struct exchange *x = arg;
	char line[4096];
	bool done;

	if (curl_easy_setopt(x->easy, CURLOPT_USERNAME, keys->id) ||
	    curl_easy_setopt(x->easy, CURLOPT_PASSWORD, keys->secret))
		return false;
	if (!keys->token)
		return true;
	done = snprintf(line, sizeof(line), "x-amz-security-token: %s",
			keys->token) < (int)sizeof(line) &&
	       add_header(x, line);
	explicit_bzero(line, sizeof(line));
	return done;
}

static bool sign(struct exchange *x,
		 const struct transport_options *options)
{
	char provider[96];

	if (!x->request->signer)
		return true;
	snprintf(provider, sizeof(provider), "aws:amz:%s:s3",
		 options->region);
	return !curl_easy_setopt(x->easy, CURLOPT_AWS_SIGV4, provider) &&
	       signer_use(x->request->signer, take_keys, x);
}

static bool set_limits(struct exchange *x,
		       const struct transport_options *options)
{
	uint64_t silence = (options->silence_ms + 999) / 1000;
	uint64_t whole = options->connect_ms + options->silence_ms +
			 x->request->len * 1000 / SLOWEST;

	return !curl_easy_setopt(x->easy, CURLOPT_CONNECTTIMEOUT_MS,
				 (long)options->connect_ms) &&
	       !curl_easy_setopt(x->easy, CURLOPT_LOW_SPEED_LIMIT, 1L) &&
	       !curl_easy_setopt(x->easy, CURLOPT_LOW_SPEED_TIME,
				 (long)silence) &&
	       !curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, (long)whole);
}

static bool is_secure(const struct request *q)
{
	return strncasecmp(q->url, "https:", 6) == 0;
}

/* Which protocols, and whom it may be sent on to: never from a secure one to
 * one that is not, and no signed request anywhere. */
static bool set_ways(struct exchange *x,
		     const struct transport_options *options)
{
	bool secure = is_secure(x->request);

	return !curl_easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR,
				 "http,https") &&
	       !curl_easy_setopt(x->easy, CURLOPT_REDIR_PROTOCOLS_STR,
				 secure ? "https" : "http,https") &&
	       !curl_easy_setopt(x->easy, CURLOPT_FOLLOWLOCATION,
				 x->request->s3 ? 0L : 1L) &&
	       !curl_easy_setopt(x->easy, CURLOPT_MAXREDIRS,
				 (long)MOST_REDIRECTS) &&
	       !curl_easy_setopt(x->easy, CURLOPT_DISALLOW_USERNAME_IN_URL,
				 1L) &&
	       !curl_easy_setopt(x->easy, CURLOPT_OPENSOCKETFUNCTION,
				 open_socket) &&
	       !curl_easy_setopt(x->easy, CURLOPT_OPENSOCKETDATA, x) &&
	       !curl_easy_setopt(x->easy, CURLOPT_NETRC, x->request->s3 ?
				 (long)CURL_NETRC_IGNORED :
				 (long)CURL_NETRC_OPTIONAL) &&
	       (!options->ca_file ||
		!curl_easy_setopt(x->easy, CURLOPT_CAINFO,
				  options->ca_file));
}

static bool set_request(struct exchange *x)
{
	const struct request *q = x->request;
	char range[64];

	if (q->from_end)
		snprintf(range, sizeof(range), "-%" PRIu64, q->len);
	else
		snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64,
			 q->off, q->off + q->len - 1);
	return !curl_easy_setopt(x->easy, CURLOPT_URL, q->url) &&
	       !curl_easy_setopt(x->easy, CURLOPT_RANGE,
				 q->whole ? NULL : range) &&
	       !curl_easy_setopt(x->easy, CURLOPT_PRIVATE, x->owner) &&
	       !curl_easy_setopt(x->easy, CURLOPT_NOSIGNAL, 1L) &&
#if LIBCURL_VERSION_NUM >= 0x075700
	       /* Else giving one up waits for its name server, and all others
		* with it. */
	       !curl_easy_setopt(x->easy, CURLOPT_QUICK_EXIT, 1L) &&
#endif
	       /* A key may hold "..", which leads nowhere in a store. */
	       !curl_easy_setopt(x->easy, CURLOPT_PATH_AS_IS, 1L) &&
	       !curl_easy_setopt(x->easy, CURLOPT_BUFFERSIZE, 262144L) &&
	       !curl_easy_setopt(x->easy, CURLOPT_USERAGENT,
				 "bloscfs/" BLOSCFS_VERSION) &&
	       !curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->error) &&
	       !curl_easy_setopt(x->easy, CURLOPT_HTTP_VERSION,
				 (long)CURL_HTTP_VERSION_2TLS) &&
	       /* Only a secure connection may turn out to be one for all. */
	       !curl_easy_setopt(x->easy, CURLOPT_PIPEWAIT,
				 is_secure(q) ? 1L : 0L) &&
	       !curl_easy_setopt(x->easy, CURLOPT_HEADERFUNCTION,
				 take_header) &&
	       !curl_easy_setopt(x->easy, CURLOPT_HEADERDATA, x) &&
	       !curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION,
				 take_body) &&
	       !curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
}

bool exchange_begin(struct exchange *x,
		    const struct transport_options *options)
{
	x->answer = (struct answer){ .request = x->request,
				     .response = x->response };
	x->easy = curl_easy_init();
	return x->easy && set_request(x) && set_ways(x, options) &&
	       set_limits(x, options) && add_headers(x) &&
	       sign(x, options) &&
	       !curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
}

/* libcurl looks at the mean of some seconds, in which a pause hides behind what
 * came fast before it. */
bool exchange_is_silent(const struct exchange *x, uint64_t silence_ms,
			bool hurry)
{
	int64_t since = x->heard_ms || !hurry ? x->heard_ms : x->begin_ms;

	return x->easy && since && now_ms() - since > (int64_t)silence_ms;
}

static void judge_connection(struct exchange *x, CURLcode code)
{
	long verdict = 0;

	if (x->easy)
		curl_easy_getinfo(x->easy, CURLINFO_SSL_VERIFYRESULT,
				  &verdict);
	judge_code(x->response, code, &(struct judged){
		.status = x->status, .began = x->heard_ms != 0,
		.verdict = verdict, .text = x->error });
}

/* Without the time that a connection took. */
static uint64_t waited_ms(const struct exchange *x)
{
	curl_off_t from = 0, to = 0;

	if (!x->easy ||
	    curl_easy_getinfo(x->easy, CURLINFO_PRETRANSFER_TIME_T, &from) ||
	    curl_easy_getinfo(x->easy, CURLINFO_STARTTRANSFER_TIME_T, &to) ||
	    to < from)
		return 0;
	return (uint64_t)(to - from) / 1000;
}

/* Of an answer without a body: an empty object, in which no range lies. */
static bool is_empty(struct exchange *x)
{
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->status);
	return x->status == 200 && !x->request->whole && !x->answer.coded;
}

void exchange_end(struct exchange *x, CURLcode code, bool cancelled)
{
	struct response *r = x->response;

	/* What the callbacks refused stays refused. */
	if (cancelled)
		r->outcome = REMOTE_STOPPED;
	else if (r->outcome == REMOTE_OK && code == CURLE_OK && x->easy) {
		/* An answer without a body was never held against it. */
		if (x->checked || is_empty(x) || is_as_asked(x))
			judge_status(r, &(struct judged){
				.whole = x->request->whole,
				.status = x->status, .got = x->skipped,
				.ranged = x->answer.ranged, .text = x->text,
				.unless = x->request->unless_tag ||
					  x->request->unless_date });
	} else if (r->outcome == REMOTE_OK) {
		judge_connection(x, code);
	}
	if (r->outcome != REMOTE_OK)
		r->len = 0;
	r->wait_ms = waited_ms(x);
	r->took_ms = (uint64_t)(now_ms() - x->begin_ms);
	curl_easy_cleanup(x->easy);
	curl_slist_free_all(x->headers);
	x->easy = NULL;
	x->headers = NULL;
}
