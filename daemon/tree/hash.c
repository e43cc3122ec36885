/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.c - see hash.h.
 */
#include "tree/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Before random bytes can be had, early at boot, the clock must do. */
static uint64_t draw(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(seed)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = tree_mix((uint64_t)now.tv_sec << 32 ^
				(uint64_t)now.tv_nsec ^
				(uintptr_t)(void *)&now);
	}
	return seed | 1;
}

uint64_t hash_seed(void)
{
	static _Atomic uint64_t kept;	/* 0: none yet */
	uint64_t seed = atomic_load_explicit(&kept, memory_order_relaxed);
	uint64_t drawn;

	if (seed)
		return seed;
	drawn = draw();
	/* Who came first has drawn for all. */
	return atomic_compare_exchange_strong(&kept, &seed, drawn) ? drawn :
								     seed;
}

uint64_t hash_text(uint64_t key, const char *text)
{
	size_t len = strlen(text);
	uint64_t word;

	key = hash_word(key, len);
	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		key = hash_word(key, word);
	}
	word = 0;
	memcpy(&word, text, len);
	return hash_word(key, word);
}
