/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.h - where the entries of a directory of the source lie, by their
 * number in a listing. A listing that shows two names for one entry needs
 * offsets of its own, and those of file systems leave no bit for it.
 *
 * Constant memory: the last entries are known exactly, and places at equal
 * distances from the beginning on, from where the others are counted.
 */
#ifndef BFS_DAEMON_TREE_PLACES_H
#define BFS_DAEMON_TREE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLACES_RECENT 512
#define PLACES_MARKS 512

struct place {
	uint64_t number;
	off_t off;		/* the source's, before the entry */
	uint32_t hash;		/* of its name; 0: not read yet */
};

struct places {
	struct place recent[PLACES_RECENT];	/* by number */
	off_t marks[PLACES_MARKS];	/* before each stride-th entry */
	size_t n_marks;
	uint64_t stride;
};

/* The beginning is the one known place. */
void places_reset(struct places *places);
/* Entry number, not read yet, lies at off. Numbers come in order, or again. */
void places_note(struct places *places, uint64_t number, off_t off);
/* Its name. */
void places_name(struct places *places, uint64_t number, const char *name);
/* The last known place up to number. */
void places_find(const struct places *places, uint64_t number,
		 uint64_t *ret_number, off_t *ret_off);
/* Whether an entry was another one when it was read last. */
bool places_differ(const struct places *places, uint64_t number,
		   const char *name);

#endif
