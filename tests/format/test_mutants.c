/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mutants.c - single bytes of sound containers are changed: what the
 * file data.bin then gives is the truth or an error.
 *
 * Never shorter, never longer, never chunks in another order or twice. Where
 * nothing tells of a changed payload (no checksum) it may decode to other
 * bytes of the same length; a Bloscpack file with checksums may not. A few
 * thousand changes, always the same; all of them with BLOSCFS_MUTANTS=all.
 * An argument names the only tests to run ("stores", "*frames").
 */
#include "bloscfs.h"
#include "support/build2.h"
#include "support/sample_place.h"
#include "support/told.h"
#include "unit/hostile_pack.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_ENTRIES 16
#define MAX_CHUNKS 64
#define QUICK 160		/* changed bytes of a file */

static struct bloscfs *fs;
static size_t n_wrong;		/* of one test */

/* ---- what a container gives ------------------------------------------ */

struct bytes {
	uint8_t *p;
	size_t len;
	bool there;
};

/* One data.bin and the chunks beside it. */
struct entry {
	char path[256];			/* of the folder that it is in */
	struct bytes data;
	size_t n_chunks;
	struct bytes chunks[MAX_CHUNKS];
};

struct truth {
	size_t n;
	struct entry entries[MAX_ENTRIES];
};

/* Opens and reads; not there unless all of it could be read. */
static struct bytes take(struct bloscfs_file *file,
			 const struct bloscfs_node *dir, const char *path)
{
	struct bloscfs_node node;
	struct bloscfs_attr attr;
	struct bytes b = { 0 };
	enum bloscfs_err err = BLOSCFS_OK;
	struct bloscfs_diag why;
	size_t n = 0;

	if (!sample_find(file, dir, path, &node) ||
	    bloscfs_access(file, &node, NULL) != BLOSCFS_OK)
		return b;
	bloscfs_stat(file, &node, &attr);
	if (attr.size > (1 << 24))
		return b;	/* a claim that nobody reads to its end */
	b.p = malloc(attr.size + 1);
	assert_non_null(b.p);
	while (b.len < attr.size && err == BLOSCFS_OK) {
		err = bloscfs_read(file, &node, b.len, b.p + b.len,
				   attr.size - b.len, &n, &why);
		if (err != BLOSCFS_OK)
			expect_told(&why);
		else if (!n)
			break;
		else
			b.len += n;
	}
	b.there = b.len == attr.size;
	return b;
}

static void drop(struct bytes *b)
{
	free(b->p);
	*b = (struct bytes){ 0 };
}

static bool same(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && !memcmp(a->p, b->p, a->len);
}

static struct bytes take_chunk(struct bloscfs_file *file,
			       const struct bloscfs_node *dir, size_t n)
{
	char path[64];

	snprintf(path, sizeof(path), "chunks/%010zu", n);
	return take(file, dir, path);
}

static bool is_chunk_folder(const char *name)
{
	return !strcmp(name, "chunks") || !strcmp(name, "meta") ||
	       !strcmp(name, "vlmeta");
}

/* All that a sound container has, in and below dir. */
static void learn(struct bloscfs_file *file, const struct bloscfs_node *dir,
		  const char *path, struct truth *t)
{
	struct bloscfs_node node;
	char name[BLOSCFS_NAME_MAX + 1], below[512];
	struct entry *e = &t->entries[t->n];

	if (bloscfs_lookup(file, dir, "data.bin", &node)) {
		assert_true(t->n < MAX_ENTRIES);
		t->n++;
		snprintf(e->path, sizeof(e->path), "%s", path);
		e->data = take(file, dir, "data.bin");
		assert_true(e->data.there);
		while (e->n_chunks < MAX_CHUNKS &&
		       (e->chunks[e->n_chunks] =
				take_chunk(file, dir, e->n_chunks)).there)
			e->n_chunks++;
	}
	for (uint64_t i = 0; bloscfs_list(file, dir, i, name, &node); i++) {
		if (is_chunk_folder(name) || !bloscfs_is_dir(file, &node))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, name);
		learn(file, &node, below, t);
	}
}

