/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.c - see mend.h. Places are those of docs/formats/bloscpack.md and of
 * ZIP's headers; lib/ is used for sums alone.
 */
#include "mend.h"

#include "base/bytes.h"
#include "base/digest.h"

#include <string.h>

#define BLOSCPACK_HEADER 32
#define META_HEADER 32
#define CHUNK_HEADER 16
#define LOCAL_HEADER 30
#define CENTRAL_HEADER 46
#define MOST_CHUNKS 1024

static void put_sum(uint8_t *to, enum bfs_digest_kind kind, const uint8_t *p,
		    size_t len)
{
	uint8_t sum[BFS_DIGEST_MAX];
	struct bfs_digest d;

	if (bfs_digest_init(&d, kind) != BFS_OK)
		return;
	bfs_digest_add(&d, p, len);
	if (bfs_digest_finish(&d, sum) == BFS_OK)
		memcpy(to, sum, bfs_digest_len(kind));
}

/* ---- Bloscpack --------------------------------------------------------- */

/* Behind the metadata, whose checksum is mended; len where they do not fit. */
static size_t mend_meta(uint8_t *data, size_t len)
{
	uint8_t *p = data + BLOSCPACK_HEADER;
	size_t left = len - BLOSCPACK_HEADER, room, used, sum;

	if (left < META_HEADER || p[9] >= BFS_N_DIGESTS)
		return len;
	room = bfs_le32(p + 16);
	used = bfs_le32(p + 20);
	sum = bfs_digest_len((enum bfs_digest_kind)p[9]);
	left -= META_HEADER;
	if (used > room || room > left || sum > left - room)
		return len;
	put_sum(p + META_HEADER + room, (enum bfs_digest_kind)p[9],
		p + META_HEADER, used);
	return BLOSCPACK_HEADER + META_HEADER + room + sum;
}

/* Chunks as they follow one another, from `at` on. */
static void mend_chunks(uint8_t *data, size_t len, size_t at,
			enum bfs_digest_kind kind)
{
	size_t sum = bfs_digest_len(kind), cbytes;

	for (int n = 0; n < MOST_CHUNKS && at < len; n++) {
		if (len - at < CHUNK_HEADER)
			return;
		cbytes = bfs_le32(data + at + 12);
		if (cbytes < CHUNK_HEADER || cbytes > len - at ||
		    sum > len - at - cbytes)
			return;
		put_sum(data + at + cbytes, kind, data + at, cbytes);
		at += cbytes + sum;
	}
}

static void mend_bloscpack(uint8_t *data, size_t len)
{
	size_t at = BLOSCPACK_HEADER;
	uint64_t entries;

	if (len < BLOSCPACK_HEADER || data[4] < 2 || data[4] > 3 ||
	    data[6] >= BFS_N_DIGESTS)
		return;
	if (data[4] == 3 && data[5] & 2)
		at = mend_meta(data, len);
	if (data[5] & 1) {
		entries = bfs_le64(data + 16) +
			  (data[4] == 3 ? bfs_le64(data + 24) : 0);
		if (entries > (len - at) / 8)
			return;
		at += 8 * (size_t)entries;
	}
	mend_chunks(data, len, at, (enum bfs_digest_kind)data[6]);
}

/* ---- ZIP --------------------------------------------------------------- */

/* The entry of the directory at `at`, and its member's own header. */
static void mend_member(uint8_t *data, size_t len, size_t at)
{
	uint8_t *entry = data + at, *local;
	size_t place = bfs_le32(entry + 42), size = bfs_le32(entry + 20);
	size_t begin;

	if (place > len || len - place < LOCAL_HEADER ||
	    bfs_le16(entry + 10) != 0)
		return;
	local = data + place;
	begin = place + LOCAL_HEADER + bfs_le16(local + 26) +
		bfs_le16(local + 28);
	if (begin > len || size > len - begin)
		return;
	put_sum(entry + 16, BFS_DIGEST_CRC32, data + begin, size);
	if (!(bfs_le16(entry + 8) & 8))
		memcpy(local + 14, entry + 16, 4);
}

static void mend_zip(uint8_t *data, size_t len)
{
	for (size_t at = 0; at + CENTRAL_HEADER <= len; at++) {
		if (memcmp(data + at, "PK\1\2", 4) == 0)
			mend_member(data, len, at);
	}
}

void mend_sums(uint8_t *data, size_t len)
{
	if (len >= 4 && memcmp(data, "blpk", 4) == 0)
		mend_bloscpack(data, len);
	else if (len >= 4 && memcmp(data, "PK\3\4", 4) == 0)
		mend_zip(data, len);
}
