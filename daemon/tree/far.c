/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far.c - a shelf (remote/shelf.h) as the source of the tree.
 */
#include "tree/far_priv.h"

#include "call.h"
#include "log/log.h"
#include "opts/opts.h"
#include "remote/url.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the work that this thread does is wanted no more. */
static bool is_stopped(void)
{
	return bloscfs_call_check(NULL) != BLOSCFS_OK;
}

/* It is somebody at a terminal who waits for this, or a script's log. */
static void tell_in_vain(const char *url, const char *why, uint64_t seconds)
{
	/* What may follow an address is a secret. */
	fprintf(stderr, "bloscfs: cannot reach '%.*s' so far: %s; it is tried "
		"again for up to %" PRIu64 " s\n", (int)strcspn(url, "?"),
		url, why, seconds);
}

bool far_is(const struct opts *opts, const char *source)
{
	return opts->catalog || url_is(source);
}

/* Whether the last name of "s3://bucket/a/x.b2nd/" is a container's. */
static bool is_claimed_prefix(const char *source)
{
	size_t len = strlen(source);
	const char *slash;
	char *name;
	bool is;

	if (len < 2 || source[len - 1] != '/')
		return false;
	slash = memrchr(source, '/', len - 1);
	name = slash ? strndup(slash + 1, len - 2 - (size_t)(slash - source)) :
		       NULL;
	is = name && bloscfs_claimed(name);
	free(name);
	return is;
}

int far_open(const char *source, const struct opts *opts,
	     struct far **ret_far, char *error, size_t error_cap)
{
	const struct shelf_options options = {
		.connect_ms = (uint64_t)(opts->connect_timeout * 1000),
		.silence_ms = (uint64_t)(opts->read_timeout * 1000),
		.retry_ms = (uint64_t)(opts->read_timeout * 1000),
		.whole_most = opts->fetch_whole,
		.ca_file = opts->ca_file, .catalog = opts->catalog,
		.disk_cache = opts->disk_cache,
		.disk_cache_size = opts->disk_cache_size,
		.no_sign = opts->no_sign, .may_wait = call_may_wait,
		.stopped = is_stopped, .in_vain = tell_in_vain,
	};
	struct far *far = calloc(1, sizeof(*far));
	int status = -ENOMEM;

	if (far)
		status = shelf_open(source, &options, &far->shelf, error,
				    error_cap);
	else
		snprintf(error, error_cap, "no memory to start");
	if (status) {
		free(far);
		return status;
	}
	far->may_be_one = is_claimed_prefix(source);
	far->started = time(NULL);
	far->uid = geteuid();
	far->gid = getegid();
	*ret_far = far;
	return 0;
}

int far_reach(const char *source, const struct opts *opts,
	      struct far **ret_far, char *error, size_t error_cap)
{
	char why[REMOTE_WHY_CAP];
	struct far *far;
	int status = far_open(source, opts, &far, error, error_cap);

	if (status)
		return status;
	status = shelf_probe(far->shelf, why);
	if (!status) {
		*ret_far = far;
		return 0;
	}
	/* What may follow an address is a secret. */
	snprintf(error, error_cap, "cannot read '%.*s': %s; %s",
		 (int)strcspn(source, "?"), source,
		 *why ? why : strerror(-status),
		 shelf_advice(far->shelf, status));
	far_close(far);
	return status;
}

void far_close(struct far *far)
{
	if (far)
		shelf_close(far->shelf);
	free(far);
}

void far_rest(struct far *far)
{
	shelf_rest(far->shelf);
}

void far_set_library(struct far *far, struct bloscfs *fs)
{
	shelf_set_library(far->shelf, fs);
	far->tables = bloscfs_beside_name(fs, 0);
}

void far_set_fresh(struct far *far, double seconds)
{
	shelf_set_fresh(far->shelf, seconds);
}

struct shelf *far_shelf(const struct far *far)
{
	return far->shelf;
}

