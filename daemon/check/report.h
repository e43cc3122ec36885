/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h - what --check prints: lines, how far it is, and a summary. For the
 * main thread alone.
 */
#ifndef BFS_DAEMON_CHECK_REPORT_H
#define BFS_DAEMON_CHECK_REPORT_H

#include "check/info.h"
#include "check/parts.h"

struct report {
	double start;		/* seconds */
	bool progress;		/* stderr is a terminal */
	double shown;		/* when progress was last */
	size_t n_printed;	/* jobs */
	uint64_t counts[CHECK_N_VERDICTS];
	enum exit_code code;
	int error;		/* errno of writing */
};

void report_begin(struct report *report);
/* Flushes what was printed. The code, or a failure where it was not written. */
enum exit_code report_end(struct report *report, enum exit_code code);
/* The worst code is the form's. */
void report_code(struct report *report, enum exit_code code);

/* With the lock held. */
void report_progress(struct report *report, const struct check *check,
		     struct check_worker *workers);
/* Waits until a job is done or a thread ended; where progress is shown, no
 * longer than until the next look at it. */
void report_wait(const struct report *report, struct check *check);
/* Prints jobs that are done. Leaves the lock meanwhile. */
void report_done(struct report *report, struct check *check);

/* Once the threads have ended. */
void report_erase(const struct report *report);
void report_summary(struct report *report, const struct check *check,
		    struct check_worker *workers);

#endif
