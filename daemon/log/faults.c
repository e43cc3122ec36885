/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.c - the table of faults: entries in order of their first time, and
 * an index by what makes them the same.
 */
#include "log/faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_SLOTS (2 * FAULTS_MAX)
#define PATH_KEPT 1024		/* bytes of a path */

struct entry {
	uint64_t key;
	uint64_t n;		/* times met */
	int64_t time;		/* the first, seconds */
	int64_t chunk;
	uint64_t off;
	enum bloscfs_err err;
	bool told;
	char *path;		/* NULL if memory was short */
	char *reason;		/* the same */
};

static struct {
	pthread_mutex_t lock;
	struct entry *entries;	/* made with the first fault */
	size_t n_entries;
	uint16_t slots[N_SLOTS];	/* 0: free; else entry + 1 */
	uint64_t n_dropped;
	int64_t dropped_time;	/* the last */
	uint64_t failed[FAULTS_N_KINDS];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t mix_bytes(uint64_t key, const void *buf, size_t len)
{
	const unsigned char *bytes = buf;

	for (size_t i = 0; i < len; i++)
		key = (key ^ bytes[i]) * UINT64_C(0x100000001b3);
	return key;
}

static uint64_t key_of(const struct fault *fault)
{
	const struct bloscfs_diag *why = fault->why;
	uint64_t key = UINT64_C(0xcbf29ce484222325);

	key = mix_bytes(key, fault->path, strlen(fault->path) + 1);
	if (why->text[0] == '\0')
		key = mix_bytes(key, fault->what, strlen(fault->what) + 1);
	key = mix_bytes(key, &why->chunk, sizeof(why->chunk));
	key = mix_bytes(key, &why->off, sizeof(why->off));
	return mix_bytes(key, why->text, strlen(why->text) + 1);
}

/* Where memory ended there is an errno but no diagnosis. */
static enum bloscfs_err kind_of(const struct fault *fault)
{
	enum bloscfs_err err = fault->why->err;

	if (err > BLOSCFS_OK && err < FAULTS_N_KINDS)
		return err;
	return fault->error == ENOMEM ? BLOSCFS_ERR_NOMEM : BLOSCFS_ERR_IO;
}

static int64_t now(void)
{
	return (int64_t)time(NULL);
}

/* The slot of a key: its own, or a free one. */
static uint16_t *find_slot(uint64_t key)
{
	size_t i = key % N_SLOTS;

	while (state.slots[i] && state.entries[state.slots[i] - 1].key != key)
		i = (i + 1) % N_SLOTS;
	return &state.slots[i];
}

static void fill_entry(struct entry *entry, uint64_t key,
		       const struct fault *fault, bool told)
{
	const struct bloscfs_diag *why = fault->why;
	enum bloscfs_err kind = kind_of(fault);

	*entry = (struct entry){
		.key = key, .n = 1, .time = now(), .chunk = why->chunk,
		.off = why->off, .err = kind, .told = told,
		.path = strndup(fault->path, PATH_KEPT),
		.reason = strdup(why->text[0] ? why->text : fault->what),
	};
}

/* With the lock held. */
static bool note(const struct fault *fault, bool told)
{
	uint64_t key = key_of(fault);
	uint16_t *slot;

	if (!state.entries)
		state.entries = calloc(FAULTS_MAX, sizeof(*state.entries));
	if (!state.entries)
		return true;
	slot = find_slot(key);
	if (*slot) {
		state.entries[*slot - 1].n++;
		return false;
	}
	if (state.n_entries == FAULTS_MAX) {
		state.n_dropped++;
		state.dropped_time = now();
		return false;
	}
	fill_entry(&state.entries[state.n_entries], key, fault, told);
	*slot = (uint16_t)++state.n_entries;
	return true;
}

bool faults_note(const struct fault *fault, bool told)
{
	bool fresh;

	pthread_mutex_lock(&state.lock);
	if (fault->error)
		state.failed[kind_of(fault)]++;
	fresh = note(fault, told);
	pthread_mutex_unlock(&state.lock);
	return fresh;
}

static void write_time(FILE *out, int64_t seconds)
{
	time_t when = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (!gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		strcpy(text, "-");
	fputs(text, out);
}

/* What would end a field or a line is spelt out. */
static void write_field(FILE *out, const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		switch (*s) {
		case '\t':
			fputs("\\t", out);
			break;
		case '\n':
			fputs("\\n", out);
			break;
		case '\\':
			fputs("\\\\", out);
			break;
		default:
			if (*s < 0x20 || *s == 0x7f)
				fprintf(out, "\\x%02x", *s);
			else
				putc(*s, out);
		}
	}
}

static void write_entry(FILE *out, const struct entry *entry)
{
	write_time(out, entry->time);
	putc('\t', out);
	write_field(out, entry->path ? entry->path : "?");
	if (entry->chunk >= 0)
		fprintf(out, "\t%lld\t", (long long)entry->chunk);
	else
		fputs("\t-\t", out);
	fprintf(out, "%s\t", bloscfs_err_name(entry->err));
	write_field(out, entry->reason ? entry->reason : "?");
	fprintf(out, ", offset %llu\t%llu\n", (unsigned long long)entry->off,
		(unsigned long long)entry->n);
}

void faults_write(FILE *out)
{
	fputs("# time\tpath\tchunk\terror\treason\tcount\n", out);
	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < state.n_entries; i++)
		write_entry(out, &state.entries[i]);
	if (state.n_dropped) {
		write_time(out, state.dropped_time);
		fprintf(out, "\t-\t-\t-\tfurther faults, not kept one by one"
			"\t%llu\n", (unsigned long long)state.n_dropped);
	}
	pthread_mutex_unlock(&state.lock);
}

void faults_count(struct fault_counts *ret_counts)
{
	pthread_mutex_lock(&state.lock);
	memcpy(ret_counts->failed, state.failed, sizeof(state.failed));
	ret_counts->n_distinct = state.n_entries;
	ret_counts->n_dropped = state.n_dropped;
	pthread_mutex_unlock(&state.lock);
}

uint64_t faults_sum_up(void (*tell)(const char *path, uint64_t n_repeats))
{
	uint64_t n_dropped;

	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < state.n_entries; i++) {
		struct entry *entry = &state.entries[i];

		if (entry->told && entry->n > 1)
			tell(entry->path ? entry->path : "?", entry->n - 1);
		free(entry->path);
		free(entry->reason);
	}
	free(state.entries);
	state.entries = NULL;
	state.n_entries = 0;
	memset(state.slots, 0, sizeof(state.slots));
	memset(state.failed, 0, sizeof(state.failed));
	n_dropped = state.n_dropped;
	state.n_dropped = 0;
	pthread_mutex_unlock(&state.lock);
	return n_dropped;
}
