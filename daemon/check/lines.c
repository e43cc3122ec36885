/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.c - what --check prints of one container: lines of fields, or an object
 * of JSON.
 */
#include "check/lines.h"

#include "check/words.h"

#include <inttypes.h>
#include <string.h>

const char *check_verdict_name(enum check_verdict verdict)
{
	static const char *const names[CHECK_N_VERDICTS] = {
		[CHECK_GOOD] = "good",
		[CHECK_UNRECOGNISED] = "unrecognised",
		[CHECK_UNSUPPORTED] = "unsupported",
		[CHECK_UNREADABLE] = "unreadable",
		[CHECK_DAMAGED] = "damaged",
	};

	return names[verdict];
}

/* Worded; there is none of what is good. */
static bool word_first(const struct check_finding *finding, char *text,
		       size_t cap)
{
	if (finding->verdict == CHECK_GOOD || !finding->first.text)
		return false;
	check_word(&finding->first, text, cap);
	return true;
}

/* Whether one more may be told, as n were. */
static bool goes_on(const struct check_list *list, size_t i, size_t n)
{
	return n < CHECK_MAX_TOLD - 1 || (n == CHECK_MAX_TOLD - 1 &&
					  i == list->n);
}

/* ---- fields ---------------------------------------------------------- */

/* A column, empty where nothing is known. */
static void put_number(FILE *out, bool known, uint64_t n)
{
	if (known && n != BLOSCFS_NOT_KNOWN)
		fprintf(out, "\t%" PRIu64, n);
	else
		fputs("\t-", out);
}

/* known: what the container's own line says; NULL: nothing. */
static void put_list(FILE *out, const char *word, const char *path,
		     const struct check_list *list,
		     const struct check_told *known)
{
	const struct check_told *told;
	size_t i = 0, n_told = 0;
	char text[640];

	while ((told = check_next(list, &i)) != NULL) {
		if (known && check_is_same(told, known))
			continue;
		fprintf(out, "#%s\t", word);
		words_field(out, path);
		putc('\t', out);
		if (!goes_on(list, i, n_told)) {
			fprintf(out, "more than %d; what follows was not "
				"told\n", CHECK_MAX_TOLD);
			return;
		}
		check_word(told, text, sizeof(text));
		words_field(out, text);
		putc('\n', out);
		n_told++;
	}
}

void check_put_lines(FILE *out, const struct check_record *record)
{
	const struct check_finding *finding = record->finding;
	const struct bloscfs_facts *facts = record->facts;
	bool known = facts->format != NULL;
	char text[640];

	words_field(out, record->path);
	fprintf(out, "\t%s\t", check_verdict_name(finding->verdict));
	words_field(out, known ? facts->format : "-");
	put_number(out, known, facts->nbytes);
	put_number(out, known, facts->cbytes);
	put_number(out, known, facts->n_chunks);
	putc('\t', out);
	words_field(out, word_first(finding, text, sizeof(text)) ? text : "-");
	putc('\n', out);
	put_list(out, "damage", record->path, &finding->damage,
		 finding->verdict == CHECK_DAMAGED ? &finding->first : NULL);
	put_list(out, "note", record->path, &finding->notes, NULL);
}

/* ---- JSON ------------------------------------------------------------ */

static void put_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, ", \"%s\": ", name);
	if (text)
		words_json(out, text);
	else
		fputs("null", out);
}

static void put_count(FILE *out, const char *name, bool known, uint64_t n)
{
	fprintf(out, ", \"%s\": ", name);
	if (known && n != BLOSCFS_NOT_KNOWN)
		fprintf(out, "%" PRIu64, n);
	else
		fputs("null", out);
}

static void put_found(FILE *out, const struct check_told *told)
{
	char entry[512];

	if (told->chunk >= 0)
		fprintf(out, "{\"chunk\": %" PRId64, told->chunk);
	else
		fputs("{\"chunk\": null", out);
	put_count(out, "offset", told->placed, told->off);
	if (told->entry_len > 2) {
		snprintf(entry, sizeof(entry), "%.*s",
			 (int)told->entry_len - 2, told->text);
		put_member(out, "entry", entry);
	}
	put_member(out, "reason", told->text + told->entry_len);
	putc('}', out);
}

static void put_array(FILE *out, const char *name,
		      const struct check_list *list)
{
	const struct check_told *told;
	size_t i = 0, n_told = 0;

	fprintf(out, ", \"%s\": [", name);
	while ((told = check_next(list, &i)) != NULL &&
	       goes_on(list, i, n_told)) {
		if (n_told++)
			fputs(", ", out);
		put_found(out, told);
	}
	putc(']', out);
	if (told)
		fprintf(out, ", \"more_%s\": true", name);
}

static void put_shape(FILE *out, const struct bloscfs_facts *facts)
{
	if (!facts->is_array)
		return;
	fputs(", \"shape\": [", out);
	for (unsigned i = 0; i < facts->ndim && i < BLOSCFS_MAX_DIM; i++)
		fprintf(out, "%s%" PRId64, i ? ", " : "", facts->shape[i]);
	putc(']', out);
	put_member(out, "dtype", facts->dtype_len ? facts->dtype : NULL);
	if (facts->dtype_len >= sizeof(facts->dtype))
		fputs(", \"dtype_truncated\": true", out);
}

static void put_facts(FILE *out, const struct bloscfs_facts *facts)
{
	bool known = facts->format != NULL;

	put_member(out, "format", facts->format);
	put_member(out, "kind",
		   known ? bloscfs_kind_name(facts->kind) : NULL);
	put_count(out, "size", known, facts->data_size);
	put_count(out, "nbytes", known, facts->nbytes);
	put_count(out, "cbytes", known, facts->cbytes);
	put_count(out, "nchunks", known, facts->n_chunks);
	if (!known)
		return;
	put_member(out, "codec", facts->codec[0] ? facts->codec : NULL);
	fputs(", \"filters\": [", out);
	for (unsigned i = 0; i < facts->n_filters; i++) {
		fputs(i ? ", " : "", out);
		words_json(out, facts->filters[i].name);
	}
	putc(']', out);
	put_shape(out, facts);
}

void check_put_json(FILE *out, const struct check_record *record)
{
	const struct check_finding *finding = record->finding;
	char text[640];

	fputs("{\"schema\": 1, ", out);
	words_json_path(out, record->path);
	put_member(out, "verdict", check_verdict_name(finding->verdict));
	put_facts(out, record->facts);
	put_member(out, "error",
		   word_first(finding, text, sizeof(text)) ? text : NULL);
	put_array(out, "damage", &finding->damage);
	put_array(out, "notes", &finding->notes);
	fputs("}\n", out);
}
