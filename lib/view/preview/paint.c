/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paint.c - numbers as shades, and a curve.
 */
#include "view/preview/paint.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The palette: shades of grey, then what is none. */
enum {
	SHADES = 250,
	CLEAR = SHADES,		/* nothing, or NaN */
	HATCH,			/* and its lines */
	HATCH_LINE,
	CURVE,
	ZERO,			/* a line where it lies */
};

static const uint8_t colours[][3] = {
	[CLEAR - SHADES] = { 255, 255, 255 },
	[HATCH - SHADES] = { 213, 94, 0 },
	[HATCH_LINE - SHADES] = { 0, 0, 0 },
	[CURVE - SHADES] = { 47, 123, 214 },
	[ZERO - SHADES] = { 150, 150, 150 },
};

struct bfs_png bfs_paint_form(const struct bfs_preview_plan *plan)
{
	return (struct bfs_png){ .width = plan->width,
				 .height = plan->height,
				 .is_rgb = plan->channels > 1 };
}

static void make_palette(uint8_t *palette, uint8_t *alpha)
{
	memset(palette, 0, (size_t)3 * BFS_PNG_COLOURS);
	memset(alpha, 255, BFS_PNG_COLOURS);
	for (unsigned i = 0; i < SHADES; i++)
		memset(palette + 3 * i, (int)(i * 255 / (SHADES - 1)), 3);
	memcpy(palette + (size_t)3 * SHADES, colours, sizeof(colours));
	alpha[CLEAR] = 0;
}

static uint8_t hatch(unsigned x, unsigned y)
{
	return (x + y) % 8 < 3 ? HATCH_LINE : HATCH;
}

/* ---- scales ---------------------------------------------------------- */

struct scale {
	double low, high;
};

static int compare(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Numbers that count, sorted; their number. */
static size_t sort_numbers(const struct bfs_preview_plan *plan,
			   const struct bfs_preview_seen *seen, double *sorted)
{
	size_t n_places = (size_t)plan->x.n_seen * plan->y.n_seen, n = 0;
	unsigned per_place = plan->is_curve ? 2 : plan->channels;

	for (size_t i = 0; i < n_places; i++)
		for (unsigned c = 0; c < per_place && c < 3; c++) {
			double v = seen->value[i * per_place + c];

			if (isfinite(v) && (plan->is_curve || !seen->bad[i]))
				sorted[n++] = v;
		}
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), compare);
	return n;
}

static enum bfs_err find_scale(const struct bfs_preview_plan *plan,
			       const struct bfs_preview_seen *seen,
			       struct scale *ret_scale, struct bfs_diag *diag)
{
	size_t n = (size_t)plan->x.n_seen * plan->y.n_seen * 4;
	BFS_CLEANUP(bfs_freep) double *sorted = bfs_zalloc(n, sizeof(*sorted));
	size_t cut;

	if (!sorted)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	n = sort_numbers(plan, seen, sorted);
	*ret_scale = (struct scale){ 0, 0 };
	if (!n)
		return BFS_OK;
	cut = plan->is_curve ? 0 : n / 50;
	*ret_scale = (struct scale){ sorted[cut], sorted[n - 1 - cut] };
	if (!(ret_scale->low < ret_scale->high))
		*ret_scale = (struct scale){ sorted[0], sorted[n - 1] };
	return BFS_OK;
}

/* From 0 to 1; in the middle where all numbers are one. Halves do not
 * overflow. */
static double fraction(const struct scale *scale, double v)
{
	double f;

	if (v <= scale->low)
		return scale->low < scale->high || v < scale->low ? 0 : 0.5;
	if (v >= scale->high)
		return 1;
	f = (v / 2 - scale->low / 2) / (scale->high / 2 - scale->low / 2);
	return f >= 0 ? (f <= 1 ? f : 1) : 0.5;
}

/* ---- a slice --------------------------------------------------------- */

