/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.c - the map drawn: a head that says what the container is and what was
 * counted, then the cells.
 *
 * The head and each cell are padded with blanks to lengths of their own, so
 * that the size is known from the number of chunks alone, and stays when faults
 * are met. All words in it but
 * the name are ours.
 */
#include "view/map/svg.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/markup.h"

#include <inttypes.h>
#include <string.h>

#define put bfs_markup_put
/* Faults change the end of the head, and cells. These lie in pages of memory
 * each, so that a reader of pages never sees a half of them. */
#define FIRST_LEN 12288		/* bytes of the head that never change */
#define HEAD_LEN 14336		/* bytes before the cells */
#define CELL_LEN 256		/* bytes of one */
#define TAIL "</svg>\n"
#define MAX_WORDS 168		/* of a cell's title */
#define MAX_NAME 120		/* bytes of a name that are shown */
#define LABEL_GAP 14		/* pixels between labels of rows */

/* Viridis, which all eyes tell apart, by rising ratio; patterns for the rest
 * are in the head. */
static const struct {
	const char *fill;
	const char *label;
} paints[MAP_PAINTS] = {
	{ "#440154", NULL },
	{ "#46327e", NULL },
	{ "#365c8d", NULL },
	{ "#277f8e", NULL },
	{ "#1fa187", NULL },
	{ "#4ac16d", NULL },
	{ "#a0da39", NULL },
	{ "#fde725", NULL },
	[MAP_STORED] = { "#8c8c8c", "not compressed" },
	[MAP_ZEROS] = { "url(#z)", "zeros" },
	[MAP_NAN] = { "url(#n)", "NaN" },
	[MAP_VALUE] = { "url(#v)", "one value" },
	[MAP_UNINIT] = { "url(#i)", "uninitialised" },
	[MAP_UNSUPPORTED] = { "url(#u)", "unsupported" },
	[MAP_DAMAGED] = { "url(#d)", "damaged" },
};

static const char style[] =
	"<style>:root{background:#fff}.b{fill:#fff}text{fill:#1b1f24}"
	".q{fill:#59636e}"
	".p{fill:#fff;stroke:none}.l{stroke:#8c959f;fill:none}"
	".o{fill:#8c959f;stroke:none}"
	"@media(prefers-color-scheme:dark){:root{background:#0d1117}"
	".b{fill:#0d1117}"
	"text{fill:#e6edf3}.q{fill:#9198a1}.p{fill:#161b22}"
	".l{stroke:#656c76}.o{fill:#656c76}}</style>\n";

#define PATTERN(id) "<pattern id=\"" id "\" width=\"8\" height=\"8\" " \
	"patternUnits=\"userSpaceOnUse\">"
#define PAPER "<path class=\"p\" d=\"M0 0h8v8H0z\"/>"

static const char patterns[] =
	"<defs>"
	PATTERN("z") PAPER "<path class=\"l\" d=\"M-1 1l2-2M0 8l8-8M7 9l2-2\"/>"
	"</pattern>\n"
	PATTERN("n") PAPER "<path class=\"l\" d=\"M-1 7l2 2M0 0l8 8M7-1l2 2\"/>"
	"<path class=\"l\" d=\"M-1 1l2-2M0 8l8-8M7 9l2-2\"/></pattern>\n"
	PATTERN("v") PAPER "<path class=\"l\" d=\"M0 4h8\"/></pattern>\n"
	PATTERN("i") PAPER "<path class=\"o\" d=\"M3 3h2v2H3z\"/></pattern>\n"
	PATTERN("u") "<path d=\"M0 0h8v8H0z\" fill=\"#cc79a7\"/>"
	"<path d=\"M2 2h3v3H2z\" fill=\"#000\"/></pattern>\n"
	PATTERN("d") "<path d=\"M0 0h8v8H0z\" fill=\"#d55e00\"/>"
	"<path d=\"M0 0l8 8M0 8l8-8\" stroke=\"#000\"/></pattern></defs>\n";

/* Fills up to len bytes, the last of which ends a line. */
static void pad(struct bfs_markup *text, size_t len)
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

