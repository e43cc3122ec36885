/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.h - what went wrong with the source: each fault once, with how often
 * it was met.
 *
 * Two faults are the same when they lie at the same place of the same file,
 * whoever ran into them. The table is bounded: what finds no room is only
 * counted. All calls may run at once.
 */
#ifndef BFS_DAEMON_LOG_FAULTS_H
#define BFS_DAEMON_LOG_FAULTS_H

#include "bloscfs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FAULTS_MAX 2048
#define FAULTS_N_KINDS (BLOSCFS_ERR_TOO_MUCH + 1)

struct fault {
	const char *path;
	const char *what;		/* what failed, for the log */
	int error;			/* errno that a program saw; 0: none */
	const struct bloscfs_diag *why;
};

/* Notes a fault; true if it is a new one. `told`: the log tells it. */
bool faults_note(const struct fault *fault, bool told);

/* Writes one line per fault, oldest first, below a line that names the
 * columns: time, path, chunk, error, reason, count. */
void faults_write(FILE *out);

struct fault_counts {
	uint64_t failed[FAULTS_N_KINDS];	/* by enum bloscfs_err */
	uint64_t n_distinct;
	uint64_t n_dropped;			/* found no room */
};

void faults_count(struct fault_counts *ret_counts);

/* Calls tell for each fault that the log told and that was met again:
 * n_repeats times. Forgets all; returns how many found no room. */
uint64_t faults_sum_up(void (*tell)(const char *path, uint64_t n_repeats));

#endif
