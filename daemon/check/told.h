/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * told.h - what --check finds in a container, and in which order it is told.
 */
#ifndef BFS_DAEMON_CHECK_TOLD_H
#define BFS_DAEMON_CHECK_TOLD_H

#include "bloscfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The worse verdict hides the better one. */
enum check_verdict {
	CHECK_GOOD,
	CHECK_UNRECOGNISED,	/* only bears a container's name */
	CHECK_UNSUPPORTED,
	CHECK_UNREADABLE,
	CHECK_DAMAGED,
	CHECK_N_VERDICTS
};

/* What is told of one container at most, beside its verdict. */
#define CHECK_MAX_TOLD 100000

/* A fault, or a note. */
struct check_told {
	uint64_t pos;		/* as below */
	int64_t chunk;		/* -1: of none */
	uint64_t off;		/* in the file, if it is placed */
	bool placed;
	size_t entry_len;	/* bytes of text that name an entry, ": "
				 * included */
	char *text;		/* entry and reason; owned by a list */
};

/* Faults or notes, in no order. */
struct check_list {
	struct check_told *told;
	size_t n, cap;
};

/* The first fault of the worst kind, and all that is damaged. */
struct check_finding {
	enum check_verdict verdict;
	uint64_t pos;		/* of the chunk; 0: before all chunks */
	struct check_told first; /* text is below, or NULL */
	char text[512];
	struct check_list damage, notes;
};

/* What is printed of a container. */
struct check_record {
	const char *path;
	const struct bloscfs_facts *facts; /* format NULL: not known */
	struct check_finding *finding;
};

/* Notes what is worse than what was found before. pos: of the chunk, from 1
 * on; 0: before all chunks. entry: where it is, or "". */
void check_note(struct check_finding *finding, uint64_t pos,
		enum bloscfs_err err, const char *entry,
		const struct bloscfs_diag *why);
/* Notes what is no fault. */
void check_remark(struct check_finding *finding,
		  const struct bloscfs_diag *why);
/* The same of a container that could not be opened, in words. */
__attribute__((format(printf, 3, 4)))
void check_note_words(struct check_finding *finding,
		      enum check_verdict verdict, const char *fmt, ...);
/* Puts damage in the order of places, then notes. */
void check_sort(struct check_finding *finding);
/* The next of a list that was sorted, from *i on, which is no repetition; NULL:
 * no more. */
const struct check_told *check_next(const struct check_list *list, size_t *i);
bool check_is_same(const struct check_told *a, const struct check_told *b);
/* Worded as in info.json. */
void check_word(const struct check_told *told, char *text, size_t cap);
void check_finding_release(struct check_finding *finding);
/* The same with a verdict that is given. */
void check_note_as(struct check_finding *finding, uint64_t pos,
		   enum check_verdict verdict, const char *entry,
		   const struct bloscfs_diag *why);

#endif
