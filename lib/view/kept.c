/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept.c - the life of an opened container with its views, and of what they
 * keep.
 *
 * In: an opened array and the rows that will ask. Which rows these are is
 * nothing to this file: each says how many texts it keeps and frees its own
 * state.
 */
#include "view/kept.h"

#include "base/mem.h"
#include "base/moment.h"

#include <string.h>

/* ---- lifetime -------------------------------------------------------- */

static size_t count_texts(const struct bfs_view *const *rows, size_t n_rows)
{
	size_t n = 0;

	for (size_t i = 0; i < n_rows; i++)
		n += rows[i]->n_texts;
	return n;
}

static void free_slots(struct bfs_file *file)
{
	size_t n_texts = count_texts(file->rows, file->n_rows);

	for (size_t i = 0; file->slots && i < file->n_rows; i++) {
		struct bfs_keep *slot = &file->slots[i];

		if (slot->state)
			file->rows[i]->release(slot->state);
		bfs_free(slot->why);
	}
	for (size_t i = 0; file->texts && i < n_texts; i++) {
		bfs_free(file->texts[i].buf);
		bfs_free(file->texts[i].why);
	}
	bfs_free(file->slots);
	bfs_free(file->texts);
}

void bfs_file_free(struct bfs_file *file)
{
	if (!file)
		return;
	free_slots(file);
	pthread_mutex_destroy(&file->lock);
	bfs_array_close(file->array);
	bfs_free(file);
}

static bool make_slots(struct bfs_file *file)
{
	struct bfs_text *text;

	file->slots = bfs_zalloc(file->n_rows, sizeof(*file->slots));
	file->texts = bfs_zalloc(count_texts(file->rows, file->n_rows),
				 sizeof(*file->texts));
	if (!file->slots || !file->texts)
		return false;
	text = file->texts;
	for (size_t i = 0; i < file->n_rows; i++) {
		file->slots[i].texts = text;
		text += file->rows[i]->n_texts;
	}
	return true;
}

enum bfs_err bfs_kept_new(struct bfs_array *array, uint32_t views,
			  const struct bfs_view *const *rows, size_t n_rows,
			  struct bfs_file **ret_file, struct bfs_diag *diag)
{
	struct bfs_file *file = bfs_zalloc(1, sizeof(*file));

	if (!file) {
		bfs_array_close(array);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for an opened container");
	}
	file->array = array;
	file->views = views;
	file->rows = rows;
	file->n_rows = n_rows;
	pthread_mutex_init(&file->lock, NULL);
	if (!make_slots(file)) {
		bfs_file_free(file);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for what views keep");
	}
	*ret_file = file;
	return BFS_OK;
}

/* ---- keeping --------------------------------------------------------- */

