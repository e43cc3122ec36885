/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_listing.c - listings of a bucket, and their names as names of files:
 * none leads elsewhere, and each leads back to the store's own.
 */
#include "remote/folder.h"
#include "remote/listing.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_name(const char *stored)
{
	char *name = folder_escape(stored), *back;

	if (!name || !*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		abort();
	back = folder_unescape(name);
	if (!back || strcmp(back, stored) != 0)
		abort();
	free(back);
	free(name);
}

static void check_folder(const struct folder *folder)
{
	for (size_t i = 0; i < folder->n; i++) {
		const char *name = folder->entries[i].name;

		if (strlen(name) > NAME_MAX ||
		    folder_find(folder, name) != &folder->entries[i])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const folders[] = { "", "a/", "deep/er/" };
	char why[REMOTE_WHY_CAP];
	struct folder folder = { 0 };
	struct page page;

	for (size_t i = 0; i < 3; i++) {
		if (listing_parse((const char *)data, len, folders[i], &page,
				  why))
			continue;
		for (size_t k = 0; k < page.n; k++) {
			struct folder_entry entry = {
				.is_folder = page.entries[k].is_folder,
			};

			if (strchr(page.entries[k].name, '/'))
				abort();
			check_name(page.entries[k].name);
			if (folder_add(&folder, page.entries[k].name, &entry))
				abort();
		}
		listing_release(&page);
	}
	check_folder(&folder);
	folder_release(&folder);
	return 0;
}
