/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_samples.h - what faults are injected into: samples of tests/data, and
 * some that are made here, of each container at least one.
 *
 * A few hundred rounds for each sample: every early call fails once, of the
 * later ones some do. All of them with BLOSCFS_FAULTS=all. An argument of the
 * program names the only tests to run. Included by the tests of faults.
 */
#ifndef TEST_FAULT_SAMPLES_H
#define TEST_FAULT_SAMPLES_H

#include "fault_walk.h"
#include "hostile_pack.h"
#include "support/frames.h"

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
	{ .made = "chain.blosc" },
	{ .made = "proxy.b2nd" },
	{ .made = "recipe.b2nd" },
	{ .made = "objects.b2frame" },
};

#define N_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static char samples_folder[] = "/tmp/faults.XXXXXX";

/* ---- what is made ----------------------------------------------------- */

static void samples_write(const char *name, const void *p, size_t len)
{
	char path[WALK_PATH];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", samples_folder, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void samples_folder_add(const char *name)
{
	char path[WALK_PATH];

	snprintf(path, sizeof(path), "%s/%s", samples_folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* Of bcolz: 25 items of two bytes, ten in a chunk, and attributes. */
static void samples_make_column(void)
{
	static const char *const texts[][2] = {
		{ "column/meta/sizes",
		  "{\"shape\": [25], \"nbytes\": 50, \"cbytes\": 146}\n" },
		{ "column/meta/storage",
		  "{\"dtype\": \"int16\", \"cparams\": {\"clevel\": 5, "
		  "\"shuffle\": 1}, \"chunklen\": 10, \"expectedlen\": 25, "
		  "\"dflt\": 0}\n" },
		{ "column/__attrs__", "{\"unit\": \"m\"}\n" },
	};
	char name[64];

	samples_folder_add("column");
	samples_folder_add("column/meta");
	samples_folder_add("column/data");
	for (size_t i = 0; i < BFS_ARRAY_LEN(texts); i++)
		samples_write(texts[i][0], texts[i][1], strlen(texts[i][1]));
	for (unsigned i = 0; i < 3; i++) {
		struct build b = { 0 };

		build_bytes(&b, "blpk\1\0\0\0\1\0\0\0\0\0\0\0", 16);
		put_chunk(&b, digits + 20 * i, i == 2 ? 10 : 20, 2,
			  BFS_DIGEST_NONE);
		snprintf(name, sizeof(name), "column/data/__%u.blp", i);
		samples_write(name, b.p, b.len);
		free(b.p);
	}
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

static int samples_make(void **state)
{
	static const uint8_t some[] = { 0, 0x84, 0, 0x81 };
	static const uint8_t blank[] = { 0x84, 0x84, 0x81, 0x84 };
	static const uint8_t none[4];

	(void)state;
	assert_non_null(mkdtemp(samples_folder));
	samples_make_column();
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

static int samples_remove(void **state)
{
	static const char *const names[] = {
		"column/data/__0.blp", "column/data/__1.blp",
		"column/data/__2.blp", "column/meta/sizes",
		"column/meta/storage", "column/__attrs__", "column/data",
		"column/meta", "column", "chain.blosc", "proxy.b2nd",
		"recipe.b2nd", "objects.b2frame",
	};
	char path[WALK_PATH];

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", samples_folder,
			 names[i]);
		remove(path);
	}
	return rmdir(samples_folder);
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
	for (size_t i = 0; bloscfs_table("container", i, &name, &version,
					 &built); i++) {
		/* It stands beside a folder, which no probe takes; see
		 * tests/mount/tables_test.py. */
		found = !strcmp(name, "table");
		for (size_t k = 0; k < N_SAMPLES && !found; k++) {
			int fd = open(walk_full_path(samples[k].path, full),
				      O_RDONLY);

			format = "";
			if (bloscfs_probe_dir(fd, &format) != BLOSCFS_OK &&
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
