/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of bloscfs_examine: nothing is wrong with how sound samples are laid
 * out, what is odd about some is noted, and no damaged one ends it.
 */
#include "bloscfs.h"
#include "base/bytes.h"
#include "support/frames.h"
#include "support/sample_place.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct bloscfs *fs;
static size_t n_looked, n_clean;

/* What was told of one container. */
struct told {
	size_t n_notes, n_damages;
	char last[sizeof(((struct bloscfs_diag *)NULL)->text)];
	char damage[sizeof(((struct bloscfs_diag *)NULL)->text)];
	uint64_t off;
};

static int set_up(void **state)
{
	return frames_setup(state) || bloscfs_new(NULL, &fs, NULL);
}

static int tear_down(void **state)
{
	bloscfs_free(fs);
	return frames_teardown(state);
}

static void take(void *arg, bool is_note, const struct bloscfs_diag *why)
{
	struct told *told = arg;

	told->n_notes += is_note;
	told->n_damages += !is_note;
	snprintf(told->last, sizeof(told->last), "%s", why->text);
	if (!is_note)
		snprintf(told->damage, sizeof(told->damage), "%s", why->text);
	told->off = why->off;
}

static struct told examine(struct bloscfs_file *file)
{
	struct bloscfs_node root = bloscfs_root();
	struct told told = { .n_notes = 0 };

	assert_non_null(file);
	assert_int_equal(bloscfs_examine(file, &root, take, &told, NULL),
			 BLOSCFS_OK);
	return told;
}

static int take_sample(const char *path, const struct stat *st, int type,
		       struct FTW *at)
{
	struct bloscfs_file *file = NULL;
	struct told told;

	(void)st;
	if (at->level != 1 || (type != FTW_F && type != FTW_D) ||
	    sample_open(fs, path, &file, NULL) != BLOSCFS_OK)
		return 0;
	told = examine(file);
	n_looked++;
	n_clean += !told.n_notes && !told.n_damages;
	if (told.n_damages && strncmp(path + at->base, "good-", 5) == 0)
		fail_msg("%s: %s", path, told.last);
	bloscfs_close(file);
	return 0;
}

static void sound_samples_are_laid_out_well(void **state)
{
	(void)state;
	assert_int_equal(nftw(TEST_DATA_DIR, take_sample, 16, FTW_PHYS), 0);
	print_message("# %zu samples, %zu clean\n", n_looked, n_clean);
	assert_true(n_looked > 120);
	assert_true(n_clean > 80 && n_clean < n_looked);
}

static void is_noted(const char *name, const char *text, uint64_t off)
{
	struct bloscfs_file *file = sample_open_data(fs, name);
	struct told told = examine(file);

	if (told.n_notes != 1 || told.n_damages || told.off != off ||
	    !strstr(told.last, text))
		fail_msg("%s: %zu notes, '%s' at %llu", name, told.n_notes,
			 told.last, (unsigned long long)told.off);
	bloscfs_close(file);
}

static void what_nothing_names_is_noted(void **state)
{
	(void)state;
	is_noted("good-early-9d-gap.b2frame", "30 bytes before the trailer",
		 8087);
	is_noted("good-sparse-strays.b2frame", "3 files that nothing names",
		 0);
}

/* ---- a header with more than its metalayers --------------------------- */

/* Metalayers m1, "layer two" and 20 times x, of 9, 205 and 5 bytes. */
#define EARLY "good-early-9c.b2frame"
#define HEADER_LEN 0x156

static struct told examine_bytes(const void *bytes, size_t len,
				 const char *name)
{
	struct bloscfs_file *file = NULL;
	FILE *out = tmpfile();
	struct told told;

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fflush(out), 0);
	assert_int_equal(bloscfs_open(fs, dup(fileno(out)), name, 0, 0, &file,
				      NULL), BLOSCFS_OK);
	told = examine(file);
	bloscfs_close(file);
	fclose(out);
	return told;
}

static void early_headers_are_covered_by_their_metalayers(void **state)
{
	static uint8_t bytes[1 << 16];
	FILE *in = fopen(TEST_DATA_DIR "/" EARLY, "rb");
	struct told told;
	size_t len;

	(void)state;
	assert_non_null(in);
	len = fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	assert_int_equal(examine_bytes(bytes, len, "x").n_notes, 0);
	/* The last 100 bytes of the second value are nobody's. */
	bytes[0x88] -= 100;
	told = examine_bytes(bytes, len, "x");
	assert_int_equal(told.n_notes, 1);
	assert_int_equal(told.n_damages, 0);
	assert_string_equal(told.last, "100 bytes before xxxxxxxxxxxxxxxxxxxx "
			    "that nothing names");
	assert_int_equal(told.off, HEADER_LEN - 5 - 100);
	/* The second one begins within the first. */
	bytes[0x88] += 100;
	bytes[0x7f] = 9;
	told = examine_bytes(bytes, len, "x");
	assert_int_equal(told.n_damages, 1);
	assert_string_equal(told.last, "m1 and layer two share 5 bytes");
	/* A header without metalayers, in which there are some bytes. */
	bytes[0x40] = 0;
	told = examine_bytes(bytes, len, "x");
	assert_int_equal(told.n_notes, 1);
	assert_int_equal(told.off, 0x40);
}

