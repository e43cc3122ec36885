/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.c - the map drawn: a head that says what the container is and what was
 * counted, then the cells.
 *
 * The head and each cell are padded with blanks to lengths of their own, so
 * that the size is known from the number of chunks alone. All words in it are
 * ours: nothing needs escaping.
 */
#include "view/map/svg.h"

#include "base/bytes.h"
#include "codec/codec.h"
#include "filter/filter.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEAD_LEN 8192		/* bytes before the cells */
#define CELL_LEN 160		/* bytes of one */
#define TAIL "</svg>\n"
#define MAX_WORDS 76		/* of a cell's title */

/* Viridis, which all eyes tell apart, by rising ratio; patterns for the rest
 * are in the head. */
static const struct {
	const char *fill;
	const char *label;
} paints[MAP_PAINTS] = {
	{ "#440154", "&lt; 1.1" },
	{ "#46327e", "&#8805; 1.1" },
	{ "#365c8d", "&#8805; 1.5" },
	{ "#277f8e", "&#8805; 2" },
	{ "#1fa187", "&#8805; 4" },
	{ "#4ac16d", "&#8805; 8" },
	{ "#a0da39", "&#8805; 16" },
	{ "#fde725", "&#8805; 64" },
	[MAP_STORED] = { "#8c8c8c", "stored" },
	[MAP_SPECIAL] = { "url(#s)", "special" },
	[MAP_UNSUPPORTED] = { "url(#u)", "unsupported" },
	[MAP_DAMAGED] = { "url(#d)", "damaged" },
};

static const char patterns[] =
	"<defs>"
	"<pattern id=\"s\" width=\"6\" height=\"6\" "
	"patternUnits=\"userSpaceOnUse\"><path d=\"M0 0h6v6H0z\" "
	"fill=\"#fff\"/><path d=\"M-1 1l2-2M0 6l6-6M5 7l2-2\" "
	"stroke=\"#9aa\"/></pattern>\n"
	"<pattern id=\"u\" width=\"6\" height=\"6\" "
	"patternUnits=\"userSpaceOnUse\"><path d=\"M0 0h6v6H0z\" "
	"fill=\"#cc79a7\"/><path d=\"M1 1h2v2H1z\" fill=\"#000\"/>"
	"</pattern>\n"
	"<pattern id=\"d\" width=\"8\" height=\"8\" "
	"patternUnits=\"userSpaceOnUse\"><path d=\"M0 0h8v8H0z\" "
	"fill=\"#d55e00\"/><path d=\"M0 0l8 8M0 8l8-8\" "
	"stroke=\"#000\"/></pattern></defs>\n";

/* Text of a fixed length in the making. */
struct text {
	char *buf;
	size_t len, cap;
	bool full;
};

__attribute__((format(printf, 2, 3)))
static void put(struct text *text, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text->buf + text->len, text->cap - text->len, fmt,
			args);
	va_end(args);
	if (len < 0 || (size_t)len >= text->cap - text->len)
		text->full = true;
	else
		text->len += (size_t)len;
}

/* Fills up to len bytes, the last of which ends a line. */
static void pad(struct text *text, size_t len)
{
	if (text->full || text->len >= len || len > text->cap) {
		text->full = true;
		return;
	}
	memset(text->buf + text->len, ' ', len - text->len);
	text->buf[len - 1] = '\n';
	text->len = len;
}

/* ---- a cell ---------------------------------------------------------- */