/* "2.35", "16.3", "480" */
static void put_ratio(struct bfs_markup *text, uint64_t hundredths)
{
	if (hundredths >= 1000 && hundredths < 10000)
		put(text, "%" PRIu64 ".%" PRIu64, hundredths / 100,
		    hundredths % 100 / 10);
	else if (hundredths < 1000)
		put(text, "%" PRIu64 ".%02" PRIu64, hundredths / 100,
		    hundredths % 100);
	else
		bfs_markup_count(text, hundredths / 100);
}

/* " [0, 3, 1]": where in the grid a chunk is. */
static void put_index(struct bfs_markup *text, const struct bfs_grid *l,
		      uint64_t n)
{
	uint64_t at[BFS_MAX_DIM];

	for (unsigned d = l->n_dims; d-- > 0; n /= l->dims[d])
		at[d] = n % l->dims[d];
	for (unsigned d = 0; d < l->n_dims; d++)
		put(text, "%s%" PRIu64, d ? ", " : " [", at[d]);
	if (l->n_dims)
		put(text, "]");
}

static void put_kinds(struct bfs_markup *text, const struct bfs_grid *l,
		      const struct bfs_seen *sum)
{
	for (size_t i = MAP_STORED; i < MAP_PAINTS; i++) {
		if (sum->n[i] && l->per_cell == 1)
			put(text, ", %s", paints[i].label);
		else if (sum->n[i])
			put(text, ", %" PRIu64 " %s", sum->n[i],
			    paints[i].label);
	}
	if (sum->n_met)
		put(text, ", met when read");
}

static void put_words(char words[MAX_WORDS], const struct bfs_grid *l,
		      unsigned cell, const struct bfs_seen *sum)
{
	uint64_t first = cell * l->per_cell;
	uint64_t last = bfs_min(first + l->per_cell, l->n_chunks) - 1;
	struct bfs_markup text = { .buf = words, .cap = MAX_WORDS };

	bfs_markup_count(&text, first);
	if (last > first) {
		put(&text, "\xe2\x80\x93");
		bfs_markup_count(&text, last);
	}
	put_index(&text, l, first);
	if (sum->cbytes) {
		put(&text, ": ");
		put_ratio(&text, bfs_map_ratio(sum));
		put(&text, "x, ");
		bfs_markup_count(&text, sum->nbytes);
		put(&text, " bytes in ");
		bfs_markup_count(&text, sum->cbytes);
	}
	if (sum->has_off) {
		put(&text, " at ");
		bfs_markup_count(&text, sum->off);
	}
	put_kinds(&text, l, sum);
}

static void put_cell(struct bfs_markup *text, const struct bfs_grid *l,
		     unsigned cell, const struct bfs_seen *sum,
		     const struct bfs_scale *scale)
{
	char words[MAX_WORDS] = "";
	size_t end = text->len + CELL_LEN;
	unsigned side = l->size > 3 ? l->size - 1 : l->size, x, y;

	bfs_map_place(l, cell, &x, &y);
	put_words(words, l, cell, sum);
	put(text, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
	    "fill=\"%s\"><title>%s</title></rect>", x, y, side, side,
	    paints[bfs_map_paint(sum, scale)].fill, words);
	pad(text, end);
}

/* ---- the head -------------------------------------------------------- */

static void put_name(struct bfs_markup *text,
		     const struct bfs_container *container)
{
	const char *name = container->name ? container->name : "";
	const char *slash = strrchr(name, '/');

	if (slash && slash[1])
		name = slash + 1;
	if (*name)
		bfs_markup_text(text, name, strlen(name), MAX_NAME);
	else
		put(text, "%s", container->format);
}

static void put_sizes(struct bfs_markup *text,
		      const struct bfs_container *container)
{
	bfs_markup_count(text, container->n_chunks);
	put(text, " chunk%s", container->n_chunks == 1 ? "" : "s");
	if (container->nbytes_known) {
		put(text, ", ");
		bfs_markup_size(text, container->nbytes);
	}
	put(text, " in ");
	bfs_markup_size(text, container->cbytes);
	if (container->nbytes_known && container->cbytes) {
		uint64_t tenths = (uint64_t)(10 * ((double)container->nbytes /
						   (double)container->cbytes));

		put(text, ": %" PRIu64 ".%" PRIu64 "x", tenths / 10,
		    tenths % 10);
	}
}

