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
#include "view/arrow/text.h"
#include "view/arrow/utf8.h"

#include <string.h>

#define PIECE BFS_ARROW_SCRATCH		/* bytes gathered at once */
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

/* ---- which values are there ------------------------------------------ */

/* Whether the value at `off`, itself too long to be gathered at once, is there:
 * is not the one that stands for none. */
static enum bfs_err compare_long(const struct job *job, uint64_t off,
				 bool *ret_there, struct bfs_diag *diag)
{
	const struct bfs_arrow_column *column = job->column;
	size_t len = column->type.src, n;

	*ret_there = column->nulls.rule != BFS_ARROW_SAME;
	for (size_t at = 0; at < len && !*ret_there; at += n) {
		n = (size_t)bfs_min(len - at, PIECE);
		BFS_TRY(gather(job, off + at, job->scratch, n, diag));
		*ret_there = memcmp(job->scratch, column->nulls.same + at, n);
	}
	return BFS_OK;
}

/* Of values that together are too long for that. */
static enum bfs_err look_at_long(const struct job *job, uint64_t off,
				 uint64_t len, bool *ret_there,
				 struct bfs_diag *diag)
{
	const struct bfs_arrow_column *column = job->column;
	size_t src = column->type.src, most = PIECE / src * src, n;

	*ret_there = false;
	for (; len && !*ret_there; off += n, len -= n) {
		n = (size_t)bfs_min(len, most ? most : src);
		if (!most) {
			BFS_TRY(compare_long(job, off, ret_there, diag));
			continue;
		}
		BFS_TRY(gather(job, off, job->scratch, n, diag));
		*ret_there = bfs_arrow_is_there(&column->nulls, &column->type,
						job->scratch, n / src);
	}
	return BFS_OK;
}

static void set_bit(uint8_t *buf, size_t i, bool value)
{
	buf[i / 8] |= (uint8_t)(value << i % 8);
}

/* n bits from `first` on, into bytes of zeros. */
static enum bfs_err look(const struct job *job, uint64_t first, size_t n,
			 uint8_t *buf, struct bfs_diag *diag)
{
	const struct bfs_arrow_column *column = job->column;
	uint64_t each = column->nulls.by_row ? column->per_row : 1;
	uint64_t len = each * column->type.src;
	bool there;

	for (size_t i = 0; i < n && len > PIECE; i++) {
		BFS_TRY(look_at_long(job, (first + i) * len, len, &there,
				     diag));
		set_bit(buf, i, there);
	}
	for (size_t i = 0; i < n && len <= PIECE;) {
		size_t some = (size_t)bfs_min(n - i, PIECE / len);

		BFS_TRY(gather(job, (first + i) * len, job->scratch,
			       some * (size_t)len, diag));
		for (size_t k = 0; k < some; k++, i++)
			set_bit(buf, i, bfs_arrow_is_there(
				&column->nulls, &column->type,
				job->scratch + k * len, each));
	}
	return BFS_OK;
}

/* The same where marks tell: a byte for each row. */
static enum bfs_err look_at_marks(const struct job *job, uint64_t first,
				  size_t n, uint8_t *buf, struct bfs_diag *diag)
{
	for (size_t i = 0; i < n;) {
		size_t some = (size_t)bfs_min(n - i, PIECE);

		BFS_TRY(job->reader->read(job->reader->arg,
					  job->column->nulls.marks,
					  job->run->first + first + i,
					  job->scratch, some, diag));
		for (size_t k = 0; k < some; k++, i++)
			set_bit(buf, i, job->scratch[k]);
	}
	return BFS_OK;
}

/* ---- texts with offsets ---------------------------------------------- */

/* Offsets [first, first + n) of the run, as stored, into scratch. Hostile ones
 * are errors: programs trust them. */
