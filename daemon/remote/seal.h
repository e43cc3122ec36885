/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.h - names and checksums of the disk cache, by libcrypto.
 *
 * A seal is a checksum (GMAC of AES, cut to 8 bytes) over bytes and over what
 * they are: the object by the key, their place in it by a number. Bytes of
 * another object, or of another place, do not match. It tells accidents; it
 * keeps nobody out who may write to the folder.
 */
#ifndef BFS_DAEMON_REMOTE_SEAL_H
#define BFS_DAEMON_REMOTE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_LEN 32
#define DIGEST_TEXT 64		/* in hexadecimal digits */

enum seal_kind { SEAL_CELL, SEAL_HEAD, SEAL_NOTE };

struct seal {
	void *ctx;		/* libcrypto's */
};

/* SHA-256. False where libcrypto has no memory or not that digest. */
bool seal_digest(const void *bytes, size_t len, uint8_t *ret_digest);
/* 64 digits and a zero byte. */
void seal_digest_text(const uint8_t *digest, char *ret_text);

/* key is the DIGEST_LEN bytes that an object is named by. Ended after failure
 * too. */
bool seal_begin(struct seal *seal, const uint8_t *key);
/* Never 0, which stands for "not there". */
bool seal_of(struct seal *seal, enum seal_kind kind, uint64_t number,
	     const void *bytes, size_t len, uint64_t *ret_sum);
void seal_end(struct seal *seal);

/* Numbers in files are little-endian. */
static inline void seal_put(uint8_t *to, uint64_t value, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t seal_get(const uint8_t *from, int n)
{
	uint64_t value = 0;

	while (n-- > 0)
		value = value << 8 | from[n];
	return value;
}

#endif
