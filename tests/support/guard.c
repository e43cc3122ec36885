/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard.c - memory between two inaccessible pages.
 */
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	abort();
}

void guard_open(struct guard *g, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t inner = (len + page - 1) / page * page;

	g->map_len = inner + 2 * page;
	g->map = mmap(NULL, g->map_len, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->map == MAP_FAILED)
		die("mmap");
	g->first = g->map + page;
	g->limit = g->first + inner;
	if (inner && mprotect(g->first, inner, PROT_READ | PROT_WRITE))
		die("mprotect");
}

void guard_close(struct guard *g)
{
	munmap(g->map, g->map_len);
}

static void check_len(const struct guard *g, size_t len)
{
	if (len > (size_t)(g->limit - g->first)) {
		fprintf(stderr, "guard: %zu bytes asked for\n", len);
		abort();
	}
}

uint8_t *guard_head(const struct guard *g, size_t len)
{
	check_len(g, len);
	return g->first;
}

uint8_t *guard_tail(const struct guard *g, size_t len)
{
	check_len(g, len);
	return g->limit - len;
}
