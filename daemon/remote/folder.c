/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folder.c - entries of a folder, and the rule for their names.
 */
#include "remote/folder.h"

#include "remote/percent.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MALLOC_HEAD 16		/* what a text takes besides, about */
#define SECOND "%~2"

void folder_release(struct folder *folder)
{
	for (size_t i = 0; i < folder->n; i++) {
		free(folder->entries[i].name);
		free(folder->entries[i].url);
	}
	free(folder->entries);
	free(folder->slots);
	*folder = (struct folder){ 0 };
}

/* FNV-1a; a folder's names come from one store, which harms itself alone by
 * names that collide. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

uint64_t folder_identity(const char *tag, int64_t modified)
{
	return (hash_text(tag) ^
		(uint64_t)modified * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

uint64_t folder_state(uint64_t before, const char *name,
		      const struct folder_entry *entry)
{
	const uint64_t facts[] = { hash_text(name), entry->is_folder,
				   entry->size, entry->identity };
	uint64_t state = before;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		state = ((state ^ facts[i]) + 1) *
			UINT64_C(0x9e3779b97f4a7c15);
	return state;
}

/* The slot that holds name, or the free one where it would go. */
static uint32_t *slot_of(const struct folder *folder, const char *name)
{
	size_t i = hash_text(name) & (folder->n_slots - 1);

	while (folder->slots[i] &&
	       strcmp(folder->entries[folder->slots[i] - 1].name, name) != 0)
		i = (i + 1) & (folder->n_slots - 1);
	return &folder->slots[i];
}

const struct folder_entry *folder_find(const struct folder *folder,
				       const char *name)
{
	uint32_t slot = folder->n_slots ? *slot_of(folder, name) : 0;

	return slot ? &folder->entries[slot - 1] : NULL;
}

static int grow(struct folder *folder)
{
	size_t cap = folder->cap ? 2 * folder->cap : 32;
	struct folder_entry *entries;
	uint32_t *slots, *old = folder->slots;

	if (folder->n < folder->cap)
		return 0;
	if (cap > UINT32_MAX / 4)
		return -ENOMEM;
	entries = realloc(folder->entries, cap * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	folder->entries = entries;
	slots = calloc(2 * cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	folder->slots = slots;
	folder->n_slots = 2 * cap;
	folder->cap = cap;
	for (size_t i = 0; i < folder->n; i++)
		*slot_of(folder, entries[i].name) = (uint32_t)i + 1;
	free(old);
	return 0;
}

int folder_add(struct folder *folder, const char *name,
	       const struct folder_entry *facts)
{
	struct folder_entry entry = *facts;
	const struct folder_entry *first = NULL;
	char *second;
	int status = grow(folder);

	if (status)
		return status;
	entry.name = folder_escape(name);
	if (entry.name)
		first = folder_find(folder, entry.name);
	/* A store may tell one name in two pages. */
	if (first && first->is_folder == facts->is_folder) {
		free(entry.name);
		return 0;
	}
	if (first) {
		if (asprintf(&second, "%s%s", entry.name, SECOND) < 0)
			second = NULL;
		free(entry.name);
		entry.name = second;
	}
	if (!entry.name)
		return -ENOMEM;
	if (strlen(entry.name) > NAME_MAX ||
	    folder_find(folder, entry.name)) {
		free(entry.name);
		return 0;
	}
	entry.url = facts->url ? strdup(facts->url) : NULL;
	if (facts->url && !entry.url) {
		free(entry.name);
		return -ENOMEM;
	}
	folder->text_len += strlen(entry.name) + 1;
	if (entry.url)
		folder->text_len += strlen(entry.url) + 1;
	folder->entries[folder->n] = entry;
	*slot_of(folder, entry.name) = (uint32_t)++folder->n;
	return 0;
}

size_t folder_memory(const struct folder *folder)
{
	return folder->cap * sizeof(*folder->entries) +
	       folder->n_slots * sizeof(*folder->slots) +
	       folder->n * MALLOC_HEAD + folder->text_len;
}

static bool needs_escape(unsigned char c)
{
	return c == '%' || c == '/' || c < 0x20 || c == 0x7f;
}

char *folder_escape(const char *name)
{
	bool dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
	char *text = malloc(3 * strlen(name) + 2), *to = text;

	if (!text)
		return NULL;
	if (!*name)
		*to++ = '%';
	for (; *name; name++) {
		if (dots || needs_escape((unsigned char)*name))
			to += sprintf(to, "%%%02X", (unsigned char)*name);
		else
			*to++ = *name;
	}
	*to = '\0';
	return text;
}

char *folder_unescape(const char *path)
{
	size_t len = strlen(path);
	char *text = malloc(len + 1), *to = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		int byte;

		if (i && strncmp(path + i, SECOND, 3) == 0 &&
		    (i + 3 == len || path[i + 3] == '/')) {
			i += 2;
			continue;
		}
		byte = path[i] == '%' && i + 2 < len ? percent_byte(path + i) :
						       -1;
		if (byte > 0) {
			*to++ = (char)byte;
			i += 2;
		} else if (path[i] != '%' || (i + 1 < len &&
					      path[i + 1] != '/')) {
			*to++ = path[i];
		}
	}
	*to = '\0';
	return text;
}
