/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_rights.c - rights of what lies below SOURCE.
 *
 * A list of rights (POSIX ACL) is read again when the file's change time says
 * so.
 */
#include "tree/source_rights.h"

#include "tree/far.h"
#include "tree/source_list.h"
#include "tree/source_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int src_rights_fd(int fd, struct rights *ret_rights)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_rights = source_list_bare(&st);
	return source_list_fd(ret_rights, fd);
}

struct rights src_rights(const struct src_stat *stat)
{
	return (struct rights){ stat->uid, stat->gid, stat->mode & 07777,
				stat->acl };
}

struct rights src_content_rights(const struct src_stat *stat)
{
	return S_ISDIR(stat->mode) && stat->parts ? *stat->parts :
						    src_rights(stat);
}

static void set_rights(struct src_stat *stat, const struct rights *rights)
{
	stat->mode = (stat->mode & S_IFMT) | rights->mode;
	stat->acl = rights->acl;
	stat->acl_hot = src_is_hot(&(struct src_stat){
		.mtime_sec = stat->ctime_ns / 1000000000,
		.mtime_nsec = (uint32_t)(stat->ctime_ns % 1000000000),
	}, src_now());
}

/* Where st is known: the list, and whether all is. */
static bool take_known(const struct src_stat *known, struct src_stat *stat)
{
	if (!known || !src_same_file(known, stat) || known->acl_hot ||
	    known->ctime_ns != stat->ctime_ns || !known->ctime_ns)
		return false;
	stat->mode = known->mode;
	stat->acl = known->acl;
	if (stat->index_mode && source_parts_hold(known, stat)) {
		stat->parts = known->parts;
		stat->parts_until = known->parts_until;
		stat->parts_mix = known->parts_mix;
	}
	return true;
}

int src_look(const struct src *src, int base, const char *path,
	     const struct src_stat *known, struct src_stat *ret_stat)
{
	struct src_stat st;
	struct rights rights;
	const char *name;
	int parent, status, fd;

	if (src->far)
		return far_look(src->far, path, ret_stat);
	if (base < 0 && src->sides.n && !*path) {
		sides_stat(&src->sides, ret_stat);
		return 0;
	}
	parent = src_parent(src, base, path, &name);
	if (parent < 0)
		return parent;
	status = src_stat(src, parent, name, &st);
	/* A mount of bloscfs is not asked. */
	if (!status && (S_ISREG(st.mode) || S_ISDIR(st.mode)) &&
	    !st.nested && !take_known(known, &st)) {
		rights = src_rights(&st);
		status = source_list_at(&rights, parent, name);
		set_rights(&st, &rights);
	}
	if (!status && st.index_mode && !st.parts) {
		status = fd = src_at(src, parent, name,
				     O_PATH | O_DIRECTORY);
		if (fd >= 0) {
			status = source_parts_scan(src, fd, &st);
			close(fd);
		}
	}
	src_leave(src, base, parent);
	if (!status)
		*ret_stat = st;
	return status;
}

int src_look_fd(const struct src *src, int fd, struct src_stat *stat)
{
	struct rights rights = src_rights(stat);
	int status = source_list_fd(&rights, fd);

	if (status)
		return status;
	set_rights(stat, &rights);
	return stat->index_mode ? source_parts_scan(src, fd, stat) : 0;
}
