/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_nesting.c - containers inside others: how many stay open, and the
 * numbers of places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "hostile_store.h"

#define NAME "x.b2z"

static void add_text(struct zip *z, const char *name, const char *text)
{
	struct build b = make_member(text);
	struct zip_member m = { .name = name, .p = b.p, .len = b.len };

	zip_add(z, &m);
	free(b.p);
}

static struct build make_zip(void)
{
	static const char *const names[] = { "one.b2f", "dir/two.b2f",
					     "three.b2f" };
	struct zip z = { 0 };

	for (int i = 0; i < 3; i++)
		add_text(&z, names[i], names[i]);
	zip_finish(&z, false);
	return z.out;
}

static void more_members_than_are_kept_open_are_served(void **state)
{
	enum { MOST = BFS_NESTING_OPEN, N = 3 * MOST };
	uint64_t start, some = 0, all;
	struct zip z = { 0 };
	struct store s;
	char name[32];

	(void)state;
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		add_text(&z, name, name);
	}
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	start = bfs_mem_used();
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "m%d", i);
			expect_text(&s, name, name);
			if (round == 0 && i == MOST - 1)
				some = bfs_mem_used() - start;
		}
	/* Those that nobody reads were closed for others. */
	all = bfs_mem_used() - start;
	if (all > 2 * some)
		fail_msg("%d members take %llu bytes, all %llu", MOST,
			 (unsigned long long)some, (unsigned long long)all);
	close_store(&s);
	free(z.out.p);
}

/* A place has one number, however it was come to, and no other has it. */
static void places_have_numbers_of_their_own(void **state)
{
	struct bfs_place root = { 0, { .view = BFS_VIEW_ROOT } }, again;
	struct build b = make_zip();
	struct store s = open_store(&b, NAME);
	static const char *const paths[] = {
		"one.b2f", "one.b2f/data.bin", "one.b2f/info.json", "dir",
		"dir/two.b2f", "dir/two.b2f/data.bin", "three.b2f",
		"three.b2f/data.bin", "info.json",
	};
	uint64_t ids[9];

	(void)state;
	assert_false(bfs_nesting_has_children(s.tree));
	for (size_t i = 0; i < 9; i++) {
		struct bfs_place place;

		assert_true(find_place(&s, paths[i], &place));
		ids[i] = bfs_nesting_id(s.tree, &place);
		assert_int_not_equal(ids[i], bfs_nesting_id(s.tree, &root));
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(ids[i], ids[k]);
	}
	assert_true(bfs_nesting_has_children(s.tree));
	close_store(&s);
	/* In the other order, by another one. */
	s = open_store(&b, NAME);
	for (size_t i = 9; i-- > 0;) {
		assert_true(find_place(&s, paths[i], &again));
		assert_true(bfs_nesting_id(s.tree, &again) == ids[i]);
	}
	close_store(&s);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(more_members_than_are_kept_open_are_served),
		T(places_have_numbers_of_their_own),
	};

	return cmocka_run_group_tests_name("nesting", tests, hostile_setup,
					   hostile_teardown);
}
