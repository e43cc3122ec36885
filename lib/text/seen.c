/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.c - characters that are not seen.
 *
 * Unicode's Cc, Zl and Zp, of Cf and of Default_Ignorable_Code_Point what has
 * no looks of its own (selectors of variants, which change those of what is
 * before them, are let through), and noncharacters.
 */
#include "text/seen.h"

#include "base/bytes.h"

#include <stddef.h>

bool bfs_is_seen(uint32_t c)
{
	static const uint32_t unseen[][2] = {
		{ 0x0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad },
		{ 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 }, { 0x180e, 0x180e }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
		{ 0xd800, 0xdfff }, { 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	if (c > 0x10ffff || (c & 0xfffe) == 0xfffe)
		return false;
	for (size_t i = 0; i < BFS_ARRAY_LEN(unseen); i++)
		if (c <= unseen[i][1])
			return c < unseen[i][0];
	return true;
}