int far_look(struct far *far, const char *path, struct src_stat *ret_stat)
{
	bool single = shelf_single(far->shelf);
	char why[REMOTE_WHY_CAP];
	struct shelf_stat stat;
	int status = shelf_look(far->shelf, single ? "" : path, &stat, why);

	if (!status) {
		far_convert(far, path, &stat, ret_stat);
		if (stat.is_folder && (*path || far->may_be_one))
			status = far_find_index(far, path, ret_stat, why);
	}
	if (status)
		far_tell(path, "look-up of the source failed", status, why);
	return status;
}

/* 1 where what an inode holds is a container that is taken, 0 where it is not,
 * -1 where it was not looked into. */
static int verdict_of(const struct far *far, uint64_t ino)
{
	uint64_t known = atomic_load(&far->verdicts[ino / 2 % FAR_N_VERDICTS]);

	return (known ^ ino) > 1 ? -1 : (int)(known & 1);
}

static void set_verdict(struct far *far, uint64_t ino, bool is)
{
	atomic_store(&far->verdicts[ino / 2 % FAR_N_VERDICTS],
		     (ino & ~UINT64_C(1)) | is);
}

static bool has_name_of_one(const struct choice *choice, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *format;

	/* The index of a sparse frame, whose chunks are other objects. */
	if (strcmp(name, "chunks.b2frame") == 0)
		return false;
	format = bloscfs_claimed(name);
	return format && (!choice || (choice_takes(choice, format, path) &&
				      !choice_excludes(choice, path)));
}

static bool is_taken_folder(const struct far *far,
			    const struct choice *choice, const char *path,
			    const struct src_stat *stat)
{
	const char *format = stat->index_mode ?
			     bloscfs_dir_format(stat->index) : NULL;

	return format && !bloscfs_dir_is_beside(stat->index) &&
	       verdict_of(far, stat->ino) &&
	       (!choice || (choice_takes(choice, format, path) &&
			    !choice_excludes(choice, path)));
}

enum src_kind far_kind(const struct far *far, const struct choice *choice,
		       const char *path, const struct src_stat *stat)
{
	if (S_ISDIR(stat->mode))
		return is_taken_folder(far, choice, path, stat) ?
		       SRC_CONTAINER : SRC_DIR;
	if (shelf_single(far->shelf))
		return SRC_CONTAINER;
	if (has_name_of_one(choice, path) && verdict_of(far, stat->ino))
		return SRC_CONTAINER;
	return SRC_PLAIN;
}

int far_list(struct far *far, const struct choice *choice, const char *path,
	     uint64_t i, char *name, enum src_kind *ret_kind,
	     struct src_stat *ret_stat)
{
	char why[REMOTE_WHY_CAP], *whole;
	struct shelf_stat stat;
	int status = shelf_list(far->shelf, path, i, name, &stat, why);

