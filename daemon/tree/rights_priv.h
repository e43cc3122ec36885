/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rights_priv.h - what a list of rights looks like inside; for rights.c,
 * rights_kept.c and rights_xattr.c.
 */
#ifndef BFS_DAEMON_TREE_RIGHTS_PRIV_H
#define BFS_DAEMON_TREE_RIGHTS_PRIV_H

#include "tree/rights.h"

#define R 4u
#define W 2u
#define X 1u

/* The attribute: a version, then entries of a tag, permissions and an id, in
 * the order of the tags; all little-endian (linux/posix_acl_xattr.h). */
#define XATTR_VERSION 2u
#define XATTR_HEAD 4
#define XATTR_ENTRY 8
#define NO_ID UINT32_MAX

enum tag {
	TAG_OWNER = 0x01,
	TAG_USER = 0x02,
	TAG_GROUP_OBJ = 0x04,
	TAG_GROUP = 0x08,
	TAG_MASK = 0x10,
	TAG_OTHER = 0x20,
};

/* Named users and groups of one list, as many as fit into an attribute. */
#define MAX_NAMED ((RIGHTS_XATTR_MAX - XATTR_HEAD) / XATTR_ENTRY - 4)

struct named {
	uint32_t id;
	uint16_t perm;
	uint16_t tag;		/* TAG_USER or TAG_GROUP */
};

struct acl {
	struct acl *next;
	uint32_t group;		/* the owning group's own entry */
	uint32_t n;
	struct named named[];	/* users first */
};

/* A list under construction. */
struct draft {
	uint32_t group, n;
	struct named named[MAX_NAMED];
};

static inline unsigned owner_bits(const struct rights *rights)
{
	return rights->mode >> 6 & 7;
}

static inline unsigned mask_bits(const struct rights *rights)
{
	return rights->mode >> 3 & 7;
}

static inline unsigned other_bits(const struct rights *rights)
{
	return rights->mode & 7;
}

static inline void set_bits(struct rights *rights, unsigned owner,
			    unsigned mask, unsigned other)
{
	rights->mode = (rights->mode & 07000) | owner << 6 | mask << 3 |
		       other;
}

/* Gives rights, whose acl is NULL yet, a list: the one that is kept of those
 * that say the same. Where it cannot be kept the mode is narrowed. */
void rights_add_list(struct rights *rights, const struct draft *draft);

#endif
