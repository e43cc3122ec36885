/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_kept.c - what views find out once and keep: texts by their keys,
 * a state of their own, reasons; never what came out beside an error of the
 * moment.
 */
#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "support/frames.h"
#include "view/kept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROW ((enum bfs_row)1)	/* of the two below the one that keeps */

static unsigned n_made, n_released;

static void count_release(void *state)
{
	n_released++;
	bfs_free(state);
}

static const struct bfs_view idle_view = { .name = "idle" };
static const struct bfs_view keeping_view = {
	.name = "keeping",
	.n_texts = 2,
	.release = count_release,
};
static const struct bfs_view *const rows[] = { &idle_view, &keeping_view };

static struct bfs_file *open_rows(struct frame_bytes *ret_bytes)
{
	struct frame_input in = frames_rich_input();
	struct bfs_container *container;
	struct bfs_source *source;
	struct bfs_array *array;
	struct bfs_file *file;

	n_made = n_released = 0;
	*ret_bytes = frames_build(&in);
	assert_int_equal(bfs_source_memory(ret_bytes->p, ret_bytes->len, false,
					   &source, NULL), BFS_OK);
	assert_int_equal(bfs_container_open(source, NULL, NULL,
					    NULL, &container,
					    NULL), BFS_OK);
	bfs_source_unref(source);
	assert_int_equal(bfs_array_open(frames_engine, container, &array,
					NULL), BFS_OK);
	assert_int_equal(bfs_kept_new(array, UINT32_MAX, rows,
				      BFS_ARRAY_LEN(rows), &file, NULL),
			 BFS_OK);
	return file;
}

/* ---- texts ----------------------------------------------------------- */

static enum bfs_err make_digit(struct bfs_file *file, unsigned key,
			       char **ret_text, size_t *ret_len,
			       struct bfs_diag *diag)
{
	char *text = bfs_alloc(2);

	(void)file;
	(void)diag;
	n_made++;
	text[0] = (char)('0' + key);
	text[1] = '\0';
	*ret_text = text;
	*ret_len = 1;
	return BFS_OK;
}

static enum bfs_err make_none(struct bfs_file *file, unsigned key,
			      char **ret_text, size_t *ret_len,
			      struct bfs_diag *diag)
{
	(void)file;
	(void)key;
	(void)ret_text;
	(void)ret_len;
	n_made++;
	return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 7, "no such thing");
}

static enum bfs_err make_without_memory(struct bfs_file *file, unsigned key,
					char **ret_text, size_t *ret_len,
					struct bfs_diag *diag)
{
	(void)file;
	(void)key;
	(void)ret_text;
	(void)ret_len;
	n_made++;
	return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
}

/* A text all the same, though something could not be read. */
static enum bfs_err make_beside_an_error(struct bfs_file *file, unsigned key,
					 char **ret_text, size_t *ret_len,
					 struct bfs_diag *diag)
{
	(void)bfs_fail(NULL, BFS_ERR_IO, 0, "not read");
	return make_digit(file, key, ret_text, ret_len, diag);
}

static void texts_are_made_once_and_kept_by_their_keys(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);
	const char *text, *again;
	size_t len;

	(void)state;
	for (unsigned key = 0; key < 2; key++) {
		assert_int_equal(bfs_kept_text(file, ROW, key, make_digit,
					       &text, &len, NULL), BFS_OK);
		assert_int_equal(len, 1);
		assert_int_equal(text[0], '0' + (int)key);
		assert_int_equal(n_made, key + 1);
		assert_int_equal(bfs_kept_text(file, ROW, key, make_none,
					       &again, &len, NULL), BFS_OK);
		assert_ptr_equal(again, text);
		assert_int_equal(n_made, key + 1);
	}
	frames_close(file, &bytes);
}

static void why_there_is_no_text_is_kept_too(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);
	const char *text = NULL;
	size_t len;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bfs_diag diag = { .chunk = -1 };

		assert_int_equal(bfs_kept_text(file, ROW, 0, make_none, &text,
					       &len, i ? &diag : NULL),
				 BFS_ERR_UNSUPPORTED);
		assert_null(text);
		assert_int_equal(n_made, 1);
		if (i) {
			assert_string_equal(diag.text, "no such thing");
			assert_int_equal(diag.off, 7);
		}
	}
	frames_close(file, &bytes);
}

