/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pages.c - a TIFF file of an array: its head, and its directories made one
 * by one.
 */
#include "view/image/pages.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum tag {
	TAG_WIDTH = 256,
	TAG_HEIGHT = 257,
	TAG_BITS = 258,
	TAG_COMPRESSION = 259,
	TAG_PHOTOMETRIC = 262,
	TAG_DESCRIPTION = 270,
	TAG_OFFSETS = 273,
	TAG_SAMPLES = 277,
	TAG_ROWS = 278,
	TAG_COUNTS = 279,
	TAG_PLANAR = 284,
	TAG_EXTRA = 338,
	TAG_FORMAT = 339,
};

enum type { TYPE_ASCII = 2, TYPE_SHORT = 3, TYPE_LONG = 4, TYPE_LONG8 = 16 };

#define MAX_DIR 320		/* bytes of a directory: 13 entries of 20 */
#define DATA_ALIGN 64
/* In the head: bits and formats of up to four samples, then the text. */
#define BITS_OFF 16
#define FORMATS_OFF 24
#define TEXT_OFF 32

/* ---- which pages an array has ---------------------------------------- */

/* ImageJ has up to three dimensions besides those of a page. Pages of colours
 * of two bytes it takes apart into channels, but only where it finds them by
 * itself; those of four samples it takes for three. */
static void write_text(struct bfs_pages *pages, const struct bfs_plain *plain,
		       unsigned n_outer)
{
	static const char *const names[] = { "frames", "slices", "channels" };
	size_t room = sizeof(pages->text), len;

	if (pages->n > INT32_MAX || pages->samples == 4 ||
	    (pages->samples == 3 && plain->size == 2))
		return;
	len = (size_t)snprintf(pages->text, room, "ImageJ=1.11a\nimages=%"
			       PRIu64 "\n", pages->n);
	if (n_outer < 2 || n_outer > 3) {
		snprintf(pages->text + len, room - len,
			 "slices=%" PRIu64 "\nloop=false\n", pages->n);
		return;
	}
	for (unsigned d = 0; d < n_outer; d++)
		len += (size_t)snprintf(pages->text + len, room - len,
					"%s=%" PRIu64 "\n", names[d],
					plain->shape[d]);
	snprintf(pages->text + len, room - len,
		 "hyperstack=true\nloop=false\n");
}

static bool has_samples(const struct bfs_plain *plain)
{
	uint64_t last = plain->n ? plain->shape[plain->n - 1] : 0;

	return plain->n >= 3 && (last == 3 || last == 4) &&
	       plain->kind == 'u' && plain->size <= 2;
}

enum bfs_err bfs_pages_cut(const struct bfs_plain *plain,
			   struct bfs_pages *ret_pages, struct bfs_diag *diag)
{
	struct bfs_pages pages = { .samples = 1 };
	unsigned n = plain->n;

	if (n < 2)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"TIFF has at least two dimensions");
	if (plain->kind == 'c')
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"programs read no complex numbers from TIFF");
	if (plain->fortran)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"TIFF has rows, and the items are in order F");
	if (has_samples(plain))
		pages.samples = (unsigned)plain->shape[--n];
	pages.width = plain->shape[n - 1];
	pages.height = plain->shape[n - 2];
	if (pages.width > INT32_MAX || pages.height > INT32_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"more rows or columns than TIFF has");
	/* A part of plain->len, which fits. */
	pages.page_len = pages.width * pages.height * pages.samples *
			 plain->size;
	pages.n = plain->len / pages.page_len;
	pages.for_imagej = plain->size < 4 ? plain->kind != 'f'
					   : plain->size == 4;
	write_text(&pages, plain, n - 2);
	*ret_pages = pages;
	return BFS_OK;
}

/* ---- where everything lies ------------------------------------------- */

static unsigned count_entries(const struct bfs_pages *pages, bool first)
{
	return 11U + (pages->samples == 4 ? 1 : 0) +
	       (first && pages->text[0] ? 1 : 0);
}

