/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c - the verdict on one container and on those inside it.
 *
 * Its chunks are read by check/chunks.c, with the help of other threads.
 */
#include "check/lines.h"
#include "check/page.h"
#include "check/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No codec makes an index smaller than this many times its size: it can only
 * be one entry repeated, of which so many are looked at. */
#define MAX_RATIO 32768
#define N_SAMPLES 1024

/* One container while it is checked. */
struct subject {
	struct check_worker *worker;
	struct check_job *job;
	FILE *out;
	FILE *page;		/* rows of --report; NULL: none */
	struct bloscfs_file *file;
	struct bloscfs_node root;
	const char *path;
	struct bloscfs_facts facts;	/* format NULL: not known */
	struct check_finding finding;
};

/* ---- findings -------------------------------------------------------- */

static void note_entry(struct subject *s, enum bloscfs_err err,
		       const char *entry, const struct bloscfs_diag *why)
{
	if (err != BLOSCFS_OK)
		check_note(&s->finding, 0, err, entry, why);
}

static void check_all_chunks(struct subject *s)
{
	struct check_task task = { .file = s->file, .step = 1,
				   .finding = &s->finding };
	bool outermost = s->root.child == bloscfs_root().child;
	struct bloscfs_node data;

	task.n = s->facts.n_chunks;
	/* A recipe, which has no data, has chunks that hold none. */
	if (!bloscfs_lookup(s->file, &s->root, "data.bin", &data))
		return;
	if (task.n == 0 ||
	    !bloscfs_lookup(s->file, &s->root, "chunks", &task.chunks))
		return;
	if (task.n / (MAX_RATIO / 8) > s->facts.cbytes && task.n > N_SAMPLES)
		task.step = task.n / N_SAMPLES;
	if (outermost) {
		task.size = s->job->size;
		task.owner = s->worker;
	}
	check_share(s->worker, &task);
}

/* A store of members by name alone. */
static bool is_zip(const struct subject *s)
{
	return s->facts.format && strcmp(s->facts.format, "b2z") == 0;
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
		note_entry(s, check_read_entry(s->worker, s->file, &node, &why),
			   entry, &why);
	}
}

/* What a file of the mount answers to open; its bytes are those of the
 * chunks but for a header. */
static void check_openable(struct subject *s, const char *name)
{
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_node node;

	/* The container's own damage, once more. */
	if (s->finding.verdict != CHECK_DAMAGED &&
	    bloscfs_lookup(s->file, &s->root, name, &node))
		note_entry(s, bloscfs_access(s->file, &node, &why), name,
			   &why);
}

static void take_told(void *arg, bool is_note, const struct bloscfs_diag *why)
{
	struct subject *s = arg;

	if (is_note)
		check_remark(&s->finding, why);
	else
		check_note(&s->finding,
			   why->chunk < 0 ? 0 : (uint64_t)why->chunk + 1,
			   BLOSCFS_ERR_CORRUPT, "", why);
}

/* How it is laid out, once all else was looked at. */
static void examine(struct subject *s)
{
	struct bloscfs_diag why = { .chunk = -1 };

	note_entry(s, bloscfs_examine(s->file, &s->root, take_told, s, &why),
		   "", &why);
}

/* What headers and index tell: the verdict before anything is decoded. */
static void find_facts(struct subject *s)
{
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err;

	s->facts.size = sizeof(s->facts);
	err = bloscfs_facts(s->file, &s->root, &s->facts, &why);
	note_entry(s, err, "", &why);
	if (err != BLOSCFS_OK || s->facts.status == BLOSCFS_GOOD)
		return;
	check_note_as(&s->finding, 0,
		      s->facts.status == BLOSCFS_DAMAGED ? CHECK_DAMAGED :
							   CHECK_UNSUPPORTED,
		      "", &s->facts.why);
}

/* ---- lines ----------------------------------------------------------- */

static void put_record(struct subject *s)
{
	struct check_record record = { s->path, &s->facts, &s->finding };
	const struct check *check = s->worker->check;

	check_sort(&s->finding);
	if (check->opts->json)
		check_put_json(s->out, &record);
	else
		check_put_lines(s->out, &record);
	if (s->page)
		page_put_row(check->page, s->page, &record);
	check_finding_release(&s->finding);
	s->job->counts[s->finding.verdict]++;
}

