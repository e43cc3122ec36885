/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.c - checks before mounting, and taking mounts away.
 */
#include "mount/mount.h"

#include "mount/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUSERMOUNT "fusermount3"
/* Where libfuse, too, looks for it before PATH. */
#define FUSERMOUNT_FILE "/usr/bin/" FUSERMOUNT
/* STATX_MNT_ID_UNIQUE, where the headers are older. */
#define MNT_ID_UNIQUE 0x4000u

extern char **environ;

__attribute__((format(printf, 3, 4)))
static int refuse(char *error, size_t cap, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, cap, fmt, args);
	va_end(args);
	return -1;
}

uint64_t mount_unique_id(const char *path)
{
	struct statx st;

	/* Without asking the file system, which may be our own. */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  MNT_ID_UNIQUE, &st) < 0 ||
	    !(st.stx_mask & MNT_ID_UNIQUE))
		return 0;
	return st.stx_mnt_id;
}

static int check_device(const struct opts *opts, char *error, size_t cap)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	/* Then fusermount3, which is set-uid, opens it. */
	if (errno == EACCES && opts->auto_unmount)
		return 0;
	if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
		return refuse(error, cap, "there is no /dev/fuse; load the "
			      "kernel's module with 'modprobe fuse', or give "
			      "it to the container (--device /dev/fuse)");
	return refuse(error, cap, "cannot open /dev/fuse: %s; root lets all "
		      "users in by 'chmod a+rw /dev/fuse'", strerror(errno));
}

static bool in_path(const char *name)
{
	const char *path = getenv("PATH"), *end;
	char file[4096];

	if (access(FUSERMOUNT_FILE, X_OK) == 0)
		return true;
	for (; path && *path; path = *end ? end + 1 : end) {
		end = path + strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path),
			 path, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static bool others_allowed(void)
{
	FILE *file = fopen("/etc/fuse.conf", "re");
	char *line = NULL;
	size_t cap = 0;
	bool allowed = false;

	while (file && getline(&line, &cap, file) > 0) {
		line[strcspn(line, " \t\r\n")] = '\0';
		if (strcmp(line, "user_allow_other") == 0)
			allowed = true;
	}
	free(line);
	if (file)
		fclose(file);
	return allowed;
}

static int check_user(const struct opts *opts, char *error, size_t cap)
{
	bool root = geteuid() == 0;

	if ((!root || opts->auto_unmount) && !in_path(FUSERMOUNT))
		return refuse(error, cap, FUSERMOUNT " was not found; "
			      "install the package fuse3");
	if (!root && (opts->allow_other || opts->allow_root) &&
	    !others_allowed())
		return refuse(error, cap, "%s needs a line "
			      "'user_allow_other' in /etc/fuse.conf; add it "
			      "or mount as root",
			      opts->allow_other ? "allow_other" :
						  "allow_root");
	return 0;
}

char *mount_resolve(const char *mountpoint, struct mount_entry *entry)
{
	char *copy = strdup(mountpoint), *path = NULL, *parent, *slash;
	const char *name;
	bool silent, missing;
	size_t len;

	if (!copy)
		return NULL;
	len = strlen(copy);
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	name = mountpoint + (slash ? slash + 1 - copy : 0);
	if (slash)
		slash[slash == copy] = '\0';
	parent = ask_real_path(slash ? copy : ".");
	len = strcspn(name, "/");
	if (parent && asprintf(&path, "%s/%.*s",
			       strcmp(parent, "/") ? parent : "", (int)len,
			       name) < 0)
		path = NULL;
	silent = !parent && errno == ETIMEDOUT;
	free(parent);
	free(copy);
	if (path && mount_find(path, entry))
		return path;
	free(path);
	path = silent ? NULL : ask_real_path(mountpoint);
	if (path && mount_find(path, entry))
		return path;
	missing = !path && errno == ENOENT;
	silent |= !path && errno == ETIMEDOUT;
	free(path);
	errno = silent ? ETIMEDOUT : missing ? ENOENT : EINVAL;
	return NULL;
}

static bool is_fuse(const struct mount_entry *entry)
{
	return strncmp(entry->type, "fuse", 4) == 0;
}

static int refuse_occupied(const char *mountpoint,
			   const struct mount_entry *entry, char *error,
			   size_t cap)
{
	return refuse(error, cap, "mount point '%s' is occupied by a mount of "
		      "type %s; unmount that first or choose another",
		      mountpoint, entry->type);
}

int mount_refuse_silent(const char *mountpoint, char *error, size_t cap)
{
	return refuse(error, cap, "mount point '%s' lies in a file system that "
		      "does not answer; choose another, or end the daemon of "
		      "that one", mountpoint);
}

/* Takes away mounts of our own whose daemons are dead: nothing is taken from
 * who uses one, as it answers no more. Where the topmost mount is alive, or not
 * ours, the place is occupied; a daemon that does not answer in time lives. */
static int clear_dead(const char *mountpoint, char *error, size_t cap)
{
	struct mount_entry entry;
	char *path = NULL, reason[256];
	int status = 0;

	while (!status && (path = mount_resolve(mountpoint, &entry)) &&
	       is_fuse(&entry)) {
		if (!ask_is_dead(path))
			status = refuse_occupied(mountpoint, &entry, error,
						 cap);
		else if (!mounttable_is_bloscfs(&entry))
			status = refuse(error, cap, "mount point '%s' is a "
				"mount of type %s whose daemon is gone; run "
				"fusermount3 -u '%s' first", mountpoint,
				entry.type, mountpoint);
		else if (!entry.has_owner || entry.owner != geteuid())
			status = refuse(error, cap, "mount point '%s' is a "
				"mount of user %u's whose daemon is gone; "
				"that user or root may run bloscfs --unmount "
				"'%s'", mountpoint, (unsigned)entry.owner,
				mountpoint);
		else if (mount_detach(path, true, reason, sizeof(reason)))
			status = refuse(error, cap, "mount point '%s' is a "
				"mount whose daemon is gone, and cannot be "
				"cleared: %s", mountpoint, reason);
		else
			fprintf(stderr, "bloscfs: the mount on '%s', whose "
				"daemon is gone, was taken away\n",
				mountpoint);
		free(path);
		path = NULL;
	}
	if (!status && !path && errno == ETIMEDOUT)
		status = mount_refuse_silent(mountpoint, error, cap);
	free(path);
	return status;
}

static int make_point(const char *mountpoint, char *error, size_t cap)
{
	if (mkdir(mountpoint, 0777) == 0)
		return 0;
	return refuse(error, cap, "cannot make mount point '%s': %s; choose a "
		      "name in a folder that is there and yours to write",
		      mountpoint, strerror(errno));
}

static int check_point(const struct opts *opts, const char *mountpoint,
		       bool *ret_made, char *error, size_t cap)
{
	struct stat st;

	if (stat(mountpoint, &st) == 0) {
		if (!S_ISDIR(st.st_mode))
			return refuse(error, cap, "mount point '%s' is not a "
				      "directory; give an existing directory",
				      mountpoint);
		if (geteuid() != 0 && access(mountpoint, W_OK) < 0 &&
		    errno != EROFS)
			return refuse(error, cap, "mount point '%s' is not "
				      "yours to write; choose a directory of "
				      "your own", mountpoint);
		return 0;
	}
	if (errno == ENOENT && opts->mkdir) {
		*ret_made = make_point(mountpoint, error, cap) == 0;
		return *ret_made ? 0 : -1;
	}
	if (errno == ENOENT)
		return refuse(error, cap, "mount point '%s' does not exist; "
			      "create it with mkdir, or give --mkdir",
			      mountpoint);
	return refuse(error, cap, "cannot use mount point '%s': %s; give an "
		      "existing directory", mountpoint, strerror(errno));
}

int mount_check(const struct opts *opts, const char *mountpoint,
		char **ret_real, bool *ret_made, char *error, size_t cap)
{
	struct mount_entry entry;
	char *real;

	*ret_made = false;
	if (clear_dead(mountpoint, error, cap) ||
	    check_device(opts, error, cap) || check_user(opts, error, cap) ||
	    check_point(opts, mountpoint, ret_made, error, cap))
		return -1;
	real = ask_real_path(mountpoint);
	if (!real)
		return refuse(error, cap, "cannot resolve mount point '%s': "
			      "%s; give another", mountpoint,
			      strerror(errno));
	if (mount_find(real, &entry) && is_fuse(&entry)) {
		free(real);
		return refuse_occupied(mountpoint, &entry, error, cap);
	}
	*ret_real = real;
	return 0;
}

/* fsname may hold commas and backslashes. */
static void write_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == ',' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
}