/* As info.json has it. */
static void put_pipeline(struct bfs_markup *text,
			 const struct bfs_facts *facts)
{
	if (!facts->codec[0])
		return;
	put(text, ", %s", facts->codec);
	for (unsigned i = 0; i < facts->n_filters; i++)
		put(text, ", %s", facts->filters[i].name);
}

static void put_shape(struct bfs_markup *text,
		      const struct bfs_array_meta *array)
{
	put(text, ", array of ");
	for (unsigned i = 0; i < array->ndim && i < BFS_MAX_DIM; i++)
		put(text, "%s%" PRId64, i ? " x " : "", array->shape[i]);
	if (array->ndim == 0)
		put(text, "one item");
}

/* What the container is. */
static void put_facts(struct bfs_markup *text,
		      const struct bfs_container *container,
		      const struct bfs_facts *facts)
{
	put_sizes(text, container);
	put(text, "; %s", container->format);
	put_pipeline(text, facts);
	if (container->array.present)
		put_shape(text, &container->array);
	if (container->status == BFS_DAMAGED)
		put(text, ", damaged");
}

/* What the picture leaves out. */
static void put_limits(struct bfs_markup *text,
		       const struct bfs_container *container,
		       const struct bfs_grid *l, const struct bfs_seen *all)
{
	if (!container->n_chunks)
		put(text, "no chunks");
	else if (l->per_cell > 1)
		put(text, "a cell for %" PRIu64 " chunks each", l->per_cell);
	else if (l->slab_w > 1)
		put(text, "a cell for each chunk, as they lie in the array");
	else
		put(text, "a cell for each chunk");
	if (all->n_looked < container->n_chunks) {
		put(text, "; sampled: ");
		bfs_markup_count(text, all->n_looked);
		put(text, " of ");
		bfs_markup_count(text, container->n_chunks);
		put(text, " looked at");
	}
}

/* One entry of the legend; the text begins behind the swatch. */
static void put_swatch(struct bfs_markup *text, unsigned x, unsigned y,
		       enum bfs_paint paint)
{
	put(text, "<path d=\"M%u %uh14v14h-14z\" fill=\"%s\" "
	    "stroke=\"#888\"/><text x=\"%u\" y=\"%u\">", x, y,
	    paints[paint].fill, x + 20, y + 12);
}

static void put_ratios(struct bfs_markup *text, const struct bfs_scale *scale)
{
	struct bfs_seen one = { .n[MAP_RATIOS - 1] = 1, .cbytes = 100 };

	put(text, "<text class=\"q\" x=\"12\" y=\"92\">times smaller, ");
	if (scale->n == 1) {
		put(text, "all ");
		put_ratio(text, scale->least);
	} else {
		put(text, "colours scaled to this file: ");
		put_ratio(text, scale->least);
		put(text, " to ");
		put_ratio(text, scale->most);
	}
	put(text, "</text>\n");
	for (unsigned i = 0; i < scale->n; i++) {
		one.nbytes = scale->from[i];
		put_swatch(text, 400 + i * 74, 80, bfs_map_paint(&one, scale));
		put(text, scale->n > 1 ? "\xe2\x89\xa5 " : "");
		put_ratio(text, scale->from[i]);
		put(text, "</text>\n");
	}
}

static void put_legend(struct bfs_markup *text, const struct bfs_seen *all)
{
	unsigned x = 12;

	if (all->n[MAP_RATIOS - 1]) {
		put(text, "<text x=\"%u\" y=\"118\">compressed: ", x);
		bfs_markup_count(text, all->n[MAP_RATIOS - 1]);
		put(text, "</text>\n");
		x += 150;
	}
	for (unsigned i = MAP_STORED; i < MAP_PAINTS; i++) {
		if (!all->n[i])
			continue;
		put_swatch(text, x, 106, (enum bfs_paint)i);
		put(text, "%s: ", paints[i].label);
		bfs_markup_count(text, all->n[i]);
		put(text, "</text>\n");
		x += 168;
	}
}

