/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_folder.c - folders of the caller's own: opened and read as those of a
 * file system are, closed once, and blamed for nothing that passes.
 */
#include "base/bytes.h"
#include "bloscfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT_CAP (256 << 10)

/* A folder of the file system, by calls that may fail. */
struct outer {
	char path[200];
	atomic_uint n_found, n_opened, n_closed, n_files_closed;
	unsigned fail_at;		/* the n-th call from now; 0: none */
	enum bloscfs_err fail_with;
};

static struct bloscfs *fs;

static int set_up(void **state)
{
	struct bloscfs_options options = {
		.size = sizeof(options),
		.views = "info,data,npy,meta,arrow",
	};

	(void)state;
	return bloscfs_new(&options, &fs, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	bloscfs_free(fs);
	return 0;
}

static bool fails(struct outer *o, struct bloscfs_diag *why)
{
	if (!o->fail_at || --o->fail_at)
		return false;
	snprintf(why->text, sizeof(why->text), "the cable was pulled");
	return true;
}

static enum bloscfs_err find(void *arg, const char *path,
			     enum bloscfs_there *ret_there,
			     uint64_t *ret_length, struct bloscfs_diag *why)
{
	struct outer *o = arg;
	char whole[400];
	struct stat st;

	atomic_fetch_add(&o->n_found, 1);
	if (fails(o, why))
		return o->fail_with;
	snprintf(whole, sizeof(whole), "%s/%s", o->path, path);
	if (lstat(whole, &st) < 0)
		return BLOSCFS_OK;
	*ret_there = S_ISDIR(st.st_mode) ? BLOSCFS_A_FOLDER : BLOSCFS_A_FILE;
	*ret_length = (uint64_t)st.st_size;
	return BLOSCFS_OK;
}

struct inner {
	struct outer *of;
	int fd;
};

static enum bloscfs_err read_inner(void *arg, uint64_t off, void *buf,
				   size_t len, size_t *ret_len,
				   struct bloscfs_diag *why)
{
	struct inner *inner = arg;

	if (fails(inner->of, why))
		return inner->of->fail_with;
	*ret_len = (size_t)pread(inner->fd, buf, len, (off_t)off);
	return BLOSCFS_OK;
}

static void close_inner(void *arg)
{
	struct inner *inner = arg;

	atomic_fetch_add(&inner->of->n_files_closed, 1);
	close(inner->fd);
	free(inner);
}

static enum bloscfs_err open_inner(void *arg, const char *path,
				   struct bloscfs_source *ret_source,
				   struct bloscfs_diag *why)
{
	struct outer *o = arg;
	struct inner *inner;
	char whole[400];
	struct stat st;
	int fd;

	if (fails(o, why))
		return o->fail_with;
	snprintf(whole, sizeof(whole), "%s/%s", o->path, path);
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return BLOSCFS_OK;
	}
	inner = malloc(sizeof(*inner));
	assert_non_null(inner);
	*inner = (struct inner){ o, fd };
	atomic_fetch_add(&o->n_opened, 1);
	*ret_source = (struct bloscfs_source){
		.size = sizeof(*ret_source), .arg = inner,
		.length = (uint64_t)st.st_size, .read = read_inner,
		.close = close_inner,
	};
	return BLOSCFS_OK;
}

static void close_outer(void *arg)
{
	atomic_fetch_add(&((struct outer *)arg)->n_closed, 1);
}

static struct bloscfs_folder folder_of(struct outer *o)
{
	return (struct bloscfs_folder){
		.size = sizeof(struct bloscfs_folder), .arg = o,
		.find = find, .open = open_inner, .close = close_outer,
	};
}

static void name_sample(struct outer *o, const char *sample)
{
	*o = (struct outer){ .fail_with = BLOSCFS_ERR_IO };
	snprintf(o->path, sizeof(o->path), "%s/%s", TEST_DATA_DIR, sample);
}

/* ---- a column, which tests/data has none of --------------------------- */

static char column[] = "/tmp/folder.XXXXXX";

static void write_file(const char *name, const void *bytes, size_t len)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", column, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void make_folder(const char *folder, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s%s", column, folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* 25 numbers of two bytes, ten in a chunk. folder: "", or with a slash. */
static void make_column(const char *folder)
{
	static const char sizes[] =
		"{\"shape\": [25], \"nbytes\": 50, \"cbytes\": 146}\n";
	static const char storage[] =
		"{\"dtype\": \"int16\", \"cparams\": {\"clevel\": 5, "
		"\"shuffle\": 1}, \"chunklen\": 10, \"expectedlen\": 25, "
		"\"dflt\": 0}\n";
	char name[32];

	make_folder(folder, "data");
	make_folder(folder, "meta");
	snprintf(name, sizeof(name), "%smeta/sizes", folder);
	write_file(name, sizes, sizeof(sizes) - 1);
	snprintf(name, sizeof(name), "%smeta/storage", folder);
	write_file(name, storage, sizeof(storage) - 1);
	snprintf(name, sizeof(name), "%s__attrs__", folder);
	write_file(name, "{\"unit\": \"m\"}\n", 14);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t n = i == 2 ? 10 : 20;
		uint8_t bytes[52] = { 'b', 'l', 'p', 'k', 1, 0, 0, 0, 1, 0, 0,
				      0, 0, 0, 0, 0, 2, 1, 2, 2, n, 0, 0, 0,
				      n, 0, 0, 0, (uint8_t)(n + 16) };

		for (uint8_t k = 0; k < n; k++)
			bytes[32 + k] = (uint8_t)(20 * i + k);
		snprintf(name, sizeof(name), "%sdata/__%u.blp", folder, i);
		write_file(name, bytes, 32u + n);
	}
}

