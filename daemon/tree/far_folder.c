/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far_folder.c - containers of several objects: sparse frames, columns.
 *
 * What names a folder holds is told by its listing, which is kept for those
 * who list it. Of a long one the first page is asked for, and then the store
 * for single names: chunks may be a million.
 */
#include "tree/far_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Entries of a folder below a container that are worth a listing: more are
 * asked for one by one. */
#define MOST_LISTED 8000

static char *join(const char *path, const char *name)
{
	char *whole;

	return asprintf(&whole, "%s%s%s", path, *path ? "/" : "", name) < 0 ?
	       NULL : whole;
}

/* What lies at a path of a folder that was listed up to entry `upto`. */
static int look_below(struct far *far, const char *folder, const char *name,
		      uint64_t upto, struct shelf_stat *ret_stat, char *why)
{
	char first[NAME_MAX + 1], *path;
	int status = shelf_list(far->shelf, folder, upto, first, ret_stat,
				why);

	/* It may end before. */
	if (status && status != -ENOENT)
		return status;
	path = join(folder, name);
	status = path ? shelf_look(far->shelf, path, ret_stat, why) : -ENOMEM;
	free(path);
	return status;
}

/* The same of a name that may have one folder before it ("meta/sizes"). */
static int look_for(struct far *far, const char *folder, const char *name,
		    uint64_t upto, struct shelf_stat *ret_stat, char *why)
{
	const char *slash = strchr(name, '/');
	char first[NAME_MAX + 1], *inner;
	int status;

	if (!slash)
		return look_below(far, folder, name, 0, ret_stat, why);
	snprintf(first, sizeof(first), "%.*s", (int)(slash - name), name);
	status = look_below(far, folder, first, 0, ret_stat, why);
	if (status || !ret_stat->is_folder)
		return status ? status : -ENOENT;
	inner = join(folder, first);
	status = inner ? look_below(far, inner, slash + 1, upto, ret_stat,
				    why) : -ENOMEM;
	free(inner);
	return status;
}

/* ---- whether it has an index ------------------------------------------ */

/* A folder whose first page was asked for. */
struct paged {
	struct far *far;
	char *path;
	bool listed;		/* its listing is of now */
};

/* anew: a listing of long ago is asked for again. The caller frees the path,
 * also on failure. */
static int begin_paged(struct far *far, char *path, bool anew,
		       struct paged *ret_paged, char *why)
{
	int status = -ENOMEM;

	*ret_paged = (struct paged){ far, path, false };
	if (path)
		status = shelf_begin(far->shelf, path, anew,
				     &ret_paged->listed, why);
	return status == -ENOENT ? 0 : status;
}

/* What has a name there. One that the page does not reach is asked for. */
static int look_listed(const struct paged *folder, const char *name,
		       struct shelf_stat *ret_stat, char *why)
{
	struct far *far = folder->far;
	int status = -1;
	char *path;

	*why = '\0';
	if (folder->listed)
		status = shelf_listed(far->shelf, folder->path, name,
				      ret_stat);
	if (status >= 0)
		return status ? 0 : -ENOENT;
	path = join(folder->path, name);
	status = path ? shelf_look(far->shelf, path, ret_stat, why) : -ENOMEM;
	free(path);
	return status;
}

/* A name of an index may have one folder before it, as others have, too:
 * *inner is that one's, with its path where it was looked for. */
static int look_inside(const struct paged *folder, struct paged *inner,
		       const char *name, struct shelf_stat *ret_stat,
		       char *why)
{
	const char *slash = strchr(name, '/');
	size_t above = *folder->path ? strlen(folder->path) + 1 : 0;
	size_t len = slash ? (size_t)(slash - name) : 0;
	char first[NAME_MAX + 1];
	int status = 0;

	if (!slash)
		return look_listed(folder, name, ret_stat, why);
	snprintf(first, sizeof(first), "%.*s", (int)len, name);
	if (!inner->path || strcmp(inner->path + above, first) != 0) {
		free(inner->path);
		*inner = (struct paged){ .path = join(folder->path, first) };
		status = inner->path ? look_listed(folder, first, ret_stat,
						   why) : -ENOMEM;
		if (!status && ret_stat->is_folder)
			status = begin_paged(folder->far, inner->path, true,
					     inner, why);
	}
	if (status)
		return status;
	/* That it is no folder was found out for an earlier name. */
	return inner->far ? look_listed(inner, slash + 1, ret_stat, why) :
			    -ENOENT;
}

/* Parts may be written anew where the index is not. */
static int far_number_parts(struct far *far, const char *path,
			    uint64_t identity, uint64_t *ret_ino)
{
	uint64_t state = shelf_state(far->shelf, path), turn;
	int status = shelf_check_parts(far->shelf, path, state, false);

	turn = shelf_turn(far->shelf, path);
	*ret_ino = far_number(path, identity ^ state ^
			      turn * UINT64_C(0x9e3779b97f4a7c15));
	return status;
}

