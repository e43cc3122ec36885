/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti.c - data.nii: the array as NIfTI-1, or as NIfTI-2 where a dimension is
 * over 32767. NIfTI's first dimension is the one that varies fastest, so an
 * array in order C has its dimensions the other way round.
 *
 * The NIfTI-1 and NIfTI-2 data formats (nifti1.h 2003, nifti2.h 2011).
 */
#include "base/mem.h"
#include "text/json.h"
#include "view/image/plain.h"
#include "view/payload.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

#define MAX_DIMS 7
#define HEAD1 348
#define HEAD2 540
#define DATA1 352		/* behind a header: four bytes say that there */
#define DATA2 544		/* are no extensions */
#define SCANNER 1		/* what the coordinates of xform mean */

struct nifti {
	struct bfs_plain plain;
	char why[BFS_PLAIN_WHY];	/* why there is none; "" */
	unsigned n;			/* dimensions, 1 ... 7 */
	uint64_t dims[MAX_DIMS];	/* the fastest first */
	size_t head_len;
	uint8_t head[DATA2];
};

/* ---- the header ------------------------------------------------------ */

/* The number of a type; 0 where NIfTI has none. */
static unsigned find_type(const struct bfs_plain *plain)
{
	static const struct {
		char kind;
		uint8_t size;
		uint16_t type;
	} types[] = {
		{ 'u', 1, 2 }, { 'u', 2, 512 }, { 'u', 4, 768 },
		{ 'u', 8, 1280 }, { 'i', 1, 256 }, { 'i', 2, 4 },
		{ 'i', 4, 8 }, { 'i', 8, 1024 }, { 'f', 4, 16 },
		{ 'f', 8, 64 }, { 'c', 8, 32 }, { 'c', 16, 1792 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].kind == plain->kind &&
		    types[i].size == plain->size)
			return types[i].type;
	return 0;
}

/* A header is written from front to back. */
struct head {
	uint8_t *at;
	bool big;
};

static void put(struct head *h, uint64_t v, unsigned n)
{
	bfs_plain_store(h->at, v, n, h->big);
	h->at += n;
}

static void skip(struct head *h, size_t n)
{
	h->at += n;
}

/* Small whole numbers, which both widths hold. */
static void put_real(struct head *h, float v, unsigned n)
{
	double wide = v;
	uint64_t bits = 0;
	uint32_t narrow;

	if (n == 8) {
		memcpy(&bits, &wide, 8);
	} else {
		memcpy(&narrow, &v, 4);
		bits = narrow;
	}
	put(h, bits, n);
}

/* dim or pixdim: how many there are, or the handedness, and seven more. */
static void put_dims(struct head *h, const struct nifti *nifti, unsigned width)
{
	put(h, nifti->n, width);
	for (unsigned d = 0; d < MAX_DIMS; d++)
		put(h, d < nifti->n ? nifti->dims[d] : 1, width);
}

static void put_steps(struct head *h, unsigned width)
{
	for (unsigned d = 0; d <= MAX_DIMS; d++)
		put_real(h, 1, width);
}

/* Rows of the matrix that leaves the coordinates as they are. */
static void put_matrix(struct head *h, unsigned width)
{
	for (unsigned i = 0; i < 12; i++)
		put_real(h, i % 5 == 0, width);
}

static void write_head1(struct nifti *nifti)
{
	struct head h = { nifti->head, nifti->plain.big };

	put(&h, HEAD1, 4);
	skip(&h, 36);
	put_dims(&h, nifti, 2);		/* at 40 */
	skip(&h, 14);
	put(&h, find_type(&nifti->plain), 2);	/* at 70 */
	put(&h, 8 * nifti->plain.size, 2);
	skip(&h, 2);
	put_steps(&h, 4);		/* at 76 */
	put_real(&h, DATA1, 4);		/* at 108: where the data begin */
	put_real(&h, 1, 4);		/* their slope */
	skip(&h, 138);
	put(&h, SCANNER, 2);		/* at 254: sform_code */
	skip(&h, 24);
	put_matrix(&h, 4);		/* at 280 */
	skip(&h, 16);
	memcpy(h.at, "n+1", 4);		/* at 344 */
	nifti->head_len = DATA1;
}

