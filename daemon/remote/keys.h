/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.h - what S3's requests are signed with, found as the AWS tools find
 * it: environment, then ~/.aws/credentials and ~/.aws/config by AWS_PROFILE.
 */
#ifndef BFS_DAEMON_REMOTE_KEYS_H
#define BFS_DAEMON_REMOTE_KEYS_H

#include "remote/granted.h"

struct s3_setup {
	struct keys keys;	/* id NULL: none were found */
	char *process;		/* credential_process, where that gives them */
	char *region;		/* never NULL */
	char *endpoint;		/* NULL: Amazon's */
};

/* 0, -ENOMEM, or -EINVAL with one sentence in error that holds no secret.
 * All texts are owned. */
int keys_find(struct s3_setup *ret_setup, char *error, size_t error_cap);
void keys_release(struct s3_setup *setup);

#endif