static void set_flag(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

void bfs_kept_publish(struct bfs_file *file, bool *flag, void *kept,
		      const void *found, size_t len)
{
	pthread_mutex_lock(&file->lock);
	if (!*flag) {
		memcpy(kept, found, len);
		set_flag(flag);
	}
	pthread_mutex_unlock(&file->lock);
}

/* What was found out since the mark is to be kept, or is an error of the
 * moment, which is returned. A failure is kept with its reason. */
static enum bfs_err settle(uint64_t mark, enum bfs_err err,
			   struct bfs_diag *why, struct bfs_diag **ret_why)
{
	struct bfs_diag *copy = NULL;

	err = bfs_moment_settle(mark, err, why);
	if (bfs_err_passes(err))
		return err;
	if (err != BFS_OK) {
		copy = bfs_alloc(sizeof(*copy));
		if (!copy)
			return bfs_fail(why, BFS_ERR_NOMEM, 0,
					"no memory for a diagnosis");
		*copy = *why;
	}
	*ret_why = copy;
	return BFS_OK;
}

/* What the call returns that asked for something kept. */
static enum bfs_err tell(enum bfs_err err, const struct bfs_diag *why,
			 struct bfs_diag *diag)
{
	if (err != BFS_OK && diag)
		*diag = *why;
	return err;
}

/* ---- texts ----------------------------------------------------------- */

typedef enum bfs_err maker(struct bfs_file *file, unsigned key, char **ret_text,
			   size_t *ret_len, struct bfs_diag *diag);

/* A text, or why there can be none; fails where neither is found out. */
static enum bfs_err make_text(struct bfs_file *file, unsigned key, maker *make,
			      struct bfs_text *ret_made, struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_diag why = { .chunk = -1 };
	struct bfs_text made = { 0 };
	enum bfs_err err;

	made.err = make(file, key, &made.buf, &made.len, &why);
	if (made.err == BFS_OK)
		made.err = bfs_source_check(file->array->container->source,
					    &why);
	err = settle(mark, made.err, &why, &made.why);
	if (made.err != BFS_OK || err != BFS_OK) {
		bfs_free(made.buf);
		made.buf = NULL;
	}
	BFS_TRY(tell(err, &why, diag));
	*ret_made = made;
	return BFS_OK;
}

/* With the lock held. */
static void put_text(struct bfs_text *text, const struct bfs_text *made)
{
	text->err = made->err;
	text->buf = made->buf;
	text->len = made->len;
	text->why = made->why;
	text->edition = made->edition;
	set_flag(&text->made);
}

/* Takes over what was made. */
static void keep_text(struct bfs_file *file, struct bfs_text *text,
		      const struct bfs_text *made)
{
	bool mine;

	pthread_mutex_lock(&file->lock);
	mine = !text->made;
	if (mine)
		put_text(text, made);
	pthread_mutex_unlock(&file->lock);
	if (mine)
		return;
	bfs_free(made->buf);
	bfs_free(made->why);
}

enum bfs_err bfs_kept_text(struct bfs_file *file, enum bfs_row row,
			   unsigned key,
			   enum bfs_err (*make)(struct bfs_file *file,
						unsigned key, char **ret_text,
						size_t *ret_len,
						struct bfs_diag *diag),
			   const char **ret_text, size_t *ret_len,
			   struct bfs_diag *diag)
{
	struct bfs_text *text = &file->slots[row].texts[key];
	struct bfs_text made = { 0 };

	if (!bfs_kept_has(&text->made)) {
		BFS_TRY(make_text(file, key, make, &made, diag));
		keep_text(file, text, &made);
	}
	if (text->err == BFS_OK) {
		*ret_text = text->buf;
		*ret_len = text->len;
	}
	return tell(text->err, text->why, diag);
}

/* ---- texts that tell faults ------------------------------------------ */

/* Takes over what was made, unless what is kept is as new. A text of another
 * length is never put in place of one whose length was told. */
static void renew_text(struct bfs_file *file, struct bfs_text *text,
		       const struct bfs_text *made)
{
	struct bfs_text old = *made;

	pthread_mutex_lock(&file->lock);
	if (!text->made || (text->edition < made->edition &&
			    text->err == BFS_OK && made->err == BFS_OK &&
			    text->len == made->len)) {
		old = *text;
		put_text(text, made);
	} else if (text->edition < made->edition) {
		text->edition = made->edition;
	}
	pthread_mutex_unlock(&file->lock);
	bfs_free(old.buf);
	bfs_free(old.why);
}

/* Makes the text where there is none, or none of what is known now. */
static enum bfs_err renew(struct bfs_file *file, struct bfs_text *text,
			  unsigned key, maker *make, struct bfs_diag *diag)
{
	struct bfs_text made = { 0 };
	uint64_t edition = bfs_faults_edition(&file->array->faults);
	bool is_new;

	pthread_mutex_lock(&file->lock);
	is_new = text->made && text->edition >= edition;
	pthread_mutex_unlock(&file->lock);
	if (is_new)
		return BFS_OK;
	BFS_TRY(make_text(file, key, make, &made, diag));
	made.edition = edition;
	renew_text(file, text, &made);
	return BFS_OK;
}

enum bfs_err bfs_kept_len(struct bfs_file *file, enum bfs_row row,
			  unsigned key, maker *make, size_t *ret_len,
			  struct bfs_diag *diag)
{
	struct bfs_text *text = &file->slots[row].texts[key];
	enum bfs_err err;

	if (!bfs_kept_has(&text->made))
		BFS_TRY(renew(file, text, key, make, diag));
	pthread_mutex_lock(&file->lock);
	err = tell(text->err, text->why, diag);
	if (err == BFS_OK)
		*ret_len = text->len;
	pthread_mutex_unlock(&file->lock);
	return err;
}

enum bfs_err bfs_kept_copy(struct bfs_file *file, enum bfs_row row,
			   unsigned key, maker *make, uint64_t off,
			   uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	struct bfs_text *text = &file->slots[row].texts[key];
	enum bfs_err err;

	BFS_TRY(renew(file, text, key, make, diag));
	pthread_mutex_lock(&file->lock);
	err = tell(text->err, text->why, diag);
	if (err == BFS_OK && (off > text->len || len > text->len - off))
		err = bfs_fail(diag, BFS_ERR_RANGE, off,
			       "no byte of the text lies there");
	if (err == BFS_OK)
		memcpy(buf, text->buf + off, len);
	pthread_mutex_unlock(&file->lock);
	return err;
}

/* ---- states ---------------------------------------------------------- */

/* Takes over what was found. */
static void keep_state(struct bfs_file *file, enum bfs_row row,
		       enum bfs_err err, void *state, struct bfs_diag *why)
{
	struct bfs_keep *slot = &file->slots[row];
	bool mine;

	pthread_mutex_lock(&file->lock);
	mine = !slot->known;
	if (mine) {
		slot->err = err;
		slot->state = state;
		slot->why = why;
		set_flag(&slot->known);
	}
	pthread_mutex_unlock(&file->lock);
	if (mine)
		return;
	if (state)
		file->rows[row]->release(state);
	bfs_free(why);
}

enum bfs_err bfs_kept_state(struct bfs_file *file, enum bfs_row row,
			    enum bfs_err (*find)(struct bfs_file *file,
						 void **ret_state,
						 struct bfs_diag *diag),
			    const void **ret_state, struct bfs_diag *diag)
{
	const struct bfs_keep *slot = &file->slots[row];
	struct bfs_diag why = { .chunk = -1 }, *kept_why = NULL;
	uint64_t mark = bfs_moment_mark();
	enum bfs_err err, found;
	void *state = NULL;

	if (!bfs_kept_has(&slot->known)) {
		found = find(file, &state, &why);
		err = settle(mark, found, &why, &kept_why);
		if (err != BFS_OK && state)
			file->rows[row]->release(state);
		BFS_TRY(tell(err, &why, diag));
		keep_state(file, row, found, state, kept_why);
	}
	if (slot->err == BFS_OK)
		*ret_state = slot->state;
	return tell(slot->err, slot->why, diag);
}
