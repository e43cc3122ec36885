/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far_object.c - what a server holds in the words of the tree and of the
 * library: inodes, errors, an object as a source.
 */
#include "tree/far_priv.h"

#include "log/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FAR_DEVICE 1		/* where all inodes are told apart by name */

void far_tell(const char *path, const char *deed, int status,
	      const char *text)
{
	struct bloscfs_diag why = { .err = BLOSCFS_ERR_IO, .chunk = -1 };

	if (status == -ENOENT || status == -EINTR)
		return;
	snprintf(why.text, sizeof(why.text), "%s",
		 *text ? text : strerror(-status));
	log_fault(status == -ESTALE ? LEVEL_WARN : LEVEL_ERR,
		  *path ? path : ".", deed, -status, &why);
}

/* FNV-1a. */
uint64_t far_number(const char *path, uint64_t identity)
{
	uint64_t hash = 14695981039346656037u ^ identity;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 1099511628211u;
	return hash > 1 ? hash : 2;
}

/* Another content is another file, as where one is renamed over it. */
void far_convert(const struct far *far, const char *path,
		 const struct shelf_stat *from, struct src_stat *to)
{
	*to = (struct src_stat){
		.dev = FAR_DEVICE, .ino = far_number(path, from->identity),
		.size = from->size, .blocks = (from->size + 511) / 512,
		.mtime_sec = from->modified ? from->modified : far->started,
		.mode = from->is_folder ? S_IFDIR | 0555 : S_IFREG | 0444,
		.uid = far->uid, .gid = far->gid,
		.nlink = from->is_folder ? 2 : 1, .blksize = 4096,
	};
	to->own_mtime_sec = to->mtime_sec;
	to->ctime_ns = to->mtime_sec * 1000000000;
}

/* ---- an object as the library's source ------------------------------- */

enum bloscfs_err far_error(int status, const char *text,
			   struct bloscfs_diag *why)
{
	snprintf(why->text, sizeof(why->text), "%s", text);
	switch (status) {
	case -ESTALE:
		return BLOSCFS_ERR_CHANGED;
	case -ENOMEM:
		return BLOSCFS_ERR_NOMEM;
	case -EACCES:
		return BLOSCFS_ERR_ACCESS;
	case -EINTR: {
		enum bloscfs_err err = bloscfs_call_check(why);

		return err != BLOSCFS_OK ? err : BLOSCFS_ERR_CANCELLED;
	}
	default:
		return BLOSCFS_ERR_IO;
	}
}

static enum bloscfs_err read_object(void *arg, uint64_t off, void *buf,
				    size_t len, size_t *ret_len,
				    struct bloscfs_diag *why)
{
	char text[REMOTE_WHY_CAP];
	int status = object_read(shelf_object(arg), buf, len, off, text);

	if (status)
		return far_error(status, text, why);
	*ret_len = len;
	return BLOSCFS_OK;
}

/* Each range that is read is of this very object: nothing to ask. */
static void want_object(void *arg, const struct bloscfs_range *ranges,
			size_t n)
{
	_Static_assert(sizeof(struct extent) == sizeof(struct bloscfs_range),
		       "the same two numbers");
	object_want(shelf_object(arg), (const void *)ranges, n);
}

static bool is_near_object(void *arg, uint64_t off, uint64_t len)
{
	return object_is_near(shelf_object(arg), off, len);
}

static void close_object(void *arg)
{
	shelf_give(arg);
}

struct bloscfs_source far_source(struct lent *lent, uint64_t identity[2])
{
	struct shelf_stat stat;

	shelf_stat_of(lent, &stat);
	return (struct bloscfs_source){
		.size = sizeof(struct bloscfs_source), .length = stat.size,
		.identity = identity, .identity_len = 2 * sizeof(*identity),
		.wait_cost = object_wait_cost(shelf_object(lent)),
		.read = read_object, .will_need = want_object,
		.is_near = is_near_object,
		.close = close_object, .arg = lent,
	};
}
