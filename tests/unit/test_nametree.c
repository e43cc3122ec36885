/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_nametree.c - paths of a store as a tree: names escaped, no two equal
 * in one directory, nothing that leaves it, and no paths that take long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "container/nametree.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_LEN 255
#define NEED(cond) assert_true(cond)

/* A member by its path below the root; -1 for a directory, -2 for nothing. */
static int64_t find(const struct bfs_nametree *tree, const char *path)
{
	uint32_t node = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (!bfs_nametree_find(tree, node, path, len, &node))
			return -2;
		path += len + (path[len] == '/');
	}
	return tree->nodes[node].member;
}

/* What must be true of every tree, whatever the paths were. */
static void check_tree(const struct bfs_nametree *tree)
{
	uint32_t seen = 1;

	for (uint32_t i = 0; i < tree->n; i++) {
		const struct bfs_name_node *dir = &tree->nodes[i];

		if (dir->member >= 0)
			NEED(dir->n_children == 0);
		NEED(dir->n_children <= tree->n);
		for (uint32_t k = 0; k < dir->n_children; k++) {
			uint32_t at = dir->first + k, found = 0;
			const char *name;

			NEED(at > 0 && at < tree->n);
			NEED(tree->nodes[at].parent == i);
			name = tree->nodes[at].name;
			NEED(name[0] && strlen(name) <= NAME_LEN);
			NEED(!strchr(name, '/') && strcmp(name, ".") &&
			     strcmp(name, ".."));
			for (const char *p = name; *p; p++)
				NEED((uint8_t)*p >= 0x20 && *p != 0x7f);
			if (k)
				NEED(strcmp(tree->nodes[at - 1].name, name) <
				     0);
			NEED(bfs_nametree_find(tree, i, name, strlen(name),
					       &found) && found == at);
			seen++;
		}
	}
	NEED(seen == tree->n);
}

static struct bfs_nametree *build(const struct bfs_path *paths, size_t n)
{
	struct bfs_nametree *tree = NULL;

	assert_int_equal(bfs_nametree_build(paths, n, &tree, NULL), BFS_OK);
	check_tree(tree);
	return tree;
}

static struct bfs_nametree *build_texts(const char *const *texts, size_t n)
{
	struct bfs_path *paths = calloc(n + 1, sizeof(*paths));
	struct bfs_nametree *tree;

	assert_non_null(paths);
	for (size_t i = 0; i < n; i++)
		paths[i] = (struct bfs_path){ texts[i], strlen(texts[i]),
					      (uint32_t)i };
	tree = build(paths, n);
	free(paths);
	return tree;
}

#define BUILD(texts) build_texts(texts, sizeof(texts) / sizeof(*(texts)))

static void paths_become_directories_and_members(void **state)
{
	static const char *const texts[] = { "b", "a/x", "a/y/z", "a/w",
					     "empty/" };
	struct bfs_nametree *tree = BUILD(texts);

	(void)state;
	assert_int_equal(find(tree, "b"), 0);
	assert_int_equal(find(tree, "a/x"), 1);
	assert_int_equal(find(tree, "a/y/z"), 2);
	assert_int_equal(find(tree, "a/w"), 3);
	assert_int_equal(find(tree, "a"), -1);
	assert_int_equal(find(tree, "empty"), -1);
	assert_int_equal(find(tree, "a/y"), -1);
	assert_int_equal(find(tree, "c"), -2);
	assert_int_equal(find(tree, "a/"), -1);
	assert_int_equal(find(tree, "a/xx"), -2);
	assert_int_equal(tree->nodes[0].n_children, 3);
	bfs_nametree_free(tree);
}

static void tree_of_nothing_is_its_root(void **state)
{
	struct bfs_nametree *tree = build(NULL, 0);
	uint32_t node;

	(void)state;
	assert_int_equal(tree->n, 1);
	assert_false(bfs_nametree_find(tree, 0, "a", 1, &node));
	bfs_nametree_free(tree);
}

