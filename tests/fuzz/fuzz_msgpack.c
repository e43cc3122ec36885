/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_msgpack.c - any bytes as MessagePack: walked, and rendered as JSON.
 */
#include "text/json.h"
#include "base/mem.h"
#include "text/msgpack.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const redact[] = { "auth_token", NULL };
	struct bfs_json json;
	size_t len = 0, text_len = 0;
	char *text = NULL;

	if (bfs_msgpack_walk(data, size, &len, NULL) == BFS_OK && len > size)
		abort();
	bfs_json_init(&json, 0);
	if (bfs_msgpack_to_json(data, size, redact, &json) == BFS_OK) {
		/* One value must have come out, in valid UTF-8. */
		if (bfs_json_finish(&json, &text, &text_len) != BFS_OK)
			abort();
		if (!bfs_json_is_utf8(text, text_len) ||
		    strlen(text) != text_len)
			abort();
		bfs_free(text);
	}
	bfs_json_release(&json);
	return 0;
}
