/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * examine.c - the public interface to how a container is laid out.
 */
#include "api/priv.h"

#include "container/bcolztable.h"
#include "container/examine.h"
#include "source/dir.h"
#include "view/kept.h"

struct told {
	void (*tell)(void *arg, bool is_note, const struct bloscfs_diag *why);
	void *arg;
};

static void pass_on(void *arg, bool is_note, const struct bfs_diag *why)
{
	const struct told *told = arg;
	struct bloscfs_diag pub;

	bfs_api_show(why, &pub);
	told->tell(told->arg, is_note, &pub);
}

/* Not tried again where memory is short: some findings were told by then. */
enum bloscfs_err bloscfs_examine(struct bloscfs_file *file,
				 const struct bloscfs_node *node,
				 void (*tell)(void *arg, bool is_note,
					      const struct bloscfs_diag *why),
				 void *arg, struct bloscfs_diag *diag)
{
	struct told told = { tell, arg };
	const struct bfs_examiner examiner = { pass_on, &told };
	struct bfs_diag own = { .chunk = -1 };
	uint32_t child = node ? node->child : 0;
	struct bfs_file *inner;
	struct bfs_turn turn;
	enum bfs_err err;

	if (!file || !tell)
		return bfs_api_refuse(diag);
	bfs_turn_begin(&turn, file->budget, true);
	err = bfs_nesting_take(file->nesting, child, &inner, &own);
	if (err == BFS_OK) {
		err = bfs_container_examine(inner->array->container, &examiner,
					    &own);
		bfs_nesting_give(file->nesting, child);
	}
	bfs_turn_end(&turn);
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_examine_table(struct bloscfs *fs, int dirfd,
				       bool *ret_is,
				       void (*tell)(void *arg, bool is_note,
						    const struct bloscfs_diag
							    *why),
				       void *arg, struct bloscfs_diag *diag)
{
	struct told told = { tell, arg };
	const struct bfs_examiner examiner = { pass_on, &told };
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_dir *dir;
	struct bfs_turn turn;
	enum bfs_err err;

	if (!ret_is || (tell && !fs))
		return bfs_api_refuse(diag);
	err = bfs_dir_fd(dirfd, &dir, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	*ret_is = bfs_bcolztable_is(dir);
	if (*ret_is && tell) {
		bfs_turn_begin(&turn, fs->budget, true);
		err = bfs_bcolztable_examine(dir, &examiner, &own);
		bfs_turn_end(&turn);
	}
	bfs_dir_unref(dir);
	return bfs_api_answer(err, &own, diag);
}
