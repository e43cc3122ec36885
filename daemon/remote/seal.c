/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.c - SHA-256 and GMAC.
 */
#include "remote/seal.h"

#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

#define NONCE_LEN 12

bool seal_digest(const void *bytes, size_t len, uint8_t *ret_digest)
{
	unsigned n = DIGEST_LEN;

	return EVP_Digest(bytes, len, ret_digest, &n, EVP_sha256(), NULL) ==
	       1;
}

void seal_digest_text(const uint8_t *digest, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_LEN; i++) {
		*ret_text++ = digits[digest[i] >> 4];
		*ret_text++ = digits[digest[i] & 15];
	}
	*ret_text = '\0';
}

bool seal_begin(struct seal *seal, const uint8_t *key)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	seal->ctx = ctx;
	return ctx && EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key,
					 NULL) == 1;
}

bool seal_of(struct seal *seal, enum seal_kind kind, uint64_t number,
	     const void *bytes, size_t len, uint64_t *ret_sum)
{
	uint8_t nonce[NONCE_LEN], tag[8], none[1];
	int n;

	seal_put(nonce, number, 8);
	seal_put(nonce + 8, (uint64_t)kind, 4);
	if (len > INT_MAX ||
	    EVP_EncryptInit_ex(seal->ctx, NULL, NULL, NULL, nonce) != 1 ||
	    EVP_EncryptUpdate(seal->ctx, NULL, &n, bytes, (int)len) != 1 ||
	    EVP_EncryptFinal_ex(seal->ctx, none, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(seal->ctx, EVP_CTRL_AEAD_GET_TAG,
				sizeof(tag), tag) != 1)
		return false;
	*ret_sum = seal_get(tag, sizeof(tag));
	if (!*ret_sum)
		*ret_sum = 1;
	return true;
}

void seal_end(struct seal *seal)
{
	EVP_CIPHER_CTX_free(seal->ctx);
	seal->ctx = NULL;
}