/* A table of two columns. */
static void make_table(void)
{
	static const char list[] = "{\"names\": [\"a\", \"b\"]}\n";

	make_folder("", "t");
	make_folder("t/", "a");
	make_folder("t/", "b");
	write_file("t/__rootdirs__", list, sizeof(list) - 1);
	make_column("t/a/");
	make_column("t/b/");
}

static int remove_column(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", column);
	return system(command);
}

/* ---- what both say ----------------------------------------------------- */

/* An entry's bytes; the error where it has none. */
static enum bloscfs_err read_whole(struct bloscfs_file *file, const char *name,
				   char *text, size_t *ret_len)
{
	struct bloscfs_node root = bloscfs_root(), node;
	uint64_t mark = bloscfs_mark();
	enum bloscfs_err met;

	*ret_len = 0;
	if (!bloscfs_lookup(file, &root, name, &node)) {
		met = bloscfs_met(mark, NULL);
		return met != BLOSCFS_OK ? met : BLOSCFS_ERR_INVALID;
	}
	return bloscfs_read(file, &node, 0, text, TEXT_CAP, ret_len, NULL);
}

static void expect_same(struct bloscfs_file *a, struct bloscfs_file *b)
{
	static const char *const names[] = { "info.json", "data.bin",
					     "data.npy", "vlmeta.json" };
	char *texts[2] = { malloc(TEXT_CAP), malloc(TEXT_CAP) };
	enum bloscfs_err err;
	size_t lens[2];

	assert_true(texts[0] && texts[1]);
	for (size_t i = 0; i < BFS_ARRAY_LEN(names); i++) {
		err = read_whole(a, names[i], texts[0], &lens[0]);
		assert_int_equal(read_whole(b, names[i], texts[1], &lens[1]),
				 err);
		assert_int_equal(lens[0], lens[1]);
		assert_memory_equal(texts[0], texts[1], lens[0]);
	}
	free(texts[0]);
	free(texts[1]);
}

/* Opened both ways. */
static void compare(struct outer *o)
{
	struct bloscfs_folder folder = folder_of(o);
	struct bloscfs_file *here, *outside;
	const char *format, *same;
	int fd = open(o->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(bloscfs_probe_dir(fd, &format), BLOSCFS_OK);
	assert_int_equal(bloscfs_probe_folder(&folder, &same, NULL),
			 BLOSCFS_OK);
	assert_string_equal(format, same);
	assert_int_equal(bloscfs_open_dir(fs, fd, &here, NULL), BLOSCFS_OK);
	assert_int_equal(bloscfs_open_folder(fs, &folder, &outside, NULL),
			 BLOSCFS_OK);
	expect_same(here, outside);
	assert_int_equal(atomic_load(&o->n_closed), 0);
	bloscfs_close(outside);
	assert_int_equal(atomic_load(&o->n_closed), 1);
	assert_int_equal(atomic_load(&o->n_files_closed),
			 atomic_load(&o->n_opened));
	bloscfs_close(here);
	close(fd);
}

static void folders_are_read_as_those_of_a_file_system(void **state)
{
	static const char *const samples[] = {
		"good-sparse-array.b2nd", "good-sparse-empty.b2frame",
		"good-sparse-no-chunks.b2frame", "good-sparse-rc1.b2frame",
		"good-sparse-reordered.b2frame", "good-sparse-specials.b2frame",
		"good-sparse-strays.b2frame", "good-sparse-varchunks.b2frame",
		"good-sparse-vlblocks.b2frame", "bad-sparse-cut-chunk.b2frame",
		"bad-sparse-cut-index.b2frame", "bad-sparse-number.b2frame",
		"bad-sparse-missing-chunk.b2frame",
	};
	struct outer o;

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(samples); i++) {
		name_sample(&o, samples[i]);
		compare(&o);
	}
	o = (struct outer){ .fail_with = BLOSCFS_ERR_IO };
	strcpy(o.path, column);
	compare(&o);
}

/* ---- what goes wrong --------------------------------------------------- */

