/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.c - the files of .bloscfs/: a table of names and what writes them.
 *
 * errors and config tell paths of the source, which may be private: only the
 * owner reads them.
 */
#include "ops/control.h"

#include "log/faults.h"
#include "check/info.h"
#include "log/metrics.h"
#include "tree/far.h"
#include "ops/work.h"
#include "ops/through.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct control_file {
	const char *name;
	mode_t mode;
	void (*write)(struct daemon *daemon, FILE *out);
};

static void collect(struct daemon *daemon, struct metrics *ret_metrics)
{
	struct metrics *m = ret_metrics;

	*m = (struct metrics){ .stats.size = sizeof(m->stats),
			       .started = daemon->started };
	counters_sum(&m->counts);
	faults_count(&m->faults);
	bloscfs_stats_get(daemon->fs, &m->stats);
	work_count(daemon, &m->work);
	tree_count(&daemon->tree, &m->nodes, &m->containers_open,
		   &m->containers_idle);
	m->sources = opts_n_sources(daemon->opts);
	m->sources_lost = sides_count_lost(&daemon->src.sides);
	if (!daemon->src.far)
		return;
	shelf_count(far_shelf(daemon->src.far), &m->net, &m->net_retries);
	shelf_count_disk(far_shelf(daemon->src.far), &m->disk);
}

static void write_stats(struct daemon *daemon, FILE *out)
{
	struct metrics metrics;

	collect(daemon, &metrics);
	metrics_write(out, &metrics);
}

void control_log_stats(struct daemon *daemon)
{
	struct metrics metrics;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	collect(daemon, &metrics);
	if (!out)
		return;
	metrics_write_line(out, &metrics);
	if (fclose(out) == 0)
		log_msg(LEVEL_NOTICE, "statistics: %s", text);
	free(text);
}

static void write_errors(struct daemon *daemon, FILE *out)
{
	(void)daemon;
	faults_write(out);
}

static void write_version(struct daemon *daemon, FILE *out)
{
	(void)daemon;
	info_write_version(out);
}

/* Of several each has a line, and behind it its entry. */
static void write_sources(const struct daemon *daemon, FILE *out)
{
	const struct src *src = &daemon->src;

	if (!src->sides.n)
		opts_write_text(out, "source", daemon->source);
	for (size_t i = 0; i < src->sides.n; i++) {
		opts_write_text(out, "source", src->sides.list[i].real);
		opts_write_text(out, "entry", src->sides.list[i].name);
	}
}

/* Defaults are told as what they came to be. */
static void write_config(struct daemon *daemon, FILE *out)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };
	struct opts opts = *daemon->opts;

	bloscfs_stats_get(daemon->fs, &stats);
	opts.cache_size = opts.cache_size == BLOSCFS_NO_CACHE ?
			  0 : stats.cache_budget;
	opts.max_memory = stats.memory_budget;
	opts.attr_timeout = daemon->timeout;
	opts.threads = daemon->n_threads;
	write_sources(daemon, out);
	opts_write_text(out, "mountpoint", daemon->mountpoint);
	opts_write(&opts, out);
	fprintf(out, "passthrough=%s\n", through_is_on(daemon) ? "yes" : "no");
	fprintf(out, "in_force=%s\n", sandbox_in_force());
}

static const struct control_file files[] = {
	{ "stats", 0444, write_stats },
	{ "errors", 0400, write_errors },
	{ "version", 0444, write_version },
	{ "config", 0400, write_config },
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

const char *control_list(size_t i)
{
	return i < N_FILES ? files[i].name : NULL;
}

/* 0 or -errno; *ret_text is to be freed. */
static int take_snapshot(struct daemon *daemon,
			 const struct control_file *file, char **ret_text,
			 size_t *ret_len)
{
	FILE *out = open_memstream(ret_text, ret_len);
	bool failed;

	if (!out)
		return -ENOMEM;
	file->write(daemon, out);
	failed = ferror(out);
	if (!fclose(out) && !failed)
		return 0;
	free(*ret_text);
	return -ENOMEM;
}

static int lookup_file(struct daemon *daemon, struct node *parent,
		       const char *name, uint64_t *ret_id)
{
	struct control control = { .when = time(NULL) };
	int status;

	while (control.file < N_FILES &&
	       strcmp(files[control.file].name, name))
		control.file++;
	if (control.file == N_FILES)
		return -ENOENT;
	status = take_snapshot(daemon, &files[control.file], &control.text,
			       &control.len);
	if (status)
		return status;
	return tree_enter_control(&daemon->tree, parent, name, &control,
				  ret_id);
}

int control_lookup(struct daemon *daemon, struct node *parent,
		   const char *name, struct fuse_entry_param *param)
{
	struct control folder = { .file = CONTROL_FOLDER,
				  .when = daemon->started };
	struct node *node;
	uint64_t id;
	int status;

	if (parent->kind != NODE_CONTROL)
		status = tree_enter_control(&daemon->tree, parent, name,
					    &folder, &id);
	else if (parent->control.file == CONTROL_FOLDER)
		status = lookup_file(daemon, parent, name, &id);
	else
		status = -ENOTDIR;
	if (status)
		return status;
	reply_param(daemon, id, param);
	node = tree_get(&daemon->tree, id);
	control_attr(daemon, node, &param->attr);
	if (node->control.file != CONTROL_FOLDER)
		param->entry_timeout = 0;
	tree_put(&daemon->tree, node);
	return 0;
}

/* It belongs to whoever mounted. */
void control_attr(const struct daemon *daemon, const struct node *node,
		  struct stat *ret_attr)
{
	const struct control *control = &node->control;
	const struct opts *opts = daemon->opts;
	struct stat *attr = ret_attr;

	memset(attr, 0, sizeof(*attr));
	attr->st_ino = node->st_ino;
	attr->st_uid = opts->has_uid ? opts->uid : geteuid();
	attr->st_gid = opts->has_gid ? opts->gid : getegid();
	attr->st_nlink = 1;
	attr->st_blksize = 4096;
	attr->st_mtim.tv_sec = control->when;
	attr->st_atim = attr->st_ctim = attr->st_mtim;
	if (control->file == CONTROL_FOLDER) {
		attr->st_mode = S_IFDIR | (0555 & ~opts->dmask);
		return;
	}
	attr->st_mode = S_IFREG | (files[control->file].mode & ~opts->fmask);
	attr->st_size = (off_t)control->len;
	attr->st_blocks = (blkcnt_t)((control->len + 511) / 512);
}

void control_read(fuse_req_t req, const struct node *node, size_t len,
		  off_t off)
{
	const struct control *control = &node->control;
	size_t rest = 0;

	if (off >= 0 && (uint64_t)off < control->len)
		rest = control->len - (size_t)off;
	fuse_reply_buf(req, rest ? control->text + off : NULL,
		       rest < len ? rest : len);
}

off_t control_seek(const struct node *node, off_t off, bool hole)
{
	off_t len = (off_t)node->control.len;

	if (off < 0 || off >= len)
		return -ENXIO;
	return hole ? len : off;
}
