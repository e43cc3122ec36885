/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.c - headers taken apart; each number in them may be a lie.
 */
#include "remote/answer.h"

#include <ctype.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MOST_RETRY_MS 60000

/* The value of a header called name, without blanks; NULL: it is another. */
static const char *value_of(const char *line, size_t len, const char *name,
			    size_t *ret_len)
{
	size_t n = strlen(name);

	if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
		return NULL;
	line += n + 1;
	len -= n + 1;
	while (len > 0 && isspace((unsigned char)*line)) {
		line++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)line[len - 1]))
		len--;
	*ret_len = len;
	return line;
}

/* "bytes FIRST-LAST/TOTAL": held against what was asked for. */
static void take_range(struct answer *a, const char *value, size_t len)
{
	const struct request *q = a->request;
	struct response *r = a->response;
	uint64_t first, last, total, want;
	char text[96];
	int end = 0;

	/* The last one counts, where there are several. */
	a->ranged = false;
	if (len >= sizeof(text))
		return;
	memcpy(text, value, len);
	text[len] = '\0';
	if (sscanf(text, "bytes */%" SCNu64 "%n", &total, &end) == 1 &&
	    !text[end]) {
		r->total = total;
		return;
	}
	if (sscanf(text, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64 "%n",
		   &first, &last, &total, &end) != 3 || text[end] ||
	    last >= total || first > last)
		return;
	want = q->from_end && total < q->len ? total : q->len;
	if (q->from_end ? last != total - 1 || last - first + 1 != want :
			  first != q->off || last - first >= q->len)
		return;
	if (!q->from_end && last - first + 1 < q->len && last != total - 1)
		return;
	r->off = first;
	r->len = last - first + 1;
	r->total = total;
	a->ranged = true;
}

static void take_retry(struct response *r, const char *value, size_t len)
{
	const int64_t most = MOST_RETRY_MS / 1000;
	char text[64];
	int64_t seconds;

	if (len >= sizeof(text))
		return;
	memcpy(text, value, len);
	text[len] = '\0';
	if (isdigit((unsigned char)*text))
		seconds = len > 6 ? most : (int64_t)atol(text);
	else
		seconds = curl_getdate(text, NULL) - time(NULL);
	if (seconds > 0)
		r->retry_ms = (uint64_t)(seconds < most ? seconds : most) *
			      1000;
}

void answer_begin(struct answer *a)
{
	struct response *r = a->response;

	a->ranged = a->coded = false;
	r->tag[0] = '\0';
	r->modified = r->date = 0;
	r->total = UINT64_MAX;
	r->off = r->len = 0;
	r->retry_ms = 0;
}

static void take_tag(struct response *r, const char *value, size_t len)
{
	if (len >= sizeof(r->tag) || memchr(value, '\0', len))
		return;
	memcpy(r->tag, value, len);
	r->tag[len] = '\0';
}

/* 0: it is none. */
static int64_t date_of(const char *value, size_t len)
{
	char text[64];
	int64_t date;

	if (len >= sizeof(text))
		return 0;
	memcpy(text, value, len);
	text[len] = '\0';
	date = curl_getdate(text, NULL);
	return date > 0 ? date : 0;
}

void answer_take(struct answer *a, const char *line, size_t len)
{
	struct response *r = a->response;
	const char *value;
	size_t n;

	if ((value = value_of(line, len, "etag", &n)))
		take_tag(r, value, n);
	else if ((value = value_of(line, len, "last-modified", &n)))
		r->modified = date_of(value, n);
	else if ((value = value_of(line, len, "date", &n)))
		r->date = date_of(value, n);
	else if ((value = value_of(line, len, "content-range", &n)))
		take_range(a, value, n);
	else if ((value = value_of(line, len, "content-encoding", &n)))
		a->coded = n != 8 || strncasecmp(value, "identity", 8) != 0;
	else if ((value = value_of(line, len, "retry-after", &n)))
		take_retry(r, value, n);
}
