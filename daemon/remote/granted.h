/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * granted.h - what a credential_process prints: keys for S3 in JSON, version 1
 * of the AWS tools' format.
 */
#ifndef BFS_DAEMON_REMOTE_GRANTED_H
#define BFS_DAEMON_REMOTE_GRANTED_H

#include <stddef.h>
#include <stdint.h>

/* What a request is signed with. Texts are owned. */
struct keys {
	char *id, *secret;
	char *token;		/* of a session, or NULL */
};

void keys_forget(struct keys *keys);

/* An object with Version (1), AccessKeyId, SecretAccessKey and maybe
 * SessionToken and Expiration; others are passed over. ret_until: seconds
 * since 1970, INT64_MAX where they do not expire. 0, -ENOMEM, or -EINVAL. */
int granted_parse(const char *text, size_t len, struct keys *ret_keys,
		  int64_t *ret_until);

#endif
