/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api.c - the public interface: checks arguments, translates values, and
 * calls one room below for each thing; entries of an opened container are in
 * api/entry.c.
 *
 * The public types are declared apart from the internal ones so that those
 * may change; where they are equal today, the compiler proves it.
 */
#include "api/priv.h"

#include "base/bytes.h"
#include "codec/codec.h"
#include "container/container.h"
#include "filter/filter.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/source.h"
#include "view/dispatch.h"
#include "view/facts.h"
#include "view/kept.h"
#include "view/xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SAME(pub, own) \
	_Static_assert((int)(pub) == (int)(own), #pub " is not " #own)

SAME(BLOSCFS_OK, BFS_OK);
SAME(BLOSCFS_ERR_NOMEM, BFS_ERR_NOMEM);
SAME(BLOSCFS_ERR_IO, BFS_ERR_IO);
SAME(BLOSCFS_ERR_NOT_FORMAT, BFS_ERR_NOT_FORMAT);
SAME(BLOSCFS_ERR_TRUNCATED, BFS_ERR_TRUNCATED);
SAME(BLOSCFS_ERR_CORRUPT, BFS_ERR_CORRUPT);
SAME(BLOSCFS_ERR_UNSUPPORTED, BFS_ERR_UNSUPPORTED);
SAME(BLOSCFS_ERR_LIMIT, BFS_ERR_LIMIT);
SAME(BLOSCFS_ERR_RANGE, BFS_ERR_RANGE);
SAME(BLOSCFS_ERR_CHANGED, BFS_ERR_CHANGED);
SAME(BLOSCFS_ERR_INVALID, BFS_ERR_INVALID);
SAME(BLOSCFS_ERR_CANCELLED, BFS_ERR_CANCELLED);
SAME(BLOSCFS_ERR_TOO_MUCH, BFS_ERR_TOO_MUCH);
SAME(BLOSCFS_ERR_NO_FILES, BFS_ERR_NO_FILES);
SAME(BLOSCFS_ERR_ACCESS, BFS_ERR_ACCESS);
SAME(BLOSCFS_ERR_ACCESS + 1, BFS_N_ERRS);
SAME(BLOSCFS_GOOD, BFS_GOOD);
SAME(BLOSCFS_DAMAGED, BFS_DAMAGED);
SAME(BLOSCFS_UNSUPPORTED, BFS_UNSUPPORTED);
SAME(BLOSCFS_NAME_MAX, BFS_NAME_MAX);
SAME(BLOSCFS_XATTR_MAX, BFS_XATTR_MAX);
SAME(sizeof(((struct bloscfs_diag *)0)->text), BFS_DIAG_TEXT);

/* ---- values ---------------------------------------------------------- */

void bfs_api_show(const struct bfs_diag *own, struct bloscfs_diag *pub)
{
	if (!pub)
		return;
	pub->err = (enum bloscfs_err)own->err;
	pub->off = own->off;
	pub->chunk = own->chunk;
	memset(pub->reserved, 0, sizeof(pub->reserved));
	memcpy(pub->text, own->text, sizeof(pub->text));
}

/* Ends a call: fills the caller's diagnosis on failure only. */
enum bloscfs_err bfs_api_answer(enum bfs_err err, struct bfs_diag *own,
				struct bloscfs_diag *pub)
{
	if (err != BFS_OK) {
		own->err = err;
		if (!own->text[0])
			bfs_fail(own, err, own->off, "%s", bfs_err_name(err));
		bfs_api_show(own, pub);
	}
	return (enum bloscfs_err)err;
}

enum bloscfs_err bfs_api_refuse(struct bloscfs_diag *pub)
{
	struct bfs_diag own = { 0 };

	return bfs_api_answer(bfs_fail(&own, BFS_ERR_INVALID, 0,
			       "an argument is missing"), &own, pub);
}

bool bfs_api_again(struct bfs_turn *turn, uint64_t mark, enum bfs_err *err,
		   struct bfs_diag *diag)
{
	if (*err != BFS_OK)
		*err = bfs_moment_settle(mark, *err, diag);
	if (!bfs_turn_again(turn, err, diag))
		return false;
	bfs_moment_forget(mark);
	return true;
}

uint64_t bloscfs_mark(void)
{
	return bfs_moment_mark();
}

enum bloscfs_err bloscfs_met(uint64_t mark, struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };

	return bfs_api_answer(bfs_moment_settle(mark, BFS_OK, &own), &own,
			      diag);
}

/* ---- about this build ------------------------------------------------ */

