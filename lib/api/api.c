/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api.c - the public interface to instances: made from options, counted, and
 * freed. The other files of this room hold the rest of the interface, each
 * checking arguments, translating values and calling one room below for each
 * thing.
 */
#include "api/priv.h"

#include "base/mem.h"
#include "view/dispatch.h"

#include <string.h>

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

static enum bfs_err start_engine(struct bloscfs *fs,
				 const struct bfs_engine_options *options)
{
	BFS_CHARGE_TO(fs->budget);
	enum bfs_err err = bfs_engine_new(options, &fs->engine);

	if (err != BFS_OK)
		bfs_api_end_budget(fs);
	return err;
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
	fs->drop_behind = taken.drop_behind;
	err = bfs_api_set_budget(fs, &taken, &engine.cache_len);
	if (err == BFS_OK)
		err = start_engine(fs, &engine);
	if (err != BFS_OK) {
		bfs_free(fs);
		return bfs_api_answer(err, &own, diag);
	}
	*ret_fs = fs;
	return BLOSCFS_OK;
}

void bloscfs_beside(struct bloscfs *fs, uint64_t bytes)
{
	if (fs)
		bfs_budget_set_beside(fs->budget, bytes);
}

void bloscfs_free(struct bloscfs *fs)
{
	if (!fs)
		return;
	bfs_engine_free(fs->engine);
	bfs_api_end_budget(fs);
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
	bfs_turn_get_stats(fs->budget, &turns);
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
		.memory = bfs_budget_used(fs->budget),
		.memory_budget = bfs_budget_limit(fs->budget),
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
