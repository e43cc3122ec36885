/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metatable.c - names, places and lengths of metalayers, by position.
 *
 * Markers never vary, so this is no general msgpack: fixed bytes are checked
 * and numbers bounded. See docs/formats/b2frame.md, metalayers.
 */
#include "container/metatable.h"

#include "base/bytes.h"
#include "text/json.h"
#include "base/mem.h"
#include "text/msgpack.h"

#include <inttypes.h>

#define MAX_METAS 16
#define MAX_VLMETAS 8192

static enum bfs_err read_section(const struct bfs_section *s, uint64_t at,
				 uint8_t *dst, size_t len,
				 struct bfs_diag *diag)
{
	if (bfs_inside(at, len, s->buf_len)) {
		memcpy(dst, s->buf + at, len);
		return BFS_OK;
	}
	return bfs_source_read(s->source, s->off + at, dst, len, diag);
}

/* One value: 0xc6, its length, its bytes, all inside the section. */
static enum bfs_err check_value(const struct bfs_section *s, uint64_t at,
				const char *name, uint32_t *ret_len,
				struct bfs_diag *diag)
{
	uint8_t head[5];
	uint32_t len;

	if (!bfs_inside(at, 5, s->len))
		return bfs_fail(diag, BFS_ERR_CORRUPT, s->off,
				"metalayer '%.31s' lies outside its section",
				name);
	BFS_TRY(read_section(s, at, head, 5, diag));
	len = bfs_be32(head + 1);
	if (head[0] != 0xc6 || !bfs_inside(at + 5, len, s->len))
		return bfs_fail(diag, BFS_ERR_CORRUPT, s->off + at,
				"the value of metalayer '%.31s' does not hold",
				name);
	*ret_len = len;
	return BFS_OK;
}

static bool names_array(const char *name)
{
	return !strcmp(name, "b2nd") || !strcmp(name, "caterva");
}

static enum bfs_err add_entry(struct bfs_container *container,
			      const struct bfs_section *s, const uint8_t *name,
			      size_t name_len, uint32_t at, bool is_chunk)
{
	char text[32] = { 0 };
	struct bfs_diag why;
	uint32_t len = 0;
	enum bfs_err err;

	memcpy(text, name, name_len);
	err = check_value(s, at, text, &len, &why);
	if (err != BFS_OK) {
		if (!is_chunk && names_array(text))
			bfs_container_doubt(container, &why);
		bfs_container_blame(container, &why);
		return BFS_OK;
	}
	return bfs_container_add_meta(
		is_chunk ? &container->vlmetas : &container->metas,
		is_chunk ? &container->n_vlmetas : &container->n_metas, name,
		name_len, s->off + at + 5, len, is_chunk);
}

enum bfs_err bfs_metatable_parse(struct bfs_container *container,
				 const struct bfs_section *s, size_t at,
				 bool is_chunk, struct bfs_diag *diag)
{
	struct bfs_cursor c = bfs_cursor_init(s->buf, s->buf_len);
	unsigned n, i, max = is_chunk ? MAX_VLMETAS : MAX_METAS;

	bfs_cursor_take(&c, at);
	bfs_cursor_expect(&c, 0x93);
	bfs_cursor_expect(&c, 0xcd);
	bfs_cursor_be16(&c);	/* idx_size, not needed */
	bfs_cursor_expect(&c, 0xde);
	n = bfs_cursor_be16(&c);
	if (c.failed)
		return bfs_fail(diag, BFS_ERR_CORRUPT, s->off + at,
				"the table of metalayers has wrong markers");
	if (n > max)
		return bfs_fail(diag, BFS_ERR_CORRUPT, s->off + at + 5,
				"%u metalayers, more than %u", n, max);
	for (i = 0; i < n && !c.failed; i++) {
		unsigned name_len = bfs_cursor_u8(&c) ^ 0xa0u;
		const uint8_t *name = bfs_cursor_take(&c, name_len);
		uint32_t off;

		bfs_cursor_expect(&c, 0xd2);
		off = bfs_cursor_be32(&c);
		if (c.failed || name_len > 31)
			return bfs_fail(diag, BFS_ERR_CORRUPT, s->off + c.pos,
					"entry %u of the table of metalayers "
					"does not hold", i);
		if (add_entry(container, s, name, name_len, off, is_chunk))
			return bfs_fail(diag, BFS_ERR_NOMEM, 0,
					"no memory for metalayers");
	}
	/* Their number stands here once more. Comparing the two finds a first
	 * number that is too small and would hide metalayers. */
	bfs_cursor_expect(&c, 0xdc);
	if (bfs_cursor_be16(&c) != n || c.failed)
		return bfs_fail(diag, BFS_ERR_CORRUPT, s->off + at + 5,
				"%u metalayers are not all that follow", n);
	return BFS_OK;
}

