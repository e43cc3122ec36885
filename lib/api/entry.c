/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entry.c - the public interface to the entries of an opened container:
 * names, attributes, bytes.
 *
 * Each call is a turn at the memory budget: what finds it in use is done
 * again when others have given some back.
 */
#include "api/priv.h"

#include "base/mem.h"
#include "base/moment.h"
#include "view/dispatch.h"
#include "view/kept.h"
#include "view/xattr.h"

#include <string.h>

/* NULL is the directory of the outermost container. */
static struct bfs_place own_place(const struct bloscfs_node *node)
{
	if (!node)
		return (struct bfs_place){ 0, { .view = BFS_VIEW_ROOT } };
	return (struct bfs_place){
		node->child, { node->view, node->kind, node->index } };
}

static struct bloscfs_node pub_node(const struct bfs_place *place)
{
	return (struct bloscfs_node){
		.view = place->node.view, .kind = place->node.kind,
		.child = place->child, .index = place->node.index };
}

/* For calls that tell no reason: whether to do the work again. */
static bool lacked(struct bfs_turn *turn, uint64_t mark)
{
	enum bfs_err err = bfs_moment_settle(mark, BFS_OK, NULL);

	return bfs_api_again(turn, mark, &err, NULL);
}

/* ---- entries --------------------------------------------------------- */

struct bloscfs_node bloscfs_root(void)
{
	return (struct bloscfs_node){ .view = BFS_VIEW_ROOT };
}

bool bloscfs_has_children(struct bloscfs_file *file)
{
	return file && bfs_nesting_has_children(file->nesting);
}

uint64_t bloscfs_node_id(struct bloscfs_file *file,
			 const struct bloscfs_node *node)
{
	struct bfs_place own = own_place(node);

	if (!file)
		return 0;
	BFS_CHARGE_TO(file->budget);
	return bfs_nesting_id(file->nesting, &own);
}

bool bloscfs_lookup(struct bloscfs_file *file, const struct bloscfs_node *dir,
		    const char *name, struct bloscfs_node *ret_node)
{
	struct bfs_place own = own_place(dir), found;
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	bool has;

	if (!file || !name || !ret_node)
		return false;
	bfs_turn_begin(&turn, file->budget, true);
	do {
		has = bfs_nesting_lookup(file->nesting, &own, name,
					 strlen(name), &found);
	} while (lacked(&turn, mark));
	bfs_turn_end(&turn);
	if (has)
		*ret_node = pub_node(&found);
	return has;
}

bool bloscfs_list(struct bloscfs_file *file, const struct bloscfs_node *dir,
		  uint64_t pos, char *name, struct bloscfs_node *ret_node)
{
	struct bfs_place own = own_place(dir), found;
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	bool has;

	if (!file || !name || !ret_node)
		return false;
	bfs_turn_begin(&turn, file->budget, true);
	do {
		has = bfs_nesting_list(file->nesting, &own, pos, name, &found);
	} while (lacked(&turn, mark));
	bfs_turn_end(&turn);
	if (has)
		*ret_node = pub_node(&found);
	return has;
}

/* False: nothing is known of the entry. */
static bool look_at(struct bloscfs_file *file, const struct bfs_place *place,
		    struct bfs_attr *ret_attr)
{
	struct bfs_file *inner;

	if (bfs_nesting_take(file->nesting, place->child, &inner, NULL) !=
	    BFS_OK)
		return false;
	bfs_file_stat(inner, &place->node, ret_attr);
	bfs_nesting_give(file->nesting, place->child);
	return true;
}

void bloscfs_stat(struct bloscfs_file *file, const struct bloscfs_node *node,
		  struct bloscfs_attr *ret_attr)
{
	struct bfs_place own = own_place(node);
	struct bfs_attr attr = { .blksize = 4096 };
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	bool known;

