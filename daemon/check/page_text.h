/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page_text.h - what of a page of --report is the same on each.
 */
#ifndef BFS_DAEMON_CHECK_PAGE_TEXT_H
#define BFS_DAEMON_CHECK_PAGE_TEXT_H

extern const char page_style[];
extern const char page_script[];

#endif
