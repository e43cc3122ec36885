/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle_frame.c - contiguous frames for the oracle: header by position,
 * metalayers, trailer, index, chunks joined, array items in C order.
 *
 * A file in memory goes in. Faults that leave the chunks readable are noted
 * in the frame and do not stop it.
 */
#include "oracle_int.h"

#define FIXED_LEN 87		/* of the header, before the metalayers */
#define MAX_HEADER ((uint64_t)16 << 20)
#define MAX_VLMETAS 8192
#define MAX_CHUNK INT64_C(2147483615)

static void blame(struct oracle_frame *f, enum oracle_verdict verdict,
		  const char *why)
{
	if (f->verdict != ORACLE_GOOD)
		return;
	f->verdict = verdict;
	snprintf(f->why, sizeof(f->why), "%s", why);
}

/* ---- metalayers: header and trailer are nearly the same ---- */

struct section {
	const uint8_t *p;	/* offsets of values count from here */
	uint64_t len;
	uint64_t at;		/* of the array marker 93 */
	uint64_t max;		/* metalayers */
};

/* Reads one map entry; *pos moves behind it. */
static enum oracle_verdict read_entry(const struct section *s, uint64_t *pos,
				      struct oracle_meta *ret, char *err)
{
	uint64_t name_len, off, len;

	if (*pos >= s->len || (s->p[*pos] & 0xe0) != 0xa0)
		return BAD(err, "no metalayer name at %llu",
			   (unsigned long long)*pos);
	name_len = s->p[*pos] & 0x1f;
	if (s->len - *pos < 1 + name_len + 5 ||
	    s->p[*pos + 1 + name_len] != 0xd2)
		return BAD(err, "metalayer entry cut at %llu",
			   (unsigned long long)*pos);
	memcpy(ret->name, s->p + *pos + 1, name_len);
	ret->name[name_len] = '\0';
	ret->name_len = name_len;
	off = get_be(s->p + *pos + 2 + name_len, 4);
	*pos += 1 + name_len + 5;
	if (off > s->len || s->len - off < 5 || s->p[off] != 0xc6)
		return BAD(err, "no metalayer content at %llu",
			   (unsigned long long)off);
	len = get_be(s->p + off + 1, 4);
	if (len > s->len - off - 5)
		return BAD(err, "metalayer content of %llu bytes",
			   (unsigned long long)len);
	ret->data = s->p + off + 5;
	ret->len = len;
	return ORACLE_GOOD;
}

static enum oracle_verdict read_metas(const struct section *s,
				      struct oracle_meta *metas, size_t *ret_n,
				      char *err)
{
	uint64_t pos = s->at + 7, n;

	if (s->len < s->at + 10)
		return BAD(err, "no room for metalayers");
	if (s->p[s->at] != 0x93 || s->p[s->at + 1] != 0xcd ||
	    s->p[s->at + 4] != 0xde)
		return BAD(err, "metalayer markers");
	n = get_be(s->p + s->at + 5, 2);
	if (n > s->max)
		return BAD(err, "%llu metalayers", (unsigned long long)n);
	for (uint64_t i = 0; i < n; i++)
		TRY(read_entry(s, &pos, metas + i, err));
	if (pos >= s->len || s->len - pos < 3 || s->p[pos] != 0xdc)
		return BAD(err, "no end of the metalayer map");
	*ret_n = n;
	return ORACLE_GOOD;
}

/* ---- trailer ---- */

static enum oracle_verdict read_trailer(struct oracle_frame *f, char *err)
{
	const uint8_t *end = f->file + f->frame_len;
	struct section s = { .at = 2, .max = MAX_VLMETAS };
	uint64_t len;

	if (f->frame_len < f->header_len + 25)
		return BAD(err, "no room for a trailer");
	if (end[-23] != 0xce || end[-18] != 0xd8)
		return BAD(err, "trailer markers");
	len = get_be(end - 22, 4);
	if (len < 25 || len > f->frame_len - f->header_len)
		return BAD(err, "trailer of %llu bytes",
			   (unsigned long long)len);
	f->trailer_off = f->frame_len - len;
	s.p = f->file + f->trailer_off;
	s.len = len - 23;
	if (s.p[0] != 0x94 || s.p[1] != 1)
		return BAD(err, "trailer of another version");
	f->vlmetas = must_alloc(MAX_VLMETAS * sizeof(*f->vlmetas));
	return read_metas(&s, f->vlmetas, &f->n_vlmetas, err);
}

