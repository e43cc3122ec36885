/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ndlz.c - NDLZ: bytes in two dimensions, in cells of 4 x 4 or 8 x 8.
 *
 * In: a stream that carries the block's shape, then one token a cell, in
 * rows of cells. A token says which rows of the cell are literal bytes behind
 * it and which are bytes that the stream held before; such a reference counts
 * back from the token and never reaches the output. Out: every byte of the
 * block. Every read lies inside the stream, every write inside the cell.
 */
#include "codec/codec.h"

#include "base/bytes.h"

#define HEADER_LEN 9
#define MAX_SIDE 8
#define TOKEN_PLAIN 0x00
#define TOKEN_CONST 0x40
#define TOKEN_COPY 0xc0
#define TOKEN_MATCH 0x80	/* rows out of one reference, others literal */

struct ndlz {
	struct bfs_cursor in;
	size_t token_at;	/* where the cell's token stands */
	uint32_t side;		/* 4 or 8 */
	uint32_t rows, cols;	/* of the cell, after cropping */
};

/* Which rows of a cell a token takes from its reference; bit i is row i. 0:
 * there is no such token. */
static unsigned rows_of_match4(uint8_t token)
{
	static const uint8_t rows[16] = {
		[0x00] = 0xc,	/* 0x80: rows 2 and 3 */
		[0x01] = 0x3,
		[0x02] = 0x5,
		[0x03] = 0x9,
		[0x06] = 0x6,
		[0x07] = 0xa,
		[0x0c] = 0xe,	/* 0xe0: rows 1, 2 and 3 */
		[0x0d] = 0x7,
		[0x0e] = 0xb,
		[0x0f] = 0xd,
	};

	return token & 7 ? 0 : rows[(token - TOKEN_MATCH) >> 3];
}

static unsigned rows_of_match8(uint8_t token)
{
	if (token >= 0xa8 && token <= 0xad)
		return 0x7u << (token - 0xa8);
	if (token >= 0x88 && token <= 0x8e)
		return 0x3u << (token - 0x88);
	return 0;
}

/* The len bytes that the next two bytes of the stream refer to, or NULL. */
static const uint8_t *take_reference(struct ndlz *z, size_t len)
{
	const uint8_t *p = bfs_cursor_take(&z->in, 2);
	size_t back = p ? bfs_le16(p) : 0;

	if (!p || back > z->token_at ||
	    !bfs_inside(z->token_at - back, len, z->in.len))
		return NULL;
	return z->in.base + (z->token_at - back);
}

/* Rows from two references: 0 and one more, then the others. */
static enum bfs_err read_pairs(struct ndlz *z, uint8_t token,
			       const uint8_t *row[MAX_SIDE])
{
	const uint32_t second = (uint32_t)(token - 0x20) >> 3;
	const uint8_t *a = take_reference(z, 8);
	const uint8_t *b = a ? take_reference(z, 8) : NULL;

	BFS_NEED(b);
	row[0] = a;
	row[second] = a + 4;
	for (uint32_t i = 1; i < 4; i++)
		if (i != second) {
			row[i] = b;
			b += 4;
		}
	return BFS_OK;
}

static enum bfs_err read_match(struct ndlz *z, unsigned taken,
			       const uint8_t *row[MAX_SIDE])
{
	size_t n = (size_t)__builtin_popcount(taken);
	const uint8_t *ref, *lit;

	BFS_NEED(n > 0);
	ref = take_reference(z, n * z->side);
	BFS_NEED(ref);
	lit = bfs_cursor_take(&z->in, (z->side - n) * z->side);
	BFS_NEED(lit);
	for (uint32_t i = 0; i < z->side; i++) {
		const uint8_t **from = taken >> i & 1 ? &ref : &lit;

		row[i] = *from;
		*from += z->side;
	}
	return BFS_OK;
}

/* Finds the bytes of every row of the cell. All rows are at least z->cols
 * bytes long. */
