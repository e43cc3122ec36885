/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zipstore.c - the .b2z store of python-blosc2: a ZIP file whose members are
 * stored as they are, each a frame that is read in place.
 *
 * The central directory is believed only where the local header agrees. A
 * compressed or encrypted member is listed and refused. See
 * docs/formats/stores.md.
 */
#include "container/container.h"
#include "container/examine.h"

#include "base/bytes.h"
#include "container/nametree.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

#define EOCD_LEN 22
#define MAX_COMMENT 65535
#define MAX_DIRECTORY (UINT32_C(256) << 20)
#define LOCAL_LEN 30
#define CENTRAL_LEN 46
#define MAGIC_LEN 10

/* Where the central directory lies. */
struct directory {
	uint64_t off, len, n;
	uint64_t end_at;		/* the end record */
};

/* The local header's own lengths tell where a member's data begin. */
static bool first_member_is_frame(struct bfs_source *source,
				  const uint8_t *head, size_t head_len)
{
	uint8_t magic[MAGIC_LEN];
	uint64_t at;

	if (head_len < LOCAL_LEN || memcmp(head, "PK\3\4", 4) ||
	    bfs_le16(head + 8) != 0)
		return false;
	at = LOCAL_LEN + (uint64_t)bfs_le16(head + 26) + bfs_le16(head + 28);
	return bfs_source_read(source, at, magic, MAGIC_LEN, NULL) == BFS_OK &&
	       !memcmp(magic + 1, "\xa8" "b2frame", 9);
}

static bool probe(struct bfs_source *source, const uint8_t *head,
		  size_t head_len, const char *name)
{
	const char *dot = name ? strrchr(name, '.') : NULL;

	if (head_len < 4 || memcmp(head, "PK", 2))
		return false;
	return (dot && !strcmp(dot, ".b2z")) ||
	       first_member_is_frame(source, head, head_len);
}

/* The 64-bit end record, which a locator right before the end record names. */
static enum bfs_err read_zip64(struct bfs_container *f, uint64_t eocd,
			       struct directory *d, uint64_t *ret_end,
			       struct bfs_diag *diag)
{
	uint8_t locator[20], record[56];
	uint64_t at;

	*ret_end = eocd;
	if (eocd < sizeof(locator))
		return BFS_OK;
	BFS_TRY(bfs_source_read(f->source, eocd - sizeof(locator), locator,
				sizeof(locator), diag));
	if (memcmp(locator, "PK\6\7", 4))
		return BFS_OK;
	at = bfs_le64(locator + 8);
	if (!bfs_inside(at, sizeof(record), eocd))
		return bfs_fail(diag, BFS_ERR_CORRUPT, eocd - 20,
				"the 64-bit end record would lie at %" PRIu64,
				at);
	BFS_TRY(bfs_source_read(f->source, at, record, sizeof(record), diag));
	if (memcmp(record, "PK\6\6", 4))
		return bfs_fail(diag, BFS_ERR_CORRUPT, at,
				"the 64-bit end record is not there");
	d->n = bfs_le64(record + 32);
	d->len = bfs_le64(record + 40);
	d->off = bfs_le64(record + 48);
	*ret_end = at;
	return BFS_OK;
}

/* Whether an end record at `at` of buf (which begins at base) is the one:
 * its comment ends with the file and its directory ends at it. */
static bool end_record_holds(struct bfs_container *f, const uint8_t *p,
			     uint64_t at, struct directory *ret_dir)
{
	uint64_t len = bfs_source_len(f->source), end;
	struct directory d = { .n = bfs_le16(p + 10), .len = bfs_le32(p + 12),
			       .off = bfs_le32(p + 16), .end_at = at };

	if (at + EOCD_LEN + bfs_le16(p + 20) != len ||
	    read_zip64(f, at, &d, &end, NULL) != BFS_OK ||
	    !bfs_inside(d.off, d.len, len) || d.off + d.len != end)
		return false;
	*ret_dir = d;
	return true;
}

static enum bfs_err find_directory(struct bfs_container *f,
				   struct directory *ret_dir,
				   struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	uint64_t len = bfs_source_len(f->source), base;
	size_t n = (size_t)bfs_min(len, EOCD_LEN + MAX_COMMENT), i;

	buf = bfs_alloc(n);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	base = len - n;
	BFS_TRY(bfs_source_read(f->source, base, buf, n, diag));
	for (i = n < EOCD_LEN ? 0 : n - EOCD_LEN + 1; i-- > 0;)
		if (!memcmp(buf + i, "PK\5\6", 4) &&
		    end_record_holds(f, buf + i, base + i, ret_dir))
			return BFS_OK;
	return bfs_fail(diag, BFS_ERR_CORRUPT, len,
			"the ZIP file has no central directory at its end");
}