static void paint_pixel(const struct bfs_preview_plan *plan,
			const struct scale *scale, const double *value,
			uint8_t *pixel)
{
	if (plan->channels > 1)
		for (unsigned c = 0; c < 3; c++)
			pixel[c] = (uint8_t)(
				fraction(scale, value[c]) * 255 + 0.5);
	else if (isnan(*value))
		*pixel = CLEAR;
	else
		*pixel = (uint8_t)(fraction(scale, *value) *
				   (SHADES - 1) + 0.5);
}

static void paint_slice(const struct bfs_preview_plan *plan,
			const struct bfs_preview_seen *seen,
			const struct scale *scale, uint8_t *pixels)
{
	unsigned n_bytes = plan->channels > 1 ? 3 : 1;

	for (unsigned y = 0; y < plan->height; y++)
		for (unsigned x = 0; x < plan->width; x++, pixels += n_bytes) {
			size_t at = (size_t)y * plan->y.n_seen / plan->height *
				    plan->x.n_seen +
				    (size_t)x * plan->x.n_seen / plan->width;

			if (!seen->bad[at])
				paint_pixel(plan, scale, seen->value +
					    at * plan->channels, pixels);
			else if (plan->channels > 1)
				memcpy(pixels, colours[hatch(x, y) - SHADES],
				       3);
			else
				*pixels = hatch(x, y);
		}
}

/* ---- a curve --------------------------------------------------------- */

/* The row of a number, from the top. */
static unsigned row_of(const struct bfs_preview_plan *plan,
		       const struct scale *scale, double v)
{
	return (unsigned)((1 - fraction(scale, v)) *
			  (plan->height - 1 - 8) + 0.5) + 4;
}

/* From the least to the greatest number of a column, and on to those of the
 * column before: top and bottom, of which the last are kept. */
static void paint_column(const struct bfs_preview_plan *plan, unsigned x,
			 unsigned top, unsigned bottom, uint8_t *pixels)
{
	for (unsigned y = top; y <= bottom; y++)
		pixels[(size_t)y * plan->width + x] = CURVE;
}

static void paint_curve(const struct bfs_preview_plan *plan,
			const struct bfs_preview_seen *seen,
			const struct scale *scale, uint8_t *pixels)
{
	unsigned last_top = UINT32_MAX, last_bottom = 0;

	memset(pixels, CLEAR, (size_t)plan->width * plan->height);
	if (scale->low < 0 && scale->high > 0)
		memset(pixels + (size_t)row_of(plan, scale, 0) * plan->width,
		       ZERO, plan->width);
	for (unsigned x = 0; x < plan->width; x++) {
		size_t at = (size_t)x * plan->x.n_seen / plan->width;
		const double *value = seen->value + 2 * at;
		unsigned top, bottom;

		for (unsigned y = 0; seen->bad[at] && y < plan->height; y++)
			pixels[(size_t)y * plan->width + x] = hatch(x, y);
		if (seen->bad[at] || isnan(value[0])) {
			last_top = UINT32_MAX;
			continue;
		}
		top = row_of(plan, scale, value[1]);
		bottom = row_of(plan, scale, value[0]);
		if (last_top == UINT32_MAX) {
			last_top = top;
			last_bottom = bottom;
		}
		paint_column(plan, x,
			     (unsigned)bfs_min(top, last_bottom),
			     (unsigned)bfs_max(bottom, last_top), pixels);
		last_top = top;
		last_bottom = bottom;
	}
}

enum bfs_err bfs_paint(const struct bfs_preview_plan *plan,
		       const struct bfs_preview_seen *seen, uint8_t *buf,
		       struct bfs_diag *diag)
{
	struct bfs_png form = bfs_paint_form(plan);
	BFS_CLEANUP(bfs_freep) uint8_t *pixels =
		bfs_alloc(bfs_png_pixels(&form));
	uint8_t palette[3 * BFS_PNG_COLOURS], alpha[BFS_PNG_COLOURS];
	struct scale scale;

	if (!pixels)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	BFS_TRY(find_scale(plan, seen, &scale, diag));
	if (plan->is_curve)
		paint_curve(plan, seen, &scale, pixels);
	else
		paint_slice(plan, seen, &scale, pixels);
	make_palette(palette, alpha);
	bfs_png_write(&form, pixels, palette, alpha, buf);
	return BFS_OK;
}
