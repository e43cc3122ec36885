/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.h - what headers and index tell about an opened container as a whole,
 * without a block of it decoded: whether it is sound, and what it is made of.
 * The rest stands in struct bfs_container.
 */
#ifndef BFS_VIEW_FACTS_H
#define BFS_VIEW_FACTS_H

#include "base/err.h"
#include "container/container.h"
#include "view/verdict.h"

#include <stdbool.h>
#include <stdint.h>

#define BFS_NOT_KNOWN UINT64_MAX
#define BFS_FACT_NAME 24	/* bytes of a codec's or filter's name */

struct bfs_file;

struct bfs_filter_fact {
	char name[BFS_FACT_NAME];
	uint8_t id;
	uint8_t meta;
};

struct bfs_facts {
	const struct bfs_verdict *verdict; /* stays while open */
	uint64_t data_len;		/* bytes of data.bin, or NOT_KNOWN */
	uint64_t nbytes;		/* of all chunks, or NOT_KNOWN */
	uint32_t blocksize;		/* 0 = not said */
	char codec[BFS_FACT_NAME];	/* "" = not known */
	int clevel;			/* -1 = not known */
	unsigned n_filters;
	struct bfs_filter_fact filters[BFS_N_FILTER_SLOTS];
};

/* The verdict, found out when first asked for. Fails only where there can be
 * none: no memory, a source that changed. */
enum bfs_err bfs_file_judge(struct bfs_file *file,
			    const struct bfs_verdict **ret_verdict,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* All facts; fails as bfs_file_judge does. */
enum bfs_err bfs_file_find_facts(struct bfs_file *file,
				 struct bfs_facts *ret_facts,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
