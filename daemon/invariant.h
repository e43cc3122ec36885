/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invariant.h - what the daemon relies on, said where it relies on it. For
 * mistakes of our own alone, and always on: what the source or the kernel says
 * is checked and becomes an error.
 */
#ifndef BFS_DAEMON_INVARIANT_H
#define BFS_DAEMON_INVARIANT_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the program with a line that names the place and the condition. */
#define INVARIANT(cond) ((cond) ? (void)0 : \
	(fprintf(stderr, "bloscfs: %s:%d: this should hold: %s\n", \
		 __FILE__, __LINE__, #cond), abort()))

/* For conditions that take a walk: a release build compiles them and never
 * evaluates them. */
#ifdef NDEBUG
#define INVARIANT_WALK(cond) ((void)sizeof(!(cond)))
#else
#define INVARIANT_WALK(cond) INVARIANT(cond)
#endif

#endif