/* ---- index ---- */

static enum oracle_verdict read_index(struct oracle_frame *f, char *err)
{
	uint64_t at = f->header_len + f->cbytes;
	struct oracle_bytes raw;

	/* Without bytes there is no index; cbytes may count deleted chunks. */
	if (f->nbytes == 0 && f->trailer_off != f->header_len &&
	    f->trailer_off != at)
		return BAD(err, "an index of nothing");
	if (f->nbytes == 0)
		return ORACLE_GOOD;
	if (f->chunksize < 0)
		return BAD(err, "chunk size %d", f->chunksize);
	if (at > f->trailer_off)
		return BAD(err, "index behind the trailer");
	TRY(oracle_chunk(f->file + at, f->trailer_off - at, NULL, &raw, err));
	f->n_chunks = raw.len / 8;
	if (raw.len % 8 != 0 || raw.len == 0 ||
	    (f->chunksize > 0 &&
	     f->n_chunks != (f->nbytes - 1) / (uint64_t)f->chunksize + 1)) {
		f->n_chunks = 0;
		err[0] = '\0';
		BAD(err, "index of %zu bytes", raw.len);
		oracle_release(&raw);
		return ORACLE_BAD;
	}
	f->index = must_alloc(raw.len);
	for (uint64_t n = 0; n < f->n_chunks; n++)
		f->index[n] = (int64_t)get_le(raw.data + 8 * n, 8);
	oracle_release(&raw);
	return ORACLE_GOOD;
}

/* nbytes in the header of stored chunk n, or -1. */
static int64_t stored_size(const struct oracle_frame *f, uint64_t n)
{
	int64_t off = f->index[n];
	int64_t nbytes;

	if (off < 0 || f->cbytes < 16 || (uint64_t)off > f->cbytes - 16)
		return -1;
	nbytes = get_i32(f->file + f->header_len + off + 4);
	return nbytes < 0 ? -1 : nbytes;
}

static enum oracle_verdict find_variable_sizes(struct oracle_frame *f,
					       char *err)
{
	uint64_t n_special = 0, n_bad = 0, sum = 0, last = 0;

	for (uint64_t n = 0; n < f->n_chunks; n++) {
		f->sizes[n] = stored_size(f, n);
		if (f->sizes[n] >= 0)
			sum += (uint64_t)f->sizes[n];
		else if (f->index[n] < 0 && ++n_special)
			last = n;
		else
			n_bad++;
	}
	if (n_bad || sum > f->nbytes)
		return BAD(err, "%llu chunks without size",
			   (unsigned long long)n_bad);
	if (n_special == 1 && f->nbytes - sum <= (uint64_t)MAX_CHUNK) {
		f->sizes[last] = (int64_t)(f->nbytes - sum);
		return ORACLE_GOOD;
	}
	for (uint64_t n = 0; n < f->n_chunks && sum == f->nbytes; n++)
		if (f->index[n] < 0)
			f->sizes[n] = 0;
	if (sum != f->nbytes)
		return BAD(err, "special chunk without size");
	return ORACLE_GOOD;
}

static enum oracle_verdict find_sizes(struct oracle_frame *f, char *err)
{
	f->sizes = must_alloc(8 * f->n_chunks);
	if (f->chunksize == 0)
		return find_variable_sizes(f, err);
	for (uint64_t n = 0; n < f->n_chunks; n++)
		f->sizes[n] = f->chunksize;
	if (f->n_chunks)
		f->sizes[f->n_chunks - 1] = (int64_t)
			(f->nbytes -
			 (f->n_chunks - 1) * (uint64_t)f->chunksize);
	return ORACLE_GOOD;
}

/* ---- array metalayer ---- */

