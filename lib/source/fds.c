/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fds.c - see fds.h. Open ones stand in a ring; a hand goes round and closes
 * those that were not used since it passed them last.
 *
 * users counts those who have taken it, and says AWAY while it is closed. The
 * lock guards the ring; fd changes only under it, and only while AWAY.
 */
#include "source/fds.h"

#include "base/assert.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AWAY (1u << 31)

struct bfs_fd {
	atomic_uint refs;
	atomic_uint users;	/* who have taken it, and the bit AWAY */
	atomic_bool recent;	/* taken since the hand came by */
	bool keep;		/* has no name any more */
	int fd;
	struct bfs_fd_how how;
	struct bfs_fd *next, *prev;	/* in the ring; NULL: not in it */
};

static struct {
	pthread_mutex_t lock;	/* guards all below, and the links */
	struct bfs_fd *hand;
	size_t n_open, limit;
} ring = { .lock = PTHREAD_MUTEX_INITIALIZER, .limit = SIZE_MAX };

/* With the lock held: the last that the hand will come to. */
static void link_fd(struct bfs_fd *f)
{
	struct bfs_fd *hand = ring.hand;

	BFS_ASSERT_HELD(&ring.lock);
	BFS_ASSERT(!f->next && f->fd >= 0);
	if (!hand) {
		f->next = f->prev = f;
		ring.hand = f;
	} else {
		f->next = hand;
		f->prev = hand->prev;
		f->prev->next = f->next->prev = f;
	}
	ring.n_open++;
}

static void unlink_fd(struct bfs_fd *f)
{
	BFS_ASSERT_HELD(&ring.lock);
	if (!f->next)
		return;
	if (ring.hand == f)
		ring.hand = f->next == f ? NULL : f->next;
	f->prev->next = f->next;
	f->next->prev = f->prev;
	f->next = f->prev = NULL;
	ring.n_open--;
}

struct bfs_fd *bfs_fd_new(int fd)
{
	struct bfs_fd *f = bfs_zalloc(1, sizeof(*f));

	if (!f)
		return NULL;
	atomic_init(&f->refs, 1);
	atomic_init(&f->recent, true);
	f->fd = fd;
	pthread_mutex_lock(&ring.lock);
	link_fd(f);
	pthread_mutex_unlock(&ring.lock);
	return f;
}

void bfs_fd_set_how(struct bfs_fd *f, const struct bfs_fd_how *how)
{
	pthread_mutex_lock(&ring.lock);
	BFS_CHECK(!f->how.open);
	f->how = *how;
	pthread_mutex_unlock(&ring.lock);
}

struct bfs_fd *bfs_fd_ref(struct bfs_fd *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void bfs_fd_unref(struct bfs_fd *f)
{
	if (!f || atomic_fetch_sub(&f->refs, 1) != 1)
		return;
	/* Whoever takes it holds a reference. */
	BFS_CHECK(!(atomic_load(&f->users) & ~AWAY));
	pthread_mutex_lock(&ring.lock);
	unlink_fd(f);
	pthread_mutex_unlock(&ring.lock);
	if (f->fd >= 0)
		close(f->fd);
	if (f->how.release)
		f->how.release(f->how.arg);
	bfs_free(f);
}

/* A reference, unless the last one is gone already. */
static bool ref_living(struct bfs_fd *f)
{
	unsigned refs = atomic_load(&f->refs);

	while (refs && !atomic_compare_exchange_weak(&f->refs, &refs,
						     refs + 1))
		;
	return refs != 0;
}

/* With the lock held: a descriptor that nobody has taken since the hand passed
 * it last, with a use and a reference for the caller. Two rounds are enough to
 * find it. */
static struct bfs_fd *find_idle(void)
{
	struct bfs_fd *f;

	BFS_ASSERT_HELD(&ring.lock);
	for (size_t i = 0; i < 2 * ring.n_open; i++) {
		f = ring.hand;
		ring.hand = f->next;
		if (!f->how.open || f->keep || atomic_load(&f->users) ||
		    atomic_exchange(&f->recent, false) || !ref_living(f))
			continue;
		atomic_fetch_add(&f->users, 1);
		return f;
	}
	return NULL;
}

/* A layered file system counts the names of a layer below, where the file
 * stays; but the kernel knows that the one it was opened by is gone. */
static bool is_deleted(int fd)
{
	static const char mark[] = " (deleted)";
	char link[32], path[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path));
	return len >= (ssize_t)strlen(mark) &&
	       memcmp(path + len - strlen(mark), mark, strlen(mark)) == 0;
}

