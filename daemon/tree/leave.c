/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leave.c - the verdict on a folder, found again when the folder changes: a
 * store that is being written is one as soon as its metadata is there.
 */
#include "tree/leave.h"

#include "tree/choice.h"
#include "tree/far.h"
#include "tree/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a folder of a server is believed to be no store, at least, and one
 * with an index to be no container. */
#define FAR_NS UINT64_C(30000000000)
#define INDEX_NS UINT64_C(1000000000)

/* A folder's verdict, and which state of the folder `own` is of (0: none). */
static struct verdict get_verdict(struct tree *tree, const struct node *node,
				  uint64_t *ret_state)
{
	struct verdict verdict;

	pthread_mutex_lock(&tree->lock);
	verdict = node->verdict;
	*ret_state = node->opened_as;
	pthread_mutex_unlock(&tree->lock);
	return verdict;
}

static void set_verdict(struct tree *tree, struct node *node,
			const struct verdict *verdict, uint64_t state)
{
	pthread_mutex_lock(&tree->lock);
	node->verdict = *verdict;
	node->opened_as = state;
	pthread_mutex_unlock(&tree->lock);
}

/* Which state of a folder a descriptor shows; 0 where a change may not show
 * in it yet. */
static uint64_t state_of(const struct stat *st)
{
	int64_t mtime = st->st_mtim.tv_sec * INT64_C(1000000000) +
			st->st_mtim.tv_nsec;
	uint64_t state = (uint64_t)mtime;

	if (src_now() - mtime < HOT_NS)
		return 0;
	state = state * UINT64_C(0x9e3779b97f4a7c15) +
		(uint64_t)st->st_ctim.tv_sec * 1000000000 +
		(uint64_t)st->st_ctim.tv_nsec;
	return (state * UINT64_C(0x9e3779b97f4a7c15) + st->st_ino) | 1;
}

/* From what the folder's own names say and whether the one above is left. */
static void settle_verdict(struct daemon *daemon, struct node *folder,
			   struct verdict *verdict, bool above, uint64_t state)
{
	verdict->left = verdict->own || above;
	verdict->ever = verdict->ever || verdict->left;
	set_verdict(&daemon->tree, folder, verdict, state);
}

/* That of several SOURCEs which a folder is in; NULL: there is but one. */
static const struct side *side_of(const struct daemon *daemon,
				  const struct node *folder)
{
	const char *rest;

	if (!daemon->src.sides.n || !folder->parent)
		return NULL;
	while (folder->parent->parent)
		folder = folder->parent;
	return sides_find(&daemon->src.sides, folder->name, &rest);
}

/* Whether stores are left in a folder; *ret_within: whether it is one's since
 * SOURCE lies in that. */
static bool heeds_stores(const struct daemon *daemon,
			 const struct node *folder, bool *ret_within)
{
	const struct side *side = side_of(daemon, folder);
	bool named = daemon->opts->choice.named;

	*ret_within = side ? side->lies_in_store && !named : daemon->in_store;
	return side ? !side->lies_in_store || !named : !daemon->no_stores;
}

static int judge(struct daemon *daemon, struct node *folder, int dir_fd,
		 struct verdict *ret_verdict)
{
	struct verdict verdict, above = { 0 };
	uint64_t known, now, other;
	struct stat st;
	int status = 0;
	bool within, stores = heeds_stores(daemon, folder, &within);

	/* What is named on the command line nobody has left to a store. */
	if (daemon->src.sides.n && !folder->parent) {
		*ret_verdict = above;
		return 0;
	}
	if (fstat(dir_fd, &st) < 0)
		return -errno;
	now = state_of(&st);
	verdict = get_verdict(&daemon->tree, folder, &known);
	if (folder->parent)
		above = get_verdict(&daemon->tree, folder->parent, &other);
	above.left = above.left || within;
	*ret_verdict = verdict;
	if (now && now == known && verdict.left ==
				   (verdict.own || above.left))
		return 0;
	if (!now || now != known)
		status = choice_leaves(dir_fd, stores, &verdict.own);
	if (status)
		return status;
	settle_verdict(daemon, folder, &verdict, above.left, now);
	*ret_verdict = verdict;
	return 0;
}

/* By the globs, which see no number of ours behind a name. */
static bool rules_exclude(const struct daemon *daemon, const char *path)
{
	const struct choice *choice = &daemon->opts->choice;
	const char *rest = path;
	const struct side *side = sides_find(&daemon->src.sides, path, &rest);
	char *own;
	bool excluded;

	if (!choice->n_rules || !side || !strcmp(side->given, side->name))
		return choice_excludes(choice, path);
	/* As choice_excludes. */
	if (asprintf(&own, "%s%s%s", side->given, *rest ? "/" : "", rest) < 0)
		return true;
	excluded = choice_excludes(choice, own);
	free(own);
	return excluded;
}

/* By the globs. 0 or -errno. */
static int exclude(struct daemon *daemon, struct node *folder,
		   const char *name, bool *ret_excluded)
{
	char *above, *path;

	*ret_excluded = false;
	if (!daemon->opts->choice.n_rules)
		return 0;
	above = tree_long_path(folder);
	if (!above || asprintf(&path, "%s%s%s", above, *above ? "/" : "",
			       name) < 0) {
		free(above);
		return -ENOMEM;
	}
	*ret_excluded = rules_exclude(daemon, path);
	free(above);
	free(path);
	return 0;
}

int leave_look(struct daemon *daemon, struct node *folder, int dir_fd,
	       const char *name, bool *ret_left, bool *ret_ever)
{
	struct verdict verdict;
	int status = judge(daemon, folder, dir_fd, &verdict);

	if (status)
		return status;
	*ret_left = verdict.left;
	*ret_ever = verdict.ever;
	return verdict.left ? 0 : exclude(daemon, folder, name, ret_left);
}

/* On a server no date tells that a folder has changed. */
static int judge_far(struct daemon *daemon, struct node *folder,
		     struct verdict *ret_verdict)
{
	uint64_t believed = (uint64_t)(daemon->timeout * 1e9);
	uint64_t now, known, other, least;
	struct verdict verdict = get_verdict(&daemon->tree, folder, &known);
	struct verdict above = { .left = daemon->in_store };
	char *path = NULL;
	struct src_stat st;
	uint64_t ino;
	bool open;
	int status = 0;

	now = (uint64_t)src_now() | 1;
	if (folder->parent)
		above = get_verdict(&daemon->tree, folder->parent, &other);
	tree_stat(&daemon->tree, folder, &st, &ino, &open);
	least = st.index_mode ? INDEX_NS : FAR_NS;
	if (believed < least)
		believed = least;
	if (!known || now - known > believed) {
		path = tree_long_path(folder);
		status = path ? far_leaves(daemon->src.far, path,
					   st.index_mode, !daemon->no_stores,
					   &verdict.own) : -ENOMEM;
		free(path);
		known = now;
	}
	if (status)
		return status;
	settle_verdict(daemon, folder, &verdict, above.left, known);
	*ret_verdict = verdict;
	return 0;
}

int leave_far(struct daemon *daemon, struct node *folder, const char *name,
	      bool *ret_left)
{
	struct verdict verdict;
	int status = judge_far(daemon, folder, &verdict);

	if (status)
		return status;
	*ret_left = verdict.left;
	return verdict.left || !name ? 0 :
	       exclude(daemon, folder, name, ret_left);
}

bool leave_known(struct daemon *daemon, struct node *folder,
		 const char *path)
{
	uint64_t state;

	return get_verdict(&daemon->tree, folder, &state).left ||
	       rules_exclude(daemon, path);
}
