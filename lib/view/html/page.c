/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.c - a container as one page of HTML.
 *
 * Whatever a file says in it goes through bfs_markup_text; what a policy in its
 * head permits are two texts of ours and files of the same server.
 */
#include "view/html/page.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/kind.h"
#include "text/json.h"
#include "view/facts.h"
#include "view/html/assets.h"
#include "view/html/draw.h"
#include "view/html/met.h"
#include "view/image/plain.h"
#include "view/markup.h"
#include "view/meta/json.h"
#include "view/meta/names.h"
#include "view/payload.h"

#include <inttypes.h>
#include <string.h>

#define put bfs_markup_put
#define MAX_PAGE (512 << 10)	/* bytes */
#define TAIL_LEN (16 << 10)	/* that are left behind metalayers */
#define MAX_DECODED (4 << 20)	/* bytes that metalayers may decode */
#define MAX_VALUE 2048		/* bytes of a value that are shown */
#define MAX_JSON (1 << 20)	/* bytes of a value as text */
#define MAX_NAME 255

/* ---- texts ----------------------------------------------------------- */

static void put_word(struct bfs_markup *page, const char *text)
{
	bfs_markup_text(page, text, strlen(text), MAX_VALUE);
}

static void put_name(struct bfs_markup *page,
		     const struct bfs_container *container)
{
	const char *name = container->name ? container->name : "";
	const char *slash = strrchr(name, '/');

	if (slash && slash[1])
		name = slash + 1;
	bfs_markup_text(page, *name ? name : container->format,
			strlen(*name ? name : container->format), MAX_NAME);
}

/* A file's name as part of an address. */
static void put_address(struct bfs_markup *page, const char *name)
{
	for (const char *at = name; *at; at++) {
		uint8_t c = (uint8_t)*at;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || strchr("-._~", c))
			put(page, "%c", c);
		else
			put(page, "%%%02X", c);
	}
}

static void begin_row(struct bfs_markup *page, const char *what)
{
	put(page, "<tr><th>%s</th><td>", what);
}

static void end_row(struct bfs_markup *page)
{
	put(page, "</td></tr>\n");
}

/* ---- facts ----------------------------------------------------------- */

static void put_status(struct bfs_markup *page, const struct bfs_facts *facts)
{
	const struct bfs_verdict *verdict = facts->verdict;

	begin_row(page, "status");
	if (verdict->status == BFS_GOOD) {
		put(page, "good, as far as headers tell");
	} else {
		put(page, "<span class=\"bad\">%s</span>: ",
		    verdict->status == BFS_DAMAGED ? "damaged" : "unsupported");
		if (verdict->why.chunk >= 0)
			put(page, "chunk %" PRId64 ": ", verdict->why.chunk);
		put_word(page, verdict->why.text);
		put(page, ", at byte %" PRIu64, verdict->why.off);
	}
	end_row(page);
}

static void put_bytes(struct bfs_markup *page, const char *what, uint64_t n)
{
	if (n == BFS_NOT_KNOWN)
		return;
	begin_row(page, what);
	bfs_markup_size(page, n);
	if (n >= 1024) {
		put(page, " (");
		bfs_markup_count(page, n);
		put(page, ")");
	}
	end_row(page);
}

static void put_codec(struct bfs_markup *page, const struct bfs_facts *facts)
{
	if (facts->codec[0]) {
		begin_row(page, "codec");
		put_word(page, facts->codec);
		if (facts->clevel >= 0)
			put(page, ", level %d", facts->clevel);
		end_row(page);
	}
	if (!facts->n_filters)
		return;
	begin_row(page, "filters");
	for (unsigned i = 0; i < facts->n_filters; i++) {
		put(page, i ? ", " : "");
		put_word(page, facts->filters[i].name);
	}
	end_row(page);
}

static void put_dims(struct bfs_markup *page, const char *what,
		     const int32_t *dims, unsigned n)
{
	begin_row(page, what);
	for (unsigned i = 0; i < n; i++)
		put(page, "%s%" PRId32, i ? " \xc3\x97 " : "", dims[i]);
	end_row(page);
}

static void put_shape(struct bfs_markup *page,
		      const struct bfs_array_meta *array)
{
	for (unsigned i = 0; i < array->ndim && i < BFS_MAX_DIM; i++)
		put(page, "%s%" PRId64, i ? " \xc3\x97 " : "",
		    array->shape[i]);
	if (!array->ndim)
		put(page, "one item");
}