/* Whether the file has lost its name; what is known without asking, where the C
 * library has a call for that (musl before 1.2.5 has not). */
static bool is_nameless(int fd)
{
#ifdef STATX_NLINK
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK,
		     &st) < 0 || st.stx_nlink == 0 || is_deleted(fd);
#else
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_nlink == 0 || is_deleted(fd);
#endif
}

bool bfs_fd_is_nameless(struct bfs_fd *f)
{
	bool nameless = !(atomic_fetch_add(&f->users, 1) & AWAY) &&
			is_nameless(f->fd);

	atomic_fetch_sub(&f->users, 1);
	return nameless;
}

bool bfs_fd_spare(void)
{
	struct bfs_fd *f;
	bool nameless;
	int closing = -1;

	while (closing < 0) {
		unsigned alone = 1;

		pthread_mutex_lock(&ring.lock);
		f = find_idle();
		pthread_mutex_unlock(&ring.lock);
		if (!f)
			return false;
		nameless = is_nameless(f->fd);
		pthread_mutex_lock(&ring.lock);
		f->keep = nameless;
		if (!nameless && atomic_compare_exchange_strong(
				&f->users, &alone, AWAY)) {
			closing = f->fd;
			f->fd = -1;
			unlink_fd(f);
		} else {
			atomic_fetch_sub(&f->users, 1);
		}
		pthread_mutex_unlock(&ring.lock);
		bfs_fd_unref(f);
	}
	close(closing);
	return true;
}

static bool is_full(void)
{
	bool full;

	pthread_mutex_lock(&ring.lock);
	full = ring.n_open >= ring.limit;
	pthread_mutex_unlock(&ring.lock);
	return full;
}

bool bfs_fd_may_retry(int error)
{
	return (error == EMFILE || error == ENFILE) && bfs_fd_spare();
}

/* For a caller that has counted itself among the users and found it AWAY. */
static int open_again(struct bfs_fd *f)
{
	int fd, spare = -1;

	while (is_full() && bfs_fd_spare())
		;
	do {
		fd = f->how.open(f->how.arg);
	} while (fd < 0 && bfs_fd_may_retry(-fd));
	if (fd < 0) {
		atomic_fetch_sub(&f->users, 1);
		return fd;
	}
	pthread_mutex_lock(&ring.lock);
	if (atomic_load(&f->users) & AWAY) {
		f->fd = fd;
		link_fd(f);
		atomic_store(&f->recent, true);
		atomic_fetch_and(&f->users, ~AWAY);
	} else {
		spare = fd;
		fd = f->fd;
	}
	pthread_mutex_unlock(&ring.lock);
	if (spare >= 0)
		close(spare);
	return fd;
}

int bfs_fd_take(struct bfs_fd *f)
{
	if (atomic_fetch_add(&f->users, 1) & AWAY)
		return open_again(f);
	if (!atomic_load_explicit(&f->recent, memory_order_relaxed))
		atomic_store_explicit(&f->recent, true, memory_order_relaxed);
	return f->fd;
}

int bfs_fd_take_open(struct bfs_fd *f)
{
	if (!(atomic_fetch_add(&f->users, 1) & AWAY))
		return f->fd;
	atomic_fetch_sub(&f->users, 1);
	return -EBADF;
}

void bfs_fd_give(struct bfs_fd *f)
{
	unsigned users = atomic_fetch_sub(&f->users, 1);

	/* It stays open as long as it has a user. */
	BFS_CHECK(users > 0 && !(users & AWAY));
}

void bfs_fd_set_limit(size_t n)
{
	pthread_mutex_lock(&ring.lock);
	ring.limit = n;
	pthread_mutex_unlock(&ring.lock);
}

size_t bfs_fd_count(void)
{
	size_t n;

	pthread_mutex_lock(&ring.lock);
	n = ring.n_open;
	pthread_mutex_unlock(&ring.lock);
	return n;
}
