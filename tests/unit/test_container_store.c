/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_store.c - stores that are ZIP files: members read in place,
 * and every trick that a ZIP file can play.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile_store.h"

#define NAME "x.b2z"

static void add(struct zip *z, const char *name, const struct build *b)
{
	struct zip_member m = { .name = name, .p = b->p, .len = b->len };

	zip_add(z, &m);
}

static void add_text(struct zip *z, const char *name, const char *text)
{
	struct build b = make_member(text);

	add(z, name, &b);
	free(b.p);
}

/* Three members; where their local headers lie. */
static struct build make_zip(size_t *ret_local)
{
	static const char *const names[] = { "one.b2f", "dir/two.b2f",
					     "three.b2f" };
	struct zip z = { 0 };

	for (int i = 0; i < 3; i++) {
		if (ret_local)
			ret_local[i] = z.out.len;
		add_text(&z, names[i], names[i]);
	}
	zip_finish(&z, false);
	return z.out;
}

/* Where central entry n begins. */
static size_t central_at(const struct build *b, unsigned n)
{
	size_t at = bfs_le32(b->p + b->len - 6);

	while (n--)
		at += 46 + bfs_le16(b->p + at + 28) +
		      bfs_le16(b->p + at + 30) + bfs_le16(b->p + at + 32);
	return at;
}

/* ---- what is right --------------------------------------------------- */

static void members_are_frames_in_directories(void **state)
{
	struct build b = make_zip(NULL);
	struct store s = open_store(&b, NAME);

	(void)state;
	expect_good(s.root->array);
	expect_text(&s, "one.b2f", "one.b2f");
	expect_text(&s, "dir/two.b2f", "dir/two.b2f");
	expect_text(&s, "three.b2f", "three.b2f");
	expect_no_entry(&s, "two.b2f");
	list_store(&s);
	close_store(&s);
	/* The first member tells what it is, under any name. */
	s = open_store(&b, "x.zip");
	expect_text(&s, "one.b2f", "one.b2f");
	close_store(&s);
	free(b.p);
}

static void forms_of_headers_are_all_understood(void **state)
{
	struct build m = make_member("text");
	struct zip_member forms[] = {
		{ .name = "plain", .extra_len = 0 },
		{ .name = "extra", .extra_len = 28 },
		{ .name = "zip64", .zip64 = true },
		{ .name = "both", .zip64 = true, .extra_len = 9 },
		{ .name = "descriptor", .descriptor = true },
	};

	(void)state;
	for (int zip64 = 0; zip64 < 2; zip64++) {
		struct zip z = { 0 };
		struct store s;

		for (size_t i = 0; i < 5; i++) {
			forms[i].p = m.p;
			forms[i].len = m.len;
			zip_add(&z, &forms[i]);
		}
		zip_finish(&z, zip64);
		s = open_store(&z.out, NAME);
		expect_good(s.root->array);
		for (size_t i = 0; i < 5; i++)
			expect_text(&s, forms[i].name, "text");
		close_store(&s);
		free(z.out.p);
	}
	free(m.p);
}

static void members_that_are_no_frames_are_plain_files(void **state)
{
	struct zip_member m = { .name = "notes.txt", .p = "hello", .len = 5 };
	struct zip z = { 0 };
	struct store s;

	(void)state;
	add_text(&z, "a", "text");
	zip_add(&z, &m);
	m = (struct zip_member){ .name = "empty" };
	zip_add(&z, &m);
	m = (struct zip_member){ .name = "folder/" };
	zip_add(&z, &m);
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_good(s.root->array);
	expect_entry(&s, "notes.txt", "hello", 5);
	expect_entry(&s, "empty", "", 0);
	expect_text(&s, "a", "text");
	close_store(&s);
	free(z.out.p);
}

