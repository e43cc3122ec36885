/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grid.c - which chunks an opened array has as a Zarr array, and where
 * their bytes lie.
 *
 * A checked container comes in. All products that go out fit: chunk_len is the
 * length of something that was checked, n_chunks is bounded.
 */
#include "view/zarr/grid.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/kept.h"
#include "view/payload.h"
#include "view/zarr/types.h"

#include <string.h>

/* Bytes of a chunk of a joined array; more only where one item has more. */
#define MIN_CHUNK (UINT64_C(64) << 10)
#define MAX_CHUNK (UINT64_C(4) << 20)
#define ANY_CHUNK (UINT64_C(1) << 20)	/* where nothing tells a size */

/* The place of a dimension in the order in which the bytes lie. */
static unsigned real_dim(const struct bfs_zarr *z, unsigned d)
{
	return z->fortran ? z->n - 1 - d : d;
}

static void add_dim(struct bfs_zarr *z, uint64_t shape, uint64_t chunk)
{
	z->shape[z->n] = shape;
	z->chunk[z->n] = bfs_max(chunk, 1);
	z->n++;
}

static void add_tiles(struct bfs_zarr *z, const struct bfs_file *file)
{
	const struct bfs_array_meta *m = &file->array->container->array;
	unsigned d;

	for (d = 0; d < m->ndim; d++)
		add_dim(z, (uint64_t)m->shape[d], (uint64_t)m->chunkshape[d]);
	for (d = 0; d < z->dtype.n_dims; d++)
		add_dim(z, z->dtype.dims[d], z->dtype.dims[d]);
	z->tiled = true;
	z->chunk_len = file->array->nd.tile_len;
}

/* About as many bytes as a chunk of the container has. */
static uint64_t wanted_len(const struct bfs_container *container)
{
	uint64_t len = container->chunksize > 0 ? (uint64_t)container->chunksize
						: ANY_CHUNK;

	return bfs_max(MIN_CHUNK, bfs_min(len, MAX_CHUNK));
}

/*
 * Cuts the outermost dimension of which some steps fit into a chunk; those
 * outside of it are cut into single steps, those inside stay whole. So each
 * chunk is one run of the data.
 */
static void cut_dims(struct bfs_zarr *z, uint64_t want)
{
	unsigned d = z->n;
	uint64_t steps = 1;

	z->step_len = z->dtype.unit_size;
	z->axis = 0;
	while (d-- > 0) {
		unsigned real = real_dim(z, d);

		steps = bfs_max(1, bfs_min(z->shape[real],
					   want / z->step_len));
		z->chunk[real] = steps;
		z->axis = d;
		if (steps < z->shape[real] || d == 0)
			break;
		z->step_len *= steps;
	}
	z->chunk_len = steps * z->step_len;
}

static void add_joined(struct bfs_zarr *z, const struct bfs_file *file)
{
	const struct bfs_array_meta *m = &file->array->container->array;
	unsigned d;

	for (d = 0; d < m->ndim; d++)
		add_dim(z, (uint64_t)m->shape[d], 1);
	for (d = 0; d < z->dtype.n_dims; d++)
		add_dim(z, z->dtype.dims[d], 1);
	cut_dims(z, wanted_len(file->array->container));
}

static enum bfs_err count_chunks(struct bfs_zarr *z, struct bfs_diag *diag)
{
	bool empty = false;
	unsigned d;

	z->n_chunks = 1;
	for (d = 0; d < z->n; d++) {
		z->grid[d] = bfs_div_up(z->shape[d], z->chunk[d]);
		empty |= !z->grid[d];
	}
	for (d = 0; d < z->n && !empty; d++)
		if (!bfs_mul(z->n_chunks, z->grid[d], &z->n_chunks) ||
		    z->n_chunks > BFS_ZARR_CHUNKS)
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"too many chunks for Zarr");
	if (empty)
		z->n_chunks = 0;
	return BFS_OK;
}

static enum bfs_err fill(struct bfs_zarr *z, const struct bfs_file *file,
			 struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_array_meta *m = &container->array;

	if (!bfs_payload_is_array(file))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0, "no array");
	BFS_TRY(bfs_payload_check_items(file, diag));
	z->fortran = m->fortran && m->ndim > 1;
	BFS_TRY(bfs_dtype_of_items(m->dtype, m->dtype_len, container->typesize,
				   m->ndim, &z->fortran, &z->dtype, diag));
	if (file->array->has_nd)
		add_tiles(z, file);
	else
		add_joined(z, file);
	BFS_TRY(count_chunks(z, diag));
	bfs_zarr_judge(&z->dtype, z->v2_why, z->v3_why);
	return BFS_OK;
}

enum bfs_err bfs_zarr_new(const struct bfs_file *file,
			  struct bfs_zarr **ret_zarr, struct bfs_diag *diag)
{
	struct bfs_zarr *z = bfs_zalloc(1, sizeof(*z));
	enum bfs_err err;

	if (!z)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for Zarr");
	err = fill(z, file, diag);
	if (err != BFS_OK) {
		bfs_zarr_free(z);
		return err;
	}
	*ret_zarr = z;
	return BFS_OK;
}

void bfs_zarr_free(struct bfs_zarr *z)
{
	if (!z)
		return;
	bfs_dtype_release(&z->dtype);
	bfs_free(z);
}

static enum bfs_err find_zarr(struct bfs_file *file, void **ret_state,
			      struct bfs_diag *diag)
{
	struct bfs_zarr *z;

	BFS_TRY(bfs_zarr_new(file, &z, diag));
	*ret_state = z;
	return BFS_OK;
}

bool bfs_zarr_has_fill(const struct bfs_zarr *z)
{
	return strchr("biufcMmSU", z->dtype.kind) ||
	       z->dtype.unit_size <= BFS_ZARR_MAX_RAW;
}

const struct bfs_zarr *bfs_zarr_get(struct bfs_file *file)
{
	const void *z;

	return bfs_kept_state(file, BFS_ROW_zarr, find_zarr, &z, NULL) ==
	       BFS_OK ? z : NULL;
}

void bfs_zarr_place(const struct bfs_zarr *z, uint64_t n, uint64_t *ret_off,
		    uint64_t *ret_len)
{
	uint64_t at[BFS_ZARR_DIMS];
	uint64_t row = 0, first, steps = 1, all = 1;
	unsigned d;

	for (d = z->n; d-- > 0; n /= z->grid[d])
		at[d] = n % z->grid[d];
	for (d = 0; d < z->axis; d++)
		row = row * z->shape[real_dim(z, d)] + at[real_dim(z, d)];
	first = 0;
	if (z->n) {
		unsigned real = real_dim(z, z->axis);

		all = z->shape[real];
		first = at[real] * z->chunk[real];
		steps = bfs_min(z->chunk[real], all - first);
	}
	*ret_off = (row * all + first) * z->step_len;
	*ret_len = steps * z->step_len;
}
