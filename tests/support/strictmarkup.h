/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strictmarkup.h - XML and HTML of ours as nobody can misread it.
 */
#ifndef TEST_STRICTMARKUP_H
#define TEST_STRICTMARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is wrong with a text, and where; NULL: nothing. It must be UTF-8
 * without controls (but for ends of lines), marks of direction and what has no
 * width; each tag is closed in its turn (in HTML but for those that have no
 * end), each value of an attribute stands between quotes, each & begins one of
 * a few entities, no attribute is a script, and no address has a scheme. */
const char *strict_markup(const char *text, size_t len, bool is_html,
			  size_t *ret_off);
/* Whether a character may stand in it. */
bool strict_is_seen(uint32_t c);

#endif
