/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * number.c - what an item is as a number.
 */
#include "view/preview/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

static uint64_t load(const uint8_t *p, unsigned n, bool big)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[big ? n - 1 - i : i] << 8 * i;
	return v;
}

static double half(uint64_t bits)
{
	unsigned exponent = bits >> 10 & 31;
	double fraction = (double)(bits & 1023), v;

	if (exponent == 31)
		v = fraction != 0 ? (double)NAN : (double)INFINITY;
	else if (exponent == 0)
		v = fraction / (1 << 24);
	else
		v = (1024 + fraction) * (1 << exponent) / (1 << 25);
	return bits >> 15 ? -v : v;
}

static double real(const uint8_t *p, unsigned size, bool big)
{
	uint64_t bits = load(p, size, big);
	uint32_t low = (uint32_t)bits;
	double wide;
	float narrow;

	if (size == 2)
		return half(bits);
	if (size == 4) {
		memcpy(&narrow, &low, sizeof(narrow));
		return (double)narrow;
	}
	memcpy(&wide, &bits, sizeof(wide));
	return wide;
}

static double magnitude(double a, double b)
{
	double large = a < 0 ? -a : a, small = b < 0 ? -b : b, square, root;

	if (isnan(a) || isnan(b))
		return (double)NAN;
	if (large < small) {
		root = large;
		large = small;
		small = root;
	}
	if (!(large > 0 && large <= DBL_MAX))
		return large;
	small /= large;
	square = 1 + small * small;	/* from 1 to 2 */
	root = 1.2;
	for (unsigned i = 0; i < 5; i++)	/* Newton's way */
		root = (root + square / root) / 2;
	return large * root;
}

double bfs_preview_number(const struct bfs_plain *plain, const uint8_t *item)
{
	unsigned size = plain->size;
	uint64_t bits;

	switch (plain->kind) {
	case 'c':
		return magnitude(real(item, size / 2, plain->big),
				 real(item + size / 2, size / 2, plain->big));
	case 'f':
		return real(item, size, plain->big);
	case 'i':
		bits = load(item, size, plain->big);
		if (bits >> (8 * size - 1))	/* negative */
			return -(double)(~(bits - 1) &
					 UINT64_MAX >> (64 - 8 * size));
		return (double)bits;
	default:
		return (double)load(item, size, plain->big);
	}
}
