/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest.c - checksums by zlib and libcrypto behind one interface.
 */
#include "digest.h"

#include "bytes.h"

#include <openssl/evp.h>
#include <zlib.h>

static const struct {
	const char *name;
	size_t len;
	const EVP_MD *(*md)(void);
} kinds[BFS_N_DIGESTS] = {
	[BFS_DIGEST_NONE] = { "none", 0, NULL },
	[BFS_DIGEST_ADLER32] = { "adler32", 4, NULL },
	[BFS_DIGEST_CRC32] = { "crc32", 4, NULL },
	[BFS_DIGEST_MD5] = { "md5", 16, EVP_md5 },
	[BFS_DIGEST_SHA1] = { "sha1", 20, EVP_sha1 },
	[BFS_DIGEST_SHA224] = { "sha224", 28, EVP_sha224 },
	[BFS_DIGEST_SHA256] = { "sha256", 32, EVP_sha256 },
	[BFS_DIGEST_SHA384] = { "sha384", 48, EVP_sha384 },
	[BFS_DIGEST_SHA512] = { "sha512", 64, EVP_sha512 },
};

const char *bfs_digest_name(enum bfs_digest_kind kind)
{
	return kinds[kind].name;
}

size_t bfs_digest_len(enum bfs_digest_kind kind)
{
	return kinds[kind].len;
}

enum bfs_err bfs_digest_init(struct bfs_digest *d, enum bfs_digest_kind kind)
{
	EVP_MD_CTX *ctx = NULL;

	if (kinds[kind].md) {
		ctx = EVP_MD_CTX_new();
		if (!ctx)
			return BFS_ERR_NOMEM;
		if (!EVP_DigestInit_ex(ctx, kinds[kind].md(), NULL)) {
			EVP_MD_CTX_free(ctx);
			return BFS_ERR_UNSUPPORTED;
		}
	}
	d->kind = kind;
	d->ctx = ctx;
	d->sum = kind == BFS_DIGEST_ADLER32 ? 1 : 0;
	return BFS_OK;
}

void bfs_digest_add(struct bfs_digest *d, const void *p, size_t len)
{
	if (d->kind == BFS_DIGEST_ADLER32)
		d->sum = (uint32_t)adler32_z(d->sum, p, len);
	else if (d->kind == BFS_DIGEST_CRC32)
		d->sum = (uint32_t)crc32_z(d->sum, p, len);
	else if (d->ctx)
		EVP_DigestUpdate(d->ctx, p, len);
}

void bfs_digest_finish(struct bfs_digest *d, uint8_t *ret_bytes)
{
	unsigned i;

	if (d->ctx)
		EVP_DigestFinal_ex(d->ctx, ret_bytes, NULL);
	else
		for (i = 0; i < bfs_digest_len(d->kind); i++)
			ret_bytes[i] = (uint8_t)(d->sum >> 8 * i);
	bfs_digest_release(d);
}

void bfs_digest_release(struct bfs_digest *d)
{
	EVP_MD_CTX_free(d->ctx);
	d->ctx = NULL;
}
