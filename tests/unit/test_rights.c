/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_rights.c - sets of rights against a judge written from what
 * path_resolution(7) and acl(5) say, with the kernel's glance at the mode
 * before it looks into a list.
 */
#include "tree/rights_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 6000
#define N_IDS 4		/* of users and of groups */
#define R 4u
#define W 2u
#define X 1u

/* A list as the test made it. */
struct entry {
	uint32_t tag, perm, id;
};

struct thing {
	uint32_t uid, gid, mode, n;
	struct entry entries[12];
};

static uint64_t state;

static uint32_t any(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Half of the time all or nothing, as real ones. */
static uint32_t any_perm(void)
{
	return any(2) ? any(8) : any(2) ? R : 0;
}

static void add(struct thing *thing, uint32_t tag, uint32_t perm, uint32_t id)
{
	thing->entries[thing->n++] = (struct entry){ tag, perm, id };
}

/* Users and groups below N_IDS, some of them named. */
static struct thing make_thing(bool with_list)
{
	struct thing thing = {
		.uid = any(4) ? 0 : any(N_IDS), .gid = any(4) ? 0 : any(N_IDS),
		.mode = any_perm() << 6 | any_perm() << 3 | any_perm(),
	};

	if (!with_list)
		return thing;
	add(&thing, 0x01, thing.mode >> 6, UINT32_MAX);
	for (uint32_t id = 0; id < N_IDS; id++)
		if (any(3) == 0)
			add(&thing, 0x02, any_perm(), id);
	add(&thing, 0x04, any_perm(), UINT32_MAX);
	for (uint32_t id = 0; id < N_IDS; id++)
		if (any(3) == 0)
			add(&thing, 0x08, any_perm(), id);
	add(&thing, 0x10, thing.mode >> 3 & 7, UINT32_MAX);
	add(&thing, 0x20, thing.mode & 7, UINT32_MAX);
	return thing;
}

static void put(uint8_t *to, uint32_t value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

static size_t write_list(const struct thing *thing, uint8_t *to)
{
	put(to, 2, 4);
	for (uint32_t i = 0; i < thing->n; i++) {
		put(to + 4 + 8 * i, thing->entries[i].tag, 2);
		put(to + 6 + 8 * i, thing->entries[i].perm, 2);
		put(to + 8 + 8 * i, thing->entries[i].id, 4);
	}
	return 4 + 8 * (size_t)thing->n;
}

static struct rights rights_of(const struct thing *thing)
{
	struct rights rights = { thing->uid, thing->gid, thing->mode, NULL };
	uint8_t list[256];

	if (thing->n)
		rights_add_xattr(&rights, list, write_list(thing, list));
	return rights;
}

/* The thing that rights describe, from what they say outside. */
static struct thing thing_of(const struct rights *rights)
{
	struct thing thing = { .uid = rights->uid, .gid = rights->gid,
			       .mode = rights->mode & 0777 };
	uint8_t list[RIGHTS_XATTR_MAX];
	size_t len = rights_to_xattr(rights, list);

	for (size_t at = 4; at < len; at += 8)
		add(&thing, list[at], list[at + 2], get(list + at + 4));
	return thing;
}

struct subject {
	uint32_t uid;
	uint32_t groups;	/* bits */
};

static bool has_group(const struct subject *who, uint32_t gid)
{
	return gid < 32 && who->groups & 1u << gid;
}

static bool judge_list(const struct thing *thing, const struct subject *who,
		       uint32_t want)
{
	uint32_t mask = thing->mode >> 3 & 7, i, perm;
	bool in_group = false;

	for (i = 0; i < thing->n; i++)
		if (thing->entries[i].tag == 0x02 &&
		    thing->entries[i].id == who->uid)
			return !(want & ~(thing->entries[i].perm & mask));
	for (i = 0; i < thing->n; i++) {
		if (!(thing->entries[i].tag == 0x04 &&
		      has_group(who, thing->gid)) &&
		    !(thing->entries[i].tag == 0x08 &&
		      has_group(who, thing->entries[i].id)))
			continue;
		in_group = true;
		perm = thing->entries[i].perm & mask;
		if (!(want & ~perm))
			return true;
	}
	return !in_group && !(want & ~(thing->mode & 7));
}

static bool may(const struct thing *thing, const struct subject *who,
		uint32_t want)
{
	uint32_t bits = thing->mode;

	if (who->uid == thing->uid)
		bits >>= 6;
	else if (thing->n && thing->mode & 070)
		return judge_list(thing, who, want);
	else if (has_group(who, thing->gid))
		bits >>= 3;
	return !(want & ~bits);
}

/* Calls for everybody there is. */
#define EACH_SUBJECT(who)						\
	for (struct subject who = { 0, 0 }; who.uid <= N_IDS; who.uid++) \
		for (who.groups = 0; who.groups < 1u << N_IDS; who.groups++)

static void a_list_says_what_it_said(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct thing thing = make_thing(true);
		struct rights rights = rights_of(&thing), again;
		struct thing told = thing_of(&rights);

		assert_int_equal(told.n, thing.n);
		assert_memory_equal(told.entries, thing.entries,
				    thing.n * sizeof(thing.entries[0]));
		again = rights_of(&thing);
		assert_true(rights_equal(&rights, &again));
		assert_ptr_equal(rights_keep(&rights), rights_keep(&again));
	}
}

static void nobody_reads_both_who_may_not_read_each(void **unused)
{
	unsigned n_may = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing a = make_thing(any(2)), b = make_thing(any(2));
		struct rights ra = rights_of(&a), rb = rights_of(&b);
		struct rights both = rights_meet(&ra, &rb);
		struct thing c = thing_of(&both);

		EACH_SUBJECT(who) {
			if (!may(&c, &who, R))
				continue;
			n_may++;
			assert_true(may(&a, &who, R) && may(&b, &who, R));
		}
	}
	assert_true(n_may > ROUNDS);
}