const char *bloscfs_version(void)
{
	return BLOSCFS_VERSION;
}

unsigned bloscfs_version_number(void)
{
	return BLOSCFS_VERSION_NUMBER;
}

const char *bloscfs_err_name(enum bloscfs_err err)
{
	return bfs_err_name((enum bfs_err)err);
}

int bloscfs_err_errno(enum bloscfs_err err)
{
	return bfs_err_errno((enum bfs_err)err);
}

struct row {
	const char *name;
	const char *version;
	bool built;
};

static bool codec_row(size_t i, struct row *ret_row)
{
	const struct bfs_codec *codec;

	if (i >= bfs_n_codecs)
		return false;
	codec = bfs_codecs[i];
	*ret_row = (struct row){
		codec->name,
		codec->version ? codec->version() : NULL,
		codec->decode != NULL,
	};
	return true;
}

static bool filter_row(size_t i, struct row *ret_row)
{
	if (i >= bfs_n_filters)
		return false;
	*ret_row = (struct row){
		bfs_filters[i]->name,
		NULL,
		bfs_filters[i]->identity ||
			bfs_filters[i]->undo[BFS_CPU_SCALAR] != NULL,
	};
	return true;
}

static bool container_row(size_t i, struct row *ret_row)
{
	if (i >= bfs_n_formats)
		return false;
	*ret_row = (struct row){ bfs_formats[i]->name, NULL,
				 bfs_formats[i]->open != NULL };
	return true;
}

static bool view_row(size_t i, struct row *ret_row)
{
	if (i >= bfs_n_views)
		return false;
	*ret_row = (struct row){ bfs_views[i]->name, NULL, true };
	return true;
}

bool bloscfs_table(const char *table, size_t i, const char **ret_name,
		   const char **ret_version, bool *ret_built)
{
	static const struct {
		const char *name;
		bool (*get)(size_t i, struct row *ret_row);
	} tables[] = {
		{ "codec", codec_row },
		{ "filter", filter_row },
		{ "container", container_row },
		{ "view", view_row },
	};

	if (!table || !ret_name || !ret_version || !ret_built)
		return false;
	for (size_t t = 0; t < BFS_ARRAY_LEN(tables); t++) {
		struct row row;

		if (strcmp(table, tables[t].name))
			continue;
		if (!tables[t].get(i, &row))
			return false;
		*ret_name = row.name;
		*ret_version = row.version;
		*ret_built = row.built;
		return true;
	}
	return false;
}

/* ---- instances ------------------------------------------------------- */

/* Options of a caller that was built with a shorter struct. */
static struct bloscfs_options take_options(const struct bloscfs_options *given)
{
	struct bloscfs_options options = { .size = sizeof(options) };

	if (given)
		memcpy(&options, given, given->size < sizeof(options)
						? given->size
						: sizeof(options));
	return options;
}

enum bloscfs_err bloscfs_new(const struct bloscfs_options *options,
			     struct bloscfs **ret_fs,
			     struct bloscfs_diag *diag)
{
	struct bloscfs_options taken = take_options(options);
	struct bfs_engine_options engine = { .n_threads = taken.threads };
	struct bfs_diag own = { .chunk = -1 };
	struct bloscfs *fs;
	uint32_t views;
	enum bfs_err err;

