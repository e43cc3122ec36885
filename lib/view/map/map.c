/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.c - map.svg: the chunks of a frame as rows of cells, coloured by how
 * well they are compressed and of what kind they are.
 *
 * Out of index and headers, and of at most MAX_LOOKS chunks: where there are
 * more, samples stand for them and the picture says so. A cell stands for one
 * chunk, or for neighbours where there are more than MAX_CELLS.
 *
 * The head and each cell are padded with blanks to lengths of their own, so
 * that the size is known from the number of chunks alone. All words in it are
 * ours: nothing needs escaping.
 */
#include "base/bytes.h"
#include "codec/codec.h"
#include "filter/filter.h"
#include "base/mem.h"
#include "view/chunkfacts.h"
#include "view/kept.h"
#include "view/parts.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_CELLS 1024
#define MAX_LOOKS 16384
#define HEAD_LEN 8192		/* bytes before the cells */
#define CELL_LEN 160		/* bytes of one */
#define TAIL "</svg>\n"
#define MAX_WORDS 76		/* of a cell's title */

/* Pixels. */
#define WIDTH 1000
#define LEFT 92			/* of the cells; labels before them */
#define GRID_WIDTH 896
#define TOP 130
#define MAX_CELL_SIZE 48

/* What a cell is painted as: ratios, then what has none. */
enum paint { N_RATIOS = 8, STORED = N_RATIOS, SPECIAL, UNSUPPORTED, DAMAGED,
	     N_PAINTS };

/* Viridis, which all eyes tell apart, by rising ratio; patterns for the rest
 * are in the head. */
