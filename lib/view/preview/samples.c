/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.c - the size of a picture, and as many places of an array as the
 * budget of blocks allows.
 */
#include "view/preview/samples.h"

#include "base/bytes.h"
#include "base/mem.h"

#define SMALL 256		/* pixels: what has less is enlarged */
#define NARROW 32		/* pixels of a side, at least */

/* ---- sizes ----------------------------------------------------------- */

/* Pixels of a side of n items, where the longer side has `longest`. */
static unsigned find_side(uint64_t n, uint64_t longest)
{
	uint64_t len = n;

	if (longest <= SMALL)
		len = n * (SMALL / longest);
	for (; longest > UINT32_MAX; longest /= 2)
		len /= 2;
	if (longest > BFS_PREVIEW_SIDE)
		len = len * BFS_PREVIEW_SIDE / longest;
	return (unsigned)bfs_max(NARROW, bfs_min(len, BFS_PREVIEW_SIDE));
}

static struct bfs_preview_axis get_axis(const struct bfs_file *file,
					const struct bfs_plain *plain,
					unsigned d)
{
	const struct bfs_array_meta *meta = &file->array->container->array;
	struct bfs_preview_axis axis = { .n = plain->shape[d],
					 .stride = plain->size };

	for (unsigned i = 0; i < plain->n; i++)
		if (plain->fortran ? i < d : i > d)
			axis.stride *= plain->shape[i];
	if (!file->array->has_nd)
		return axis;
	axis.chunk = axis.block = axis.n;
	if (d < meta->ndim && meta->chunkshape[d] > 0)
		axis.chunk = (uint64_t)meta->chunkshape[d];
	if (d < meta->ndim && meta->blockshape[d] > 0)
		axis.block = bfs_min(axis.chunk,
				     (uint64_t)meta->blockshape[d]);
	return axis;
}

/* Red, green, blue and perhaps alpha, as in the view tiff. */
static unsigned count_channels(const struct bfs_plain *plain)
{
	uint64_t last = plain->shape[plain->n - 1];

	if (plain->n >= 3 && !plain->fortran && plain->kind == 'u' &&
	    plain->size <= 2 && (last == 3 || last == 4))
		return (unsigned)last;
	return 1;
}

static void find_slice(const struct bfs_file *file,
		       struct bfs_preview_plan *plan)
{
	const struct bfs_plain *plain = &plan->plain;
	unsigned n = plain->n;
	uint64_t longest;

	plan->channels = count_channels(plain);
	if (plan->channels > 1)
		n--;
	plan->x = get_axis(file, plain, n - 1);
	plan->y = get_axis(file, plain, n - 2);
	for (unsigned d = 0; d < n - 2; d++)
		plan->base += plain->shape[d] / 2 *
			      get_axis(file, plain, d).stride;
	longest = bfs_max(plan->x.n, plan->y.n);
	plan->width = find_side(plan->x.n, longest);
	plan->height = find_side(plan->y.n, longest);
}

enum bfs_err bfs_preview_size(const struct bfs_file *file,
			      struct bfs_preview_plan *ret_plan,
			      struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	struct bfs_preview_plan plan = { .channels = 1 };

	BFS_TRY(bfs_plain_get(file, &plan.plain, diag));
	if (!plan.plain.n)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"it has at least one dimension");
	if (container->chunksize > 0)
		plan.chunk_len = (uint64_t)container->chunksize;
	plan.block_len = container->blocksize;
	if (file->array->has_nd)
		plan.block_len = file->array->nd.block_len;
	if (plan.block_len > BFS_PREVIEW_DECODED)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"a block is larger than what it may decode");
	if (plan.plain.n == 1) {
		plan.is_curve = true;
		plan.x = get_axis(file, &plan.plain, 0);
		plan.width = BFS_PREVIEW_SIDE;
		plan.height = SMALL;
	} else {
		find_slice(file, &plan);
	}
	*ret_plan = plan;
	return BFS_OK;
}

/* ---- within the budget ----------------------------------------------- */

/* Where there are no tiles blocks are known by their bytes alone, and a
 * container may say their length in its chunks only. */
static enum bfs_err find_block_len(struct bfs_file *file,
				   struct bfs_preview_plan *plan,
				   struct bfs_diag *diag)
{
	struct bfs_container *container = file->array->container;
	struct bfs_chunk *chunk;
	struct bfs_span span;
	enum bfs_err err;