/* One entry of the central directory. */
struct entry {
	const uint8_t *name;
	unsigned name_len, flags, method;
	uint32_t crc, stamp;		/* time and date, as stored */
	uint64_t stored, len, local;
};

/* A 64-bit extra field replaces what is all ones, in fixed order. */
static void take_zip64(const uint8_t *extra, size_t extra_len, struct entry *e)
{
	struct bfs_cursor c = bfs_cursor_init(extra, extra_len);

	while (bfs_cursor_left(&c) >= 4) {
		const uint8_t *head = bfs_cursor_take(&c, 4), *p;
		unsigned len = bfs_le16(head + 2);
		struct bfs_cursor body;
		uint64_t *fields[] = { &e->len, &e->stored, &e->local };
		size_t i;

		p = bfs_cursor_take(&c, len);
		if (!p || bfs_le16(head) != 1)
			continue;
		body = bfs_cursor_init(p, len);
		for (i = 0; i < 3; i++) {
			const uint8_t *word;

			if (*fields[i] != UINT32_MAX)
				continue;
			word = bfs_cursor_take(&body, 8);
			if (word)
				*fields[i] = bfs_le64(word);
		}
		return;
	}
}

static enum bfs_err take_entry(struct bfs_cursor *c, struct entry *e,
			       struct bfs_diag *diag)
{
	const uint8_t *p = bfs_cursor_take(c, CENTRAL_LEN), *extra;
	unsigned extra_len;

	if (!p || memcmp(p, "PK\1\2", 4))
		return bfs_fail(diag, BFS_ERR_CORRUPT, c->pos,
				"the central directory breaks off");
	e->flags = bfs_le16(p + 8);
	e->method = bfs_le16(p + 10);
	e->stamp = bfs_le32(p + 12);
	e->crc = bfs_le32(p + 16);
	e->stored = bfs_le32(p + 20);
	e->len = bfs_le32(p + 24);
	e->name_len = bfs_le16(p + 28);
	extra_len = bfs_le16(p + 30);
	e->local = bfs_le32(p + 42);
	e->name = bfs_cursor_take(c, e->name_len);
	extra = bfs_cursor_take(c, extra_len);
	bfs_cursor_take(c, bfs_le16(p + 32));
	if (c->failed)
		return bfs_fail(diag, BFS_ERR_CORRUPT, c->len,
				"the central directory breaks off");
	take_zip64(extra, extra_len, e);
	return BFS_OK;
}

/* Why a member cannot be served, or where its bytes lie. */
static enum bfs_err check_local(struct bfs_container *f, const struct entry *e,
				struct bfs_member *m, struct bfs_diag *diag)
{
	uint64_t len = bfs_source_len(f->source);
	uint8_t p[LOCAL_LEN], *name;
	enum bfs_err err;

	BFS_TRY(bfs_source_read(f->source, e->local, p, LOCAL_LEN, diag));
	if (memcmp(p, "PK\3\4", 4) || bfs_le16(p + 8) != e->method ||
	    bfs_le16(p + 26) != e->name_len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, e->local,
				"the two headers of a member disagree");
	if (!(e->flags & 8) && ((bfs_le32(p + 18) != UINT32_MAX &&
				 bfs_le32(p + 18) != e->stored) ||
				(bfs_le32(p + 22) != UINT32_MAX &&
				 bfs_le32(p + 22) != e->len)))
		return bfs_fail(diag, BFS_ERR_CORRUPT, e->local + 18,
				"the two sizes of a member disagree");
	name = bfs_alloc(e->name_len);
	if (!name)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	err = bfs_source_read(f->source, e->local + LOCAL_LEN, name,
			      e->name_len, diag);
	if (err == BFS_OK && memcmp(name, e->name, e->name_len))
		err = bfs_fail(diag, BFS_ERR_CORRUPT, e->local,
			       "the two names of a member disagree");
	bfs_free(name);
	BFS_TRY(err);
	m->off = e->local + LOCAL_LEN + e->name_len + bfs_le16(p + 28);
	m->crc = e->crc;
	m->local_crc = e->flags & 8 ? e->crc : bfs_le32(p + 14);
	m->has_crc = true;
	if (!bfs_inside(m->off, e->stored, len))
		return bfs_fail(diag, BFS_ERR_TRUNCATED, e->local,
				"a member of %" PRIu64 " bytes ends beyond the "
				"file", e->stored);
	return BFS_OK;
}

