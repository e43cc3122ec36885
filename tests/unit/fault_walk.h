/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_walk.h - all that the library tells of a container, taken down once
 * as the truth, and held against it again while faults are injected.
 *
 * While a fault may be met, whatever is told is either the truth or the error
 * of the fault: never another name, size, byte or verdict. Without faults it
 * is the truth alone. Included by the tests of faults.
 */
#ifndef TEST_FAULT_WALK_H
#define TEST_FAULT_WALK_H

#include "bloscfs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define WALK_PATH 512
#define WALK_MAX (1 << 20)	/* bytes of an entry that are compared */
#define WALK_XATTRS 8

/* One entry as it was told without faults. */
struct truth {
	char path[WALK_PATH];	/* "" for the container itself */
	bool is_dir;
	struct bloscfs_attr attr;
	uint64_t n_names;	/* of a directory */
	enum bloscfs_err access, read;
	uint8_t *bytes;
	size_t len;
	bool is_renewed;	/* other bytes once damage was met */
	size_t xattr_len[WALK_XATTRS];
	char xattr[WALK_XATTRS][BLOSCFS_XATTR_MAX];
};

struct sample {
	const char *path;	/* below TEST_DATA_DIR, or absolute */
	const char *made;	/* its name, where the test makes it */
	char where[64];		/* then its path */
	bool is_large;		/* fewer rounds */
	bool is_beside;		/* of a folder that is no container itself */
	enum bloscfs_status status;
	struct truth *truths;
	size_t n;
};

/* Switched on around each call of the library. */
struct walk {
	void (*arm)(bool on);	/* or NULL: no faults */
	void (*calm)(void);	/* ends them for good; or NULL */
	enum bloscfs_err fault;	/* that may be met; INVALID: none may */
	/* How a file is probed and opened, or NULL: by its descriptor, which
	 * stays the caller's. */
	enum bloscfs_err (*probe)(int fd, const char *name,
				  const char **ret_format);
	enum bloscfs_err (*open)(struct bloscfs *fs, int fd, const char *name,
				 struct bloscfs_file **ret_file);
	uint64_t n_calls, n_faults;
};

static void walk_arm(const struct walk *w, bool on)
{
	if (w->arm)
		w->arm(on);
}

/* Ends a call that may have met a fault. True if it has not. */
static bool walk_heard(struct walk *w, uint64_t mark, enum bloscfs_err err,
		       const char *path, const char *deed)
{
	enum bloscfs_err met = bloscfs_met(mark, NULL);

	walk_arm(w, false);
	w->n_calls++;
	if ((err != w->fault || !w->arm) && met == BLOSCFS_OK)
		return true;
	if (w->arm && (err == BLOSCFS_OK || err == w->fault) &&
	    (met == BLOSCFS_OK || met == w->fault)) {
		w->n_faults++;
		return false;
	}
	fail_msg("%s of '%s': %s, met %s", deed, path, bloscfs_err_name(err),
		 bloscfs_err_name(met));
	return false;
}

static char *walk_full_path(const char *path, char *full)
{
	snprintf(full, WALK_PATH, "%s%s%s", path[0] == '/' ? "" :
		 TEST_DATA_DIR, path[0] == '/' ? "" : "/", path);
	return full;
}

static struct bloscfs *walk_new_fs(void)
{
	struct bloscfs_options options = { .size = sizeof(options),
					   .threads = 1,
					   .cache_size = 16 << 20 };
	const char *name, *version;
	char views[512] = "";
	struct bloscfs *fs;
	bool built;

	for (size_t i = 0; bloscfs_table("view", i, &name, &version, &built);
	     i++)
		if (strcmp(name, "members") && strcmp(name, "control"))
			snprintf(views + strlen(views),
				 sizeof(views) - strlen(views), "%s%s",
				 views[0] ? "," : "", name);
	options.views = views;
	assert_int_equal(bloscfs_new(&options, &fs, NULL), BLOSCFS_OK);
	return fs;
}

