/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * through.c - which plain files the kernel reads itself.
 *
 * The kernel has rules for an inode: while a handle of it is read through,
 * others may not be read by us with the kernel's cache, nor the other way
 * round, and all that are read through need the same registered file. So the
 * first handle of a node decides for those that come while it is open. The
 * file is the same for all of them: a node of a plain file is of one device
 * and inode (tree/enter.c), and that inode is not used again while it is open.
 * The kernel is done with a handle before it tells us of its release, so we
 * never have fewer in a mode than it.
 */
#include "ops/through.h"

#include "invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#define N_BUCKETS 256

/* A node that is open. */
struct through {
	const struct node *node;
	unsigned refs;			/* handles */
	int backing;			/* the kernel's number; 0: read by us */
	struct through *next;
};

static struct {
	pthread_mutex_t lock;
	struct through *buckets[N_BUCKETS];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct through **find(const struct node *node)
{
	struct through **at = &all.buckets[node->id % N_BUCKETS];

	while (*at && (*at)->node != node)
		at = &(*at)->next;
	return at;
}

#if defined(FUSE_CAP_PASSTHROUGH) && FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)

/* The kernel's interface of /dev/fuse; older headers lack it. */
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};

#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

void through_ask(struct daemon *daemon, struct fuse_conn_info *conn)
{
	bool may = daemon->opts->sandbox == SANDBOX_OFF && !daemon->src.far &&
		   conn->capable & FUSE_CAP_PASSTHROUGH;

	if (may)
		conn->want |= (unsigned)FUSE_CAP_PASSTHROUGH;
	atomic_store(&daemon->reads_through, may);
}

/* The kernel's number of the file, or 0: it refuses those of a file system that
 * is stacked on another one, or all, where we lack the right. */
static int give(struct daemon *daemon, int fd)
{
	struct backing_map map = { .fd = fd };
	int backing = ioctl(fuse_session_fd(daemon->session), BACKING_OPEN,
			    &map);

	if (backing < 0 && (errno == EPERM || errno == ENOTTY))
		atomic_store(&daemon->reads_through, false);
	return backing < 0 ? 0 : backing;
}

static void take_back(struct daemon *daemon, int backing)
{
	uint32_t id = (uint32_t)backing;

	/* What is open when the session ends: the kernel has let it go, as all
	 * of the connection; where that alone has ended, this fails. */
	if (!daemon->session)
		return;
	(void)ioctl(fuse_session_fd(daemon->session), BACKING_CLOSE, &id);
}

/* Its pages are those of the file itself. */
static void answer(struct fuse_file_info *fi, int backing)
{
	fi->backing_id = backing;
	fi->keep_cache = 0;
}

#else

void through_ask(struct daemon *daemon, struct fuse_conn_info *conn)
{
	(void)conn;
	atomic_store(&daemon->reads_through, false);
}

static int give(struct daemon *daemon, int fd)
{
	(void)daemon;
	(void)fd;
	return 0;
}

static void take_back(struct daemon *daemon, int backing)
{
	(void)daemon;
	(void)backing;
}

static void answer(struct fuse_file_info *fi, int backing)
{
	(void)fi;
	(void)backing;
}

#endif

bool through_is_on(struct daemon *daemon)
{
	return atomic_load(&daemon->reads_through);
}

/* The node's, with one handle more. fd -1: there is no file to be had. NULL: no
 * memory, or where it was never had: then nothing is noted. */
static struct through *enter(struct daemon *daemon, const struct node *node,
			     int fd, bool is_on)
{
	struct through **at = find(node), *through;

	if (!*at && is_on)
		*at = calloc(1, sizeof(**at));
	through = *at;
	if (through && !through->refs) {
		through->node = node;
		through->backing = fd >= 0 ? give(daemon, fd) : 0;
	}
	if (through)
		through->refs++;
	return through;
}

int through_open(struct daemon *daemon, const struct node *node,
		 struct bloscfs_fd *file, struct fuse_file_info *fi,
		 struct through **ret_through)
{
	bool is_on = through_is_on(daemon);
	int fd = is_on ? bloscfs_fd_take(file) : -1;
	struct through *through;

	pthread_mutex_lock(&all.lock);
	through = enter(daemon, node, fd, is_on);
	pthread_mutex_unlock(&all.lock);
	if (fd >= 0)
		bloscfs_fd_give(file);
	if (!through && is_on)
		return -ENOMEM;
	if (through && through->backing)
		answer(fi, through->backing);
	*ret_through = through;
	return 0;
}

void through_close(struct daemon *daemon, struct through *through)
{
	struct through **at;

	if (!through)
		return;
	pthread_mutex_lock(&all.lock);
	INVARIANT(through->refs > 0);
	if (--through->refs == 0) {
		at = find(through->node);
		INVARIANT(*at == through);
		*at = through->next;
		if (through->backing)
			take_back(daemon, through->backing);
		free(through);
	}
	pthread_mutex_unlock(&all.lock);
}
