/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of ops/parked: who of those that wait comes next. */
#include "ops/parked.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MAX_PARKED 32

/* Only their addresses count. */
static const struct { uint64_t fields[40]; } containers[MAX_PARKED];

struct lot {
	struct parking parking;
	struct costs costs;
	struct parked *rows[MAX_PARKED];
	unsigned n;
};

static void init_lot(struct lot *lot)
{
	*lot = (struct lot){ .n = 0 };
	parking_init(&lot->parking);
}

static struct parked *add(struct lot *lot, unsigned container,
			  enum stage stage, uint64_t since_ns)
{
	struct parked *p = malloc(sizeof(*p));

	assert_non_null(p);
	assert_true(lot->n < MAX_PARKED);
	lot->rows[lot->n++] = p;
	*p = (struct parked){ .number = lot->n, .since_ns = since_ns,
			      .container = &containers[container],
			      .stage = stage, .ready = true };
	parking_append(&lot->parking, p);
	return p;
}

static void drop_last(struct lot *lot)
{
	free(lot->rows[--lot->n]);
}

static void free_lot(struct lot *lot)
{
	while (lot->n)
		drop_last(lot);
}

static void cost(struct lot *lot, unsigned container, uint64_t ns, time_t now)
{
	costs_add(&lot->costs, &containers[container], ns, now);
}

static struct parked *pick(const struct lot *lot, enum stage stage)
{
	return parking_pick(&lot->parking, stage, &lot->costs, 1, UINT_MAX);
}

static void the_oldest_of_equals_comes_first(void **state)
{
	struct lot lot;
	struct parked *first;

	(void)state;
	init_lot(&lot);
	assert_null(pick(&lot, QUICK));
	first = add(&lot, 0, QUICK, 10);
	add(&lot, 1, QUICK, 11);
	add(&lot, 2, SLOW, 1);
	assert_ptr_equal(pick(&lot, QUICK), first);
	parking_take_out(&lot.parking, first);
	assert_int_equal(pick(&lot, QUICK)->number, 2);
	assert_int_equal(pick(&lot, SLOW)->number, 3);
	assert_null(pick(&lot, PATIENT));
	add(&lot, 4, QUICK, 5)->ready = false;
	assert_int_equal(pick(&lot, QUICK)->number, 2);
	free_lot(&lot);
}

static void who_cost_little_lately_goes_before_who_cost_much(void **state)
{
	struct lot lot;

	(void)state;
	for (enum stage stage = QUICK; stage <= SLOW; stage++) {
		init_lot(&lot);
		for (unsigned i = 0; i < 12; i++) {
			add(&lot, i, stage, 1000 + i);
			cost(&lot, i, SECOND / 20, 1);
		}
		add(&lot, 12, stage, 2000);
		assert_int_equal(pick(&lot, stage)->number, 13);
		free_lot(&lot);
	}
}

/* Newcomers that cost nothing pass, but not for ever. */
static void who_cost_much_is_not_passed_for_ever(void **state)
{
	struct parked *dear;
	const struct parked *next;
	unsigned n_passed = 0;
	struct lot lot;

	(void)state;
	init_lot(&lot);
	cost(&lot, 0, 3 * SECOND, 7);
	dear = add(&lot, 0, SLOW, 7 * SECOND);
	do {
		add(&lot, 1 + n_passed % 15, SLOW,
		    (7 + n_passed) * SECOND + 1);
		next = pick(&lot, SLOW);
		parking_take_out(&lot.parking, lot.rows[1]);
		drop_last(&lot);
	} while (next != dear && n_passed++ < 100);
	assert_ptr_equal(next, dear);
	assert_in_range(n_passed, 1, 3);
	free_lot(&lot);
}

static void costs_are_halved_each_second(void **state)
{
	struct lot lot;

	(void)state;
	init_lot(&lot);
	cost(&lot, 0, 8000, 100);
	cost(&lot, 0, 8000, 100);
	assert_int_equal(costs_of(&lot.costs, &containers[0]), 16000);
	cost(&lot, 1, 1, 102);
	assert_int_equal(costs_of(&lot.costs, &containers[0]), 4000);
	cost(&lot, 1, 1, 1000);
	assert_int_equal(costs_of(&lot.costs, &containers[0]), 0);
	assert_int_equal(costs_of(&lot.costs, NULL), 0);
}

static void one_container_has_its_share_of_threads(void **state)
{
	struct bloscfs_call *busy = (struct bloscfs_call *)&containers;
	struct lot lot;

	(void)state;
	init_lot(&lot);
	add(&lot, 0, SLOW, 1)->call = busy;
	add(&lot, 0, SLOW, 2);
	assert_null(pick(&lot, SLOW));
	assert_int_equal(parking_pick(&lot.parking, SLOW, &lot.costs,
				      UINT_MAX, UINT_MAX)->number, 2);
	add(&lot, 1, SLOW, 3);
	assert_int_equal(pick(&lot, SLOW)->number, 3);
	lot.rows[0]->stage = PATIENT;
	assert_int_equal(pick(&lot, SLOW)->number, 2);
	free_lot(&lot);
}

/* Each server that hangs has half of what the ones before it left. */
static void servers_that_hang_leave_threads_to_others(void **state)
{
	struct bloscfs_call *busy = (struct bloscfs_call *)&containers;
	enum { THREADS = 16 };
	unsigned n_running = 0;
	struct lot lot;

	(void)state;
	init_lot(&lot);
	for (unsigned server = 1; server <= 4; server++) {
		struct parked *p;

		for (unsigned i = 0; i < 6; i++)
			add(&lot, 6 * (server % 2) + i, SLOW, i)->server =
				server;
		while ((p = parking_pick(&lot.parking, SLOW, &lot.costs,
					 UINT_MAX, THREADS))) {
			p->call = busy;
			n_running++;
		}
		assert_in_range(n_running, 1, THREADS - 1);
	}
	/* What waits for none has all that are left. */
	add(&lot, 1, SLOW, 100);
	assert_int_equal(parking_pick(&lot.parking, SLOW, &lot.costs,
				      UINT_MAX, THREADS)->number, 25);
	free_lot(&lot);
}

static void the_cancelled_are_found_while_they_wait(void **state)
{
	struct lot lot;

	(void)state;
	init_lot(&lot);
	add(&lot, 0, QUICK, 1);
	assert_null(parking_find_cancelled(&lot.parking));
	add(&lot, 0, SLOW, 2)->cancelled = true;
	assert_int_equal(parking_find_cancelled(&lot.parking)->number, 2);
	lot.rows[1]->call = (struct bloscfs_call *)&containers;
	assert_null(parking_find_cancelled(&lot.parking));
	assert_ptr_equal(parking_find(&lot.parking, 2), lot.rows[1]);
	assert_null(parking_find(&lot.parking, 3));
	free_lot(&lot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_of_equals_comes_first),
		cmocka_unit_test(
			who_cost_little_lately_goes_before_who_cost_much),
		cmocka_unit_test(who_cost_much_is_not_passed_for_ever),
		cmocka_unit_test(costs_are_halved_each_second),
		cmocka_unit_test(one_container_has_its_share_of_threads),
		cmocka_unit_test(servers_that_hang_leave_threads_to_others),
		cmocka_unit_test(the_cancelled_are_found_while_they_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