static void archive_of_nothing_is_a_store_by_its_name_alone(void **state)
{
	struct zip z = { 0 };
	struct store s;
	struct bfs_array *a;

	(void)state;
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_good(s.root->array);
	assert_int_equal(list_store(&s), 1);
	close_store(&s);
	assert_int_equal(hostile_try(z.out.p, z.out.len, "x.zip", &a, NULL),
			 BFS_ERR_NOT_FORMAT);
	free(z.out.p);
}

static void comment_may_hold_another_end_record(void **state)
{
	struct build b = make_zip(NULL);
	struct store s;

	(void)state;
	patch_le(&b, b.len - 2, 30, 2);
	build_bytes(&b, "PK\5\6\0\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0\x8\0", 22);
	build_bytes(&b, "comments", 8);
	s = open_store(&b, NAME);
	expect_good(s.root->array);
	expect_text(&s, "dir/two.b2f", "dir/two.b2f");
	close_store(&s);
	free(b.p);
}

/* ---- names ----------------------------------------------------------- */

static void names_that_are_paths_stay_inside(void **state)
{
	static const char *const names[] = {
		"../../etc/passwd", "/abs", "a/../b", "a//b", "./c", "..",
		"back\\slash", "new\nline", "\xff\xfe",
	};
	struct build m = make_member("text");
	struct zip_member nul = { .name = "n\0ul", .name_len = 4, .p = m.p,
				  .len = m.len };
	struct zip z = { 0 };
	struct store s;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		add(&z, names[i], &m);
	zip_add(&z, &nul);
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_good(s.root->array);
	expect_text(&s, "%2E%2E/%2E%2E/etc/passwd", "text");
	expect_text(&s, "%/abs", "text");
	expect_text(&s, "a/%2E%2E/b", "text");
	expect_text(&s, "a/%/b", "text");
	expect_text(&s, "%2E/c", "text");
	expect_text(&s, "%2E%2E%~2", "text");
	expect_text(&s, "back\\slash", "text");
	expect_text(&s, "new%0Aline", "text");
	expect_text(&s, "\xff\xfe", "text");
	expect_text(&s, "n%00ul", "text");
	list_store(&s);
	close_store(&s);
	free(z.out.p);
	free(m.p);
}

static void names_that_are_equal_or_both_file_and_folder_are_told_apart(
	void **state)
{
	struct zip z = { 0 };
	struct store s;

	(void)state;
	add_text(&z, "a", "first");
	add_text(&z, "a", "second");
	add_text(&z, "a/b", "inside");
	add_text(&z, "A", "other case");
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_text(&s, "a", "first");
	expect_text(&s, "a%~2", "second");
	expect_text(&s, "a%~3/b", "inside");
	expect_text(&s, "A", "other case");
	list_store(&s);
	close_store(&s);
	free(z.out.p);
}

static void name_of_an_entry_of_ours_is_the_second(void **state)
{
	struct build b = make_member("text");
	struct zip z = { 0 };
	struct store s;
	struct bfs_place place;

	(void)state;
	add(&z, "info.json", &b);
	add(&z, "data.bin", &b);
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	assert_true(find_place(&s, "info.json", &place));
	assert_int_equal(place.child, 0);
	expect_text(&s, "info.json%~2", "text");
	expect_text(&s, "data.bin", "text");
	list_store(&s);
	close_store(&s);
	free(z.out.p);
	free(b.p);
}

static void names_longer_than_a_directory_holds_are_cut(void **state)
{
	static char name[40000];
	struct build b = make_member("text");
	struct zip_member m = { .name = name, .p = b.p, .len = b.len };
	struct zip z = { 0 };
	struct store s;

	(void)state;
	memset(name, 'n', sizeof(name));
	for (m.name_len = 255; m.name_len < 40000; m.name_len += 13000)
		zip_add(&z, &m);
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_good(s.root->array);
	assert_true(list_store(&s) > 4);
	close_store(&s);
	free(z.out.p);
	free(b.p);
}

/* ---- headers that disagree ------------------------------------------- */

