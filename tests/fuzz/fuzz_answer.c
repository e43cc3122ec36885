/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_answer.c - headers of answers: whatever they are, no more is to be taken
 * than was asked for, and nothing from elsewhere.
 */
#include "remote/answer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct request *q, const struct answer *a)
{
	const struct response *r = a->response;

	if (memchr(r->tag, '\0', sizeof(r->tag)) == NULL || r->modified < 0 ||
	    r->retry_ms > 60000)
		abort();
	if (!a->ranged)
		return;
	if (!r->len || r->len > q->len ||
	    (q->from_end ? r->off + r->len != r->total : r->off != q->off))
		abort();
	/* Less than was asked for is all that there is. */
	if (r->len < q->len && r->off + r->len != r->total)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct request requests[] = {
		{ .off = 0, .len = 32768 },
		{ .from_end = true, .len = 32768 },
		{ .off = 1000, .len = 4096 },
		{ .off = UINT64_MAX - 5000, .len = 4096 },
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct response response;
		struct answer answer = { .request = &requests[i],
					 .response = &response };
		const uint8_t *p = data, *end = data + len;

		memset(&response, 0, sizeof(response));
		answer_begin(&answer);
		while (p < end) {
			const uint8_t *line = memchr(p, '\n',
						     (size_t)(end - p));
			size_t n = line ? (size_t)(line + 1 - p) :
					  (size_t)(end - p);

			answer_take(&answer, (const char *)p, n);
			check(&requests[i], &answer);
			p += n;
		}
	}
	return 0;
}
