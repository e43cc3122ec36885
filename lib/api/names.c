/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c - the public interface: what names and folders say, before
 * anything is opened.
 */
#pragma GCC visibility push(default)
#include "bloscfs.h"
#pragma GCC visibility pop

#include "container/foreign.h"
#include "container/format.h"

const char *bloscfs_claimed(const char *name)
{
	return name ? bfs_claimed_container(name) : NULL;
}

enum bloscfs_err bloscfs_is_foreign(int dirfd, bool *ret_is)
{
	if (!ret_is)
		return BLOSCFS_ERR_INVALID;
	return (enum bloscfs_err)bfs_foreign_store(dirfd, ret_is);
}
