/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rights.c - sets of rights, compared and narrowed, and the table of lists.
 *
 * The kernel looks into a list only where the mode's middle bits are not all
 * zero; where they are, whom the list names is treated as any other. So a
 * mask that becomes empty here takes the list with it, and others' rights.
 */
#include "tree/rights.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

#define MAX_NAMED ((RIGHTS_XATTR_MAX - XATTR_HEAD) / XATTR_ENTRY - 4)
/* Bytes of all lists together. */
#define MAX_KEPT ((size_t)8 << 20)
#define N_BUCKETS 1024

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

/* Rights that are kept. */
struct copy {
	struct copy *next;
	struct rights rights;
};

static struct {
	pthread_mutex_t lock;
	struct acl *buckets[N_BUCKETS];
	struct copy *copies[N_BUCKETS];
	size_t len;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static unsigned owner_bits(const struct rights *rights)
{
	return rights->mode >> 6 & 7;
}

static unsigned mask_bits(const struct rights *rights)
{
	return rights->mode >> 3 & 7;
}

static unsigned other_bits(const struct rights *rights)
{
	return rights->mode & 7;
}

/* What the owning group may do. */
static unsigned group_bits(const struct rights *rights)
{
	return mask_bits(rights) & (rights->acl ? rights->acl->group : 7);
}

static void set_bits(struct rights *rights, unsigned owner, unsigned mask,
		     unsigned other)
{
	rights->mode = (rights->mode & 07000) | owner << 6 | mask << 3 |
		       other;
}

/* What all that are named may do. */
static unsigned named_bits(const struct rights *rights)
{
	unsigned bits = 7;

	for (uint32_t i = 0; rights->acl && i < rights->acl->n; i++)
		bits &= rights->acl->named[i].perm & mask_bits(rights);
	return bits;
}

bool rights_equal(const struct rights *a, const struct rights *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode &&
	       a->acl == b->acl;
}

uint32_t rights_n_named(const struct rights *rights)
{
	return rights->acl ? rights->acl->n : 0;
}

static size_t hash_draft(const struct draft *draft)
{
	uint64_t key = draft->group;

	for (uint32_t i = 0; i < draft->n; i++) {
		key = (key ^ draft->named[i].id) * UINT64_C(0x100000001b3);
		key = (key ^ (uint32_t)draft->named[i].perm << 8 ^
		       draft->named[i].tag) * UINT64_C(0x100000001b3);
	}
	return (size_t)((key ^ key >> 29) % N_BUCKETS);
}

static bool is_draft(const struct acl *acl, const struct draft *draft)
{
	return acl->group == draft->group && acl->n == draft->n &&
	       memcmp(acl->named, draft->named,
		      draft->n * sizeof(draft->named[0])) == 0;
}

/* The one list that says this; NULL if it cannot be kept. */
static const struct acl *keep(const struct draft *draft)
{
	size_t len = sizeof(struct acl) + draft->n * sizeof(struct named);
	struct acl **bucket = &kept.buckets[hash_draft(draft)], *acl;

	pthread_mutex_lock(&kept.lock);
	acl = *bucket;
	while (acl && !is_draft(acl, draft))
		acl = acl->next;
	if (!acl && len <= MAX_KEPT - kept.len && (acl = malloc(len))) {
		acl->next = *bucket;
		acl->group = draft->group;
		acl->n = draft->n;
		memcpy(acl->named, draft->named,
		       draft->n * sizeof(draft->named[0]));
		*bucket = acl;
		kept.len += len;
	}
	pthread_mutex_unlock(&kept.lock);
	return acl;
}

const struct rights *rights_keep(const struct rights *rights)
{
	static const struct rights nobodys = { 0 };
	uint64_t key = (rights->uid * UINT64_C(0x100000001b3) ^
			rights->gid) * UINT64_C(0x100000001b3) ^
		       rights->mode ^ (uintptr_t)rights->acl;
	struct copy **bucket = &kept.copies[(key ^ key >> 29) % N_BUCKETS];
	struct copy *copy;

	pthread_mutex_lock(&kept.lock);
	copy = *bucket;
	while (copy && !rights_equal(&copy->rights, rights))
		copy = copy->next;
	if (!copy && sizeof(*copy) <= MAX_KEPT - kept.len &&
	    (copy = malloc(sizeof(*copy)))) {
		*copy = (struct copy){ .next = *bucket, .rights = *rights };
		*bucket = copy;
		kept.len += sizeof(*copy);
	}
	pthread_mutex_unlock(&kept.lock);
	return copy ? &copy->rights : &nobodys;
}

struct rights rights_without_acl(const struct rights *rights)
{
	struct rights plain = *rights;
	unsigned named = named_bits(rights);