/* ---- chunks ------------------------------------------------------------- */

/* The bytes of the first chunk hold the header of another one. */
static void chunks_that_share_bytes_are_damage(void **state)
{
	enum { LEN = 400, STORED = LEN + 32 };
	struct frame_input in = { .data = frames_pattern, .len = 3 * LEN,
				  .chunksize = LEN, .blocksize = LEN,
				  .typesize = 1 };
	struct frame_bytes b = frames_build(&in);
	size_t head = bfs_be32(b.p + 0x0b);
	uint8_t *entries = b.p + head + 3 * STORED + 32;
	struct told told = examine_bytes(b.p, b.len, "x");

	(void)state;
	assert_int_equal(told.n_notes + told.n_damages, 0);
	assert_int_equal(bfs_le64(entries + 8), STORED);
	memcpy(b.p + head + 32, b.p + head + STORED, 32);
	memset(entries + 8, 0, 8);
	entries[8] = 32;
	told = examine_bytes(b.p, b.len, "x");
	assert_int_equal(told.n_damages, 1);
	assert_string_equal(told.damage, "its first 400 bytes belong to chunk "
			    "0 too");
	/* What was the second one's is nobody's, but for its first bytes. */
	assert_int_equal(told.n_notes, 1);
	assert_string_equal(told.last, "400 bytes that no chunk names (1 gaps, "
			    "of which the first is here)");
	assert_int_equal(told.off, head + STORED + 32);
	free(b.p);
}

/* ---- a column of bcolz -------------------------------------------------- */

struct folder {
	char path[32];
};

static void add_file(const struct folder *folder, const char *name,
		     const void *bytes, size_t len)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Twenty numbers of two bytes, ten in a chunk. */
static void make_column(struct folder *folder)
{
	static const char sizes[] = "{\"shape\": [20], \"nbytes\": 40}";
	static const char storage[] =
		"{\"dtype\": \"int16\", \"chunklen\": 10}";
	static const uint8_t chunk[52] = {
		'b', 'l', 'p', 'k', 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1,
		2, 2, 20, 0, 0, 0, 20, 0, 0, 0, 36, 0, 0, 0, 7,
	};
	char path[100];

	snprintf(folder->path, sizeof(folder->path), "/tmp/column.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder->path,
			 i ? "meta" : "data");
		assert_int_equal(mkdir(path, 0700), 0);
	}
	add_file(folder, "meta/sizes", sizes, sizeof(sizes) - 1);
	add_file(folder, "meta/storage", storage, sizeof(storage) - 1);
	add_file(folder, "data/__0.blp", chunk, sizeof(chunk));
	add_file(folder, "data/__1.blp", chunk, sizeof(chunk));
}

static struct told examine_column(const struct folder *folder)
{
	struct bloscfs_file *file = NULL;
	struct told told;

	assert_int_equal(sample_open(fs, folder->path, &file, NULL),
			 BLOSCFS_OK);
	told = examine(file);
	bloscfs_close(file);
	return told;
}

static void columns_are_covered_by_their_chunks(void **state)
{
	uint8_t chunk[60] = {
		'b', 'l', 'p', 'k', 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1,
		2, 2, 20, 0, 0, 0, 20, 0, 0, 0, 36, 0, 0, 0, 7,
	};
	struct folder folder;
	struct told told;
	char command[64];

	(void)state;
	make_column(&folder);
	told = examine_column(&folder);
	assert_int_equal(told.n_notes + told.n_damages, 0);
	add_file(&folder, "data/__2.blp", chunk, 52);
	add_file(&folder, "data/__01.blp", chunk, 52);
	told = examine_column(&folder);
	assert_int_equal(told.n_notes, 1);
	assert_string_equal(told.last, "2 files that nothing names, the first "
			    "is '__01.blp'");
	add_file(&folder, "data/__1.blp", chunk, 60);
	told = examine_column(&folder);
	assert_int_equal(told.n_notes, 2);
	assert_string_equal(told.last, "8 bytes behind it that nothing names");
	assert_int_equal(told.off, 52);
	chunk[8] = 2;
	add_file(&folder, "data/__1.blp", chunk, 52);
	told = examine_column(&folder);
	assert_int_equal(told.n_damages, 1);
	assert_string_equal(told.last, "the header before it says 2 chunks "
			    "where one is");
	chunk[4] = 2;
	add_file(&folder, "data/__1.blp", chunk, 52);
	told = examine_column(&folder);
	assert_int_equal(told.n_damages, 1);
	assert_int_equal(told.off, 0);
	snprintf(command, sizeof(command), "rm -r %s", folder.path);
	assert_int_equal(system(command), 0);
}

