/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange.c - a range asked for, and the answer held against it.
 *
 * A server may lie or err in each number that it sends: bytes are taken only
 * where the answer's own headers say that they are those asked for, and
 * never more of them.
 */
#include "remote/exchange.h"

#include "invariant.h"
#include "remote/clock.h"

#include <string.h>
#include <strings.h>

#define MOST_ERROR_TEXT (64 << 10)

static void refuse(struct exchange *x, enum outcome outcome, const char *why)
{
	judge_refuse(x->response, outcome, why);
}

/* Whether an answer leads elsewhere, where a connection may take its time. */
static bool is_sent_on(const struct exchange *x)
{
	long status = 0;

	curl_easy_getinfo(x->wire.easy, CURLINFO_RESPONSE_CODE, &status);
	return status / 100 == 3;
}

static size_t take_header(char *line, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * n;

	x->heard_ms = remote_now_ms();
	/* What comes behind a body changes nothing any more. */
	if (x->checked)
		return len;
	if (len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		sockets_acknowledge(x->wire.sockets, x->wire.easy);
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

	curl_easy_getinfo(x->wire.easy, CURLINFO_RESPONSE_CODE, &x->status);
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
	    !curl_easy_getinfo(x->wire.easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
			       &len) &&
	    len >= 0 && (uint64_t)len == x->response->len)
		q->progress(q->progress_arg, x->response, x->skipped);
}

static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * n;

	x->heard_ms = remote_now_ms();
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
	/* What buf takes. */
	INVARIANT(x->response->len <= x->request->len);
	memcpy((char *)x->request->buf + x->skipped, bytes, len);
	x->skipped += len;
	tell_progress(x);
	return len;
}

bool exchange_begin(struct exchange *x,
		    const struct transport_options *options,
		    struct sockets *sockets)
{
	CURL *easy;

	x->answer = (struct answer){ .request = x->request,
				     .response = x->response };
	if (!wire_begin(&x->wire, x->request, x->response, options,
			sockets))
		return false;
	easy = x->wire.easy;
	return !curl_easy_setopt(easy, CURLOPT_PRIVATE, x->owner) &&
	       !curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION,
				 take_header) &&
	       !curl_easy_setopt(easy, CURLOPT_HEADERDATA, x) &&
	       !curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body) &&
	       !curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
}

/* libcurl looks at the mean of some seconds, in which a pause hides behind what
 * came fast before it. */
bool exchange_is_silent(const struct exchange *x, uint64_t silence_ms,
			bool hurry)
{
	int64_t since = x->heard_ms || !hurry ? x->heard_ms : x->begin_ms;

	return x->wire.easy && since &&
	       remote_now_ms() - since > (int64_t)silence_ms;
}

static void judge_connection(struct exchange *x, CURLcode code)
{
	long verdict = 0;

	if (x->wire.easy)
		curl_easy_getinfo(x->wire.easy, CURLINFO_SSL_VERIFYRESULT,
				  &verdict);
	judge_code(x->response, code, &(struct judged){
		.status = x->status, .began = x->heard_ms != 0,
		.verdict = verdict, .text = x->wire.error });
}

/* Without the time that a connection took. */
static uint64_t waited_ms(const struct exchange *x)
{
	CURL *easy = x->wire.easy;
	curl_off_t from = 0, to = 0;

	if (!easy ||
	    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &from) ||
	    curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &to) ||
	    to < from)
		return 0;
	return (uint64_t)(to - from) / 1000;
}

/* Of an answer without a body: an empty object, in which no range lies. */
static bool is_empty(struct exchange *x)
{
	curl_easy_getinfo(x->wire.easy, CURLINFO_RESPONSE_CODE, &x->status);
	return x->status == 200 && !x->request->whole && !x->answer.coded;
}

void exchange_end(struct exchange *x, CURLcode code, bool cancelled)
{
	struct response *r = x->response;

	/* What the callbacks refused stays refused. */
	if (cancelled)
		r->outcome = REMOTE_STOPPED;
	else if (r->outcome == REMOTE_OK && code == CURLE_OK && x->wire.easy) {
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
	r->took_ms = (uint64_t)(remote_now_ms() - x->begin_ms);
	wire_end(&x->wire);
}