static void a_folder_that_is_refused_stays_the_callers(void **state)
{
	struct bloscfs_folder folder;
	struct bloscfs_file *file = NULL;
	struct bloscfs_diag diag = { 0 };
	const char *format = NULL;
	struct outer o;

	(void)state;
	name_sample(&o, "good-store.b2d");
	folder = folder_of(&o);
	assert_int_equal(bloscfs_probe_folder(&folder, &format, &diag),
			 BLOSCFS_ERR_NOT_FORMAT);
	assert_int_equal(bloscfs_open_folder(fs, &folder, &file, &diag),
			 BLOSCFS_ERR_NOT_FORMAT);
	assert_true(diag.text[0] != 0);
	folder.open = NULL;
	assert_int_equal(bloscfs_open_folder(fs, &folder, &file, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_open_folder(fs, NULL, &file, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_probe_folder(NULL, &format, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_null(file);
	assert_int_equal(atomic_load(&o.n_closed), 0);
}

/* Stores of other systems are told by names, and a text that is read. */
static void stores_of_others_are_told(void **state)
{
	char dir[] = "/tmp/bloscfs-folder-XXXXXX", path[60];
	struct bloscfs_diag diag = { .chunk = -1 };
	struct bloscfs_folder folder;
	struct outer o;
	bool is = true;
	FILE *text;

	(void)state;
	name_sample(&o, "good-store.b2d");
	folder = folder_of(&o);
	assert_int_equal(bloscfs_is_foreign_folder(&folder, &is, &diag),
			 BLOSCFS_OK);
	assert_false(is);
	o.fail_at = 1;
	assert_int_equal(bloscfs_is_foreign_folder(&folder, &is, &diag),
			 BLOSCFS_ERR_IO);
	assert_int_equal(bloscfs_is_foreign_folder(NULL, &is, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_non_null(mkdtemp(dir));
	snprintf(o.path, sizeof(o.path), "%s", dir);
	snprintf(path, sizeof(path), "%s/attributes.json", dir);
	text = fopen(path, "w");
	assert_non_null(text);
	fputs("{\"n5\": \"2.0.0\"}", text);
	fclose(text);
	assert_int_equal(bloscfs_is_foreign_folder(&folder, &is, &diag),
			 BLOSCFS_OK);
	assert_true(is);
	unlink(path);
	rmdir(dir);
	assert_int_equal(atomic_load(&o.n_closed), 0);
}

/* Each call fails once, in turn: the error is told, or nothing is missing. */
static void walk_failures(struct outer *o, const char *name,
			  enum bloscfs_err fail_with)
{
	static char truth[TEXT_CAP], text[TEXT_CAP];
	struct bloscfs_folder folder = folder_of(o);
	size_t truth_len, len;
	unsigned n_errors = 0, n;

	for (n = 0; n < 1000; n++) {
		struct bloscfs_diag diag = { .chunk = -1 };
		struct bloscfs_file *file = NULL;
		enum bloscfs_err err;

		o->fail_at = n;
		o->fail_with = fail_with;
		err = bloscfs_open_folder(fs, &folder, &file, &diag);
		if (err == BLOSCFS_OK)
			err = read_whole(file, name, n ? text : truth,
					 n ? &len : &truth_len);
		if (err != BLOSCFS_OK) {
			assert_true(n > 0);
			n_errors++;
		} else if (n) {
			assert_int_equal(len, truth_len);
			assert_memory_equal(text, truth, len);
		}
		/* What is right once the fault is over. */
		if (file && err != BLOSCFS_OK) {
			assert_int_equal(err, fail_with);
			assert_int_equal(read_whole(file, name, text, &len),
					 BLOSCFS_OK);
			assert_int_equal(len, truth_len);
			assert_memory_equal(text, truth, truth_len);
		} else if (!file) {
			assert_int_equal(err, fail_with);
			assert_non_null(strstr(diag.text, "cable"));
		}
		bloscfs_close(file);
		if (n && o->fail_at)
			break;
	}
	assert_true(n_errors > 5 && n < 1000);
	assert_int_equal(atomic_load(&o->n_files_closed),
			 atomic_load(&o->n_opened));
}

static void calls_that_fail_once_say_nothing_of_the_container(void **state)
{
	struct outer o;

	(void)state;
	name_sample(&o, "good-sparse-array.b2nd");
	walk_failures(&o, "data.bin", BLOSCFS_ERR_IO);
	name_sample(&o, "good-sparse-array.b2nd");
	walk_failures(&o, "data.bin", BLOSCFS_ERR_ACCESS);
	o = (struct outer){ .fail_with = BLOSCFS_ERR_IO };
	strcpy(o.path, column);
	walk_failures(&o, "data.bin", BLOSCFS_ERR_IO);
	o = (struct outer){ .fail_with = BLOSCFS_ERR_IO };
	snprintf(o.path, sizeof(o.path), "%s/t", column);
	walk_failures(&o, "table.arrow", BLOSCFS_ERR_IO);
	o = (struct outer){ .fail_with = BLOSCFS_ERR_ACCESS };
	snprintf(o.path, sizeof(o.path), "%s/t", column);
	walk_failures(&o, "table.arrow", BLOSCFS_ERR_ACCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_are_read_as_those_of_a_file_system),
		cmocka_unit_test(a_folder_that_is_refused_stays_the_callers),
		cmocka_unit_test(stores_of_others_are_told),
		cmocka_unit_test(
			calls_that_fail_once_say_nothing_of_the_container),
	};
	int status;

	assert_non_null(mkdtemp(column));
	make_column("");
	make_table();
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	return remove_column(NULL) ? 1 : status;
}
