/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fill.c - the bytes of an Arrow file, made where they are read.
 *
 * A range goes through the buffers that it meets, each a piece at a time: what
 * is stored for some values is gathered, then made into Arrow's.
 */
#include "view/arrow/fill.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/arrow/layout.h"
#include "view/arrow/message.h"

#include <string.h>

#define PIECE ((size_t)32 << 10)	/* bytes gathered at once */
#define NEAR 1024			/* bytes between rows that are read
					 * over */

/* One column in one run of rows. */
struct job {
	const struct bfs_arrow_column *column;
	const struct bfs_arrow_run *run;
	const struct bfs_arrow_reader *reader;
	uint8_t *scratch;		/* PIECE */
	uint8_t *made;			/* PIECE */
	uint8_t *records;		/* PIECE */
};

/* ---- what is stored -------------------------------------------------- */

static enum bfs_err read_at(const struct job *job, uint64_t off, void *buf,
			    size_t len, struct bfs_diag *diag)
{
	return job->reader->read(job->reader->arg, job->column->store,
				 job->column->off + off, buf, len, diag);
}

/* Whole rows of records that lie near one another: as many as were asked for,
 * at most, of which *ret_n. */
static enum bfs_err read_records(const struct job *job, uint64_t row,
				 uint64_t n_rows, uint8_t *buf, size_t *ret_n,
				 struct bfs_diag *diag)
{
	size_t step = (size_t)job->column->step;
	size_t row_len = (size_t)job->column->row_len;
	size_t n = (size_t)bfs_min(n_rows, (PIECE - row_len) / step + 1);

	BFS_TRY(read_at(job, row * step, job->records, (n - 1) * step + row_len,
			diag));
	for (size_t i = 0; i < n; i++)
		memcpy(buf + i * row_len, job->records + i * step, row_len);
	*ret_n = n;
	return BFS_OK;
}

/* [off, off + len) of the column's stored bytes in this run, rows joined. */
static enum bfs_err gather(const struct job *job, uint64_t off, uint8_t *buf,
			   size_t len, struct bfs_diag *diag)
{
	uint64_t row_len = job->column->row_len, step = job->column->step;

	if (step == row_len)
		return read_at(job, job->run->first * step + off, buf, len,
			       diag);
	while (len) {
		uint64_t row = job->run->first + off / row_len;
		uint64_t in_row = off % row_len;
		size_t n = (size_t)bfs_min(len, row_len - in_row);

		if (!in_row && n == row_len && step <= NEAR) {
			BFS_TRY(read_records(job, row, len / row_len, buf, &n,
					     diag));
			n *= (size_t)row_len;
		} else {
			BFS_TRY(read_at(job, row * step + in_row, buf, n,
					diag));
		}
		off += n;
		buf += n;
		len -= n;
	}
	return BFS_OK;
}

/* ---- buffers --------------------------------------------------------- */

/* All values of a column in the run. */
static uint64_t count_values(const struct job *job)
{
	return job->run->n * job->column->per_row;
}

/* Whether values as they are stored stand for one that is there. */
static bool is_there(const struct bfs_arrow_type *type, const uint8_t *p)
{
	return (type->swap == 1 ? bfs_le64(p) : bfs_be64(p)) !=
	       (uint64_t)INT64_MIN;
}

/* Bytes [off, off + len) of the bits, of at most PIECE stored bytes. */
static enum bfs_err fill_bits(const struct job *job, uint64_t off, uint8_t *buf,
			      size_t len, struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &job->column->type;
	size_t n = (size_t)bfs_min(8 * (uint64_t)len,
				   count_values(job) - 8 * off);

	BFS_TRY(gather(job, 8 * off * type->src, job->scratch, n * type->src,
		       diag));
	memset(buf, 0, len);
	for (size_t i = 0; i < n; i++)
		buf[i / 8] |= (uint8_t)(is_there(type, job->scratch +
						 i * type->src) << i % 8);
	return BFS_OK;
}

/* The same of the values, where these are bits. */
static enum bfs_err fill_packed(const struct job *job, uint64_t off,
				uint8_t *buf, size_t len,
				struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &job->column->type;
	size_t n = (size_t)bfs_min(8 * (uint64_t)len,
				   count_values(job) - 8 * off);

	BFS_TRY(gather(job, 8 * off, job->scratch, n, diag));
	return bfs_arrow_type_make(type, job->scratch, n, buf, diag);
}

