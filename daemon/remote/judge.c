/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.c - statuses of HTTP and libcurl's codes as outcomes.
 */
#include "remote/judge.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void judge_refuse(struct response *r, enum outcome outcome, const char *why)
{
	r->outcome = outcome;
	snprintf(r->why, sizeof(r->why), "%.*s", REMOTE_WHY_CAP - 1, why);
}

/* The word in <Code> of an error of S3, of letters alone; "" where none is. */
static void find_code(const char *text, char *code, size_t cap)
{
	const char *from = strstr(text, "<Code>");
	size_t n = 0;

	code[0] = '\0';
	if (!from)
		return;
	from += strlen("<Code>");
	while (n < cap - 1 && isalpha((unsigned char)from[n]))
		n++;
	if (strncmp(from + n, "</Code>", 7) != 0)
		return;
	memcpy(code, from, n);
	code[n] = '\0';
}

/* Words of S3 for keys that were good once. */
static bool is_expired(const char *code)
{
	static const char *const codes[] = {
		"ExpiredToken", "ExpiredTokenException", "InvalidToken",
		"TokenRefreshRequired",
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (strcmp(code, codes[i]) == 0)
			return true;
	}
	return false;
}

static enum outcome outcome_of(long status)
{
	switch (status) {
	case 401:
	case 403:
		return REMOTE_DENIED;
	case 404:
	case 410:
		return REMOTE_ABSENT;
	case 412:
		return REMOTE_CHANGED;
	case 416:
		return REMOTE_BEYOND;
	case 408:
	case 425:
	case 429:
		return REMOTE_BUSY;
	default:
		return status >= 500 ? REMOTE_BUSY : REMOTE_REFUSED;
	}
}

void judge_status(struct response *r, const struct judged *j)
{
	char code[40];

	if (j->whole && j->status == 200) {
		r->len = j->got;
		return;
	}
	if (j->status == 200 && !j->got) {
		/* All of an object in which no range can lie. */
		r->outcome = REMOTE_BEYOND;
		r->total = 0;
		return;
	}
	if (j->status == 206) {
		if (j->got == r->len && j->ranged)
			r->outcome = REMOTE_OK;
		else
			judge_refuse(r, REMOTE_BUSY, "the answer was cut "
				     "short");
		return;
	}
	if (j->status == 304 && j->unless) {
		r->outcome = REMOTE_SAME;
		return;
	}
	if (j->status == 429 || j->status == 503)
		r->slow_down = j->status;
	find_code(j->text, code, sizeof(code));
	snprintf(r->why, sizeof(r->why), "the server says %ld%s%s", j->status,
		 *code ? ", " : "", code);
	r->outcome = is_expired(code) ? REMOTE_EXPIRED :
					outcome_of(j->status);
}

/* why: what libcurl says. */
static void refuse_certificate(struct response *r, const struct judged *j,
			       const char *why)
{
	char text[REMOTE_WHY_CAP];
	/* OpenSSL's: no authority that we know stands behind it. */
	bool stranger = j->verdict >= 18 && j->verdict <= 21;

	snprintf(text, sizeof(text), "its certificate is not trusted%s: %s",
		 stranger ? " (ca_file= names other authorities)" : "", why);
	judge_refuse(r, REMOTE_REFUSED, text);
}

/* What libcurl says may hold names of hosts, but no secret. */
void judge_code(struct response *r, CURLcode code, const struct judged *j)
{
	const char *why = j->text[0] ? j->text : curl_easy_strerror(code);

	if (code == CURLE_TOO_MANY_REDIRECTS)
		judge_refuse(r, REMOTE_REFUSED, "it is sent on too often");
	else if (code == CURLE_UNSUPPORTED_PROTOCOL && j->status)
		judge_refuse(r, REMOTE_REFUSED, "it is sent on to another "
			     "protocol, which is not followed");
	else if (code == CURLE_UNSUPPORTED_PROTOCOL)
		/* libcurl's word for an answer without headers. */
		judge_refuse(r, REMOTE_REFUSED, "what answers does not speak "
			     "HTTP");
	else if (code == CURLE_OPERATION_TIMEDOUT && j->began)
		judge_refuse(r, REMOTE_BUSY, "the server fell silent in the "
			     "midst of its answer");
	else if (code == CURLE_OPERATION_TIMEDOUT)
		judge_refuse(r, REMOTE_BUSY, "there is no answer in time");
	else if (code == CURLE_PEER_FAILED_VERIFICATION)
		refuse_certificate(r, j, why);
	else if (code == CURLE_SSL_CACERT_BADFILE)
		judge_refuse(r, REMOTE_REFUSED, "ca_file cannot be read, or "
			     "holds no certificates (PEM)");
	else if (code == CURLE_URL_MALFORMAT || code == CURLE_LOGIN_DENIED)
		judge_refuse(r, REMOTE_REFUSED, why);
	else
		judge_refuse(r, REMOTE_BUSY, why);
}
