/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of mem_turn: threads that together want more than the budget. */
#include "base/mem_turn.h"

#include "base/call.h"
#include "base/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define BUDGET (8 * MIB)
#define MAX_PARTS 8
#define N_THREADS 12

static uint64_t base_len;

static int begin_test(void **state)
{
	(void)state;
	base_len = bfs_mem_used();
	bfs_budget_set_limit(&bfs_process_budget, BUDGET);
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, 0);
	return bfs_mem_used() != base_len;
}

static void pause_ms(unsigned ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

static uint32_t count_waiting(void)
{
	struct bfs_turn_stats stats;

	bfs_turn_get_stats(&bfs_process_budget, &stats);
	return stats.n_waiting;
}

static void wait_for_waiting(uint32_t n)
{
	while (count_waiting() != n)
		pause_ms(1);
}

/* Work that takes its memory piece by piece and gives all of it back when it
 * cannot have the next. */
struct work {
	size_t lens[MAX_PARTS];
	unsigned n;
	void *parts[MAX_PARTS];
	unsigned n_tries;
	enum bfs_err err;
	struct bfs_diag diag;
};

static void give_parts(struct work *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		bfs_unmap(w->parts[i], w->lens[i], &bfs_process_budget);
		w->parts[i] = NULL;
	}
}

static enum bfs_err take_parts(struct work *w)
{
	w->n_tries++;
	for (unsigned i = 0; i < w->n; i++) {
		w->parts[i] = bfs_map(w->lens[i]);
		if (!w->parts[i]) {
			give_parts(w);
			return BFS_ERR_NOMEM;
		}
		((volatile char *)w->parts[i])[0] = 1;
	}
	return BFS_OK;
}

static void do_work(struct work *w, struct bfs_turn *turn)
{
	bfs_turn_begin(turn, &bfs_process_budget, true);
	do {
		w->err = take_parts(w);
	} while (bfs_turn_again(turn, &w->err, &w->diag));
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	assert_int_equal(pthread_create(thread, NULL, run, arg), 0);
}