	if (!file || !ret_attr)
		return;
	bfs_turn_begin(&turn, file->budget, true);
	do {
		known = look_at(file, &own, &attr);
	} while (lacked(&turn, mark));
	bfs_turn_end(&turn);
	if (!known)
		attr.is_dir = own.node.view == BFS_VIEW_ROOT;
	*ret_attr = (struct bloscfs_attr){
		.is_dir = attr.is_dir, .renews = attr.renews,
		.size = attr.len,
		.stored = attr.stored_len, .blksize = attr.blksize };
}

bool bloscfs_is_dir(struct bloscfs_file *file,
		    const struct bloscfs_node *node)
{
	struct bfs_place own = own_place(node);
	struct bfs_file *inner;
	bool is_dir = own.node.view == BFS_VIEW_ROOT;

	if (!file)
		return false;
	BFS_CHARGE_TO(file->budget);
	if (is_dir ||
	    bfs_nesting_take(file->nesting, own.child, &inner, NULL) != BFS_OK)
		return is_dir;
	is_dir = bfs_file_is_dir(inner, &own.node);
	bfs_nesting_give(file->nesting, own.child);
	return is_dir;
}

/* Containers inside lie behind other bytes in each opening. */
bool bloscfs_keeps(struct bloscfs_file *file, const struct bloscfs_node *node)
{
	struct bfs_place own = own_place(node);

	if (!file || own.child != 0)
		return false;
	BFS_CHARGE_TO(file->budget);
	return bfs_file_keeps(file->root, &own.node);
}

enum bloscfs_err bloscfs_access(struct bloscfs_file *file,
				const struct bloscfs_node *node,
				struct bloscfs_diag *diag)
{
	struct bfs_diag own_diag = { .chunk = -1 };
	struct bfs_place own = own_place(node);
	struct bfs_file *inner;
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	enum bfs_err err;

	if (!file)
		return bfs_api_refuse(diag);
	bfs_turn_begin(&turn, file->budget, true);
	do {
		err = bfs_nesting_take(file->nesting, own.child, &inner,
				       &own_diag);
		if (err == BFS_OK) {
			err = bfs_file_open(inner, &own.node, &own_diag);
			bfs_nesting_give(file->nesting, own.child);
		}
	} while (bfs_api_again(&turn, mark, &err, &own_diag));
	bfs_turn_end(&turn);
	return bfs_api_answer(err, &own_diag, diag);
}

enum bloscfs_err bloscfs_seek(struct bloscfs_file *file,
			      const struct bloscfs_node *node, uint64_t off,
			      bool hole, uint64_t *ret_off,
			      struct bloscfs_diag *diag)
{
	struct bfs_diag own_diag = { .chunk = -1 };
	struct bfs_place own = own_place(node);
	struct bfs_file *inner;
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	enum bfs_err err;

	if (!file || !ret_off)
		return bfs_api_refuse(diag);
	bfs_turn_begin(&turn, file->budget, true);
	do {
		err = bfs_nesting_take(file->nesting, own.child, &inner,
				       &own_diag);
		if (err == BFS_OK) {
			err = bfs_file_seek(inner, &own.node, off, hole,
					    ret_off, &own_diag);
			bfs_nesting_give(file->nesting, own.child);
		}
	} while (bfs_api_again(&turn, mark, &err, &own_diag));
	bfs_turn_end(&turn);
	return bfs_api_answer(err, &own_diag, diag);
}

static bool find_xattr(struct bloscfs_file *file,
		       const struct bfs_place *place, size_t i,
		       const char **ret_name, char *value, size_t *ret_len)
{
	struct bfs_file *inner;
	bool found;

	if (bfs_nesting_take(file->nesting, place->child, &inner, NULL) !=
	    BFS_OK)
		return false;
	found = bfs_file_xattr(inner, &place->node, i, ret_name, value,
			       ret_len);
	bfs_nesting_give(file->nesting, place->child);
	return found;
}

