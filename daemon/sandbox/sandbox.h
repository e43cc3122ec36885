/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox.h - what the process that serves a mount gives up before its first
 * thread starts, so that a decoder that a stranger's file has taken over can
 * do little: it reads SOURCE, and answers the kernel.
 *
 *   fence     files: SOURCE to be read, and nothing else (Landlock)
 *   calls     system calls: those that serving needs (seccomp)
 *   powers    capabilities: to read SOURCE as root does, if it had that
 *
 * New privileges cannot be had by it, no debugger of the same user gets at it,
 * and its memory is never dumped.
 */
#ifndef BFS_DAEMON_SANDBOX_SANDBOX_H
#define BFS_DAEMON_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum sandbox_mode {
	SANDBOX_ON,		/* as much as kernel and build have */
	SANDBOX_OFF,
	SANDBOX_REQUIRE,	/* all of it, or no mount */
};

/* Sanitizers look into memory and files by ways of their own. */
#ifdef BFS_SANITIZED
#define DEFAULT_SANDBOX SANDBOX_OFF
#else
#define DEFAULT_SANDBOX SANDBOX_ON
#endif

struct sandbox_terms {
	enum sandbox_mode mode;
	int source_fd;		/* a directory to be read; -1: none */
	const int *more_fds;	/* n_more others, -1: none; may be NULL */
	size_t n_more;
	const char *write_dir;	/* to be written below; NULL: none */
	bool network;		/* servers are asked */
	const char *more_files[3];	/* to be read as well; NULL behind */
	/* Where a call that is not allowed is told before it ends us: by one
	 * message, tell_word and the number in decimal digits. */
	int tell_fd;
	char tell_word;
};

/* The exit status of who made such a call. */
#define SANDBOX_BREACH 99

/* "on", "off" or "require"; false for other words. */
bool sandbox_parse(const char *text, enum sandbox_mode *ret_mode);
const char *sandbox_mode_name(enum sandbox_mode mode);

/* Confines the calling process, which has one thread. What cannot be had is
 * logged; with SANDBOX_REQUIRE it is -1, and one sentence in error. */
int sandbox_enter(const struct sandbox_terms *terms, char *error, size_t cap);
/* What is in force in this process, in words: "none", or what sandbox_enter has
 * done. */
const char *sandbox_in_force(void);

/* The name of a system call by its number, to be freed; NULL if unknown. */
char *sandbox_call_name(int number);
/* One line about what this build and this kernel can do. */
void sandbox_write_support(FILE *out);

#endif
