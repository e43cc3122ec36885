/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unmount.c - see unmount.h.
 */
#include "mount/unmount.h"

#include "mount/holders.h"
#include "mount/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAIT_SECONDS 60
#define STEP_SECONDS 3

void unmount_thread_name(char *buf, unsigned major, unsigned minor)
{
	snprintf(buf, UNMOUNT_THREAD_NAME_CAP, "bfs-%u:%u", major, minor);
}

static bool has_name(const char *task, const char *wanted)
{
	char path[64], name[UNMOUNT_THREAD_NAME_CAP + 1];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%.40s/comm", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, name, sizeof(name) - 1);
	close(fd);
	name[len > 0 ? len : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, wanted) == 0;
}

static bool has_thread(const char *pid, const char *wanted)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return false;
	while (!found && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s", pid,
			 entry->d_name);
		found = has_name(path, wanted);
	}
	closedir(tasks);
	return found;
}

/* Who keeps the mount that this process serves; itself where it does both. */
static pid_t keeper_of(const char *pid)
{
	char path[64], text[512] = "", *rest;
	ssize_t len;
	long keeper;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return atoi(pid);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	/* "pid (name) state parent ..." */
	rest = strrchr(text, ')');
	if (!strstr(text, "(" UNMOUNT_SERVER_NAME ")") || !rest ||
	    strlen(rest) < 4)
		return atoi(pid);
	keeper = strtol(rest + 4, NULL, 10);
	return keeper > 1 ? (pid_t)keeper : atoi(pid);
}

/* A descriptor that becomes readable when the daemon ends, or -1. */
static int find_daemon(const struct mount_entry *mount)
{
	char wanted[UNMOUNT_THREAD_NAME_CAP];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int fd = -1;

	unmount_thread_name(wanted, mount->major, mount->minor);
	while (proc && fd < 0 && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !has_thread(entry->d_name, wanted))
			continue;
		fd = (int)syscall(SYS_pidfd_open, keeper_of(entry->d_name),
				  0);
	}
	if (proc)
		closedir(proc);
	return fd;
}

/* Whether the daemon ends. It does not while somebody has the mount: there
 * is nothing to wait for then. */
static bool wait_gone(const struct mount_entry *mount, int daemon_fd,
		      struct holders *ret_holders)
{
	struct pollfd ended = { .fd = daemon_fd, .events = POLLIN };

	*ret_holders = (struct holders){ 0 };
	if (daemon_fd < 0)
		return true;
	for (int i = 0; i < WAIT_SECONDS; i += STEP_SECONDS) {
		if (poll(&ended, 1, STEP_SECONDS * 1000) == 1)
			return true;
		holders_find(mount->major, mount->minor, ret_holders);
		if (ret_holders->users[0] || ret_holders->spaces[0])
			return false;
	}
	return false;
}

/* "; in use by a (1); still in the namespace of b (2)" */
static void tell_holders(char *buf, size_t cap, const struct holders *who)
{
	snprintf(buf, cap, "%s%s%s%s", who->users[0] ? "; in use by " : "",
		 who->users, who->spaces[0] ?
		 "; still mounted in the namespace of " : "", who->spaces);
}

/* What helps against a reason that a mount cannot be taken away for. */
static const char *advice(const char *reason, const struct holders *who)
{
	if (strstr(reason, "/etc/mtab"))
		return "root makes it by 'ln -s /proc/self/mounts /etc/mtab'";
	if (who->users[0] || strcasestr(reason, "busy"))
		return "close what is open there and try again";
	return "root may unmount it, or end its daemon";
}

static int detach(const char *mountpoint, const char *path,
		  const struct mount_entry *mount, char *error, size_t cap)
{
	struct holders who = { 0 };
	char reason[512], held[600];
	int daemon_fd = find_daemon(mount), status;

	status = mount_detach(path, false, reason, sizeof(reason));
	if (status == -ENOPKG) {
		snprintf(error, cap, "cannot unmount '%s': %s", mountpoint,
			 reason);
	} else if (status) {
		holders_find(mount->major, mount->minor, &who);
		/* What other namespaces have is no reason: theirs may stay. */
		who.spaces[0] = '\0';
		tell_holders(held, sizeof(held), &who);
		snprintf(error, cap, "cannot unmount '%s': %s%s; %s",
			 mountpoint, reason, held, advice(reason, &who));
	} else if (!wait_gone(mount, daemon_fd, &who)) {
		tell_holders(held, sizeof(held), &who);
		snprintf(error, cap, "'%s' is unmounted, but its daemon "
			 "still runs%s; %s", mountpoint, held, held[0] ?
			 "it ends when that does" : "look for it with ps");
		status = -1;
	}
	if (daemon_fd >= 0)
		close(daemon_fd);
	return status ? -1 : 0;
}

int unmount_run(const char *mountpoint, char *error, size_t cap)
{
	struct mount_entry mount;
	char *path = mount_resolve(mountpoint, &mount);
	int status = -1;

	if (!path && errno == ETIMEDOUT)
		mount_refuse_silent(mountpoint, error, cap);
	else if (!path && errno == ENOENT)
		snprintf(error, cap, "'%s' does not exist; findmnt -t "
			 "fuse.bloscfs lists the mounts of bloscfs",
			 mountpoint);
	else if (!path || !mounttable_is_bloscfs(&mount))
		snprintf(error, cap, "'%s' is not a mount of bloscfs; "
			 "findmnt -t fuse.bloscfs lists those that are",
			 mountpoint);
	else if (geteuid() != 0 && mount.has_owner &&
		 mount.owner != geteuid())
		snprintf(error, cap, "'%s' is a mount of user %u's; that user "
			 "or root may unmount it", mountpoint,
			 (unsigned)mount.owner);
	else
		status = detach(mountpoint, path, &mount, error, cap);
	free(path);
	return status;
}