static enum bfs_err add_member(struct bfs_container *f, const struct entry *e,
			       struct bfs_member *m, struct bfs_diag *diag)
{
	enum bfs_err err = BFS_OK;

	m->len = e->len;
	if (e->flags & 1)
		err = bfs_fail(&m->why, BFS_ERR_UNSUPPORTED, e->local,
			       "the member is encrypted");
	else if (e->method != 0)
		err = bfs_fail(&m->why, BFS_ERR_UNSUPPORTED, e->local,
			       "the member is compressed by ZIP (method %u), "
			       "so it cannot be read in place", e->method);
	else if (e->stored != e->len)
		err = bfs_fail(&m->why, BFS_ERR_CORRUPT, e->local,
			       "a stored member has two sizes");
	else
		err = check_local(f, e, m, &m->why);
	m->err = err;
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(diag, err, 0, "no memory");
	if (err != BFS_OK && err != BFS_ERR_UNSUPPORTED)
		bfs_container_blame(f, &m->why);
	return BFS_OK;
}

static int compare_members(const void *pa, const void *pb)
{
	const struct bfs_member *a = *(struct bfs_member *const *)pa;
	const struct bfs_member *b = *(struct bfs_member *const *)pb;

	return a->off < b->off ? -1 : a->off > b->off;
}

/* No writer makes members that share bytes (a ZIP bomb does): neither of the
 * two is served. Each member is compared with that one before it which reaches
 * farthest. */
static enum bfs_err refuse_overlaps(struct bfs_container *f,
				    struct bfs_diag *diag)
{
	struct bfs_member **order, *far = NULL;
	size_t i;

	order = bfs_alloc(f->n_members * sizeof(struct bfs_member *));
	if (!order)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	for (i = 0; i < f->n_members; i++)
		order[i] = &f->members[i];
	qsort(order, f->n_members, sizeof(struct bfs_member *),
	      compare_members);
	for (i = 0; i < f->n_members; i++) {
		struct bfs_member *m = order[i];

		if (m->err != BFS_OK || m->len == 0)
			continue;
		if (far && m->off < far->off + far->len) {
			far->err = m->err = bfs_fail(&m->why, BFS_ERR_CORRUPT,
				m->off, "two members share bytes");
			far->why = m->why;
			bfs_container_blame(f, &m->why);
		}
		if (!far || m->off + m->len > far->off + far->len)
			far = m;
	}
	bfs_free(order);
	return BFS_OK;
}

/* Takes members and names from the central directory in buf. */
static enum bfs_err read_entries(struct bfs_container *f, const uint8_t *buf,
				 const struct directory *d,
				 struct bfs_diag *diag)
{
	struct bfs_cursor c = bfs_cursor_init(buf, (size_t)d->len);
	struct bfs_path *paths;
	struct bfs_diag why;
	enum bfs_err err = BFS_OK;
	uint64_t i;

	paths = bfs_zalloc((size_t)d->n, sizeof(*paths));
	f->members = bfs_zalloc((size_t)d->n, sizeof(*f->members));
	if (!paths || !f->members) {
		bfs_free(paths);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	for (i = 0; i < d->n && err == BFS_OK; i++) {
		struct entry e;

		if (take_entry(&c, &e, &why) != BFS_OK) {
			why.off += d->off;
			bfs_container_blame(f, &why);
			break;
		}
		err = add_member(f, &e, &f->members[i], diag);
		paths[i] = (struct bfs_path){ (const char *)e.name, e.name_len,
					      (uint32_t)i };
		f->n_members++;
	}
	if (err == BFS_OK && i == d->n && bfs_cursor_left(&c) > 0) {
		bfs_fail(&why, BFS_ERR_CORRUPT, d->off + c.pos,
			 "the central directory goes on behind its %" PRIu64
			 " members", d->n);
		bfs_container_blame(f, &why);
	}
	if (err == BFS_OK)
		err = refuse_overlaps(f, diag);
	if (err == BFS_OK)
		err = bfs_nametree_build(paths, f->n_members, &f->tree, diag);
	bfs_free(paths);
	return err;
}

static enum bfs_err open_directory(struct bfs_container *f,
				   struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct directory d;

	BFS_TRY(find_directory(f, &d, diag));
	/* Each entry takes at least its fixed part. */
	if (d.len > MAX_DIRECTORY || d.n > d.len / CENTRAL_LEN ||
	    d.n > BFS_NAMETREE_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, d.off,
				"%" PRIu64 " members in a directory of %" PRIu64
				" bytes", d.n, d.len);
	buf = bfs_alloc((size_t)d.len);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(f->source, d.off, buf, (size_t)d.len, diag));
	return read_entries(f, buf, &d, diag);
}