int far_find_index(struct far *far, const char *path, struct src_stat *stat,
		   char *why)
{
	struct paged folder, inner = { 0 };
	struct shelf_stat index;
	const char *name;
	int status = begin_paged(far, strdup(path), true, &folder, why);

	for (uint32_t i = 0; !status && (name = bloscfs_dir_index(i)); i++) {
		if (bloscfs_dir_is_beside(i) && !far->tables)
			continue;
		status = look_inside(&folder, &inner, name, &index, why);
		if (status == -ENOENT || (!status && index.is_folder)) {
			status = 0;
			continue;
		}
		if (status)
			break;
		stat->index = i;
		stat->index_mode = S_IFREG | 0444;
		stat->size = index.size;
		/* A table is the folder that it was, whatever is in it. */
		status = far_number_parts(far, path, index.identity,
					  bloscfs_dir_is_beside(i) ?
					  &stat->parts_mix : &stat->ino);
		if (index.modified)
			stat->mtime_sec = index.modified;
		break;
	}
	free(folder.path);
	free(inner.path);
	return status;
}

/* ---- as the library's folder ------------------------------------------ */

struct part_of {
	struct far *far;
	bool listed;		/* its listing is of now */
	int64_t since_ms;	/* no part is older than what names it */
	atomic_bool is_listed;	/* the index is what a listing told */
	uint64_t turn;		/* of all parts: shelf_turn */
	_Atomic int64_t sound_ms;	/* when what was read was so still */
	char path[];
};

static enum bloscfs_err find_part(void *arg, const char *path,
				  enum bloscfs_there *ret_there,
				  uint64_t *ret_length,
				  struct bloscfs_diag *why)
{
	const struct part_of *folder = arg;
	char text[REMOTE_WHY_CAP];
	struct shelf_stat stat;
	int status = look_for(folder->far, folder->path, path, MOST_LISTED,
			      &stat, text);

	if (status == -ENOENT)
		return BLOSCFS_OK;
	if (status)
		return far_error(status, text, why);
	*ret_there = stat.is_folder ? BLOSCFS_A_FOLDER : BLOSCFS_A_FILE;
	*ret_length = stat.size;
	return BLOSCFS_OK;
}

/* Whether a part is an index: no other has a tail (object.h). */
static bool is_index(const char *path)
{
	const char *name;

	for (uint32_t i = 0; (name = bloscfs_dir_index(i)); i++)
		if (strcmp(path, name) == 0)
			return true;
	return false;
}

/* Whether a part belongs with those that were read before. What was written
 * since the container was opened, or is not what the listing told, may not:
 * then all that was read must be what it was. */
static int join_part(struct part_of *folder, const char *path,
		     const char *whole, const struct lent *lent,
		     const struct shelf_stat *stat, char *text)
{
	struct shelf *shelf = folder->far->shelf;
	struct shelf_stat listed;
	bool has_listed = shelf_known(shelf, whole, &listed) == 1 &&
			  listed.told;
	int64_t now = remote_now_ms();
	int status = 0;

	if (shelf_is_newer(lent, atomic_load(&folder->sound_ms)) ||
	    (has_listed && listed.identity != stat->identity &&
	     !shelf_is_untold(shelf, folder->path))) {
		status = shelf_check_parts(shelf, folder->path, 0, true);
		if (!status)
			atomic_store(&folder->sound_ms, now);
	}
	if (!status)
		status = shelf_note_part(shelf, folder->path, path, stat,
					 folder->turn);
	if (!status && is_index(path))
		atomic_store(&folder->is_listed, has_listed &&
			     listed.identity == stat->identity);
	if (status == -ESTALE)
		strcpy(text, "a part of the container is another object by "
		       "now");
	else if (status == -EIO)
		strcpy(text, "the server does not tell whether the parts that "
		       "were read before are what they were");
	return status;
}

/* What a listing tells of a part, where it may be taken for what the server has
 * now, without asking: 0 otherwise. All that is read is known to have been so
 * no later than the listing was begun, then. */
static uint64_t believe_listing(struct part_of *folder, const char *path,
				const struct shelf_stat *listed)
{
	int64_t sound = atomic_load(&folder->sound_ms);

	if (!listed->told ||
	    (!is_index(path) && !atomic_load(&folder->is_listed)))
		return 0;
	while (listed->listed_ms < sound &&
	       !atomic_compare_exchange_weak(&folder->sound_ms, &sound,
					     listed->listed_ms))
		;
	return listed->identity;
}

static enum bloscfs_err open_part(void *arg, const char *path,
				  struct bloscfs_source *ret_source,
				  struct bloscfs_diag *why)
{
	struct part_of *folder = arg;
	char text[REMOTE_WHY_CAP], *whole = join(folder->path, path);
	/* Copied by the library before it opens another one here. */
	static _Thread_local uint64_t identity[2];
	struct shelf_stat stat;
	struct lent *lent = NULL;
	int status = -ENOMEM, known;