static void put_words(char words[MAX_WORDS], const struct bfs_grid *l,
		      unsigned cell, const struct bfs_seen *sum)
{
	uint64_t first = cell * l->per_cell;
	uint64_t last = bfs_min(first + l->per_cell, l->n_chunks) - 1;
	struct text text = { .buf = words, .cap = MAX_WORDS };

	put(&text, "%" PRIu64, first);
	if (last > first)
		put(&text, "-%" PRIu64, last);
	if (sum->cbytes)
		put(&text, ": %" PRIu64 ".%02" PRIu64 "x",
		    bfs_map_ratio(sum) / 100, bfs_map_ratio(sum) % 100);
	for (size_t i = MAP_STORED; i < MAP_PAINTS; i++) {
		if (sum->n[i] && l->per_cell == 1)
			put(&text, ", %s", paints[i].label);
		else if (sum->n[i])
			put(&text, ", %" PRIu64 " %s", sum->n[i],
			    paints[i].label);
	}
}

static void put_cell(struct text *text, const struct bfs_grid *l, unsigned cell,
		     const struct bfs_seen *sum)
{
	char words[MAX_WORDS] = "";
	size_t end = text->len + CELL_LEN;

	put_words(words, l, cell, sum);
	put(text, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
	    "fill=\"%s\"><title>%s</title></rect>",
	    MAP_LEFT + cell % l->n_columns * l->size,
	    MAP_TOP + cell / l->n_columns * l->size, l->size - 1, l->size - 1,
	    paints[bfs_map_paint(sum)].fill, words);
	pad(text, end);
}

/* ---- the head -------------------------------------------------------- */

/* "1.5 MiB" */
static void put_size(struct text *text, uint64_t n)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	uint64_t rest = 0;
	size_t unit = 0;

	for (; n >= 1024; unit++) {
		rest = n % 1024;
		n /= 1024;
	}
	if (unit == 0 || n >= 100)
		put(text, "%" PRIu64 " %s", n, units[unit]);
	else
		put(text, "%" PRIu64 ".%" PRIu64 " %s", n, rest * 10 / 1024,
		    units[unit]);
}

static void put_title(struct text *text, const struct bfs_container *container)
{
	put(text, "%" PRIu64 " chunk%s", container->n_chunks,
	    container->n_chunks == 1 ? "" : "s");
	if (container->nbytes_known) {
		put(text, ", ");
		put_size(text, container->nbytes);
	}
	put(text, " in ");
	put_size(text, container->cbytes);
	if (container->nbytes_known && container->cbytes) {
		uint64_t tenths = (uint64_t)(10 * ((double)container->nbytes /
						   (double)container->cbytes));

		put(text, ": %" PRIu64 ".%" PRIu64 "x", tenths / 10,
		    tenths % 10);
	}
}

static void put_pipeline(struct text *text,
			 const struct bfs_container *container)
{
	char name[24];

	put(text, ", %s", bfs_codec_code_name(container->codec, name));
	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++)
		if (container->filters[i])
			put(text, ", %s",
			    bfs_filter_name(container->filters[i], name));
}

static void put_shape(struct text *text, const struct bfs_array_meta *array)
{
	put(text, ", array of ");
	for (unsigned i = 0; i < array->ndim && i < BFS_MAX_DIM; i++)
		put(text, "%s%" PRId64, i ? " x " : "", array->shape[i]);
	if (array->ndim == 0)
		put(text, "one item");
}

/* What the container is, then what the picture leaves out. */
static void put_facts(struct text *text, const struct bfs_container *container,
		      const struct bfs_grid *l, const struct bfs_seen *all)
{
	put(text, "%s", container->format);
	if (container->has_defaults)
		put_pipeline(text, container);
	if (container->array.present)
		put_shape(text, &container->array);
	if (container->status == BFS_DAMAGED)
		put(text, ", damaged");
	put(text, "</text>\n<text x=\"12\" y=\"64\">");
	if (!container->n_chunks)
		put(text, "no chunks");
	else if (l->per_cell == 1)
		put(text, "a cell for each chunk");
	else
		put(text, "a cell for %" PRIu64 " chunks each", l->per_cell);
	if (all->n_looked < container->n_chunks)
		put(text, "; sampled: %" PRIu64 " of %" PRIu64 " looked at",
		    all->n_looked, container->n_chunks);
}

