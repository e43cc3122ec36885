/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c - the list of containers to check, and the servers that they are on.
 */
#include "check/parts.h"

#include "tree/far.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int check_add(struct check_jobs *jobs, const struct check_job *job)
{
	size_t cap = jobs->cap ? 2 * jobs->cap : 16;
	struct check_job *list;
	char *path = strdup(job->path);

	if (!path)
		return -ENOMEM;
	if (jobs->n == jobs->cap) {
		list = realloc(jobs->list, cap * sizeof(*list));
		if (!list) {
			free(path);
			return -ENOMEM;
		}
		jobs->list = list;
		jobs->cap = cap;
	}
	jobs->list[jobs->n] = *job;
	jobs->list[jobs->n++].path = path;
	jobs->size += job->size;
	return 0;
}

int check_add_far(struct check_jobs *jobs, struct far *far)
{
	struct far **fars = realloc(jobs->fars,
				    (jobs->n_fars + 1) * sizeof(far));

	if (!fars)
		return -ENOMEM;
	jobs->fars = fars;
	fars[jobs->n_fars++] = far;
	return 0;
}

void check_jobs_release(struct check_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		free(jobs->list[i].path);
		spill_free(jobs->list[i].lines);
		spill_free(jobs->list[i].rows);
		free(jobs->list[i].reason);
		free(jobs->list[i].inner);
	}
	for (size_t i = 0; i < jobs->n_fars; i++)
		far_close(jobs->fars[i]);
	free(jobs->fars);
	free(jobs->list);
}
