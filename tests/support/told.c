/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/told.h"

#include <ctype.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A number, and no longer one. */
static bool has(const char *text, const char *word, uint64_t n)
{
	char phrase[48];
	size_t len = (size_t)snprintf(phrase, sizeof(phrase), "%s %" PRIu64,
				      word, n);

	for (; (text = strstr(text, phrase)); text += len)
		if (!isalnum((unsigned char)text[len]))
			return true;
	return false;
}

static bool has_twins(const char *text)
{
	const char *from = text, *colon;

	for (; (colon = strstr(from, ": ")); from = colon + 2) {
		size_t len = (size_t)(colon - from);

		if (len > 2 && !strncmp(colon + 2, from, len))
			return true;
	}
	return false;
}

bool told_once(const char *text, int64_t chunk, uint64_t off)
{
	return !(chunk >= 0 && has(text, "chunk", (uint64_t)chunk)) &&
	       !has(text, "byte", off) &&
	       !has_twins(text);
}

void expect_told(const struct bloscfs_diag *why)
{
	if (!why->text[0] || !told_once(why->text, why->chunk, why->off))
		fail_msg("chunk %lld, byte %llu: '%s'", (long long)why->chunk,
			 (unsigned long long)why->off, why->text);
}
