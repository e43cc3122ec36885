/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rights.c - sets of rights, narrowed.
 *
 * The kernel looks into a list only where the mode's middle bits are not all
 * zero; where they are, whom the list names is treated as any other. So a
 * mask that becomes empty here takes the list with it, and others' rights.
 */
#include "tree/rights_priv.h"

/* What the owning group may do. */
static unsigned group_bits(const struct rights *rights)
{
	return mask_bits(rights) & (rights->acl ? rights->acl->group : 7);
}

/* What all that are named may do. */
static unsigned named_bits(const struct rights *rights)
{
	unsigned bits = 7;

	for (uint32_t i = 0; rights->acl && i < rights->acl->n; i++)
		bits &= rights->acl->named[i].perm & mask_bits(rights);
	return bits;
}

uint32_t rights_n_named(const struct rights *rights)
{
	return rights->acl ? rights->acl->n : 0;
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

/* After a change: no list whose mask is empty, unless it was before. */
static void settle(struct rights *rights, const struct rights *before)
{
	if (rights->acl && !mask_bits(rights) && mask_bits(before))
		*rights = rights_without_acl(rights);
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
	rights_add_list(&new, &draft);
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
		rights_add_list(&both, &draft);
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