static void names_that_would_leave_the_directory_are_spelt_out(void **state)
{
	static const char *const texts[] = { "../x", "./y", "..", ".", "/abs",
					     "a//b", "...", ".hidden" };
	struct bfs_nametree *tree = BUILD(texts);

	(void)state;
	assert_int_equal(find(tree, "%2E%2E/x"), 0);
	assert_int_equal(find(tree, "%2E/y"), 1);
	assert_int_equal(find(tree, "%2E%2E%~2"), 2);
	assert_int_equal(find(tree, "%2E%~2"), 3);
	assert_int_equal(find(tree, "%/abs"), 4);
	assert_int_equal(find(tree, "a/%/b"), 5);
	assert_int_equal(find(tree, "..."), 6);
	assert_int_equal(find(tree, ".hidden"), 7);
	bfs_nametree_free(tree);
}

static void odd_bytes_of_names_are_escaped(void **state)
{
	static const struct bfs_path paths[] = {
		{ "a\0b", 3, 0 }, { "50%", 3, 1 }, { "new\nline", 8, 2 },
		{ "\x7f", 1, 3 }, { "back\\slash", 10, 4 },
		{ "\xff\xfe", 2, 5 }, { "\xc3\xa9", 2, 6 },
	};
	struct bfs_nametree *tree = build(paths, 7);

	(void)state;
	assert_int_equal(find(tree, "a%00b"), 0);
	assert_int_equal(find(tree, "50%25"), 1);
	assert_int_equal(find(tree, "new%0Aline"), 2);
	assert_int_equal(find(tree, "%7F"), 3);
	assert_int_equal(find(tree, "back\\slash"), 4);
	assert_int_equal(find(tree, "\xff\xfe"), 5);
	assert_int_equal(find(tree, "\xc3\xa9"), 6);
	bfs_nametree_free(tree);
}

static void equal_names_are_numbered(void **state)
{
	static const char *const texts[] = { "a", "a", "d/a", "a", "d/a",
					     "a%~2", "A" };
	struct bfs_nametree *tree = BUILD(texts);

	(void)state;
	assert_int_equal(find(tree, "a"), 0);
	assert_int_equal(find(tree, "a%~2"), 1);
	assert_int_equal(find(tree, "a%~3"), 3);
	assert_int_equal(find(tree, "d/a"), 2);
	assert_int_equal(find(tree, "d/a%~2"), 4);
	assert_int_equal(find(tree, "a%25~2"), 5);
	assert_int_equal(find(tree, "A"), 6);
	bfs_nametree_free(tree);
}

static void name_that_is_both_file_and_directory_is_two(void **state)
{
	static const char *const file_first[] = { "a", "a/b", "a/c" };
	static const char *const dir_first[] = { "a/b", "a", "a/c" };
	struct bfs_nametree *tree = BUILD(file_first);

	(void)state;
	assert_int_equal(find(tree, "a"), 0);
	assert_int_equal(find(tree, "a%~2"), -1);
	assert_int_equal(find(tree, "a%~2/b"), 1);
	assert_int_equal(find(tree, "a%~2/c"), 2);
	bfs_nametree_free(tree);
	tree = BUILD(dir_first);
	assert_int_equal(find(tree, "a"), -1);
	assert_int_equal(find(tree, "a/b"), 0);
	assert_int_equal(find(tree, "a/c"), 2);
	assert_int_equal(find(tree, "a%~2"), 1);
	bfs_nametree_free(tree);
}

static void names_longer_than_a_directory_holds_are_cut_apart(void **state)
{
	char text[3][70000];
	struct bfs_path paths[6];
	struct bfs_nametree *tree;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		memset(text[i], i == 2 ? '\n' : 'n', sizeof(text[i]));
		text[i][60000] = (char)('0' + i);
		paths[i] = (struct bfs_path){ text[i], sizeof(text[i]), i };
		paths[3 + i] = (struct bfs_path){ text[0], 255 + i, 3 + i };
	}
	tree = build(paths, 6);
	assert_int_equal(tree->nodes[0].n_children, 6);
	/* What fits is not cut. */
	text[0][255] = 0;
	assert_int_equal(find(tree, text[0]), 3);
	bfs_nametree_free(tree);
}

static void cut_names_are_the_same_in_every_run(void **state)
{
	char text[300];
	struct bfs_path path = { text, sizeof(text), 0 };
	struct bfs_nametree *one, *two;

	(void)state;
	memset(text, 'x', sizeof(text));
	one = build(&path, 1);
	two = build(&path, 1);
	assert_string_equal(one->nodes[1].name, two->nodes[1].name);
	bfs_nametree_free(one);
	bfs_nametree_free(two);
}

