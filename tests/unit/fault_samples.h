/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_samples.h - what faults are injected into: samples of tests/data, and
 * some that are made here, of each container at least one.
 *
 * A few hundred rounds for each sample: every early call fails once, of the
 * later ones some do. All of them with BLOSCFS_FAULTS=all. BLOSCFS_FAULTS_IN
 * names a container that is the only sample. An argument of the program names
 * the only tests to run. Included by the tests of faults.
 */
#ifndef TEST_FAULT_SAMPLES_H
#define TEST_FAULT_SAMPLES_H

#include "fault_walk.h"
#include "hostile_pack.h"
#include "base/bytes.h"
#include "support/build2.h"
#include "support/frames.h"

#include <ftw.h>

static struct sample samples[] = {
	{ .path = "good-nd-structured.b2nd" },
	{ .path = "good-frame-vlmetalayers.b2frame" },
	{ .path = "good-frame-specials.b2frame" },
	{ .path = "good-frame-vlblocks.b2frame" },
	{ .path = "good-frame-varchunks.b2frame", .is_large = true },
	{ .path = "good-sparse-array.b2nd" },
	{ .path = "good-sparse-varchunks.b2frame", .is_large = true },
	{ .path = "good-early-9c-usermeta.b2frame" },
	{ .path = "good-packed-a4-delta.b2packed" },
	{ .path = "good-packed-a2-sides.b2packed" },
	{ .path = "good-blp3-array.blp" },
	{ .path = "good-blp3-unknown.blp" },
	{ .path = "good-blp2-sha512.blp" },
	{ .path = "good-lz4-delta-shuffle.blosc2" },
	{ .path = "good-zlib-bitshuffle.blosc2" },
	{ .path = "good-dict-zstd.blosc2" },
	{ .path = "good-store-single.b2z" },
	{ .path = "good-store.b2e" },
	{ .path = "good-table-dictionary.b2z", .is_large = true },
	{ .path = "good-table-utf8.b2z", .is_large = true },
	{ .path = "bad-frame-index.b2frame" },
	{ .path = "bad-nd-shape.b2nd" },
	{ .path = "unsupported-frame-filter200.b2frame" },
	/* Made by samples_make. */
	{ .made = "column" },
	{ .made = "rootdir", .is_beside = true },
	{ .made = "dictionary.b2d", .is_beside = true },
	{ .made = "nullable.b2d", .is_beside = true },
	{ .made = "utf8.b2d", .is_beside = true },
	{ .made = "chain.blosc" },
	{ .made = "proxy.b2nd" },
	{ .made = "recipe.b2nd" },
	{ .made = "objects.b2frame" },
};

static size_t n_samples = sizeof(samples) / sizeof(samples[0]);

#define N_SAMPLES n_samples

static char samples_folder[] = "/tmp/faults.XXXXXX";

/* ---- what is made ----------------------------------------------------- */

/* The first len bytes of a path; it may be there. */
static void samples_folder_add(const char *name, size_t len)
{
	char path[WALK_PATH];

	snprintf(path, sizeof(path), "%s/%.*s", samples_folder, (int)len,
		 name);
	if (mkdir(path, 0700) != 0)
		assert_int_equal(errno, EEXIST);
}

