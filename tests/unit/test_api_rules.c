/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_api_rules.c - the rules at the top of bloscfs.h, which hold for all of
 * its calls: versions, what may be NULL, room to grow, call contexts.
 */
#include "bloscfs.h"
#include "far_source.h"
#include "support/frames.h"
#include "support/sample_place.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_frame.h"

static struct bloscfs_file *open_frame(void)
{
	struct bloscfs_file *file;

	assert_int_equal(bloscfs_open_memory(fs, frame.p, frame.len, NULL,
					     &file, NULL), BLOSCFS_OK);
	return file;
}

/* ---- versions -------------------------------------------------------- */

static void versions_are_the_projects(void **state)
{
	const char *project = getenv("BLOSCFS_PROJECT_VERSION");
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", BLOSCFS_VERSION_MAJOR,
		 BLOSCFS_VERSION_MINOR, BLOSCFS_VERSION_PATCH);
	assert_string_equal(bloscfs_version(), text);
	assert_int_equal(bloscfs_version_number(), BLOSCFS_VERSION_NUMBER);
	if (project)	/* as meson runs it */
		assert_string_equal(project, text);
}

/* ---- NULL ------------------------------------------------------------ */

static void a_node_that_is_null_is_the_root(void **state)
{
	struct bloscfs_file *file = open_frame();
	struct bloscfs_node root = bloscfs_root(), a, b;
	char name[BLOSCFS_NAME_MAX + 1], other[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_attr attr = { .reserved = { 1, 2, 3, 4 } };
	char value[BLOSCFS_XATTR_MAX];
	uint64_t off;
	size_t len;

	(void)state;
	assert_true(bloscfs_lookup(file, NULL, "data.bin", &a));
	assert_true(bloscfs_lookup(file, &root, "data.bin", &b));
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(bloscfs_list(file, NULL, 1, name, &a));
	assert_true(bloscfs_list(file, &root, 1, other, &b));
	assert_string_equal(name, other);
	bloscfs_stat(file, NULL, &attr);
	assert_true(attr.is_dir);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(attr.reserved[i], 0);
	assert_true(bloscfs_is_dir(file, NULL));
	assert_int_equal(bloscfs_node_id(file, NULL),
			 bloscfs_node_id(file, &root));
	assert_int_equal(bloscfs_access(file, NULL, NULL),
			 bloscfs_access(file, &root, NULL));
	assert_int_equal(bloscfs_read(file, NULL, 0, value, 1, &len, NULL),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_seek(file, NULL, 0, true, &off, NULL),
			 bloscfs_seek(file, &root, 0, true, &off, NULL));
	{
		const char *attr_name = NULL;

		assert_true(bloscfs_xattr(file, NULL, 0, &attr_name, value,
					  &len));
		assert_string_equal(attr_name, "user.bloscfs.format");
		assert_true(bloscfs_xattr(file, NULL, 0, &attr_name, NULL,
					  NULL));
	}
	bloscfs_close(file);
}

/* Each fails as a call for nothing, with a diagnosis and without. */
#define REFUSED(call) assert_int_equal(call, BLOSCFS_ERR_INVALID)

static void opening_refuses_what_is_null(void **state)
{
	struct bloscfs_guard guard = { .may = NULL };
	struct bloscfs_source source = { .size = sizeof(source) };
	struct bloscfs_diag diag = { .chunk = 7 };
	struct bloscfs_file *file = NULL;

	(void)state;
	REFUSED(bloscfs_new(NULL, NULL, &diag));
	assert_int_equal(diag.err, BLOSCFS_ERR_INVALID);
	assert_true(diag.text[0] != 0);
	REFUSED(bloscfs_open(NULL, 0, NULL, 0, 0, &file, NULL));
	REFUSED(bloscfs_open(fs, 0, NULL, 0, 0, NULL, NULL));
	REFUSED(bloscfs_open_dir(NULL, AT_FDCWD, &file, NULL));
	REFUSED(bloscfs_open_dir(fs, AT_FDCWD, NULL, NULL));
	REFUSED(bloscfs_open_guarded(NULL, AT_FDCWD, &guard, &file, NULL));
	REFUSED(bloscfs_open_guarded(fs, AT_FDCWD, NULL, &file, NULL));
	REFUSED(bloscfs_open_guarded(fs, AT_FDCWD, &guard, NULL, NULL));
	REFUSED(bloscfs_open_memory(NULL, frame.p, frame.len, NULL, &file,
				    NULL));
	REFUSED(bloscfs_open_memory(fs, NULL, 1, NULL, &file, NULL));
	REFUSED(bloscfs_open_memory(fs, frame.p, frame.len, NULL, NULL,
				    NULL));
	REFUSED(bloscfs_open_source(fs, NULL, NULL, &file, NULL));
	REFUSED(bloscfs_open_source(fs, &source, NULL, &file, NULL));
	REFUSED(bloscfs_probe(0, NULL, NULL));
	REFUSED(bloscfs_probe_dir(AT_FDCWD, NULL));
	REFUSED(bloscfs_probe_source(NULL, NULL, NULL, NULL));
	REFUSED(bloscfs_is_foreign(AT_FDCWD, NULL));
	assert_null(file);
}

static void reading_refuses_what_is_null(void **state)
{
	struct bloscfs_pieces *pieces = bloscfs_pieces_new();
	struct bloscfs_file *file = open_frame();
	struct bloscfs_node node;
	const struct iovec *iov;
	char buf[16];
	uint64_t off;
	size_t n = 77;

	(void)state;
	assert_true(bloscfs_lookup(file, NULL, "data.bin", &node));
	REFUSED(bloscfs_read(NULL, &node, 0, buf, 16, &n, NULL));
	REFUSED(bloscfs_read(file, &node, 0, NULL, 16, &n, NULL));
	REFUSED(bloscfs_read(file, &node, 0, buf, 16, NULL, NULL));
	assert_int_equal(bloscfs_read(file, &node, 0, NULL, 0, &n, NULL),
			 BLOSCFS_OK);
	assert_int_equal(n, 0);
	REFUSED(bloscfs_pin(NULL, &node, 0, buf, 16, pieces, &iov, &n, NULL));
	REFUSED(bloscfs_pin(file, &node, 0, NULL, 16, pieces, &iov, &n, NULL));
	REFUSED(bloscfs_pin(file, &node, 0, buf, 16, NULL, &iov, &n, NULL));
	REFUSED(bloscfs_pin(file, &node, 0, buf, 16, pieces, NULL, &n, NULL));
	REFUSED(bloscfs_pin(file, &node, 0, buf, 16, pieces, &iov, NULL,
			    NULL));
	REFUSED(bloscfs_access(NULL, &node, NULL));
	REFUSED(bloscfs_seek(NULL, &node, 0, true, &off, NULL));
	REFUSED(bloscfs_seek(file, &node, 0, true, NULL, NULL));
	REFUSED(bloscfs_file_check(NULL, NULL));
	bloscfs_unpin(NULL, pieces);
	bloscfs_unpin(file, NULL);
	bloscfs_pieces_free(pieces);
	bloscfs_close(file);
}

static void other_calls_do_nothing_with_null(void **state)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };
	struct bloscfs_attr attr = { .size = 5 };
	struct bloscfs_file *file = open_frame();
	struct bloscfs_node node;
	char name[BLOSCFS_NAME_MAX + 1];
	const char *text;
	bool built;

	(void)state;
	bloscfs_free(NULL);
	bloscfs_close(NULL);
	bloscfs_pieces_free(NULL);
	bloscfs_call_free(NULL);
	bloscfs_fd_free(NULL);
	bloscfs_fd_give(NULL);
	bloscfs_trim(NULL);
	bloscfs_settle(NULL);
	bloscfs_cancel_all(NULL);
	bloscfs_remember(NULL);
	bloscfs_rest(NULL);
	bloscfs_stats_get(NULL, &stats);
	bloscfs_stats_get(fs, NULL);
	bloscfs_stat(NULL, &node, &attr);
	bloscfs_stat(file, NULL, NULL);
	assert_int_equal(attr.size, 5);
	bloscfs_call_start(NULL, NULL);
	bloscfs_call_cancel(NULL);
	bloscfs_call_end(NULL);
	assert_int_equal(bloscfs_call_stopped(NULL, NULL), BLOSCFS_OK);
	assert_false(bloscfs_call_would_wait(NULL));
	assert_null(bloscfs_call_new(NULL));
	assert_null(bloscfs_fd_new(0, NULL));
	assert_int_equal(bloscfs_fd_take(NULL), -EINVAL);
	assert_null(bloscfs_claimed(NULL));
	assert_false(bloscfs_lookup(NULL, NULL, "data.bin", &node));
	assert_false(bloscfs_lookup(file, NULL, NULL, &node));
	assert_false(bloscfs_lookup(file, NULL, "data.bin", NULL));
	assert_false(bloscfs_list(NULL, NULL, 0, name, &node));
	assert_false(bloscfs_list(file, NULL, 0, NULL, &node));
	assert_false(bloscfs_list(file, NULL, 0, name, NULL));
	assert_false(bloscfs_is_dir(NULL, NULL));
	assert_false(bloscfs_keeps(NULL, NULL));
	assert_false(bloscfs_has_children(NULL));
	assert_int_equal(bloscfs_node_id(NULL, NULL), 0);
	assert_false(bloscfs_xattr(NULL, NULL, 0, &text, NULL, NULL));
	assert_false(bloscfs_xattr(file, NULL, 0, NULL, NULL, NULL));
	assert_false(bloscfs_xattr(file, NULL, 0, &text, name, NULL));
	assert_false(bloscfs_table(NULL, 0, &text, &text, &built));
	assert_false(bloscfs_table("codec", 0, NULL, &text, &built));
	assert_false(bloscfs_dir_part(0, 0, NULL, &text));
	assert_false(bloscfs_continues(NULL, file, false));
	assert_false(bloscfs_continues(file, NULL, false));
	assert_false(bloscfs_let_go(NULL, NULL));
	assert_false(bloscfs_let_go(file, NULL));
	assert_false(bloscfs_is_removed(NULL));
	assert_int_equal(bloscfs_file_status(NULL, NULL), BLOSCFS_DAMAGED);
	assert_int_equal(bloscfs_file_status(file, NULL), BLOSCFS_GOOD);
	assert_int_equal(bloscfs_met(bloscfs_mark(), NULL), BLOSCFS_OK);
	bloscfs_close(file);
}