/* One entry of the legend; the text begins behind the swatch. */
static void put_swatch(struct text *text, unsigned x, unsigned y,
		       enum bfs_paint paint)
{
	put(text, "<path d=\"M%u %uh14v14h-14z\" fill=\"%s\" "
	    "stroke=\"#555\"/><text x=\"%u\" y=\"%u\">%s", x, y,
	    paints[paint].fill, x + 20, y + 12, paints[paint].label);
}

static void put_legend(struct text *text, const struct bfs_seen *all)
{
	put(text, "<text x=\"12\" y=\"92\">times smaller</text>\n");
	for (unsigned i = 0; i < MAP_RATIOS; i++) {
		put_swatch(text, MAP_LEFT + 20 + i * 76, 80, (enum bfs_paint)i);
		put(text, "</text>\n");
	}
	put(text, "<text x=\"12\" y=\"116\">chunks seen</text>"
	    "<text x=\"%u\" y=\"116\">compressed: %" PRIu64 "</text>\n",
	    MAP_LEFT + 20, all->n[MAP_RATIOS - 1]);
	for (unsigned i = MAP_STORED; i < MAP_PAINTS; i++) {
		put_swatch(text, MAP_LEFT + 20 + (i - MAP_STORED + 1) * 166,
			   104, (enum bfs_paint)i);
		put(text, ": %" PRIu64 "</text>\n", all->n[i]);
	}
}

static void put_labels(struct text *text, const struct bfs_grid *l)
{
	put(text, "<g text-anchor=\"end\" font-size=\"10\">");
	for (unsigned row = 0; row < l->n_rows; row++)
		put(text, "<text x=\"%u\" y=\"%u\">%" PRIu64 "</text>\n",
		    MAP_LEFT - 6,
		    MAP_TOP + row * l->size + (l->size - 1) / 2 + 4,
		    row * l->n_columns * l->per_cell);
	put(text, "</g>\n");
}

static void put_head(struct text *text, const struct bfs_container *container,
		     const struct bfs_grid *l, const struct bfs_seen *all)
{
	put(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
	    "height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" "
	    "font-family=\"sans-serif\" font-size=\"13\">\n"
	    "<title>map of chunks: ", MAP_WIDTH, l->height, MAP_WIDTH,
	    l->height);
	put_title(text, container);
	put(text, "</title>\n%s<path d=\"M0 0h%uv%uH0z\" fill=\"#fff\"/>\n"
	    "<text x=\"12\" y=\"24\" font-size=\"17\">", patterns, MAP_WIDTH,
	    l->height);
	put_title(text, container);
	put(text, "</text>\n<text x=\"12\" y=\"44\">");
	put_facts(text, container, l, all);
	put(text, "</text>\n");
	put_legend(text, all);
	put_labels(text, l);
	pad(text, HEAD_LEN);
}

/* ---- the whole ------------------------------------------------------- */

size_t bfs_map_len(const struct bfs_grid *l)
{
	return HEAD_LEN + (size_t)l->n_cells * CELL_LEN + strlen(TAIL);
}

/* The cells come first, as the head counts what is in them. */
enum bfs_err bfs_map_draw(struct bfs_container *container,
			  const struct bfs_grid *l, char *buf,
			  size_t len, struct bfs_diag *diag)
{
	struct text head = { .buf = buf, .cap = HEAD_LEN };
	struct text cells = { .buf = buf, .len = HEAD_LEN, .cap = len + 1 };
	struct bfs_seen all = { 0 };

	for (unsigned i = 0; i < l->n_cells; i++) {
		struct bfs_seen sum;

		BFS_TRY(bfs_map_look(container, l, i, &sum, diag));
		put_cell(&cells, l, i, &sum);
		bfs_map_add(&all, &sum);
	}
	put(&cells, TAIL);
	put_head(&head, container, l, &all);
	if (head.full || cells.full || cells.len != len)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"the map does not fit its size");
	return bfs_source_check(container->source, diag);
}