/* Member 1 is damaged, the others are served. */
static void expect_second_refused(struct build *b, const char *word)
{
	struct store s = open_store(b, NAME);

	expect_blamed(s.root->array, BFS_DAMAGED, word);
	expect_text(&s, "one.b2f", "one.b2f");
	expect_refused(&s, "dir/two.b2f", s.root->array->container->why.err,
		       word);
	expect_text(&s, "three.b2f", "three.b2f");
	list_store(&s);
	close_store(&s);
	free(b->p);
}

static void headers_that_disagree_refuse_their_member(void **state)
{
	static const struct { size_t at; unsigned n; uint64_t v;
			      const char *word; } bad[] = {
		{ 0, 4, 0, "two headers" },
		{ 8, 2, 8, "two headers" },
		{ 26, 2, 10, "two headers" },
		{ 18, 4, 1, "two sizes" },
		{ 22, 4, 1, "two sizes" },
		{ 30, 1, 'D', "two names" },
		{ 28, 2, 0xffff, "ends beyond" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		size_t local[3];
		struct build b = make_zip(local);

		patch_le(&b, local[1] + bad[i].at, bad[i].v, bad[i].n);
		expect_second_refused(&b, bad[i].word);
	}
}

static void member_outside_the_file_is_refused(void **state)
{
	static const struct { size_t at; uint64_t v; const char *word; }
	bad[] = {
		{ 42, UINT32_MAX, "" }, { 42, INT32_MAX, "" },
		{ 42, 1, "two headers" }, { 20, 100000, "two sizes" },
		{ 24, 100000, "two sizes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_zip(NULL);

		patch_le(&b, central_at(&b, 1) + bad[i].at, bad[i].v, 4);
		expect_second_refused(&b, bad[i].word);
	}
	/* Both headers agree on a lie. */
	{
		size_t local[3];
		struct build b = make_zip(local);

		patch_le(&b, central_at(&b, 1) + 20, 100000, 4);
		patch_le(&b, central_at(&b, 1) + 24, 100000, 4);
		patch_le(&b, local[1] + 18, 100000, 4);
		patch_le(&b, local[1] + 22, 100000, 4);
		expect_second_refused(&b, "ends beyond");
	}
}

static void sizes_of_64_bits_outside_the_file_are_refused(void **state)
{
	static const uint64_t sizes[] = { UINT64_MAX, INT64_MAX,
					  UINT64_C(1) << 32, UINT64_MAX - 60 };
	struct build m = make_member("text");

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct zip_member wide = { .name = "wide", .p = m.p,
					   .len = m.len, .zip64 = true };
		struct zip z = { 0 };
		struct store s;
		size_t at;

		add(&z, "a", &m);
		zip_add(&z, &wide);
		zip_finish(&z, false);
		at = central_at(&z.out, 1) + 46 + 4 + 4;
		patch_le(&z.out, at, sizes[i], 8);
		patch_le(&z.out, at + 8, sizes[i], 8);
		s = open_store(&z.out, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "");
		expect_text(&s, "a", "text");
		expect_refused(&s, "wide", BFS_ERR_TRUNCATED, "ends beyond");
		close_store(&s);
		free(z.out.p);
	}
	free(m.p);
}

static void members_that_share_bytes_are_both_refused(void **state)
{
	size_t local[3];
	struct build b = make_zip(local);
	struct store s;
	uint32_t len;

	(void)state;
	/* The first reaches into the second. */
	len = (uint32_t)(local[1] + 60 - (local[0] + 37));
	patch_le(&b, central_at(&b, 0) + 20, len, 4);
	patch_le(&b, central_at(&b, 0) + 24, len, 4);
	patch_le(&b, local[0] + 18, len, 4);
	patch_le(&b, local[0] + 22, len, 4);
	s = open_store(&b, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "share bytes");
	expect_refused(&s, "one.b2f", BFS_ERR_CORRUPT, "share bytes");
	expect_refused(&s, "dir/two.b2f", BFS_ERR_CORRUPT, "share bytes");
	expect_text(&s, "three.b2f", "three.b2f");
	close_store(&s);
	free(b.p);
}

/* The second ends before the third begins; the first covers both. */
static void member_that_covers_several_is_refused_with_all(void **state)
{
	size_t local[3];
	struct build b = make_zip(local);
	struct store s;
	uint32_t len;

	(void)state;
	len = (uint32_t)(local[2] + 60 - (local[0] + 37));
	patch_le(&b, central_at(&b, 0) + 20, len, 4);
	patch_le(&b, central_at(&b, 0) + 24, len, 4);
	patch_le(&b, local[0] + 18, len, 4);
	patch_le(&b, local[0] + 22, len, 4);
	s = open_store(&b, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "share bytes");
	expect_refused(&s, "one.b2f", BFS_ERR_CORRUPT, "share bytes");
	expect_refused(&s, "dir/two.b2f", BFS_ERR_CORRUPT, "share bytes");
	expect_refused(&s, "three.b2f", BFS_ERR_CORRUPT, "share bytes");
	close_store(&s);
	free(b.p);
}

static void directory_that_goes_on_is_damage(void **state)
{
	size_t local[3];
	struct build b = make_zip(local);
	struct store s;

	(void)state;
	/* The number of members, of this disk and of all. */
	patch_le(&b, b.len - 22 + 8, 2, 2);
	patch_le(&b, b.len - 22 + 10, 2, 2);
	s = open_store(&b, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "goes on behind");
	expect_text(&s, "one.b2f", "one.b2f");
	close_store(&s);
	free(b.p);
}

static void one_member_named_a_thousand_times_is_refused(void **state)
{
	struct build m = make_member("text");
	struct zip z = { 0 };
	struct store s;

	(void)state;
	add(&z, "a", &m);
	for (int i = 0; i < 1000; i++) {
		struct build one = { 0 };

		build_bytes(&one, z.central.p, 47);
		build_bytes(&z.central, one.p, one.len);
		free(one.p);
		z.n++;
	}
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "share bytes");
	expect_refused(&s, "a", BFS_ERR_CORRUPT, "share bytes");
	expect_refused(&s, "a%~1001", BFS_ERR_CORRUPT, "share bytes");
	close_store(&s);
	free(z.out.p);
	free(m.p);
}

