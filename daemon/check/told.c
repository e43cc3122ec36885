/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * told.c - what is found in a container, in the order of its places.
 */
#include "check/told.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT sizeof(((struct check_finding *)0)->text)

static enum check_verdict verdict_of(enum bloscfs_err err)
{
	switch (err) {
	case BLOSCFS_OK:
		return CHECK_GOOD;
	case BLOSCFS_ERR_UNSUPPORTED:
	case BLOSCFS_ERR_LIMIT:
		return CHECK_UNSUPPORTED;
	case BLOSCFS_ERR_NOMEM:
	case BLOSCFS_ERR_IO:
	case BLOSCFS_ERR_CHANGED:
	case BLOSCFS_ERR_CANCELLED:
	case BLOSCFS_ERR_TOO_MUCH:
	case BLOSCFS_ERR_NO_FILES:
	case BLOSCFS_ERR_ACCESS:
		return CHECK_UNREADABLE;
	case BLOSCFS_ERR_NOT_FORMAT:
	case BLOSCFS_ERR_TRUNCATED:
	case BLOSCFS_ERR_CORRUPT:
	case BLOSCFS_ERR_RANGE:
	case BLOSCFS_ERR_INVALID:
		break;
	}
	return CHECK_DAMAGED;
}

/* Of equal verdicts, the earlier chunk counts. */
static bool counts(const struct check_finding *finding, uint64_t pos,
		   enum check_verdict verdict)
{
	return verdict > finding->verdict ||
	       (verdict == finding->verdict && pos < finding->pos);
}

void check_word(const struct check_told *told, char *text, size_t cap)
{
	char chunk[32] = "", place[40] = "";

	if (told->chunk >= 0)
		snprintf(chunk, sizeof(chunk), "chunk %" PRId64 ": ",
			 told->chunk);
	if (told->placed)
		snprintf(place, sizeof(place), ", at byte %" PRIu64,
			 told->off);
	snprintf(text, cap, "%.*s%s%s%s", (int)told->entry_len, told->text,
		 chunk, told->text + told->entry_len, place);
}

/* text takes the words. */
static struct check_told told_of(uint64_t pos, const char *entry,
				 const struct bloscfs_diag *why,
				 char text[MAX_TEXT])
{
	snprintf(text, MAX_TEXT, "%s%s%s", entry, *entry ? ": " : "",
		 why->text[0] ? why->text : bloscfs_err_name(why->err));
	return (struct check_told){
		.pos = pos, .chunk = why->chunk < 0 ? -1 : why->chunk,
		.off = why->off, .placed = true, .text = text,
		.entry_len = *entry ? strlen(entry) + 2 : 0,
	};
}

/* What there is no memory for is left out: the verdict has it. */
static void add(struct check_list *list, const struct check_told *told)
{
	size_t cap = list->cap ? 2 * list->cap : 8;
	struct check_told *all;
	char *copy;

	if (list->n == list->cap) {
		all = realloc(list->told, cap * sizeof(*all));
		if (!all)
			return;
		list->told = all;
		list->cap = cap;
	}
	copy = strdup(told->text);
	if (!copy)
		return;
	list->told[list->n] = *told;
	list->told[list->n++].text = copy;
}

void check_note_as(struct check_finding *finding, uint64_t pos,
		   enum check_verdict verdict, const char *entry,
		   const struct bloscfs_diag *why)
{
	char text[sizeof(finding->text)];
	struct check_told told = told_of(pos, entry, why, text);

	if (verdict == CHECK_DAMAGED)
		add(&finding->damage, &told);
	if (!counts(finding, pos, verdict))
		return;
	finding->verdict = verdict;
	finding->pos = pos;
	finding->first = told;
	finding->first.text = memcpy(finding->text, text, sizeof(text));
}

void check_note_words(struct check_finding *finding,
		      enum check_verdict verdict, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, args);
	va_end(args);
	finding->verdict = verdict;
	finding->first = (struct check_told){ .chunk = -1,
					      .text = finding->text };
}

void check_remark(struct check_finding *finding,
		  const struct bloscfs_diag *why)
{
	char text[sizeof(finding->text)];
	struct check_told told = told_of(why->off, "", why, text);

	add(&finding->notes, &told);
}

void check_note(struct check_finding *finding, uint64_t pos,
		enum bloscfs_err err, const char *entry,
		const struct bloscfs_diag *why)
{
	struct bloscfs_diag own = *why;

	own.err = err;
	check_note_as(finding, pos, verdict_of(err), entry, &own);
}

/* ---- in order -------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_told(const void *a, const void *b)
{
	const struct check_told *x = a, *y = b;
	int order = compare_u64(x->pos, y->pos);

	if (!order)
		order = strcmp(x->text, y->text);
	if (!order)
		order = compare_u64((uint64_t)x->chunk, (uint64_t)y->chunk);
	return order ? order : compare_u64(x->off, y->off);
}

bool check_is_same(const struct check_told *a, const struct check_told *b)
{
	return a->chunk == b->chunk && a->off == b->off &&
	       a->placed == b->placed && a->entry_len == b->entry_len &&
	       strcmp(a->text, b->text) == 0;
}

static void sort(struct check_list *list)
{
	if (list->n)
		qsort(list->told, list->n, sizeof(*list->told), compare_told);
}

void check_sort(struct check_finding *finding)
{
	sort(&finding->damage);
	sort(&finding->notes);
}

const struct check_told *check_next(const struct check_list *list, size_t *i)
{
	const struct check_told *told;

	do {
		if (*i == list->n)
			return NULL;
		told = &list->told[(*i)++];
	} while (*i > 1 && check_is_same(told, told - 1));
	return told;
}

static void release_list(struct check_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->told[i].text);
	free(list->told);
}

void check_finding_release(struct check_finding *finding)
{
	release_list(&finding->damage);
	release_list(&finding->notes);
}
