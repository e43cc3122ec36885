/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bcolztable.c - __rootdirs__ of a table of bcolz: {"names": [...]}, the
 * folders of its columns in their order. See docs/formats/bcolz.md.
 */
#include "container/bcolztable.h"

#include "base/call.h"
#include "base/mem.h"
#include "base/moment.h"
#include "container/container.h"
#include "source/source.h"
#include "text/json_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST "__rootdirs__"
#define MAX_LIST (1 << 20)	/* bytes */
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

/* A folder beside the list, and nothing else. */
static bool is_name(const struct bfs_value *v)
{
	return bfs_value_is(v, BFS_VALUE_STRING) && v->s.len > 0 &&
	       strlen(v->s.text) == v->s.len && !strchr(v->s.text, '/') &&
	       strcmp(v->s.text, ".") != 0 && strcmp(v->s.text, "..") != 0;
}

/* *ret_rows is -1 where nobody knows. NOT_FORMAT: it is no column. */
static enum bfs_err count_rows(struct bfs_dir *table, const char *name,
			       int64_t *ret_rows, struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_dir *dir = bfs_dir_below(table, name);
	struct bfs_container *f;
	enum bfs_err err;

	*ret_rows = -1;
	if (!dir || bfs_container_probe_in(dir) != &bfs_container_bcolz) {
		bfs_dir_unref(dir);
		err = bfs_container_gone(mark, "the column is", diag);
		return err == BFS_ERR_CHANGED ? BFS_ERR_NOT_FORMAT : err;
	}
	err = bfs_container_open_in(dir, &(struct bfs_guard){ 0 }, NULL, &f,
				    diag);
	bfs_dir_unref(dir);
	if (err != BFS_OK)
		return bfs_err_passes(err) ? err : BFS_OK;
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
		if (!is_name(v)) {
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

static enum bfs_err read_list(struct bfs_dir *table, char **ret_text,
			      size_t *ret_len, struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_dir_file(table, LIST, NULL, &source, diag));
	*ret_len = (size_t)bfs_source_len(source);
	if (bfs_source_len(source) > MAX_LIST) {
		bfs_source_unref(source);
		return bfs_fail(diag, BFS_ERR_CORRUPT, MAX_LIST,
				"it is too long");
	}
	*ret_text = bfs_zalloc(1, *ret_len + 1);
	err = *ret_text ? bfs_source_read(source, 0, *ret_text, *ret_len,
					  diag) :
			  bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	bfs_source_unref(source);
	return err;
}

static enum bfs_err parse_list(struct bfs_dir *table,
			       struct bfs_document **ret_doc,
			       const struct bfs_value **ret_list,
			       struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) char *text = NULL;
	size_t len = 0;

	BFS_TRY(read_list(table, &text, &len, diag));
	BFS_TRY(bfs_json_read(text, len, ret_doc, diag));
	*ret_list = bfs_value_get(bfs_document_root(*ret_doc), "names");
	if (!bfs_value_is(*ret_list, BFS_VALUE_ARRAY))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0, "no list of names");
	return BFS_OK;
}

enum bfs_err bfs_bcolztable_examine(struct bfs_dir *table,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	struct bfs_document *doc = NULL;
	const struct bfs_value *list;
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	err = parse_list(table, &doc, &list, &why);
	if (err == BFS_OK) {
		err = look_at_names(table, list, x, diag);
	} else if (bfs_err_passes(err)) {
		if (diag)
			*diag = why;
	} else {
		bfs_examine_tell(x, false, why.off, -1, LIST ": %s", why.text);
		err = BFS_OK;
	}
	bfs_document_free(doc);
	return err;
}