static enum bfs_err open_store(struct bfs_container *f, const char *name,
			       struct bfs_diag *diag)
{
	struct bfs_diag why;
	enum bfs_err err;

	(void)name;
	f->is_store = true;
	f->chunksize = -1;
	f->nbytes_known = true;
	err = open_directory(f, &why);
	BFS_TRY(bfs_container_settle(f, err, &why, diag));
	return f->tree ? BFS_OK : bfs_nametree_build(NULL, 0, &f->tree, diag);
}

/* ---- examination ------------------------------------------------------ */

/* What stands behind a member whose header did not know its length. */
#define MAX_DESCRIPTOR 24

/* The directory once more: what is served does not keep it. */
struct listing {
	struct directory d;
	uint8_t *buf;
	struct entry *entries;
	struct bfs_region *regions;
	char *names;
	size_t n;
};

static void release_listing(struct listing *l)
{
	bfs_free(l->buf);
	bfs_free(l->entries);
	bfs_free(l->regions);
	bfs_free(l->names);
}

static enum bfs_err read_listing(struct bfs_container *f, struct listing *l,
				 struct bfs_diag *diag)
{
	struct bfs_cursor c;
	size_t n;

	BFS_TRY(find_directory(f, &l->d, diag));
	if (l->d.len > MAX_DIRECTORY || l->d.n > l->d.len / CENTRAL_LEN)
		return BFS_OK;
	n = (size_t)l->d.n;
	l->buf = bfs_alloc((size_t)l->d.len);
	l->names = bfs_alloc((size_t)l->d.len);
	l->entries = bfs_zalloc(n, sizeof(*l->entries));
	l->regions = bfs_zalloc(n, sizeof(*l->regions));
	if (!l->buf || !l->names || !l->entries || !l->regions)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(f->source, l->d.off, l->buf,
				(size_t)l->d.len, diag));
	c = bfs_cursor_init(l->buf, (size_t)l->d.len);
	while (l->n < n && take_entry(&c, &l->entries[l->n], NULL) == BFS_OK)
		l->n++;
	return BFS_OK;
}

static int compare_names(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = memcmp(x->name, y->name, bfs_min(x->name_len,
						     y->name_len));

	return order ? order : (x->name_len > y->name_len) -
			       (x->name_len < y->name_len);
}

/* The directory's places come with the first of each; the others have names of
 * their own in the mount. */
static void tell_doubles(struct listing *l, const struct bfs_examiner *x)
{
	size_t i;

	if (l->n < 2)
		return;
	qsort(l->entries, l->n, sizeof(*l->entries), compare_names);
	for (i = 1; i < l->n; i++) {
		const struct entry *e = &l->entries[i];

		if (compare_names(e, e - 1) == 0)
			bfs_examine_tell(x, true, bfs_max(e->local,
							  e[-1].local), -1,
					 "two members are called '%.*s'",
					 (int)bfs_min(e->name_len, 64),
					 (const char *)e->name);
	}
}

/* The crc32 and both lengths of a member, of 32 or 64 bits each, with or
 * without a signature before them; the length of that, or 0 where it is
 * something else. */
static size_t match_descriptor(const uint8_t *p, size_t len,
			       const struct entry *e)
{
	size_t head = len >= 4 && !memcmp(p, "PK\7\10", 4) ? 4 : 0;
	const uint8_t *at = p + head;

	len -= head;
	if (len < 12 || bfs_le32(at) != e->crc)
		return 0;
	if (len >= 20 && bfs_le64(at + 4) == e->stored &&
	    bfs_le64(at + 12) == e->len)
		return head + 20;
	return bfs_le32(at + 4) == e->stored && bfs_le32(at + 8) == e->len ?
	       head + 12 : 0;
}

/* Adds the descriptor to a member's region. Some writers set the flag and write
 * none. */
static enum bfs_err take_descriptor(struct bfs_container *f,
				    const struct entry *e, uint64_t next,
				    struct bfs_region *r,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	uint64_t at = r->off + r->len, len;
	uint8_t p[MAX_DESCRIPTOR];

	if (next <= at)
		return BFS_OK;
	len = bfs_min(next - at, sizeof(p));
	BFS_TRY(bfs_source_read(f->source, at, p, (size_t)len, diag));
	r->len += match_descriptor(p, (size_t)len, e);
	if (r->off + r->len == at && len >= 4 && !memcmp(p, "PK\7\10", 4)) {
		bfs_examine_tell(x, false, at, -1,
				 "what follows a member repeats another crc32 "
				 "or length than the directory has");
		r->len += len;
	}
	return BFS_OK;
}

