/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zfp.c - a bare ZFP stream by libzfp (BFS_HAVE_ZFP), for all three rows.
 *
 * In: the stream of one complete block, without a header; its type and shape
 * stand in the frame. Out: the block in C order.
 *
 * The library reads whole words and knows no end of its input. So the stream
 * is copied into an aligned buffer with zeros behind it, more of them than can
 * be read: a cell (4 values in each dimension) never takes more than its
 * share, and a cell that begins in zeros takes the least that there is. That
 * the stream ended too early is seen by how much was read. The output cannot
 * be left: its size alone says which cells there are.
 */
#include "codec/zfp.h"

#ifdef BFS_HAVE_ZFP

#include "base/bytes.h"
#include "base/mem.h"

/* What writers make streams of, in bytes. The library here may have been
 * built for smaller words, which differ only in where a stream ends. */
#define WORD 8

/* What one worker keeps. The library's own objects are a few hundred bytes
 * of a fixed size outside the budget: it cannot be told of an allocator. */
struct state {
	zfp_stream *zfp;
	zfp_field *field;
	bitstream *bits;	/* over buf, or NULL */
	uint64_t *buf;
	size_t n_words;
};

const char *bfs_zfp_version(void)
{
	return zfp_version_string;
}

void bfs_zfp_state_free(void *state)
{
	struct state *s = state;

	if (s->bits)
		stream_close(s->bits);
	if (s->field)
		zfp_field_free(s->field);
	if (s->zfp)
		zfp_stream_close(s->zfp);
	bfs_free(s->buf);
	bfs_free(s);
}

void *bfs_zfp_state_new(void)
{
	struct state *s = bfs_zalloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->zfp = zfp_stream_open(NULL);
	s->field = zfp_field_alloc();
	if (!s->zfp || !s->field) {
		bfs_zfp_state_free(s);
		return NULL;
	}
	return s;
}

/* Room for n words, by quarters so that it seldom grows. */
static enum bfs_err reserve(struct state *s, size_t n)
{
	if (n <= s->n_words)
		return BFS_OK;
	n += n / 4;
	if (s->bits)
		stream_close(s->bits);
	s->bits = NULL;
	bfs_free(s->buf);
	s->n_words = 0;
	s->buf = bfs_alloc(n * WORD);
	if (!s->buf)
		return BFS_ERR_NOMEM;
	s->bits = stream_open(s->buf, n * WORD);
	if (!s->bits)
		return BFS_ERR_NOMEM;
	s->n_words = n;
	return BFS_OK;
}

/* The shape of the output from the slowest dimension to the fastest, and the
 * number of cells in it. */
static enum bfs_err set_field(zfp_field *field, const struct bfs_codec_job *job,
			      uint64_t *ret_n_cells)
{
	const struct bfs_codec_env *env = job->env;
	size_t *const size[] = {
		&field->nx, &field->ny, &field->nz, &field->nw,
	};
	uint64_t len = env->typesize, n_cells = 1;

	for (unsigned i = 0; i < 4; i++)
		*size[i] = 0;
	for (unsigned i = 0; i < env->ndim; i++) {
		int32_t n = env->blockshape[i];

		BFS_NEED(n > 0 && bfs_mul(len, (uint64_t)n, &len));
		n_cells *= bfs_div_up((uint64_t)n, 4);
		*size[env->ndim - 1 - i] = (size_t)n;
	}
	/* Blocks of an array begin at multiples of their length. */
	BFS_NEED(len == job->dst_len &&
		 (uintptr_t)job->dst % env->typesize == 0);
	zfp_field_set_type(field, env->typesize == 4 ? zfp_type_float :
						       zfp_type_double);
	zfp_field_set_pointer(field, job->dst);
	*ret_n_cells = n_cells;
	return BFS_OK;
}

/* How many words can be read at most, and one to spare. Where cells have a
 * fixed size, the stream must have exactly that of all of them. */
static enum bfs_err count_words(const struct bfs_codec_job *job,
				const zfp_stream *zfp, uint64_t n_cells,
				uint64_t *ret_n)
{
	unsigned least, most;	/* bits of a cell */
	uint64_t n_bits;

	zfp_stream_params(zfp, &least, &most, NULL, NULL);
	BFS_NEED(bfs_mul(n_cells, least, &n_bits));
	if (least == most)
		BFS_NEED(bfs_div_up(n_bits, 8 * WORD) * WORD == job->src_len);
	else
		n_bits += 8 * (uint64_t)job->src_len + most;
	*ret_n = bfs_div_up(n_bits, 8 * WORD) + 1;
	return BFS_OK;
}

/* Files hold words and items least byte first, whoever reads them; the library
 * has both as its machine does. */
static void turn(void *buf, size_t len, size_t width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (uint8_t *p = buf, *end = p + len; p < end; p += width) {
		for (size_t i = 0; i < width / 2; i++) {
			uint8_t byte = p[i];

			p[i] = p[width - 1 - i];
			p[width - 1 - i] = byte;
		}
	}
#else
	(void)buf;
	(void)len;
	(void)width;
#endif
}

enum bfs_err bfs_zfp_decode(const struct bfs_codec_job *job, void *state,
			    bfs_zfp_mode *set_mode)
{
	const struct bfs_codec_env *env = job->env;
	struct state *s = state;
	uint64_t n_cells, n_words;
	size_t n_read;

	if ((env->typesize != 4 && env->typesize != 8) || env->ndim < 1 ||
	    env->ndim > 4)
		return BFS_ERR_UNSUPPORTED;
	BFS_NEED(job->src_len > 0);
	BFS_TRY(set_field(s->field, job, &n_cells));
	set_mode(s->zfp, job);
	BFS_TRY(count_words(job, s->zfp, n_cells, &n_words));
	BFS_TRY(reserve(s, (size_t)n_words));
	memcpy(s->buf, job->src, job->src_len);
	memset((uint8_t *)s->buf + job->src_len, 0,
	       (size_t)n_words * WORD - job->src_len);
	turn(s->buf, (size_t)n_words * WORD, stream_word_bits / 8);
	stream_rewind(s->bits);
	zfp_stream_set_bit_stream(s->zfp, s->bits);
	n_read = zfp_decompress(s->zfp, s->field);
	turn(job->dst, job->dst_len, env->typesize);
	BFS_NEED(bfs_div_up(n_read, WORD) * WORD == job->src_len);
	return BFS_OK;
}

#endif
