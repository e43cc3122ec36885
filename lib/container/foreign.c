/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * foreign.c - Zarr and N5, told by the files that their readers look for.
 *
 * The keys of an attributes.json are found by scanning its text, without
 * parsing it whole. A file that is no JSON makes no store.
 */
#include "container/foreign.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Attributes of users may be longer; their keys come in any order. */
#define MAX_N5 (1 << 20)

enum { KEY_N5 = 1, KEY_DIMENSIONS = 2, KEY_BLOCK_SIZE = 4, KEY_DATA_TYPE = 8,
       KEYS_OF_ARRAY = KEY_DIMENSIONS | KEY_BLOCK_SIZE | KEY_DATA_TYPE };

static unsigned key_bit(const char *key, size_t len)
{
	static const struct { const char *text; unsigned bit; } keys[] = {
		{ "n5", KEY_N5 }, { "dimensions", KEY_DIMENSIONS },
		{ "blockSize", KEY_BLOCK_SIZE }, { "dataType", KEY_DATA_TYPE },
	};
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(keys); i++)
		if (strlen(keys[i].text) == len &&
		    !memcmp(keys[i].text, key, len))
			return keys[i].bit;
	return 0;
}

static size_t skip_blanks(const char *text, size_t len, size_t i)
{
	while (i < len && text[i] && strchr(" \t\r\n", text[i]))
		i++;
	return i;
}

/* Behind the quote that ends the string at i, or len. */
static size_t skip_string(const char *text, size_t len, size_t i)
{
	for (i++; i < len && text[i] != '"'; i++)
		if (text[i] == '\\')
			i++;
	return i < len ? i + 1 : len;
}

/* The keys of the outermost object. */
bool bfs_foreign_is_n5(const char *text, size_t len)
{
	size_t i = skip_blanks(text, len, 0), depth = 0, start;
	unsigned found = 0, bit;

	if (i == len || text[i] != '{')
		return false;
	while (i < len) {
		char c = text[i];

		if (c != '"') {
			depth += c == '{' || c == '[';
			depth -= depth && (c == '}' || c == ']');
			i++;
			continue;
		}
		start = i + 1;
		i = skip_string(text, len, i);
		bit = depth == 1 ? key_bit(text + start, i - 1 - start) : 0;
		i = skip_blanks(text, len, i);
		if (i < len && text[i] == ':')
			found |= bit;
	}
	return found & KEY_N5 || (found & KEYS_OF_ARRAY) == KEYS_OF_ARRAY;
}

static enum bfs_err is_there(int dirfd, const char *name, bool *ret_is)
{
	struct stat st;

	*ret_is = false;
	if (bfs_source_avoids(dirfd, name))
		return BFS_OK;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW |
		    AT_NO_AUTOMOUNT) == 0)
		*ret_is = !S_ISDIR(st.st_mode);
	else if (errno == ENOMEM || errno == EIO || errno == EINTR)
		return errno == ENOMEM ? BFS_ERR_NOMEM : BFS_ERR_IO;
	return BFS_OK;
}

/* source is taken over. */
static enum bfs_err read_n5(struct bfs_source *source, bool *ret_is)
{
	BFS_CLEANUP(bfs_freep) char *text = NULL;
	enum bfs_err err;
	size_t len;

	len = (size_t)bfs_min(MAX_N5, bfs_source_len(source));
	text = bfs_alloc(len + 1);
	err = text ? bfs_source_read(source, 0, text, len, NULL) :
		     BFS_ERR_NOMEM;
	bfs_source_unref(source);
	if (err == BFS_OK)
		*ret_is = bfs_foreign_is_n5(text, len);
	return err;
}

static enum bfs_err is_n5(int dirfd, bool *ret_is)
{
	struct bfs_source *source;
	enum bfs_err err;

	*ret_is = false;
	/* What we may not read tells us nothing. */
	if (bfs_source_avoids(dirfd, "attributes.json") ||
	    (faccessat(dirfd, "attributes.json", R_OK, AT_EACCESS) < 0 &&
	     errno == EACCES))
		return BFS_OK;
	err = bfs_source_member(dirfd, "attributes.json", &source, NULL);
	if (err != BFS_OK)
		return bfs_err_passes(err) ? err : BFS_OK;
	return read_n5(source, ret_is);
}

static const char *const marks[] = { ".zarray", ".zgroup", "zarr.json" };

enum bfs_err bfs_foreign_store(int dirfd, bool *ret_is)
{
	bool is;
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(marks); i++) {
		BFS_TRY(is_there(dirfd, marks[i], &is));
		if (is) {
			*ret_is = true;
			return BFS_OK;
		}
	}
	BFS_TRY(is_there(dirfd, "attributes.json", &is));
	if (is)
		BFS_TRY(is_n5(dirfd, &is));
	*ret_is = is;
	return BFS_OK;
}

enum bfs_err bfs_foreign_in(struct bfs_dir *dir, bool *ret_is,
			    struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark(), len;
	struct bfs_source *source;
	bool is = false;
	size_t i;

	for (i = 0; !is && i < BFS_ARRAY_LEN(marks); i++)
		is = bfs_dir_has(dir, marks[i], &len);
	if (!is && bfs_dir_has(dir, "attributes.json", &len) &&
	    bfs_dir_file(dir, "attributes.json", NULL, &source, diag) ==
		    BFS_OK)
		BFS_TRY(read_n5(source, &is));
	BFS_TRY(bfs_moment_settle(mark, BFS_OK, diag));
	*ret_is = is;
	return BFS_OK;
}
