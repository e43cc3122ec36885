/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shown.h - for fuzzing: what others' programs show as a page or a picture.
 */
#ifndef FUZZ_SHOWN_H
#define FUZZ_SHOWN_H

#include "view/view.h"

/* Reads an entry whole if its name says that it is HTML, SVG or PNG: such is
 * well-formed, with nothing of the file's own as markup. At most max bytes;
 * returns how many it was. */
size_t shown_check(struct bfs_file *file, const struct bfs_node *node,
		   const char *name, size_t max);

#endif