static enum bfs_err read_rows(struct ndlz *z, uint8_t token,
			      const uint8_t *row[MAX_SIDE])
{
	const size_t len = (size_t)z->rows * z->cols;
	const uint8_t *p;

	if (token == TOKEN_PLAIN || token == TOKEN_COPY) {
		p = token == TOKEN_PLAIN ? bfs_cursor_take(&z->in, len) :
					   take_reference(z, len);
		BFS_NEED(p);
		for (uint32_t i = 0; i < z->rows; i++)
			row[i] = p + (size_t)i * z->cols;
		return BFS_OK;
	}
	if (z->side == 4 && (token == 0x28 || token == 0x30 || token == 0x38))
		return read_pairs(z, token, row);
	BFS_NEED(token >= TOKEN_MATCH);
	return read_match(z, z->side == 4 ? rows_of_match4(token) :
					    rows_of_match8(token), row);
}

/* Whole cells are by far the most: their widths are constants. */
static void put_row(uint8_t *dst, const uint8_t *row, uint32_t n_cols)
{
	if (n_cols == 8)
		memcpy(dst, row, 8);
	else if (n_cols == 4)
		memcpy(dst, row, 4);
	else
		memcpy(dst, row, n_cols);
}

static enum bfs_err decode_cell(struct ndlz *z, uint8_t *dst, size_t pitch)
{
	const uint8_t *row[MAX_SIDE];
	uint8_t token;

	z->token_at = z->in.pos;
	token = bfs_cursor_u8(&z->in);
	BFS_NEED(!z->in.failed);
	if (token == TOKEN_CONST) {
		uint8_t byte = bfs_cursor_u8(&z->in);

		BFS_NEED(!z->in.failed);
		for (uint32_t i = 0; i < z->rows; i++, dst += pitch)
			memset(dst, byte, z->cols);
		return BFS_OK;
	}
	BFS_TRY(read_rows(z, token, row));
	for (uint32_t i = 0; i < z->rows; i++, dst += pitch)
		put_row(dst, row[i], z->cols);
	return BFS_OK;
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	struct ndlz z = {
		.in = bfs_cursor_init(job->src, job->src_len),
		.side = job->meta,
	};
	uint32_t n_rows, n_cols;

	(void)state;
	BFS_NEED(z.side == 4 || z.side == 8);
	BFS_NEED(job->src_len >= HEADER_LEN);
	bfs_cursor_expect(&z.in, 2);
	n_rows = bfs_cursor_le32(&z.in);
	n_cols = bfs_cursor_le32(&z.in);
	BFS_NEED(!z.in.failed && n_rows > 0 && n_cols > 0);
	BFS_NEED(n_rows <= INT32_MAX && n_cols <= INT32_MAX &&
		 (uint64_t)n_rows * n_cols == job->dst_len);
	for (uint32_t y = 0; y < n_rows; y += z.side) {
		uint8_t *dst = job->dst + (size_t)y * n_cols;

		z.rows = (uint32_t)bfs_min(z.side, n_rows - y);
		for (uint32_t x = 0; x < n_cols; x += z.side) {
			z.cols = (uint32_t)bfs_min(z.side, n_cols - x);
			BFS_TRY(decode_cell(&z, dst + x, n_cols));
		}
	}
	BFS_NEED(bfs_cursor_left(&z.in) == 0);
	return BFS_OK;
}

/* Three cells of 4 x 4: literal, rows 0 to 2 of it again, one byte all over. */
static const uint8_t sample_src[] = {
	0x02, 0x04, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00,
	0x00, 'd', 'e', 'e', 'p', 'b', 'l', 'u', 'e', 's', 'e', 'a', 's',
	'w', 'a', 'v', 'e',
	0xe8, 0x10, 0x00, 's', 'a', 'i', 'l',
	0x40, '.',
};
static const uint8_t sample_want[] =
	"deepdeep...." "blueblue...." "seasseas...." "wavesail....";

const struct bfs_codec bfs_codec_ndlz = {
	.name = "ndlz",
	.format = 6,
	.id = 32,
	.decode = decode,
	.sample = {
		.src = sample_src,
		.src_len = sizeof(sample_src),
		.want = sample_want,
		.want_len = sizeof(sample_want) - 1,
		.meta = 4,
	},
};
