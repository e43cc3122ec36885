/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_raw.c - the container's own bytes under its own name.
 */
#include "source/source.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The rich frame as a container of this name. */
static struct bfs_file *open_as(const struct frame_bytes *bytes,
				const char *name)
{
	struct bfs_source *source;
	struct bfs_file *file = NULL;
	struct bfs_diag diag = { 0 };

	assert_int_equal(bfs_source_memory(bytes->p, bytes->len, false,
					   &source, NULL), BFS_OK);
	assert_int_equal(frames_open_source(source, "raw", name, &file, &diag),
			 BFS_OK);
	bfs_source_unref(source);
	return file;
}

/* Its name below raw/, "" where there is none. */
static void find_name(const char *opened_by, char name[BFS_NAME_MAX + 1])
{
	struct frame_input in = frames_rich_input();
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = open_as(&bytes, opened_by);
	struct bfs_node dir, node, found;

	assert_true(frames_find(file, "raw", &dir));
	assert_true(bfs_file_list(file, &dir, 0, name, &node));
	assert_string_equal(name, "frame");
	assert_true(bfs_file_list(file, &dir, 1, name, &node));
	assert_string_equal(name, "chunks");
	name[0] = '\0';
	if (bfs_file_list(file, &dir, 2, name, &node)) {
		assert_true(bfs_file_lookup(file, &dir, name, strlen(name),
					    &found));
		assert_int_equal(found.kind, node.kind);
		assert_false(bfs_file_keeps(file, &node));
	}
	frames_close(file, &bytes);
}

static void the_file_is_there_under_its_own_name(void **state)
{
	struct frame_input in = frames_rich_input();
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = open_as(&bytes, "x.b2nd");

	(void)state;
	frames_expect(file, "raw/x.b2nd", bytes.p, bytes.len);
	frames_expect(file, "raw/frame", bytes.p, bytes.len);
	frames_close(file, &bytes);
}

static void a_name_that_is_taken_is_the_second_of_it(void **state)
{
	char name[BFS_NAME_MAX + 1];

	(void)state;
	find_name("frame", name);
	assert_string_equal(name, "frame%~2");
	find_name("chunks", name);
	assert_string_equal(name, "chunks%~2");
	find_name("frame%~2", name);
	assert_string_equal(name, "frame%~2");
}

static void a_name_that_no_file_can_have_is_escaped(void **state)
{
	static const char *const names[][2] = {
		{ "a/b.b2nd", "a%2Fb.b2nd" }, { "..", "%2E%2E" },
		{ ".", "%2E" }, { "", "%" }, { "50%.b2nd", "50%.b2nd" },
		{ "\x1b[1m\n.b2nd", "\x1b[1m\n.b2nd" },
		{ "\xff.b2nd", "\xff.b2nd" },
	};
	char name[BFS_NAME_MAX + 1], longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		find_name(names[i][0], name);
		assert_string_equal(name, names[i][1]);
	}
	memset(longest, 'a', sizeof(longest));
	longest[256] = '\0';
	find_name(longest, name);
	assert_string_equal(name, "");
	longest[255] = '\0';
	find_name(longest, name);
	assert_string_equal(name, longest);
	find_name(NULL, name);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_there_under_its_own_name),
		cmocka_unit_test(a_name_that_is_taken_is_the_second_of_it),
		cmocka_unit_test(a_name_that_no_file_can_have_is_escaped),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
