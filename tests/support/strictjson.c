/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strictjson.c - see strictjson.h.
 */
#include "support/strictjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] > 0x7f)
			return false;
	return true;
}

struct json_object *strict_json(const char *text, size_t len, int max_depth)
{
	struct json_tokener *tok = json_tokener_new_ex(max_depth);
	int flags = JSON_TOKENER_VALIDATE_UTF8;
	struct json_object *obj;

	assert_non_null(tok);
	/* Where char is signed, json-c 0.18 takes bytes of UTF-8 for control
	 * characters when it is strict. */
	if (is_ascii(text, len))
		flags |= JSON_TOKENER_STRICT;
	json_tokener_set_flags(tok, flags);
	obj = json_tokener_parse_ex(tok, text, (int)len);
	assert_int_equal(json_tokener_get_error(tok), json_tokener_success);
	json_tokener_free(tok);
	return obj;
}