static void modes_alone_lose_nothing_where_owner_and_group_are_one(void **u)
{
	(void)u;
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct thing a = make_thing(false), b = make_thing(false), c;
		struct rights ra, rb, both;

		b.uid = a.uid;
		b.gid = a.gid;
		ra = rights_of(&a);
		rb = rights_of(&b);
		both = rights_meet(&ra, &rb);
		c = thing_of(&both);
		EACH_SUBJECT(who)
			assert_int_equal(may(&c, &who, R), may(&a, &who, R) &&
					 may(&b, &who, R));
	}
}

static void the_same_twice_is_the_same(void **unused)
{
	unsigned n_kept = 0, n_lost = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct thing a = make_thing(true), c;
		struct rights ra = rights_of(&a), both;

		both = rights_meet(&ra, &ra);
		c = thing_of(&both);
		/* A mask that lets nobody pass is the one exception. */
		if (!(a.mode & 070))
			continue;
		EACH_SUBJECT(who) {
			n_kept += may(&c, &who, R);
			n_lost += may(&a, &who, R) && !may(&c, &who, R);
			if (!may(&a, &who, R))
				assert_false(may(&c, &who, R));
		}
	}
	/* Few lose what they might, and nobody gains. */
	print_message("# %u kept, %u lost\n", n_kept, n_lost);
	assert_true(n_kept > ROUNDS / 10 && n_lost < n_kept / 2);
}

static void folders_and_files_of_a_frame_keep_who_may_read(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing a = make_thing(any(2));
		struct rights ra = rights_of(&a), rf, rd;
		struct thing file, folder;

		rf = rights_of_file(&ra);
		rd = rights_of_folder(&ra);
		file = thing_of(&rf);
		folder = thing_of(&rd);
		assert_true(folder.mode & 0200 || !(folder.mode & 0400));
		EACH_SUBJECT(who) {
			bool reads = may(&a, &who, R);

			if (may(&file, &who, R))
				assert_true(reads);
			if (may(&folder, &who, R) || may(&folder, &who, X))
				assert_true(reads);
			assert_false(may(&file, &who, X));
			/* Less only where the list's mask is emptied. */
			if (reads && !(a.n && (a.mode & 070) &&
				       !(a.mode & 060))) {
				assert_true(may(&file, &who, R));
				assert_true(may(&folder, &who, R | X));
			}
		}
	}
}

static void who_may_not_pass_a_folder_reads_nothing_in_it(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing dir = make_thing(any(2)), in = make_thing(any(2));
		struct rights rd = rights_of(&dir), ri = rights_of(&in), both;
		struct thing c;

		rd = rights_to_pass(&rd);
		both = rights_meet(&ri, &rd);
		c = thing_of(&both);
		EACH_SUBJECT(who)
			if (may(&c, &who, R))
				assert_true(may(&dir, &who, X) &&
					    may(&in, &who, R));
	}
}

static void without_its_list_nobody_may_more(void **unused)
{
	unsigned n_may = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing a = make_thing(true), c;
		struct rights ra = rights_of(&a), plain;

		plain = rights_without_acl(&ra);
		c = thing_of(&plain);
		assert_int_equal(c.n, 0);
		EACH_SUBJECT(who)
			for (uint32_t want = 1; want < 8; want++)
				if (may(&c, &who, want)) {
					n_may++;
					assert_true(may(&a, &who, want));
				}
	}
	assert_true(n_may > ROUNDS);
}

static void only_who_is_named_narrows_a_mode_without_a_list(void **unused)
{
	struct acl *acl = calloc(1, sizeof(*acl) + 2 * sizeof(acl->named[0]));
	struct rights rights = { 1, 1, 0777, acl }, plain;

	(void)unused;
	assert_non_null(acl);
	acl->group = 7;
	acl->n = 1;
	/* What lies behind it has no rights. */
	acl->named[0] = (struct named){ 2, 5, TAG_USER };
	plain = rights_without_acl(&rights);
	assert_int_equal(plain.mode, 0755);
	acl->n = 0;
	plain = rights_without_acl(&rights);
	assert_int_equal(plain.mode, 0777);
	free(acl);
}