/* ndim markers followed by big-endian numbers. The marker of 16 dimensions
 * is 0xa0: 0x90 + 16 (docs/errata.md). */
static void take_shape64(struct bfs_cursor *c, unsigned ndim, int64_t *shape)
{
	unsigned i;

	bfs_cursor_expect(c, (uint8_t)(0x90 + ndim));
	for (i = 0; i < ndim; i++) {
		bfs_cursor_expect(c, 0xd3);
		shape[i] = (int64_t)bfs_cursor_be64(c);
	}
}

static void take_shape32(struct bfs_cursor *c, unsigned ndim, int32_t *shape)
{
	unsigned i;

	bfs_cursor_expect(c, (uint8_t)(0x90 + ndim));
	for (i = 0; i < ndim; i++) {
		bfs_cursor_expect(c, 0xd2);
		shape[i] = (int32_t)bfs_cursor_be32(c);
	}
}

static enum bfs_err take_dtype(struct bfs_cursor *c, struct bfs_array_meta *a,
			       struct bfs_diag *diag)
{
	uint8_t format = bfs_cursor_u8(c);
	const uint8_t *text;
	uint32_t len;

	bfs_cursor_expect(c, 0xdb);
	len = bfs_cursor_be32(c);
	text = bfs_cursor_take(c, len);
	if (!text)
		return BFS_OK;
	if (format != 0)
		return BFS_OK;	/* not NumPy's: opaque items */
	a->dtype = bfs_memdup0(text, len);
	if (!a->dtype)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	a->dtype_len = len;
	return BFS_OK;
}

/* Caterva 0.1 wrote numbers in host order, which was little-endian, and no
 * block shape. */
static void take_first_caterva(struct bfs_cursor *c, struct bfs_array_meta *a)
{
	const uint8_t *p;
	unsigned i;

	bfs_cursor_take(c, 1);
	a->ndim = bfs_cursor_u8(c);
	if (a->ndim > BFS_MAX_DIM) {
		c->failed = true;
		return;
	}
	bfs_cursor_expect(c, (uint8_t)(0x90 + a->ndim));
	for (i = 0; i < a->ndim; i++) {
		bfs_cursor_expect(c, 0xcf);
		p = bfs_cursor_take(c, 8);
		a->shape[i] = p ? (int64_t)bfs_le64(p) : 0;
	}
	bfs_cursor_expect(c, (uint8_t)(0x90 + a->ndim));
	for (i = 0; i < a->ndim; i++) {
		bfs_cursor_expect(c, 0xd2);
		a->chunkshape[i] = (int32_t)bfs_cursor_le32(c);
	}
}

/*
 * Whether a metalayer begins as that of an array does: a list of 5 to 7
 * elements, version 0, the number of dimensions, the list of as many, and in it
 * 64-bit numbers (the first Caterva: a list of 3, and no version). One of these
 * signs may be damaged; where more of them are missing, another program has
 * used the name for something else.
 */
static bool begins_as_array(const uint8_t *p, uint64_t len, bool first_caterva)
{
	unsigned n_missing = 0, at = first_caterva ? 1 : 2;

	if (len > 0)
		n_missing += first_caterva ? p[0] != 0x93 :
					     p[0] < 0x95 || p[0] > 0x97;
	if (len > 1 && !first_caterva)
		n_missing += p[1] != 0;
	if (len > at + 1)
		n_missing += p[at] > BFS_MAX_DIM || p[at + 1] != 0x90 + p[at];
	if (len > at + 2)
		n_missing += p[at + 2] != 0xd3 && p[at + 2] != 0xcf &&
			     p[at + 2] != 0x90;
	return n_missing <= (len > at + 2 ? 1 : 0);
}

static enum bfs_err parse_array(struct bfs_container *container,
				const struct bfs_meta *m, const uint8_t *buf,
				struct bfs_diag *diag)
{
	struct bfs_array_meta *a = &container->array;
	struct bfs_cursor c = bfs_cursor_init(buf, (size_t)m->len);
	unsigned n_elements = bfs_cursor_u8(&c) ^ 0x90u;
	unsigned version = bfs_cursor_u8(&c);
	struct bfs_diag why;
	unsigned i;

