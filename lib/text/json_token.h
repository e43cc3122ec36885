/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_token.h - the strings, numbers and marks that a text of JSON is made of.
 */
#ifndef BFS_TEXT_JSON_TOKEN_H
#define BFS_TEXT_JSON_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A place in a text, which stays as it is (raw), and in a copy of it, where
 * strings are decoded. All offsets are in bytes of both. */
struct bfs_json_at {
	const char *raw;
	char *copy;
	size_t len;
	size_t at;
	struct bfs_diag *diag;
};

struct bfs_json_number {
	enum {
		BFS_JSON_INT,		/* whole, in i */
		BFS_JSON_UINT,		/* whole and too large for that, in u */
		BFS_JSON_DOUBLE,	/* any other */
	} kind;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
};

/* CORRUPT, at this place. */
static inline enum bfs_err bfs_json_bad(const struct bfs_json_at *p,
					const char *what)
{
	return bfs_fail(p->diag, BFS_ERR_CORRUPT, p->at, "%s in JSON", what);
}

/* White space. */
static inline void bfs_json_skip_blanks(struct bfs_json_at *p)
{
	while (p->at < p->len && strchr(" \t\r\n", p->raw[p->at]) &&
	       p->raw[p->at])
		p->at++;
}

/* The next character, or NUL at the end. */
static inline char bfs_json_peek(const struct bfs_json_at *p)
{
	return p->at < p->len ? p->raw[p->at] : '\0';
}

/* Behind white space, whether this comes next: then it is passed. */
static inline bool bfs_json_take_char(struct bfs_json_at *p, char c)
{
	bfs_json_skip_blanks(p);
	if (p->at >= p->len || p->raw[p->at] != c)
		return false;
	p->at++;
	return true;
}

/* Whether this word comes next, with no white space before it: then it is
 * passed. */
static inline bool bfs_json_take_word(struct bfs_json_at *p, const char *word)
{
	size_t len = strlen(word);

	if (p->len - p->at < len || memcmp(p->raw + p->at, word, len))
		return false;
	p->at += len;
	return true;
}

/* Behind the quote: what is before the next, escapes undone. *ret_text lies in
 * the copy, and ends in NUL. CORRUPT with the place and the reason. */
enum bfs_err bfs_json_take_string(struct bfs_json_at *p, const char **ret_text,
				  size_t *ret_len) BFS_MUST_CHECK;
/* CORRUPT for what begins no number. */
enum bfs_err bfs_json_take_number(struct bfs_json_at *p,
				  struct bfs_json_number *ret_number)
	BFS_MUST_CHECK;

#endif
