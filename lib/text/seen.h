/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.h - which characters of Unicode a text shows as themselves: the one rule
 * for whatever puts names and reasons before eyes.
 */
#ifndef BFS_TEXT_SEEN_H
#define BFS_TEXT_SEEN_H

#include <stdbool.h>
#include <stdint.h>

/* False of controls, marks of direction, what has no width, letters that look
 * like nothing, what stands for nothing, and what is no character. */
bool bfs_is_seen(uint32_t character);

#endif