static void compressed_or_encrypted_members_are_unsupported(void **state)
{
	struct build m = make_member("text");
	struct zip_member odd[] = {
		{ .name = "deflated", .method = 8 },
		{ .name = "zstd", .method = 93 },
		{ .name = "secret", .flags = 1 },
	};
	struct zip z = { 0 };
	struct store s;

	(void)state;
	add(&z, "a", &m);
	for (int i = 0; i < 3; i++) {
		odd[i].p = m.p;
		odd[i].len = m.len;
		zip_add(&z, &odd[i]);
	}
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_text(&s, "a", "text");
	expect_refused(&s, "deflated", BFS_ERR_UNSUPPORTED, "method 8");
	expect_refused(&s, "zstd", BFS_ERR_UNSUPPORTED, "method 93");
	expect_refused(&s, "secret", BFS_ERR_UNSUPPORTED, "encrypted");
	list_store(&s);
	close_store(&s);
	free(z.out.p);
	free(m.p);
}

/* ---- the directory --------------------------------------------------- */

static void archive_cut_anywhere_opens_and_says_so(void **state)
{
	struct build b = make_zip(NULL);

	(void)state;
	for (size_t len = 4; len < b.len; len += len < b.len - 60 ? 7 : 1) {
		struct build cut = { b.p, len, 0 };
		struct store s = open_store(&cut, NAME);

		expect_blamed(s.root->array, BFS_DAMAGED,
			      "no central directory");
		assert_int_equal(list_store(&s), 1);
		close_store(&s);
	}
	free(b.p);
}

