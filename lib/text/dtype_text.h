/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_text.h - the tokens of a dtype's text. For dtype*.c alone.
 */
#ifndef BFS_TEXT_DTYPE_TEXT_H
#define BFS_TEXT_DTYPE_TEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that one number, and one item, may be. */
#define BFS_DT_MAX_SIZE INT32_MAX

/* A text being read. */
struct bfs_dt {
	const char *text;
	size_t len, pos;
	unsigned depth;		/* types around this place */
	size_t n_fields;	/* so far, at all depths */
	bool saw_object;
	bool align;		/* inside a dict that says so */
	size_t n_again;		/* bytes read more than once */
	struct bfs_diag *diag;
};

/* A string literal with its escapes undone. */
struct bfs_dt_lit {
	char *text;		/* owned, NUL-terminated, no NUL inside */
	size_t len;
};

/* Return UNSUPPORTED, CORRUPT and NOMEM, with the present place. */
enum bfs_err bfs_dt_refuse(const struct bfs_dt *ps, const char *what);
enum bfs_err bfs_dt_break(const struct bfs_dt *ps, const char *what);
enum bfs_err bfs_dt_no_memory(const struct bfs_dt *ps);

/* The next character that is no space, or NUL at the end. */
char bfs_dt_peek(struct bfs_dt *ps);
/* Each skips spaces and takes what is wanted if it comes next. */
bool bfs_dt_take(struct bfs_dt *ps, char want);
bool bfs_dt_take_word(struct bfs_dt *ps, const char *word);

enum bfs_err bfs_dt_number(struct bfs_dt *ps, uint64_t *ret_v) BFS_MUST_CHECK;
enum bfs_err bfs_dt_string(struct bfs_dt *ps, struct bfs_dt_lit *ret_lit)
	BFS_MUST_CHECK;

static inline bool bfs_dt_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits at text[*pos]; false where there are none or too many. */
bool bfs_dt_scan_number(const char *text, size_t len, size_t *pos,
			uint64_t *ret_v);

/* A type that is one letter ("f"), or a word ("float32"): its kind as in
 * struct bfs_dtype, or 'O', and the bytes of an item. */
bool bfs_dt_find_letter(const char *text, size_t len, char *ret_kind,
			uint64_t *ret_size);
bool bfs_dt_find_word(const char *text, size_t len, char *ret_kind,
		      uint64_t *ret_size);

#endif