	*text = '\0';
	known = whole ? shelf_known(folder->far->shelf, whole, &stat) : 0;
	if (known == -ENOENT)
		status = -ENOENT;
	else if (whole)
		status = shelf_take_since(folder->far->shelf, whole,
					  is_index(path), folder->since_ms,
					  known == 1 ?
					  believe_listing(folder, path,
							  &stat) : 0,
					  &lent, text);
	if (!status) {
		shelf_stat_of(lent, &stat);
		status = join_part(folder, path, whole, lent, &stat, text);
	}
	if (status) {
		shelf_give(lent);
	} else {
		identity[0] = far_number(whole, stat.identity);
		identity[1] = stat.size;
		*ret_source = far_source(lent, identity);
	}
	free(whole);
	return status == -ENOENT || !status ? BLOSCFS_OK :
	       far_error(status, text, why);
}

static void close_folder(void *arg)
{
	struct part_of *part = arg;

	if (part)
		shelf_leave(part->far->shelf, part->path);
	free(part);
}

/* The folder's; close_folder its arg where the library does not. */
static struct bloscfs_folder folder_of(struct far *far, const char *path)
{
	size_t len = strlen(path) + 1;
	struct part_of *part = malloc(sizeof(*part) + len);

	if (part && shelf_join(far->shelf, path, &part->turn)) {
		free(part);
		part = NULL;
	}
	if (part) {
		part->far = far;
		part->listed = false;
		part->since_ms = remote_now_ms();
		atomic_init(&part->is_listed, false);
		atomic_init(&part->sound_ms, part->since_ms);
		memcpy(part->path, path, len);
	}
	return (struct bloscfs_folder){
		.size = sizeof(struct bloscfs_folder), .arg = part,
		.find = find_part, .open = open_part, .close = close_folder,
	};
}

/* Whether a folder is a container, by its index; else NOT_FORMAT. */
static enum bloscfs_err probe_folder(struct far *far, const char *path,
				     struct bloscfs_diag *why)
{
	struct bloscfs_folder folder = folder_of(far, path);
	enum bloscfs_err err = BLOSCFS_ERR_NOMEM;
	const char *format;

	if (folder.arg)
		err = bloscfs_probe_folder(&folder, &format, why);
	close_folder(folder.arg);
	return err;
}

/* As find_part, of a folder whose first page was asked for. */
static enum bloscfs_err find_listed(void *arg, const char *name,
				    enum bloscfs_there *ret_there,
				    uint64_t *ret_length,
				    struct bloscfs_diag *why)
{
	struct part_of *part = arg;
	const struct paged folder = { part->far, part->path, part->listed };
	char text[REMOTE_WHY_CAP];
	struct shelf_stat stat;
	int status = look_listed(&folder, name, &stat, text);

	if (status == -ENOENT)
		return BLOSCFS_OK;
	if (status)
		return far_error(status, text, why);
	*ret_there = stat.is_folder ? BLOSCFS_A_FOLDER : BLOSCFS_A_FILE;
	*ret_length = stat.size;
	return BLOSCFS_OK;
}

static enum bloscfs_err is_foreign(struct far *far, const char *path,
				   bool *ret_is)
{
	struct bloscfs_folder folder = folder_of(far, path);
	struct part_of *part = folder.arg;
	char text[REMOTE_WHY_CAP];
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = BLOSCFS_ERR_NOMEM;
	int status;

	if (part) {
		status = shelf_begin(far->shelf, path, false, &part->listed,
				     text);
		err = status && status != -ENOENT ?
		      far_error(status, text, &why) : BLOSCFS_OK;
	}
	folder.find = find_listed;
	if (err == BLOSCFS_OK)
		err = bloscfs_is_foreign_folder(&folder, ret_is, &why);
	if (err != BLOSCFS_OK)
		far_tell(path, "listing of the source failed",
			 err == BLOSCFS_ERR_CANCELLED ? -EINTR :
			 -bloscfs_err_errno(err), why.text);
	close_folder(folder.arg);
	return err;
}

int far_leaves(struct far *far, const char *path, bool has_index, bool stores,
	       bool *ret_leaves)
{
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = BLOSCFS_OK;
	bool leaves = false;

	if (stores)
		err = is_foreign(far, path, &leaves);
	if (err == BLOSCFS_OK && !leaves && has_index) {
		err = probe_folder(far, path, &why);
		leaves = err == BLOSCFS_OK;
	}
	if (err != BLOSCFS_OK && err != BLOSCFS_ERR_NOT_FORMAT)
		return -bloscfs_err_errno(err);
	*ret_leaves = leaves;
	return 0;
}

enum bloscfs_err far_open_folder(struct far *far, struct bloscfs *fs,
				 const char *path,
				 struct bloscfs_file **ret_file,
				 struct bloscfs_diag *why)
{
	struct bloscfs_folder folder = folder_of(far, path);
	enum bloscfs_err err;

	if (!folder.arg)
		return far_error(-ENOMEM, "", why);
	err = bloscfs_open_folder(fs, &folder, ret_file, why);
	if (err != BLOSCFS_OK)
		close_folder(folder.arg);
	return err;
}