/* ---- a store of three members ------------------------------------------ */

#define LOCAL 30
#define CENTRAL 46

struct zip {
	uint8_t bytes[512];
	size_t len;
	struct {
		size_t at;
		const char *name;
	} members[3];
};

static void put(struct zip *zip, const void *p, size_t len)
{
	assert_true(len <= sizeof(zip->bytes) - zip->len);
	memcpy(zip->bytes + zip->len, p, len);
	zip->len += len;
}

/* Members of no bytes, whose CRC-32 is 0. */
static void add(struct zip *zip, size_t i, const char *name)
{
	uint8_t head[LOCAL] = "PK\3\4";

	zip->members[i].at = zip->len;
	zip->members[i].name = name;
	head[26] = (uint8_t)strlen(name);
	put(zip, head, sizeof(head));
	put(zip, name, strlen(name));
}

static void end(struct zip *zip)
{
	size_t begin = zip->len;
	uint8_t eocd[22] = "PK\5\6";

	for (size_t i = 0; i < 3; i++) {
		uint8_t entry[CENTRAL] = "PK\1\2";

		entry[28] = (uint8_t)strlen(zip->members[i].name);
		entry[42] = (uint8_t)zip->members[i].at;
		entry[43] = (uint8_t)(zip->members[i].at >> 8);
		put(zip, entry, sizeof(entry));
		put(zip, zip->members[i].name, strlen(zip->members[i].name));
	}
	eocd[8] = eocd[10] = 3;
	eocd[12] = (uint8_t)(zip->len - begin);
	eocd[16] = (uint8_t)begin;
	put(zip, eocd, sizeof(eocd));
}

static struct told examine_zip(const struct zip *zip)
{
	return examine_bytes(zip->bytes, zip->len, "x.b2z");
}

static void a_store_is_covered_by_its_members(void **state)
{
	struct zip whole = { .len = 0 }, gap = { .len = 0 };
	struct zip doubled = { .len = 0 }, shared = { .len = 0 };
	struct told told;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		add(&whole, i, i == 0 ? "a" : i == 1 ? "b" : "c");
		add(&doubled, i, i == 1 ? "b" : "a");
		add(&gap, i, i == 0 ? "a" : i == 1 ? "b" : "c");
		add(&shared, i, i == 0 ? "a" : i == 1 ? "b" : "c");
		if (i == 1)
			put(&gap, "stranger", 8);
	}
	shared.members[2].at = shared.members[1].at;
	shared.members[2].name = "b";
	end(&whole);
	end(&gap);
	end(&doubled);
	end(&shared);
	told = examine_zip(&whole);
	assert_int_equal(told.n_notes + told.n_damages, 0);
	told = examine_zip(&gap);
	assert_int_equal(told.n_notes, 1);
	assert_string_equal(told.last, "8 bytes before c that nothing names");
	assert_int_equal(told.off, gap.members[2].at - 8);
	told = examine_zip(&doubled);
	assert_int_equal(told.n_notes, 1);
	assert_string_equal(told.last, "two members are called 'a'");
	/* One header for two entries. */
	told = examine_zip(&shared);
	assert_true(told.n_damages >= 1);
}

static void members_have_the_sums_that_are_stored(void **state)
{
	struct zip zip = { .len = 0 };
	size_t central;
	struct told told;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		add(&zip, i, i == 0 ? "a" : i == 1 ? "b" : "c");
	central = zip.len + CENTRAL + 1;	/* of the second */
	end(&zip);
	zip.bytes[central + 16] = zip.bytes[zip.members[1].at + 14] = 7;
	told = examine_zip(&zip);
	assert_int_equal(told.n_damages, 1);
	assert_string_equal(told.damage, "a member of 0 bytes has crc32 "
			    "00000000 where 00000007 is stored");
	zip.bytes[central + 16] = zip.bytes[zip.members[1].at + 14] = 0;
	zip.bytes[zip.members[1].at + 14 + 3] = 0x80;
	told = examine_zip(&zip);
	assert_int_equal(told.n_damages, 1);
	assert_string_equal(told.damage, "the two headers of a member store "
			    "crc32 80000000 and 00000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_samples_are_laid_out_well),
		cmocka_unit_test(what_nothing_names_is_noted),
		cmocka_unit_test(early_headers_are_covered_by_their_metalayers),
		cmocka_unit_test(chunks_that_share_bytes_are_damage),
		cmocka_unit_test(columns_are_covered_by_their_chunks),
		cmocka_unit_test(members_have_the_sums_that_are_stored),
		cmocka_unit_test(a_store_is_covered_by_its_members),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