/* Of values of some bytes, of which those at the ends may be cut. */
static enum bfs_err fill_values(const struct job *job, uint64_t off,
				uint8_t *buf, size_t len,
				struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &job->column->type;
	uint64_t first = off / type->width;
	size_t lead = (size_t)(off % type->width);
	size_t n = (lead + len + type->width - 1) / type->width;

	BFS_TRY(gather(job, first * type->src, job->scratch, n * type->src,
		       diag));
	BFS_TRY(bfs_arrow_type_make(type, job->scratch, n, job->made, diag));
	memcpy(buf, job->made + lead, len);
	return BFS_OK;
}

static bool is_copied(const struct bfs_arrow_column *column)
{
	return column->type.way == BFS_ARROW_COPY && column->type.swap == 1;
}

/* A buffer in pieces. */
static enum bfs_err fill_buffer(const struct job *job, bool is_bits,
				uint64_t off, uint8_t *buf, size_t len,
				struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &job->column->type;
	size_t most;

	if (!is_bits && is_copied(job->column))
		return gather(job, off, buf, len, diag);
	most = is_bits || !type->width ? PIECE / (8 * type->src) : PIECE / 4;
	while (len) {
		size_t n = (size_t)bfs_min(len, most);

		BFS_TRY(is_bits ? fill_bits(job, off, buf, n, diag) :
			!type->width ? fill_packed(job, off, buf, n, diag) :
				       fill_values(job, off, buf, n, diag));
		off += n;
		buf += n;
		len -= n;
	}
	return BFS_OK;
}

/* ---- bodies ---------------------------------------------------------- */

/* A range of a body that is being made, and where its next buffer begins. */
struct range {
	uint64_t off;
	uint8_t *buf;
	size_t len;
	uint64_t at;
};

/* The next buffer of the body: as much of it as is in the range. */
static enum bfs_err pass(const struct job *job, struct range *range,
			 bool is_bits, uint64_t buffer_len,
			 struct bfs_diag *diag)
{
	uint64_t start = bfs_max(range->at, range->off);
	uint64_t end = bfs_min(range->at + buffer_len,
			       range->off + range->len);
	uint64_t at = range->at;

	range->at += bfs_arrow_pad(buffer_len);
	if (start >= end)
		return BFS_OK;
	return fill_buffer(job, is_bits, start - at,
			   range->buf + (start - range->off),
			   (size_t)(end - start), diag);
}

static enum bfs_err fill_body(const struct bfs_arrow_table *table,
			      struct job *job, struct range *range,
			      struct bfs_diag *diag)
{
	/* Padding is zeros. */
	memset(range->buf, 0, range->len);
	for (size_t i = 0; i < table->n_columns; i++) {
		struct bfs_arrow_lens buffers;

		job->column = &table->columns[i];
		buffers = bfs_arrow_lens(job->column, job->run->n);
		BFS_TRY(pass(job, range, true, buffers.bits, diag));
		BFS_TRY(pass(job, range, false, buffers.data, diag));
		if (range->at >= range->off + range->len)
			break;
	}
	return BFS_OK;
}

/* Bytes of a batch's metadata. */
static enum bfs_err fill_meta(const struct bfs_arrow_table *table, size_t i,
			      const int64_t *n_nulls, uint64_t off,
			      uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	uint8_t *meta;
	size_t meta_len;

	BFS_TRY(bfs_arrow_make_batch(table, i, n_nulls ? n_nulls +
				     i * table->n_columns : NULL,
				     &meta, &meta_len, diag));
	memcpy(buf, meta + off, len);
	bfs_free(meta);
	return BFS_OK;
}

