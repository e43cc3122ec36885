/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy.c - a parsed dtype as the descr of a .npy header, and the header.
 *
 * Where NumPy can save the dtype, the header is the one that NumPy 1.24 writes,
 * byte for byte; where it cannot, items are plain bytes ('|V...') of the same
 * size.
 */
#include "text/dtype.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ALIGN 64
/* NumPy leaves room for the growing dimension to reach this many digits. */
#define GROWTH_DIGITS 21

/* A text that grows; failed is set by the first allocation that fails. */
struct text {
	char *buf;
	size_t len, cap;
	bool failed;
	bool wide;		/* has characters beyond Latin-1 */
};

static void add_bytes(struct text *t, const char *p, size_t len)
{
	size_t cap = t->cap ? t->cap : 64;
	char *buf;

	while (cap - t->len <= len)
		cap *= 2;
	if (!t->failed && cap != t->cap) {
		buf = bfs_realloc(t->buf, cap);
		t->failed = !buf;
		t->buf = buf ? buf : t->buf;
		t->cap = buf ? cap : t->cap;
	}
	if (t->failed)
		return;
	memcpy(t->buf + t->len, p, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

static void add(struct text *t, const char *p)
{
	add_bytes(t, p, strlen(p));
}

static void BFS_PRINTF(2, 3) add_format(struct text *t, const char *fmt, ...)
{
	char buf[96];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	add(t, buf);
}

/* Takes one character off valid UTF-8. */
static uint32_t next_char(const char **p)
{
	const uint8_t *b = (const uint8_t *)*p;
	unsigned n = b[0] < 0x80 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
	uint32_t v = n == 1 ? b[0] : b[0] & (0x7fU >> n);
	unsigned i;

	for (i = 1; i < n; i++)
		v = v << 6 | (b[i] & 63);
	*p += n;
	return v;
}

/* Whether Python prints a character as it is: no controls, formats, spaces
 * other than ' ', private ones. Unassigned ones are not known here and count
 * as printable. */
static bool is_printable(uint32_t v)
{
	static const uint32_t hidden[][2] = {
		{ 0x00, 0x1f }, { 0x7f, 0xa0 }, { 0xad, 0xad },
		{ 0x600, 0x605 }, { 0x61c, 0x61c }, { 0x6dd, 0x6dd },
		{ 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 },
		{ 0x1680, 0x1680 }, { 0x180e, 0x180e }, { 0x2000, 0x200f },
		{ 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x3000, 0x3000 },
		{ 0xe000, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0xfffe, 0xffff }, { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
		{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe00ff },
		{ 0xe01f0, 0x10ffff },
	};
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(hidden); i++)
		if (v >= hidden[i][0] && v <= hidden[i][1])
			return false;
	return true;
}

static void add_char(struct text *t, uint32_t v, const char *bytes, size_t len,
		     char quote)
{
	static const char from[] = "\\\n\r\t";
	static const char to[] = "\\nrt";
	const char *found = v < 0x80 ? strchr(from, (int)v) : NULL;

	if (found)
		add_format(t, "\\%c", to[found - from]);
	else if (v == (uint32_t)quote)
		add_format(t, "\\%c", quote);
	else if (is_printable(v))
		add_bytes(t, bytes, len);
	else if (v < 0x100)
		add_format(t, "\\x%02" PRIx32, v);
	else if (v < 0x10000)
		add_format(t, "\\u%04" PRIx32, v);
	else
		add_format(t, "\\U%08" PRIx32, v);
	if (v >= 0x100 && is_printable(v))
		t->wide = true;
}

/* A string as Python writes it. */
static void add_string(struct text *t, const char *s)
{
	char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
	const char *at;
	uint32_t v;

	add_bytes(t, &quote, 1);
	while (*s) {
		at = s;
		v = next_char(&s);
		add_char(t, v, at, (size_t)(s - at), quote);
	}
	add_bytes(t, &quote, 1);
}

static void add_dims(struct text *t, const uint64_t *dims, unsigned n)
{
	unsigned i;

	add(t, "(");
	for (i = 0; i < n; i++)
		add_format(t, "%s%" PRIu64, i ? ", " : "", dims[i]);
	add(t, n == 1 ? ",)" : ")");
}

bool bfs_dtype_is_listable(const struct bfs_dtype *type)
{
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < type->n_fields; i++) {
		if (type->fields[i].off < at)
			return false;
		at = type->fields[i].off + type->fields[i].type.itemsize;
	}
	return at <= type->unit_size;
}

static void add_gap(struct text *t, uint64_t len, const char **comma)
{
	if (!len)
		return;
	add_format(t, "%s('', '|V%" PRIu64 "')", *comma, len);
	*comma = ", ";
}

/* The type of one element; its dims are the caller's business. */
static void add_type(struct text *t, const struct bfs_dtype *type)
{
	const char *comma = "";
	uint64_t at = 0;
	size_t i;

	if (type->kind != 'T') {
		uint64_t n = type->unit_size / (type->kind == 'U' ? 4 : 1);

		add_format(t, "'%c%c%" PRIu64 "%s'", type->order, type->kind, n,
			   type->unit);
		return;
	}
	if (!bfs_dtype_is_listable(type)) {
		add_format(t, "'|V%" PRIu64 "'", type->unit_size);
		return;
	}
	add(t, "[");
	for (i = 0; i < type->n_fields; i++) {
		const struct bfs_dtype_field *field = &type->fields[i];

		add_gap(t, field->off - at, &comma);
		add_format(t, "%s(", comma);
		comma = ", ";
		if (field->title) {
			add(t, "(");
			add_string(t, field->title);
			add(t, ", ");
		}
		add_string(t, field->name);
		add(t, field->title ? "), " : ", ");
		add_type(t, &field->type);
		if (field->type.n_dims) {
			add(t, ", ");
			add_dims(t, field->type.dims, field->type.n_dims);
		}
		add(t, ")");
		at = field->off + field->type.itemsize;
	}
	add_gap(t, type->unit_size - at, &comma);
	add(t, "]");
}

enum bfs_err bfs_dtype_descr(const struct bfs_dtype *dtype, char **ret_text,
			     bool *ret_wide)
{
	struct text t = { 0 };

	add_type(&t, dtype);
	if (t.failed) {
		bfs_free(t.buf);
		return BFS_ERR_NOMEM;
	}
	*ret_text = t.buf;
	*ret_wide = t.wide;
	return BFS_OK;
}

/* The dtype of the text where it fits. False with *ret_err OK: items are to be
 * shown as plain bytes. */
static bool find_type(const char *text, size_t len, uint64_t typesize,
		      struct bfs_dtype *ret_type, enum bfs_err *ret_err)
{
	bool has_object = false;

	*ret_err = BFS_OK;
	if (!text)
		return false;
	*ret_err = bfs_dtype_parse(text, len, ret_type, NULL);
	if (*ret_err == BFS_OK) {
		if (ret_type->itemsize == typesize)
			return true;
		bfs_dtype_release(ret_type);
		return false;
	}
	if (*ret_err == BFS_ERR_NOMEM)
		return false;
	*ret_err = bfs_dtype_has_object(text, len, &has_object);
	if (has_object)
		*ret_err = BFS_ERR_UNSUPPORTED;
	return false;
}

enum bfs_err bfs_dtype_of_items(const char *text, size_t len,
				uint64_t typesize, unsigned n_dims,
				bool *fortran, struct bfs_dtype *ret_type,
				struct bfs_diag *diag)
{
	struct bfs_dtype type = { 0 };
	enum bfs_err err;
	bool known;

	if (!typesize)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"items of no bytes cannot be shown");
	known = find_type(text, len, typesize, &type, &err);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, err == BFS_ERR_NOMEM ?
				"no memory for a dtype" :
				"Python objects cannot be shown");
	/* The dims of a sub-array vary fastest, but in order F the last
	 * dimension varies slowest: there they cannot be expressed. An array of
	 * one dimension is in order C as well. */
	if (known && type.n_dims && *fortran) {
		known = n_dims <= 1;
		*fortran = !known;
		if (!known)
			bfs_dtype_release(&type);
	}
	if (!known)
		type = (struct bfs_dtype){ .kind = 'V', .order = '|',
			.itemsize = typesize, .unit_size = typesize };
	*ret_type = type;
	return BFS_OK;
}