	if (!ret_fs)
		return bfs_api_refuse(diag);
	err = bfs_view_parse(taken.views, &views, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	fs = bfs_zalloc(1, sizeof(*fs));
	if (!fs)
		return bfs_api_answer(BFS_ERR_NOMEM, &own, diag);
	fs->views = views;
	bfs_budget_join(fs, &taken, &engine.cache_len);
	err = bfs_engine_new(&engine, &fs->engine);
	if (err != BFS_OK) {
		bfs_budget_leave(fs);
		bfs_free(fs);
		return bfs_api_answer(err, &own, diag);
	}
	*ret_fs = fs;
	return BLOSCFS_OK;
}

void bloscfs_beside(struct bloscfs *fs, uint64_t bytes)
{
	(void)fs;
	bfs_mem_set_beside(bytes);
}

void bloscfs_free(struct bloscfs *fs)
{
	if (!fs)
		return;
	bfs_engine_free(fs->engine);
	bfs_budget_leave(fs);
	bfs_free(fs);
}

void bloscfs_stats_get(struct bloscfs *fs, struct bloscfs_stats *ret_stats)
{
	struct bfs_engine_stats own;
	struct bfs_turn_stats turns;
	struct bloscfs_stats pub;
	size_t size;

	if (!fs || !ret_stats)
		return;
	bfs_engine_get_stats(fs->engine, &own);
	bfs_turn_get_stats(&turns);
	size = ret_stats->size < sizeof(pub) ? ret_stats->size : sizeof(pub);
	pub = (struct bloscfs_stats){
		.size = size,
		.cache_hits = own.cache.hits,
		.cache_misses = own.cache.misses,
		.cache_waits = own.cache.waits,
		.cache_evictions = own.cache.evictions,
		.cache_held = own.cache.held_len,
		.cache_budget = own.cache.budget_len,
		.decoded = own.decoded_len,
		.decode_ns = own.decode_ns,
		.source_bytes = own.source_len,
		.source_reads = own.n_source_reads,
		.memory = bfs_mem_used(),
		.memory_budget = bfs_mem_limit(),
		.memory_waits = turns.n_waits,
		.memory_refused = turns.n_refused,
		.threads = own.n_threads,
	};
	memcpy(ret_stats, &pub, size);
}

void bloscfs_trim(struct bloscfs *fs)
{
	if (fs)
		bfs_engine_trim(fs->engine);
}

void bloscfs_settle(struct bloscfs *fs)
{
	if (fs)
		bfs_engine_settle(fs->engine);
}

/* ---- calls ----------------------------------------------------------- */

struct bloscfs_call *bloscfs_call_new(struct bloscfs *fs)
{
	struct bloscfs_call *call = fs ? bfs_zalloc(1, sizeof(*call)) : NULL;

	if (call) {
		bfs_call_init(&call->own);
		call->fs = fs;
	}
	return call;
}

void bloscfs_call_free(struct bloscfs_call *call)
{
	bfs_free(call);
}

void bloscfs_call_start(struct bloscfs_call *call,
			const struct bloscfs_call_limits *limits)
{
	struct bloscfs_call_limits taken = { 0 };

	if (!call)
		return;
	if (limits)
		memcpy(&taken, limits, limits->size < sizeof(taken) ?
		       limits->size : sizeof(taken));
	bfs_call_start(&call->own, taken.bytes, taken.cpu_ms, taken.wall_ms);
	call->own.patience = (enum bfs_patience)taken.patience;
	call->own.ends[0] = bfs_engine_ending(call->fs->engine);
	bfs_call_enter(&call->own);
}

void bloscfs_call_cancel(struct bloscfs_call *call)
{
	if (call)
		atomic_store(&call->own.cancelled, true);
}

enum bloscfs_err bloscfs_call_stopped(const struct bloscfs_call *call,
				      struct bloscfs_diag *diag)
{
	if (!call)
		return BLOSCFS_OK;
	if (call->own.why.err != BFS_OK)
		bfs_api_show(&call->own.why, diag);
	return (enum bloscfs_err)call->own.why.err;
}

enum bloscfs_err bloscfs_call_check(struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };

	return bfs_api_answer(bfs_call_look(&own), &own, diag);
}

bool bloscfs_call_would_wait(const struct bloscfs_call *call)
{
	return call && call->own.would_wait;
}

void bloscfs_call_end(struct bloscfs_call *call)
{
	if (call)
		bfs_call_enter(NULL);
}

void bloscfs_cancel_all(struct bloscfs *fs)
{
	if (fs)
		bfs_engine_cancel(fs->engine);
}

/* ---- opening --------------------------------------------------------- */

/* A source over a copy of fd: the caller's own stays as it is. */
static enum bfs_err open_source(int fd, struct bfs_source **ret_source,
				struct bfs_diag *diag)
{
	enum bfs_err err;
	int copy;

	do {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	} while (copy < 0 && bfs_fd_may_retry(errno));
	if (copy < 0)
		return bfs_source_errno(errno, "the file descriptor cannot be "
					"copied", 0, diag);
	err = bfs_source_file(copy, ret_source, diag);
	if (err != BFS_OK)
		close(copy);
	return err;
}

enum bfs_err bfs_api_probe(struct bfs_source *source, const char *name,
			   const char **ret_format, struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	const struct bfs_format *ops = bfs_container_probe(source, name);
	enum bfs_err err;

	bfs_source_unref(source);
	err = bfs_moment_settle(mark, BFS_OK, diag);
	if (err == BFS_OK && !ops)
		err = bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
			       "not a container that is known here");
	if (err == BFS_OK)
		*ret_format = ops->name;
	return err;
}

