/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * told.c - what is found in a container, and the lines that tell it.
 */
#include "check/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Worded as in info.json. */
static void word(char *text, size_t cap, const char *entry,
		 const struct bloscfs_diag *why)
{
	char chunk[32] = "";

	if (why->chunk >= 0)
		snprintf(chunk, sizeof(chunk), "chunk %" PRId64 ": ",
			 why->chunk);
	snprintf(text, cap, "%s%s%s%s, at byte %" PRIu64, entry,
		 *entry ? ": " : "", chunk,
		 why->text[0] ? why->text : bloscfs_err_name(why->err),
		 why->off);
}

/* What there is no memory for is left out: the verdict has it. */
static void add(struct check_list *list, uint64_t pos, const char *text)
{
	size_t cap = list->cap ? 2 * list->cap : 8;
	struct check_told *told;
	char *copy;

	if (list->n == list->cap) {
		told = realloc(list->told, cap * sizeof(*told));
		if (!told)
			return;
		list->told = told;
		list->cap = cap;
	}
	copy = strdup(text);
	if (copy)
		list->told[list->n++] = (struct check_told){ pos, copy };
}

void check_note_as(struct check_finding *finding, uint64_t pos,
		   enum check_verdict verdict, const char *entry,
		   const struct bloscfs_diag *why)
{
	char text[sizeof(finding->text)];

	word(text, sizeof(text), entry, why);
	if (verdict == CHECK_DAMAGED)
		add(&finding->damage, pos, text);
	if (!counts(finding, pos, verdict))
		return;
	finding->verdict = verdict;
	finding->pos = pos;
	memcpy(finding->text, text, sizeof(text));
}

void check_remark(struct check_finding *finding,
		  const struct bloscfs_diag *why)
{
	char text[sizeof(finding->text)];

	word(text, sizeof(text), "", why);
	add(&finding->notes, why->off, text);
}

void check_note(struct check_finding *finding, uint64_t pos,
		enum bloscfs_err err, const char *entry,
		const struct bloscfs_diag *why)
{
	struct bloscfs_diag own = *why;

	own.err = err;
	check_note_as(finding, pos, verdict_of(err), entry, &own);
}

/* ---- lines ----------------------------------------------------------- */

static int compare_told(const void *a, const void *b)
{
	const struct check_told *x = a, *y = b;

	if (x->pos != y->pos)
		return x->pos < y->pos ? -1 : 1;
	return strcmp(x->text, y->text);
}

/* known: what the container's own line says. */
static void put_list(FILE *out, const char *word, const char *path,
		     struct check_list *list, const char *known,
		     void (*put)(FILE *out, const char *text))
{
	const char *before = known;
	size_t n_told = 0;

	if (list->n)
		qsort(list->told, list->n, sizeof(*list->told), compare_told);
	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->told[i].text;

		if (strcmp(text, before) == 0 || strcmp(text, known) == 0)
			continue;
		fprintf(out, "#%s\t", word);
		put(out, path);
		putc('\t', out);
		if (n_told == CHECK_MAX_TOLD - 1) {
			fprintf(out, "more than %d; what follows was not "
				"told\n", CHECK_MAX_TOLD);
			return;
		}
		put(out, text);
		putc('\n', out);
		before = text;
		n_told++;
	}
}

void check_put_told(FILE *out, const char *path, struct check_finding *finding,
		    void (*put)(FILE *out, const char *text))
{
	put_list(out, "damage", path, &finding->damage,
		 finding->verdict == CHECK_DAMAGED ? finding->text : "", put);
	put_list(out, "note", path, &finding->notes, "", put);
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