static void put_array(struct bfs_markup *page,
		      const struct bfs_array_meta *array)
{
	begin_row(page, "shape");
	put_shape(page, array);
	end_row(page);
	if (!array->linear && array->ndim && array->ndim <= BFS_MAX_DIM) {
		put_dims(page, "chunks", array->chunkshape, array->ndim);
		put_dims(page, "blocks", array->blockshape, array->ndim);
	}
	if (!array->dtype)
		return;
	begin_row(page, "dtype");
	bfs_markup_text(page, array->dtype, array->dtype_len, MAX_VALUE);
	if (array->fortran)
		put(page, ", in order F");
	end_row(page);
}

static void put_facts(struct bfs_markup *page,
		      const struct bfs_container *container,
		      const struct bfs_facts *facts)
{
	put(page, "<table>\n");
	put_status(page, facts);
	if (container->array.present)
		put_array(page, &container->array);
	put_bytes(page, "data", facts->data_len);
	put_bytes(page, "file", container->cbytes);
	if (facts->nbytes != BFS_NOT_KNOWN && facts->nbytes &&
	    container->cbytes) {
		begin_row(page, "ratio");
		put(page, "%.2f", (double)facts->nbytes /
				  (double)container->cbytes);
		end_row(page);
	}
	begin_row(page, "chunks stored");
	bfs_markup_count(page, container->n_chunks);
	end_row(page);
	if (container->chunksize > 0)
		put_bytes(page, "bytes of a chunk",
			  (uint64_t)container->chunksize);
	if (facts->blocksize)
		put_bytes(page, "bytes of a block", facts->blocksize);
	put_codec(page, facts);
	put(page, "</table>\n");
}

/* ---- head ------------------------------------------------------------ */