/* The text up to where the padding begins. */
static void add_dict(struct text *t, const struct bfs_dtype *type,
		     unsigned n_dims, const uint64_t *shape, bool fortran)
{
	uint64_t dims[2 * BFS_DTYPE_MAXDIM];
	unsigned n = n_dims + type->n_dims;
	uint64_t growing;
	char digits[24];

	BFS_CHECK(n <= BFS_ARRAY_LEN(dims));
	if (n_dims)
		memcpy(dims, shape, n_dims * sizeof(dims[0]));
	memcpy(dims + n_dims, type->dims, type->n_dims * sizeof(dims[0]));
	add(t, "{'descr': ");
	add_type(t, type);
	add_format(t, ", 'fortran_order': %s, 'shape': ",
		   fortran ? "True" : "False");
	add_dims(t, dims, n);
	add(t, ", }");
	if (!n)
		return;
	growing = dims[fortran ? n - 1 : 0];
	snprintf(digits, sizeof(digits), "%" PRIu64, growing);
	add_format(t, "%*s", GROWTH_DIGITS - (int)strlen(digits), "");
}

/* UTF-8 to Latin-1, in place. */
static void narrow(struct text *t)
{
	const char *from = t->buf;
	size_t len = 0;

	while (from < t->buf + t->len)
		t->buf[len++] = (char)next_char(&from);
	t->len = len;
}

