/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.h - hashes of what others choose (names, lists of rights): with a seed
 * that each process draws, so that nobody can choose what collides.
 */
#ifndef BFS_DAEMON_TREE_HASH_H
#define BFS_DAEMON_TREE_HASH_H

#include <stdint.h>

/* As bfs_mix in the library, of which the daemon sees bloscfs.h alone. */
static inline uint64_t tree_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Random, the same at each call in a process. */
uint64_t hash_seed(void);
/* key, which began as a seed, and one word more. */
static inline uint64_t hash_word(uint64_t key, uint64_t word)
{
	return tree_mix(key ^ word);
}
/* key and a text. */
uint64_t hash_text(uint64_t key, const char *text);

#endif