static void options_that_change_nothing_take_nothing(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct thing a = make_thing(i % 2);
		struct rights_cut cut = {
			.has_uid = i & 2, .has_gid = i & 4,
			.uid = i & 2 ? a.uid : N_IDS,
			.gid = i & 4 ? a.gid : N_IDS,
		};
		struct rights ra = rights_of(&a), rc = rights_cut(&ra, &cut);

		assert_true(rights_equal(&ra, &rc));
	}
}

static void options_narrow(void **unused)
{
	unsigned n_may = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing a = make_thing(any(2)), c;
		struct rights_cut cut = {
			.has_uid = any(2), .has_gid = any(2),
			.uid = any(N_IDS), .gid = any(N_IDS),
			.mask = any(3) ? 0 : any(0777),
		};
		struct rights ra = rights_of(&a), rc = rights_cut(&ra, &cut);

		c = thing_of(&rc);
		EACH_SUBJECT(who) {
			/* The given owner and group are given their rights. */
			if ((cut.has_uid && who.uid == cut.uid) ||
			    (cut.has_gid && has_group(&who, cut.gid)))
				continue;
			for (uint32_t want = 1; want < 8; want <<= 1)
				if (may(&c, &who, want)) {
					n_may++;
					assert_true(may(&a, &who, want));
				}
		}
	}
	assert_true(n_may > ROUNDS);
}

static void readers_may_only_what_is_certain(void **unused)
{
	unsigned n_may = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		struct thing a = make_thing(any(2)), b = make_thing(any(2));
		struct rights ra, rb;

		if (any(2))
			b = a;
		ra = rights_of(&a);
		rb = rights_of(&b);
		if (!rights_readers_may(&ra, &rb))
			continue;
		n_may++;
		EACH_SUBJECT(who)
			if (may(&a, &who, R))
				assert_true(may(&b, &who, R));
	}
	assert_true(n_may > ROUNDS / 10);
}

static void what_is_no_list_leaves_the_owner_alone(void **unused)
{
	static const uint8_t lists[][12] = {
		{ 1, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255 },
		{ 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255 },
		{ 2, 0, 0, 0, 3, 0, 6, 0, 255, 255, 255, 255 },
		{ 2, 0, 0, 0, 4, 0, 9, 0, 255, 255, 255, 255 },
	};
	struct rights rights;

	(void)unused;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (size_t len = 0; len <= sizeof(lists[0]); len++) {
			rights = (struct rights){ 1, 1, 0664, NULL };
			rights_add_xattr(&rights, lists[i], len);
			assert_int_equal(rights.mode, 0600);
			assert_null(rights.acl);
		}
	}
}

/* Each list is another; they stop being kept, and modes say less. */
static void too_many_lists_narrow_modes(void **unused)
{
	struct thing thing = { .uid = 1, .gid = 1, .mode = 0664 };
	unsigned n_lists = 0, n_narrowed = 0;
	struct rights rights;

	(void)unused;
	add(&thing, 0x01, 6, UINT32_MAX);
	add(&thing, 0x02, 0, 0);
	add(&thing, 0x02, R, 0);
	add(&thing, 0x04, R, UINT32_MAX);
	add(&thing, 0x10, 6, UINT32_MAX);
	add(&thing, 0x20, R, UINT32_MAX);
	for (uint32_t i = 1; i < 400000 && n_narrowed < 1000; i++) {
		thing.entries[1].id = i;
		thing.entries[2].id = i + 1;
		rights = rights_of(&thing);
		if (rights.acl) {
			n_lists++;
			continue;
		}
		n_narrowed++;
		assert_int_equal(rights.mode, 0600);
	}
	assert_true(n_lists > 10000);
	assert_true(n_narrowed == 1000);
	/* Known ones go on. */
	thing.entries[1].id = 1;
	thing.entries[2].id = 2;
	rights = rights_of(&thing);
	assert_non_null(rights.acl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_says_what_it_said),
		cmocka_unit_test(nobody_reads_both_who_may_not_read_each),
		cmocka_unit_test(
		    modes_alone_lose_nothing_where_owner_and_group_are_one),
		cmocka_unit_test(the_same_twice_is_the_same),
		cmocka_unit_test(
		    folders_and_files_of_a_frame_keep_who_may_read),
		cmocka_unit_test(who_may_not_pass_a_folder_reads_nothing_in_it),
		cmocka_unit_test(without_its_list_nobody_may_more),
		cmocka_unit_test(
			only_who_is_named_narrows_a_mode_without_a_list),
		cmocka_unit_test(options_that_change_nothing_take_nothing),
		cmocka_unit_test(options_narrow),
		cmocka_unit_test(readers_may_only_what_is_certain),
		cmocka_unit_test(what_is_no_list_leaves_the_owner_alone),
		cmocka_unit_test(too_many_lists_narrow_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