/* Probes and opens. NULL where a fault was told. */
static struct bloscfs_file *walk_open(struct walk *w, struct bloscfs *fs,
				      const struct sample *sample)
{
	const char *path = sample->path;
	char full[WALK_PATH];
	const char *format, *slash;
	struct bloscfs_file *file = NULL;
	enum bloscfs_err err;
	struct stat st;
	uint64_t mark;
	int fd;

	walk_full_path(path, full);
	slash = strrchr(full, '/') + 1;
	assert_int_equal(stat(full, &st), 0);
	fd = open(full, O_RDONLY);
	assert_true(fd >= 0);
	mark = bloscfs_mark();
	walk_arm(w, true);
	err = w->probe ? w->probe(fd, slash, &format) :
	      S_ISDIR(st.st_mode) ? bloscfs_probe_dir(fd, &format) :
				    bloscfs_probe(fd, slash, &format);
	if (!walk_heard(w, mark, err, path, "probe")) {
		close(fd);
		return NULL;
	}
	assert_int_equal(err, sample->is_beside ? BLOSCFS_ERR_NOT_FORMAT :
			      BLOSCFS_OK);
	mark = bloscfs_mark();
	walk_arm(w, true);
	err = w->open ? w->open(fs, fd, slash, &file) :
	      S_ISDIR(st.st_mode) ? bloscfs_open_dir(fs, fd, &file, NULL) :
	      bloscfs_open(fs, fd, slash, 0, 0, &file, NULL);
	/* What it did without is no matter: the container is open. */
	if (err == BLOSCFS_OK)
		mark = bloscfs_mark();
	if (w->open || S_ISDIR(st.st_mode) || err != BLOSCFS_OK)
		close(fd);
	if (!walk_heard(w, mark, err, path, "open"))
		return NULL;
	assert_int_equal(err, BLOSCFS_OK);
	return file;
}

/* Finds an entry by its path, component by component. */
static bool walk_find(struct walk *w, struct bloscfs_file *file,
		      const char *path, struct bloscfs_node *ret_node)
{
	char copy[WALK_PATH], *part, *rest;
	struct bloscfs_node node = bloscfs_root(), next;

	snprintf(copy, sizeof(copy), "%s", path);
	for (part = strtok_r(copy, "/", &rest); part;
	     part = strtok_r(NULL, "/", &rest)) {
		uint64_t mark = bloscfs_mark();
		bool found;

		walk_arm(w, true);
		found = bloscfs_lookup(file, &node, part, &next);
		if (!walk_heard(w, mark, BLOSCFS_OK, path, "lookup"))
			return false;
		if (!found)
			fail_msg("'%s' is not there", path);
		node = next;
	}
	*ret_node = node;
	return true;
}

/* Lists a directory: how many names, and whether each is an entry whose path
 * is known. add: NULL, or what is called for each. */
static bool walk_list(struct walk *w, struct bloscfs_file *file,
		      const struct bloscfs_node *dir, const char *path,
		      uint64_t *ret_n, void (*add)(void *to, const char *name,
						   struct bloscfs_node *node),
		      void *to)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node;
	bool more = true;

	for (*ret_n = 0;; ++*ret_n) {
		uint64_t mark = bloscfs_mark();

		walk_arm(w, true);
		more = bloscfs_list(file, dir, *ret_n, name, &node);
		if (!walk_heard(w, mark, BLOSCFS_OK, path, "list"))
			return false;
		if (!more)
			return true;
		if (add)
			add(to, name, &node);
	}
}

static bool walk_stat(struct walk *w, struct bloscfs_file *file,
		      const struct bloscfs_node *node, const char *path,
		      struct bloscfs_attr *ret_attr)
{
	uint64_t mark = bloscfs_mark();

	walk_arm(w, true);
	bloscfs_stat(file, node, ret_attr);
	return walk_heard(w, mark, BLOSCFS_OK, path, "stat");
}

static enum bloscfs_err walk_access(struct walk *w, struct bloscfs_file *file,
				    const struct bloscfs_node *node,
				    const char *path, bool *ret_heard)
{
	uint64_t mark = bloscfs_mark();
	enum bloscfs_err err;

	walk_arm(w, true);
	err = bloscfs_access(file, node, NULL);
	if (err == BLOSCFS_OK)
		mark = bloscfs_mark();
	*ret_heard = walk_heard(w, mark, err, path, "access");
	return err;
}

static enum bloscfs_err walk_read(struct walk *w, struct bloscfs_file *file,
				  const struct bloscfs_node *node,
				  const char *path, uint8_t *buf,
				  size_t *ret_len, bool *ret_heard)
{
	uint64_t mark = bloscfs_mark();
	enum bloscfs_err err;

	walk_arm(w, true);
	err = bloscfs_read(file, node, 0, buf, WALK_MAX, ret_len, NULL);
	if (err == BLOSCFS_OK)
		mark = bloscfs_mark();
	*ret_heard = walk_heard(w, mark, err, path, "read");
	return err;
}

