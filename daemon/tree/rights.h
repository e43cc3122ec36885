/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rights.h - who may do what with a file: owner, mode and list of rights
 * (POSIX ACL), and how several of them become one that permits no more than
 * each of them does.
 *
 * A set of rights is small and copied. Lists are immutable, exist once each
 * and are never freed: a tree holds few different ones. When there are too
 * many, modes are narrowed so that they permit no more without the list.
 * All calls may run at once.
 */
#ifndef BFS_DAEMON_TREE_RIGHTS_H
#define BFS_DAEMON_TREE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIGHTS_ACCESS "system.posix_acl_access"
#define RIGHTS_DEFAULT "system.posix_acl_default"
/* Bytes of a list as an extended attribute: what the kernel takes from us. */
#define RIGHTS_XATTR_MAX 4096

struct acl;

/* As stat tells them: with a list the mode's middle bits are its mask. */
struct rights {
	uint32_t uid, gid;
	uint32_t mode;		/* 07777 */
	const struct acl *acl;	/* NULL: the mode says it all */
};

/* How permissions are cut by options of the mount. */
struct rights_cut {
	bool has_uid, has_gid;
	uint32_t uid, gid;
	uint32_t mask;		/* bits to take away, as a umask */
};

/* How many names the list has; 0 where there is none. */
uint32_t rights_n_named(const struct rights *rights);
/* The one copy of these rights; of too many different ones rights of nobody.
 * Never NULL, never freed. */
const struct rights *rights_keep(const struct rights *rights);
bool rights_equal(const struct rights *a, const struct rights *b);
/* Takes a list as the kernel gives it in an attribute. What cannot be
 * understood or kept narrows the mode. */
void rights_add_xattr(struct rights *rights, const void *xattr, size_t len);
/* The list is there, but not to be had: nobody but the owner. */
void rights_add_unknown(struct rights *rights);
/* The list as an attribute; 0: there is none. buf takes RIGHTS_XATTR_MAX. */
size_t rights_to_xattr(const struct rights *rights, void *buf);

/* Of a folder that must be passed to reach what lies in it: who may pass it
 * may read, as far as it is concerned. */
struct rights rights_to_pass(const struct rights *rights);
/* Who may read both; of different owners nobody. The owner is a's. */
struct rights rights_meet(const struct rights *a, const struct rights *b);
/* Whether who may read by the one may read by the other, too. True only where
 * that is certain. */
bool rights_readers_may(const struct rights *readers,
			const struct rights *other);
/* Of a file: reading and writing alone. */
struct rights rights_of_file(const struct rights *rights);
/* Of a folder that stands for a file: who may read may list and enter, and an
 * owner who may may also remove things in a copy. */
struct rights rights_of_folder(const struct rights *rights);
/* Narrowed by the mount's options. Who loses a class by a new owner or group
 * gets no more in the one where he ends up. */
struct rights rights_cut(const struct rights *rights,
			 const struct rights_cut *cut);
/* The same without a list, narrowed. */
struct rights rights_without_acl(const struct rights *rights);

#endif
