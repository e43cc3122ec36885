/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest.h - the checksums that containers store behind their chunks, fed
 * piece by piece. The numbers are Bloscpack's (docs/formats/bloscpack.md).
 */
#ifndef BFS_BASE_DIGEST_H
#define BFS_BASE_DIGEST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_DIGEST_MAX 64	/* bytes of the longest */

enum bfs_digest_kind {
	BFS_DIGEST_NONE,
	BFS_DIGEST_ADLER32,
	BFS_DIGEST_CRC32,
	BFS_DIGEST_MD5,
	BFS_DIGEST_SHA1,
	BFS_DIGEST_SHA224,
	BFS_DIGEST_SHA256,
	BFS_DIGEST_SHA384,
	BFS_DIGEST_SHA512,
	BFS_N_DIGESTS
};

/* "crc32", ...; never NULL for a kind of the enum. */
const char *bfs_digest_name(enum bfs_digest_kind kind);
/* Stored bytes: 0, 4, 16, 20, 28, 32, 48 or 64. */
size_t bfs_digest_len(enum bfs_digest_kind kind);

struct bfs_digest {
	enum bfs_digest_kind kind;
	uint32_t sum;		/* adler32, crc32 */
	void *ctx;		/* the others */
	bool failed;		/* in the crypto library */
};

/* Starts the crypto library. Call it early: a start for which memory is lacking
 * may crash inside that library. Without this call the first digest starts
 * it. */
void bfs_digest_prepare(void);

/* UNSUPPORTED where the crypto library refuses the kind. */
enum bfs_err bfs_digest_init(struct bfs_digest *digest,
			     enum bfs_digest_kind kind) BFS_MUST_CHECK;
void bfs_digest_add(struct bfs_digest *digest, const void *p, size_t len);
/* Writes bfs_digest_len bytes as they are stored, and releases in any case.
 * NOMEM where the crypto library could not go on. */
enum bfs_err bfs_digest_finish(struct bfs_digest *digest,
			       uint8_t *ret_bytes) BFS_MUST_CHECK;
void bfs_digest_release(struct bfs_digest *digest);

#endif
