/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bcolztable.c - what is wrong between the list of a table's columns and the
 * folders that are there.
 */
#include "container/bcolztable.h"

#include "base/call.h"
#include "base/mem.h"
#include "container/container.h"
#include "container/rootdirs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST BFS_ROOTDIRS
#define SHOWN 64		/* bytes of a name that are told */

/* A column with a known number of rows. */
struct known {
	const char *name;	/* NULL: there is none yet */
	int64_t rows;
};

bool bfs_bcolztable_is(struct bfs_dir *dir)
{
	uint64_t len;

	return bfs_dir_has(dir, LIST, &len);
}

/* ---- columns --------------------------------------------------------- */

/* *ret_rows is -1 where nobody knows. NOT_FORMAT: it is no column. */
static enum bfs_err count_rows(struct bfs_dir *table, const char *name,
			       int64_t *ret_rows, struct bfs_diag *diag)
{
	struct bfs_container *f;
	enum bfs_err err;

	*ret_rows = -1;
	err = bfs_rootdirs_open(table, name, &(struct bfs_guard){ 0 }, NULL,
				&f, diag);
	if (err != BFS_OK)
		return bfs_err_passes(err) || err == BFS_ERR_NOT_FORMAT ?
		       err : BFS_OK;
	if (f->status != BFS_DAMAGED && f->array.present && f->array.ndim > 0)
		*ret_rows = f->array.shape[0];
	bfs_container_close(f);
	return BFS_OK;
}

static enum bfs_err look_at_column(struct bfs_dir *table, const char *name,
				   struct known *known,
				   const struct bfs_examiner *x,
				   struct bfs_diag *diag)
{
	int64_t rows;
	enum bfs_err err;

	BFS_TRY(bfs_call_check(diag));
	err = count_rows(table, name, &rows, diag);
	if (err == BFS_ERR_NOT_FORMAT) {
		bfs_examine_tell(x, false, 0, -1, LIST " names '%.*s', which "
				 "is no column", SHOWN, name);
		return BFS_OK;
	}
	if (err != BFS_OK || rows < 0)
		return err;
	if (!known->name)
		*known = (struct known){ name, rows };
	else if (rows != known->rows)
		bfs_examine_tell(x, false, 0, -1, "the column '%.*s' has %"
				 PRId64 " rows, '%.*s' has %" PRId64, SHOWN,
				 name, rows, SHOWN, known->name, known->rows);
	return BFS_OK;
}

/* ---- the list -------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct strays {
	struct bfs_dir *table;
	const char **names;	/* of the list, sorted */
	size_t n_names;
	uint64_t n;
	char first[SHOWN];	/* of all, by name */
};

/* Whether a folder that the list does not name is a column. */
static bool look_at_entry(void *arg, const char *name)
{
	struct strays *s = arg;
	struct bfs_dir *dir;
	bool is_column;

	if (bsearch(&name, s->names, s->n_names, sizeof(*s->names),
		    compare_names))
		return true;
	dir = bfs_dir_below(s->table, name);
	is_column = dir && bfs_container_probe_in(dir) == &bfs_container_bcolz;
	bfs_dir_unref(dir);
	if (is_column && (s->n++ == 0 || strcmp(name, s->first) < 0))
		snprintf(s->first, sizeof(s->first), "%.*s", SHOWN - 1, name);
	return true;
}

static enum bfs_err look_for_others(struct strays *s,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	enum bfs_err err = bfs_dir_each(s->table, look_at_entry, s, diag);

	if (err != BFS_OK)
		return err == BFS_ERR_UNSUPPORTED ? BFS_OK : err;
	if (s->n)
		bfs_examine_tell(x, true, 0, -1, "%" PRIu64 " columns that "
				 LIST " does not name, the first is '%s'",
				 s->n, s->first);
	return BFS_OK;
}

static void tell_doubles(const struct strays *s, const struct bfs_examiner *x)
{
	for (size_t i = 1; i < s->n_names; i++)
		if (!strcmp(s->names[i - 1], s->names[i]))
			bfs_examine_tell(x, false, 0, -1, LIST " names '%.*s' "
					 "twice", SHOWN, s->names[i]);
}

static enum bfs_err look_at_names(struct bfs_dir *table,
				  const struct bfs_value *list,
				  const struct bfs_examiner *x,
				  struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) const char **names = NULL;
	struct strays strays = { .table = table };
	struct known known = { .name = NULL };
	const struct bfs_value *v;

	names = bfs_alloc(((size_t)list->n + 1) * sizeof(*names));
	if (!names)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	for (v = list->first; v; v = v->next) {
		if (!bfs_rootdirs_is_name(v)) {
			bfs_examine_tell(x, false, 0, -1, LIST " has what "
					 "names no folder");
			continue;
		}
		names[strays.n_names++] = v->s.text;
		BFS_TRY(look_at_column(table, v->s.text, &known, x, diag));
	}
	strays.names = names;
	qsort(names, strays.n_names, sizeof(*names), compare_names);
	tell_doubles(&strays, x);
	return look_for_others(&strays, x, diag);
}

enum bfs_err bfs_bcolztable_examine(struct bfs_dir *table,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	struct bfs_diag why = { .chunk = -1 };
	struct bfs_rootdirs list;
	enum bfs_err err;

	err = bfs_rootdirs_read(table, NULL, &list, &why);
	if (err == BFS_OK) {
		err = look_at_names(table, list.names, x, diag);
		bfs_rootdirs_release(&list);
	} else if (bfs_err_passes(err)) {
		if (diag)
			*diag = why;
	} else {
		bfs_examine_tell(x, false, why.off, -1, "%s", why.text);
		err = BFS_OK;
	}
	return err;
}
