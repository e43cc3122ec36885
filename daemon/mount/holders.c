/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holders.c - see holders.h.
 */
#include "mount/holders.h"

#include "tree/mounttable.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SPACES 64

struct search {
	unsigned major, minor;
	bool found;
	char own[64];			/* our namespace */
	char seen[MAX_SPACES][64];	/* that were looked into */
	size_t n_seen;
};

/* Whether a link of /proc leads to the mount; from memory. */
static bool leads_there(const struct search *s, const char *link)
{
	struct statx st;

	return statx(AT_FDCWD, link, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0,
		     &st) == 0 &&
	       st.stx_dev_major == s->major && st.stx_dev_minor == s->minor;
}

static bool has_open(const struct search *s, const char *pid)
{
	static const char *const links[] = { "cwd", "root", "exe" };
	char path[128];
	const struct dirent *entry;
	bool found = false;
	DIR *fds;

	for (size_t i = 0; i < 3 && !found; i++) {
		snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, links[i]);
		found = leads_there(s, path);
	}
	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	fds = found ? NULL : opendir(path);
	while (fds && !found && (entry = readdir(fds))) {
		snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid,
			 entry->d_name);
		found = entry->d_name[0] != '.' && leads_there(s, path);
	}
	if (fds)
		closedir(fds);
	return found;
}

static bool has_mapped(const struct search *s, const char *pid)
{
	char path[64], *line = NULL;
	unsigned major, minor;
	size_t cap = 0;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	maps = fopen(path, "re");
	while (maps && !found && getline(&line, &cap, maps) > 0)
		found = sscanf(line, "%*s %*s %*s %x:%x", &major, &minor) ==
			2 && major == s->major && minor == s->minor;
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

static bool see_mount(void *arg, const struct mount_entry *entry)
{
	struct search *s = arg;

	s->found = entry->major == s->major && entry->minor == s->minor;
	return !s->found;
}

/* Whether the process is the first of a namespace not ours that has it. */
static bool has_mount(struct search *s, const char *pid)
{
	char path[64], space[64];
	FILE *table;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/mnt", pid);
	len = readlink(path, space, sizeof(space) - 1);
	if (len < 0)
		return false;
	space[len] = '\0';
	if (strcmp(space, s->own) == 0 || s->n_seen == MAX_SPACES)
		return false;
	for (size_t i = 0; i < s->n_seen; i++) {
		if (strcmp(space, s->seen[i]) == 0)
			return false;
	}
	memcpy(s->seen[s->n_seen++], space, sizeof(space));
	snprintf(path, sizeof(path), "/proc/%.20s/mountinfo", pid);
	table = fopen(path, "re");
	if (!table)
		return false;
	s->found = false;
	mounttable_read(table, see_mount, s);
	fclose(table);
	return s->found;
}

static void add(char *list, size_t cap, const char *pid)
{
	char path[64], name[32] = "?";
	size_t len = strlen(list);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
	if (cap - len > 64)
		snprintf(list + len, cap - len, "%s%s (%.20s)",
			 len ? ", " : "", name, pid);
}

void holders_find(unsigned major, unsigned minor, struct holders *ret)
{
	struct search s = { .major = major, .minor = minor };
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	char self[16];
	bool own = false, uses;
	ssize_t len = readlink("/proc/self/ns/mnt", s.own,
			       sizeof(s.own) - 1);

	s.own[len > 0 ? len : 0] = '\0';
	*ret = (struct holders){ 0 };
	snprintf(self, sizeof(self), "%d", (int)getpid());
	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		uses = has_open(&s, entry->d_name) ||
		       has_mapped(&s, entry->d_name);
		if (uses && strcmp(entry->d_name, self) == 0)
			own = true;
		else if (uses)
			add(ret->users, sizeof(ret->users), entry->d_name);
		if (has_mount(&s, entry->d_name))
			add(ret->spaces, sizeof(ret->spaces), entry->d_name);
	}
	/* What we have open came from whoever started us: told only where it
	 * is nobody else's any more. */
	if (own && !ret->users[0])
		add(ret->users, sizeof(ret->users), self);
	if (proc)
		closedir(proc);
}
