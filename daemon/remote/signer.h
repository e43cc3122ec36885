/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signer.h - the keys that requests are signed with by now: given once, or
 * renewed by a credential_process before they expire and when a server says
 * that they have. May be used by many threads at once.
 */
#ifndef BFS_DAEMON_REMOTE_SIGNER_H
#define BFS_DAEMON_REMOTE_SIGNER_H

#include "remote/granted.h"

#include <stdbool.h>

struct signer;

/* keys are copied (id NULL: none yet); process, of which one is needed then,
 * is copied, or NULL. It may take limit_ms. NULL on no memory. */
struct signer *signer_new(const struct keys *keys, const char *process,
			  uint64_t limit_ms);
void signer_free(struct signer *signer);
/* Before a sandbox, and the first thread: what runs the process from then on is
 * outside. 0 or -errno. */
int signer_hire(struct signer *signer);
/* Sees to it that the keys are good for a while, which may take a while:
 * stopped (may be NULL) is asked meanwhile. 0, or -EINTR, or -EACCES with a
 * reason in *ret_why. Whoever has keys that are still good goes on with
 * these where new ones cannot be had. */
int signer_ready(struct signer *signer, bool (*stopped)(void *arg),
		 void *arg, const char **ret_why);
/* A server says that the keys have expired with which a request was signed
 * that began at begin_ms (CLOCK_MONOTONIC). Whether others can be had. */
bool signer_expire(struct signer *signer, int64_t begin_ms);
/* Calls take with the keys, which stay only as long as that; what it says.
 * False where there are none. It must not call in here. */
bool signer_use(struct signer *signer,
		bool (*take)(void *arg, const struct keys *keys), void *arg);

#endif