/* As much as lies in one part of the file: *ret_len of it. */
static enum bfs_err fill_some(const struct bfs_arrow_table *table,
			      struct job *job, const int64_t *n_nulls,
			      uint64_t off, uint8_t *buf, size_t len,
			      size_t *ret_len, struct bfs_diag *diag)
{
	struct range range = { .buf = buf };
	uint64_t in_batch;
	size_t i;

	if (off < table->head_len) {
		*ret_len = (size_t)bfs_min(len, table->head_len - off);
		memcpy(buf, table->head + off, *ret_len);
		return BFS_OK;
	}
	if (off >= table->tail_off) {
		*ret_len = len;
		memcpy(buf, table->tail + (off - table->tail_off), len);
		return BFS_OK;
	}
	i = bfs_arrow_batch_at(table, off, &in_batch);
	job->run = &table->runs[i];
	if (in_batch < table->meta_len) {
		*ret_len = (size_t)bfs_min(len, table->meta_len - in_batch);
		return fill_meta(table, i, n_nulls, in_batch, buf, *ret_len,
				 diag);
	}
	range.off = in_batch - table->meta_len;
	range.len = *ret_len =
		(size_t)bfs_min(len, bfs_arrow_body_len(table, job->run->n) -
				     range.off);
	return fill_body(table, job, &range, diag);
}

static enum bfs_err begin_job(const struct bfs_arrow_reader *reader,
			      struct job *ret_job, struct bfs_diag *diag)
{
	uint8_t *scratch = bfs_alloc(3 * PIECE);

	if (!scratch)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for values");
	*ret_job = (struct job){ .reader = reader, .scratch = scratch,
				 .made = scratch + PIECE,
				 .records = scratch + 2 * PIECE };
	return BFS_OK;
}

enum bfs_err bfs_arrow_fill(const struct bfs_arrow_table *table,
			    const struct bfs_arrow_reader *reader,
			    const int64_t *n_nulls, uint64_t off, uint8_t *buf,
			    size_t len, struct bfs_diag *diag)
{
	struct job job;
	enum bfs_err err = BFS_OK;

	BFS_TRY(begin_job(reader, &job, diag));
	while (len && err == BFS_OK) {
		size_t n;

		err = fill_some(table, &job, n_nulls, off, buf, len, &n, diag);
		if (err != BFS_OK)
			break;
		off += n;
		buf += n;
		len -= n;
	}
	bfs_free(job.scratch);
	return err;
}

/* ---- what need not be made ------------------------------------------- */

bool bfs_arrow_is_stored(const struct bfs_arrow_table *table, uint64_t off,
			 size_t *ret_store, uint64_t *ret_at, uint64_t *ret_len)
{
	const struct bfs_arrow_run *run;
	uint64_t in_body, at = 0;

	if (off < table->head_len || off >= table->tail_off)
		return false;
	run = &table->runs[bfs_arrow_batch_at(table, off, &in_body)];
	if (in_body < table->meta_len)
		return false;
	in_body -= table->meta_len;
	for (size_t i = 0; i < table->n_columns && at <= in_body; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		struct bfs_arrow_lens buffers =
			bfs_arrow_lens(column, run->n);

		at += bfs_arrow_pad(buffers.bits);
		if (in_body >= at && in_body - at < buffers.data) {
			*ret_store = column->store;
			*ret_at = column->off + run->first * column->step +
				  (in_body - at);
			*ret_len = buffers.data - (in_body - at);
			return is_copied(column) &&
			       column->step == column->row_len;
		}
		at += bfs_arrow_pad(buffers.data);
	}
	return false;
}

/* ---- nulls ----------------------------------------------------------- */

enum bfs_err bfs_arrow_count_nulls(const struct bfs_arrow_table *table,
				   const struct bfs_arrow_reader *reader,
				   size_t i, const struct bfs_arrow_run *run,
				   int64_t *ret_n, struct bfs_diag *diag)
{
	uint64_t len, off = 0, n_there = 0;
	enum bfs_err err = BFS_OK;
	struct job job;

	BFS_TRY(begin_job(reader, &job, diag));
	job.column = &table->columns[i];
	job.run = run;
	len = bfs_arrow_lens(job.column, run->n).bits;
	while (off < len && err == BFS_OK) {
		size_t n = (size_t)bfs_min(len - off,
					   PIECE / (8 * job.column->type.src));

		err = fill_bits(&job, off, job.made, n, diag);
		for (size_t k = 0; k < n && err == BFS_OK; k++)
			n_there += (unsigned)__builtin_popcount(job.made[k]);
		off += n;
	}
	*ret_n = (int64_t)(count_values(&job) - n_there);
	bfs_free(job.scratch);
	return err;
}