static void forget(struct truth *t)
{
	for (size_t i = 0; i < t->n; i++) {
		drop(&t->entries[i].data);
		for (size_t k = 0; k < t->entries[i].n_chunks; k++)
			drop(&t->entries[i].chunks[k]);
	}
	free(t);
}

/* ---- the verdict on one change --------------------------------------- */

/* One value all over, which tells nothing about where it belongs. */
static bool is_plain(const struct bytes *b)
{
	for (size_t i = 8; i < b->len; i++)
		if (b->p[i] != b->p[i - 8])
			return false;
	return true;
}

/* Whether chunks that are there are all the true ones, or one is another
 * one's: then it is their order that is wrong. */
static bool is_order(struct bloscfs_file *file, const struct bloscfs_node *dir,
		     const struct entry *e)
{
	bool all = e->n_chunks > 0, moved = false;

	for (size_t i = 0; i < e->n_chunks; i++) {
		struct bytes c = take_chunk(file, dir, i);
		bool own = c.there && same(&c, &e->chunks[i]);

		all &= own;
		for (size_t k = 0; c.there && !own && k < e->n_chunks; k++)
			moved |= same(&c, &e->chunks[k]) && !is_plain(&c);
		drop(&c);
	}
	return all || moved;
}

/* What is wrong, or NULL. */
static const char *judge(struct bloscfs_file *file, const struct entry *e,
			 bool strict)
{
	struct bloscfs_node dir, root = bloscfs_root();
	struct bytes b;
	const char *fault = NULL;

	/* A member that is no container any more is no data.bin either. */
	if (!sample_find(file, &root, e->path, &dir))
		return NULL;
	b = take(file, &dir, "data.bin");
	if (!b.there || same(&b, &e->data))
		fault = NULL;
	else if (b.len != e->data.len)
		fault = b.len < e->data.len ? "shorter" : "longer";
	else if (strict)
		fault = "other bytes";
	else if (is_order(file, &dir, e))
		fault = "another order";
	drop(&b);
	return fault;
}

/*
 * Bytes that nothing else in the file repeats, so that a change of them cannot
 * be told: an array's shape and chunk shape, which a frame knows only by what
 * they make when they are rounded up to whole blocks and chunks; the length of
 * a special chunk that is a file of its own, a header and nothing else; and
 * the same inside a store, where what lies in a member is its own business.
 */
struct excuse {
	const char *sample, *below;	/* the entry's path begins so */
	size_t from, to;		/* bytes [from, to) */
};

static const struct excuse excuses[] = {
	{ "good-special-zeros.blosc2", "", 4, 8 },
	{ "good-store.b2e", "/tree/", 0, SIZE_MAX },
	{ NULL, NULL, 0, 0 },
};

/* Shape and chunk shape of the array metalayer that byte `at` is in: version
 * 0, ndim, its marker and the numbers behind it. */
static bool is_shape(const struct build *b, size_t at)
{
	for (size_t i = 0; i + 4 < b->len && i < at; i++) {
		size_t n = b->p[i + 1], end = i + 3 + 9 * n + 1 + 5 * n;

		if ((b->p[i] == 0 || b->p[i] == 0x93) && n >= 1 && n <= 16 &&
		    b->p[i + 2] == 0x90 + n && b->p[i + 3] == 0xd3 &&
		    at >= i + 4 && at < end)
			return true;
	}
	return false;
}

static bool is_excused(const char *sample, const struct build *b,
		       const char *path, size_t at)
{
	for (const struct excuse *x = excuses; x->sample; x++)
		if (!strcmp(x->sample, sample) &&
		    !strncmp(path, x->below, strlen(x->below)) &&
		    at >= x->from && at < x->to)
			return true;
	return is_shape(b, at);
}

/* So many changes of one file may go by an excuse, of all that there are. */
#define MAX_EXCUSED 80