static enum bfs_err get_offsets(const struct job *job, uint64_t first,
				size_t n, struct bfs_diag *diag)
{
	const struct bfs_arrow_span *span =
		&job->run->texts[job->column->text];
	uint64_t last = span->start, v;
	uint8_t before[8];

	if (first) {
		BFS_TRY(gather(job, 8 * (first - 1), before, 8, diag));
		last = bfs_arrow_load(&job->column->type, before);
	}
	BFS_TRY(gather(job, 8 * first, job->scratch, 8 * n, diag));
	for (size_t i = 0; i < n; i++) {
		v = bfs_arrow_load(&job->column->type, job->scratch + 8 * i);
		if (v < last || v < span->start || v > span->end)
			return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
					"offsets of texts are not in order");
		last = v;
	}
	return BFS_OK;
}

/* The bytes of the run's texts. */
static struct bfs_arrow_texts texts_of(const struct job *job)
{
	return (struct bfs_arrow_texts){
		.reader = job->reader, .store = job->column->text_store,
		.span = job->run->texts[job->column->text] };
}

static enum bfs_err fill_offsets(const struct job *job, uint64_t off,
				 uint8_t *buf, size_t len,
				 struct bfs_diag *diag)
{
	const struct bfs_arrow_texts texts = texts_of(job);

	while (len) {
		size_t lead = (size_t)(off % 8);
		size_t n = (size_t)bfs_min((lead + len + 7) / 8, PIECE / 8);
		size_t done = (size_t)bfs_min(len, 8 * n - lead);

		BFS_TRY(get_offsets(job, off / 8, n, diag));
		BFS_TRY(bfs_arrow_check_begins(&texts, &job->column->type,
					       job->scratch, n, job->records,
					       diag));
		for (size_t i = 0; i < n; i++)
			bfs_arrow_store(job->made + 8 * i, bfs_arrow_load(
				&job->column->type, job->scratch + 8 * i) -
				texts.span.start, 8);
		memcpy(buf, job->made + lead, done);
		off += done;
		buf += done;
		len -= done;
	}
	return BFS_OK;
}

/* Whether a text is the one that stands for none. */
static enum bfs_err is_none(const struct job *job, uint64_t start, uint64_t end,
			    bool *ret_none, struct bfs_diag *diag)
{
	const struct bfs_arrow_nulls *nulls = &job->column->nulls;
	size_t n;

	*ret_none = end - start == nulls->same_len;
	for (size_t at = 0; at < nulls->same_len && *ret_none; at += n) {
		n = (size_t)bfs_min(nulls->same_len - at, PIECE);
		BFS_TRY(job->reader->read(job->reader->arg,
					  job->column->text_store, start + at,
					  job->records, n, diag));
		*ret_none = !memcmp(job->records, nulls->same + at, n);
	}
	return BFS_OK;
}

/* As look. */
static enum bfs_err look_at_texts(const struct job *job, uint64_t first,
				  size_t n, uint8_t *buf, struct bfs_diag *diag)
{
	for (size_t i = 0; i < n;) {
		size_t some = (size_t)bfs_min(n - i, PIECE / 8 - 1);

		BFS_TRY(get_offsets(job, first + i, some + 1, diag));
		for (size_t k = 0; k < some; k++, i++) {
			const uint8_t *p = job->scratch + 8 * k;
			bool none;

			BFS_TRY(is_none(job, bfs_arrow_load(
						&job->column->type, p),
					bfs_arrow_load(&job->column->type,
						       p + 8),
					&none, diag));
			set_bit(buf, i, !none);
		}
	}
	return BFS_OK;
}

/* ---- texts of fixed length ------------------------------------------- */

/* Of text number i, as stored at `from`: its slot, or its view. */
static enum bfs_err make_text(const struct job *job, bool slots, uint64_t i,
			      const uint8_t *from, struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &job->column->type;
	uint8_t *text = slots ? job->made : job->records;
	uint32_t len;

	memset(text, 0, type->src);
	BFS_TRY(bfs_arrow_utf8(type, from, text, &len, diag));
	if (!slots)
		bfs_arrow_view(type, text, len, i, job->made);
	else if (len <= BFS_ARROW_INLINE)
		memset(text, 0, len);
	return BFS_OK;
}