static void put_head(struct bfs_markup *page,
		     const struct bfs_container *container)
{
	put(page, "<!doctype html>\n<html lang=\"en\">\n"
	    "<meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\""
	    "default-src 'none'; img-src 'self' file:; connect-src 'self'; "
	    "style-src 'sha256-" BFS_HTML_STYLE_SHA256 "'; "
	    "script-src 'sha256-" BFS_HTML_SCRIPT_SHA256 "'; "
	    "base-uri 'none'; form-action 'none'\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n"
	    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	put_name(page, container);
	put(page, "</title>\n<style>");
	put(page, "%s", bfs_html_style);
	put(page, "</style>\n<h1>");
	put_name(page, container);
	put(page, "</h1>\n<p class=\"lead\">%s, %s", container->format,
	    bfs_kind_name(container->kind));
	if (container->array.present) {
		put(page, " of ");
		put_shape(page, &container->array);
	}
	put(page, "</p>\n");
}

/* Whether a view shows an entry of this name in the container's directory. */
static bool has_entry(struct bfs_file *file, const char *name)
{
	struct bfs_root roots[BFS_MAX_ROOTS];

	for (size_t row = 0; row < file->n_rows; row++) {
		size_t n = bfs_file_shows(file, row) ?
			   file->rows[row]->roots(file, roots) : 0;

		for (size_t i = 0; i < n; i++)
			if (!strcmp(roots[i].name, name))
				return true;
	}
	return false;
}

static void put_pictures(struct bfs_markup *page, struct bfs_file *file,
			 const struct bfs_facts *facts)
{
	const struct bfs_container *container = file->array->container;

	put(page, "<div class=\"two\">\n<section>\n<h2>Facts</h2>\n");
	put_facts(page, container, facts);
	put(page, "</section>\n<section>\n");
	if (has_entry(file, "preview.png"))
		put(page, "<h2>Preview</h2>\n<p class=\"see\"><a href=\""
		    "preview.png\"><img src=\"preview.png\" alt=\"preview\">"
		    "</a></p>\n");
	if (container->array.present && !container->array.linear &&
	    container->array.ndim) {
		put(page, "<h2>Chunks and blocks</h2>\n");
		bfs_html_draw(page, &container->array);
	}
	put(page, "</section>\n</div>\n");
	if (has_entry(file, "map.svg") && container->n_chunks)
		put(page, "<h2>Map of chunks</h2>\n<div class=\"map\">"
		    "<a href=\"map.svg\"><img src=\"map.svg\" "
		    "alt=\"map of chunks\"></a>"
		    "</div>\n");
}

/* ---- slices ---------------------------------------------------------- */

/* Hidden until the script finds that it can read data.bin. */
static enum bfs_err put_browser(struct bfs_markup *page, struct bfs_file *file)
{
	const char *why = "its items are no plain numbers, or it has none";
	struct bfs_plain plain;
	enum bfs_err err;

	if (!has_entry(file, "data.bin") || !bfs_payload_is_array(file))
		return BFS_OK;
	err = bfs_plain_get(file, &plain, NULL);
	if (bfs_err_passes(err))
		return err;
	if (err == BFS_OK && (!plain.n || plain.fortran)) {
		why = plain.n ? "its items are in order F" : "it is one item";
		err = BFS_ERR_UNSUPPORTED;
	}
	if (err != BFS_OK) {
		put(page, "<h2>Slices</h2>\n<p class=\"lead\">No slices of "
		    "this array are shown: %s.</p>\n", why);
		return BFS_OK;
	}
	put(page, "<section id=\"browse\" hidden data-shape=\"");
	for (unsigned d = 0; d < plain.n; d++)
		put(page, "%s%" PRIu64, d ? "," : "", plain.shape[d]);
	put(page, "\" data-kind=\"%c\" data-size=\"%u\" data-big=\"%d\">\n"
	    "<h2>Slices</h2>\n</section>\n", plain.kind, plain.size,
	    plain.big);
	return BFS_OK;
}

/* ---- metalayers ------------------------------------------------------ */

/* Brings JSON onto one line, where ends of lines are between values only; its
 * new length. */
static size_t join_lines(char *text, size_t len)
{
	size_t to = 0;

	for (size_t at = 0; at < len; at++) {
		if (text[at] != '\n') {
			text[to++] = text[at];
			continue;
		}
		while (at + 1 < len && text[at + 1] == ' ')
			at++;
		if (to && text[to - 1] == ',')
			text[to++] = ' ';
	}
	return to;
}

static enum bfs_err put_value(struct bfs_markup *page, struct bfs_file *file,
			      const struct bfs_layer *layer, uint64_t *left,
			      struct bfs_diag *diag)
{
	struct bfs_json json;
	enum bfs_err err;

	bfs_json_init(&json, MAX_JSON);
	err = bfs_meta_put_value(file, layer, &json, left, diag);
	if (err == BFS_OK)
		err = json.err;
	put(page, "<code>");
	if (err == BFS_OK)
		bfs_markup_text(page, json.buf,
				join_lines(json.buf, json.len), MAX_VALUE);
	else if (err == BFS_ERR_LIMIT)
		put(page, "\xe2\x80\xa6");
	put(page, "</code>");
	bfs_json_release(&json);
	return err == BFS_ERR_LIMIT ? BFS_OK : err;
}

static enum bfs_err put_layer(struct bfs_markup *page, struct bfs_file *file,
			      const struct bfs_layer *layer, bool link,
			      uint64_t *left, struct bfs_diag *diag)
{
	const char *name;
	uint64_t len;

	BFS_TRY(bfs_meta_name(file, layer, &name, diag));
	put(page, "<tr><th>");
	if (link) {
		put(page, "<a href=\"%s/", layer->fixed ? "meta" : "vlmeta");
		put_address(page, name);
		put(page, "\">");
	}
	bfs_markup_text(page, name, strlen(name), MAX_NAME);
	put(page, link ? "</a></th><td>" : "</th><td>");
	if (bfs_layer_len(file, layer, &len, NULL) == BFS_OK)
		bfs_markup_size(page, len);
	put(page, "</td><td>");
	BFS_TRY(put_value(page, file, layer, left, diag));
	end_row(page);
	return BFS_OK;
}

static enum bfs_err put_layers(struct bfs_markup *page, struct bfs_file *file,
			       bool fixed, uint64_t *left,
			       struct bfs_diag *diag)
{
	bool link = has_entry(file, fixed ? "meta" : "vlmeta");
	struct bfs_layer layer;

	for (uint64_t i = 0; bfs_layer_find(file, fixed, i, &layer); i++) {
		/* Each byte of a value may take six. */
		if (page->cap - page->len < TAIL_LEN + 6 * MAX_VALUE) {
			put(page, "<tr><th>and more</th><td></td><td></td>"
			    "</tr>\n");
			break;
		}
		BFS_TRY(put_layer(page, file, &layer, link, left, diag));
	}
	return BFS_OK;
}

static enum bfs_err put_metas(struct bfs_markup *page, struct bfs_file *file,
			      struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	uint64_t left = MAX_DECODED;

	if (!container->n_metas && !container->n_vlmetas)
		return BFS_OK;
	put(page, "<h2>Metalayers</h2>\n<table class=\"three\">\n");
	BFS_TRY(put_layers(page, file, true, &left, diag));
	BFS_TRY(put_layers(page, file, false, &left, diag));
	put(page, "</table>\n");
	return BFS_OK;
}

/* ---- files, and lines to type ---------------------------------------- */

static void put_files(struct bfs_markup *page, struct bfs_file *file)
{
	struct bfs_root roots[BFS_MAX_ROOTS];
	struct bfs_node node = { 0 };
	struct bfs_attr attr;

	put(page, "<h2>Files</h2>\n<ul class=\"files\">\n");
	for (size_t row = 0; row < file->n_rows; row++) {
		size_t n = bfs_file_shows(file, row) ?
			   file->rows[row]->roots(file, roots) : 0;

		for (size_t i = 0; i < n; i++) {
			attr = (struct bfs_attr){ 0 };
			node.view = (uint16_t)row;
			node.kind = roots[i].kind;
			if (row != BFS_ROW_html)	/* that is this one */
				file->rows[row]->stat(file, &node, &attr);
			put(page, "<li><a href=\"");
			put_address(page, roots[i].name);
			put(page, attr.is_dir ? "/\">" : "\">");
			put_word(page, roots[i].name);
			put(page, attr.is_dir ? "/</a></li>\n" :
						"</a></li>\n");
		}
	}
	put(page, "</ul>\n");
}

static void put_lines(struct bfs_markup *page, struct bfs_file *file)
{
	put(page, "<h2>In your program</h2>\n<pre>");
	if (has_entry(file, "data.npy"))
		put(page, "import numpy\na = numpy.load(\"data.npy\", "
		    "mmap_mode=\"r\")\n\n");
	else if (has_entry(file, "data.bin"))
		put(page, "data = open(\"data.bin\", \"rb\").read(1024)\n\n");
	if (has_entry(file, "dataset.zarr"))
		put(page, "import xarray\nd = xarray.open_zarr("
		    "\"dataset.zarr\")\n\n");
	if (has_entry(file, "data.vrt"))
		put(page, "gdalinfo -stats data.vrt\n\n");
	if (has_entry(file, "data.nii"))
		put(page, "import nibabel\nn = nibabel.load(\"data.nii\")\n\n");
	if (has_entry(file, "data.arrow"))
		put(page, "import polars\np = polars.scan_ipc(\"data.arrow\")"
		    "\n\n");
	put(page, "bloscfs --info FILE</pre>\n");
}

/* ---- the whole ------------------------------------------------------- */

static enum bfs_err put_page(struct bfs_markup *page, struct bfs_file *file,
			     struct bfs_diag *diag)
{
	struct bfs_facts facts;

	BFS_TRY(bfs_file_find_facts(file, &facts, diag));
	put_head(page, file->array->container);
	BFS_TRY(bfs_html_faults(page, file, diag));
	put_pictures(page, file, &facts);
	BFS_TRY(put_browser(page, file));
	BFS_TRY(put_metas(page, file, diag));
	put_files(page, file);
	put_lines(page, file);
	put(page, "<footer>bloscfs; read-only.</footer>\n<script>");
	for (unsigned i = 0; i < BFS_HTML_SCRIPT_PIECES; i++)
		put(page, "%s", bfs_html_script[i]);
	put(page, "</script>\n</html>\n");
	if (page->full)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"the page does not fit its size");
	return BFS_OK;
}

enum bfs_err bfs_html_make(struct bfs_file *file, unsigned key, char **ret_text,
			   size_t *ret_len, struct bfs_diag *diag)
{
	struct bfs_markup page = { .cap = MAX_PAGE };
	enum bfs_err err;
	char *text;

	(void)key;
	page.buf = bfs_alloc(page.cap);
	if (!page.buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a page");
	err = put_page(&page, file, diag);
	text = err == BFS_OK ? bfs_memdup0(page.buf, page.len) : NULL;
	bfs_free(page.buf);
	if (err == BFS_OK && !text)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a page");
	if (err != BFS_OK)
		return diag->err == err ? err : bfs_fail(diag, err, 0,
							 "no page");
	*ret_text = text;
	*ret_len = page.len;
	return BFS_OK;
}
