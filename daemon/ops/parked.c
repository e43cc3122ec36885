/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parked.c - see parked.h.
 */
#include "ops/parked.h"

#include "invariant.h"

#include <stdint.h>
#include <time.h>

void parking_init(struct parking *parking)
{
	parking->first = NULL;
	parking->last = &parking->first;
}

void parking_append(struct parking *parking, struct parked *p)
{
	INVARIANT(!*parking->last);
	p->next = NULL;
	*parking->last = p;
	parking->last = &p->next;
}

void parking_take_out(struct parking *parking, struct parked *p)
{
	struct parked **at = &parking->first;

	while (*at != p) {
		INVARIANT(*at);
		at = &(*at)->next;
	}
	*at = p->next;
	if (!*at)
		parking->last = at;
}

struct parked *parking_find(const struct parking *parking, uint64_t number)
{
	struct parked *p = parking->first;

	while (p && p->number != number)
		p = p->next;
	return p;
}

struct parked *parking_find_cancelled(const struct parking *parking)
{
	struct parked *p = parking->first;

	while (p && !(p->cancelled && parked_waits(p)))
		p = p->next;
	return p;
}

/* Where a container's costs are, or those of another that share the place. */
static size_t place_of(const void *container)
{
	uintptr_t hash = (uintptr_t)container / sizeof(void *) * 2654435761u;

	return hash >> 8 & (N_COSTS - 1);
}

void costs_add(struct costs *costs, const void *container, uint64_t ns,
	       time_t now)
{
	struct cost *cost = &costs->rows[place_of(container)];
	time_t n = now - costs->halved;

	for (size_t i = 0; n > 0 && i < N_COSTS; i++)
		costs->rows[i].ns = n < 64 ? costs->rows[i].ns >> n : 0;
	costs->halved = now;
	if (cost->container != container)
		*cost = (struct cost){ .container = container };
	cost->ns += ns;
}

uint64_t costs_of(const struct costs *costs, const void *container)
{
	const struct cost *cost = &costs->rows[place_of(container)];

	return cost->container == container ? cost->ns : 0;
}

/* Whether one more thread may be at what is like this. */
static bool has_share(const struct parking *parking, const struct parked *of,
		      unsigned share, unsigned n_threads)
{
	unsigned n_alike = 0, n_server = 0, n_all = 0;

	for (const struct parked *p = parking->first; p; p = p->next) {
		if (!p->call || p->stage != of->stage)
			continue;
		n_all++;
		n_alike += p->container == of->container;
		n_server += p->server == of->server;
	}
	return n_alike < share &&
	       (!of->server || n_all + n_server < n_threads);
}

struct parked *parking_pick(const struct parking *parking, enum stage stage,
			    const struct costs *costs, unsigned share,
			    unsigned n_threads)
{
	struct parked *best = NULL;
	uint64_t least = UINT64_MAX, turn;

	for (struct parked *p = parking->first; p; p = p->next) {
		if (p->stage != stage || !parked_waits(p))
			continue;
		turn = p->since_ns + costs_of(costs, p->container);
		if (turn < least && has_share(parking, p, share, n_threads)) {
			best = p;
			least = turn;
		}
	}
	return best;
}