enum bloscfs_err bloscfs_probe(int fd, const char *name,
			       const char **ret_format)
{
	struct bfs_source *source;
	enum bfs_err err;

	if (!ret_format)
		return BLOSCFS_ERR_INVALID;
	err = open_source(fd, &source, NULL);
	if (err == BFS_OK)
		err = bfs_api_probe(source, name, ret_format, NULL);
	return (enum bloscfs_err)err;
}

bool bloscfs_is_short(int fd, const char *name)
{
	struct bfs_source *source;
	bool is_short;

	if (open_source(fd, &source, NULL) != BFS_OK)
		return false;
	is_short = bfs_container_is_short(source, name);
	bfs_source_unref(source);
	return is_short;
}

enum bloscfs_err bloscfs_probe_dir(int dirfd, const char **ret_format)
{
	uint64_t mark = bfs_moment_mark();
	const struct bfs_format *ops;
	enum bfs_err err;

	if (!ret_format)
		return BLOSCFS_ERR_INVALID;
	ops = bfs_container_probe_dir(dirfd);
	err = bfs_moment_settle(mark, ops ? BFS_OK : BFS_ERR_NOT_FORMAT, NULL);
	if (err != BFS_OK)
		return (enum bloscfs_err)err;
	*ret_format = ops->name;
	return BLOSCFS_OK;
}

/* The row that the i-th name of an index leads to. */
static const struct bfs_format *find_index(size_t i, const char **ret_name)
{
	for (size_t k = 0; k < bfs_n_formats; k++)
		if (bfs_formats[k]->index_name && i-- == 0) {
			*ret_name = bfs_formats[k]->index_name;
			return bfs_formats[k];
		}
	for (size_t k = 0; k < bfs_n_formats; k++)
		if (bfs_formats[k]->index_else && i-- == 0) {
			*ret_name = bfs_formats[k]->index_else;
			return bfs_formats[k];
		}
	return NULL;
}

const char *bloscfs_dir_index(size_t i)
{
	const char *name;

	return find_index(i, &name) ? name : NULL;
}

bool bloscfs_dir_part(size_t i, size_t k, const char **ret_folder,
		      const char **ret_ending)
{
	const char *name;
	const struct bfs_format *row = find_index(i, &name);
	const struct bfs_dir_part *part = row ? row->parts : NULL;

	if (!ret_folder || !ret_ending)
		return false;
	/* The last has no folder. */
	while (part && part->folder && k-- > 0)
		part++;
	if (!part || !part->folder)
		return false;
	*ret_folder = part->folder;
	*ret_ending = part->ending;
	return true;
}

/* The rest of opening, the same for all formats. Takes over container. */
static enum bfs_err wrap_container(struct bloscfs *fs,
				   struct bfs_container *container,
				   struct bloscfs_file **ret_file,
				   struct bfs_diag *diag)
{
	struct bloscfs_file *file = bfs_zalloc(1, sizeof(*file));
	struct bfs_array *array;
	enum bfs_err err;

	if (!file) {
		bfs_container_close(container);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for an opened file");
	}
	err = bfs_array_open(fs->engine, container, &array, diag);
	if (err == BFS_OK)
		err = bfs_file_new(array, fs->views, &file->root, diag);
	if (err == BFS_OK)
		err = bfs_nesting_new(fs->engine, fs->views, file->root,
				      &file->nesting, diag);
	if (err == BFS_OK)
		*ret_file = file;
	else
		bfs_free(file);
	return err;
}

enum bfs_err bfs_api_open(struct bloscfs *fs, struct bfs_source *source,
			  const char *name, struct bloscfs_file **ret_file,
			  struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_container *container;
	struct bfs_turn turn;
	enum bfs_err err;

	bfs_turn_begin(&turn, true);
	do {
		err = bfs_container_open(source, name, NULL,
					 bfs_engine_cache(fs->engine),
					 &container, diag);
		if (err == BFS_OK)
			err = wrap_container(fs, container, ret_file, diag);
	} while (bfs_api_again(&turn, mark, &err, diag));
	bfs_turn_end(&turn);
	return err;
}

enum bloscfs_err bloscfs_open_guarded(struct bloscfs *fs, int dirfd,
				      const struct bloscfs_guard *guard,
				      struct bloscfs_file **ret_file,
				      struct bloscfs_diag *diag)
{
	struct bfs_guard inside = { .may = NULL };
	struct bfs_diag own = { .chunk = -1 };
	uint64_t mark = bfs_moment_mark();
	struct bfs_container *container;
	struct bfs_turn turn;
	enum bfs_err err;