static const struct {
	const char *fill;
	const char *label;
	unsigned from;		/* ratio, in hundredths */
} paints[N_PAINTS] = {
	{ "#440154", "&lt; 1.1", 0 },
	{ "#46327e", "&#8805; 1.1", 110 },
	{ "#365c8d", "&#8805; 1.5", 150 },
	{ "#277f8e", "&#8805; 2", 200 },
	{ "#1fa187", "&#8805; 4", 400 },
	{ "#4ac16d", "&#8805; 8", 800 },
	{ "#a0da39", "&#8805; 16", 1600 },
	{ "#fde725", "&#8805; 64", 6400 },
	[STORED] = { "#8c8c8c", "stored", 0 },
	[SPECIAL] = { "url(#s)", "special", 0 },
	[UNSUPPORTED] = { "url(#u)", "unsupported", 0 },
	[DAMAGED] = { "url(#d)", "damaged", 0 },
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

/* Where cells are. */
struct layout {
	uint64_t n_chunks;
	uint64_t per_cell;	/* chunks; the last cell may have fewer */
	unsigned n_cells, n_columns, n_rows;
	unsigned size;		/* of a cell, its gap included */
	unsigned height;	/* of the picture */
};

/* What was seen of some chunks. */
struct sum {
	uint64_t n_looked;
	uint64_t n[N_PAINTS];	/* chunks; with streams: as N_RATIOS - 1 */
	uint64_t nbytes, cbytes;	/* of those that are stored */
};

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

/* ---- layout ---------------------------------------------------------- */

/* Four times as wide as high, as far as cells stay in their bounds. */
static unsigned count_columns(unsigned n_cells)
{
	unsigned n = 1;

	while (n * n < 4 * n_cells)
		n++;
	return n < 8 ? 8 : n > 64 ? 64 : n;
}

static struct layout make_layout(uint64_t n_chunks)
{
	struct layout l = { .n_chunks = n_chunks };

	l.per_cell = bfs_max(1, bfs_div_up(n_chunks, MAX_CELLS));
	l.n_cells = (unsigned)bfs_div_up(n_chunks, l.per_cell);
	l.n_columns = count_columns(l.n_cells);
	l.n_rows = (unsigned)bfs_div_up(l.n_cells, l.n_columns);
	l.size = (unsigned)bfs_min(MAX_CELL_SIZE, GRID_WIDTH / l.n_columns);
	l.height = TOP + l.n_rows * l.size + 20;
	return l;
}

static size_t whole_len(const struct layout *l)
{
	return HEAD_LEN + (size_t)l->n_cells * CELL_LEN + strlen(TAIL);
}

/* ---- looking at chunks ----------------------------------------------- */

static enum paint kind_of(const struct bfs_chunk_facts *facts)
{
	if (facts->status == BFS_DAMAGED)
		return DAMAGED;
	if (facts->status == BFS_UNSUPPORTED)
		return UNSUPPORTED;
	if (bfs_special_name(facts->kind))
		return SPECIAL;
	return facts->kind == BFS_CHUNK_RAW ? STORED : N_RATIOS - 1;
}

static void add_chunk(struct sum *sum, const struct bfs_chunk_facts *facts)
{
	enum paint kind = kind_of(facts);

	sum->n_looked++;
	sum->n[kind]++;
	if (facts->has_head && kind != SPECIAL && kind != DAMAGED) {
		sum->nbytes += facts->head.nbytes;
		sum->cbytes += facts->head.cbytes;
	}
}

static void add_sum(struct sum *sum, const struct sum *other)
{
	sum->n_looked += other->n_looked;
	for (size_t i = 0; i < N_PAINTS; i++)
		sum->n[i] += other->n[i];
	sum->nbytes += other->nbytes;
	sum->cbytes += other->cbytes;
}

/* Chunks of a cell, all of them or as many as it may, evenly apart. */
static enum bfs_err look_at_cell(struct bfs_container *container,
				 const struct layout *l, unsigned cell,
				 struct sum *ret_sum, struct bfs_diag *diag)
{
	uint64_t first = cell * l->per_cell;
	uint64_t n = bfs_min(l->per_cell, l->n_chunks - first);
	uint64_t n_looks = bfs_min(n, MAX_LOOKS / l->n_cells);
	struct sum sum = { 0 };

	for (uint64_t i = 0; i < n_looks; i++) {
		uint64_t at = i * (n / n_looks) +
			      i * (n % n_looks) / n_looks;
		struct bfs_chunk_facts facts;

		BFS_TRY(bfs_chunk_find_facts(container, first + at, &facts,
					     diag));
		add_chunk(&sum, &facts);
	}
	*ret_sum = sum;
	return BFS_OK;
}

/* ---- a cell ---------------------------------------------------------- */

/* In hundredths; sums of 16384 sizes of 31 bits leave room for that. */
static uint64_t ratio_of(const struct sum *sum)
{
	return sum->cbytes ? 100 * sum->nbytes / sum->cbytes : 0;
}

static enum paint paint_of(const struct sum *sum)
{
	enum paint paint = N_RATIOS - 1;

	if (sum->n[DAMAGED])
		return DAMAGED;
	if (sum->n[UNSUPPORTED])
		return UNSUPPORTED;
	if (!sum->n[N_RATIOS - 1])
		return sum->n[STORED] ? STORED : SPECIAL;
	while (paint > 0 && ratio_of(sum) < paints[paint].from)
		paint--;
	return paint;
}

static void put_words(char words[MAX_WORDS], const struct layout *l,
		      unsigned cell, const struct sum *sum)
{
	uint64_t first = cell * l->per_cell;
	uint64_t last = bfs_min(first + l->per_cell, l->n_chunks) - 1;
	struct text text = { .buf = words, .cap = MAX_WORDS };

	put(&text, "%" PRIu64, first);
	if (last > first)
		put(&text, "-%" PRIu64, last);
	if (sum->cbytes)
		put(&text, ": %" PRIu64 ".%02" PRIu64 "x",
		    ratio_of(sum) / 100, ratio_of(sum) % 100);
	for (size_t i = STORED; i < N_PAINTS; i++) {
		if (sum->n[i] && l->per_cell == 1)
			put(&text, ", %s", paints[i].label);
		else if (sum->n[i])
			put(&text, ", %" PRIu64 " %s", sum->n[i],
			    paints[i].label);
	}
}

static void put_cell(struct text *text, const struct layout *l, unsigned cell,
		     const struct sum *sum)
{
	char words[MAX_WORDS] = "";
	size_t end = text->len + CELL_LEN;

	put_words(words, l, cell, sum);
	put(text, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
	    "fill=\"%s\"><title>%s</title></rect>",
	    LEFT + cell % l->n_columns * l->size,
	    TOP + cell / l->n_columns * l->size, l->size - 1, l->size - 1,
	    paints[paint_of(sum)].fill, words);
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

/* What the frame is, then what the picture leaves out. */
static void put_facts(struct text *text, const struct bfs_container *container,
		      const struct layout *l, const struct sum *all)
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
		       enum paint paint)
{
	put(text, "<path d=\"M%u %uh14v14h-14z\" fill=\"%s\" "
	    "stroke=\"#555\"/><text x=\"%u\" y=\"%u\">%s", x, y,
	    paints[paint].fill, x + 20, y + 12, paints[paint].label);
}

static void put_legend(struct text *text, const struct sum *all)
{
	put(text, "<text x=\"12\" y=\"92\">times smaller</text>\n");
	for (unsigned i = 0; i < N_RATIOS; i++) {
		put_swatch(text, LEFT + 20 + i * 76, 80, (enum paint)i);
		put(text, "</text>\n");
	}
	put(text, "<text x=\"12\" y=\"116\">chunks seen</text>"
	    "<text x=\"%u\" y=\"116\">compressed: %" PRIu64 "</text>\n",
	    LEFT + 20, all->n[N_RATIOS - 1]);
	for (unsigned i = STORED; i < N_PAINTS; i++) {
		put_swatch(text, LEFT + 20 + (i - STORED + 1) * 166, 104,
			   (enum paint)i);
		put(text, ": %" PRIu64 "</text>\n", all->n[i]);
	}
}

static void put_labels(struct text *text, const struct layout *l)
{
	put(text, "<g text-anchor=\"end\" font-size=\"10\">");
	for (unsigned row = 0; row < l->n_rows; row++)
		put(text, "<text x=\"%u\" y=\"%u\">%" PRIu64 "</text>\n",
		    LEFT - 6, TOP + row * l->size + (l->size - 1) / 2 + 4,
		    row * l->n_columns * l->per_cell);
	put(text, "</g>\n");
}

static void put_head(struct text *text, const struct bfs_container *container,
		     const struct layout *l, const struct sum *all)
{
	put(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
	    "height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" "
	    "font-family=\"sans-serif\" font-size=\"13\">\n"
	    "<title>map of chunks: ", WIDTH, l->height, WIDTH, l->height);
	put_title(text, container);
	put(text, "</title>\n%s<path d=\"M0 0h%uv%uH0z\" fill=\"#fff\"/>\n"
	    "<text x=\"12\" y=\"24\" font-size=\"17\">", patterns, WIDTH,
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

/* The cells come first, as the head counts what is in them. */
static enum bfs_err fill_map(struct bfs_container *container,
			     const struct layout *l, char *buf, size_t len,
			     struct bfs_diag *diag)
{
	struct text head = { .buf = buf, .cap = HEAD_LEN };
	struct text cells = { .buf = buf, .len = HEAD_LEN, .cap = len + 1 };
	struct sum all = { 0 };

	for (unsigned i = 0; i < l->n_cells; i++) {
		struct sum sum;

		BFS_TRY(look_at_cell(container, l, i, &sum, diag));
		put_cell(&cells, l, i, &sum);
		add_sum(&all, &sum);
	}
	put(&cells, TAIL);
	put_head(&head, container, l, &all);
	if (head.full || cells.full || cells.len != len)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"the map does not fit its size");
	return bfs_source_check(container->source, diag);
}

static enum bfs_err make_map(struct bfs_file *file, unsigned key,
			     char **ret_text, size_t *ret_len,
			     struct bfs_diag *diag)
{
	struct bfs_container *container = file->array->container;
	struct layout l = make_layout(container->n_chunks);
	size_t len = whole_len(&l);
	char *buf = bfs_alloc(len + 1);
	enum bfs_err err;

	(void)key;
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a map");
	err = fill_map(container, &l, buf, len, diag);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_text = buf;
	*ret_len = len;
	return BFS_OK;
}

static enum bfs_err get_map(struct bfs_file *file, const char **ret_text,
			    size_t *ret_len, struct bfs_diag *diag)
{
	return bfs_kept_text(file, BFS_ROW_map, 0, make_map, ret_text, ret_len,
			     diag);
}

static size_t map_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "map.svg", 0 };
	return 1;
}

static void map_stat(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr)
{
	struct layout l = make_layout(file->array->container->n_chunks);

	(void)node;
	bfs_text_stat(whole_len(&l), ret_attr);
}

static enum bfs_err map_open(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_diag *diag)
{
	const char *text;
	size_t len;

	(void)node;
	return get_map(file, &text, &len, diag);
}

static enum bfs_err map_part(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint64_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag)
{
	const char *text;
	size_t text_len;

	(void)node;
	BFS_TRY(get_map(file, &text, &text_len, diag));
	return bfs_text_part(text, text_len, off, len, ret_part, diag);
}

const struct bfs_view bfs_view_map = {
	.name = "map",
	.n_texts = 1,
	.roots = map_roots,
	.stat = map_stat,
	.open = map_open,
	.part = map_part,
};
