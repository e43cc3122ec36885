/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rootdirs.c - the list of a table's columns, and each as a container.
 */
#include "container/rootdirs.h"

#include "base/mem.h"
#include "base/moment.h"
#include "source/source.h"
#include "text/json.h"

#include <string.h>

#define MAX_LEN (UINT64_C(1) << 20)	/* bytes of the file */
#define MAX_NAME 255			/* bytes of a folder's name */

bool bfs_rootdirs_is_name(const struct bfs_value *value)
{
	return bfs_value_is(value, BFS_VALUE_STRING) && value->s.len > 0 &&
	       value->s.len <= MAX_NAME &&
	       bfs_json_is_utf8(value->s.text, value->s.len) &&
	       !memchr(value->s.text, '\0', value->s.len) &&
	       !memchr(value->s.text, '/', value->s.len) &&
	       strcmp(value->s.text, ".") != 0 &&
	       strcmp(value->s.text, "..") != 0;
}

static enum bfs_err read_text(struct bfs_source *source, char **ret_text,
			      struct bfs_diag *diag)
{
	uint64_t len = bfs_source_len(source);

	if (len > MAX_LEN)
		return bfs_fail(diag, BFS_ERR_LIMIT, MAX_LEN,
				BFS_ROOTDIRS ": it is too long");
	*ret_text = bfs_alloc((size_t)len + 1);
	if (!*ret_text)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for names");
	return bfs_source_read(source, 0, *ret_text, (size_t)len, diag);
}

static enum bfs_err parse(const char *text, size_t len,
			  struct bfs_rootdirs *ret_rootdirs,
			  struct bfs_diag *diag)
{
	struct bfs_rootdirs rootdirs = { NULL, NULL };
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err = bfs_json_read(text, len, &rootdirs.document, &why);

	if (err == BFS_OK) {
		rootdirs.names = bfs_value_get(
			bfs_document_root(rootdirs.document), "names");
		if (!bfs_value_is(rootdirs.names, BFS_VALUE_ARRAY)) {
			bfs_rootdirs_release(&rootdirs);
			return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
					BFS_ROOTDIRS ": no list of names");
		}
		*ret_rootdirs = rootdirs;
		return BFS_OK;
	}
	return bfs_fail(diag, err, why.off, BFS_ROOTDIRS ": %s", why.text);
}

enum bfs_err bfs_rootdirs_read(struct bfs_dir *table,
			       const struct bfs_guard *guard,
			       struct bfs_rootdirs *ret_rootdirs,
			       struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) char *text = NULL;
	struct bfs_source *source;
	enum bfs_err err;
	size_t len;

	BFS_TRY(bfs_dir_file(table, BFS_ROOTDIRS, guard, &source, diag));
	len = (size_t)bfs_source_len(source);
	err = read_text(source, &text, diag);
	bfs_source_unref(source);
	return err == BFS_OK ? parse(text, len, ret_rootdirs, diag) : err;
}

void bfs_rootdirs_release(struct bfs_rootdirs *rootdirs)
{
	bfs_document_free(rootdirs->document);
	*rootdirs = (struct bfs_rootdirs){ NULL, NULL };
}

enum bfs_err bfs_rootdirs_open(struct bfs_dir *table, const char *name,
			       const struct bfs_guard *guard,
			       struct bfs_cache *cache,
			       struct bfs_container **ret_column,
			       struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_dir *dir = bfs_dir_below(table, name);
	enum bfs_err err;

	if (dir && bfs_container_probe_in(dir) == &bfs_container_bcolz)
		err = bfs_container_open_in(dir, guard, cache, ret_column,
					    diag);
	else
		err = bfs_moment_settle(mark, bfs_fail(
				diag, BFS_ERR_NOT_FORMAT, 0,
				"there is no column %.100s", name), diag);
	bfs_dir_unref(dir);
	return err;
}