static uint64_t measure_dir(const struct bfs_tiff_form *form, bool first)
{
	uint64_t n = count_entries(&form->pages, first);

	return bfs_div_up(form->is_big ? 16 + 20 * n : 6 + 12 * n, 8) * 8;
}

static void make_head(struct bfs_tiff_form *form)
{
	size_t len = strlen(form->pages.text);
	uint8_t *p = form->head;
	bool msb = form->msb;

	BFS_CHECK(TEXT_OFF + len + 1 <= sizeof(form->head));
	memcpy(p, msb ? "MM" : "II", 2);
	bfs_plain_store(p + 2, form->is_big ? 43 : 42, 2, msb);
	if (form->is_big) {
		bfs_plain_store(p + 4, 8, 2, msb);
		bfs_plain_store(p + 8, form->dirs_off, 8, msb);
	} else {
		bfs_plain_store(p + 4, form->dirs_off, 4, msb);
	}
	for (unsigned i = 0; i < 4; i++) {
		bfs_plain_store(p + BITS_OFF + 2 * i, 8 * form->size, 2, msb);
		bfs_plain_store(p + FORMATS_OFF + 2 * i,
				form->kind == 'u' ? 1 :
				form->kind == 'i' ? 2 : 3, 2, msb);
	}
	memcpy(p + TEXT_OFF, form->pages.text, len + 1);
	form->head_len = TEXT_OFF + len + 1;
}

enum bfs_err bfs_pages_lay(const struct bfs_plain *plain,
			   const struct bfs_pages *pages, bool is_big,
			   uint64_t n_dirs, struct bfs_tiff_form *ret_form,
			   struct bfs_diag *diag)
{
	struct bfs_tiff_form form = {
		.is_big = is_big, .msb = plain->big, .size = plain->size,
		.kind = plain->kind, .n_dirs = n_dirs, .pages = *pages };
	uint64_t rest, end, limit;

