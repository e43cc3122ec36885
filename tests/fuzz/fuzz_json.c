/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_json.c - JSON taken apart, and written anew by the strict writer: what
 * was one value is one value again.
 */
#include "text/json.h"
#include "text/json_read.h"
#include "base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bfs_document *doc = NULL, *again = NULL;
	struct bfs_json json;
	size_t text_len;
	char *text;

	if (bfs_json_read(data, len, &doc, NULL) != BFS_OK)
		return 0;
	text = bfs_value_compact(bfs_document_root(doc), &text_len);
	if (!text || bfs_json_read(text, text_len, &again, NULL) != BFS_OK ||
	    again == NULL)
		abort();
	bfs_free(text);
	bfs_document_free(again);
	bfs_document_free(doc);
	bfs_json_init(&json, 0);
	if (bfs_json_embed(data, len, NULL, &json) == BFS_OK &&
	    bfs_json_finish(&json, &text, &text_len) == BFS_OK)
		bfs_free(text);
	bfs_json_release(&json);
	return 0;
}
