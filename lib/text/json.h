/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - a strict JSON writer: what it produces is always valid UTF-8 and
 * well-formed, whatever the bytes were.
 *
 * Calls nest: begin/end an object or array, a key before each value inside
 * an object. Commas, indentation (two spaces) and escapes are its business.
 * The first failed allocation, or growing beyond max_len, sets `err`; later
 * calls do nothing.
 */
#ifndef BFS_TEXT_JSON_H
#define BFS_TEXT_JSON_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_JSON_DEPTH 64

struct bfs_json {
	char *buf;		/* owned; NUL-terminated once not NULL */
	size_t len;
	size_t cap;
	size_t max_len;		/* LIMIT beyond */
	enum bfs_err err;
	unsigned depth;
	uint8_t is_array[BFS_JSON_DEPTH];
	uint8_t is_inline[BFS_JSON_DEPTH];
	uint8_t filled[BFS_JSON_DEPTH];
	bool after_key;
	bool ascii;		/* all else as \uXXXX; set it after init */
	bool one_line;		/* no line breaks inside; set it after init */
};

/* max_len 0: 64 MiB. */
void bfs_json_init(struct bfs_json *json, size_t max_len);
void bfs_json_release(struct bfs_json *json);

void bfs_json_object(struct bfs_json *json);
void bfs_json_object_inline(struct bfs_json *json); /* on one line */
void bfs_json_object_end(struct bfs_json *json);
void bfs_json_array(struct bfs_json *json);
void bfs_json_array_inline(struct bfs_json *json); /* on one line */
void bfs_json_array_end(struct bfs_json *json);
/* Invalid UTF-8 becomes U+FFFD, in keys and in strings. */
void bfs_json_key(struct bfs_json *json, const char *key);
void bfs_json_key_n(struct bfs_json *json, const void *key, size_t len);
void bfs_json_string(struct bfs_json *json, const char *text);
void bfs_json_string_n(struct bfs_json *json, const void *text, size_t len);
void bfs_json_u64(struct bfs_json *json, uint64_t v);
void bfs_json_i64(struct bfs_json *json, int64_t v);
/* NaN and infinities become the strings "NaN", "Infinity", "-Infinity". */
void bfs_json_double(struct bfs_json *json, double v);
void bfs_json_bool(struct bfs_json *json, bool v);
void bfs_json_null(struct bfs_json *json);
/* The object {"base64": "..."}. */
void bfs_json_base64(struct bfs_json *json, const void *p, size_t len);

/* The base64 digits of p as a plain string value. */
void bfs_json_base64_text(struct bfs_json *json, const void *p, size_t len);

/* Whether all of text is valid UTF-8. */
bool bfs_json_is_utf8(const void *text, size_t len) BFS_MUST_CHECK;

/* Writes JSON from a file as a value; text that is no JSON as {"base64"}. The
 * values of keys in `redact` (NULL-terminated list, may be NULL) become
 * "(redacted)". */
enum bfs_err bfs_json_embed(const void *text, size_t len,
			    const char *const *redact,
			    struct bfs_json *json) BFS_MUST_CHECK;

/* Ends the text with a newline; hands over the buffer (bfs_free). */
enum bfs_err bfs_json_finish(struct bfs_json *json, char **ret_text,
			     size_t *ret_len) BFS_MUST_CHECK;

#endif