struct geometry {
	uint64_t grid[ORACLE_MAX_DIM], nblk[ORACLE_MAX_DIM];
	uint64_t chunk_items;	/* with padding unless linear */
	uint64_t block_items;
	uint64_t n_chunks;
};

/* False when the product exceeds 2^62. */
static bool multiply(uint64_t *product, uint64_t by)
{
	if (by != 0 && *product > (UINT64_C(1) << 62) / by)
		return false;
	*product *= by;
	return true;
}

static bool measure(const struct oracle_array *a, struct geometry *g)
{
	bool good = true;

	g->chunk_items = g->block_items = g->n_chunks = 1;
	for (unsigned d = 0; d < a->ndim; d++) {
		uint64_t s = (uint64_t)a->shape[d];
		uint64_t c = (uint64_t)a->chunkshape[d];
		uint64_t b = (uint64_t)a->blockshape[d];

		if (a->shape[d] < 0 || a->chunkshape[d] < 1)
			return false;
		if (!a->linear && a->blockshape[d] < 1)
			return false;
		g->grid[d] = (s + c - 1) / c;
		g->nblk[d] = a->linear ? 1 : (c + b - 1) / b;
		b = a->linear ? c : b;
		good = good && multiply(&g->n_chunks, g->grid[d]) &&
		       multiply(&g->block_items, b) &&
		       multiply(&g->chunk_items, g->nblk[d] * b);
	}
	return good;
}

static bool read_numbers(const uint8_t **p, const uint8_t *end, unsigned n,
			 uint8_t marker, int width, int64_t *ret)
{
	if (*p >= end || **p != (uint8_t)(0x90 + n))
		return false;
	++*p;
	for (unsigned i = 0; i < n; i++) {
		if (end - *p < 1 + width || **p != marker)
			return false;
		ret[i] = (int64_t)get_be(*p + 1, width);
		if (width == 4)
			ret[i] = (int32_t)(uint32_t)ret[i];
		*p += 1 + width;
	}
	return true;
}

static bool read_array_meta(const struct oracle_meta *m, bool caterva,
			    struct oracle_array *a)
{
	const uint8_t *p = m->data, *end = m->data + m->len;
	int64_t chunk[ORACLE_MAX_DIM], block[ORACLE_MAX_DIM];

	if (m->len < 3 || p[1] != 0 || p[2] > ORACLE_MAX_DIM)
		return false;
	if (p[0] != 0x95 && (caterva || p[0] != 0x97))
		return false;
	a->ndim = p[2];
	p += 3;
	if (!read_numbers(&p, end, a->ndim, 0xd3, 8, a->shape) ||
	    !read_numbers(&p, end, a->ndim, 0xd2, 4, chunk) ||
	    !read_numbers(&p, end, a->ndim, 0xd2, 4, block))
		return false;
	for (unsigned d = 0; d < a->ndim; d++) {
		a->chunkshape[d] = (int32_t)chunk[d];
		a->blockshape[d] = (int32_t)block[d];
	}
	if (m->data[0] == 0x95)
		return true;
	return end - p >= 6 && p[1] == 0xdb &&
	       get_be(p + 2, 4) <= (uint64_t)(end - p - 6);
}

static const struct oracle_meta *find_meta(const struct oracle_frame *f,
					   const char *name)
{
	for (size_t i = 0; i < f->n_metas; i++)
		if (f->metas[i].name_len == strlen(name) &&
		    memcmp(f->metas[i].name, name, strlen(name)) == 0)
			return &f->metas[i];
	return NULL;
}

/* Whether the geometry explains the frame; sets nbytes and linear. */
static bool fit_array(const struct oracle_frame *f, struct oracle_array *a)
{
	struct geometry g;
	uint64_t total = f->typesize, one;

	for (unsigned d = 0; d < a->ndim; d++)
		if (a->shape[d] < 0 || !multiply(&total, (uint64_t)a->shape[d]))
			return false;
	a->nbytes = total;
	if (total == 0)
		return f->nbytes == 0;
	for (int linear = 0; linear <= 1; linear++) {
		a->linear = linear;
		if (!measure(a, &g))
			continue;
		one = g.chunk_items;
		if (multiply(&one, f->typesize) &&
		    one == (uint64_t)f->chunksize && g.n_chunks == f->n_chunks)
			return true;
	}
	return false;
}