static void write_head2(struct nifti *nifti)
{
	struct head h = { nifti->head, nifti->plain.big };

	put(&h, HEAD2, 4);
	memcpy(h.at, "n+2\0\r\n\032\n", 8);
	skip(&h, 8);
	put(&h, find_type(&nifti->plain), 2);	/* at 12 */
	put(&h, 8 * nifti->plain.size, 2);
	put_dims(&h, nifti, 8);		/* at 16 */
	skip(&h, 24);
	put_steps(&h, 8);		/* at 104 */
	put(&h, DATA2, 8);		/* at 168: where the data begin */
	put_real(&h, 1, 8);		/* their slope */
	skip(&h, 164);
	put(&h, SCANNER, 4);		/* at 348: sform_code */
	skip(&h, 48);
	put_matrix(&h, 8);		/* at 400 */
	nifti->head_len = DATA2;
}

static enum bfs_err lay_out(const struct bfs_file *file, struct nifti *nifti,
			    struct bfs_diag *diag)
{
	struct bfs_plain *plain = &nifti->plain;
	uint64_t longest = 0;

	BFS_TRY(bfs_plain_get(file, plain, diag));
	if (!find_type(plain))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"NIfTI has no numbers of this type");
	if (plain->n > MAX_DIMS)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"NIfTI has at most seven dimensions");
	nifti->n = plain->n ? plain->n : 1;
	nifti->dims[0] = 1;
	for (unsigned d = 0; d < plain->n; d++) {
		nifti->dims[d] = plain->shape[plain->fortran ?
					      d : plain->n - 1 - d];
		if (nifti->dims[d] > longest)
			longest = nifti->dims[d];
	}
	if (plain->len > INT64_MAX - DATA2)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the file would be too long");
	if (longest > INT16_MAX)
		write_head2(nifti);
	else
		write_head1(nifti);
	return BFS_OK;
}

/* ---- the view -------------------------------------------------------- */

static enum bfs_err find_nifti(struct bfs_file *file, void **ret_state,
			       struct bfs_diag *diag)
{
	struct nifti *nifti = bfs_zalloc(1, sizeof(*nifti));
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (!nifti)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for NIfTI");
	err = lay_out(file, nifti, &why);
	if (bfs_err_passes(err)) {
		bfs_free(nifti);
		return bfs_fail(diag, err, 0, "no memory for NIfTI");
	}
	if (err != BFS_OK)
		snprintf(nifti->why, sizeof(nifti->why), "%s", why.text);
	*ret_state = nifti;
	return BFS_OK;
}

static const struct nifti *get_nifti(struct bfs_file *file)
{
	const void *nifti;

	return bfs_kept_state(file, BFS_ROW_nifti, find_nifti, &nifti, NULL) ==
	       BFS_OK ? nifti : NULL;
}

/* NULL where there is no such file. */
static const struct nifti *find_entry(struct bfs_file *file)
{
	const struct nifti *nifti = get_nifti(file);

	return nifti && !nifti->why[0] ? nifti : NULL;
}

static size_t nifti_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	if (!find_entry(file))
		return 0;
	ret_roots[0] = (struct bfs_root){ "data.nii", 0 };
	return 1;
}

static void nifti_stat(struct bfs_file *file, const struct bfs_node *node,
		       struct bfs_attr *ret_attr)
{
	const struct nifti *nifti = find_entry(file);

	(void)node;
	if (nifti)
		bfs_plain_stat(file, &nifti->plain, nifti->head_len, ret_attr);
}

static enum bfs_err nifti_open(struct bfs_file *file,
			       const struct bfs_node *node,
			       struct bfs_diag *diag)
{
	const struct nifti *nifti = find_entry(file);

	(void)node;
	if (!nifti)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return bfs_plain_ready(file, &nifti->plain, diag);
}

static enum bfs_err nifti_part(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint64_t len, struct bfs_part *ret_part,
			       struct bfs_diag *diag)
{
	const struct nifti *nifti = find_entry(file);

	(void)node;
	if (!nifti)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	bfs_payload_part(nifti->head, nifti->head_len, off, len, ret_part);
	return BFS_OK;
}

static void nifti_note(struct bfs_file *file, struct bfs_json *json)
{
	const struct nifti *nifti;

	if (!bfs_payload_is_array(file))
		return;
	nifti = get_nifti(file);
	if (nifti)
		bfs_plain_put(json, "nifti", nifti->why);
}

static void nifti_release(void *state)
{
	bfs_free(state);
}

const struct bfs_view bfs_view_nifti = {
	.name = "nifti",
	.groups = " imaging ",
	.roots = nifti_roots,
	.stat = nifti_stat,
	.open = nifti_open,
	.part = nifti_part,
	.note = nifti_note,
	.release = nifti_release,
};