/* ---- room to grow ---------------------------------------------------- */

static void what_is_reserved_is_zero(void **state)
{
	struct bloscfs_diag diag;
	struct bloscfs_file *file = open_frame();
	struct bloscfs_node node;

	(void)state;
	memset(&diag, 0x77, sizeof(diag));
	memset(&node, 0x77, sizeof(node));
	assert_int_equal(bloscfs_access(NULL, NULL, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(diag.reserved[0], 0);
	assert_int_equal(diag.reserved[1], 0);
	assert_true(bloscfs_lookup(file, NULL, "data.bin", &node));
	assert_int_equal(node.reserved, 0);
	assert_int_equal(bloscfs_root().reserved, 0);
	bloscfs_close(file);
}

/* ---- call contexts --------------------------------------------------- */

/* Opens in one way; fd is of a frame's file. */
static enum bloscfs_err open_in(unsigned way, const char *dir,
				struct far *far, struct bloscfs_file **ret)
{
	struct bloscfs_source source = far_source(far);
	char path[4096];
	enum bloscfs_err err;
	int fd;

	switch (way) {
	case 0:
		return bloscfs_open_source(fs, &source, NULL, ret, NULL);
	case 1:
		snprintf(path, sizeof(path), "%s/good-nd-structured.b2nd",
			 TEST_DATA_DIR);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		err = bloscfs_open(fs, fd, NULL, 0, 0, ret, NULL);
		if (err != BLOSCFS_OK)
			close(fd);
		return err;
	default:
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = bloscfs_open_dir(fs, fd, ret, NULL);
		close(fd);
		return err;
	}
}

/* Every call that may read or decode, in a context that is cancelled: by its
 * own result or by the context's it is known to be void, or it is right. */
static void use_cancelled(struct bloscfs_file *file, struct bloscfs_call *call,
			  const struct bloscfs_node *data)
{
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_pieces *pieces = bloscfs_pieces_new();
	const struct iovec *iov;
	enum bloscfs_err err;
	char buf[64];
	size_t n;

	bloscfs_call_start(call, NULL);
	bloscfs_call_cancel(call);
	assert_int_equal(bloscfs_facts(file, NULL, &facts, NULL),
			 BLOSCFS_ERR_CANCELLED);
	(void)bloscfs_file_status(file, NULL);
	assert_int_equal(bloscfs_call_stopped(call, NULL),
			 BLOSCFS_ERR_CANCELLED);
	bloscfs_call_start(call, NULL);
	bloscfs_call_cancel(call);
	assert_int_equal(bloscfs_read(file, data, 0, buf, sizeof(buf), &n,
				      NULL), BLOSCFS_ERR_CANCELLED);
	bloscfs_call_start(call, NULL);
	bloscfs_call_cancel(call);
	assert_int_equal(bloscfs_pin(file, data, 0, buf, sizeof(buf), pieces,
				     &iov, &n, NULL), BLOSCFS_ERR_CANCELLED);
	err = bloscfs_access(file, data, NULL);
	assert_true(err == BLOSCFS_OK || err == BLOSCFS_ERR_CANCELLED);
	bloscfs_call_end(call);
	bloscfs_pieces_free(pieces);
}

static void a_cancelled_context_holds_for_every_call(void **state)
{
	struct bloscfs_call *call = bloscfs_call_new(fs);
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct far far = { .p = frame.p, .len = frame.len };
	struct bloscfs_file *file = NULL;
	struct bloscfs_node data;
	char dir[4096], buf[64];
	size_t n;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/good-sparse-array.b2nd", TEST_DATA_DIR);
	for (unsigned way = 0; way < 3; way++) {
		bloscfs_call_start(call, NULL);
		bloscfs_call_cancel(call);
		assert_int_equal(open_in(way, dir, &far, &file),
				 BLOSCFS_ERR_CANCELLED);
		assert_null(file);
		bloscfs_call_end(call);
		assert_int_equal(open_in(way, dir, &far, &file), BLOSCFS_OK);
		assert_true(bloscfs_lookup(file, NULL, "data.bin", &data));
		use_cancelled(file, call, &data);
		/* Nothing of it was kept. */
		assert_int_equal(bloscfs_facts(file, NULL, &facts, NULL),
				 BLOSCFS_OK);
		assert_int_equal(facts.status, BLOSCFS_GOOD);
		assert_int_equal(bloscfs_read(file, &data, 0, buf,
					      sizeof(buf), &n, NULL),
				 BLOSCFS_OK);
		bloscfs_close(file);
		file = NULL;
	}
	bloscfs_call_free(call);
}

/* ---- descriptors ----------------------------------------------------- */

struct reopened {
	const char *path;
	unsigned n_opened, n_released;
};

static int open_again(void *arg)
{
	struct reopened *r = arg;
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);

	r->n_opened++;
	return fd < 0 ? -errno : fd;
}

static void release_path(void *arg)
{
	((struct reopened *)arg)->n_released++;
}

/* What was let go leads to the same file when it is taken again. */
static void descriptors_are_let_go_for_others_and_come_back(void **state)
{
	struct reopened both[] = { { "/dev/null", 0, 0 },
				   { "/dev/zero", 0, 0 } };
	struct bloscfs_fd *held[2];
	char byte = 1;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct bloscfs_reopen how = { open_again, release_path,
						    &both[i] };

		held[i] = bloscfs_fd_new(open(both[i].path,
					      O_RDONLY | O_CLOEXEC), &how);
		assert_non_null(held[i]);
	}
	assert_false(bloscfs_fd_may_retry(EACCES));
	assert_true(bloscfs_fd_may_retry(EMFILE));
	assert_true(bloscfs_fd_may_retry(ENFILE));
	assert_false(bloscfs_fd_may_retry(EMFILE));
	bloscfs_fd_set_limit(1);
	for (int i = 0; i < 6; i++) {
		int fd = bloscfs_fd_take(held[i % 2]);

		assert_true(fd >= 0);
		assert_int_equal(read(fd, &byte, 1), i % 2);
		bloscfs_fd_give(held[i % 2]);
		assert_int_equal(both[i % 2].n_opened, i / 2 + 1);
	}
	assert_int_equal(byte, 0);
	bloscfs_fd_set_limit(SIZE_MAX);
	for (int i = 0; i < 2; i++) {
		bloscfs_fd_free(held[i]);
		assert_int_equal(both[i].n_released, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_the_projects),
		cmocka_unit_test(a_node_that_is_null_is_the_root),
		cmocka_unit_test(opening_refuses_what_is_null),
		cmocka_unit_test(reading_refuses_what_is_null),
		cmocka_unit_test(other_calls_do_nothing_with_null),
		cmocka_unit_test(what_is_reserved_is_zero),
		cmocka_unit_test(a_cancelled_context_holds_for_every_call),
		cmocka_unit_test(
			descriptors_are_let_go_for_others_and_come_back),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
