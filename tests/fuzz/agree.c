/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agree.c - the views of one container against one another, and against the
 * oracle where that reads such files.
 *
 * What could not be read for lack of memory says nothing; what is damaged is
 * an error in every view that would need it.
 */
#include "entries.h"

#include "base/bytes.h"
#include "support/oracle.h"
#include "text/json_read.h"
#include "view/dispatch.h"
#include "view/kept.h"
#include "view/zarr/grid.h"

#include <stdio.h>
#include <string.h>

#define MOST ((size_t)1 << 20)	/* bytes of one file */
#define MOST_CHUNKS 512

enum found {
	FOUND,		/* all of it */
	REFUSED,	/* an error that says something about the file */
	UNKNOWN,	/* not there, too much, or no memory */
};

struct bytes {
	uint8_t *p;
	size_t len;
	enum found found;
};

static bool find_in(struct bfs_file *file, const char *path,
		    struct bfs_node *node)
{
	*node = (struct bfs_node){ .view = BFS_VIEW_ROOT };
	while (*path) {
		size_t len = strcspn(path, "/");
		struct bfs_node dir = *node;

		if (!bfs_file_lookup(file, &dir, path, len, node))
			return false;
		path += len + (path[len] == '/');
	}
	return true;
}

static enum found judge(enum bfs_err err)
{
	return err == BFS_OK ? FOUND :
	       bfs_err_passes(err) || err == BFS_ERR_LIMIT ? UNKNOWN : REFUSED;
}

static struct bytes read_node(struct bfs_file *file,
			      const struct bfs_node *node)
{
	struct bytes b = { .found = UNKNOWN };
	struct bfs_attr attr = { 0 };
	enum bfs_err err = bfs_file_open(file, node, NULL);

	b.found = judge(err);
	if (err != BFS_OK)
		return b;
	bfs_file_stat(file, node, &attr);
	if (attr.len > MOST) {
		b.found = UNKNOWN;
		return b;
	}
	b.p = malloc((size_t)attr.len + 1);
	need(b.p != NULL);
	err = bfs_file_read(file, node, 0, b.p, (size_t)attr.len, &b.len,
			    NULL);
	b.found = judge(err);
	need(err != BFS_OK || b.len == attr.len);
	return b;
}

static struct bytes read_path(struct bfs_file *file, const char *path)
{
	struct bfs_node node;

	if (!find_in(file, path, &node))
		return (struct bytes){ .found = UNKNOWN };
	return read_node(file, &node);
}

/* ---- chunks ---------------------------------------------------------- */

/* Chunks that are joined make data.bin, all of it and nothing else. */
static void check_joined(struct bfs_file *file, const struct bytes *data)
{
	size_t n = (size_t)file->array->container->n_chunks, at = 0;
	char path[40];

	for (size_t i = 0; i < n; i++) {
		struct bytes chunk;

		snprintf(path, sizeof(path), "chunks/%010zu", i);
		chunk = read_path(file, path);
		/* What data.bin shows has come out of a chunk. */
		need(chunk.found != REFUSED);
		if (chunk.found == UNKNOWN) {
			free(chunk.p);
			return;
		}
		need(chunk.len <= data->len - at &&
		     memcmp(chunk.p, data->p + at, chunk.len) == 0);
		at += chunk.len;
		free(chunk.p);
	}
	need(at == data->len);
}

/* ---- data.npy -------------------------------------------------------- */

static void check_npy(struct bfs_file *file, const struct bytes *data)
{
	struct bytes npy = read_path(file, "data.npy");
	size_t head = npy.len - data->len;

	if (npy.found == FOUND) {
		need(npy.len >= data->len && head >= 64 && head % 64 == 0);
		need(memcmp(npy.p, "\x93NUMPY", 6) == 0 &&
		     npy.p[head - 1] == '\n');
		need(memcmp(npy.p + head, data->p, data->len) == 0);
	}
	free(npy.p);
}

/* ---- Zarr ------------------------------------------------------------ */

static void find_chunk(const struct bfs_zarr *z, uint64_t n, uint64_t *at)
{
	for (unsigned d = z->n; d-- > 0;) {
		at[d] = n % z->grid[d];
		n /= z->grid[d];
	}
}

static void write_path(const struct bfs_zarr *z, const uint64_t *at,
		       char path[512])
{
	bool old = !z->v2_why[0];
	int len = snprintf(path, 512, old ? "zarr/" : "zarr/c");

	for (unsigned d = 0; d < z->n && len < 480; d++)
		len += snprintf(path + len, 512 - (size_t)len, "%s%llu",
				!old ? "/" : d ? "." : "",
				(unsigned long long)at[d]);
	if (!z->n && old)
		snprintf(path + len, 512 - (size_t)len, "0");
}

/* The items of a chunk that lie in the array are those of data.bin. */
static void check_items(const struct bfs_zarr *z, const uint64_t *at,
			const struct bytes *chunk, const struct bytes *data)
{
	uint64_t size = z->dtype.unit_size, pos[BFS_ZARR_DIMS] = { 0 };

	for (uint64_t i = 0; i < chunk->len / size; i++) {
		uint64_t item = 0;
		bool inside = true;

		for (unsigned d = 0; d < z->n; d++) {
			uint64_t p = at[d] * z->chunk[d] + pos[d];

			inside = inside && p < z->shape[d];
			item = item * z->shape[d] + p;
		}
		if (inside)
			need(bfs_inside(item * size, size, data->len) &&
			     memcmp(chunk->p + i * size, data->p + item * size,
				    size) == 0);
		for (unsigned d = z->n; d-- > 0;) {
			if (++pos[d] < z->chunk[d])
				break;
			pos[d] = 0;
		}
	}
}