static bool walk_xattr(struct walk *w, struct bloscfs_file *file,
		       const struct bloscfs_node *node, const char *path,
		       size_t i, char *value, size_t *ret_len, bool *ret_more)
{
	uint64_t mark = bloscfs_mark();
	const char *name;

	*ret_len = 0;
	walk_arm(w, true);
	*ret_more = bloscfs_xattr(file, node, i, &name, value, ret_len);
	return walk_heard(w, mark, BLOSCFS_OK, path, "xattr");
}

/* ---- taking the truth down -------------------------------------------- */

struct taking {
	struct walk *walk;
	struct sample *sample;
	struct bloscfs_file *file;
	char path[WALK_PATH];
};

static void walk_take(struct taking *t, struct bloscfs_node *node);

static void walk_take_child(void *to, const char *name,
			    struct bloscfs_node *node)
{
	struct taking *t = to;
	size_t len = strlen(t->path);

	assert_true(len + strlen(name) + 2 < WALK_PATH);
	snprintf(t->path + len, WALK_PATH - len, "%s%s", len ? "/" : "",
		 name);
	walk_take(t, node);
	t->path[len] = '\0';
}

static void walk_take_file(struct taking *t, struct bloscfs_node *node,
			   struct truth *truth)
{
	static uint8_t buf[WALK_MAX];
	bool heard;

	truth->access = walk_access(t->walk, t->file, node, t->path, &heard);
	truth->read = walk_read(t->walk, t->file, node, t->path, buf,
				&truth->len, &heard);
	if (truth->read != BLOSCFS_OK)
		return;
	truth->bytes = malloc(truth->len + 1);
	assert_non_null(truth->bytes);
	memcpy(truth->bytes, buf, truth->len);
}

static void walk_take(struct taking *t, struct bloscfs_node *node)
{
	size_t at = t->sample->n++, i;
	struct truth truth = { .is_dir = false };
	bool more = true;

	if (!(at & (at - 1)))
		t->sample->truths = realloc(t->sample->truths, 2 * (at + 1) *
					    sizeof(truth));
	assert_non_null(t->sample->truths);
	strcpy(truth.path, t->path);
	walk_stat(t->walk, t->file, node, t->path, &truth.attr);
	truth.is_dir = truth.attr.is_dir;
	for (i = 0; i < WALK_XATTRS && more; i++)
		walk_xattr(t->walk, t->file, node, t->path, i,
			   truth.xattr[i], &truth.xattr_len[i], &more);
	if (truth.is_dir)
		walk_list(t->walk, t->file, node, t->path, &truth.n_names,
			  walk_take_child, t);
	else
		walk_take_file(t, node, &truth);
	t->sample->truths[at] = truth;
}

/* Damage that was met is told, by texts of the same length: read in another
 * order, those differ that say how far a walk has come. */
static void walk_mark_renewed(struct taking *t)
{
	static uint8_t buf[WALK_MAX];

	for (size_t i = t->sample->n; i--;) {
		struct truth *truth = &t->sample->truths[i];
		struct bloscfs_node node;
		size_t len = 0;
		bool heard;

		if (truth->is_dir || truth->read != BLOSCFS_OK ||
		    !walk_find(t->walk, t->file, truth->path, &node))
			continue;
		assert_int_equal(walk_read(t->walk, t->file, &node,
					   truth->path, buf, &len, &heard),
				 BLOSCFS_OK);
		assert_int_equal(len, truth->len);
		if (!memcmp(buf, truth->bytes, len))
			continue;
		truth->is_renewed = true;
		if (!strstr(truth->path, "map.svg") &&
		    !strstr(truth->path, "index.html"))
			fail_msg("other bytes in '%s'", truth->path);
	}
}

