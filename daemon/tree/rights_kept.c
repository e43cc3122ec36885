/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rights_kept.c - the one copy of each list of rights, and of each set of
 * rights that is kept.
 */
#include "tree/rights_priv.h"

#include "invariant.h"
#include "tree/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of all lists together. */
#define MAX_KEPT ((size_t)8 << 20)
#define N_BUCKETS 1024

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

bool rights_equal(const struct rights *a, const struct rights *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode &&
	       a->acl == b->acl;
}

static size_t hash_draft(const struct draft *draft)
{
	uint64_t key = hash_word(hash_seed(), draft->group);

	for (uint32_t i = 0; i < draft->n; i++) {
		const struct named *named = &draft->named[i];

		key = hash_word(key, (uint64_t)named->id << 32 |
				     (uint32_t)named->perm << 16 |
				     named->tag);
	}
	return (size_t)(key % N_BUCKETS);
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
		INVARIANT(kept.len <= MAX_KEPT);
	}
	pthread_mutex_unlock(&kept.lock);
	return acl;
}

const struct rights *rights_keep(const struct rights *rights)
{
	static const struct rights nobodys = { 0 };
	uint64_t key = hash_word(hash_word(hash_word(
		hash_seed(), (uint64_t)rights->uid << 32 | rights->gid),
		rights->mode), (uintptr_t)rights->acl);
	struct copy **bucket = &kept.copies[key % N_BUCKETS];
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

void rights_add_list(struct rights *rights, const struct draft *draft)
{
	unsigned named = 7;

	INVARIANT(!rights->acl && draft->n <= MAX_NAMED);
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
