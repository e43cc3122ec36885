/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest.c - checksums by zlib and libcrypto behind one interface.
 */
#include "base/digest.h"

#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>

static const struct {
	const char *name;
	size_t len;
	const char *md;			/* for the crypto library, or NULL */
} kinds[BFS_N_DIGESTS] = {
	[BFS_DIGEST_NONE] = { "none", 0, NULL },
	[BFS_DIGEST_ADLER32] = { "adler32", 4, NULL },
	[BFS_DIGEST_CRC32] = { "crc32", 4, NULL },
	[BFS_DIGEST_MD5] = { "md5", 16, "MD5" },
	[BFS_DIGEST_SHA1] = { "sha1", 20, "SHA1" },
	[BFS_DIGEST_SHA224] = { "sha224", 28, "SHA224" },
	[BFS_DIGEST_SHA256] = { "sha256", 32, "SHA256" },
	[BFS_DIGEST_SHA384] = { "sha384", 48, "SHA384" },
	[BFS_DIGEST_SHA512] = { "sha512", 64, "SHA512" },
};

/* The library's digests: each is looked up once and kept to the end. */
static struct {
	pthread_mutex_t lock;		/* guards all below */
	bool ready;
	const EVP_MD *mds[BFS_N_DIGESTS];
} crypto = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const EVP_MD *fetch(const char *name)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
	return EVP_MD_fetch(NULL, name, NULL);
#else
	return EVP_get_digestbyname(name);
#endif
}

/* The library's own start does not clean up behind a failure: it must be over
 * before memory can be short. */
void bfs_digest_prepare(void)
{
	pthread_mutex_lock(&crypto.lock);
	if (!crypto.ready)
		crypto.ready = OPENSSL_init_crypto(
			OPENSSL_INIT_NO_ATEXIT |
			OPENSSL_INIT_ADD_ALL_DIGESTS |
			OPENSSL_INIT_LOAD_CRYPTO_STRINGS, NULL);
	for (size_t i = 0; crypto.ready && i < BFS_N_DIGESTS; i++)
		if (kinds[i].md && !crypto.mds[i])
			crypto.mds[i] = fetch(kinds[i].md);
	pthread_mutex_unlock(&crypto.lock);
}

/* NULL where the library has none, or none now. */
static const EVP_MD *find_md(enum bfs_digest_kind kind)
{
	const EVP_MD *md;

	BFS_CHECK((unsigned)kind < BFS_N_DIGESTS);
	pthread_mutex_lock(&crypto.lock);
	md = crypto.mds[kind];
	pthread_mutex_unlock(&crypto.lock);
	return md;
}

const char *bfs_digest_name(enum bfs_digest_kind kind)
{
	BFS_CHECK((unsigned)kind < BFS_N_DIGESTS);
	return kinds[kind].name;
}

size_t bfs_digest_len(enum bfs_digest_kind kind)
{
	BFS_CHECK((unsigned)kind < BFS_N_DIGESTS);
	return kinds[kind].len;
}

enum bfs_err bfs_digest_init(struct bfs_digest *d, enum bfs_digest_kind kind)
{
	EVP_MD_CTX *ctx = NULL;
	const EVP_MD *md;

	if (kinds[kind].md) {
		md = find_md(kind);
		if (!md) {
			bfs_digest_prepare();
			md = find_md(kind);
		}
		if (!md)
			return BFS_ERR_UNSUPPORTED;
		ctx = EVP_MD_CTX_new();
		/* A kind that was found fails for want of memory alone. */
		if (!ctx || !EVP_DigestInit_ex(ctx, md, NULL)) {
			EVP_MD_CTX_free(ctx);
			return bfs_fail(NULL, BFS_ERR_NOMEM, 0,
					"no memory for a checksum");
		}
	}
	d->failed = false;
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
	else if (d->ctx && !EVP_DigestUpdate(d->ctx, p, len))
		d->failed = true;
}

enum bfs_err bfs_digest_finish(struct bfs_digest *d, uint8_t *ret_bytes)
{
	uint8_t bytes[EVP_MAX_MD_SIZE];
	enum bfs_err err = BFS_OK;
	unsigned i;

	if (d->ctx && (d->failed || !EVP_DigestFinal_ex(d->ctx, bytes, NULL)))
		err = bfs_fail(NULL, BFS_ERR_NOMEM, 0,
			       "no memory for a checksum");
	else if (d->ctx)
		memcpy(ret_bytes, bytes, bfs_digest_len(d->kind));
	else
		for (i = 0; i < bfs_digest_len(d->kind); i++)
			ret_bytes[i] = (uint8_t)(d->sum >> 8 * i);
	bfs_digest_release(d);
	return err;
}

void bfs_digest_release(struct bfs_digest *d)
{
	EVP_MD_CTX_free(d->ctx);
	d->ctx = NULL;
}