	if (status) {
		far_tell(path, "listing of the source failed", status, why);
		return status;
	}
	if (asprintf(&whole, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return -ENOMEM;
	far_convert(far, whole, &stat, ret_stat);
	*ret_kind = far_kind(far, choice, whole, ret_stat);
	free(whole);
	/* Whether a folder is a container is for who looks at it. */
	return stat.told && !stat.is_folder ? 0 : 1;
}

int far_take(struct far *far, const char *path, struct lent **ret_lent,
	     struct src_stat *ret_stat)
{
	bool single = shelf_single(far->shelf);
	char why[REMOTE_WHY_CAP];
	struct shelf_stat stat;
	int status = shelf_take(far->shelf, single ? "" : path, true,
				ret_lent, why);

	if (status) {
		far_tell(path, "open of the source failed", status, why);
		return status;
	}
	shelf_stat_of(*ret_lent, &stat);
	far_convert(far, path, &stat, ret_stat);
	return 0;
}

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether an opened object is a container that is taken, by its head. */
static enum bloscfs_err look_into(struct far *far, const struct choice *choice,
				  const char *path, struct lent *lent,
				  const struct src_stat *st,
				  struct bloscfs_diag *why)
{
	uint64_t identity[2] = { st->ino, st->size };
	struct bloscfs_source source = far_source(lent, identity);
	int known = verdict_of(far, st->ino);
	const char *format;
	enum bloscfs_err err;

	if (known >= 0)
		return known ? BLOSCFS_OK : BLOSCFS_ERR_NOT_FORMAT;
	err = bloscfs_probe_source(&source, name_in(path), &format, why);
	if (err == BLOSCFS_OK && choice && !choice_takes(choice, format, path))
		err = BLOSCFS_ERR_NOT_FORMAT;
	if (err == BLOSCFS_OK || err == BLOSCFS_ERR_NOT_FORMAT)
		set_verdict(far, st->ino, err == BLOSCFS_OK);
	return err;
}

int far_judge(struct far *far, const struct choice *choice, const char *path,
	      const struct src_stat *stat, enum src_kind *ret_kind)
{
	enum src_kind kind = far_kind(far, choice, path, stat);
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err;
	struct src_stat now;
	struct lent *lent;
	int status;

	/* A folder stays one, whatever its index turns out to be. */
	if (kind != SRC_CONTAINER || S_ISDIR(stat->mode) ||
	    shelf_single(far->shelf) || verdict_of(far, stat->ino) == 1) {
		*ret_kind = kind;
		return 0;
	}
	status = far_take(far, path, &lent, &now);
	if (status == -EACCES) {
		*ret_kind = SRC_PLAIN;
		return 0;
	}
	if (status)
		return status;
	err = look_into(far, choice, path, lent, &now, &why);
	shelf_give(lent);
	if (err != BLOSCFS_OK && err != BLOSCFS_ERR_NOT_FORMAT)
		return -bloscfs_err_errno(err);
	*ret_kind = err == BLOSCFS_OK ? SRC_CONTAINER : SRC_PLAIN;
	return 0;
}

/* One object as a container. */
static enum bloscfs_err open_object(struct far *far,
				    const struct choice *choice,
				    struct bloscfs *fs, const char *path,
				    struct lent *lent,
				    const struct src_stat *st,
				    struct bloscfs_file **ret_file,
				    struct bloscfs_diag *why)
{
	uint64_t identity[2] = { st->ino, st->size };
	struct bloscfs_source source = far_source(lent, identity);
	enum bloscfs_err err = BLOSCFS_OK;

	if (!shelf_single(far->shelf))
		err = look_into(far, choice, path, lent, st, why);
	if (err == BLOSCFS_OK)
		err = bloscfs_open_source(fs, &source, name_in(path),
					  ret_file, why);
	if (err != BLOSCFS_OK)
		shelf_give(lent);
	why->err = err;
	return err;
}

/* Whether a folder lies there, where the listings at hand tell. */
static bool is_known_folder(struct far *far, const char *path)
{
	struct shelf_stat stat;

	return !shelf_single(far->shelf) &&
	       (!*path || (shelf_known(far->shelf, path, &stat) == 1 &&
			   stat.is_folder));
}

int far_open_container(struct far *far, const struct choice *choice,
		       struct bloscfs *fs, const char *path,
		       struct src_stat *ret_stat,
		       struct bloscfs_file **ret_file,
		       struct bloscfs_diag *why)
{
	bool is_folder = is_known_folder(far, path);
	struct lent *lent = NULL;
	enum bloscfs_err err;
	struct src_stat st;
	int status = -ENOENT;

	*why = (struct bloscfs_diag){ .chunk = -1 };
	if (!is_folder)
		status = far_take(far, path, &lent, &st);
	if (status == -ENOENT && !shelf_single(far->shelf)) {
		status = far_look(far, path, &st);
		if (!status && !st.index_mode)
			status = -ESTALE;
	}
	if (status)
		return status;
	err = lent ?
	      open_object(far, choice, fs, path, lent, &st, ret_file, why) :
	      far_open_folder(far, fs, path, ret_file, why);
	if (err == BLOSCFS_OK)
		*ret_stat = st;
	else if (err == BLOSCFS_ERR_NOT_FORMAT)
		set_verdict(far, st.ino, false);
	return -bloscfs_err_errno(err);
}

int far_read(struct lent *lent, const char *path, void *buf, size_t len,
	     off_t off)
{
	char why[REMOTE_WHY_CAP];
	int status = object_read(shelf_object(lent), buf, len, (uint64_t)off,
				 why);

	if (status)
		far_tell(path, "read of the source failed", status, why);
	return status;
}
