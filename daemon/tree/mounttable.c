/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounttable.c - lines of mountinfo become entries.
 */
#include "tree/mounttable.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Blanks and backslashes are octal there. In place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' &&
		    from[2] && from[3]) {
			*to = (char)((from[1] - '0') * 64 +
				     (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* "TYPE SOURCE OPTIONS": what comes behind the dash. */
static bool read_system(char *text, struct mount_entry *entry)
{
	char *save, *type = strtok_r(text, " \n", &save);
	char *source = strtok_r(NULL, " \n", &save);
	char *options = strtok_r(NULL, " \n", &save), *owner;

	if (!type || !source)
		return false;
	unescape(source);
	snprintf(entry->type, sizeof(entry->type), "%s", type);
	snprintf(entry->source, sizeof(entry->source), "%s", source);
	owner = options ? strstr(options, "user_id=") : NULL;
	entry->has_owner = owner && (owner == options || owner[-1] == ',');
	if (entry->has_owner)
		entry->owner = (uid_t)strtoul(owner + 8, NULL, 10);
	return true;
}

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS" */
static bool read_line(char *line, struct mount_entry *entry)
{
	char *system = strstr(line, " - "), *save, *word;

	*entry = (struct mount_entry){ 0 };
	if (!system || !read_system(system + 3, entry))
		return false;
	*system = '\0';
	if (sscanf(line, "%u %*u %u:%u", &entry->id, &entry->major,
		   &entry->minor) != 3)
		return false;
	word = strtok_r(line, " ", &save);
	for (int i = 0; word && i < 4; i++)
		word = strtok_r(NULL, " ", &save);
	if (!word)
		return false;
	unescape(word);
	entry->point = word;
	return true;
}

bool mounttable_read(FILE *table, mounttable_see see, void *arg)
{
	struct mount_entry entry;
	char *line = NULL;
	size_t cap = 0;
	bool go_on = true, whole;

	while (go_on && getline(&line, &cap, table) > 0) {
		if (read_line(line, &entry))
			go_on = see(arg, &entry);
	}
	whole = !ferror(table) && (!go_on || feof(table));
	free(line);
	return whole;
}

struct search {
	const char *path;
	struct mount_entry found;
	bool any;
};

/* The later one lies on top. */
static bool see_if_there(void *arg, const struct mount_entry *entry)
{
	struct search *search = arg;

	if (strcmp(entry->point, search->path) == 0) {
		search->found = *entry;
		search->any = true;
	}
	return true;
}

bool mount_find(const char *path, struct mount_entry *ret_entry)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	struct search search = { .path = path };

	if (!table)
		return false;
	mounttable_read(table, see_if_there, &search);
	fclose(table);
	if (!search.any)
		return false;
	search.found.point = NULL;
	*ret_entry = search.found;
	return true;
}

bool mount_has_table(void)
{
	return access("/proc/self/mountinfo", F_OK) == 0;
}

struct moved {
	struct mount_entry wanted;
	char *path;
};

static bool see_if_same(void *arg, const struct mount_entry *entry)
{
	struct moved *moved = arg;

	if (entry->id != moved->wanted.id ||
	    entry->major != moved->wanted.major ||
	    entry->minor != moved->wanted.minor)
		return true;
	moved->path = strdup(entry->point);
	return false;
}

char *mount_find_moved(unsigned id, unsigned major, unsigned minor)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	struct moved moved = { .wanted = { .id = id, .major = major,
					   .minor = minor } };

	if (!table)
		return NULL;
	mounttable_read(table, see_if_same, &moved);
	fclose(table);
	return moved.path;
}

/* The kernel may show a mount without its subtype where that was lost. */
bool mounttable_is_bloscfs(const struct mount_entry *entry)
{
	return strcmp(entry->type, "fuse.bloscfs") == 0 ||
	       (strcmp(entry->type, "fuse") == 0 &&
		strncmp(entry->source, "bloscfs", 7) == 0);
}
