/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words.h - names and reasons, which may hold any bytes, as part of what is
 * printed: a field of a line, a string of JSON, text of a page of HTML.
 */
#ifndef BFS_DAEMON_CHECK_WORDS_H
#define BFS_DAEMON_CHECK_WORDS_H

#include <stdint.h>
#include <stdio.h>

/* A field between tabs: a backslash, a tab, a line end and other control bytes
 * are spelt. */
void words_field(FILE *out, const char *text);
/* With its quotes. What is no UTF-8 becomes U+FFFD. */
void words_json(FILE *out, const char *text);
/* The members "path" and, where it is no UTF-8, "path_base64" of an object. */
void words_json_path(FILE *out, const char *path);
void words_base64(FILE *out, const void *bytes, size_t len);
/* Between tags or in an attribute with double quotes. Control characters, what
 * turns the direction of text, what cannot be seen and what is no UTF-8 are
 * spelt, so that a name reads as it is. */
void words_html(FILE *out, const char *text);

#endif