	a->legacy = m->name[0] == 'c';
	if (a->legacy && n_elements == 3) {
		c = bfs_cursor_init(buf, (size_t)m->len);
		take_first_caterva(&c, a);
		a->present = !c.failed;
		if (a->present)
			return BFS_OK;
	}
	a->ndim = bfs_cursor_u8(&c);
	if (!c.failed && version == 0 && a->ndim <= BFS_MAX_DIM &&
	    n_elements >= 5 && n_elements <= 7) {
		take_shape64(&c, a->ndim, a->shape);
		take_shape32(&c, a->ndim, a->chunkshape);
		take_shape32(&c, a->ndim, a->blockshape);
		/* A draft with a dtype counted six (docs/errata.md). */
		if (n_elements > 5)
			BFS_TRY(take_dtype(&c, a, diag));
		if (!c.failed) {
			a->present = true;
			container->env.ndim = (uint8_t)a->ndim;
			for (i = 0; i < a->ndim; i++)
				container->env.blockshape[i] = a->blockshape[i];
			return BFS_OK;
		}
	}
	bfs_fail(&why, BFS_ERR_CORRUPT, m->off + c.pos,
		 "the array metalayer '%.31s' does not hold", m->name);
	bfs_container_doubt(container, &why);
	return BFS_OK;
}

/* Whether it is neither MessagePack nor text. Then no other program has written
 * it: it is the metalayer of an array that was overwritten. */
static enum bfs_err is_garbage(const uint8_t *p, size_t len, bool *ret_is)
{
	size_t taken = 0, i;
	enum bfs_err err = bfs_msgpack_walk(p, len, &taken, NULL);
	bool text = bfs_json_is_utf8(p, len);

	if (err == BFS_ERR_NOMEM)
		return err;
	for (i = 0; i < len && text; i++)
		text = p[i] >= 0x20 || (p[i] >= '\t' && p[i] <= '\r');
	*ret_is = !text && (err != BFS_OK || taken != len);
	return BFS_OK;
}

/* Reads the metalayer whole. *ret_counts: it is that of an array, damaged or
 * not. */
static enum bfs_err try_array(struct bfs_container *container,
			      const struct bfs_meta *m, bool *ret_counts,
			      struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = bfs_alloc((size_t)m->len);

	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(container->source, m->off, buf, (size_t)m->len,
				diag));
	*ret_counts = begins_as_array(buf, m->len, false) ||
		      (m->name[0] == 'c' &&
		       begins_as_array(buf, m->len, true));
	if (!*ret_counts)
		BFS_TRY(is_garbage(buf, (size_t)m->len, ret_counts));
	return *ret_counts ? parse_array(container, m, buf, diag) : BFS_OK;
}

static const char *const array_names[] = { "b2nd", "caterva" };

/* Whether all but one byte of an array's name are there. */
static bool is_misnamed(const struct bfs_meta *m)
{
	size_t n, i, n_wrong;

	for (n = 0; n < BFS_ARRAY_LEN(array_names); n++) {
		if (m->name_len != strlen(array_names[n]))
			continue;
		for (i = n_wrong = 0; i < m->name_len; i++)
			n_wrong += m->name[i] != array_names[n][i];
		if (n_wrong == 1)
			return true;
	}
	return false;
}

/* Where the name of an array's metalayer is damaged, data.bin would be the
 * joined chunks instead of the array: the container is put in doubt. */
static enum bfs_err doubt_misnamed(struct bfs_container *container,
				   struct bfs_diag *diag)
{
	struct bfs_diag why;
	uint8_t head[5];
	size_t i;

	for (i = 0; i < container->n_metas; i++) {
		const struct bfs_meta *m = &container->metas[i];

		if (!is_misnamed(m) || m->len < sizeof(head))
			continue;
		BFS_TRY(bfs_source_read(container->source, m->off, head,
					sizeof(head), diag));
		if (!begins_as_array(head, sizeof(head), false) &&
		    !begins_as_array(head, sizeof(head), true))
			continue;
		bfs_fail(&why, BFS_ERR_CORRUPT, m->off,
			 "the metalayer '%.31s' is one of an array", m->name);
		bfs_container_doubt(container, &why);
	}
	return BFS_OK;
}

enum bfs_err bfs_metatable_array(struct bfs_container *container,
				 struct bfs_diag *diag)
{
	bool counts = false;
	struct bfs_diag why;
	enum bfs_err err;
	size_t n, i;

	for (n = 0; n < BFS_ARRAY_LEN(array_names); n++)
		for (i = 0; i < container->n_metas && !counts; i++) {
			const struct bfs_meta *m = &container->metas[i];

			if (m->name_len != strlen(array_names[n]) ||
			    strcmp(m->name, array_names[n]))
				continue;
			err = try_array(container, m, &counts, &why);
			BFS_TRY(bfs_container_settle(container, err, &why,
						     diag));
		}
	return counts ? BFS_OK : doubt_misnamed(container, diag);
}
