/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c - the verdict on one container and on those inside it.
 *
 * What a mount would serve is read the way a mount reads it, and thrown
 * away. Checksums are verified by the library on the way. Two things are not
 * read to the end, for they are made up from a few bytes: chunks that are
 * holes, and big chunks that repeat one value.
 */
#include "check/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read at each end of a chunk that repeats one value. */
#define EDGE 4096

/* No codec makes an index smaller than this many times its size: it can only
 * be one entry repeated, of which so many are looked at. */
#define MAX_RATIO 32768
#define N_SAMPLES 1024

/* One container while it is checked. */
struct subject {
	struct check_worker *worker;
	struct check_job *job;
	FILE *out;
	struct bloscfs_file *file;
	struct bloscfs_node root;
	const char *path;
	char format[64], nbytes[24], cbytes[24], n_chunks[24];
	struct check_finding finding;
};

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
static void note(struct check_finding *finding, uint64_t pos,
		 enum bloscfs_err err, const char *entry,
		 const struct bloscfs_diag *why)
{
	enum check_verdict verdict = verdict_of(err);
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
		 chunk, why->text[0] ? why->text : bloscfs_err_name(err),
		 why->off);
}

static void note_entry(struct subject *s, enum bloscfs_err err,
		       const char *entry, const struct bloscfs_diag *why)
{
	if (err != BLOSCFS_OK)
		note(&s->finding, 0, err, entry, why);
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

static enum bloscfs_err read_entry(struct check_worker *worker,
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

/* Whether chunk `pos` is one value over and over, by its own header: flags
 * in byte 2 say that the header is the long one, and byte 31 what kind. */
static bool repeats(struct check_task *task, uint64_t pos)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node;
	uint8_t head[32];
	size_t len;

	return task->has_raw &&
	       bloscfs_list(task->file, &task->raw, pos, name, &node) &&
	       bloscfs_read(task->file, &node, 0, head, sizeof(head), &len,
			    NULL) == BLOSCFS_OK &&
	       len == sizeof(head) && (head[2] & 5) == 5 && head[31] & 0x70;
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
	note(task->finding, pos + 1, err, "", why);
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

static void check_all_chunks(struct subject *s)
{
	struct check_task task = { .file = s->file, .step = 1,
				   .finding = &s->finding };
	bool outermost = s->root.child == bloscfs_root().child;
	uint64_t cbytes = strtoull(s->cbytes, NULL, 10);
	struct bloscfs_node raw;

	task.n = strtoull(s->n_chunks, NULL, 10);
	/* A recipe, which has no data, has chunks that hold none. */
	if (!bloscfs_lookup(s->file, &s->root, "data.bin", &raw))
		return;
	if (task.n == 0 || s->finding.verdict == CHECK_DAMAGED ||
	    !bloscfs_lookup(s->file, &s->root, "chunks", &task.chunks))
		return;
	task.has_raw = bloscfs_lookup(s->file, &s->root, "raw", &raw) &&
		       bloscfs_lookup(s->file, &raw, "chunks", &task.raw);
	if (task.n / (MAX_RATIO / 8) > cbytes && task.n > N_SAMPLES)
		task.step = task.n / N_SAMPLES;
	if (outermost) {
		task.size = s->job->size;
		task.owner = s->worker;
	}
	check_share(s->worker, &task);
}

/* ---- other entries --------------------------------------------------- */

static void check_folder(struct subject *s, const char *folder)
{
	char name[BLOSCFS_NAME_MAX + 1], entry[BLOSCFS_NAME_MAX + 16];
	struct bloscfs_node dir, node;
	struct bloscfs_diag why;

	if (!bloscfs_lookup(s->file, &s->root, folder, &dir))
		return;
	for (uint64_t pos = 0;
	     bloscfs_list(s->file, &dir, pos, name, &node); pos++) {
		why = (struct bloscfs_diag){ .chunk = -1 };
		snprintf(entry, sizeof(entry), "%s/%s", folder, name);
		note_entry(s, read_entry(s->worker, s->file, &node, &why),
			   entry, &why);
	}
}

/* What a file of the mount answers to open; its bytes are those of the
 * chunks but for a header. */
static void check_openable(struct subject *s, const char *name)
{
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_node node;

	if (bloscfs_lookup(s->file, &s->root, name, &node))
		note_entry(s, bloscfs_access(s->file, &node, &why), name,
			   &why);
}

/* The value of a key of info.json, which has one line for each; nothing is
 * put where there is no such key or its value is null. */
static void find_fact(const char *text, const char *key, char *value,
		      size_t cap)
{
	char line[32];
	const char *at;
	size_t len = 0;
	bool quoted;

	snprintf(line, sizeof(line), "\n  \"%s\": ", key);
	at = strstr(text, line);
	if (!at || strncmp(at + strlen(line), "null", 4) == 0)
		return;
	at += strlen(line);
	quoted = *at == '"';
	at += quoted;
	while (*at && !strchr(quoted ? "\"\n" : ",\n", *at) &&
	       len < cap - 1) {
		if (quoted && *at == '\\' && at[1])
			at++;
		value[len++] = *at++;
	}
	value[len] = '\0';
}

/* What the headers tell: the verdict before anything is decoded. */
static void take_status(struct subject *s, const char *text)
{
	char status[24] = "", error[sizeof(s->finding.text)] = "-";
	enum check_verdict verdict = CHECK_GOOD;

	find_fact(text, "status", status, sizeof(status));
	find_fact(text, "error", error, sizeof(error));
	if (strcmp(status, "damaged") == 0)
		verdict = CHECK_DAMAGED;
	else if (strcmp(status, "unsupported") == 0)
		verdict = CHECK_UNSUPPORTED;
	if (!counts(&s->finding, 0, verdict))
		return;
	s->finding.verdict = verdict;
	memcpy(s->finding.text, error, sizeof(error));
}

static void find_facts(struct subject *s)
{
	struct bloscfs_diag why = { .chunk = -1 };
	char *text = (char *)s->worker->buf;
	struct bloscfs_node node;
	enum bloscfs_err err;
	size_t len;

	if (!bloscfs_lookup(s->file, &s->root, "info.json", &node))
		return;
	err = bloscfs_read(s->file, &node, 0, text, CHECK_PIECE, &len, &why);
	note_entry(s, err, "info.json", &why);
	if (err != BLOSCFS_OK)
		return;
	text[len] = '\0';
	find_fact(text, "format", s->format, sizeof(s->format));
	find_fact(text, "nbytes", s->nbytes, sizeof(s->nbytes));
	find_fact(text, "cbytes", s->cbytes, sizeof(s->cbytes));
	find_fact(text, "nchunks", s->n_chunks, sizeof(s->n_chunks));
	take_status(s, text);
}

/* ---- lines ----------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\\\", out);
		else if (*text == '\t')
			fputs("\\t", out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			fprintf(out, "\\x%02x", (unsigned)*text);
		else
			putc(*text, out);
	}
}

static void put_line(struct subject *s)
{
	static const char *const names[CHECK_N_VERDICTS] = {
		[CHECK_GOOD] = "good",
		[CHECK_UNRECOGNISED] = "unrecognised",
		[CHECK_UNSUPPORTED] = "unsupported",
		[CHECK_UNREADABLE] = "unreadable",
		[CHECK_DAMAGED] = "damaged",
	};
	const char *const facts[] = { s->format, s->nbytes, s->cbytes,
				      s->n_chunks };

	put_text(s->out, s->path);
	fprintf(s->out, "\t%s\t", names[s->finding.verdict]);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		put_text(s->out, *facts[i] ? facts[i] : "-");
		putc('\t', s->out);
	}
	put_text(s->out, s->finding.verdict == CHECK_GOOD ? "-" :
						 s->finding.text);
	putc('\n', s->out);
	s->job->counts[s->finding.verdict]++;
}

/* ---- containers ------------------------------------------------------ */

static void check_container(struct subject *s);

static void check_inside(const struct subject *outer, const char *path,
			 const struct bloscfs_node *node)
{
	struct subject s = {
		.worker = outer->worker, .job = outer->job, .out = outer->out,
		.file = outer->file, .root = *node, .path = path,
	};

	check_container(&s);
}

/* Members of a store: first the plain ones, whose faults are the store's,
 * and then, after its line, the containers among them. Folders are at most
 * as deep as the library lets them be. */
static void check_members(struct subject *s, const struct bloscfs_node *dir,
			  const char *path, bool containers)
{
	char name[BLOSCFS_NAME_MAX + 1], *inner;
	struct bloscfs_diag why;
	struct bloscfs_node node;
	struct bloscfs_attr attr;

	for (uint64_t pos = 0; bloscfs_list(s->file, dir, pos, name, &node);
	     pos++) {
		why = (struct bloscfs_diag){ .chunk = -1 };
		if (asprintf(&inner, "%s/%s", path, name) < 0) {
			s->job->counts[CHECK_UNREADABLE]++;
			return;
		}
		bloscfs_stat(s->file, &node, &attr);
		if (node.child != dir->child) {
			if (containers)
				check_inside(s, inner, &node);
		} else if (attr.is_dir) {
			check_members(s, &node, inner, containers);
		} else if (!containers) {
			note_entry(s, read_entry(s->worker, s->file, &node,
						 &why), name, &why);
		}
		free(inner);
	}
}

static void check_store(struct subject *s, bool containers)
{
	struct bloscfs_node tree;
	char *path;

	if (strcmp(s->format, "b2z") == 0) {
		check_members(s, &s->root, s->path, containers);
		return;
	}
	if (!bloscfs_lookup(s->file, &s->root, "tree", &tree))
		return;
	if (asprintf(&path, "%s/tree", s->path) < 0) {
		s->job->counts[CHECK_UNREADABLE]++;
		return;
	}
	check_members(s, &tree, path, containers);
	free(path);
}

/* The root's own access tells whether the container could be opened. */
static void check_container(struct subject *s)
{
	struct bloscfs_diag why = { .chunk = -1 };
	uint64_t mark = bloscfs_mark();
	enum bloscfs_err err = bloscfs_access(s->file, &s->root, &why);

	note_entry(s, err, "", &why);
	if (err == BLOSCFS_OK) {
		find_facts(s);
		if (strcmp(s->format, "b2z") != 0) {
			check_openable(s, "data.bin");
			check_openable(s, "data.npy");
			check_folder(s, "meta");
			check_folder(s, "vlmeta");
			check_all_chunks(s);
		}
		check_store(s, false);
		/* Entries may have been missed, and sizes be wrong. */
		note_entry(s, bloscfs_met(mark, &why), "", &why);
	}
	put_line(s);
	if (err == BLOSCFS_OK)
		check_store(s, true);
}

/* NULL, and the finding says why. */
static struct bloscfs_file *open_container(struct subject *s)
{
	const struct check_job *job = s->job;
	const struct opts *opts = s->worker->check->opts;
	struct bloscfs *fs = s->worker->check->fs;
	const char *slash = strrchr(job->path, '/');
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_file *file = NULL;
	enum bloscfs_err err;
	int fd;

	if (job->unrecognised) {
		s->finding.verdict = CHECK_UNRECOGNISED;
		snprintf(s->finding.text, sizeof(s->finding.text),
			 "has the name of a %s and is none",
			 bloscfs_claimed(slash ? slash + 1 : job->path));
		return NULL;
	}
	fd = job->error ? -job->error : check_open(job->path, job->named);
	if (fd < 0) {
		s->finding.verdict = CHECK_UNREADABLE;
		snprintf(s->finding.text, sizeof(s->finding.text), "%s",
			 strerror(-fd));
		return NULL;
	}
	err = job->is_dir ? bloscfs_open_dir(fs, fd, &file, &why) :
	      bloscfs_open(fs, fd, slash ? slash + 1 : job->path,
			   job->named ? opts->offset : 0,
			   job->named ? opts->length : 0, &file, &why);
	if (job->is_dir || err != BLOSCFS_OK)
		close(fd);
	note_entry(s, err, "", &why);
	return err == BLOSCFS_OK ? file : NULL;
}

void check_job(struct check_worker *worker, struct check_job *job)
{
	struct subject s = { .worker = worker, .job = job,
			     .root = bloscfs_root(), .path = job->path };

	s.out = open_memstream(&job->lines, &job->lines_len);
	if (!s.out)
		return;
	s.file = open_container(&s);
	if (s.file) {
		check_container(&s);
		bloscfs_close(s.file);
	} else {
		put_line(&s);
		job->error = job->unrecognised ? 0 : EIO;
	}
	if (fclose(s.out)) {
		free(job->lines);
		job->lines = NULL;
	}
}