static void check_zarr(struct bfs_file *file, const struct bytes *data)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);
	uint64_t at[BFS_ZARR_DIMS], len = 0;
	char path[512];

	if (!z || z->fortran || !z->dtype.unit_size || z->chunk_len > MOST ||
	    (z->v2_why[0] && z->v3_why[0]))
		return;
	for (uint64_t n = 0; n < bfs_min(z->n_chunks, MOST_CHUNKS) &&
	     len < 4 * MOST; n++) {
		struct bytes chunk;

		find_chunk(z, n, at);
		write_path(z, at, path);
		chunk = read_path(file, path);
		if (chunk.found == FOUND) {
			need(chunk.len == z->chunk_len);
			check_items(z, at, &chunk, data);
		}
		need(chunk.found != REFUSED);
		len += chunk.len;
		free(chunk.p);
	}
}

/* ---- the oracle ------------------------------------------------------ */

static void check_oracle(const struct bfs_array *array,
			 const struct bytes *data, const uint8_t *p, size_t len)
{
	const struct bfs_container *container = array->container;
	struct oracle_frame frame;
	struct oracle_bytes bytes;
	char why[ORACLE_ERR];
	enum oracle_verdict v;

	if (container->ops != &bfs_container_b2frame || !data->len)
		return;
	/* Of a frame that is cut off, the oracle has nothing. */
	if (oracle_frame_open(p, len, &frame, why) != ORACLE_GOOD) {
		oracle_frame_release(&frame);
		return;
	}
	v = frame.array.present && frame.array_verdict == ORACLE_GOOD ?
	    oracle_frame_items(&frame, 0, data->len, &bytes, why) :
	    oracle_frame_range(&frame, 0, data->len, &bytes, why);
	/* Where one metalayer is damaged the oracle leaves them all, and has
	 * chunks where the library has an array. */
	if (v == ORACLE_GOOD && (frame.verdict == ORACLE_GOOD ||
				 frame.array.present == array->has_nd))
		need(bytes.len == data->len &&
		     memcmp(bytes.data, data->p, data->len) == 0);
	oracle_release(&bytes);
	/* Where the oracle finds a fault it stops, and the library may still
	 * tell the data; but then it has found one as well. */
	if (frame.verdict == ORACLE_BAD)
		snprintf(why, sizeof(why), "%s", frame.why);
	/* It decodes whole chunks; the library leaves blocks of an array alone
	 * that hold nothing but padding. */
	if ((v == ORACLE_BAD && frame.verdict == ORACLE_GOOD &&
	     !frame.array.present) ||
	    (frame.verdict == ORACLE_BAD && container->status == BFS_GOOD)) {
		fprintf(stderr, "the oracle: %s\n", why);
		abort();
	}
	oracle_frame_release(&frame);
}

/* ---- all ------------------------------------------------------------- */

/* Text of our own is JSON. */
static void check_json(const uint8_t *p, size_t len)
{
	struct bfs_document *doc;
	enum bfs_err err = bfs_json_read(p, len, &doc, NULL);

	need(err == BFS_OK || bfs_err_passes(err) || err == BFS_ERR_LIMIT);
	if (err == BFS_OK)
		bfs_document_free(doc);
}

static void check_texts(struct bfs_file *file)
{
	struct bytes info = read_path(file, "info.json");

	if (info.found == FOUND)
		check_json(info.p, info.len);
	need(info.found != REFUSED);
	free(info.p);
}

/* Each line is JSON, and a part that is read alone is the same. */
static void check_lines(struct bfs_file *file)
{
	struct bytes text = read_path(file, "items.jsonl");
	struct bfs_node root = { .view = BFS_VIEW_ROOT }, node;
	size_t half = text.len / 2, n = 0, end;
	uint8_t part[300];

	for (size_t at = 0; text.found == FOUND && at < text.len; at = end) {
		const uint8_t *stop = memchr(text.p + at, '\n', text.len - at);

		need(stop != NULL);
		end = (size_t)(stop - text.p) + 1;
		check_json(text.p + at, end - at);
	}
	if (text.found == FOUND &&
	    bfs_file_lookup(file, &root, "items.jsonl", 11, &node) &&
	    bfs_file_read(file, &node, half, part, sizeof(part), &n, NULL) ==
		    BFS_OK)
		need(n == bfs_min(sizeof(part), text.len - half) &&
		     !memcmp(part, text.p + half, n));
	free(text.p);
}

static void check_attributes(struct bfs_file *file)
{
	struct bytes text = read_path(file, "zarr/.zattrs");

	if (text.found == FOUND)
		check_json(text.p, text.len);
	free(text.p);
}

void entries_agree(struct bfs_array *array, const uint8_t *bytes, size_t len)
{
	uint32_t views = (UINT32_C(1) << bfs_n_views) - 1;
	struct bfs_file *file;
	struct bytes data;

	if (bfs_file_new(array, views, &file, NULL) != BFS_OK)
		return;
	check_texts(file);
	check_lines(file);
	check_attributes(file);
	data = read_path(file, "data.bin");
	if (data.found == FOUND) {
		if (!array->has_nd || array->plain)
			check_joined(file, &data);
		check_npy(file, &data);
		check_zarr(file, &data);
		if (bytes)
			check_oracle(array, &data, bytes, len);
	}
	free(data.p);
	bfs_file_free(file);
}
