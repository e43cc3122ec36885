/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.h - questions to file systems that may never answer. Another process
 * asks, and is waited for no longer than ANSWER_MS: who waits for a daemon that
 * is stopped may be past killing.
 */
#ifndef BFS_DAEMON_MOUNT_ASK_H
#define BFS_DAEMON_MOUNT_ASK_H

#include <stdbool.h>
#include <sys/types.h>

/* realpath of a path, to be freed. NULL with errno: ETIMEDOUT where a file
 * system on the way does not answer. */
char *ask_real_path(const char *path);

/* Whether the kernel says, at once, that the daemon of the mount at path is
 * gone. */
bool ask_is_dead(const char *path);

/* A question whose answer is waited for beside other things. */
struct asked {
	pid_t pid;
	int fd;		/* readable once there is an answer */
};

/* Begins to ask for the attributes of path. 0 or -errno. leave: a descriptor
 * that who asks does not keep open; -1: none. */
int ask_begin(struct asked *asked, const char *path, int leave);
/* 0 and the device that path is on, or -errno; -ETIMEDOUT while nothing
 * answers, when who asked is left to itself: it ends with the mount. */
int ask_end(struct asked *asked, dev_t *ret_dev);
/* Both, with ms to wait for it. */
int ask_answers(const char *path, int ms);

#endif
