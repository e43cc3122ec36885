/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draw.c - the shape of an array as a drawing.
 */
#include "view/html/draw.h"

#include "base/bytes.h"

#include <inttypes.h>

#define SIDE 300		/* pixels of the longer side */
#define NARROW 40		/* of the shorter one, at least */
#define LINES 60		/* of a grid that are drawn at most */
#define SHEET 8			/* pixels between sheets */
#define LEFT 10
#define TOP 22

/* One dimension of the drawing. */
struct side {
	uint64_t n, chunk, block;	/* items */
	unsigned len;			/* pixels */
};

static struct side get_side(const struct bfs_array_meta *array, unsigned d)
{
	struct side side = { .n = (uint64_t)array->shape[d] };

	side.chunk = bfs_min((uint64_t)array->chunkshape[d], side.n);
	side.block = side.chunk;
	if (array->blockshape[d] > 0)
		side.block = bfs_min((uint64_t)array->blockshape[d],
				     side.chunk);
	return side;
}

static unsigned scale(uint64_t n, uint64_t longest)
{
	double len = SIDE * ((double)n / (double)longest);

	return len < NARROW ? NARROW : (unsigned)len;
}

/* Where the item is, in pixels. */
static double at(const struct side *side, uint64_t item)
{
	return side->len * ((double)item / (double)side->n);
}

/* Lines every `step` items across `extent` pixels of the other side, up to
 * `end`; none where they would be too close. */
static void put_lines(struct bfs_markup *page, const char *class,
		      const struct side *side, uint64_t step, uint64_t end,
		      double extent, bool across)
{
	if (bfs_div_up(end, step) > LINES)
		return;
	for (uint64_t i = step; i < end; i += step) {
		double p = at(side, i);

		if (across)
			bfs_markup_put(page, "<path class=\"%s\" "
				       "d=\"M%d %.1fh%.1f\"/>", class, LEFT,
				       TOP + p, extent);
		else
			bfs_markup_put(page, "<path class=\"%s\" "
				       "d=\"M%.1f %dv%.1f\"/>", class,
				       LEFT + p, TOP, extent);
	}
}

static void put_sheets(struct bfs_markup *page, const struct side *x,
		       const struct side *y, unsigned n)
{
	for (unsigned i = n; i-- > 0;)
		bfs_markup_put(page, "<path class=\"a\" d=\"M%u %uh%uv%uh-%uz\""
			       "/>", LEFT + i * SHEET, TOP - i * SHEET,
			       x->len, y->len, x->len);
}

static void put_grid(struct bfs_markup *page, const struct side *x,
		     const struct side *y)
{
	double w = at(x, x->chunk), h = at(y, y->chunk);

	put_lines(page, "c", x, x->chunk, x->n, y->len, false);
	put_lines(page, "c", y, y->chunk, y->n, x->len, true);
	bfs_markup_put(page, "<path class=\"f\" d=\"M%d %dh%.1fv%.1fh-%.1fz\""
		       "/>", LEFT, TOP, w, h, w);
	put_lines(page, "b", x, x->block, x->chunk, h, false);
	put_lines(page, "b", y, y->block, y->chunk, w, true);
}

static bool is_drawable(const struct bfs_array_meta *array)
{
	if (array->ndim == 0 || array->ndim > BFS_MAX_DIM)
		return false;
	for (unsigned d = 0; d < array->ndim; d++)
		if (array->shape[d] <= 0 || array->chunkshape[d] <= 0)
			return false;
	return true;
}

void bfs_html_draw(struct bfs_markup *page, const struct bfs_array_meta *array)
{
	unsigned n = array->ndim, sheets = n > 2 ? 3 : 1;
	struct side x, y = { 1, 1, 1, NARROW };

	if (!is_drawable(array))
		return;
	x = get_side(array, n - 1);
	if (n > 1)
		y = get_side(array, n - 2);
	x.len = scale(x.n, bfs_max(x.n, y.n));
	if (n > 1)
		y.len = scale(y.n, bfs_max(x.n, y.n));
	bfs_markup_put(page, "<svg class=\"grid\" role=\"img\" viewBox=\"0 0 "
		       "%u %u\"><title>chunks, and the blocks of the first"
		       "</title>", LEFT * 2 + x.len + 20 + 80,
		       TOP + y.len + 24);
	put_sheets(page, &x, &y, sheets);
	put_grid(page, &x, &y);
	bfs_markup_put(page, "<text x=\"%d\" y=\"%u\">", LEFT,
		       TOP + y.len + 16);
	bfs_markup_count(page, x.n);
	bfs_markup_put(page, "</text>");
	if (n > 1) {
		bfs_markup_put(page, "<text x=\"%u\" y=\"%u\">",
			       LEFT + x.len + 22, TOP + y.len / 2 + 4);
		bfs_markup_count(page, y.n);
		bfs_markup_put(page, "</text>");
	}
	bfs_markup_put(page, "</svg>\n");
}