/* With the folders that it lies in. */
static void samples_write(const char *name, const void *p, size_t len)
{
	char path[WALK_PATH];
	FILE *f;

	for (const char *at = name; (at = strchr(at, '/')); at++)
		samples_folder_add(name, (size_t)(at - name));
	snprintf(path, sizeof(path), "%s/%s", samples_folder, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}


/* Of bcolz: 25 items of two bytes, ten in a chunk, and attributes. */
static void samples_make_column(const char *column)
{
	static const char *const texts[][2] = {
		{ "meta/sizes",
		  "{\"shape\": [25], \"nbytes\": 50, \"cbytes\": 146}\n" },
		{ "meta/storage",
		  "{\"dtype\": \"int16\", \"cparams\": {\"clevel\": 5, "
		  "\"shuffle\": 1}, \"chunklen\": 10, \"expectedlen\": 25, "
		  "\"dflt\": 0}\n" },
		{ "__attrs__", "{\"unit\": \"m\"}\n" },
	};
	char name[64];

	samples_folder_add(column, strlen(column));
	for (size_t i = 0; i < BFS_ARRAY_LEN(texts); i++) {
		snprintf(name, sizeof(name), "%s/%s", column, texts[i][0]);
		samples_write(name, texts[i][1], strlen(texts[i][1]));
	}
	for (unsigned i = 0; i < 3; i++) {
		struct build b = { 0 };

		build_bytes(&b, "blpk\1\0\0\0\1\0\0\0\0\0\0\0", 16);
		put_chunk(&b, digits + 20 * i, i == 2 ? 10 : 20, 2,
			  BFS_DIGEST_NONE);
		snprintf(name, sizeof(name), "%s/data/__%u.blp", column,
			 i);
		samples_write(name, b.p, b.len);
		free(b.p);
	}
}

/* A table of bcolz, of two columns. */
static void samples_make_rootdir(void)
{
	static const char list[] = "{\"names\": [\"a\", \"b\"]}\n";

	samples_write("rootdir/__rootdirs__", list, sizeof(list) - 1);
	samples_make_column("rootdir/a");
	samples_make_column("rootdir/b");
}

/* A table in a ZIP store, whose members are stored one behind the other, as the
 * folder that it could be. */
static void samples_unpack(const char *store, const char *folder)
{
	struct build b = build_sample(store);
	size_t at = 0;

	while (at + 30 < b.len && !memcmp(b.p + at, "PK\3\4", 4)) {
		size_t len = bfs_le32(b.p + at + 18);
		size_t name_len = bfs_le16(b.p + at + 26);
		size_t start = at + 30 + name_len + bfs_le16(b.p + at + 28);
		char name[WALK_PATH];

		assert_int_equal(bfs_le16(b.p + at + 8), 0);
		assert_true(start + len <= b.len);
		snprintf(name, sizeof(name), "%s/%.*s", folder, (int)name_len,
			 (const char *)b.p + at + 30);
		samples_write(name, b.p + start, len);
		at = start + len;
	}
	assert_true(at > 0);
	free(b.p);
}

/* Chunks one behind the other. */
static void samples_make_chain(void)
{
	struct build b = { 0 };

	for (unsigned i = 0; i < 3; i++)
		put_chunk(&b, digits + 20 * i, 20, 2, BFS_DIGEST_NONE);
	samples_write("chain.blosc", b.p, b.len);
	free(b.p);
}

/* An array of four chunks (or a plain frame) with one more metalayer. */
static void samples_make_frame(const char *path, bool array, const char *name,
			       const char *content, const uint8_t *special)
{
	const struct frame_layer metas[] = {
		{ name, strlen(name), content, strlen(content) },
		{ "b2nd", 4, frames_array_meta, FRAMES_ARRAY_META_LEN },
	};
	struct frame_input in = {
		.metas = metas, .n_metas = array ? 2 : 1,
		.data = frames_pattern, .len = 4 * 96, .chunksize = 96,
		.blocksize = 24, .typesize = array ? 4 : 1,
	};
	struct frame_bytes b;

	memcpy(in.special, special, 4);
	b = frames_build(&in);
	samples_write(path, b.p, b.len);
	free(b.p);
}

/* Whether a folder that is no container has a table beside. */
static bool samples_is_table(int fd)
{
	struct bloscfs_node root = bloscfs_root(), table;
	struct bloscfs *fs = walk_new_fs();
	struct bloscfs_file *file;
	bool is_table = false;

	if (bloscfs_open_dir(fs, fd, &file, NULL) == BLOSCFS_OK) {
		is_table = bloscfs_lookup(file, &root, "table.arrow", &table);
		bloscfs_close(file);
	}
	bloscfs_free(fs);
	return is_table;
}

/* BLOSCFS_FAULTS_IN alone; whether there is one. What is no container ends the
 * program, as skipped. */
static bool samples_given(void)
{
	const char *path = getenv("BLOSCFS_FAULTS_IN"), *format;
	bool is_dir, is_one;
	struct stat st;
	int fd;

	if (!path)
		return false;
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	is_dir = S_ISDIR(st.st_mode);
	is_one = (is_dir ? bloscfs_probe_dir(fd, &format) :
		  bloscfs_probe(fd, path, &format)) == BLOSCFS_OK;
	samples[0] = (struct sample){
		.path = path,
		.is_beside = is_dir && !is_one && samples_is_table(fd),
	};
	close(fd);
	if (!is_one && !samples[0].is_beside)
		exit(77);
	n_samples = 1;
	return true;
}

static int samples_make(void **state)
{
	static const uint8_t some[] = { 0, 0x84, 0, 0x81 };
	static const uint8_t blank[] = { 0x84, 0x84, 0x81, 0x84 };
	static const uint8_t none[4];

	(void)state;
	if (samples_given())
		return 0;
	assert_non_null(mkdtemp(samples_folder));
	samples_make_column("column");
	samples_make_rootdir();
	samples_unpack("good-table-dictionary.b2z", "dictionary.b2d");
	samples_unpack("good-table-nullable.b2z", "nullable.b2d");
	samples_unpack("good-table-utf8.b2z", "utf8.b2d");
	samples_make_chain();
	samples_make_frame("proxy.b2nd", true, "proxy-source",
			   "\x81\xa7urlpath\xa1x", some);
	samples_make_frame("recipe.b2nd", true, "b2o",
			   "\x82\xa4kind\xa8lazyexpr\xa7version\1", blank);
	samples_make_frame("objects.b2frame", false, "vlarray",
			   "\x81\xa7version\1", none);
	for (size_t i = 0; i < N_SAMPLES; i++)
		if (samples[i].made)
			snprintf(samples[i].where, sizeof(samples[i].where),
				 "%s/%s", samples_folder, samples[i].made);
	for (size_t i = 0; i < N_SAMPLES; i++)
		if (samples[i].made)
			samples[i].path = samples[i].where;
	return 0;
}

static int samples_remove_one(const char *path, const struct stat *st,
			      int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int samples_remove(void **state)
{
	(void)state;
	if (getenv("BLOSCFS_FAULTS_IN"))
		return 0;
	return nftw(samples_folder, samples_remove_one, 8,
		    FTW_DEPTH | FTW_PHYS);
}

/* ---- which of them, and how many rounds ------------------------------- */

/* The call that fails in the next round. */
static uint64_t samples_next(const struct sample *sample, uint64_t n,
			     uint64_t part)
{
	const char *word = getenv("BLOSCFS_FAULTS");

	if (word && !strcmp(word, "all"))
		return n + 1;
	return n + 1 + n / (sample->is_large ? 1 : part);
}

/* A container of which nothing is here would go untried. */
static void each_container_has_a_sample(void **state)
{
	const char *name, *version, *format;
	char full[WALK_PATH];
	bool built, found;

	(void)state;
	if (getenv("BLOSCFS_FAULTS_IN"))
		skip();
	for (size_t i = 0; bloscfs_table("container", i, &name, &version,
					 &built); i++) {
		found = false;
		for (size_t k = 0; k < N_SAMPLES && !found; k++) {
			int fd = open(walk_full_path(samples[k].path, full),
				      O_RDONLY);

			/* No probe takes what stands beside a folder. */
			if (samples[k].is_beside)
				format = "table";
			else if (bloscfs_probe_dir(fd, &format) != BLOSCFS_OK &&
				 bloscfs_probe(fd, full, &format) != BLOSCFS_OK)
				format = "";
			found = !strcmp(format, name);
			close(fd);
		}
		if (!found)
			fail_msg("no sample of a %s", name);
	}
}

#endif
