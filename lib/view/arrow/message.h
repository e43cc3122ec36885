/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h - Arrow's metadata: the messages of a schema and of record batches,
 * and the footer of a file (Schema.fbs, Message.fbs, File.fbs, version 5).
 */
#ifndef BFS_VIEW_ARROW_MESSAGE_H
#define BFS_VIEW_ARROW_MESSAGE_H

#include "view/arrow/table.h"

/* What comes first: the magic and the schema, up to a multiple of 64. Owned
 * (bfs_free), as what the other two give. */
enum bfs_err bfs_arrow_make_head(const struct bfs_arrow_table *table,
				 uint8_t **ret_head, size_t *ret_len,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
/* The metadata of the batch that has run i, up to a multiple of 64. Their
 * length does not depend on n_nulls: of each column; NULL for none. */
enum bfs_err bfs_arrow_make_batch(const struct bfs_arrow_table *table,
				  size_t i, const int64_t *n_nulls,
				  uint8_t **ret_meta, size_t *ret_len,
				  struct bfs_diag *diag) BFS_MUST_CHECK;
/* What comes last: the end of the messages, the footer, its length, the magic.
 * The runs' places are known. */
enum bfs_err bfs_arrow_make_tail(const struct bfs_arrow_table *table,
				 uint8_t **ret_tail, size_t *ret_len,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
/* Bytes of a batch's body. */
uint64_t bfs_arrow_body_len(const struct bfs_arrow_table *table,
			    const struct bfs_arrow_run *run);
/* How many buffers of a batch hold slots of texts. */
uint64_t bfs_arrow_n_slots(const struct bfs_arrow_table *table,
			   const struct bfs_arrow_run *run);
/* A dictionary of n texts, whose bytes are joined and offsets (n + 1) are. */
enum bfs_err bfs_arrow_make_words(int64_t id, const uint64_t *offsets, size_t n,
				  const char *joined,
				  struct bfs_arrow_words *ret_words,
				  struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