/* The number of the first chunk of a row, as far as there is room. */
static void put_labels(struct bfs_markup *text, const struct bfs_grid *l)
{
	unsigned last = 0, x, y;

	put(text, "<g text-anchor=\"end\" font-size=\"10\">");
	for (unsigned cell = 0; cell < l->n_cells; cell++) {
		bfs_map_place(l, cell, &x, &y);
		if (x != MAP_LEFT || (last && y < last + LABEL_GAP))
			continue;
		last = y;
		put(text, "<text class=\"q\" x=\"%u\" y=\"%u\">", MAP_LEFT - 6,
		    y + (l->size - 1) / 2 + 4);
		bfs_markup_count(text, cell * l->per_cell);
		put(text, "</text>\n");
	}
	put(text, "</g>\n");
}

static void put_head(struct bfs_markup *text,
		     const struct bfs_container *container,
		     const struct bfs_facts *facts,
		     const struct bfs_grid *l, const struct bfs_seen *all,
		     const struct bfs_scale *scale)
{
	put(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
	    "height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" "
	    "font-family=\"sans-serif\" font-size=\"13\">\n"
	    "<title>map of chunks: ", MAP_WIDTH, l->height, MAP_WIDTH,
	    l->height);
	put_name(text, container);
	put(text, "</title>\n%s%s<path class=\"b\" d=\"M0 0h%uv%uH0z\"/>\n"
	    "<text x=\"12\" y=\"24\" font-size=\"17\">", style, patterns,
	    MAP_WIDTH, l->height);
	put_name(text, container);
	put(text, "</text>\n<text x=\"12\" y=\"46\">");
	put_facts(text, container, facts);
	put(text, "</text>\n<text class=\"q\" x=\"12\" y=\"64\">");
	put_limits(text, container, l, all);
	put(text, "</text>\n");
	if (scale->n)
		put_ratios(text, scale);
	put_labels(text, l);
	pad(text, FIRST_LEN);
	put_legend(text, all);
	pad(text, HEAD_LEN);
}

/* ---- the whole ------------------------------------------------------- */

size_t bfs_map_len(const struct bfs_grid *l)
{
	return HEAD_LEN + (size_t)l->n_cells * CELL_LEN + strlen(TAIL);
}

static enum bfs_err look(struct bfs_container *container,
			 const struct bfs_faults_known *known,
			 const struct bfs_grid *l, struct bfs_seen *seen,
			 struct bfs_seen *all, struct bfs_diag *diag)
{
	for (unsigned i = 0; i < l->n_cells; i++) {
		BFS_TRY(bfs_map_look(container, known, l, i, &seen[i], diag));
		bfs_map_add(all, &seen[i]);
	}
	return BFS_OK;
}

enum bfs_err bfs_map_draw(struct bfs_array *array,
			  const struct bfs_facts *facts,
			  const struct bfs_grid *l, char *buf,
			  size_t len, struct bfs_diag *diag)
{
	struct bfs_container *container = array->container;
	struct bfs_markup head = { .buf = buf, .cap = HEAD_LEN };
	struct bfs_markup cells = { .buf = buf, .len = HEAD_LEN,
				    .cap = len + 1 };
	BFS_CLEANUP(bfs_freep) struct bfs_seen *seen =
		bfs_zalloc(l->n_cells, sizeof(*seen));
	struct bfs_faults_known known;
	struct bfs_seen all = { 0 };
	struct bfs_scale scale;
	enum bfs_err err;

	if (!seen)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a map");
	BFS_TRY(bfs_faults_copy(&array->faults, &known, diag));
	err = look(container, &known, l, seen, &all, diag);
	bfs_free(known.all);
	BFS_TRY(err);
	scale = bfs_map_scale(seen, l->n_cells);
	for (unsigned i = 0; i < l->n_cells; i++)
		put_cell(&cells, l, i, &seen[i], &scale);
	put(&cells, TAIL);
	put_head(&head, container, facts, l, &all, &scale);
	if (head.full || cells.full || cells.len != len)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"the map does not fit its size");
	return bfs_source_check(container->source, diag);
}