static void join(pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *work_once(void *arg)
{
	struct work *w = arg;
	struct bfs_turn turn;

	do_work(w, &turn);
	pause_ms(1);
	give_parts(w);
	bfs_turn_end(&turn);
	return NULL;
}

static void all_succeed_where_few_fit_at_once(void **state)
{
	struct work works[N_THREADS];
	pthread_t threads[N_THREADS];

	(void)state;
	for (unsigned i = 0; i < N_THREADS; i++) {
		works[i] = (struct work){ .lens = { MIB, 2 * MIB, MIB },
					  .n = 3 };
		assert_int_equal(pthread_create(&threads[i], NULL, work_once,
						&works[i]), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		join(threads[i]);
		assert_int_equal(works[i].err, BFS_OK);
	}
	assert_int_equal(count_waiting(), 0);
}

static void what_can_never_fit_is_refused_in_words(void **state)
{
	struct work w = { .lens = { 6 * MIB, 5 * MIB }, .n = 2 };
	struct bfs_turn turn;

	(void)state;
	do_work(&w, &turn);
	bfs_turn_end(&turn);
	assert_int_equal(w.err, BFS_ERR_LIMIT);
	assert_int_equal(w.diag.err, BFS_ERR_LIMIT);
	assert_non_null(strstr(w.diag.text, "11534336"));
	assert_non_null(strstr(w.diag.text, "max_memory is 8388608"));
}

static void what_nearly_takes_all_fits(void **state)
{
	struct work w = { .lens = { 3 * MIB, 3 * MIB, 1500 * KIB }, .n = 3 };
	struct bfs_turn turn;

	(void)state;
	do_work(&w, &turn);
	assert_int_equal(w.err, BFS_OK);
	give_parts(&w);
	bfs_turn_end(&turn);
}

struct queued {
	struct work work;
	_Atomic unsigned *n_served;
	unsigned place;
	pthread_t thread;
};

static void *work_in_queue(void *arg)
{
	struct queued *q = arg;
	struct bfs_turn turn;

	do_work(&q->work, &turn);
	q->place = atomic_fetch_add(q->n_served, 1);
	give_parts(&q->work);
	bfs_turn_end(&turn);
	return NULL;
}

/* The later ones want less, and would fit earlier. */
static void those_who_wait_are_served_in_their_order(void **state)
{
	struct work holder = { .lens = { 7 * MIB }, .n = 1 };
	struct queued queued[5];
	_Atomic unsigned n_served = 0;
	struct bfs_turn turn;

	(void)state;
	do_work(&holder, &turn);
	for (unsigned i = 0; i < 5; i++) {
		queued[i] = (struct queued){
			.work = { .lens = { (7 - i) * MIB }, .n = 1 },
			.n_served = &n_served };
		start(&queued[i].thread, work_in_queue, &queued[i]);
		wait_for_waiting(i + 1);
	}
	give_parts(&holder);
	bfs_turn_end(&turn);
	for (unsigned i = 0; i < 5; i++) {
		join(queued[i].thread);
		assert_int_equal(queued[i].work.err, BFS_OK);
	}
	assert_int_equal(queued[0].place, 0);
	assert_int_equal(queued[1].place, 1);
	assert_int_equal(queued[2].place, 2);
}

static void little_is_had_while_others_wait_for_much(void **state)
{
	struct work holder = { .lens = { 5 * MIB }, .n = 1 };
	struct work little = { .lens = { 16 * KIB }, .n = 1 };
	struct work much = { .lens = { MIB }, .n = 1 };
	_Atomic unsigned n_served = 0;
	struct queued first = { .work = { .lens = { 6 * MIB }, .n = 1 },
				.n_served = &n_served };
	struct bfs_turn turn, own;

	(void)state;
	do_work(&holder, &turn);
	start(&first.thread, work_in_queue, &first);
	wait_for_waiting(1);
	bfs_turn_begin(&own, &bfs_process_budget, true);
	assert_int_equal(take_parts(&little), BFS_OK);
	/* This would fit, too, but comes after the first. */
	assert_int_equal(take_parts(&much), BFS_ERR_NOMEM);
	give_parts(&little);
	bfs_turn_end(&own);
	give_parts(&holder);
	bfs_turn_end(&turn);
	join(first.thread);
	assert_int_equal(first.work.err, BFS_OK);
}

/* Short pieces as many as it takes that no more can be had; how many. */
static unsigned hold_pieces(void *pieces[], unsigned n_max, size_t len)
{
	unsigned n = 0;

	while (n < n_max && (pieces[n] = bfs_map(len)))
		n++;
	return n;
}

/* Whatever waits for much, and however long others hold it. */
static void little_is_served_before_all_who_wait_for_much(void **state)
{
	struct work holder = { .lens = { 7 * MIB }, .n = 1 };
	_Atomic unsigned n_served = 0;
	struct queued much[5], little = {
		.work = { .lens = { 100 * KIB, 100 * KIB }, .n = 2 },
		.n_served = &n_served };
	void *pieces[64];
	struct bfs_turn turn;
	unsigned n;

	(void)state;
	do_work(&holder, &turn);
	for (unsigned i = 0; i < 5; i++) {
		much[i] = (struct queued){
			.work = { .lens = { (5 + i % 2) * MIB }, .n = 1 },
			.n_served = &n_served };
		start(&much[i].thread, work_in_queue, &much[i]);
		wait_for_waiting(i + 1);
	}
	/* The room for little is in use by others of the kind. */
	n = hold_pieces(pieces, 64, 60 * KIB);
	start(&little.thread, work_in_queue, &little);
	wait_for_waiting(6);
	assert_int_equal(n_served, 0);
	for (unsigned i = 0; i < n; i++)
		bfs_unmap(pieces[i], 60 * KIB, &bfs_process_budget);
	join(little.thread);
	assert_int_equal(little.work.err, BFS_OK);
	assert_int_equal(little.place, 0);
	/* Nothing that they wait for was given back. */
	assert_int_equal(count_waiting(), 5);
	give_parts(&holder);
	bfs_turn_end(&turn);
	for (unsigned i = 0; i < 5; i++) {
		join(much[i].thread);
		assert_int_equal(much[i].work.err, BFS_OK);
	}
}

static void small_blocks_find_room_beside_the_largest_work(void **state)
{
	uint64_t limit = 128 * MIB, all;
	void *blocks[128];
	unsigned n;

	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, limit);
	all = bfs_budget_reserve(&bfs_process_budget, 1, UINT64_MAX);
	assert_true(all >= limit / 16 * 15 - base_len);
	assert_null(bfs_map(MIB));
	n = hold_pieces(blocks, 128, 64 * KIB);
	/* An eighth of what is left is for shorter ones. */
	assert_true(n * 64 * KIB >= limit / 32);
	for (unsigned i = 0; i < n; i++)
		bfs_unmap(blocks[i], 64 * KIB, &bfs_process_budget);
	bfs_budget_give_back(&bfs_process_budget, all);
}

static void what_can_never_fit_waits_for_nobody(void **state)
{
	struct work holder = { .lens = { 5 * MIB }, .n = 1 };
	_Atomic unsigned n_served = 0;
	struct queued hopeless = { .work = { .lens = { 8 * MIB }, .n = 1 },
				   .n_served = &n_served };
	struct bfs_turn turn;

	(void)state;
	do_work(&holder, &turn);
	start(&hopeless.thread, work_in_queue, &hopeless);
	/* It ends while the other has its memory. */
	join(hopeless.thread);
	assert_int_equal(hopeless.work.err, BFS_ERR_LIMIT);
	give_parts(&holder);
	bfs_turn_end(&turn);
}

struct caller {
	struct queued queued;
	struct bfs_call call;
};

static void *work_for_call(void *arg)
{
	struct caller *c = arg;
	struct bfs_call *before = bfs_call_enter(&c->call);

	work_in_queue(&c->queued);
	bfs_call_leave(before);
	return NULL;
}

static void cancelled_call_waits_no_longer_and_others_move_up(void **state)
{
	struct work holder = { .lens = { 5 * MIB }, .n = 1 };
	_Atomic unsigned n_served = 0;
	struct queued second = { .work = { .lens = { MIB }, .n = 1 },
				 .n_served = &n_served };
	struct caller first = {
		.queued = { .work = { .lens = { 6 * MIB }, .n = 1 },
			    .n_served = &n_served } };
	struct bfs_turn turn;

	(void)state;
	bfs_call_init(&first.call);
	do_work(&holder, &turn);
	start(&first.queued.thread, work_for_call, &first);
	wait_for_waiting(1);
	start(&second.thread, work_in_queue, &second);
	wait_for_waiting(2);
	atomic_store(&first.call.cancelled, true);
	join(first.queued.thread);
	assert_int_equal(first.queued.work.err, BFS_ERR_CANCELLED);
	join(second.thread);
	assert_int_equal(second.work.err, BFS_OK);
	give_parts(&holder);
	bfs_turn_end(&turn);
}

static void who_holds_memory_does_not_wait_for_more(void **state)
{
	struct work held = { .lens = { 5 * MIB }, .n = 1 };
	struct work more = { .lens = { 4 * MIB }, .n = 1 };
	struct bfs_turn outer, inner;

	(void)state;
	do_work(&held, &outer);
	do_work(&more, &inner);
	assert_int_equal(more.err, BFS_ERR_NOMEM);
	bfs_turn_end(&inner);
	bfs_turn_leave(&outer);
	do_work(&more, &inner);
	assert_int_equal(more.err, BFS_ERR_NOMEM);
	bfs_turn_end(&inner);
	give_parts(&held);
	bfs_turn_end(&outer);
	do_work(&more, &inner);
	assert_int_equal(more.err, BFS_OK);
	give_parts(&more);
	bfs_turn_end(&inner);
}

struct idle {
	struct bfs_turn_spare spare;
	void *p;
	size_t len;
};

static void give_idle(void *arg, uint64_t len)
{
	struct idle *idle = arg;

	assert_true(len > 0);
	bfs_unmap(idle->p, idle->len, &bfs_process_budget);
	idle->p = NULL;
}

static void memory_that_nobody_uses_is_given_to_who_waits(void **state)
{
	struct idle idle = { .len = 4 * MIB };
	struct work w = { .lens = { 6 * MIB }, .n = 1 };
	struct bfs_turn turn;

	(void)state;
	idle.spare = (struct bfs_turn_spare){ give_idle, &idle, NULL };
	idle.p = bfs_map(idle.len);
	assert_non_null(idle.p);
	bfs_turn_add_spare(&bfs_process_budget, &idle.spare);
	do_work(&w, &turn);
	assert_int_equal(w.err, BFS_OK);
	assert_null(idle.p);
	give_parts(&w);
	bfs_turn_end(&turn);
	bfs_turn_remove_spare(&bfs_process_budget, &idle.spare);
}

static void failed_allocation_is_not_waited_for(void **state)
{
	struct work w = { .lens = { MIB }, .n = 1 };
	struct bfs_turn turn;

	(void)state;
	bfs_mem_fail_at(1);
	do_work(&w, &turn);
	bfs_turn_end(&turn);
	assert_int_equal(w.err, BFS_ERR_NOMEM);
	assert_int_equal(w.n_tries, 1);
}

static unsigned draw(uint64_t *seed, unsigned n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(*seed >> 33) % n;
}

static _Atomic unsigned n_wrong, n_cancelled, n_limit;

/* Work of many sizes; now and then more than can be had, or cancelled. */
static void *work_at_random(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (unsigned round = 0; round < 150; round++) {
		struct work w = { .n = 1 + draw(&seed, MAX_PARTS) };
		struct bfs_call call, *before;
		struct bfs_turn turn;
		uint64_t sum = 0;

		for (unsigned i = 0; i < w.n; i++) {
			w.lens[i] = 4096 * (1 + draw(&seed, 330));
			sum += w.lens[i];
		}
		bfs_call_init(&call);
		if (!draw(&seed, 4))
			call.cancel_at = 1 + draw(&seed, 3);
		before = bfs_call_enter(&call);
		do_work(&w, &turn);
		bfs_call_leave(before);
		n_cancelled += w.err == BFS_ERR_CANCELLED;
		n_limit += w.err == BFS_ERR_LIMIT;
		n_wrong += w.err != BFS_OK &&
			   (w.err != BFS_ERR_CANCELLED || !call.cancelled) &&
			   (w.err != BFS_ERR_LIMIT || sum < BUDGET * 8 / 10);
		n_wrong += bfs_mem_used() > BUDGET;
		if (w.err == BFS_OK)
			give_parts(&w);
		bfs_turn_end(&turn);
	}
	return NULL;
}

static void many_threads_agree(void **state)
{
	struct work most = { .lens = { BUDGET * 3 / 4 }, .n = 1 };
	struct timespec moment = { .tv_nsec = 10000000 };
	pthread_t threads[N_THREADS];
	struct bfs_turn turn;

	(void)state;
	do_work(&most, &turn);
	assert_int_equal(most.err, BFS_OK);
	for (uintptr_t i = 0; i < N_THREADS; i++)
		start(&threads[i], work_at_random, (void *)(i * 77 + 1));
	/* Some have to wait: who does not cannot be cancelled meanwhile. */
	for (unsigned i = 0; i < 100 && n_cancelled == 0; i++)
		nanosleep(&moment, NULL);
	give_parts(&most);
	bfs_turn_end(&turn);
	for (unsigned i = 0; i < N_THREADS; i++)
		join(threads[i]);
	assert_int_equal(n_wrong, 0);
	assert_true(n_cancelled > 0);
	assert_int_equal(count_waiting(), 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_succeed_where_few_fit_at_once),
		TEST(what_can_never_fit_is_refused_in_words),
		TEST(what_nearly_takes_all_fits),
		TEST(those_who_wait_are_served_in_their_order),
		TEST(little_is_had_while_others_wait_for_much),
		TEST(little_is_served_before_all_who_wait_for_much),
		TEST(small_blocks_find_room_beside_the_largest_work),
		TEST(what_can_never_fit_waits_for_nobody),
		TEST(cancelled_call_waits_no_longer_and_others_move_up),
		TEST(who_holds_memory_does_not_wait_for_more),
		TEST(memory_that_nobody_uses_is_given_to_who_waits),
		TEST(failed_allocation_is_not_waited_for),
		TEST(many_threads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