static void end_record_that_does_not_fit_is_none(void **state)
{
	static const struct { size_t at; unsigned n; uint64_t v; } bad[] = {
		{ 10, 4, UINT32_MAX }, { 10, 4, 0 }, { 6, 4, UINT32_MAX },
		{ 6, 4, 0 }, { 2, 2, 1 }, { 2, 2, 0xffff },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_zip(NULL);
		struct store s;

		patch_le(&b, b.len - bad[i].at, bad[i].v, bad[i].n);
		s = open_store(&b, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "directory");
		close_store(&s);
		free(b.p);
	}
}

static void wrong_number_of_members_is_bounded_by_their_bytes(void **state)
{
	static const unsigned counts[] = { 4, 5, 1000, 0xffff };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct build b = make_zip(NULL);
		struct store s;

		patch_le(&b, b.len - 12, counts[i], 2);
		s = open_store(&b, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "");
		list_store(&s);
		close_store(&s);
		free(b.p);
	}
	/* Fewer than there are. */
	{
		struct build b = make_zip(NULL);
		struct store s;

		patch_le(&b, b.len - 12, 1, 2);
		s = open_store(&b, NAME);
		expect_text(&s, "one.b2f", "one.b2f");
		expect_no_entry(&s, "three.b2f");
		close_store(&s);
		free(b.p);
	}
}

static void wide_end_record_with_wrong_numbers_is_refused(void **state)
{
	static const struct { size_t at; uint64_t v; } bad[] = {
		{ 32, UINT64_MAX }, { 32, UINT64_C(1) << 58 }, { 32, 1000 },
		{ 40, UINT64_MAX }, { 40, 0 }, { 48, UINT64_MAX }, { 48, 0 },
		{ 0, 0 }, { 56 + 8, UINT64_MAX }, { 56 + 8, 0 },
	};
	struct build m = make_member("text");

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct zip z = { 0 };
		struct store s;
		size_t record;

		add(&z, "a", &m);
		zip_finish(&z, true);
		record = z.out.len - 22 - 20 - 56;
		patch_le(&z.out, record + bad[i].at, bad[i].v, 8);
		s = open_store(&z.out, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "directory");
		list_store(&s);
		close_store(&s);
		free(z.out.p);
	}
	free(m.p);
}

static void entries_that_break_off_leave_those_before(void **state)
{
	static const struct { size_t at; unsigned n; uint64_t v; } bad[] = {
		{ 0, 4, 0 }, { 28, 2, 0xffff }, { 30, 2, 0xffff },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct build b = make_zip(NULL);
		struct store s;

		patch_le(&b, central_at(&b, 2) + bad[i].at, bad[i].v,
			 bad[i].n);
		s = open_store(&b, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "breaks off");
		expect_text(&s, "one.b2f", "one.b2f");
		expect_text(&s, "dir/two.b2f", "dir/two.b2f");
		expect_no_entry(&s, "three.b2f");
		close_store(&s);
		free(b.p);
	}
}

static void path_deeper_than_anybody_makes_is_refused(void **state)
{
	char name[401];
	struct zip z = { 0 };
	struct store s;

	(void)state;
	for (int i = 0; i < 400; i++)
		name[i] = i % 2 ? '/' : 'd';
	name[399] = 0;
	add_text(&z, "a", "text");
	add_text(&z, name, "text");
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "too");
	list_store(&s);
	close_store(&s);
	free(z.out.p);
}

/* ---- frames in members ----------------------------------------------- */

static void frame_shorter_than_its_member_hides_the_rest(void **state)
{
	struct build m = make_member("text");
	struct zip z = { 0 };
	struct store s;

	(void)state;
	build_bytes(&m, "hidden bytes", 12);
	add(&z, "a", &m);
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	expect_text(&s, "a", "text");
	close_store(&s);
	free(z.out.p);
	free(m.p);
}