static enum oracle_verdict read_array(struct oracle_frame *f, char *err)
{
	const struct oracle_meta *m = find_meta(f, "b2nd");
	struct oracle_array a = { 0 };
	bool caterva = !m;

	if (!m)
		m = find_meta(f, "caterva");
	if (!m)
		return ORACLE_GOOD;
	if (!read_array_meta(m, caterva, &a))
		return BAD(err, "array metalayer");
	if (!fit_array(f, &a) || (a.linear && !caterva))
		return BAD(err, "array geometry");
	a.present = true;
	f->array = a;
	return ORACLE_GOOD;
}

/* ---- header ---- */

static bool markers_fit(const uint8_t *p)
{
	static const struct { uint8_t at, want; } marks[] = {
		{ 0x0a, 0xd2 }, { 0x0f, 0xcf }, { 0x18, 0xa4 }, { 0x1d, 0xd3 },
		{ 0x26, 0xd3 }, { 0x2f, 0xd2 }, { 0x34, 0xd2 }, { 0x39, 0xd2 },
		{ 0x3e, 0xd1 }, { 0x41, 0xd1 }, { 0x45, 0xd8 },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (p[marks[i].at] != marks[i].want)
			return false;
	return true;
}

static enum oracle_verdict read_header(struct oracle_frame *f,
				       const uint8_t *p, size_t len, char *err)
{
	if (len < FIXED_LEN || memcmp(p + 1, "\xa8" "b2frame", 9) != 0 ||
	    p[0] != 0x9e)
		return BAD(err, "not a frame");
	if (!markers_fit(p))
		return BAD(err, "header markers");
	f->header_len = get_be(p + 0x0b, 4);
	f->frame_len = get_be(p + 0x10, 8);
	f->general_flags = p[0x19];
	f->nbytes = get_be(p + 0x1e, 8);
	f->cbytes = get_be(p + 0x27, 8);
	f->typesize = (uint32_t)get_be(p + 0x30, 4);
	f->chunksize = (int32_t)(uint32_t)get_be(p + 0x3a, 4);
	if ((f->general_flags & 15) > 3)
		return fail(err, ORACLE_UNSUPPORTED, "frame version %u",
			    f->general_flags & 15u);
	if (p[0x1a] != 0)
		return BAD(err, "frame type %u", p[0x1a]);
	if (f->frame_len > len)
		return BAD(err, "frame of %llu bytes in %zu",
			   (unsigned long long)f->frame_len, len);
	if (f->header_len < FIXED_LEN || f->header_len > f->frame_len ||
	    f->header_len > MAX_HEADER)
		return BAD(err, "header of %llu bytes",
			   (unsigned long long)f->header_len);
	if (f->nbytes > INT64_MAX || f->cbytes > INT64_MAX)
		return BAD(err, "negative sizes");
	if (f->nbytes > 0 && f->cbytes > f->frame_len - f->header_len)
		return BAD(err, "data of %llu bytes",
			   (unsigned long long)f->cbytes);
	if (f->typesize < 1 || f->typesize > INT32_MAX)
		return BAD(err, "typesize %u", f->typesize);
	if (f->chunksize < -1 || f->chunksize > MAX_CHUNK ||
	    (f->chunksize == -1 && f->nbytes > 0))
		return BAD(err, "chunk size %d", f->chunksize);
	if (p[0x46] > 6)
		return BAD(err, "%u filter slots", p[0x46]);
	return ORACLE_GOOD;
}

enum oracle_verdict oracle_frame_open(const uint8_t *file, size_t len,
				      struct oracle_frame *f,
				      char err[ORACLE_ERR])
{
	struct section s = { .p = file, .at = FIXED_LEN, .max = 16 };
	enum oracle_verdict v;

	memset(f, 0, sizeof(*f));
	err[0] = '\0';
	TRY(read_header(f, file, len, err));
	f->file = file;
	f->trailer_off = f->frame_len;
	s.len = f->header_len;
	if ((v = read_metas(&s, f->metas, &f->n_metas, err)) != ORACLE_GOOD)
		blame(f, v, err);
	if ((v = read_trailer(f, err)) != ORACLE_GOOD)
		blame(f, v, err);
	if ((v = read_index(f, err)) != ORACLE_GOOD)
		blame(f, v, err);
	if ((v = find_sizes(f, err)) != ORACLE_GOOD)
		blame(f, v, err);
	f->array_verdict = read_array(f, err);
	return ORACLE_GOOD;
}

void oracle_frame_release(struct oracle_frame *f)
{
	free(f->vlmetas);
	free(f->index);
	free(f->sizes);
	memset(f, 0, sizeof(*f));
}

/* ---- reading ---- */

static enum oracle_verdict fill_missing(const struct oracle_frame *f,
					uint64_t entry, uint64_t nbytes,
					struct oracle_bytes *ret, char *err)
{
	static const uint8_t nan4[] = { 0, 0, 0xc0, 0x7f };
	static const uint8_t nan8[] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };
	uint64_t kind = entry >> 56, w = f->typesize;

	if (entry << 8 || (kind != 0x81 && kind != 0x82 && kind != 0x84))
		return BAD(err, "index entry %016llx",
			   (unsigned long long)entry);
	if (kind == 0x82 && ((w != 4 && w != 8) || nbytes % w != 0))
		return BAD(err, "NaN of %llu bytes", (unsigned long long)w);
	if (nbytes > ORACLE_MAX)
		return fail(err, ORACLE_LIMIT, "%llu bytes",
			    (unsigned long long)nbytes);
	ret->data = must_alloc(nbytes);
	ret->len = nbytes;
	for (uint64_t i = 0; kind == 0x82 && i < nbytes; i++)
		ret->data[i] = w == 4 ? nan4[i % 4] : nan8[i % 8];
	return ORACLE_GOOD;
}

