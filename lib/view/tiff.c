/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tiff.c - data.tif: the array as TIFF, a page for each slice of its last two
 * dimensions; BigTIFF where it is of 4 GiB or more. Beside that stack.tif for
 * ImageJ, which knows no BigTIFF, but reads any number of pages behind the
 * first one of a TIFF whose description tells how many there are.
 *
 * Nothing of the container's texts goes into these files.
 */
#include "base/mem.h"
#include "text/json.h"
#include "view/image/pages.h"
#include "view/payload.h"
#include "view/view.h"

#include <stdio.h>

enum kind { KIND_DATA, KIND_STACK, N_KINDS };

struct tiff {
	struct bfs_plain plain;
	char why[BFS_PLAIN_WHY];	/* why there is none; "" */
	bool there[N_KINDS];
	struct bfs_tiff_form forms[N_KINDS];
};

static enum bfs_err lay_out(const struct bfs_file *file, struct tiff *tiff,
			    struct bfs_diag *diag)
{
	struct bfs_tiff_form *forms = tiff->forms;
	struct bfs_pages pages;
	enum bfs_err err;

	BFS_TRY(bfs_plain_get(file, &tiff->plain, diag));
	BFS_TRY(bfs_pages_cut(&tiff->plain, &pages, diag));
	err = bfs_pages_lay(&tiff->plain, &pages, false, pages.n,
			    &forms[KIND_DATA], NULL);
	if (err != BFS_OK) {
		BFS_TRY(bfs_pages_lay(&tiff->plain, &pages, true, pages.n,
				      &forms[KIND_DATA], diag));
		tiff->there[KIND_STACK] =
			pages.n > 1 && pages.text[0] && pages.for_imagej &&
			bfs_pages_lay(&tiff->plain, &pages, false, 1,
				      &forms[KIND_STACK], NULL) == BFS_OK;
	}
	tiff->there[KIND_DATA] = true;
	return BFS_OK;
}

static enum bfs_err find_tiff(struct bfs_file *file, void **ret_state,
			      struct bfs_diag *diag)
{
	struct tiff *tiff = bfs_zalloc(1, sizeof(*tiff));
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (!tiff)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for TIFF");
	err = lay_out(file, tiff, &why);
	if (bfs_err_passes(err)) {
		bfs_free(tiff);
		return bfs_fail(diag, err, 0, "no memory for TIFF");
	}
	if (err != BFS_OK)
		snprintf(tiff->why, sizeof(tiff->why), "%s", why.text);
	*ret_state = tiff;
	return BFS_OK;
}

static const struct tiff *get_tiff(struct bfs_file *file)
{
	const void *tiff;

	return bfs_kept_state(file, BFS_ROW_tiff, find_tiff, &tiff, NULL) ==
	       BFS_OK ? tiff : NULL;
}

static size_t tiff_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	const struct tiff *tiff = get_tiff(file);
	size_t n = 0;

	if (tiff && tiff->there[KIND_DATA])
		ret_roots[n++] = (struct bfs_root){ "data.tif", KIND_DATA };
	if (tiff && tiff->there[KIND_STACK])
		ret_roots[n++] = (struct bfs_root){ "stack.tif", KIND_STACK };
	return n;
}

/* The form of an entry; NULL where a caller made the node up. */
static const struct tiff *find_form(struct bfs_file *file,
				    const struct bfs_node *node,
				    const struct bfs_tiff_form **ret_form)
{
	const struct tiff *tiff = node->kind < N_KINDS ? get_tiff(file) : NULL;

	if (!tiff || !tiff->there[node->kind])
		return NULL;
	*ret_form = &tiff->forms[node->kind];
	return tiff;
}

static void tiff_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	const struct bfs_tiff_form *form;
	const struct tiff *tiff = find_form(file, node, &form);

	if (tiff)
		bfs_plain_stat(file, &tiff->plain, form->data_off, ret_attr);
}

static enum bfs_err tiff_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	const struct bfs_tiff_form *form;
	const struct tiff *tiff = find_form(file, node, &form);

	if (!tiff)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return bfs_plain_ready(file, &tiff->plain, diag);
}

static enum bfs_err tiff_fill(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	const struct bfs_tiff_form *form;

	if (!find_form(file, node, &form))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	bfs_pages_fill(form, off, buf, len);
	return BFS_OK;
}

static enum bfs_err tiff_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	const struct bfs_tiff_form *form;

	if (!find_form(file, node, &form))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	ret_part->made = off < form->data_off;
	bfs_payload_part(NULL, 0, off - form->data_off, len, ret_part);
	if (ret_part->made && len > form->data_off - off)
		ret_part->len = form->data_off - off;
	return BFS_OK;
}

static void tiff_note(struct bfs_file *file, struct bfs_json *json)
{
	const struct tiff *tiff;

	if (!bfs_payload_is_array(file))
		return;
	tiff = get_tiff(file);
	if (tiff)
		bfs_plain_put(json, "tiff", tiff->why);
}

static void tiff_release(void *state)
{
	bfs_free(state);
}

const struct bfs_view bfs_view_tiff = {
	.name = "tiff",
	.groups = " imaging ",
	.roots = tiff_roots,
	.stat = tiff_stat,
	.open = tiff_open,
	.fill = tiff_fill,
	.part = tiff_part,
	.note = tiff_note,
	.release = tiff_release,
};