/* Puts magic, version and length before the text, spaces and a newline behind
 * it. Like NumPy it adds 64 bytes where no padding would be needed. */
static enum bfs_err wrap(struct text *t, uint8_t **ret_header, size_t *ret_len)
{
	size_t head = 10, all, text_len;
	uint8_t *out;
	unsigned i;

	if (!t->wide)
		narrow(t);
	all = (head + t->len + 1) / ALIGN * ALIGN + ALIGN;
	if (t->wide || all - head > UINT16_MAX) {
		head = 12;
		all = (head + t->len + 1) / ALIGN * ALIGN + ALIGN;
	}
	text_len = all - head;
	if (text_len > UINT32_MAX)
		return BFS_ERR_LIMIT;
	out = bfs_alloc(all);
	if (!out)
		return BFS_ERR_NOMEM;
	memcpy(out, "\x93NUMPY", 6);
	out[6] = t->wide ? 3 : head == 12 ? 2 : 1;
	out[7] = 0;
	for (i = 8; i < head; i++)
		out[i] = (uint8_t)(text_len >> (i - 8) * 8);
	memcpy(out + head, t->buf, t->len);
	memset(out + head + t->len, ' ', text_len - t->len - 1);
	out[all - 1] = '\n';
	*ret_header = out;
	*ret_len = all;
	return BFS_OK;
}

enum bfs_err bfs_npy_header(const char *dtype_text, size_t dtype_len,
			    uint64_t typesize, unsigned n_dims,
			    const uint64_t *shape, bool fortran,
			    uint8_t **ret_header, size_t *ret_len,
			    struct bfs_diag *diag)
{
	struct text t = { 0 };
	struct bfs_dtype type;
	enum bfs_err err;

	if (n_dims > BFS_DTYPE_MAXDIM)
		return bfs_fail(diag, BFS_ERR_INVALID, 0,
				"more than %d dimensions", BFS_DTYPE_MAXDIM);
	BFS_TRY(bfs_dtype_of_items(dtype_text, dtype_len, typesize, n_dims,
				   &fortran, &type, diag));
	add_dict(&t, &type, n_dims, shape, fortran);
	bfs_dtype_release(&type);
	err = t.failed ? BFS_ERR_NOMEM : wrap(&t, ret_header, ret_len);
	bfs_free(t.buf);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "no room for a .npy header");
	return BFS_OK;
}
