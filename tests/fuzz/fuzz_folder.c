/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_folder.c - any bytes as the files of a container that is a folder: a
 * sparse frame, a column of bcolz, a table. All entries are walked, and the
 * views are held against one another (entries.h).
 *
 * The bytes are files one after the other: a byte that picks the name, three
 * of the length (little-endian), and what is in it.
 */
#include "entries.h"
#include "mutate.h"

#include "base/bytes.h"
#include "source/dir.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed);

#define MOST_FILES 64
#define HEAD 4

struct entry {
	char path[32];
	const uint8_t *p;
	size_t len;
};

struct folder {
	struct entry entries[MOST_FILES];
	size_t n;
};

static void name_entry(uint8_t id, char path[32])
{
	static const char *const fixed[] = {
		"chunks.b2frame", "meta/sizes", "meta/storage", "__attrs__",
	};
	static const char *const table[] = {
		"_meta.b2f", "_valid_rows.b2nd", "_cols/a.b2nd",
		"_cols/b.b2nd", "_cols/a.notnull.b2nd", "_cols/b.utf8.b2nd",
		"_cols/b_dict.b2b", "_cols/c/d.b2nd", "__rootdirs__",
		"a/meta/sizes", "a/meta/storage", "a/data/__0.blp",
		"b/meta/sizes", "b/meta/storage", "b/data/__0.blp",
		"b/data/__1.blp",
	};

	if (id < 4)
		snprintf(path, 32, "%s", fixed[id]);
	else if (id >= 240)
		snprintf(path, 32, "%s", table[id - 240]);
	else if (id < 128)
		snprintf(path, 32, "%08X.chunk", id - 4u);
	else
		snprintf(path, 32, "data/__%u.blp", id - 128u);
}

/* The file that begins at *at, and moves on behind it. */
static bool next_entry(const uint8_t *data, size_t len, size_t *at,
		       struct entry *entry)
{
	const uint8_t *p = data + *at;

	if (*at >= len || len - *at < HEAD)
		return false;
	entry->len = bfs_le16(p + 1) | (size_t)p[3] << 16;
	entry->len = (size_t)bfs_min(entry->len, len - *at - HEAD);
	entry->p = p + HEAD;
	name_entry(p[0], entry->path);
	*at += HEAD + entry->len;
	return true;
}

static enum bfs_err find_entry(void *arg, const char *path,
			       enum bfs_there *ret_there, uint64_t *ret_len,
			       struct bfs_diag *diag)
{
	const struct folder *folder = arg;
	size_t n = strlen(path);

	(void)diag;
	for (size_t i = 0; i < folder->n; i++) {
		const struct entry *e = &folder->entries[i];

		if (strcmp(e->path, path) == 0) {
			*ret_there = BFS_FILE;
			*ret_len = e->len;
			return BFS_OK;
		}
		if (strncmp(e->path, path, n) == 0 && e->path[n] == '/') {
			*ret_there = BFS_FOLDER;
			return BFS_OK;
		}
	}
	*ret_there = BFS_NOTHING;
	return BFS_OK;
}

static enum bfs_err open_entry(void *arg, const char *path,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag)
{
	const struct folder *folder = arg;

	for (size_t i = 0; i < folder->n; i++) {
		const struct entry *e = &folder->entries[i];

		if (strcmp(e->path, path) == 0)
			return bfs_source_memory(e->p, e->len, false,
						 ret_source, diag);
	}
	return BFS_OK;
}

/* One of the files is changed in its place, or the engine changes all. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	struct entry entry;
	size_t n = 0, at = 0;

	while (next_entry(data, len, &at, &entry))
		n++;
	if (!n || seed % 5 == 0)
		return LLVMFuzzerMutate(data, len, max);
	n = seed / 5 % n;
	for (at = 0; next_entry(data, len, &at, &entry); n--)
		if (n == 0) {
			mutate_in_place(data + (entry.p - data), entry.len,
					seed);
			break;
		}
	return len;
}

static struct bfs_array *open_folder(struct folder *folder)
{
	const struct bfs_dir_callback how = {
		.arg = folder, .find = find_entry, .open = open_entry,
	};
	struct bfs_engine *engine = entries_engine();
	struct bfs_container *container;
	struct bfs_array *array;
	struct bfs_diag diag = { 0 };
	struct bfs_dir *dir;
	enum bfs_err err;

	if (bfs_dir_callback(&how, &dir, NULL) != BFS_OK)
		return NULL;
	err = bfs_container_open_in(dir, &(struct bfs_guard){ 0 },
				    bfs_engine_cache(engine), &container,
				    &diag);
	bfs_dir_unref(dir);
	if (err != BFS_OK) {
		need(diag.text[0]);
		return NULL;
	}
	need(container->status == BFS_GOOD || container->why.text[0]);
	if (bfs_array_open(engine, container, &array, &diag) != BFS_OK)
		return NULL;
	return array;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct folder folder = { .n = 0 };
	struct bfs_array *array;
	size_t at = 0;
	uint64_t before;

	while (folder.n < MOST_FILES &&
	       next_entry(data, len, &at, &folder.entries[folder.n]))
		folder.n++;
	before = entries_begin();
	array = open_folder(&folder);
	if (array)
		entries_walk(array);
	array = open_folder(&folder);
	if (array)
		entries_agree(array, NULL, 0);
	entries_settle(before);
	return 0;
}
