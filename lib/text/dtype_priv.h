/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_priv.h - what the files that parse dtypes share.
 */
#ifndef BFS_TEXT_DTYPE_PRIV_H
#define BFS_TEXT_DTYPE_PRIV_H

#include "text/dtype.h"
#include "text/dtype_text.h"

/* A growing array of fields. In the dict form one property of all fields is
 * read after the other. */
struct fields {
	struct bfs_dtype_field *at;
	size_t n, cap;
};

/* Parses text, all of which must be one simple type. After a failure *type may
 * be set in part. */
enum bfs_err bfs_dt_scan_simple(struct bfs_dt *ps, const char *text, size_t len,
				struct bfs_dtype *type) BFS_MUST_CHECK;
/* A string that is one simple type. */
enum bfs_err bfs_dt_parse_simple(struct bfs_dt *ps,
				 struct bfs_dtype *ret_type) BFS_MUST_CHECK;
void bfs_dt_release_field(struct bfs_dtype_field *field);
void bfs_dt_release_fields(struct fields *fields);
/* Makes sure that there is a field of index i; new ones are empty. */
enum bfs_err bfs_dt_reach_field(struct bfs_dt *ps, struct fields *fields,
				size_t i) BFS_MUST_CHECK;
/* The alignment that a struct of these fields has. */
unsigned bfs_dt_join_aligns(const struct bfs_dt *ps,
			    const struct fields *fields);
uint64_t bfs_dt_round_up(uint64_t v, uint64_t to);
/* Hands the fields over to a type of size bytes. */
enum bfs_err bfs_dt_make_struct(struct bfs_dt *ps, struct fields *fields,
				uint64_t size,
				struct bfs_dtype *ret_type) BFS_MUST_CHECK;

#endif
