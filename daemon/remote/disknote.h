/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disknote.h - what the disk cache knows of an address: the size, ETag and
 * date of its object when it was opened last.
 *
 * An address is known by its digest alone, without those parts of its query
 * that sign it and change with each signing.
 */
#ifndef BFS_DAEMON_REMOTE_DISKNOTE_H
#define BFS_DAEMON_REMOTE_DISKNOTE_H

#include "remote/ask.h"
#include "remote/stripe.h"

#define DISKNOTE_LEN 512

/* False on no memory. */
bool disknote_address(const char *url, uint8_t *ret_address);
/* The name of this very content. */
bool disknote_name(const uint8_t *address, const struct object_facts *facts,
		   struct disk_id *ret_id);
/* Its file's name in the folder; takes STRIPE_NAME_CAP. */
void disknote_file(const uint8_t *address, char *ret_name);
/* 0, or -errno: ENOENT, EBADMSG, ENOTSUP as stripe_open. */
int disknote_read(int dir, const uint8_t *address,
		  struct object_facts *ret_facts);
/* The same of bytes that disknote_write made. */
int disknote_parse(const uint8_t *address, const uint8_t *bytes,
		   struct object_facts *ret_facts);
/* DISKNOTE_LEN bytes. */
bool disknote_write(const uint8_t *address, const struct object_facts *facts,
		    uint8_t *ret_bytes);

#endif
