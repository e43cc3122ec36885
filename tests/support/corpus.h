/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * corpus.h - a group of tests whose last one reads the files below
 * $BLOSCFS_CORPUS, and is skipped, and said to be, where there are none.
 * Behind cmocka.h and its headers.
 */
#ifndef SUPPORT_CORPUS_H
#define SUPPORT_CORPUS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline int corpus_run_group(const char *name,
				   const struct CMUnitTest *tests, size_t n,
				   CMFixtureFunction set_up,
				   CMFixtureFunction tear_down)
{
	bool has_corpus = getenv("BLOSCFS_CORPUS");
	int failed = _cmocka_run_group_tests(name, tests, n - !has_corpus,
					     set_up, tear_down);

	/* cmocka's own skip() prints "not ok". TAP's version comes first. */
	if (!has_corpus)
		printf("# SKIP %s: BLOSCFS_CORPUS names none\n",
		       tests[n - 1].name);
	return failed;
}

#endif