static void a_text_beside_an_error_of_the_moment_is_not_kept(void **state)
{
	struct bfs_diag diag = { .chunk = -1 };
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);
	const char *text = NULL;
	size_t len;

	(void)state;
	assert_int_equal(bfs_kept_text(file, ROW, 1, make_without_memory,
				       &text, &len, &diag), BFS_ERR_NOMEM);
	assert_string_equal(diag.text, "no memory");
	assert_int_equal(bfs_kept_text(file, ROW, 1, make_beside_an_error,
				       &text, &len, &diag), BFS_ERR_IO);
	assert_null(text);
	assert_int_equal(bfs_kept_text(file, ROW, 1, make_digit, &text, &len,
				       NULL), BFS_OK);
	assert_string_equal(text, "1");
	frames_close(file, &bytes);
}

/* ---- states ---------------------------------------------------------- */

static enum bfs_err find_number(struct bfs_file *file, void **ret_state,
				struct bfs_diag *diag)
{
	unsigned *state = bfs_alloc(sizeof(*state));

	(void)file;
	(void)diag;
	*state = ++n_made;
	*ret_state = state;
	return BFS_OK;
}

static enum bfs_err find_beside_an_error(struct bfs_file *file,
					 void **ret_state,
					 struct bfs_diag *diag)
{
	(void)bfs_fail(NULL, BFS_ERR_IO, 0, "not read");
	return find_number(file, ret_state, diag);
}

static enum bfs_err find_none(struct bfs_file *file, void **ret_state,
			      struct bfs_diag *diag)
{
	(void)file;
	(void)ret_state;
	n_made++;
	return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0, "no such thing");
}

/* Another thread is faster: it finds and keeps while this one looks. */
static enum bfs_err find_late(struct bfs_file *file, void **ret_state,
			      struct bfs_diag *diag)
{
	const void *other;

	BFS_TRY(find_number(file, ret_state, diag));
	return bfs_kept_state(file, ROW, find_number, &other, diag);
}

static unsigned get_state(struct bfs_file *file,
			  enum bfs_err (*find)(struct bfs_file *file,
					       void **ret_state,
					       struct bfs_diag *diag))
{
	const void *found = NULL;

	assert_int_equal(bfs_kept_state(file, ROW, find, &found, NULL),
			 BFS_OK);
	return *(const unsigned *)found;
}

static void a_state_is_found_once_and_released_by_its_row(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);

	(void)state;
	assert_int_equal(get_state(file, find_number), 1);
	assert_int_equal(get_state(file, find_number), 1);
	assert_int_equal(n_made, 1);
	assert_int_equal(n_released, 0);
	frames_close(file, &bytes);
	assert_int_equal(n_released, 1);
}

static void who_finds_a_state_later_gets_the_one_that_is_kept(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);

	(void)state;
	assert_int_equal(get_state(file, find_late), 2);
	assert_int_equal(n_released, 1);
	assert_int_equal(get_state(file, find_number), 2);
	frames_close(file, &bytes);
	assert_int_equal(n_released, 2);
}

static void a_state_beside_an_error_of_the_moment_is_released(void **state)
{
	const void *found = NULL;
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);

	(void)state;
	assert_int_equal(bfs_kept_state(file, ROW, find_beside_an_error,
					&found, NULL), BFS_ERR_IO);
	assert_null(found);
	assert_int_equal(n_released, 1);
	assert_int_equal(get_state(file, find_number), 2);
	frames_close(file, &bytes);
}

static void why_there_is_no_state_is_kept_too(void **state)
{
	struct bfs_diag diag = { .chunk = -1 };
	const void *found = NULL;
	struct frame_bytes bytes;
	struct bfs_file *file = open_rows(&bytes);

	(void)state;
	assert_int_equal(bfs_kept_state(file, ROW, find_none, &found, NULL),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_kept_state(file, ROW, find_number, &found,
					&diag), BFS_ERR_UNSUPPORTED);
	assert_string_equal(diag.text, "no such thing");
	assert_null(found);
	assert_int_equal(n_made, 1);
	frames_close(file, &bytes);
	assert_int_equal(n_released, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_made_once_and_kept_by_their_keys),
		cmocka_unit_test(why_there_is_no_text_is_kept_too),
		cmocka_unit_test(
			a_text_beside_an_error_of_the_moment_is_not_kept),
		cmocka_unit_test(
			a_state_is_found_once_and_released_by_its_row),
		cmocka_unit_test(
			who_finds_a_state_later_gets_the_one_that_is_kept),
		cmocka_unit_test(
			a_state_beside_an_error_of_the_moment_is_released),
		cmocka_unit_test(why_there_is_no_state_is_kept_too),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