	/* A member of the group, or any other, may be one that is named. */
	set_bits(&plain, owner_bits(rights), group_bits(rights) & named,
		 other_bits(rights) & named);
	plain.acl = NULL;
	return plain;
}

/* Gives rights, whose acl is NULL yet, a list. */
static void add_draft(struct rights *rights, const struct draft *draft)
{
	unsigned named = 7;

	rights->acl = keep(draft);
	if (rights->acl)
		return;
	for (uint32_t i = 0; i < draft->n; i++)
		named &= draft->named[i].perm;
	named &= mask_bits(rights);
	set_bits(rights, owner_bits(rights),
		 mask_bits(rights) & draft->group & named,
		 other_bits(rights) & named);
}

/* After a change: no list whose mask is empty, unless it was before. */
static void settle(struct rights *rights, const struct rights *before)
{
	if (rights->acl && !mask_bits(rights) && mask_bits(before))
		*rights = rights_without_acl(rights);
}

static uint32_t load(const uint8_t *from, size_t len)
{
	uint32_t value = 0;

	while (len-- > 0)
		value = value << 8 | from[len];
	return value;
}

static void store(uint8_t *to, uint32_t value, size_t len)
{
	for (size_t i = 0; i < len; i++, value >>= 8)
		to[i] = (uint8_t)value;
}

/* Owner, others and the mask are in the mode, too, and taken from there. */
static bool parse(const uint8_t *at, size_t len, struct draft *draft)
{
	bool has_group = false;

	*draft = (struct draft){ 0 };
	if (len < XATTR_HEAD || len > RIGHTS_XATTR_MAX ||
	    (len - XATTR_HEAD) % XATTR_ENTRY ||
	    load(at, XATTR_HEAD) != XATTR_VERSION)
		return false;
	for (size_t i = XATTR_HEAD; i < len; i += XATTR_ENTRY) {
		uint32_t tag = load(at + i, 2), perm = load(at + i + 2, 2);

		if (perm > 7)
			return false;
		if (tag == TAG_USER || tag == TAG_GROUP) {
			if (draft->n == MAX_NAMED)
				return false;
			draft->named[draft->n++] = (struct named){
				.id = load(at + i + 4, 4),
				.perm = (uint16_t)perm, .tag = (uint16_t)tag,
			};
		} else if (tag == TAG_GROUP_OBJ) {
			draft->group = perm;
			has_group = true;
		} else if (tag != TAG_OWNER && tag != TAG_MASK &&
			   tag != TAG_OTHER) {
			return false;
		}
	}
	return has_group;
}

void rights_add_xattr(struct rights *rights, const void *xattr, size_t len)
{
	struct draft draft;

	if (parse(xattr, len, &draft))
		add_draft(rights, &draft);
	else
		rights_add_unknown(rights);
}

void rights_add_unknown(struct rights *rights)
{
	rights->acl = NULL;
	set_bits(rights, owner_bits(rights), 0, 0);
}

static uint8_t *put_entry(uint8_t *to, uint32_t tag, uint32_t perm,
			  uint32_t id)
{
	store(to, tag, 2);
	store(to + 2, perm, 2);
	store(to + 4, id, 4);
	return to + XATTR_ENTRY;
}

static uint8_t *put_named(uint8_t *to, const struct acl *acl, enum tag tag)
{
	for (uint32_t i = 0; i < acl->n; i++)
		if (acl->named[i].tag == tag)
			to = put_entry(to, tag, acl->named[i].perm,
				       acl->named[i].id);
	return to;
}

size_t rights_to_xattr(const struct rights *rights, void *buf)
{
	const struct acl *acl = rights->acl;
	uint8_t *to = buf;

	if (!acl)
		return 0;
	store(to, XATTR_VERSION, XATTR_HEAD);
	to = put_entry(to + XATTR_HEAD, TAG_OWNER, owner_bits(rights), NO_ID);
	to = put_named(to, acl, TAG_USER);
	to = put_entry(to, TAG_GROUP_OBJ, acl->group, NO_ID);
	to = put_named(to, acl, TAG_GROUP);
	to = put_entry(to, TAG_MASK, mask_bits(rights), NO_ID);
	to = put_entry(to, TAG_OTHER, other_bits(rights), NO_ID);
	return (size_t)(to - (uint8_t *)buf);
}

/* Applies change to every class and name. */
static struct rights change_all(const struct rights *rights,
				unsigned (*change)(unsigned bits))
{
	struct rights new = *rights;
	struct draft draft;

	new.acl = NULL;
	set_bits(&new, change(owner_bits(rights)), change(mask_bits(rights)),
		 change(other_bits(rights)));
	if (!rights->acl)
		return new;
	draft = (struct draft){ .group = change(rights->acl->group),
				.n = rights->acl->n };
	for (uint32_t i = 0; i < draft.n; i++) {
		draft.named[i] = rights->acl->named[i];
		draft.named[i].perm =
			(uint16_t)change(draft.named[i].perm);
	}
	add_draft(&new, &draft);
	settle(&new, rights);
	return new;
}

static unsigned pass(unsigned bits)
{
	return (bits & X ? R : 0) | W;
}

struct rights rights_to_pass(const struct rights *rights)
{
	return change_all(rights, pass);
}

static unsigned file_bits(unsigned bits)
{
	return bits & (R | W);
}

struct rights rights_of_file(const struct rights *rights)
{
	struct rights new = change_all(rights, file_bits);

