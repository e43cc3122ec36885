/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h - what the keeper of a mount and the process that serves it say to one
 * another: words of one letter, each a message of its own, some with a text or
 * a descriptor.
 *
 * Nobody waits for the other: a message that finds no room is lost, which
 * happens to lines of the log alone. What the server says is not trusted: the
 * most that it gets is what a mount's end gives it. So it speaks by a pipe, by
 * which no descriptor can be passed: the keeper, if it had the device, would
 * keep a dead mount alive, and closing some others takes as long as who sent
 * them likes.
 */
#ifndef BFS_DAEMON_MOUNT_LINE_H
#define BFS_DAEMON_MOUNT_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum line_word {
	/* To the keeper. */
	LINE_READY = 'r',	/* SOURCE is open */
	LINE_LOG = 'l',		/* a digit for the level, the line */
	LINE_IDLE = 'i',	/* nobody used the mount for so long */
	LINE_BREACH = 'b',	/* number of a system call */
	/* To the server. */
	LINE_WATCHED = 'w',	/* what is to stay open until the end */
	LINE_DEVICE = 'd',	/* the device, its threads' name */
	LINE_MOUNTED = 'm',	/* it answers, and who waited was told */
	LINE_STATS = 's',	/* to be logged */
	LINE_NEW_LOG = 'n',	/* the log, opened anew */
	LINE_HURRY = 'h',	/* the mount is being taken away */
	LINE_END = 'e',		/* the mount cannot be taken away */
	LINE_FORCE = 'f',	/* without waiting for what is stuck */
};

#define LINE_TEXT_CAP 2304

struct line_message {
	enum line_word word;
	char text[LINE_TEXT_CAP];
	int fd;			/* -1: none; the receiver's */
};

/* One side's descriptors; -1: closed. */
struct line {
	int hear;	/* readable where the other has spoken or ended */
	int speak;
};

/* 0, or -errno. */
int line_make(struct line *ret_keeper, struct line *ret_server);
void line_close(struct line *line);

/* The keeper's. text may be NULL, fd -1. False where it could not be sent. */
bool line_send(const struct line *line, enum line_word word, const char *text,
	       int fd);
/* 1, 0 where the other end is closed, or -errno: -EAGAIN where nothing is
 * there. The word may be any byte; there is never a descriptor. */
int line_hear(const struct line *line, struct line_message *ret_message);

/* The server's. */
bool line_tell(const struct line *line, enum line_word word, const char *text);
/* As line_hear; where wait is true, it is never -EAGAIN. */
int line_receive(const struct line *line, bool wait,
		 struct line_message *ret_message);

#endif
