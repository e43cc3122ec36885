/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headers.c - what NRRD, MetaImage, GDAL and ENVI call the parts of an array,
 * and their headers of it.
 */
#include "view/image/headers.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_TEXT 1024		/* bytes without bands */
#define MAX_BAND 384		/* bytes of a band */

/* The most dimensions; for the last two those of a raster and its bands. */
static const unsigned max_dims[BFS_HEADER_N] = { 16, 10, 3, 3 };

/* Types by each format's name; NULL where it has none. */
static const struct type {
	char kind;
	uint8_t size;
	const char *names[BFS_HEADER_N];
} types[] = {
	{ 'u', 1, { "uint8", "MET_UCHAR", "Byte", "1" } },
	{ 'u', 2, { "uint16", "MET_USHORT", "UInt16", "12" } },
	{ 'u', 4, { "uint32", "MET_UINT", "UInt32", "13" } },
	{ 'u', 8, { "uint64", "MET_ULONG_LONG", "UInt64", "15" } },
	{ 'i', 1, { "int8", "MET_CHAR", "Int8", NULL } },
	{ 'i', 2, { "int16", "MET_SHORT", "Int16", "2" } },
	{ 'i', 4, { "int32", "MET_INT", "Int32", "3" } },
	{ 'i', 8, { "int64", "MET_LONG_LONG", "Int64", "14" } },
	{ 'f', 4, { "float", "MET_FLOAT", "Float32", "4" } },
	{ 'f', 8, { "double", "MET_DOUBLE", "Float64", "5" } },
	{ 'c', 8, { NULL, NULL, "CFloat32", "6" } },
	{ 'c', 16, { NULL, NULL, "CFloat64", "9" } },
};

static const char *find_type(const struct bfs_plain *plain,
			     enum bfs_header which)
{
	for (size_t i = 0; i < BFS_ARRAY_LEN(types); i++)
		if (types[i].kind == plain->kind &&
		    types[i].size == plain->size)
			return types[i].names[which];
	return NULL;
}

/* An array as bands of rows. */
struct raster {
	uint64_t bands, height, width;
};

static struct raster find_raster(const struct bfs_plain *plain)
{
	unsigned n = plain->n;

	return (struct raster){
		.bands = n == 3 ? plain->shape[0] : 1,
		.height = plain->shape[n - 2],
		.width = plain->shape[n - 1],
	};
}

static enum bfs_err judge_raster(const struct bfs_plain *plain,
				 enum bfs_header which, struct bfs_diag *diag)
{
	uint64_t most = which == BFS_HEADER_VRT ? BFS_HEADER_BANDS : INT32_MAX;
	struct raster r;

	if (plain->n < 2)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it has at least two dimensions");
	if (plain->fortran)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it has rows, and the items are in order F");
	r = find_raster(plain);
	if (r.bands > most)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the array has too many bands");
	if (r.width > INT32_MAX / plain->size)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the array has too long rows");
	return BFS_OK;
}

enum bfs_err bfs_header_judge(const struct bfs_plain *plain,
			      enum bfs_header which, struct bfs_diag *diag)
{
	if (!find_type(plain, which))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it has no numbers of this type");
	if (plain->n > max_dims[which])
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it has at most %u dimensions",
				max_dims[which]);
	if (which != BFS_HEADER_NRRD)
		for (unsigned d = 0; d < plain->n; d++)
			if (plain->shape[d] > INT32_MAX)
				return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
						"a dimension is too long");
	if (which == BFS_HEADER_VRT || which == BFS_HEADER_ENVI)
		return judge_raster(plain, which, diag);
	return BFS_OK;
}

/* ---- texts ----------------------------------------------------------- */

/* A text in memory that is long enough for all of it. */
struct text {
	char *buf;
	size_t len, cap;
};

static void BFS_PRINTF(2, 3) add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->buf + t->len, t->cap - t->len, fmt, args);
	va_end(args);
	BFS_CHECK(n >= 0 && (size_t)n < t->cap - t->len);
	t->len += (size_t)n;
}