/* ---- containers ------------------------------------------------------ */

static void check_container(struct subject *s);

static void check_inside(const struct subject *outer, const char *path,
			 const struct bloscfs_node *node)
{
	struct subject s = {
		.worker = outer->worker, .job = outer->job, .out = outer->out,
		.page = outer->page,
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
	enum bloscfs_err err;

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
			if (!containers && strcmp(name, "_cols") == 0)
				check_table(s->file, dir, &node, take_told, s);
			check_members(s, &node, inner, containers);
		} else if (!containers) {
			err = check_read_entry(s->worker, s->file, &node,
					       &why);
			note_entry(s, err, name, &why);
		}
		free(inner);
	}
}

static void check_store(struct subject *s, bool containers)
{
	struct bloscfs_node tree;
	char *path;

	if (is_zip(s)) {
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
		if (!is_zip(s)) {
			check_openable(s, "data.bin");
			check_openable(s, "data.npy");
			check_folder(s, "meta");
			check_folder(s, "vlmeta");
			check_all_chunks(s);
		}
		check_store(s, false);
		examine(s);
		/* Entries may have been missed, and sizes be wrong. */
		note_entry(s, bloscfs_met(mark, &why), "", &why);
	}
	put_record(s);
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
		check_note_words(&s->finding, CHECK_UNRECOGNISED,
				 "has the name of a %s and is none",
				 bloscfs_claimed(slash ? slash + 1 :
							 job->path));
		return NULL;
	}
	if (job->far && !job->error)
		return check_open_far(fs, job, &s->finding);
	fd = job->error ? -job->error : check_open(job->path, job->named);
	if (fd < 0) {
		check_note_words(&s->finding, CHECK_UNREADABLE, "%s",
				 job->reason ? job->reason : strerror(-fd));
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

/* A folder of columns, which are jobs of their own. */
static void check_list_of_columns(struct subject *s)
{
	struct bloscfs_diag why = { .chunk = -1 };
	int fd = check_open(s->path, s->job->named);
	bool is;

	if (fd < 0) {
		check_note_words(&s->finding, CHECK_UNREADABLE, "%s",
				 strerror(-fd));
	} else {
		note_entry(s, bloscfs_examine_table(s->worker->check->fs, fd,
						    &is, take_told, s, &why),
			   "", &why);
		close(fd);
	}
	s->facts = (struct bloscfs_facts){
		.size = sizeof(s->facts), .format = "bcolz table",
		.kind = BLOSCFS_KIND_STORE,
		.nbytes = BLOSCFS_NOT_KNOWN, .cbytes = BLOSCFS_NOT_KNOWN,
		.n_chunks = BLOSCFS_NOT_KNOWN, .data_size = BLOSCFS_NOT_KNOWN,
	};
	put_record(s);
}

/* NULL: no memory. */
static FILE *open_text(struct spill **ret_spill)
{
	*ret_spill = spill_new();
	return *ret_spill ? spill_open(*ret_spill) : NULL;
}

static void close_text(FILE *file, struct spill **spill)
{
	/* What was not kept is told when it is to be printed. */
	if (file)
		fclose(file);
	if (file || !*spill)
		return;
	spill_free(*spill);
	*spill = NULL;
}

void check_job(struct check_worker *worker, struct check_job *job)
{
	struct subject s = { .worker = worker, .job = job,
			     .root = bloscfs_root(), .path = job->path };

	s.out = open_text(&job->lines);
	if (worker->check->page)
		s.page = open_text(&job->rows);
	if (s.out && (s.page || !worker->check->page) && job->is_table) {
		check_list_of_columns(&s);
	} else if (s.out && (s.page || !worker->check->page)) {
		s.file = open_container(&s);
		if (s.file) {
			check_container(&s);
			bloscfs_close(s.file);
		} else {
			put_record(&s);
			job->error = s.finding.verdict == CHECK_UNRECOGNISED ?
				     0 : EIO;
		}
	}
	close_text(s.out, &job->lines);
	close_text(s.page, &job->rows);
}