	if (!fs || !guard || !ret_file)
		return bfs_api_refuse(diag);
	inside = (struct bfs_guard){ guard->may, guard->arg };
	bfs_turn_begin(&turn, true);
	do {
		err = bfs_container_open_guarded(dirfd, &inside,
						 bfs_engine_cache(fs->engine),
						 &container, &own);
		if (err == BFS_OK)
			err = wrap_container(fs, container, ret_file, &own);
	} while (bfs_api_again(&turn, mark, &err, &own));
	bfs_turn_end(&turn);
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_open_dir(struct bloscfs *fs, int dirfd,
				  struct bloscfs_file **ret_file,
				  struct bloscfs_diag *diag)
{
	return bloscfs_open_guarded(fs, dirfd, &(struct bloscfs_guard){ 0 },
				    ret_file, diag);
}

bool bloscfs_let_go(struct bloscfs_file *file,
		    const struct bloscfs_reopen *how)
{
	struct bfs_fd_how own;

	if (!file || !how || !how->open)
		return false;
	own = (struct bfs_fd_how){ how->open, how->release, how->arg };
	return bfs_container_set_how(file->root->array->container, &own);
}

bool bloscfs_is_removed(struct bloscfs_file *file)
{
	return file && bfs_container_is_removed(file->root->array->container);
}

/* Puts the window in the place of the whole. */
static enum bfs_err cut_source(struct bfs_source **source, uint64_t offset,
			       uint64_t length, struct bfs_diag *diag)
{
	uint64_t whole = bfs_source_len(*source);
	struct bfs_source *window;

	if (!offset && !length)
		return BFS_OK;
	if (offset > whole)
		return bfs_fail(diag, BFS_ERR_RANGE, offset,
				"the file ends before the offset");
	if (!length)
		length = whole - offset;
	BFS_TRY(bfs_source_window(*source, offset, length, &window, diag));
	bfs_source_unref(*source);
	*source = window;
	return BFS_OK;
}

enum bloscfs_err bloscfs_open(struct bloscfs *fs, int fd, const char *name,
			      uint64_t offset, uint64_t length,
			      struct bloscfs_file **ret_file,
			      struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_source *source;
	enum bfs_err err;

	if (!fs || !ret_file)
		return bfs_api_refuse(diag);
	err = open_source(fd, &source, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	err = cut_source(&source, offset, length, &own);
	if (err == BFS_OK)
		err = bfs_api_open(fs, source, name, ret_file, &own);
	bfs_source_unref(source);
	if (err == BFS_OK)
		close(fd);
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_open_memory(struct bloscfs *fs, const void *buf,
				     size_t len, const char *name,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bfs_source *source;
	enum bfs_err err;

	if (!fs || !ret_file || (!buf && len))
		return bfs_api_refuse(diag);
	err = bfs_source_memory(buf, len, false, &source, &own);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	err = bfs_api_open(fs, source, name, ret_file, &own);
	bfs_source_unref(source);
	return bfs_api_answer(err, &own, diag);
}

void bloscfs_close(struct bloscfs_file *file)
{
	if (!file)
		return;
	bfs_nesting_free(file->nesting);
	bfs_free(file);
}

void bloscfs_remember(struct bloscfs_file *file)
{
	if (file)
		bfs_array_digest(file->root->array);
}

bool bloscfs_continues(struct bloscfs_file *newer, struct bloscfs_file *older,
		       bool take_blocks)
{
	return newer && older &&
	       bfs_array_continue(newer->root->array, older->root->array,
				  take_blocks);
}

enum bloscfs_status bloscfs_file_status(struct bloscfs_file *file,
					struct bloscfs_diag *ret_why)
{
	struct bfs_diag own = { .chunk = -1 };
	const struct bfs_verdict *verdict;
	enum bfs_err err;

	if (!file) {
		bfs_api_refuse(ret_why);
		return BLOSCFS_DAMAGED;
	}
	err = bfs_file_judge(file->root, &verdict, &own);
	if (err != BFS_OK) {
		bfs_api_answer(err, &own, ret_why);
		return BLOSCFS_DAMAGED;
	}
	if (verdict->status != BFS_GOOD)
		bfs_api_show(&verdict->why, ret_why);
	return (enum bloscfs_status)verdict->status;
}

enum bloscfs_err bloscfs_file_check(struct bloscfs_file *file,
				    struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };

	if (!file)
		return bfs_api_refuse(diag);
	return bfs_api_answer(
		bfs_source_check(file->root->array->container->source, &own),
		&own, diag);
}
