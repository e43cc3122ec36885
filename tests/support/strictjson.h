/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strictjson.h - JSON of ours as a reader of others takes it.
 */
#ifndef TEST_STRICTJSON_H
#define TEST_STRICTJSON_H

#include <json-c/json.h>
#include <stddef.h>

/* Parses len bytes of text as strictly as json-c can: what is not JSON, or not
 * UTF-8, or nested deeper than max_depth fails the test. The caller releases
 * the result. */
struct json_object *strict_json(const char *text, size_t len, int max_depth);

#endif