	if (!plan->block_len && container->n_chunks) {
		err = bfs_array_plan(file->array, container->n_chunks / 2,
				     &chunk, &span, diag);
		if (bfs_err_passes(err))
			return err;
		if (err == BFS_OK) {
			plan->block_len = chunk->head.blocksize;
			bfs_chunk_unref(chunk);
		}
	}
	if (!plan->block_len)
		plan->block_len = plan->chunk_len;
	plan->block_len = bfs_max(1, plan->block_len);
	if (!plan->chunk_len)
		plan->chunk_len = plan->block_len;
	if (plan->block_len > BFS_PREVIEW_DECODED)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"a block is larger than a preview may decode");
	return BFS_OK;
}

uint64_t bfs_preview_block(const struct bfs_preview_axis *axis, uint64_t at)
{
	if (!axis->chunk)
		return 0;
	return at / axis->chunk * bfs_div_up(axis->chunk, axis->block) +
	       at % axis->chunk / axis->block;
}

/* Blocks along both dimensions of the slice. */
static void count_blocks(const struct bfs_preview_plan *plan, uint64_t *ret_x,
			 uint64_t *ret_y)
{
	bool x_first = plan->x.stride < plan->y.stride;
	const struct bfs_preview_axis *in = x_first ? &plan->x : &plan->y;
	const struct bfs_preview_axis *out = x_first ? &plan->y : &plan->x;
	uint64_t n_in = 1, n_out = out->n;

	if (plan->x.chunk) {
		*ret_x = bfs_preview_block(&plan->x, plan->x.n - 1) + 1;
		*ret_y = bfs_preview_block(&plan->y, plan->y.n - 1) + 1;
		return;
	}
	if (out->stride >= plan->block_len)
		n_in = in->n * in->stride / plan->block_len + 2;
	else
		n_out = out->n * out->stride / plan->block_len + 2;
	*ret_x = x_first ? n_in : n_out;
	*ret_y = x_first ? n_out : n_in;
}

/* An eighth less, of what counts. */
static void look_less(struct bfs_preview_axis *axis, uint64_t n_blocks)
{
	unsigned n = (unsigned)bfs_min(axis->n_seen, n_blocks);

	axis->n_seen = n - (n + 7) / 8;
}

static void fit_budget(struct bfs_preview_plan *plan)
{
	uint64_t most = bfs_min(BFS_PREVIEW_DECODED / plan->block_len,
				BFS_PREVIEW_BLOCKS);
	uint64_t n_x, n_y, x, y;

	plan->x.n_seen = (unsigned)bfs_min(plan->width, plan->x.n);
	plan->y.n_seen = (unsigned)bfs_min(plan->height, plan->y.n);
	count_blocks(plan, &n_x, &n_y);
	/* A pixel's numbers may lie in blocks of their own. */
	most /= plan->channels;
	for (;;) {
		x = bfs_min(plan->x.n_seen, n_x);
		y = bfs_min(plan->y.n_seen, n_y);
		if (x * y <= most || x * y == 1)
			return;
		if (x > y)
			look_less(&plan->x, n_x);
		else
			look_less(&plan->y, n_y);
	}
}

enum bfs_err bfs_preview_prepare(struct bfs_file *file,
				 struct bfs_preview_plan *plan,
				 struct bfs_preview_seen *seen,
				 struct bfs_diag *diag)
{
	size_t n;

	BFS_TRY(find_block_len(file, plan, diag));
	if (plan->is_curve) {
		plan->x.n_seen = (unsigned)bfs_min(plan->width, plan->x.n);
		plan->y.n_seen = 1;
	} else {
		fit_budget(plan);
	}
	n = (size_t)plan->x.n_seen * plan->y.n_seen;
	seen->value = bfs_zalloc(n * (plan->is_curve ? 2 : plan->channels),
				 sizeof(*seen->value));
	seen->bad = bfs_zalloc(n, 1);
	if (!seen->value || !seen->bad)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	return BFS_OK;
}

void bfs_preview_release(struct bfs_preview_seen *seen)
{
	bfs_free(seen->value);
	bfs_free(seen->bad);
}
