/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * number.h - what an item is as a number. For view/preview/ alone.
 */
#ifndef BFS_VIEW_PREVIEW_NUMBER_H
#define BFS_VIEW_PREVIEW_NUMBER_H

#include "view/image/plain.h"

/* Of a complex one its magnitude. */
double bfs_preview_number(const struct bfs_plain *plain, const uint8_t *item);

#endif