enum oracle_verdict oracle_frame_chunk(const struct oracle_frame *f, uint64_t n,
				       struct oracle_bytes *ret,
				       char err[ORACLE_ERR])
{
	struct oracle_env env = { .typesize = f->typesize };
	int64_t off;

	memset(ret, 0, sizeof(*ret));
	if (n >= f->n_chunks)
		return BAD(err, "no chunk %llu", (unsigned long long)n);
	off = f->index[n];
	if (off < 0) {
		if (f->sizes[n] < 0)
			return BAD(err, "special chunk without size");
		return fill_missing(f, (uint64_t)off, (uint64_t)f->sizes[n],
				    ret, err);
	}
	if (f->cbytes < 16 || (uint64_t)off > f->cbytes - 16)
		return BAD(err, "chunk at %lld", (long long)off);
	TRY(oracle_chunk(f->file + f->header_len + off,
			 f->cbytes - (uint64_t)off, &env, ret, err));
	if (f->chunksize > 0 && (int64_t)ret->len != f->sizes[n]) {
		BAD(err, "chunk of %zu bytes, not %lld", ret->len,
		    (long long)f->sizes[n]);
		oracle_release(ret);
		return ORACLE_BAD;
	}
	return ORACLE_GOOD;
}

enum oracle_verdict oracle_frame_range(const struct oracle_frame *f,
				       uint64_t off, uint64_t len,
				       struct oracle_bytes *ret,
				       char err[ORACLE_ERR])
{
	uint64_t at = 0, end;

	memset(ret, 0, sizeof(*ret));
	if (f->nbytes > 0 && f->n_chunks == 0)
		return BAD(err, "the index is lost");
	if (off > f->nbytes)
		off = f->nbytes;
	end = len > f->nbytes - off ? f->nbytes : off + len;
	if (end - off > ORACLE_MAX)
		return fail(err, ORACLE_LIMIT, "range");
	ret->data = must_alloc(end - off);
	ret->len = end - off;
	for (uint64_t n = 0; n < f->n_chunks && at < end; n++) {
		struct oracle_bytes chunk;
		enum oracle_verdict v;
		uint64_t to;

		if (f->sizes[n] < 0) {
			oracle_release(ret);
			return BAD(err, "chunk %llu has no size",
				   (unsigned long long)n);
		}
		to = at + (uint64_t)f->sizes[n];
		if (to <= off) {
			at = to;
			continue;
		}
		v = oracle_frame_chunk(f, n, &chunk, err);
		if (v != ORACLE_GOOD) {
			oracle_release(ret);
			return v;
		}
		for (uint64_t i = 0; i < chunk.len; i++)
			if (at + i >= off && at + i < end)
				ret->data[at + i - off] = chunk.data[i];
		oracle_release(&chunk);
		at = to;
	}
	return ORACLE_GOOD;
}

