/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunks.c - reading what a container holds, chunk by chunk, alone or with
 * threads that help.
 *
 * What a mount would serve is read the way a mount reads it, and thrown
 * away. Checksums are verified by the library on the way. Two things are not
 * read to the end, for they are made up from a few bytes: chunks that are
 * holes, and big chunks that repeat one value.
 */
#include "check/parts.h"

/* What is read at each end of a chunk that repeats one value. */
#define EDGE 4096

/* ---- reading --------------------------------------------------------- */

/* The range before is let go only when the next one is held, so that a block
 * that spans both is decoded once, however big it is. The buffer may serve
 * both, for nobody looks at it. */
static enum bloscfs_err read_range(struct check_worker *worker,
				   struct bloscfs_file *file,
				   const struct bloscfs_node *node,
				   uint64_t off, uint64_t end,
				   struct bloscfs_diag *why)
{
	enum bloscfs_err err = BLOSCFS_OK;
	const struct iovec *iov;
	unsigned turn = 0;
	size_t len, n;

	while (off < end && err == BLOSCFS_OK) {
		len = end - off < CHECK_PIECE ? (size_t)(end - off) :
						CHECK_PIECE;
		err = bloscfs_pin(file, node, off, worker->buf, len,
				  worker->pieces[turn], &iov, &n, why);
		/* Who holds memory does not wait for more. */
		if (err == BLOSCFS_ERR_NOMEM) {
			bloscfs_unpin(file, worker->pieces[!turn]);
			err = bloscfs_pin(file, node, off, worker->buf, len,
					  worker->pieces[turn], &iov, &n,
					  why);
		}
		turn = !turn;
		bloscfs_unpin(file, worker->pieces[turn]);
		if (err != BLOSCFS_OK)
			break;
		off += len;
		atomic_fetch_add_explicit(&worker->n_bytes, len,
					  memory_order_relaxed);
	}
	bloscfs_unpin(file, worker->pieces[!turn]);
	return err;
}

enum bloscfs_err check_read_entry(struct check_worker *worker,
				  struct bloscfs_file *file,
				  const struct bloscfs_node *node,
				  struct bloscfs_diag *why)
{
	enum bloscfs_err err = bloscfs_access(file, node, why);
	struct bloscfs_attr attr;

	if (err != BLOSCFS_OK)
		return err;
	bloscfs_stat(file, node, &attr);
	return read_range(worker, file, node, 0, attr.size, why);
}

/* ---- chunks ---------------------------------------------------------- */

/* Whether chunk `pos` is one value over and over. */
static bool repeats(struct check_task *task, uint64_t pos)
{
	struct bloscfs_chunk_facts facts = { .size = sizeof(facts) };

	return bloscfs_chunk_facts(task->file, &task->chunks, pos, &facts,
				   NULL) == BLOSCFS_OK && facts.repeats;
}

static enum bloscfs_err check_chunk(struct check_worker *worker,
				    struct check_task *task, uint64_t pos,
				    struct bloscfs_diag *why)
{
	struct bloscfs_file *file = task->file;
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node;
	struct bloscfs_attr attr;
	enum bloscfs_err err;

	if (!bloscfs_list(file, &task->chunks, pos, name, &node)) {
		snprintf(why->text, sizeof(why->text), "no such chunk");
		return why->err = BLOSCFS_ERR_CORRUPT;
	}
	err = bloscfs_access(file, &node, why);
	if (err != BLOSCFS_OK)
		return err;
	bloscfs_stat(file, &node, &attr);
	if (attr.stored == 0)
		return BLOSCFS_OK;
	if (attr.size <= CHECK_PIECE || !repeats(task, pos))
		return read_range(worker, file, &node, 0, attr.size, why);
	err = read_range(worker, file, &node, 0, EDGE, why);
	if (err != BLOSCFS_OK)
		return err;
	return read_range(worker, file, &node, attr.size - EDGE, attr.size,
			  why);
}

static void note_chunk(struct check_worker *worker, struct check_task *task,
		       uint64_t pos, enum bloscfs_err err,
		       struct bloscfs_diag *why)
{
	if (why->chunk < 0)
		why->chunk = (int64_t)pos;
	pthread_mutex_lock(&worker->check->lock);
	/* Positions start at 1: 0 is what was found before all chunks. */
	check_note(task->finding, pos + 1, err, "", why);
	/* One more shows that there is more; one has the container's own line,
	 * and may be there twice. */
	if (task->finding->damage.n > CHECK_MAX_TOLD + 2)
		atomic_store(&task->enough, true);
	pthread_mutex_unlock(&worker->check->lock);
}

/* Chunks are taken in order, and what was taken is finished: the first faults
 * are the same however many threads there are. */
void check_chunks(struct check_worker *worker, struct check_task *task)
{
	uint64_t last = (task->n - 1 + task->step - 1) / task->step, i, pos;
	struct bloscfs_diag why;
	enum bloscfs_err err;

	while (!atomic_load(&task->enough)) {
		i = atomic_fetch_add(&task->next, 1);
		if (i > last)
			break;
		pos = i * task->step;
		if (pos > task->n - 1)
			pos = task->n - 1;
		why = (struct bloscfs_diag){ .chunk = -1 };
		err = check_chunk(worker, task, pos, &why);
		if (err != BLOSCFS_OK)
			note_chunk(worker, task, pos, err, &why);
		if (task->owner == worker)
			atomic_store(&worker->part, (uint64_t)(
				(double)task->size * (double)i /
				((double)last + 1)));
	}
}

/* ---- the board ------------------------------------------------------- */

void check_share(struct check_worker *worker, struct check_task *task)
{
	struct check *check = worker->check;
	struct check_task **at = &check->board;

	if (task->n > 1 && check->n_workers > 1) {
		pthread_mutex_lock(&check->lock);
		task->later = check->board;
		check->board = task;
		pthread_cond_broadcast(&check->work);
		pthread_mutex_unlock(&check->lock);
	}
	check_chunks(worker, task);
	pthread_mutex_lock(&check->lock);
	while (*at && *at != task)
		at = &(*at)->later;
	if (*at)
		*at = task->later;
	while (task->n_helpers)
		pthread_cond_wait(&check->left, &check->lock);
	pthread_mutex_unlock(&check->lock);
}
