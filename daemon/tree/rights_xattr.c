/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rights_xattr.c - lists of rights from and to the kernel's attribute.
 */
#include "tree/rights_priv.h"

#include "invariant.h"

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
		rights_add_list(rights, &draft);
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
	INVARIANT(to - (uint8_t *)buf <= RIGHTS_XATTR_MAX);
	return (size_t)(to - (uint8_t *)buf);
}