static enum bfs_err fill_texts(const struct job *job, bool slots, uint64_t off,
			       uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	size_t src = job->column->type.src, width = slots ? src : 16;

	while (len) {
		uint64_t first = off / width;
		size_t lead = (size_t)(off % width);
		size_t n = (size_t)bfs_min((lead + len + width - 1) / width,
					   PIECE / src);

		BFS_TRY(gather(job, first * src, job->scratch, n * src, diag));
		for (size_t i = 0; i < n; i++) {
			size_t done = (size_t)bfs_min(len, width - lead);

			BFS_TRY(make_text(job, slots, first + i,
					  job->scratch + i * src, diag));
			memcpy(buf, job->made + lead, done);
			off += done;
			buf += done;
			len -= done;
			lead = 0;
		}
	}
	return BFS_OK;
}

/* ---- buffers --------------------------------------------------------- */

/* Bytes [off, off + len) of bits. */
static enum bfs_err fill_bits(const struct job *job, uint64_t off, uint8_t *buf,
			      size_t len, struct bfs_diag *diag)
{
	size_t n = (size_t)bfs_min(8 * (uint64_t)len,
				   bfs_arrow_n_bits(job->column, job->run) -
				   8 * off);

	memset(buf, 0, len);
	if (job->column->nulls.rule == BFS_ARROW_MARKED)
		return look_at_marks(job, 8 * off, n, buf, diag);
	if (job->column->type.way == BFS_ARROW_OFFSETS)
		return look_at_texts(job, 8 * off, n, buf, diag);
	return look(job, 8 * off, n, buf, diag);
}

/* The same of the values, where these are bits. */
static enum bfs_err fill_packed(const struct job *job, uint64_t off,
				uint8_t *buf, size_t len,
				struct bfs_diag *diag)
{
	uint64_t all = job->run->n * job->column->per_row;
	size_t n = (size_t)bfs_min(8 * (uint64_t)len, all - 8 * off);

	BFS_TRY(gather(job, 8 * off, job->scratch, n, diag));
	return bfs_arrow_type_make(&job->column->type, job->scratch, n, buf,
				   diag);
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

/* Values in pieces. */
static enum bfs_err fill_data(const struct job *job, uint64_t off, uint8_t *buf,
			      size_t len, struct bfs_diag *diag)
{
	const struct bfs_arrow_type *type = &job->column->type;
	size_t most = type->width ? PIECE / 4 : PIECE / 8;

	if (is_copied(job->column))
		return gather(job, off, buf, len, diag);
	if (type->way == BFS_ARROW_OFFSETS)
		return fill_offsets(job, off, buf, len, diag);
	if (type->way == BFS_ARROW_VIEWS)
		return fill_texts(job, false, off, buf, len, diag);
	while (len) {
		size_t n = (size_t)bfs_min(len, most);

		BFS_TRY(type->width ? fill_values(job, off, buf, n, diag) :
				      fill_packed(job, off, buf, n, diag));
		off += n;
		buf += n;
		len -= n;
	}
	return BFS_OK;
}

/* The bytes of texts. */
static enum bfs_err fill_more(const struct job *job, uint64_t off, uint8_t *buf,
			      size_t len, struct bfs_diag *diag)
{
	struct bfs_arrow_texts texts;

	if (job->column->type.way == BFS_ARROW_VIEWS)
		return fill_texts(job, true, off, buf, len, diag);
	texts = texts_of(job);
	return bfs_arrow_read_texts(&texts, texts.span.start + off, buf, len,
				    diag);
}

/* ---- bodies ---------------------------------------------------------- */

/* A range of a body that is being made, and where its next buffer begins. */
struct range {
	uint64_t off;
	uint8_t *buf;
	size_t len;
	uint64_t at;
};

typedef enum bfs_err fill_fn(const struct job *job, uint64_t off, uint8_t *buf,
			     size_t len, struct bfs_diag *diag);

/* The next buffer of the body: as much of it as is in the range. */
static enum bfs_err pass(const struct job *job, struct range *range,
			 fill_fn *fill, uint64_t buffer_len,
			 struct bfs_diag *diag)
{
	uint64_t start = bfs_max(range->at, range->off);
	uint64_t end = bfs_min(range->at + buffer_len,
			       range->off + range->len);
	uint64_t at = range->at;