/* What stands in both headers, and a reader may take from either. */
static void compare_headers(const uint8_t *local, const struct entry *e,
			    const struct bfs_examiner *x)
{
	if (bfs_le16(local + 6) != e->flags)
		bfs_examine_tell(x, true, e->local + 6, -1,
				 "the two headers of a member have flags %04x "
				 "and %04x", bfs_le16(local + 6), e->flags);
	if (bfs_le32(local + 10) != e->stamp)
		bfs_examine_tell(x, true, e->local + 10, -1,
				 "the two headers of a member have different "
				 "times");
}

/* From a member's own header to the end of its bytes. */
static enum bfs_err find_region(struct bfs_container *f, const struct entry *e,
				struct bfs_region *ret,
				const struct bfs_examiner *x,
				struct bfs_diag *diag)
{
	uint8_t p[LOCAL_LEN];

	BFS_TRY(bfs_source_read(f->source, e->local, p, LOCAL_LEN, diag));
	compare_headers(p, e, x);
	ret->off = e->local;
	ret->len = (uint64_t)LOCAL_LEN + bfs_le16(p + 26) + bfs_le16(p + 28);
	if (!bfs_add(ret->len, e->stored, &ret->len))
		ret->len = UINT64_MAX;
	return bfs_inside(ret->off, ret->len, bfs_source_len(f->source)) ?
	       BFS_OK : bfs_fail(diag, BFS_ERR_CORRUPT, e->local, "too long");
}

static int compare_locals(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->local > y->local) - (x->local < y->local);
}

/* Headers that do not hold have been told. */
static enum bfs_err tell_regions(struct bfs_container *f, struct listing *l,
				 const struct bfs_examiner *x,
				 struct bfs_diag *diag)
{
	char *name = l->names;
	size_t i, n = 0;

	/* Without any there is no list. */
	if (l->n)
		qsort(l->entries, l->n, sizeof(*l->entries), compare_locals);
	for (i = 0; i < l->n; i++) {
		const struct entry *e = &l->entries[i];
		struct bfs_region *r = &l->regions[n];
		uint64_t next = i + 1 < l->n ? e[1].local : l->d.off;
		enum bfs_err err = find_region(f, e, r, x, diag);

		if (err == BFS_OK && e->flags & 8)
			err = take_descriptor(f, e, next, r, x, diag);
		if (err != BFS_OK)
			return bfs_err_passes(err) ? err : BFS_OK;
		memcpy(name, e->name, e->name_len);
		name[e->name_len] = '\0';
		r->name = name;
		name += e->name_len + 1;
		n++;
	}
	bfs_examine_regions(x, l->regions, n, 0, l->d.off);
	return BFS_OK;
}

/* A store of one part says so in its end record. */
static enum bfs_err tell_parts(struct bfs_container *f,
			       const struct directory *d,
			       const struct bfs_examiner *x,
			       struct bfs_diag *diag)
{
	uint8_t p[EOCD_LEN];
	bool one;

	BFS_TRY(bfs_source_read(f->source, d->end_at, p, sizeof(p), diag));
	one = bfs_le16(p + 4) == bfs_le16(p + 6) &&
	      (bfs_le16(p + 4) == 0 || bfs_le16(p + 4) == UINT16_MAX) &&
	      bfs_le16(p + 8) == bfs_le16(p + 10);
	if (!one)
		bfs_examine_tell(x, true, d->end_at + 4, -1, "the end record "
				 "is that of a part of several");
	return BFS_OK;
}

static enum bfs_err examine_store(struct bfs_container *f,
				  const struct bfs_examiner *x,
				  struct bfs_diag *diag)
{
	struct listing l = { .n = 0 };
	enum bfs_err err = BFS_OK;

	if (f->status != BFS_DAMAGED)
		err = read_listing(f, &l, diag);
	if (err == BFS_OK && f->status != BFS_DAMAGED)
		err = tell_parts(f, &l.d, x, diag);
	if (err == BFS_OK && f->status != BFS_DAMAGED) {
		tell_doubles(&l, x);
		err = tell_regions(f, &l, x, diag);
	}
	release_listing(&l);
	return err;
}

const struct bfs_format bfs_container_zipstore = {
	.name = "b2z",
	.endings = { ".b2z" },
	.probe = probe,
	.open = open_store,
	.examine = examine_store,
};
