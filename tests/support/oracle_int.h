/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle_int.h - the few helpers that both halves of the oracle need.
 */
#ifndef ORACLE_INT_H
#define ORACLE_INT_H

#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the reason and returns the verdict. */
__attribute__((format(printf, 3, 4)))
static inline enum oracle_verdict fail(char *err, enum oracle_verdict verdict,
				       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, ORACLE_ERR, fmt, ap);
	va_end(ap);
	return verdict;
}

#define BAD(err, ...) fail((err), ORACLE_BAD, __VA_ARGS__)

#define TRY(expr)                                   \
	do {                                        \
		enum oracle_verdict v_ = (expr);    \
		if (v_ != ORACLE_GOOD)              \
			return v_;                  \
	} while (0)

static inline uint64_t get_le(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

static inline uint64_t get_be(const uint8_t *p, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static inline int32_t get_i32(const uint8_t *p)
{
	return (int32_t)(uint32_t)get_le(p, 4);
}

/* Zeroed memory; a test without memory ends. */
static inline void *must_alloc(uint64_t len)
{
	void *p = calloc(1, len ? len : 1);

	if (!p)
		abort();
	return p;
}

#endif
