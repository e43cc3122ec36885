/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disknote.c - notes of addresses, and the names that follow from them.
 *
 *      0  16  "bloscfs object\r\n"
 *     16   4  version, that of stripes
 *     24   8  size
 *     32  32  digest of the address
 *     64   8  modified
 *     72 128  ETag, filled up with zeros
 *    504   8  seal of all before
 */
#include "remote/disknote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SUM_AT (DISKNOTE_LEN - 8)

static const char magic[16] = "bloscfs object\r\n";

static bool is_signature(const char *part)
{
	return strncasecmp(part, "X-Amz-", 6) == 0 ||
	       strncasecmp(part, "X-Goog-", 7) == 0;
}

bool disknote_address(const char *url, uint8_t *ret_address)
{
	size_t at = strcspn(url, "?"), n = at;
	char *plain = malloc(strlen(url) + 1);
	bool done;

	if (!plain)
		return false;
	memcpy(plain, url, at);
	while (url[at]) {
		size_t len = 1 + strcspn(url + at + 1, "&");

		if (!is_signature(url + at + 1)) {
			memcpy(plain + n, url + at, len);
			n += len;
		}
		at += len;
	}
	done = seal_digest(plain, n, ret_address);
	free(plain);
	return done;
}

bool disknote_name(const uint8_t *address, const struct object_facts *facts,
		   struct disk_id *ret_id)
{
	uint8_t bytes[DIGEST_LEN + 16 + REMOTE_TAG_CAP] = { 0 };

	memcpy(bytes, address, DIGEST_LEN);
	seal_put(bytes + DIGEST_LEN, facts->size, 8);
	seal_put(bytes + DIGEST_LEN + 8, (uint64_t)facts->modified, 8);
	memcpy(bytes + DIGEST_LEN + 16, facts->tag, strlen(facts->tag));
	ret_id->size = facts->size;
	return seal_digest(bytes, sizeof(bytes), ret_id->name);
}

void disknote_file(const uint8_t *address, char *ret_name)
{
	seal_digest_text(address, ret_name);
	strcpy(ret_name + DIGEST_TEXT, ".object");
}

static bool sum_note(const uint8_t *address, const uint8_t *bytes,
		     uint64_t *ret_sum)
{
	struct seal seal;
	bool done = seal_begin(&seal, address) &&
		    seal_of(&seal, SEAL_NOTE, 0, bytes, SUM_AT, ret_sum);

	seal_end(&seal);
	return done;
}

int disknote_parse(const uint8_t *address, const uint8_t *bytes,
		   struct object_facts *ret_facts)
{
	struct object_facts facts;
	uint64_t sum;

	if (memcmp(bytes, magic, sizeof(magic)) == 0 &&
	    seal_get(bytes + 16, 4) != STRIPE_VERSION)
		return -ENOTSUP;
	if (!sum_note(address, bytes, &sum))
		return -ENOMEM;
	if (memcmp(bytes, magic, sizeof(magic)) != 0 ||
	    memcmp(bytes + 32, address, DIGEST_LEN) != 0 ||
	    seal_get(bytes + SUM_AT, 8) != sum)
		return -EBADMSG;
	facts.size = seal_get(bytes + 24, 8);
	facts.modified = (int64_t)seal_get(bytes + 64, 8);
	memcpy(facts.tag, bytes + 72, sizeof(facts.tag));
	if (facts.tag[REMOTE_TAG_CAP - 1] || facts.modified < 0)
		return -EBADMSG;
	*ret_facts = facts;
	return 0;
}

int disknote_read(int dir, const uint8_t *address,
		  struct object_facts *ret_facts)
{
	char name[STRIPE_NAME_CAP];
	uint8_t bytes[DISKNOTE_LEN];
	int64_t used;
	int fd, status;
	ssize_t got;

	disknote_file(address, name);
	status = disk_open_file(dir, name, O_RDONLY, &fd, &used);
	if (status)
		return status;
	got = pread(fd, bytes, sizeof(bytes), 0);
	/* Who made it may not have come to its content. */
	if (got <= 0)
		status = got ? -errno : -ENOENT;
	else if (got != sizeof(bytes))
		status = -EBADMSG;
	else
		status = disknote_parse(address, bytes, ret_facts);
	if (!status)
		disk_touch(fd, used);
	close(fd);
	return status;
}

bool disknote_write(const uint8_t *address, const struct object_facts *facts,
		    uint8_t *ret_bytes)
{
	uint64_t sum;

	memset(ret_bytes, 0, DISKNOTE_LEN);
	memcpy(ret_bytes, magic, sizeof(magic));
	seal_put(ret_bytes + 16, STRIPE_VERSION, 4);
	seal_put(ret_bytes + 24, facts->size, 8);
	memcpy(ret_bytes + 32, address, DIGEST_LEN);
	seal_put(ret_bytes + 64, (uint64_t)facts->modified, 8);
	memcpy(ret_bytes + 72, facts->tag, strlen(facts->tag));
	if (!sum_note(address, ret_bytes, &sum))
		return false;
	seal_put(ret_bytes + SUM_AT, sum, 8);
	return true;
}
