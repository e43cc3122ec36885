/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - what the parts of --check share: the list of containers
 * (check/jobs.c), what fills it (check/find.c and check/far.c), the verdict on
 * one (check/file.c), its chunks (check/chunks.c), what is told of them
 * (check/told.h) and printed (check/lines.h, check/page.h), and the threads
 * that work on all of it (check/workers.c).
 *
 * The list is complete before the threads start. A container is one thread's;
 * its chunks are put on a board where threads without a container of their
 * own take part.
 */
#ifndef BFS_DAEMON_CHECK_PARTS_H
#define BFS_DAEMON_CHECK_PARTS_H

#include "bloscfs.h"
#include "check/spill.h"
#include "check/told.h"
#include "opts/opts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What is read at once. */
#define CHECK_PIECE (1u << 20)

/* An outermost container, or what could not be looked at. */
struct check_job {
	char *path;
	bool is_dir;
	bool named;		/* on the command line */
	bool unrecognised;	/* by its content it is none */
	bool is_table;		/* a folder whose columns are jobs */
	int error;		/* errno of looking at it, or 0 */
	char *reason;		/* of that, where more is known; owned */
	struct far *far;	/* on a server, at inner; NULL: a file */
	char *inner;		/* owned */
	uint64_t size;		/* bytes as stored */
	struct spill *lines;	/* once done; NULL: no memory for them */
	struct spill *rows;	/* the same of the page of --report */
	uint64_t counts[CHECK_N_VERDICTS];
	bool done;		/* under the lock */
};

struct page;

struct check_jobs {
	struct check_job *list;
	size_t n, cap;
	uint64_t size;		/* of all */
	bool wrong_source;	/* a SOURCE held no container */
	struct far **fars;	/* servers of jobs */
	size_t n_fars;
};

/* The chunks of one container. */
struct check_task {
	struct bloscfs_file *file;
	struct bloscfs_node chunks;	/* folder */
	uint64_t n;			/* chunks */
	uint64_t step;			/* 1: all of them are looked at */
	uint64_t size;			/* what its owner's progress is of */
	const struct check_worker *owner;
	atomic_uint_fast64_t next;
	atomic_bool enough;		/* damage was found */
	struct check_finding *finding;	/* under the lock */
	unsigned n_helpers;		/* under the lock */
	struct check_task *later;	/* on the board, under the lock */
};

struct check {
	const struct opts *opts;
	struct bloscfs *fs;
	struct check_jobs jobs;
	struct page *page;		/* of --report; NULL: none */
	unsigned n_workers;
	pthread_mutex_t lock;
	pthread_cond_t work;		/* something to do, or all done */
	pthread_cond_t left;		/* a helper left its task */
	pthread_cond_t finished;	/* a job was done, or a thread ended */
	size_t next_job;		/* all below under the lock */
	size_t n_busy;			/* jobs taken and not done */
	size_t n_done;
	uint64_t done_size;
	unsigned n_alive;		/* threads */
	struct check_task *board;
};

/* One thread, and what it needs to read. */
struct check_worker {
	struct check *check;
	pthread_t thread;
	uint8_t *buf;			/* CHECK_PIECE + 1 bytes */
	struct bloscfs_pieces *pieces[2];
	_Atomic uint64_t n_bytes;	/* decoded */
	_Atomic uint64_t part;		/* of the job's size that is done */
};

/* ---- check/jobs.c ---------------------------------------------------- */

/* Takes a copy of the path, and over what else the job owns. 0 or -ENOMEM, as
 * below. */
int check_add(struct check_jobs *jobs, const struct check_job *job);
/* Takes far over. */
int check_add_far(struct check_jobs *jobs, struct far *far);
void check_jobs_release(struct check_jobs *jobs);

/* ---- check/find.c ---------------------------------------------------- */

/* The containers below the sources, in order. -ENOMEM, or 0. */
int check_find(struct check_jobs *jobs, const struct opts *opts);
/* Opens a file or folder; links are followed only where they were named. */
int check_open(const char *path, bool named);

/* ---- check/far.c ----------------------------------------------------- */

/* The same of one SOURCE on a server. */
int check_find_far(struct check_jobs *jobs, const struct opts *opts,
		   const char *source);
/* Opens a job that is on a server. NULL, and the finding says why. */
struct bloscfs_file *check_open_far(struct bloscfs *fs,
				    const struct check_job *job,
				    struct check_finding *finding);

/* ---- check/file.c ---------------------------------------------------- */

/* Fills the job's lines and counts. */
void check_job(struct check_worker *worker, struct check_job *job);

/* ---- check/chunks.c -------------------------------------------------- */

/* Reads a file of a container from end to end. */
enum bloscfs_err check_read_entry(struct check_worker *worker,
				  struct bloscfs_file *file,
				  const struct bloscfs_node *node,
				  struct bloscfs_diag *why);
/* Checks chunks of a task until there are no more to take. */
void check_chunks(struct check_worker *worker, struct check_task *task);
/* Puts the task on the board, works on it, and waits for the helpers. */
void check_share(struct check_worker *worker, struct check_task *task);

/* Of the table in the folder dir of a store, whose columns are in the folder
 * columns: tells those that have less rows than the table. */
typedef void check_told(void *arg, bool is_note,
			const struct bloscfs_diag *why);
void check_table(struct bloscfs_file *file, const struct bloscfs_node *dir,
		 const struct bloscfs_node *columns, check_told *told,
		 void *arg);

#endif
