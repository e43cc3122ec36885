/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choice.h - which of the containers below SOURCE become directories: the
 * options formats=, include= and exclude=, and stores of other systems.
 *
 * What is not taken is left as it is: a plain file, a plain folder. In and
 * below a folder that is left nothing is taken. All calls but the first two
 * only read.
 */
#ifndef BFS_DAEMON_TREE_CHOICE_H
#define BFS_DAEMON_TREE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choice_rule {
	bool exclude;
	char *glob;		/* owned */
};

struct choice {
	uint32_t left_out;	/* bits: formats not taken, by their row */
	bool named;		/* formats= named what to take */
	bool any_chunk;		/* whatever its name is */
	struct choice_rule *rules;
	size_t n_rules;
	char *formats;		/* as given, owned, or NULL */
};

/* Whether a folder's files are left as they are. Kept with the node, so that
 * a look-up asks no folder but its own. */
struct verdict {
	bool own;		/* for what the folder itself holds */
	bool left;		/* or for what those above hold */
	bool ever;		/* was left once */
};

/* "a:b:-c"; names of the table of containers, - or _ for their spaces, or
 * "all". False where one is unknown, or no memory. */
bool choice_set_formats(struct choice *choice, const char *list);
/* One more rule, in the order given. False on no memory. */
bool choice_add_rule(struct choice *choice, bool exclude, const char *glob);
void choice_release(struct choice *choice);

/* Whether a container of a format (as the library names it) is taken, in a
 * file or folder called name (of a path the last part). */
bool choice_takes(const struct choice *choice, const char *format,
		  const char *path);
/* Whether the rules exclude what lies at a path below SOURCE. */
bool choice_excludes(const struct choice *choice, const char *path);

/* Whether nothing in a directory that is shown as a folder is taken: it is a
 * container that was left, or, where stores count, a store of another system.
 * dirfd may be O_PATH. 0 or -errno. */
int choice_leaves(int dirfd, bool stores, bool *ret_leaves);
/* Whether a directory, or one above it in the same file system, is a store of
 * another system. fd stays the caller's. 0 or -errno. */
int choice_in_store(int fd, bool *ret_is);

#endif