/* Where item i of the array lies: its chunk, and its item in the chunk. */
static void locate(const struct oracle_array *a, const struct geometry *g,
		   uint64_t i, uint64_t *ret_chunk, uint64_t *ret_item)
{
	uint64_t chunk = 0, block = 0, item = 0, pos[ORACLE_MAX_DIM];

	for (unsigned d = a->ndim; d-- > 0; i /= (uint64_t)a->shape[d])
		pos[d] = i % (uint64_t)a->shape[d];
	for (unsigned d = 0; d < a->ndim; d++) {
		uint64_t c = (uint64_t)a->chunkshape[d];
		uint64_t b = a->linear ? c : (uint64_t)a->blockshape[d];

		chunk = chunk * g->grid[d] + pos[d] / c;
		block = block * g->nblk[d] + pos[d] % c / b;
		item = item * b + pos[d] % c % b;
	}
	*ret_chunk = chunk;
	*ret_item = block * g->block_items + item;
}

/* Keeps every chunk it has decoded until the end: rows cross many chunks. */
static enum oracle_verdict copy_items(const struct oracle_frame *f,
				      uint64_t off, struct oracle_bytes *ret,
				      char *err)
{
	struct oracle_bytes *chunks;
	enum oracle_verdict v = ORACLE_GOOD;
	struct geometry g;

	if (!measure(&f->array, &g))
		return BAD(err, "array geometry");
	chunks = must_alloc(f->n_chunks * sizeof(*chunks));
	for (size_t i = 0; i < ret->len; i++) {
		uint64_t at = off + i, n, item;

		locate(&f->array, &g, at / f->typesize, &n, &item);
		if (!chunks[n].data)
			v = oracle_frame_chunk(f, n, &chunks[n], err);
		if (v != ORACLE_GOOD)
			break;
		ret->data[i] = chunks[n].data[item * f->typesize +
					      at % f->typesize];
	}
	for (uint64_t n = 0; n < f->n_chunks; n++)
		oracle_release(&chunks[n]);
	free(chunks);
	return v;
}

enum oracle_verdict oracle_frame_items(const struct oracle_frame *f,
				       uint64_t off, uint64_t len,
				       struct oracle_bytes *ret,
				       char err[ORACLE_ERR])
{
	enum oracle_verdict v;

	memset(ret, 0, sizeof(*ret));
	if (!f->array.present)
		return BAD(err, "no array");
	if (off > f->array.nbytes)
		off = f->array.nbytes;
	if (len > f->array.nbytes - off)
		len = f->array.nbytes - off;
	if (len > ORACLE_MAX)
		return fail(err, ORACLE_LIMIT, "array");
	ret->data = must_alloc(len);
	ret->len = len;
	if (len == 0)
		return ORACLE_GOOD;
	v = copy_items(f, off, ret, err);
	if (v != ORACLE_GOOD)
		oracle_release(ret);
	return v;
}

enum oracle_verdict oracle_frame_vlmeta(const struct oracle_frame *f, size_t i,
					struct oracle_bytes *ret,
					char err[ORACLE_ERR])
{
	const struct oracle_meta *m = &f->vlmetas[i];

	memset(ret, 0, sizeof(*ret));
	if (m->len < 16 || get_le(m->data + 12, 4) != m->len)
		return BAD(err, "vlmetalayer of %zu bytes", m->len);
	return oracle_chunk(m->data, m->len, NULL, ret, err);
}
