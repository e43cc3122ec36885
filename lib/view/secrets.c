/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * secrets.c - keys that hold credentials.
 */
#include "view/secrets.h"

#include "base/bytes.h"

#include <string.h>

const char *const bfs_secret_keys[] = {
	"proxy-source", "auth_token", "token", "password", NULL
};

/* Those that may be looked for in bytes that have no structure. */
static const char *const secret_words[] = {
	"proxy-source", "auth_token", "password",
};

bool bfs_secret_is_name(const struct bfs_meta *meta)
{
	for (size_t i = 0; bfs_secret_keys[i]; i++)
		if (strlen(bfs_secret_keys[i]) == meta->name_len &&
		    memcmp(meta->name, bfs_secret_keys[i],
			   meta->name_len) == 0)
			return true;
	return false;
}

bool bfs_secret_is_in(const void *buf, size_t len)
{
	for (size_t i = 0; i < BFS_ARRAY_LEN(secret_words); i++)
		if (memmem(buf, len, secret_words[i], strlen(secret_words[i])))
			return true;
	return false;
}
