/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preview.c - preview.png: an array at a glance. Its size is known from the
 * shape alone; what it shows is read, within a budget, when it is opened.
 */
#include "base/mem.h"
#include "text/json.h"
#include "view/parts.h"
#include "view/payload.h"
#include "view/preview/curve.h"
#include "view/preview/paint.h"
#include "view/preview/slice.h"
#include "view/view.h"

#include <stdio.h>

struct preview {
	struct bfs_preview_plan plan;
	char why[BFS_PLAIN_WHY];	/* why there is none; "" */
};

static enum bfs_err find_preview(struct bfs_file *file, void **ret_state,
				 struct bfs_diag *diag)
{
	struct preview *preview = bfs_zalloc(1, sizeof(*preview));
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (!preview)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	err = bfs_preview_size(file, &preview->plan, &why);
	if (bfs_err_passes(err)) {
		bfs_free(preview);
		return bfs_fail(diag, err, 0, "no memory for a preview");
	}
	if (err != BFS_OK)
		snprintf(preview->why, sizeof(preview->why), "%s", why.text);
	*ret_state = preview;
	return BFS_OK;
}

/* NULL where there is none. */
static const struct preview *get_preview(struct bfs_file *file)
{
	const void *preview;

	return bfs_kept_state(file, BFS_ROW_preview, find_preview, &preview,
			      NULL) == BFS_OK ? preview : NULL;
}

static enum bfs_err make_picture(struct bfs_file *file, unsigned key,
				 char **ret_text, size_t *ret_len,
				 struct bfs_diag *diag)
{
	const struct preview *preview = get_preview(file);
	struct bfs_preview_seen seen = { NULL, NULL };
	struct bfs_preview_plan plan;
	struct bfs_png form;
	uint8_t *buf;
	enum bfs_err err;

	(void)key;
	if (!preview)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	plan = preview->plan;
	form = bfs_paint_form(&plan);
	BFS_TRY(bfs_plain_ready(file, &plan.plain, diag));
	buf = bfs_alloc(bfs_png_len(&form));
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	err = bfs_preview_prepare(file, &plan, &seen, diag);
	if (err == BFS_OK)
		err = plan.is_curve ? bfs_curve_look(file, &plan, &seen, diag) :
				      bfs_slice_look(file, &plan, &seen, diag);
	if (err == BFS_OK)
		err = bfs_paint(&plan, &seen, buf, diag);
	bfs_preview_release(&seen);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_text = (char *)buf;
	*ret_len = bfs_png_len(&form);
	return BFS_OK;
}

static enum bfs_err get_picture(struct bfs_file *file, const char **ret_text,
				size_t *ret_len, struct bfs_diag *diag)
{
	const struct preview *preview = get_preview(file);

	if (!preview || preview->why[0])
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return bfs_kept_text(file, BFS_ROW_preview, 0, make_picture, ret_text,
			     ret_len, diag);
}

static size_t preview_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	const struct preview *preview = get_preview(file);

	if (!preview || preview->why[0])
		return 0;
	ret_roots[0] = (struct bfs_root){ "preview.png", 0 };
	return 1;
}

static void preview_stat(struct bfs_file *file, const struct bfs_node *node,
			 struct bfs_attr *ret_attr)
{
	const struct preview *preview = get_preview(file);
	struct bfs_png form;

	(void)node;
	if (!preview || preview->why[0])
		return;
	form = bfs_paint_form(&preview->plan);
	bfs_text_stat(bfs_png_len(&form), ret_attr);
}

static void preview_note(struct bfs_file *file, struct bfs_json *json)
{
	const struct preview *preview;

	if (!bfs_payload_is_array(file))
		return;
	preview = get_preview(file);
	if (preview)
		bfs_plain_put(json, "preview", preview->why);
}

static void preview_release(void *state)
{
	bfs_free(state);
}

const struct bfs_view bfs_view_preview = {
	.name = "preview",
	.groups = " web ",
	.n_texts = 1,
	.roots = preview_roots,
	.stat = preview_stat,
	.text = get_picture,
	.note = preview_note,
	.release = preview_release,
};
