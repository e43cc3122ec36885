/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_place.h - opens what a row of a MANIFEST.tsv names, and finds in it
 * the entry that the row is about, through the public interface alone.
 */
#ifndef BFS_TEST_SAMPLE_PLACE_H
#define BFS_TEST_SAMPLE_PLACE_H

#include "bloscfs.h"

#include <stdbool.h>

bool sample_is_folder(const char *path);
/* A folder that is one container, such as a sparse frame. */
bool sample_is_container_dir(const char *path);

/* Opens a file, or a folder that is a container. */
enum bloscfs_err sample_open(struct bloscfs *fs, const char *path,
			     struct bloscfs_file **ret_file,
			     struct bloscfs_diag *diag);

/* Opens one of tests/data by its name; NULL where it cannot be opened. */
struct bloscfs_file *sample_open_data(struct bloscfs *fs, const char *name);

/* The entry at a path below dir; empty parts of the path do not count. */
bool sample_find(struct bloscfs_file *file, const struct bloscfs_node *dir,
		 const char *path, struct bloscfs_node *ret_node);

/* Where in the file the words "member:PATH:" and "embed:KEY:" lead, as often
 * as they come; returns the words behind, or NULL where nothing is there. */
const char *sample_enter(struct bloscfs_file *file, const char *what,
			 struct bloscfs_node *ret_dir);

/* The path (512 bytes) of the entry that "what:arg" is about; false where no
 * view shows such a thing. */
bool sample_entry(const char *what, const char *arg, char *path);

#endif
