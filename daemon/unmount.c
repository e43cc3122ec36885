/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unmount.c - see unmount.h.
 */
#include "unmount.h"

#include "mount.h"

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
		fd = (int)syscall(SYS_pidfd_open, atoi(entry->d_name), 0);
	}
	if (proc)
		closedir(proc);
	return fd;
}

/* Whether the mount and its daemon are gone. */
static bool wait_gone(const char *path, const struct mount_entry *mount,
		      int daemon_fd)
{
	struct pollfd ended = { .fd = daemon_fd, .events = POLLIN };
	struct mount_entry now;

	for (int i = 0; i < WAIT_SECONDS * 100; i++) {
		if (!mount_find(path, &now) || now.major != mount->major ||
		    now.minor != mount->minor)
			break;
		usleep(10000);
	}
	return daemon_fd < 0 || poll(&ended, 1, WAIT_SECONDS * 1000) == 1;
}

int unmount_run(const char *mountpoint, char *error, size_t cap)
{
	struct mount_entry mount;
	char *path = mount_resolve(mountpoint, &mount), reason[512];
	int daemon_fd, status = 0;

	if (!path || !mounttable_is_bloscfs(&mount)) {
		snprintf(error, cap, "'%s' is not a mount of bloscfs; "
			 "findmnt -t fuse.bloscfs lists those that are",
			 mountpoint);
		free(path);
		return -1;
	}
	daemon_fd = find_daemon(&mount);
	if (mount_detach(path, false, reason, sizeof(reason))) {
		snprintf(error, cap, "cannot unmount '%s': %s; close what is "
			 "open there and try again", mountpoint, reason);
		status = -1;
	} else if (!wait_gone(path, &mount, daemon_fd)) {
		snprintf(error, cap, "'%s' is unmounted, but its daemon "
			 "still runs after %d s; look for it with ps",
			 mountpoint, WAIT_SECONDS);
		status = -1;
	}
	if (daemon_fd >= 0)
		close(daemon_fd);
	free(path);
	return status;
}