	range->at += bfs_arrow_pad(buffer_len);
	if (start >= end)
		return BFS_OK;
	return fill(job, start - at, range->buf + (start - range->off),
		    (size_t)(end - start), diag);
}

static enum bfs_err fill_body(const struct bfs_arrow_table *table,
			      struct job *job, struct range *range,
			      struct bfs_diag *diag)
{
	/* Padding is zeros. */
	memset(range->buf, 0, range->len);
	for (size_t i = 0; i < table->n_columns; i++) {
		struct bfs_arrow_lens lens;

		job->column = &table->columns[i];
		lens = bfs_arrow_lens(job->column, job->run);
		BFS_TRY(pass(job, range, fill_bits, lens.bits, diag));
		BFS_TRY(pass(job, range, fill_data, lens.data, diag));
		BFS_TRY(pass(job, range, fill_more, lens.more, diag));
		if (range->at >= range->off + range->len)
			break;
	}
	return BFS_OK;
}

/* Bytes of a batch's metadata. */
static enum bfs_err fill_meta(const struct bfs_arrow_table *table, size_t i,
			      const struct bfs_arrow_counter *counter,
			      uint64_t off, uint8_t *buf, size_t len,
			      struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) int64_t *n_nulls =
		bfs_zalloc(table->n_columns, sizeof(*n_nulls));
	uint8_t *meta;
	size_t meta_len;

	if (!n_nulls)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for counts");
	if (counter)
		BFS_TRY(counter->count(counter->arg, i, n_nulls, diag));
	BFS_TRY(bfs_arrow_make_batch(table, i, n_nulls, &meta, &meta_len,
				     diag));
	memcpy(buf, meta + off, len);
	bfs_free(meta);
	return BFS_OK;
}

/* As much as lies in one part of the file: *ret_len of it. */
static enum bfs_err fill_some(const struct bfs_arrow_table *table,
			      struct job *job,
			      const struct bfs_arrow_counter *counter,
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
	if (in_batch < job->run->meta_len) {
		*ret_len = (size_t)bfs_min(len, job->run->meta_len - in_batch);
		return fill_meta(table, i, counter, in_batch, buf, *ret_len,
				 diag);
	}
	range.off = in_batch - job->run->meta_len;
	range.len = *ret_len =
		(size_t)bfs_min(len, bfs_arrow_body_len(table, job->run) -
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
			    const struct bfs_arrow_counter *counter,
			    uint64_t off, uint8_t *buf, size_t len,
			    struct bfs_diag *diag)
{
	struct job job;
	enum bfs_err err = BFS_OK;

	BFS_TRY(begin_job(reader, &job, diag));
	while (len && err == BFS_OK) {
		size_t n;

		err = fill_some(table, &job, counter, off, buf, len, &n, diag);
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
	if (in_body < run->meta_len)
		return false;
	in_body -= run->meta_len;
	for (size_t i = 0; i < table->n_columns && at <= in_body; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		struct bfs_arrow_lens lens = bfs_arrow_lens(column, run);

		at += bfs_arrow_pad(lens.bits);
		if (in_body >= at && in_body - at < lens.data) {
			*ret_store = column->store;
			*ret_at = column->off + run->first * column->step +
				  (in_body - at);
			*ret_len = lens.data - (in_body - at);
			return is_copied(column) &&
			       column->step == column->row_len;
		}
		at += bfs_arrow_pad(lens.data) + bfs_arrow_pad(lens.more);
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
	uint8_t bits[512];
	struct job job;

	BFS_TRY(begin_job(reader, &job, diag));
	job.column = &table->columns[i];
	job.run = run;
	len = bfs_arrow_lens(job.column, run).bits;
	while (off < len && err == BFS_OK) {
		size_t n = (size_t)bfs_min(len - off, sizeof(bits));

		err = fill_bits(&job, off, bits, n, diag);
		for (size_t k = 0; k < n && err == BFS_OK; k++)
			n_there += (unsigned)__builtin_popcount(bits[k]);
		off += n;
	}
	*ret_n = (int64_t)(bfs_arrow_n_bits(job.column, run) - n_there);
	bfs_free(job.scratch);
	return err;
}
