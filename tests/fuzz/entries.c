/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entries.c - all entries of a container are listed and looked up again, and
 * parts of all are read.
 *
 * What stat says must be what can be read, byte for byte; reading twice, or a
 * range of it, must give the same.
 */
#include "entries.h"
#include "shown.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/examine.h"
#include "support/told.h"
#include "view/dispatch.h"
#include "view/nesting.h"

#include <string.h>

#define MEMORY (UINT64_C(128) << 20)
#define CACHE (1 << 20)
#define PART ((size_t)8192)
#define MOST_ENTRIES 300
#define MOST_BYTES ((size_t)1 << 20)
#define MOST_SHOWN ((size_t)1 << 20)
#define MOST_DEPTH 24

/* What is left to do for one input. */
struct budget {
	struct bfs_nesting *tree;
	unsigned entries;
	size_t bytes;
	size_t shown;		/* bytes of pages and pictures */
};

struct bfs_engine *entries_engine(void)
{
	static struct bfs_engine *engine;
	struct bfs_engine_options options = { .cache_len = CACHE,
					      .n_threads = 1 };

	if (!engine) {
		bfs_budget_set_limit(&bfs_process_budget, MEMORY);
		need(bfs_engine_new(&options, &engine) == BFS_OK);
	}
	return engine;
}

size_t entries_prefix(const uint8_t *data, size_t len)
{
	bool is_chunk = len > 1 && data[0] >= 1 && data[1] == 1;

	return len > 0 && data[0] < 4 && !is_chunk;
}

/* A reason, which does not repeat the place that is told beside it. */
static void need_words(const struct bfs_diag *why)
{
	need(strnlen(why->text, sizeof(why->text)) < sizeof(why->text));
	need(why->text[0]);
	if (told_once(why->text, why->chunk, why->off))
		return;
	fprintf(stderr, "chunk %lld, byte %llu: '%s'\n",
		(long long)why->chunk, (unsigned long long)why->off,
		why->text);
	need(false);
}

struct bfs_array *entries_open(const uint8_t *data, size_t len)
{
	static const char *const names[] = { NULL, "x.b2z", "x.blp",
					     "x.chunk" };
	size_t skip = entries_prefix(data, len);
	struct bfs_engine *engine = entries_engine();
	struct bfs_container *container;
	struct bfs_diag diag = { 0 };
	struct bfs_source *source;
	struct bfs_array *array;
	enum bfs_err err;

	if (bfs_source_memory(data + skip, len - skip, false, &source, NULL))
		return NULL;
	err = bfs_container_open(source, names[skip ? data[0] : 0], NULL,
				 bfs_engine_cache(engine), &container, &diag);
	bfs_source_unref(source);
	if (err != BFS_OK) {
		need_words(&diag);
		return NULL;
	}
	if (container->status != BFS_GOOD)
		need_words(&container->why);
	if (bfs_array_open(engine, container, &array, &diag) != BFS_OK)
		return NULL;
	return array;
}

/* Reads [off, off + want) and expects all of it, or a reason. */
static void read_part(struct budget *b, struct bfs_file *file,
		      const struct bfs_node *node, uint64_t off, size_t want)
{
	static uint8_t one[PART + 1], two[PART + 1];
	struct bfs_diag diag = { 0 };
	size_t n = 0, again = 0;
	enum bfs_err err;

	if (want > b->bytes)
		return;
	b->bytes -= want;
	err = bfs_file_read(file, node, off, one, want, &n, &diag);
	if (err != BFS_OK) {
		need_words(&diag);
		return;
	}
	need(n == want);
	memset(two, 0x5a, sizeof(two));
	err = bfs_file_read(file, node, off, two, want, &again, NULL);
	if (err == BFS_OK)
		need(again == n && !memcmp(one, two, n));
	/* A range inside is the same bytes. */
	off += want / 3;
	want /= 3;
	err = bfs_file_read(file, node, off, two, want, &again, NULL);
	if (err == BFS_OK)
		need(again == want && !memcmp(one + n / 3, two, want));
}