	form.dirs_off = (TEXT_OFF + strlen(pages->text) + 1 + 7) / 8 * 8;
	form.first_len = measure_dir(&form, true);
	form.dir_len = measure_dir(&form, false);
	if (!bfs_mul(n_dirs - 1, form.dir_len, &rest) || rest > INT64_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the array has too many pages");
	form.data_off = form.dirs_off + form.first_len + rest;
	form.data_off = bfs_div_up(form.data_off, DATA_ALIGN) * DATA_ALIGN;
	/* What lies behind the first page needs no place of its own where only
	 * that one has a directory. */
	limit = is_big ? INT64_MAX : UINT32_MAX;
	if (form.data_off > limit ||
	    !bfs_add(form.data_off, n_dirs < pages->n ? pages->page_len
						      : plain->len, &end) ||
	    end > limit || plain->len > INT64_MAX - form.data_off)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the file would be too long");
	make_head(&form);
	*ret_form = form;
	return BFS_OK;
}

/* ---- directories ----------------------------------------------------- */

/* A directory that is being written. */
struct dir {
	const struct bfs_tiff_form *form;
	uint8_t *at;
};

static void put(struct dir *d, uint64_t v, unsigned n)
{
	bfs_plain_store(d->at, v, n, d->form->msb);
	d->at += n;
}

/* One entry; what it holds, or where that lies, stands flush left. */
static void put_entry(struct dir *d, enum tag tag, enum type type,
		      uint64_t count, uint64_t value, unsigned value_len)
{
	unsigned room = d->form->is_big ? 8 : 4;

	put(d, tag, 2);
	put(d, type, 2);
	put(d, count, room);
	bfs_plain_store(d->at, value, value_len, d->form->msb);
	d->at += room;
}

static void put_short(struct dir *d, enum tag tag, uint64_t value)
{
	put_entry(d, tag, TYPE_SHORT, 1, value, 2);
}

static void put_long(struct dir *d, enum tag tag, uint64_t value)
{
	put_entry(d, tag, TYPE_LONG, 1, value, 4);
}

static void put_place(struct dir *d, enum tag tag, uint64_t value)
{
	if (d->form->is_big)
		put_entry(d, tag, TYPE_LONG8, 1, value, 8);
	else
		put_long(d, tag, value);
}

/* A number for each sample: one alone stands in the entry, others in the
 * head, or, in BigTIFF, in the entry as well. */
static void put_samples(struct dir *d, enum tag tag, unsigned head_off)
{
	const struct bfs_tiff_form *form = d->form;
	unsigned n = form->pages.samples, room = form->is_big ? 8 : 4;

	if (2 * n > room) {
		put_entry(d, tag, TYPE_SHORT, n, head_off, room);
		return;
	}
	put_entry(d, tag, TYPE_SHORT, n, 0, 0);
	memcpy(d->at - room, form->head + head_off, 2 * n);
}

static uint64_t dir_off(const struct bfs_tiff_form *form, uint64_t k)
{
	return form->dirs_off +
	       (k ? form->first_len + (k - 1) * form->dir_len : 0);
}

static void write_dir(const struct bfs_tiff_form *form, uint64_t k,
		      uint8_t buf[MAX_DIR])
{
	const struct bfs_pages *pages = &form->pages;
	unsigned room = form->is_big ? 8 : 4;
	struct dir d = { form, buf };

	memset(buf, 0, MAX_DIR);
	put(&d, count_entries(pages, k == 0), form->is_big ? 8 : 2);
	put_long(&d, TAG_WIDTH, pages->width);
	put_long(&d, TAG_HEIGHT, pages->height);
	put_samples(&d, TAG_BITS, BITS_OFF);
	put_short(&d, TAG_COMPRESSION, 1);
	put_short(&d, TAG_PHOTOMETRIC, pages->samples > 1 ? 2 : 1);
	if (k == 0 && pages->text[0])
		put_entry(&d, TAG_DESCRIPTION, TYPE_ASCII,
			  strlen(pages->text) + 1, TEXT_OFF, room);
	put_place(&d, TAG_OFFSETS, form->data_off + k * pages->page_len);
	put_short(&d, TAG_SAMPLES, pages->samples);
	put_long(&d, TAG_ROWS, pages->height);
	put_place(&d, TAG_COUNTS, pages->page_len);
	put_short(&d, TAG_PLANAR, 1);
	if (pages->samples == 4)
		put_short(&d, TAG_EXTRA, 2);
	put_samples(&d, TAG_FORMAT, FORMATS_OFF);
	put(&d, k + 1 < form->n_dirs ? dir_off(form, k + 1) : 0, room);
	BFS_CHECK(d.at <= buf + MAX_DIR);
}

/* The directory that off lies in, or the last one before it. */
static uint64_t find_dir(const struct bfs_tiff_form *form, uint64_t off)
{
	uint64_t at = off - form->dirs_off;

	if (at < form->first_len)
		return 0;
	return bfs_min(1 + (at - form->first_len) / form->dir_len,
		       form->n_dirs - 1);
}

/* Bytes of src, which lies at src_off, that are in [off, off + len). */
static void overlay(uint64_t off, uint8_t *buf, size_t len, uint64_t src_off,
		    const uint8_t *src, size_t src_len)
{
	uint64_t from = bfs_max(off, src_off);
	uint64_t to = bfs_min(off + len, src_off + src_len);

	if (from < to)
		memcpy(buf + (from - off), src + (from - src_off),
		       (size_t)(to - from));
}

void bfs_pages_fill(const struct bfs_tiff_form *form, uint64_t off,
		    uint8_t *buf, size_t len)
{
	uint8_t dir[MAX_DIR];

	memset(buf, 0, len);
	overlay(off, buf, len, 0, form->head, form->head_len);
	if (off + len <= form->dirs_off)
		return;
	for (uint64_t k = find_dir(form, bfs_max(off, form->dirs_off));
	     k < form->n_dirs && dir_off(form, k) < off + len; k++) {
		write_dir(form, k, dir);
		overlay(off, buf, len, dir_off(form, k), dir,
			(size_t)(k ? form->dir_len : form->first_len));
	}
}