struct tally {
	const char *sample;
	const struct build *sound;	/* the file that is changed */
	bool strict;
	size_t n, n_faults, n_excused;
	struct truth *truth;
};

static void try_opened(struct tally *t, struct bloscfs_file *file, size_t at,
		       uint8_t value)
{
	struct bloscfs_diag why;

	if (bloscfs_file_status(file, &why) != BLOSCFS_GOOD)
		expect_told(&why);
	for (size_t i = 0; i < t->truth->n; i++) {
		const char *fault = judge(file, &t->truth->entries[i],
					  t->strict);

		if (!fault)
			continue;
		if (is_excused(t->sample, t->sound,
			       t->truth->entries[i].path, at)) {
			t->n_excused++;
			continue;
		}
		if (t->n_faults++ < 12)
			print_message("# %s%s: byte %zu = %02x gives %s\n",
				      t->sample, t->truth->entries[i].path,
				      at, value, fault);
	}
	t->n++;
}

/* ---- which changes --------------------------------------------------- */

static bool want_all(void)
{
	const char *word = getenv("BLOSCFS_MUTANTS");

	return word && !strcmp(word, "all");
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static uint8_t change(uint8_t old, unsigned way)
{
	static const uint8_t flips[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

	switch (way) {
	case 0:
		return 0;
	case 1:
		return 0xff;
	case 2:
		return (uint8_t)(old + 1);
	case 3:
		return (uint8_t)(old - 1);
	default:
		return old ^ flips[way - 4];
	}
}

#define N_WAYS 12

/* Position and value of change i; false at the end. Most of the few lie where
 * headers, tables and trailers do. */
static bool pick(size_t i, const uint8_t *p, size_t len, uint32_t *seed,
		 size_t *ret_at, uint8_t *ret_value)
{
	if (want_all()) {
		if (i >= len * N_WAYS)
			return false;
		*ret_at = i / N_WAYS;
		*ret_value = change(p[*ret_at], i % N_WAYS);
		return true;
	}
	if (i >= QUICK)
		return false;
	*ret_at = next_random(seed) % len;
	if (i % 4 == 0)
		*ret_at %= 64;
	else if (i % 4 == 1)
		*ret_at %= 200;
	else if (i % 4 == 2 && len > 160)
		*ret_at = len - 1 - *ret_at % 160;
	*ret_at %= len;
	*ret_value = change(p[*ret_at], next_random(seed) % N_WAYS);
	return true;
}

/* ---- files ----------------------------------------------------------- */

/* Through a source of one's own, which is told what will be read: every third
 * change. */
static enum bloscfs_err read_far(void *arg, uint64_t off, void *buf,
				 size_t len, size_t *ret_len,
				 struct bloscfs_diag *why)
{
	const struct build *b = arg;

	(void)why;
	assert_true(off <= b->len && len <= b->len - off);
	memcpy(buf, b->p + off, len);
	*ret_len = len;
	return BLOSCFS_OK;
}

static void tell_far(void *arg, const struct bloscfs_range *ranges, size_t n)
{
	const struct build *b = arg;
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		assert_true(ranges[i].len > 0 && ranges[i].off <= b->len &&
			    ranges[i].len <= b->len - ranges[i].off);
		assert_true(i == 0 || ranges[i].off > end);
		end = ranges[i].off + ranges[i].len;
	}
}

static enum bloscfs_err open_far(struct build *b, const char *name,
				 struct bloscfs_file **ret_file)
{
	struct bloscfs_source source = {
		.size = sizeof(source), .arg = b, .length = b->len,
		.read = read_far, .will_need = tell_far,
	};

	return bloscfs_open_source(fs, &source, name, ret_file, NULL);
}

static void try_bytes(const char *sample, struct build *b, const char *name,
		      bool strict)
{
	struct build sound = build_copy(b);
	struct tally t = { .sample = sample, .strict = strict, .sound = &sound,
			   .truth = calloc(1, sizeof(*t.truth)) };
	struct bloscfs_node root = bloscfs_root();
	struct bloscfs_file *file;
	uint32_t seed = (uint32_t)b->len;
	uint8_t value, old;
	size_t at;

	assert_non_null(t.truth);
	assert_int_equal(bloscfs_open_memory(fs, b->p, b->len, name, &file,
					     NULL), BLOSCFS_OK);
	assert_int_equal(bloscfs_file_status(file, NULL), BLOSCFS_GOOD);
	learn(file, &root, "", t.truth);
	assert_true(t.truth->n > 0);
	bloscfs_close(file);
	for (size_t i = 0; pick(i, b->p, b->len, &seed, &at, &value); i++) {
		old = b->p[at];
		b->p[at] = value;
		if (value != old &&
		    (i % 3 ? bloscfs_open_memory(fs, b->p, b->len, name, &file,
						 NULL) :
			     open_far(b, name, &file)) == BLOSCFS_OK) {
			try_opened(&t, file, at, value);
			bloscfs_close(file);
		}
		b->p[at] = old;
	}
	print_message("# %s: %zu changes, %zu excused, %zu wrong\n", sample,
		      t.n, t.n_excused, t.n_faults);
	n_wrong += t.n_faults + (t.n_excused > MAX_EXCUSED);
	forget(t.truth);
	free(sound.p);
}

static void try_sample(const char *sample, bool strict)
{
	struct build b = build_sample(sample);

	try_bytes(sample, &b, sample, strict);
	free(b.p);
}

static void try_samples(const char *const *samples, bool strict)
{
	for (; *samples; samples++)
		try_sample(*samples, strict);
}

static void contiguous_frames(void **state)
{
	static const char *const samples[] = {
		"good-frame-varchunks.b2frame", "good-frame-rc1.b2frame",
		"good-frame-vlmetalayers.b2frame",
		"good-frame-specials.b2frame",
		"good-frame-empty.b2frame", "good-frame-reordered.b2frame",
		NULL
	};

	(void)state;
	try_samples(samples, false);
}

static void arrays(void **state)
{
	static const char *const samples[] = {
		"good-nd-big-endian.b2nd", "good-nd-2.15.2.b2nd",
		"good-nd-caterva.b2nd", "good-nd-shrunk.b2nd",
		"good-nd16.b2nd", "good-nd0.b2nd", "good-nd-zero-dim.b2nd",
		"good-nd-zero-chunk.b2nd", NULL
	};

	(void)state;
	try_samples(samples, false);
}

static void early_frames(void **state)
{
	static const char *const samples[] = {
		"good-early-9b.b2frame", "good-early-9b-chunksize0.b2frame",
		"good-early-9c.b2frame", "good-early-9d-beta.2.b2frame",
		"good-early-9d-beta.5.b2frame", NULL
	};

	(void)state;
	try_samples(samples, false);
}

static void packed_super_chunks(void **state)
{
	static const char *const samples[] = {
		"good-packed-a2.b2packed", "good-packed-a4-delta.b2packed",
		"good-packed-a3-sizes.b2packed", NULL
	};

	(void)state;
	try_samples(samples, false);
}

static void bloscpack_with_checksums(void **state)
{
	static const char *const samples[] = {
		"good-blp2-adler32.blp", "good-blp2-crc32.blp",
		"good-blp2-sha512.blp", "good-blp3-adler32.blp",
		"good-blp3-meta-sha512.blp", "good-blp3-nonuniform.blp",
		"good-blp3-appended.blp",
		"good-blp2-offsets-unset.blp", NULL
	};
	struct build b = { 0 };

	(void)state;
	try_samples(samples, true);
	/* Nothing in the header tells number or sizes. */
	put_head(&b, 3, 0, BFS_DIGEST_MD5, -1, -1, -1);
	put_digit_chunks(&b, BFS_DIGEST_MD5, NULL);
	try_bytes("unknown-md5.blp", &b, "x.blp", true);
	free(b.p);
}

static void bloscpack_without_checksums(void **state)
{
	static const char *const samples[] = {
		"good-blp1.blp", "good-blp3-unknown.blp",
		"good-blp3-array.blp", NULL
	};
	struct build b = make_v1();

	(void)state;
	try_samples(samples, false);
	try_bytes("v1-digits.blp", &b, "x.blp", false);
	free(b.p);
}

static void bare_chunks(void **state)
{
	static const char *const samples[] = {
		"good-zlib-bitshuffle.blosc2", "good-b1-memcpyed.blosc",
		"good-vlblocks-zstd.blosc2", "good-bytedelta.blosc2",
		"good-special-value.blosc2", "good-special-zeros.blosc2", NULL
	};
	static const char *const parts[] = {
		"good-zlib-bitshuffle.blosc2", "good-b1-memcpyed.blosc",
		"good-bytedelta.blosc2", "good-b1-zstd-shuffle.blosc", NULL
	};
	struct build chain = { 0 };

	(void)state;
	try_samples(samples, false);
	for (const char *const *part = parts; *part; part++) {
		struct build b = build_sample(*part);

		build_bytes(&chain, b.p, b.len);
		free(b.p);
	}
	try_bytes("chain", &chain, "chain", false);
	/* The name allows bytes that are left over. */
	try_bytes("chain.blosc2", &chain, "chain.blosc2", false);
	free(chain.p);
}

static void stores(void **state)
{
	static const char *const samples[] = {
		"good-store-single.b2z", "good-store.b2e", "good-store.b2z",
		NULL
	};

	(void)state;
	try_samples(samples, false);
}

/* ---- folders --------------------------------------------------------- */

#define MAX_FILES 32

struct folder {
	char path[256];
	size_t n;
	char names[MAX_FILES][64];
	struct build files[MAX_FILES];
	struct build sound[MAX_FILES];
};

static void write_file(const char *path, const void *p, size_t len)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void folder_add(struct folder *f, const char *name, const void *p,
		       size_t len)
{
	char path[512];

	assert_true(f->n < MAX_FILES);
	snprintf(f->names[f->n], sizeof(f->names[0]), "%s", name);
	build_bytes(&f->files[f->n], p, len);
	build_bytes(&f->sound[f->n], p, len);
	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	write_file(path, p, len);
	f->n++;
}

static void folder_new(struct folder *f)
{
	memset(f, 0, sizeof(*f));
	strcpy(f->path, "/tmp/mutants.XXXXXX");
	assert_non_null(mkdtemp(f->path));
}

static void folder_free(struct folder *f, const char *const *dirs)
{
	char path[512];

	for (size_t i = 0; i < f->n; i++) {
		snprintf(path, sizeof(path), "%s/%s", f->path, f->names[i]);
		unlink(path);
		free(f->files[i].p);
		free(f->sound[i].p);
	}
	for (; *dirs; dirs++) {
		snprintf(path, sizeof(path), "%s/%s", f->path, *dirs);
		rmdir(path);
	}
	rmdir(f->path);
}

static struct bloscfs_file *open_folder(const struct folder *f)
{
	struct bloscfs_file *file;

	return sample_open(fs, f->path, &file, NULL) == BLOSCFS_OK ? file :
								     NULL;
}

static void try_file(struct tally *t, struct folder *f, size_t k)
{
	struct build *b = &f->files[k];
	uint32_t seed = (uint32_t)(b->len + k);
	struct bloscfs_file *file;
	uint8_t value, old;
	char path[512];
	size_t at;

	snprintf(path, sizeof(path), "%s/%s", f->path, f->names[k]);
	for (size_t i = 0; pick(i, b->p, b->len, &seed, &at, &value); i++) {
		old = b->p[at];
		if (old == value)
			continue;
		b->p[at] = value;
		write_file(path, b->p, b->len);
		b->p[at] = old;
		file = open_folder(f);
		if (!file)
			continue;
		try_opened(t, file, at, value);
		bloscfs_close(file);
	}
	write_file(path, b->p, b->len);
}

static void try_folder(struct folder *f, const char *sample)
{
	struct tally t = { .truth = calloc(1, sizeof(*t.truth)) };
	struct bloscfs_node root = bloscfs_root();
	struct bloscfs_file *file = open_folder(f);

	assert_non_null(t.truth);
	assert_non_null(file);
	assert_int_equal(bloscfs_file_status(file, NULL), BLOSCFS_GOOD);
	learn(file, &root, "", t.truth);
	assert_int_equal(t.truth->n, 1);
	bloscfs_close(file);
	for (size_t k = 0; k < f->n; k++) {
		t.sample = f->names[k];
		t.sound = &f->sound[k];
		t.n = t.n_faults = t.n_excused = 0;
		try_file(&t, f, k);
		print_message("# %s %s: %zu changes, %zu excused, %zu wrong\n",
			      sample, t.sample, t.n, t.n_excused, t.n_faults);
		n_wrong += t.n_faults;
	}
	forget(t.truth);
}

static void try_sparse(const char *sample)
{
	static const char *const dirs[] = { NULL };
	struct folder f;

	folder_new(&f);
	for (unsigned i = 0; i <= 3; i++) {
		char name[32], path[256];
		struct build b;

		if (i == 0)
			strcpy(name, "chunks.b2frame");
		else
			snprintf(name, sizeof(name), "%08X.chunk", i - 1);
		snprintf(path, sizeof(path), "%s/%s", sample, name);
		b = build_sample(path);
		folder_add(&f, name, b.p, b.len);
		free(b.p);
	}
	try_folder(&f, sample);
	folder_free(&f, dirs);
}

static void sparse_frames(void **state)
{
	(void)state;
	try_sparse("good-sparse-array.b2nd");
	try_sparse("good-sparse-strays.b2frame");
}

/* 25 items of two bytes, ten in a chunk. */
static void columns_of_bcolz(void **state)
{
	static const char *const dirs[] = { "meta", "data", NULL };
	static const char sizes[] =
		"{\"shape\": [25], \"nbytes\": 50, \"cbytes\": 146}\n";
	static const char storage[] =
		"{\"dtype\": \"int16\", \"cparams\": {\"clevel\": 5, "
		"\"shuffle\": 1}, \"chunklen\": 10, \"expectedlen\": 25, "
		"\"dflt\": 0}\n";
	struct folder f;
	char path[512];

	(void)state;
	folder_new(&f);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", f.path, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	folder_add(&f, "meta/sizes", sizes, sizeof(sizes) - 1);
	folder_add(&f, "meta/storage", storage, sizeof(storage) - 1);
	for (unsigned i = 0; i < 3; i++) {
		struct build b = { 0 };

		build_bytes(&b, "blpk\1\0\0\0\1\0\0\0\0\0\0\0", 16);
		put_chunk(&b, digits + 20 * i, i == 2 ? 10 : 20, 2,
			  BFS_DIGEST_NONE);
		snprintf(path, sizeof(path), "data/__%u.blp", i);
		folder_add(&f, path, b.p, b.len);
		free(b.p);
	}
	try_folder(&f, "bcolz");
	folder_free(&f, dirs);
}

static int setup(void **state)
{
	struct bloscfs_options options = { .size = sizeof(options),
					   .cache_size = 1 << 22,
					   .threads = 1 };

	(void)state;
	return bloscfs_new(&options, &fs, NULL) != BLOSCFS_OK;
}

static int teardown(void **state)
{
	(void)state;
	bloscfs_free(fs);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	n_wrong = 0;
	return 0;
}

/* A fault is told where it is met, and all of them are looked for. */
static int end(void **state)
{
	(void)state;
	return n_wrong > 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(contiguous_frames),
		T(arrays),
		T(early_frames),
		T(packed_super_chunks),
		T(bloscpack_with_checksums),
		T(bloscpack_without_checksums),
		T(bare_chunks),
		T(stores),
		T(sparse_frames),
		T(columns_of_bcolz),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mutants", tests, setup, teardown);
}