	new.mode &= 0777;
	return new;
}

static unsigned folder_bits(unsigned bits)
{
	return (bits & (R | W)) | (bits & R ? X : 0);
}

struct rights rights_of_folder(const struct rights *rights)
{
	struct rights new = change_all(rights, folder_bits);

	new.mode &= 0777;
	if (owner_bits(&new) & R)
		new.mode |= W << 6;
	return new;
}

/* The least that anybody may do who is not the owner and whose name is not
 * looked at. */
static unsigned lowest(const struct rights *rights)
{
	unsigned bits = group_bits(rights) & other_bits(rights);

	for (uint32_t i = 0; rights->acl && i < rights->acl->n; i++)
		if (rights->acl->named[i].tag == TAG_GROUP)
			bits &= rights->acl->named[i].perm &
				mask_bits(rights);
	return bits;
}

/* What somebody or a group may do for sure. Of several entries of a name the
 * least counts. */
static unsigned bits_of(const struct rights *rights, const struct named *who)
{
	unsigned bits = 7;
	bool found = false;

	for (uint32_t i = 0; rights->acl && i < rights->acl->n; i++) {
		const struct named *named = &rights->acl->named[i];

		if (named->tag == who->tag && named->id == who->id) {
			bits &= named->perm & mask_bits(rights);
			found = true;
		}
	}
	return found ? bits : lowest(rights);
}

static bool has_name(const struct draft *draft, const struct named *who)
{
	for (uint32_t i = 0; i < draft->n; i++)
		if (draft->named[i].tag == who->tag &&
		    draft->named[i].id == who->id)
			return true;
	return false;
}

/* Names of one list with what both permit. False if there are too many. */
static bool meet_names(struct draft *draft, const struct rights *a,
		       const struct rights *b, const struct acl *names,
		       enum tag tag)
{
	for (uint32_t i = 0; names && i < names->n; i++) {
		struct named who = names->named[i];

		if (who.tag != tag || has_name(draft, &who))
			continue;
		if (draft->n == MAX_NAMED)
			return false;
		who.perm = (uint16_t)(bits_of(a, &who) & bits_of(b, &who));
		draft->named[draft->n++] = who;
	}
	return true;
}

/* Lists of the same owner and group become one. */
static struct rights meet_lists(const struct rights *a,
				const struct rights *b)
{
	struct draft draft = { .group = group_bits(a) & group_bits(b) };
	struct rights both = { .uid = a->uid, .gid = a->gid };
	unsigned mask = draft.group;
	bool fits = meet_names(&draft, a, b, a->acl, TAG_USER) &&
		    meet_names(&draft, a, b, b->acl, TAG_USER) &&
		    meet_names(&draft, a, b, a->acl, TAG_GROUP) &&
		    meet_names(&draft, a, b, b->acl, TAG_GROUP);

	for (uint32_t i = 0; i < draft.n; i++)
		mask |= draft.named[i].perm;
	set_bits(&both, owner_bits(a) & owner_bits(b), mask,
		 other_bits(a) & other_bits(b));
	if (!fits)
		rights_add_unknown(&both);
	else if (mask && draft.n)
		add_draft(&both, &draft);
	else if (draft.n)
		set_bits(&both, owner_bits(&both), 0, 0);
	return both;
}

struct rights rights_meet(const struct rights *a, const struct rights *b)
{
	struct rights both = { .uid = a->uid, .gid = a->gid };
	unsigned rest;

