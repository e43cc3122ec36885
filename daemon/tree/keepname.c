/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepname.c - see keepname.h.
 */
#include "tree/keepname.h"

#include <stdio.h>
#include <string.h>

#define SUFFIX ".d"
#define MARK "%~"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t keep_suffix(const char *name, unsigned *ret_number)
{
	size_t len = strlen(name), end = len;
	unsigned number = 0;

	while (end > 0 && len - end < 2 && is_digit(name[end - 1]))
		end--;
	for (size_t i = end; i < len; i++)
		number = 10 * number + (unsigned)(name[i] - '0');
	if (end == len || end < 2 || memcmp(name + end - 2, MARK, 2) ||
	    name[end] == '0' || number < 2) {
		number = 1;
		end = len;
	} else {
		end -= 2;
	}
	if (end < 3 || memcmp(name + end - 2, SUFFIX, 2))
		return 0;
	/* "." and ".." are nobody's names. */
	if (name[0] == '.' && (end == 3 || (end == 4 && name[1] == '.')))
		return 0;
	*ret_number = number;
	return len - end + 2;
}

bool keep_make_name(const char *name, unsigned number,
		    char ret_dir[NAME_MAX + 1])
{
	int len = number == 1 ?
		  snprintf(ret_dir, NAME_MAX + 1, "%s%s", name, SUFFIX) :
		  snprintf(ret_dir, NAME_MAX + 1, "%s%s%s%u", name, SUFFIX,
			   MARK, number);

	return len > 0 && len <= NAME_MAX;
}