static void expect_limit(const struct bfs_path *paths, size_t n)
{
	struct bfs_nametree *tree = NULL;
	struct bfs_diag diag = { 0 };

	assert_int_equal(bfs_nametree_build(paths, n, &tree, &diag),
			 BFS_ERR_LIMIT);
	assert_non_null(strstr(diag.text, "too"));
	assert_null(tree);
}

static void paths_too_deep_are_over_a_limit(void **state)
{
	char text[2 * BFS_NAMETREE_DEPTH + 2];
	struct bfs_path path = { text, 0, 0 };
	struct bfs_nametree *tree;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '/' : 'd';
	path.len = 2 * BFS_NAMETREE_DEPTH - 1;
	tree = build(&path, 1);
	assert_int_equal(tree->n, BFS_NAMETREE_DEPTH + 1);
	bfs_nametree_free(tree);
	path.len += 2;
	expect_limit(&path, 1);
}

static void paths_too_many_are_over_a_limit(void **state)
{
	size_t n = BFS_NAMETREE_MAX + 1;
	struct bfs_path *paths = calloc(n, sizeof(*paths));
	char *text = malloc(n * 8);

	(void)state;
	assert_non_null(paths);
	assert_non_null(text);
	for (size_t i = 0; i < n; i++) {
		snprintf(text + 8 * i, 8, "%07zx", i);
		paths[i] = (struct bfs_path){ text + 8 * i, 7, (uint32_t)i };
	}
	expect_limit(paths, n);
	free(paths);
	free(text);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Seconds at most, where each name asked all before it: hours. */
static void many_equal_names_take_no_longer_than_others(void **state)
{
	size_t n = 200000;
	struct bfs_path *paths = calloc(n, sizeof(*paths));
	struct bfs_nametree *tree;
	double start = now();

	(void)state;
	assert_non_null(paths);
	for (size_t i = 0; i < n; i++)
		paths[i] = (struct bfs_path){ i % 2 ? "x" : "d/y",
					      i % 2 ? 1 : 3, (uint32_t)i };
	tree = build(paths, n);
	assert_int_equal(tree->n, n + 2);
	assert_int_equal(find(tree, "x"), 1);
	assert_int_equal(find(tree, "x%~100000"), n - 1);
	assert_int_equal(find(tree, "d/y%~100000"), n - 2);
	assert_true(now() - start < 60);
	bfs_nametree_free(tree);
	free(paths);
}

/* Two texts of four bytes that lead the hash of cut names, h * 33 ^ c, from h
 * to one value. Returns that. */
static uint32_t find_twins(uint32_t h, char twins[2][4])
{
	uint32_t cap = 1 << 20, *seen = calloc(cap, sizeof(*seen));
	uint32_t i, k, to = h;

	assert_non_null(seen);
	for (i = 1; i < UINT32_C(1) << 24; i++) {
		char *text = twins[1];

		to = h;
		for (k = 0; k < 4; k++) {
			text[k] = (char)('0' + (i >> 6 * k & 63));
			to = to * 33 ^ (uint8_t)text[k];
		}
		for (k = to % cap; seen[k]; k = (k + 1) % cap) {
			uint32_t other = h;

			for (unsigned j = 0; j < 4; j++) {
				twins[0][j] = (char)('0' + (seen[k] >> 6 * j &
							    63));
				other = other * 33 ^ (uint8_t)twins[0][j];
			}
			if (other == to) {
				free(seen);
				return to;
			}
		}
		seen[k] = i;
	}
	free(seen);
	fail();
	return 0;
}

#define LONG_PREFIX 231
#define LONG_STEPS 14

static void long_names_made_to_look_alike_take_no_longer(void **state)
{
	size_t n = 1 << LONG_STEPS, len = LONG_PREFIX + 4 * LONG_STEPS;
	struct bfs_path *paths = calloc(n, sizeof(*paths));
	char *text = malloc(n * len), twins[LONG_STEPS][2][4];
	struct bfs_nametree *tree;
	double start = now();
	uint32_t h = 5381;

	(void)state;
	assert_non_null(paths);
	assert_non_null(text);
	for (unsigned k = 0; k < LONG_PREFIX; k++)
		h = h * 33 ^ 'n';
	for (unsigned k = 0; k < LONG_STEPS; k++)
		h = find_twins(h, twins[k]);
	for (size_t i = 0; i < n; i++) {
		char *p = text + len * i;

		memset(p, 'n', LONG_PREFIX);
		for (unsigned k = 0; k < LONG_STEPS; k++)
			memcpy(p + LONG_PREFIX + 4 * k, twins[k][i >> k & 1],
			       4);
		paths[i] = (struct bfs_path){ p, len, (uint32_t)i };
	}
	tree = build(paths, n);
	assert_int_equal(tree->n, n + 1);
	assert_true(now() - start < 60);
	bfs_nametree_free(tree);
	free(paths);
	free(text);
}

static void no_memory_anywhere_is_said_and_nothing_kept(void **state)
{
	static const char *const texts[] = { "a", "a", "a/b", "c/d/e", "..",
					     "f" };
	struct bfs_path paths[6];
	uint64_t before = bfs_mem_used(), n;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		paths[i] = (struct bfs_path){ texts[i], strlen(texts[i]), i };
	for (n = 1; n < 1000; n++) {
		struct bfs_nametree *tree = NULL;
		enum bfs_err err;

		bfs_mem_fail_at(n);
		err = bfs_nametree_build(paths, 6, &tree, NULL);
		bfs_mem_fail_at(0);
		if (err == BFS_OK) {
			bfs_nametree_free(tree);
			break;
		}
		assert_int_equal(err, BFS_ERR_NOMEM);
		assert_int_equal(bfs_mem_used(), before);
	}
	assert_true(n > 10 && n < 1000);
	assert_int_equal(bfs_mem_used(), before);
}

static void escaped_names_are_numbered_from_two(void **state)
{
	static const struct { const char *in; size_t len, nth;
			      const char *out; } rows[] = {
		{ "a", 1, 1, "a" }, { "a", 1, 2, "a%~2" },
		{ "a", 1, 10, "a%~10" }, { "", 0, 1, "%" },
		{ "", 0, 2, "%%~2" }, { "a/b", 3, 1, "a%2Fb" },
		{ "%~2", 3, 1, "%25~2" }, { "..", 2, 3, "%2E%2E%~3" },
		{ "\0", 1, 1, "%00" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = bfs_name_escape(rows[i].in, rows[i].len,
					     rows[i].nth);

		assert_non_null(text);
		assert_string_equal(text, rows[i].out);
		bfs_free(text);
	}
}

static void a_part_of_a_tree_is_a_tree(void **state)
{
	static const char *const names[] = { "a/b/x", "z", "a/b/c/y", "a/q",
					     "a/b/c/d/e", "b/x" };
	struct bfs_path paths[6];
	struct bfs_nametree *tree, *cut;
	uint32_t node = 0;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		paths[i] = (struct bfs_path){ names[i], strlen(names[i]), i };
	assert_int_equal(bfs_nametree_build(paths, 6, &tree, NULL), BFS_OK);
	NEED(bfs_nametree_find(tree, node, "a", 1, &node));
	NEED(bfs_nametree_find(tree, node, "b", 1, &node));
	assert_int_equal(bfs_nametree_cut(tree, node, &cut, NULL), BFS_OK);
	bfs_nametree_free(tree);
	check_tree(cut);
	assert_int_equal(cut->n, 6);
	assert_int_equal(find(cut, "x"), 0);
	assert_int_equal(find(cut, "c"), -1);
	assert_int_equal(find(cut, "c/y"), 2);
	assert_int_equal(find(cut, "c/d/e"), 4);
	assert_int_equal(find(cut, "q"), -2);
	bfs_nametree_free(cut);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(paths_become_directories_and_members),
		T(tree_of_nothing_is_its_root),
		T(names_that_would_leave_the_directory_are_spelt_out),
		T(odd_bytes_of_names_are_escaped),
		T(equal_names_are_numbered),
		T(name_that_is_both_file_and_directory_is_two),
		T(names_longer_than_a_directory_holds_are_cut_apart),
		T(cut_names_are_the_same_in_every_run),
		T(paths_too_deep_are_over_a_limit),
		T(paths_too_many_are_over_a_limit),
		T(many_equal_names_take_no_longer_than_others),
		T(long_names_made_to_look_alike_take_no_longer),
		T(no_memory_anywhere_is_said_and_nothing_kept),
		T(escaped_names_are_numbered_from_two),
		T(a_part_of_a_tree_is_a_tree),
	};

	return cmocka_run_group_tests_name("nametree", tests, NULL, NULL);
}