static void frame_longer_than_its_member_sees_nothing_of_others(void **state)
{
	struct build m = make_member("text"), secret = make_member("secret");
	struct zip_member next = { .name = "b" };
	struct bfs_place place;
	struct zip z = { 0 };
	struct bfs_file *file;
	struct store s;

	(void)state;
	/* Its one chunk claims to reach into the next member. */
	patch_be(&m, 0x10, 10000, 8);
	patch_le(&m, 97 + 4, 300, 4);
	patch_le(&m, 97 + 12, 332, 4);
	patch_be(&m, 0x1e, 300, 8);
	patch_be(&m, 0x3a, 300, 4);
	add(&z, "a", &m);
	next.p = secret.p;
	next.len = secret.len;
	zip_add(&z, &next);
	zip_finish(&z, false);
	s = open_store(&z.out, NAME);
	assert_true(find_place(&s, "a", &place));
	assert_int_equal(bfs_nesting_take(s.tree, place.child, &file, NULL),
			 BFS_OK);
	expect_blamed(file->array, BFS_DAMAGED, "are there");
	expect_failure(file->array, BFS_STREAM_CHUNK, 0, BFS_ERR_TRUNCATED,
		       "cbytes");
	bfs_nesting_give(s.tree, place.child);
	expect_text(&s, "b", "secret");
	close_store(&s);
	free(z.out.p);
	free(m.p);
	free(secret.p);
}

static void stores_in_stores_end_at_a_depth(void **state)
{
	struct build inner = make_member("text");
	struct bfs_place place = { 0, { .view = BFS_VIEW_ROOT } }, next;
	struct store s;
	unsigned depth;

	(void)state;
	for (int i = 0; i < 2 * BFS_NESTING_DEPTH; i++) {
		struct zip z = { 0 };

		add(&z, "in.b2z", &inner);
		zip_finish(&z, false);
		free(inner.p);
		inner = z.out;
	}
	s = open_store(&inner, NAME);
	for (depth = 0; depth < 100; depth++) {
		if (!bfs_nesting_lookup(s.tree, &place, "in.b2z", 6, &next))
			break;
		place = next;
	}
	/* Beyond the bound a store is a file like others. */
	assert_int_equal(depth, BFS_NESTING_DEPTH + 1);
	list_store(&s);
	close_store(&s);
	free(inner.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(members_are_frames_in_directories),
		T(forms_of_headers_are_all_understood),
		T(members_that_are_no_frames_are_plain_files),
		T(archive_of_nothing_is_a_store_by_its_name_alone),
		T(comment_may_hold_another_end_record),
		T(names_that_are_paths_stay_inside),
		T(names_that_are_equal_or_both_file_and_folder_are_told_apart),
		T(name_of_an_entry_of_ours_is_the_second),
		T(names_longer_than_a_directory_holds_are_cut),
		T(headers_that_disagree_refuse_their_member),
		T(member_outside_the_file_is_refused),
		T(sizes_of_64_bits_outside_the_file_are_refused),
		T(members_that_share_bytes_are_both_refused),
		T(member_that_covers_several_is_refused_with_all),
		T(directory_that_goes_on_is_damage),
		T(one_member_named_a_thousand_times_is_refused),
		T(compressed_or_encrypted_members_are_unsupported),
		T(archive_cut_anywhere_opens_and_says_so),
		T(end_record_that_does_not_fit_is_none),
		T(wrong_number_of_members_is_bounded_by_their_bytes),
		T(wide_end_record_with_wrong_numbers_is_refused),
		T(entries_that_break_off_leave_those_before),
		T(path_deeper_than_anybody_makes_is_refused),
		T(frame_shorter_than_its_member_hides_the_rest),
		T(frame_longer_than_its_member_sees_nothing_of_others),
		T(stores_in_stores_end_at_a_depth),
	};

	return cmocka_run_group_tests_name("container_store", tests,
					   hostile_setup, hostile_teardown);
}
