/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - one chunk of a Bloscpack file: its header, and its checksum.
 */
#include "container/bloscpack/priv.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

enum bfs_err bfs_bloscpack_peek(struct bfs_container *f, uint64_t off,
				struct bfs_chunk_head *h, uint64_t *ret_next,
				struct bfs_diag *why)
{
	uint64_t len = bfs_source_len(f->source);
	size_t digest = bfs_digest_len(priv(f)->digest);
	struct bfs_span span = { .off = off };

	if (!bfs_inside(off, BFS_CHUNK_MIN_HEADER + digest, len))
		return bfs_fail(why, BFS_ERR_TRUNCATED, off,
				"no room for a chunk in %" PRIu64 " bytes",
				len);
	span.avail = len - off - digest;
	BFS_TRY(bfs_container_peek(f, &span, h, why));
	if (h->version > 5)
		return bfs_fail(why, BFS_ERR_CORRUPT, off,
				"a chunk of version %u", h->version);
	*ret_next = off + h->cbytes + digest;
	return BFS_OK;
}

static void show_hex(const uint8_t *p, size_t len, char *text)
{
	size_t i;

	/* Ten bytes tell digests apart. */
	for (i = 0; i < len && i < 10; i++)
		sprintf(text + 2 * i, "%02x", p[i]);
}

static enum bfs_err add_pieces(struct bfs_container *f, struct bfs_digest *d,
			       uint64_t off, uint64_t left, uint8_t *buf,
			       struct bfs_diag *diag)
{
	while (left > 0) {
		size_t len = (size_t)bfs_min(PIECE, left);

		BFS_TRY(bfs_source_read(f->source, off, buf, len, diag));
		bfs_digest_add(d, buf, len);
		off += len;
		left -= len;
	}
	return BFS_OK;
}

enum bfs_err bfs_bloscpack_verify(struct bfs_container *f,
				  const struct bfs_span *span,
				  struct bfs_diag *diag)
{
	enum bfs_digest_kind kind = priv(f)->digest;
	size_t len = bfs_digest_len(kind);
	uint8_t want[BFS_DIGEST_MAX], have[BFS_DIGEST_MAX];
	char want_text[24], have_text[24];
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct bfs_chunk_head h;
	struct bfs_digest d;
	enum bfs_err err;
	uint64_t next;

	if (kind == BFS_DIGEST_NONE)
		return BFS_OK;
	BFS_TRY(bfs_bloscpack_peek(f, span->off, &h, &next, diag));
	buf = bfs_alloc(PIECE);
	if (!buf || bfs_digest_init(&d, kind) != BFS_OK)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	err = add_pieces(f, &d, span->off, h.cbytes, buf, diag);
	if (err != BFS_OK) {
		bfs_digest_release(&d);
		return err;
	}
	err = bfs_digest_finish(&d, have);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "no memory for a checksum");
	BFS_TRY(bfs_source_read(f->source, next - len, want, len, diag));
	if (!memcmp(want, have, len))
		return BFS_OK;
	show_hex(want, len, want_text);
	show_hex(have, len, have_text);
	return bfs_fail(diag, BFS_ERR_CORRUPT, span->off,
			"it has %s %s where %s is stored",
			bfs_digest_name(kind), have_text, want_text);
}