char *mount_options(const struct opts *opts, const char *source)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs("ro,nosuid,nodev,subtype=bloscfs,fsname=", out);
	write_escaped(out, opts->fsname ? opts->fsname : source);
	if (opts->allow_other)
		fputs(",default_permissions", out);
	if (opts->fuse)
		fprintf(out, ",%s", opts->fuse);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Runs it; what it says goes to said, without its line end. 0 or -errno:
 * -ENOPKG where it is not there. */
static int run_fusermount(const char *path, bool lazy, char *said, size_t cap)
{
	char *argv[] = { FUSERMOUNT, "-u", "--", (char *)path, NULL, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status = 0;
	size_t len = 0;
	ssize_t got;
	pid_t pid;

	if (lazy) {
		argv[2] = "-z";
		argv[3] = "--";
		argv[4] = (char *)path;
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	status = posix_spawn(&pid, FUSERMOUNT_FILE, &actions, NULL, argv,
			     environ);
	if (status)
		status = posix_spawnp(&pid, FUSERMOUNT, &actions, NULL, argv,
				      environ);
	status = status == ENOENT || status == EACCES ? -ENOPKG : -status;
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!status && len + 1 < cap &&
	       (got = read(ends[0], said + len, cap - 1 - len)) > 0)
		len += (size_t)got;
	close(ends[0]);
	said[len] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (status)
		return status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int mount_detach(const char *path, bool lazy, char *reason, size_t cap)
{
	int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0), status;

	if (umount2(path, flags) == 0)
		return 0;
	status = -errno;
	if (geteuid() != 0 && status == -EPERM) {
		reason[0] = '\0';
		status = run_fusermount(path, lazy, reason, cap);
		if (!status)
			return 0;
		if (reason[0])
			return status;
	}
	if (status == -ENOPKG)
		snprintf(reason, cap, "%s", FUSERMOUNT " was not found; "
			 "install the package fuse3");
	else
		snprintf(reason, cap, "%s", strerror(-status));
	return status;
}

int mount_set_readahead(unsigned major, unsigned minor, uint64_t len)
{
	char path[64], text[24];
	int fd, status = 0, n;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
		 major, minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = snprintf(text, sizeof(text), "%llu",
		     (unsigned long long)(len / 1024));
	if (write(fd, text, (size_t)n) != n)
		status = -errno;
	close(fd);
	return status;
}
