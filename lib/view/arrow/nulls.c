/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nulls.c - which stored values stand for none.
 */
#include "view/arrow/nulls.h"

#include <string.h>

/* All bits of the exponent, and some of the fraction. */
static bool is_nan(const struct bfs_arrow_type *type, uint64_t v)
{
	unsigned fraction = type->src == 2 ? 10 : type->src == 4 ? 23 : 52;
	uint64_t sign = UINT64_C(1) << (8 * type->src - 1);

	v &= ~sign;
	return v > (sign - 1) - ((UINT64_C(1) << fraction) - 1);
}

static bool is_none(const struct bfs_arrow_nulls *nulls,
		    const struct bfs_arrow_type *type, const uint8_t *p)
{
	switch (nulls->rule) {
	case BFS_ARROW_ALL:
	case BFS_ARROW_MARKED:
		return false;
	case BFS_ARROW_NAT:
		return bfs_arrow_load(type, p) == (uint64_t)INT64_MIN;
	case BFS_ARROW_NAN:
		return is_nan(type, bfs_arrow_load(type, p));
	case BFS_ARROW_NEGATIVE:
		return bfs_arrow_load(type, p) >> (8 * type->src - 1);
	case BFS_ARROW_SAME:
		return memcmp(p, nulls->same, type->src) == 0;
	}
	return false;
}

bool bfs_arrow_is_there(const struct bfs_arrow_nulls *nulls,
			const struct bfs_arrow_type *type, const uint8_t *from,
			uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (!is_none(nulls, type, from + i * type->src))
			return true;
	return false;
}
