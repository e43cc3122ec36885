/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nested.c - a device is held against the table of mounts, which is read
 * again when the kernel says that it has changed.
 */
#include "tree/nested.h"

#include "tree/mounttable.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The lock is held over reads of /proc alone, which wait for nobody. */
static struct {
	pthread_mutex_t lock;
	FILE *table;
	bool known;		/* devs are those of the table */
	uint64_t *devs;		/* of bloscfs */
	size_t n_devs, cap_devs;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* With the lock held. arg tells that there was no memory. */
static bool see_mount(void *arg, const struct mount_entry *entry)
{
	size_t cap = state.cap_devs ? 2 * state.cap_devs : 16;
	uint64_t *devs;

	if (!mounttable_is_bloscfs(entry))
		return true;
	if (state.n_devs == state.cap_devs) {
		devs = realloc(state.devs, cap * sizeof(*devs));
		if (!devs) {
			*(bool *)arg = true;
			return false;
		}
		state.devs = devs;
		state.cap_devs = cap;
	}
	state.devs[state.n_devs++] = makedev(entry->major, entry->minor);
	return true;
}

/* With the lock held. False if the table cannot be had. */
static bool read_table(void)
{
	struct pollfd changed = { .events = POLLPRI };
	bool no_memory = false;

	if (!state.table)
		state.table = fopen("/proc/self/mountinfo", "re");
	if (!state.table)
		return false;
	changed.fd = fileno(state.table);
	/* Asking takes the news away, so it comes before reading. */
	if (poll(&changed, 1, 0) == 0 && state.known)
		return true;
	state.known = false;
	state.n_devs = 0;
	rewind(state.table);
	state.known = mounttable_read(state.table, see_mount, &no_memory) &&
		      !no_memory;
	return state.known;
}

/* Where nobody can tell it is taken for one: an empty folder is better than a
 * daemon that waits for itself. */
static bool is_bloscfs(uint64_t dev)
{
	bool found;

	pthread_mutex_lock(&state.lock);
	found = !read_table();
	for (size_t i = 0; i < state.n_devs && !found; i++)
		found = state.devs[i] == dev;
	pthread_mutex_unlock(&state.lock);
	return found;
}

bool nested_holds(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) == 0 &&
	       st.stx_dev_major == 0 &&
	       is_bloscfs(makedev(st.stx_dev_major, st.stx_dev_minor));
}

int nested_look(int dir_fd, const char *name, struct nested *ret_nested)
{
	struct statx st;
	uint64_t dev;
	bool maybe;

	/* Nothing but what the kernel knows by itself. */
	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC | (*name ? 0 : AT_EMPTY_PATH), 0, &st))
		return -errno;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	/* FUSE has no block device; kernels before 5.8 do not tell roots. */
	maybe = st.stx_dev_major == 0 &&
		(st.stx_attributes & STATX_ATTR_MOUNT_ROOT ||
		 !(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT));
	*ret_nested = (struct nested){
		.is_bloscfs = maybe && is_bloscfs(dev), .dev = dev,
		.id = st.stx_mnt_id,
	};
	return 0;
}

bool nested_is(int dir_fd, const char *name)
{
	struct nested nested;

	return nested_look(dir_fd, name, &nested) == 0 && nested.is_bloscfs;
}
