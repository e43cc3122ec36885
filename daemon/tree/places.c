/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.c - numbers of entries become offsets. When the marks are used up,
 * every other one is dropped.
 */
#include "tree/places.h"

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (const unsigned char *s = (const unsigned char *)name; *s; s++)
		hash = (hash ^ *s) * 16777619u;
	return hash ? hash : 1;
}

void places_reset(struct places *places)
{
	*places = (struct places){ .n_marks = 1, .stride = 1 };
}

void places_note(struct places *places, uint64_t number, off_t off)
{
	struct place *place = &places->recent[number % PLACES_RECENT];

	if (place->number != number || place->off != off)
		*place = (struct place){ .number = number, .off = off };
	if (number != places->n_marks * places->stride)
		return;
	if (places->n_marks == PLACES_MARKS) {
		for (size_t i = 0; i < PLACES_MARKS / 2; i++)
			places->marks[i] = places->marks[2 * i];
		places->n_marks = PLACES_MARKS / 2;
		places->stride *= 2;
	}
	places->marks[places->n_marks++] = off;
}

void places_name(struct places *places, uint64_t number, const char *name)
{
	struct place *place = &places->recent[number % PLACES_RECENT];

	if (place->number == number)
		place->hash = hash_of(name);
}

void places_find(const struct places *places, uint64_t number,
		 uint64_t *ret_number, off_t *ret_off)
{
	const struct place *place = &places->recent[number % PLACES_RECENT];
	uint64_t mark = number / places->stride;

	if (place->number == number) {
		*ret_number = number;
		*ret_off = place->off;
		return;
	}
	if (mark >= places->n_marks)
		mark = places->n_marks - 1;
	*ret_number = mark * places->stride;
	*ret_off = places->marks[mark];
}

bool places_differ(const struct places *places, uint64_t number,
		   const char *name)
{
	const struct place *place = &places->recent[number % PLACES_RECENT];

	return place->number == number && place->hash &&
	       place->hash != hash_of(name);
}