	if (a->uid != b->uid)
		return both;
	if (a->gid == b->gid && (a->acl || b->acl))
		return meet_lists(a, b);
	if (a->gid == b->gid) {
		both.mode = a->mode & b->mode & 0777;
		return both;
	}
	/* Who is in one group may be anybody to the other. */
	rest = lowest(a) & named_bits(a) & lowest(b) & named_bits(b);
	set_bits(&both, owner_bits(a) & owner_bits(b), rest, rest);
	return both;
}

/* Writing does not matter, and keeps masks from getting empty. */
static unsigned reading(unsigned bits)
{
	return (bits & R) | W;
}

bool rights_readers_may(const struct rights *readers,
			const struct rights *other)
{
	struct rights both = rights_meet(readers, other);
	struct rights a, b;

	a = change_all(&both, reading);
	b = change_all(readers, reading);
	return a.uid == b.uid && a.gid == b.gid &&
	       (a.mode & 0777) == (b.mode & 0777) && a.acl == b.acl;
}

/* Takes from all but the owner what is not in bits. */
static void limit_rest(struct rights *rights, unsigned bits)
{
	struct rights before = *rights;

	set_bits(rights, owner_bits(rights), mask_bits(rights) & bits,
		 other_bits(rights) & bits);
	settle(rights, &before);
}

struct rights rights_cut(const struct rights *rights,
			 const struct rights_cut *cut)
{
	struct rights new = *rights, before;

	/* The former owner is one of the rest, */
	if (cut->has_uid && cut->uid != new.uid)
		limit_rest(&new, owner_bits(&new));
	/* and the former group are others. */
	if (cut->has_gid && cut->gid != new.gid)
		set_bits(&new, owner_bits(&new), mask_bits(&new),
			 other_bits(&new) & group_bits(&new));
	if (cut->has_uid)
		new.uid = cut->uid;
	if (cut->has_gid)
		new.gid = cut->gid;
	if (cut->has_uid || cut->has_gid)
		new.mode &= 01777;
	before = new;
	new.mode &= ~(cut->mask & 0777);
	settle(&new, &before);
	return new;
}
