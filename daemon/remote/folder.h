/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folder.h - the entries of one folder of a store, as far as they are known:
 * by number, as a listing goes through them, and by name.
 *
 * Names are those of the mount: one reversible rule makes file names of the
 * store's own (bloscfs(1), SERVERS). Not locked.
 */
#ifndef BFS_DAEMON_REMOTE_FOLDER_H
#define BFS_DAEMON_REMOTE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct folder_entry {
	char *name;		/* in the mount; owned */
	char *url;		/* of a catalog's file; owned, or NULL */
	bool is_folder;
	bool told;		/* what follows is known */
	uint64_t size, identity;
	int64_t modified;
};

struct folder {
	struct folder_entry *entries;
	size_t n, cap;
	size_t text_len;	/* of all names and addresses */
	uint32_t *slots;	/* entry + 1 by hash of its name; 0: none */
	size_t n_slots;
};

void folder_release(struct folder *folder);
/* The bytes of memory that it takes, about. */
size_t folder_memory(const struct folder *folder);
/* Adds what the store calls name. What has a name already gets "%~2" appended
 * (a folder beside a file), and is left out where that one is there, too, or
 * where it is the same again. url is copied. 0 or -ENOMEM. */
int folder_add(struct folder *folder, const char *name,
	       const struct folder_entry *facts);
const struct folder_entry *folder_find(const struct folder *folder,
				       const char *name);

/* A store's name as a file's; to be freed. NULL on no memory. */
char *folder_escape(const char *name);
/* The way back: a path of file names as the store's, without any "%~2". To be
 * freed; NULL on no memory. */
char *folder_unescape(const char *path);
/* A number for what a store tells of an object's content. The date counts: what
 * an index tells of other objects may be the same again, when they are not. */
uint64_t folder_identity(const char *tag, int64_t modified);
/* A number for entries that a store lists one after the other, of that of those
 * before (0 at first) and one more. Folders count by their names. */
uint64_t folder_state(uint64_t before, const char *name,
		      const struct folder_entry *entry);

#endif
