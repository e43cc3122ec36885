/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunks.c - reading what a container holds, chunk by chunk, alone or with
 * threads that help; and what is found.
 *
 * What a mount would serve is read the way a mount reads it, and thrown
 * away. Checksums are verified by the library on the way. Two things are not
 * read to the end, for they are made up from a few bytes: chunks that are
 * holes, and big chunks that repeat one value.
 */
#include "check/parts.h"

#include <inttypes.h>

/* What is read at each end of a chunk that repeats one value. */
#define EDGE 4096

/* ---- findings -------------------------------------------------------- */

static enum check_verdict verdict_of(enum bloscfs_err err)
{
	switch (err) {
	case BLOSCFS_OK:
		return CHECK_GOOD;
	case BLOSCFS_ERR_UNSUPPORTED:
	case BLOSCFS_ERR_LIMIT:
		return CHECK_UNSUPPORTED;
	case BLOSCFS_ERR_NOMEM:
	case BLOSCFS_ERR_IO:
	case BLOSCFS_ERR_CHANGED:
	case BLOSCFS_ERR_CANCELLED:
	case BLOSCFS_ERR_TOO_MUCH:
	case BLOSCFS_ERR_NO_FILES:
	case BLOSCFS_ERR_ACCESS:
		return CHECK_UNREADABLE;
	case BLOSCFS_ERR_NOT_FORMAT:
	case BLOSCFS_ERR_TRUNCATED:
	case BLOSCFS_ERR_CORRUPT:
	case BLOSCFS_ERR_RANGE:
	case BLOSCFS_ERR_INVALID:
		break;
	}
	return CHECK_DAMAGED;
}

/* Of equal verdicts, the earlier chunk counts. */
static bool counts(const struct check_finding *finding, uint64_t pos,
		   enum check_verdict verdict)
{
	return verdict > finding->verdict ||
	       (verdict == finding->verdict && pos < finding->pos);
}

/* Worded as in info.json. */
void check_note_as(struct check_finding *finding, uint64_t pos,
		   enum check_verdict verdict, const char *entry,
		   const struct bloscfs_diag *why)
{
	char chunk[32] = "";

	if (!counts(finding, pos, verdict))
		return;
	finding->verdict = verdict;
	finding->pos = pos;
	if (why->chunk >= 0)
		snprintf(chunk, sizeof(chunk), "chunk %" PRId64 ": ",
			 why->chunk);
	snprintf(finding->text, sizeof(finding->text),
		 "%s%s%s%s, at byte %" PRIu64, entry, *entry ? ": " : "",
		 chunk, why->text[0] ? why->text : bloscfs_err_name(why->err),
		 why->off);
}

void check_note(struct check_finding *finding, uint64_t pos,
		enum bloscfs_err err, const char *entry,
		const struct bloscfs_diag *why)
{
	struct bloscfs_diag own = *why;

	own.err = err;
	check_note_as(finding, pos, verdict_of(err), entry, &own);
}

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
	if (task->finding->verdict == CHECK_DAMAGED)
		atomic_store(&task->damaged, true);
	pthread_mutex_unlock(&worker->check->lock);
}

/* Chunks are taken in order, and what was taken is finished: the first fault
 * is the same however many threads there are. */
void check_chunks(struct check_worker *worker, struct check_task *task)
{
	uint64_t last = (task->n - 1 + task->step - 1) / task->step, i, pos;
	struct bloscfs_diag why;
	enum bloscfs_err err;

	while (!atomic_load(&task->damaged)) {
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