static unsigned count_dims(const struct bfs_plain *plain)
{
	return plain->n ? plain->n : 1;
}

/* All dimensions, the fastest first, with a space before each. */
static void add_dims(struct text *t, const struct bfs_plain *plain)
{
	for (unsigned d = 0; d < plain->n; d++)
		add(t, " %" PRIu64,
		    plain->shape[plain->fortran ? d : plain->n - 1 - d]);
	add(t, plain->n ? "\n" : " 1\n");
}

static void add_nrrd(struct text *t, const struct bfs_plain *plain)
{
	add(t, "NRRD0004\ntype: %s\ndimension: %u\nsizes:",
	    find_type(plain, BFS_HEADER_NRRD), count_dims(plain));
	add_dims(t, plain);
	if (plain->size > 1)
		add(t, "endian: %s\n", plain->big ? "big" : "little");
	add(t, "encoding: raw\ndata file: data.bin\n");
}

static void add_meta(struct text *t, const struct bfs_plain *plain)
{
	add(t, "ObjectType = Image\nNDims = %u\nBinaryData = True\n"
	    "BinaryDataByteOrderMSB = %s\nCompressedData = False\n"
	    "ElementSpacing =", count_dims(plain),
	    plain->big ? "True" : "False");
	for (unsigned d = 0; d < count_dims(plain); d++)
		add(t, " 1");
	add(t, "\nDimSize =");
	add_dims(t, plain);
	add(t, "ElementType = %s\nElementDataFile = data.bin\n",
	    find_type(plain, BFS_HEADER_META));
}

static void add_vrt(struct text *t, const struct bfs_plain *plain)
{
	struct raster r = find_raster(plain);
	uint64_t line = r.width * plain->size;

	add(t, "<VRTDataset rasterXSize=\"%" PRIu64 "\" rasterYSize=\"%"
	    PRIu64 "\">\n", r.width, r.height);
	for (uint64_t i = 0; i < r.bands; i++)
		add(t, "  <VRTRasterBand dataType=\"%s\" band=\"%" PRIu64
		    "\" subClass=\"VRTRawRasterBand\">\n"
		    "    <SourceFilename relativeToVRT=\"1\">data.bin"
		    "</SourceFilename>\n"
		    "    <ImageOffset>%" PRIu64 "</ImageOffset>\n"
		    "    <PixelOffset>%u</PixelOffset>\n"
		    "    <LineOffset>%" PRIu64 "</LineOffset>\n"
		    "    <ByteOrder>%s</ByteOrder>\n"
		    "  </VRTRasterBand>\n",
		    find_type(plain, BFS_HEADER_VRT), i + 1,
		    i * line * r.height, plain->size, line,
		    plain->big ? "MSB" : "LSB");
	add(t, "</VRTDataset>\n");
}

static void add_envi(struct text *t, const struct bfs_plain *plain)
{
	struct raster r = find_raster(plain);

	add(t, "ENVI\nsamples = %" PRIu64 "\nlines = %" PRIu64
	    "\nbands = %" PRIu64 "\nheader offset = 0\n"
	    "file type = ENVI Standard\ndata type = %s\ninterleave = bsq\n"
	    "byte order = %d\n", r.width, r.height, r.bands,
	    find_type(plain, BFS_HEADER_ENVI), plain->big);
}

enum bfs_err bfs_header_text(const struct bfs_plain *plain,
			     enum bfs_header which, char **ret_text,
			     size_t *ret_len, struct bfs_diag *diag)
{
	struct text t = { .cap = MAX_TEXT };

	if (which == BFS_HEADER_VRT)
		t.cap += find_raster(plain).bands * MAX_BAND;
	t.buf = bfs_alloc(t.cap);
	if (!t.buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a header");
	if (which == BFS_HEADER_NRRD)
		add_nrrd(&t, plain);
	else if (which == BFS_HEADER_META)
		add_meta(&t, plain);
	else if (which == BFS_HEADER_VRT)
		add_vrt(&t, plain);
	else
		add_envi(&t, plain);
	*ret_text = t.buf;
	*ret_len = t.len;
	return BFS_OK;
}