bool bloscfs_xattr(struct bloscfs_file *file, const struct bloscfs_node *node,
		   size_t i, const char **ret_name, char *value,
		   size_t *ret_len)
{
	struct bfs_place own = own_place(node);
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	bool found;

	if (!file || !ret_name || (value && !ret_len))
		return false;
	bfs_turn_begin(&turn, file->budget, true);
	do {
		found = find_xattr(file, &own, i, ret_name, value, ret_len);
	} while (lacked(&turn, mark));
	bfs_turn_end(&turn);
	return found;
}

enum bloscfs_err bloscfs_read(struct bloscfs_file *file,
			      const struct bloscfs_node *node, uint64_t off,
			      void *buf, size_t len, size_t *ret_len,
			      struct bloscfs_diag *diag)
{
	struct bfs_diag own_diag = { .chunk = -1 };
	struct bfs_place own = own_place(node);
	struct bfs_file *inner;
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	enum bfs_err err;

	if (!file || !ret_len || (!buf && len))
		return bfs_api_refuse(diag);
	bfs_turn_begin(&turn, file->budget, true);
	do {
		err = bfs_nesting_take(file->nesting, own.child, &inner,
				       &own_diag);
		if (err == BFS_OK) {
			err = bfs_file_read(inner, &own.node, off, buf, len,
					    ret_len, &own_diag);
			bfs_nesting_give(file->nesting, own.child);
		}
	} while (bfs_api_again(&turn, mark, &err, &own_diag));
	bfs_turn_end(&turn);
	return bfs_api_answer(err, &own_diag, diag);
}

/* ---- pieces ---------------------------------------------------------- */

struct bloscfs_pieces *bloscfs_pieces_new(void)
{
	return bfs_zalloc(1, sizeof(struct bloscfs_pieces));
}

void bloscfs_pieces_free(struct bloscfs_pieces *pieces)
{
	bfs_free(pieces);
}

static enum bfs_err pin_range(struct bloscfs_file *file,
			      const struct bfs_place *place, uint64_t off,
			      void *buf, size_t len,
			      struct bloscfs_pieces *pieces,
			      struct bfs_diag *diag)
{
	struct bfs_file *inner;
	enum bfs_err err;

	BFS_TRY(bfs_nesting_take(file->nesting, place->child, &inner, diag));
	err = bfs_file_pin(inner, &place->node, off, buf, len, &pieces->own,
			   diag);
	if (err != BFS_OK) {
		bfs_nesting_give(file->nesting, place->child);
		return err;
	}
	pieces->file = inner;
	pieces->child = place->child;
	return BFS_OK;
}

enum bloscfs_err bloscfs_pin(struct bloscfs_file *file,
			     const struct bloscfs_node *node, uint64_t off,
			     void *buf, size_t len,
			     struct bloscfs_pieces *pieces,
			     const struct iovec **ret_iov, size_t *ret_n,
			     struct bloscfs_diag *diag)
{
	struct bfs_diag own_diag = { .chunk = -1 };
	struct bfs_place own = own_place(node);
	uint64_t mark = bfs_moment_mark();
	enum bfs_err err;

	if (!file || !pieces || (!buf && len) || !ret_iov || !ret_n)
		return bfs_api_refuse(diag);
	bfs_turn_begin(&pieces->turn, file->budget, true);
	do {
		err = pin_range(file, &own, off, buf, len, pieces, &own_diag);
	} while (bfs_api_again(&pieces->turn, mark, &err, &own_diag));
	if (err != BFS_OK) {
		bfs_turn_end(&pieces->turn);
		return bfs_api_answer(err, &own_diag, diag);
	}
	bfs_turn_leave(&pieces->turn);
	*ret_iov = pieces->own.iov;
	*ret_n = pieces->own.n;
	return BLOSCFS_OK;
}

void bloscfs_unpin(struct bloscfs_file *file, struct bloscfs_pieces *pieces)
{
	if (!file || !pieces || !pieces->file)
		return;
	bfs_array_release(pieces->file->array, &pieces->own);
	bfs_nesting_give(file->nesting, pieces->child);
	bfs_turn_end(&pieces->turn);
	pieces->file = NULL;
}