static void walk_learn(struct sample *sample)
{
	struct walk walk = { .fault = BLOSCFS_ERR_IO };
	struct bloscfs *fs = walk_new_fs();
	struct taking t = { .walk = &walk, .sample = sample };
	struct bloscfs_node root = bloscfs_root(), table;

	t.file = walk_open(&walk, fs, sample);
	assert_non_null(t.file);
	sample->status = bloscfs_file_status(t.file, NULL);
	walk_take(&t, &root);
	/* After all of it, and before any of it. */
	walk_mark_renewed(&t);
	/* What it is for is there. */
	if (sample->is_beside)
		assert_true(bloscfs_lookup(t.file, &root, "table.arrow",
					   &table));
	bloscfs_close(t.file);
	bloscfs_free(fs);
	fs = walk_new_fs();
	t.file = walk_open(&walk, fs, sample);
	walk_mark_renewed(&t);
	bloscfs_close(t.file);
	bloscfs_free(fs);
}

static void walk_unlearn(struct sample *sample)
{
	for (size_t i = 0; i < sample->n; i++)
		free(sample->truths[i].bytes);
	free(sample->truths);
	sample->truths = NULL;
	sample->n = 0;
}

/* ---- holding it against the truth ------------------------------------- */

static void walk_compare_file(struct walk *w, struct bloscfs_file *file,
			      const struct bloscfs_node *node,
			      const struct truth *truth)
{
	static uint8_t buf[WALK_MAX];
	enum bloscfs_err err;
	size_t len = 0;
	bool heard;

	err = walk_access(w, file, node, truth->path, &heard);
	if (heard && err != truth->access)
		fail_msg("access of '%s': %s", truth->path,
			 bloscfs_err_name(err));
	err = walk_read(w, file, node, truth->path, buf, &len, &heard);
	if (!heard)
		return;
	if (err != truth->read)
		fail_msg("read of '%s': %s", truth->path,
			 bloscfs_err_name(err));
	if (err == BLOSCFS_OK &&
	    (len != truth->len || (!truth->is_renewed &&
				   memcmp(buf, truth->bytes, len))))
		fail_msg("other bytes in '%s'", truth->path);
}

static void walk_compare_entry(struct walk *w, struct bloscfs_file *file,
			       const struct truth *truth)
{
	char value[BLOSCFS_XATTR_MAX];
	struct bloscfs_attr attr;
	struct bloscfs_node node;
	bool more = true;
	uint64_t n;
	size_t len;

	if (!walk_find(w, file, truth->path, &node))
		return;
	if (walk_stat(w, file, &node, truth->path, &attr) &&
	    (attr.is_dir != truth->is_dir || attr.size != truth->attr.size ||
	     attr.stored != truth->attr.stored ||
	     attr.blksize != truth->attr.blksize))
		fail_msg("stat of '%s' differs", truth->path);
	for (size_t i = 0; i < WALK_XATTRS && more; i++)
		if (walk_xattr(w, file, &node, truth->path, i, value, &len,
			       &more) &&
		    (len != truth->xattr_len[i] ||
		     memcmp(value, truth->xattr[i], len)))
			fail_msg("attribute %zu of '%s' differs", i,
				 truth->path);
	if (!truth->is_dir)
		walk_compare_file(w, file, &node, truth);
	else if (walk_list(w, file, &node, truth->path, &n, NULL, NULL) &&
		 n != truth->n_names)
		fail_msg("'%s' has other entries", truth->path);
}

static void walk_compare(struct walk *w, const struct sample *sample,
			 struct bloscfs_file *file)
{
	enum bloscfs_status status;
	uint64_t mark = bloscfs_mark();

	walk_arm(w, true);
	status = bloscfs_file_status(file, NULL);
	if (walk_heard(w, mark, BLOSCFS_OK, "", "status") &&
	    status != sample->status)
		fail_msg("another verdict of %s", sample->path);
	for (size_t i = 0; i < sample->n; i++)
		walk_compare_entry(w, file, &sample->truths[i]);
}

/* One round: with faults on a fresh instance, then without them by the same
 * handle and by a new one. */
static void walk_round(struct walk *w, const struct sample *sample)
{
	struct walk quiet = { .fault = w->fault, .probe = w->probe,
			      .open = w->open };
	struct bloscfs *fs = walk_new_fs();
	struct bloscfs_file *file = walk_open(w, fs, sample);

	if (file)
		walk_compare(w, sample, file);
	if (w->calm)
		w->calm();
	if (file) {
		walk_compare(&quiet, sample, file);
		bloscfs_close(file);
	}
	file = walk_open(&quiet, fs, sample);
	assert_non_null(file);
	walk_compare(&quiet, sample, file);
	bloscfs_close(file);
	bloscfs_free(fs);
	w->n_calls += quiet.n_calls;
}

#endif
