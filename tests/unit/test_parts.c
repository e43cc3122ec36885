/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what is known of containers of many objects (remote/parts), without
 * a server: what it would tell is told by parts_ask here. */
#include "remote/held.h"
#include "remote/parts.h"
#include "remote/parts_ask.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t now_ms;
static uint64_t charged, most_charged;
static int answer;		/* of parts_ask */
static size_t n_asked;

int64_t remote_now_ms(void)
{
	return now_ms;
}

bool remote_charge(struct remote *remote, uint64_t len)
{
	(void)remote;
	charged += len;
	if (most_charged < charged)
		most_charged = charged;
	return true;
}

void remote_give_back(struct remote *remote, uint64_t len)
{
	(void)remote;
	assert_true(charged >= len);
	charged -= len;
}

uint64_t shelf_state(struct shelf *shelf, const char *path)
{
	(void)shelf;
	(void)path;
	return 1;
}

int parts_ask(struct shelf *shelf, const char *folder, struct part *parts,
	      size_t n, char **from, int64_t end_ms)
{
	(void)shelf;
	(void)folder;
	(void)parts;
	(void)from;
	(void)end_ms;
	n_asked += n;
	return answer;
}

static size_t n_outdated;

void held_outdate(struct shelf *of, const char *path)
{
	(void)of;
	(void)path;
	n_outdated++;
}

static struct shelf shelf;
static const struct shelf_stat object = { .told = true, .size = 7,
					  .identity = 5 };

static int set_up(void **state)
{
	(void)state;
	shelf = (struct shelf){ .lock = PTHREAD_MUTEX_INITIALIZER,
				.most_named = UINT64_MAX,
				.remote.fresh_ms = 5000 };
	now_ms = 1000000;
	charged = most_charged = 0;
	answer = 0;
	n_asked = n_outdated = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	parts_release(&shelf);
	assert_int_equal(charged, 0);
	assert_int_equal(shelf.named, 0);
	return 0;
}

/* Opens and closes n containers of one part each. */
static void go_through(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char path[32];
		uint64_t turn;

		snprintf(path, sizeof(path), "other%u", i);
		assert_int_equal(shelf_join(&shelf, path, &turn), 0);
		assert_int_equal(shelf_note_part(&shelf, path, "0.chunk",
						 &object, turn), 0);
		shelf_leave(&shelf, path);
	}
}

static void an_opened_container_stays_what_it_is(void **state)
{
	char path[32];
	uint64_t turn, turns[2000];

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "%u", i);
		assert_int_equal(shelf_join(&shelf, path, &turns[i]), 0);
		assert_int_equal(shelf_note_part(&shelf, path, "0.chunk",
						 &object, turns[i]), 0);
	}
	go_through(3000);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "%u", i);
		assert_int_equal(shelf_note_part(&shelf, path, "1.chunk",
						 &object, turns[i]), 0);
		shelf_leave(&shelf, path);
	}
	/* What nobody has open makes room. */
	go_through(3000);
	assert_true(shelf.n_parts <= 1024);
	assert_int_equal(shelf_join(&shelf, "0", &turn), 0);
	assert_true(turn != turns[0]);
	shelf_leave(&shelf, "0");
}

static void containers_that_nothing_is_read_of_take_nothing(void **state)
{
	uint64_t turn, first = shelf_turn(&shelf, "a");

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "%u", i);
		assert_int_equal(shelf_check_parts(&shelf, path, 1, false), 0);
		assert_int_equal(shelf_join(&shelf, path, &turn), 0);
		assert_int_equal(turn, first);
		shelf_leave(&shelf, path);
	}
	assert_int_equal(shelf.n_parts, 0);
	assert_int_equal(shelf_turn(&shelf, "a"), first);
}

static void parts_count_as_memory(void **state)
{
	uint64_t turn;

	(void)state;
	assert_int_equal(shelf_join(&shelf, "a", &turn), 0);
	for (unsigned i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%08X.chunk", i);
		assert_int_equal(shelf_note_part(&shelf, "a", name, &object,
						 turn), 0);
	}
	assert_true(charged > 1000 * sizeof(struct folder_entry));
	/* All are forgotten in another turn. */
	assert_int_equal(shelf_check_parts(&shelf, "a", 2, false), 0);
	assert_int_equal(charged, 0);
	assert_true(shelf_turn(&shelf, "a") != turn);
	shelf_leave(&shelf, "a");
}

static void what_is_not_told_is_asked_again(void **state)
{
	uint64_t turn;

	(void)state;
	assert_int_equal(shelf_join(&shelf, "a", &turn), 0);
	assert_int_equal(shelf_note_part(&shelf, "a", "0.chunk", &object,
					 turn), 0);
	answer = -EIO;
	assert_int_equal(shelf_check_parts(&shelf, "a", 0, true), -EIO);
	assert_int_equal(n_asked, 1);
	answer = 0;
	assert_int_equal(shelf_check_parts(&shelf, "a", 0, false), 0);
	assert_int_equal(n_asked, 2);
	/* By now it is known, for a while. */
	assert_int_equal(shelf_check_parts(&shelf, "a", 0, false), 0);
	assert_int_equal(n_asked, 2);
	now_ms += 5000;
	assert_int_equal(shelf_check_parts(&shelf, "a", 0, false), 0);
	assert_int_equal(n_asked, 3);
	assert_int_equal(shelf_turn(&shelf, "a"), turn);
	shelf_leave(&shelf, "a");
}

static void what_a_listing_does_not_tell_makes_it_old(void **state)
{
	struct shelf_stat other = object;
	uint64_t turn;

	(void)state;
	other.identity++;
	assert_int_equal(shelf_join(&shelf, "a", &turn), 0);
	assert_int_equal(shelf_note_part(&shelf, "a", "0.chunk", &object,
					 turn), 0);
	/* It is a listing that tells this one. */
	assert_int_equal(shelf_check_parts(&shelf, "a", 2, false), 0);
	assert_int_equal(shelf_turn(&shelf, "a"), ++turn);
	assert_int_equal(n_outdated, 0);
	assert_int_equal(shelf_note_part(&shelf, "a", "0.chunk", &object,
					 turn), 0);
	assert_int_equal(shelf_note_part(&shelf, "a", "0.chunk", &other,
					 turn), -ESTALE);
	assert_int_equal(shelf_turn(&shelf, "a"), turn + 1);
	assert_int_equal(n_outdated, 1);
	shelf_leave(&shelf, "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_opened_container_stays_what_it_is, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			containers_that_nothing_is_read_of_take_nothing,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(parts_count_as_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_not_told_is_asked_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_a_listing_does_not_tell_makes_it_old, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