/* Pages and pictures are a container's own, and not names of a store. */
static void read_entry(struct budget *b, const struct bfs_place *place,
		       const char *name)
{
	struct bfs_diag diag = { 0 };
	struct bfs_file *file;
	struct bfs_attr attr;
	uint8_t byte;
	size_t n = 1;

	if (bfs_nesting_take(b->tree, place->child, &file, &diag) != BFS_OK) {
		need_words(&diag);
		return;
	}
	bfs_file_stat(file, &place->node, &attr);
	if (bfs_file_open(file, &place->node, &diag) == BFS_OK) {
		size_t part = (size_t)bfs_min(attr.len, PART);

		read_part(b, file, &place->node, 0, part);
		read_part(b, file, &place->node, attr.len - part, part);
		need(bfs_file_read(file, &place->node, attr.len, &byte, 1, &n,
				   NULL) != BFS_OK || n == 0);
		if (place->node.view != BFS_ROW_members)
			b->shown -= shown_check(file, &place->node, name,
						b->shown);
	} else {
		need_words(&diag);
	}
	bfs_nesting_give(b->tree, place->child);
}

static bool is_dir(struct budget *b, const struct bfs_place *place)
{
	struct bfs_file *file;
	struct bfs_attr attr = { 0 };

	if (bfs_nesting_take(b->tree, place->child, &file, NULL) != BFS_OK)
		return false;
	bfs_file_stat(file, &place->node, &attr);
	bfs_nesting_give(b->tree, place->child);
	return attr.is_dir;
}

static void walk(struct budget *b, const struct bfs_place *dir, unsigned depth)
{
	char name[BFS_NAME_MAX + 1];
	struct bfs_place place, found;

	if (depth > MOST_DEPTH)
		return;
	for (uint64_t pos = 0; b->entries > 0; pos++) {
		if (!bfs_nesting_list(b->tree, dir, pos, name, &place))
			break;
		b->entries--;
		need(name[0] && !strchr(name, '/') && strcmp(name, ".") &&
		     strcmp(name, ".."));
		need(bfs_nesting_lookup(b->tree, dir, name, strlen(name),
					&found));
		need(found.child == place.child &&
		     found.node.view == place.node.view &&
		     found.node.kind == place.node.kind &&
		     found.node.index == place.node.index);
		if (is_dir(b, &place))
			walk(b, &place, depth + 1);
		else
			read_entry(b, &place, name);
	}
}

static void hear(void *arg, bool is_note, const struct bfs_diag *why)
{
	(void)arg;
	(void)is_note;
	need_words(why);
}

/* As --check looks at it; any verdict will do. */
static void examine(struct bfs_container *container)
{
	const struct bfs_examiner examiner = { hear, NULL };
	struct bfs_diag diag = { 0 };

	if (bfs_container_examine(container, &examiner, &diag) != BFS_OK)
		need_words(&diag);
}

void entries_walk(struct bfs_array *array)
{
	struct bfs_place root = { 0, { .view = BFS_VIEW_ROOT } };
	struct budget b = { .entries = MOST_ENTRIES, .bytes = MOST_BYTES,
			    .shown = MOST_SHOWN };
	struct bfs_file *file;
	uint32_t views = (UINT32_C(1) << bfs_n_views) - 1;

	if (bfs_file_new(array, views, &file, NULL) != BFS_OK)
		return;
	if (bfs_nesting_new(entries_engine(), views, file, &b.tree, NULL) !=
	    BFS_OK)
		return;
	examine(array->container);
	walk(&b, &root, 0);
	bfs_nesting_free(b.tree);
}

uint64_t entries_begin(void)
{
	bfs_engine_trim(entries_engine());
	return bfs_mem_used();
}

void entries_settle(uint64_t used_before)
{
	bfs_engine_trim(entries_engine());
	need(bfs_mem_used() <= used_before + MEMORY / 4);
}
