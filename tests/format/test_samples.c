/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_samples.c - the sample files, through the public interface alone.
 *
 * Two things are held: the verdict that a sample's name begins with (good-,
 * bad-, unsupported-), and every row of MANIFEST.tsv beside the samples:
 * path, kind, what, length, sha256, notes. BLOSCFS_TEST_DATA names another
 * directory; BLOSCFS_CORPUS one more with a manifest of the same form, of
 * which BLOSCFS_CORPUS_KINDS (a list with commas) picks kinds.
 */
#include "bloscfs.h"
#include "support/sample_place.h"
#include "support/sample_rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/corpus.h"

#define CHUNK_OF_READ ((size_t)1 << 20)
#define MOST_OF_CORRUPT (UINT64_C(64) << 20)
#define MOST_FAULTS_SHOWN 40

static struct bloscfs *fs;
static uint8_t *scratch;	/* CHUNK_OF_READ bytes */
static unsigned n_faults;
/* Rows of a sample that is unsupported-, or that wants a codec which this build
 * leaves out, tell what would come out: what comes out must be that, or that it
 * is unsupported. */
static bool may_lack;
static unsigned n_lacking;

static int set_up(void **state)
{
	struct bloscfs_options options = {
		.size = sizeof(options), .cache_size = 32 << 20,
		.views = "info,data,npy,chunks,meta,blocks",
	};

	(void)state;
	scratch = malloc(CHUNK_OF_READ);
	return bloscfs_new(&options, &fs, NULL) != BLOSCFS_OK;
}

static int tear_down(void **state)
{
	(void)state;
	bloscfs_free(fs);
	free(scratch);
	return 0;
}

__attribute__((format(printf, 3, 4))) static void
fault(const char *path, const char *what, const char *format, ...)
{
	va_list args;

	if (++n_faults > MOST_FAULTS_SHOWN)
		return;
	printf("# %s %s: ", path, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* ---- reading --------------------------------------------------------- */

static uint64_t size_of(struct bloscfs_file *file,
			const struct bloscfs_node *node)
{
	struct bloscfs_attr attr;

	bloscfs_stat(file, node, &attr);
	return attr.size;
}

static void finish_sha(EVP_MD_CTX *ctx, char hex[65])
{
	uint8_t sum[32];

	EVP_DigestFinal_ex(ctx, sum, NULL);
	EVP_MD_CTX_free(ctx);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

/* SHA-256 of [off, end of file or off + most). */
static enum bloscfs_err hash(struct bloscfs_file *file,
			     const struct bloscfs_node *node, uint64_t off,
			     uint64_t most, uint64_t *ret_len, char hex[65],
			     struct bloscfs_diag *diag)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	enum bloscfs_err err;
	uint64_t done = 0;
	size_t n = 1;

	EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
	err = bloscfs_access(file, node, diag);
	while (err == BLOSCFS_OK && n > 0 && done < most) {
		size_t want = most - done < CHUNK_OF_READ
				      ? (size_t)(most - done)
				      : CHUNK_OF_READ;

		err = bloscfs_read(file, node, off + done, scratch, want, &n,
				   diag);
		if (err != BLOSCFS_OK)
			break;
		EVP_DigestUpdate(ctx, scratch, n);
		done += n;
	}
	finish_sha(ctx, hex);
	*ret_len = done;
	return err;
}

static struct json_object *read_info(struct bloscfs_file *file,
				     const struct bloscfs_node *dir)
{
	struct json_object *info;
	struct bloscfs_node node;
	char *text;
	size_t n = 0;

	if (!sample_find(file, dir, "info.json", &node))
		return NULL;
	text = calloc(1, 65537);
	if (bloscfs_read(file, &node, 0, text, 65536, &n, NULL))
		n = 0;
	text[n] = 0;
	info = json_tokener_parse(text);
	free(text);
	return info;
}

/* ---- everything under one container ---------------------------------- */

struct tally {
	uint64_t budget;
	uint64_t n_read;
	unsigned n_damaged, n_unsupported, n_other;
	enum bloscfs_err worst;
	struct bloscfs_diag diag;
};

static void count_error(struct tally *t, enum bloscfs_err err,
			const struct bloscfs_diag *diag)
{
	int error = bloscfs_err_errno(err);

	if (error == EOPNOTSUPP)
		t->n_unsupported++;
	else if (error == EIO && err != BLOSCFS_ERR_NOMEM)
		t->n_damaged++;
	else
		t->n_other++;
	t->worst = err;
	t->diag = *diag;
}

static void read_file(struct bloscfs_file *file,
		      const struct bloscfs_node *node, struct tally *t)
{
	struct bloscfs_diag diag = { 0 };
	uint64_t len;
	char hex[65];
	enum bloscfs_err err = hash(file, node, 0, t->budget, &len, hex,
				    &diag);

	t->budget -= len;
	t->n_read += len;
	if (err != BLOSCFS_OK)
		count_error(t, err, &diag);
	else if (t->budget > 0 && len != size_of(file, node))
		count_error(t, BLOSCFS_ERR_INVALID, &diag);
}

static void read_dir(struct bloscfs_file *file,
		     const struct bloscfs_node *dir, struct tally *t)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node;
	struct bloscfs_attr attr;

	for (uint64_t pos = 0; pos < 2000 && t->budget > 0 &&
			       bloscfs_list(file, dir, pos, name, &node);
	     pos++) {
		bloscfs_stat(file, &node, &attr);
		if (attr.is_dir)
			read_dir(file, &node, t);
		else
			read_file(file, &node, t);
	}
}

static void read_all(struct bloscfs_file *file, struct tally *t)
{
	struct bloscfs_node root = bloscfs_root();

	*t = (struct tally){ .budget = MOST_OF_CORRUPT };
	read_dir(file, &root, t);
}

/* ---- verdicts by name ------------------------------------------------ */

static void expect_good(const char *path, struct bloscfs_file *file,
			enum bloscfs_err err, const struct tally *t,
			const char *why)
{
	struct bloscfs_diag diag = { 0 };

	if (!file)
		fault(path, "good", "does not open: %s: %s",
		      bloscfs_err_name(err), why);
	else if (bloscfs_file_status(file, &diag) != BLOSCFS_GOOD)
		fault(path, "good", "is not: %s", diag.text);
	else if (t->n_damaged + t->n_unsupported + t->n_other)
		fault(path, "good", "%u reads failed: %s",
		      t->n_damaged + t->n_unsupported + t->n_other,
		      t->diag.text);
}

static void expect_unsupported(const char *path, struct bloscfs_file *file,
			       enum bloscfs_err err, const struct tally *t)
{
	struct bloscfs_diag diag = { 0 };

	if (!file) {
		if (err != BLOSCFS_ERR_UNSUPPORTED)
			fault(path, "unsupported", "opening says %s",
			      bloscfs_err_name(err));
	} else if (t->n_damaged + t->n_other) {
		fault(path, "unsupported", "reads say %s: %s",
		      bloscfs_err_name(t->worst), t->diag.text);
	} else if (!t->n_unsupported &&
		   bloscfs_file_status(file, &diag) != BLOSCFS_UNSUPPORTED) {
		fault(path, "unsupported", "is served without a word");
	}
}

static void expect_bad(const char *path, struct bloscfs_file *file,
		       enum bloscfs_err err, const struct tally *t)
{
	struct bloscfs_diag diag = { 0 };

	if (!file) {
		if (bloscfs_err_errno(err) != EIO || err == BLOSCFS_ERR_NOMEM)
			fault(path, "bad", "opening says %s",
			      bloscfs_err_name(err));
	} else if (t->n_other) {
		fault(path, "bad", "reads say %s: %s",
		      bloscfs_err_name(t->worst), t->diag.text);
	} else if (!t->n_damaged &&
		   bloscfs_file_status(file, &diag) == BLOSCFS_GOOD) {
		fault(path, "bad", "is served without an error");
	}
}

/* What is unsupported without a library must be good with it. */
static bool names_built_codec(const char *name)
{
	const char *codec, *version;
	bool built;

	for (size_t i = 0; bloscfs_table("codec", i, &codec, &version, &built);
	     i++)
		if (built && strstr(name, codec))
			return true;
	return false;
}

static bool has_verdict(const char *name)
{
	return !strncmp(name, "good-", 5) || !strncmp(name, "bad-", 4) ||
	       !strncmp(name, "unsupported-", 12);
}

static void check_verdict(const char *path, const char *name)
{
	struct bloscfs_file *file = NULL;
	struct bloscfs_diag diag = { 0 };
	struct tally t = { 0 };
	enum bloscfs_err err = sample_open(fs, path, &file, &diag);

	if (file)
		read_all(file, &t);
	if (name[0] == 'g' || (name[0] == 'u' && names_built_codec(name)))
		expect_good(path, file, err, &t, diag.text);
	else if (name[0] == 'u')
		expect_unsupported(path, file, err, &t);
	else
		expect_bad(path, file, err, &t);
	bloscfs_close(file);
}

/* Returns how many samples there were. With a verdict the folder is a sample
 * of that name itself, and whatever lies in it must be so. */
static unsigned check_folder(const char *path, const char *verdict)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		const char *name = verdict ? verdict : entry->d_name;
		char below[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (sample_is_folder(below) &&
		    !sample_is_container_dir(below)) {
			n += check_folder(below,
					  has_verdict(name) ? name : NULL);
		} else if (has_verdict(name)) {
			check_verdict(below, name);
			n++;
		}
	}
	if (dir)
		closedir(dir);
	return n;
}

static const char *data_dir(void)
{
	const char *dir = getenv("BLOSCFS_TEST_DATA");

	return dir ? dir : TEST_DATA_DIR;
}

static void samples_are_what_their_names_say(void **state)
{
	(void)state;
	n_faults = 0;
	assert_true(check_folder(data_dir(), NULL) > 0);
	assert_int_equal(n_faults, 0);
}

/* ---- rows of a manifest ---------------------------------------------- */

static void check_bytes(const struct sample_row *row,
			struct bloscfs_file *file,
			const struct bloscfs_node *node, uint64_t off,
			uint64_t most, bool whole)
{
	struct bloscfs_diag diag = { 0 };
	uint64_t want = strtoull(row->length, NULL, 10), len;
	char hex[65];
	enum bloscfs_err err;

	if (whole && size_of(file, node) != off + want) {
		fault(row->path, row->what, "size %" PRIu64 ", wanted %" PRIu64
		      " (%s)", size_of(file, node), off + want,
		      bloscfs_access(file, node, &diag) ? diag.text : "");
		return;
	}
	err = hash(file, node, off, most, &len, hex, &diag);
	if (err == BLOSCFS_ERR_UNSUPPORTED && may_lack) {
		n_lacking++;
		return;
	}
	if (err != BLOSCFS_OK)
		fault(row->path, row->what, "%s: %s", bloscfs_err_name(err),
		      diag.text);
	else if (len != want)
		fault(row->path, row->what, "%" PRIu64 " bytes, wanted %"
		      PRIu64, len, want);
	else if (strcmp(row->sha, "-") && strcmp(row->sha, hex))
		fault(row->path, row->what, "sha256 %.12s, wanted %.12s", hex,
		      row->sha);
}

/* Where the array begins behind the NumPy header; 0 if that is none. */
static uint64_t npy_start(struct bloscfs_file *file,
			  const struct bloscfs_node *node, char *text,
			  size_t cap)
{
	uint8_t head[12];
	uint64_t start;
	size_t n = 0;

	if (bloscfs_read(file, node, 0, head, 12, &n, NULL) || n < 12 ||
	    memcmp(head, "\x93NUMPY", 6))
		return 0;
	start = 10u + (head[8] | head[9] << 8);
	if (head[6] >= 2)
		start = 12 + (head[8] | head[9] << 8 | head[10] << 16 |
			      (uint64_t)head[11] << 24);
	if (start >= cap || bloscfs_read(file, node, 0, text, start, &n, NULL))
		n = 0;
	text[n] = 0;
	for (size_t i = 0; i < 10 && i < n; i++)
		text[i] = ' ';
	if (head[6] >= 2)
		text[10] = text[11] = ' ';
	return start % 64 ? 0 : start;
}

/* "(5,7)" or "(300)" as NumPy writes it. */
static void python_shape(const char *noted, char *out)
{
	unsigned n = 0;

	out += sprintf(out, "'shape': (");
	for (const char *at = noted; *at;) {
		size_t digits = strspn(at, "0123456789");

		if (digits)
			out += sprintf(out, "%s%.*s", n++ ? ", " : "",
				       (int)digits, at);
		at += digits + (digits ? 0 : 1);
	}
	sprintf(out, n == 1 ? ",)" : ")");
}

static void check_npy(const struct sample_row *row, struct bloscfs_file *file,
		      const struct bloscfs_node *node)
{
	char *text = calloc(1, 65536), value[4096], want[4200];
	uint64_t start = npy_start(file, node, text, 65536);

	if (!start)
		fault(row->path, row->what, "no NumPy header");
	else
		check_bytes(row, file, node, start, UINT64_MAX, true);
	if (start && sample_note(row->notes, "shape", value, sizeof(value))) {
		python_shape(value, want);
		if (!strstr(text, want))
			fault(row->path, row->what, "no %s in %s", want, text);
	}
	if (start && sample_note(row->notes, "order", value, sizeof(value))) {
		snprintf(want, sizeof(want), "'fortran_order': %s",
			 value[0] == 'F' ? "True" : "False");
		if (!strstr(text, want))
			fault(row->path, row->what, "no %s in %s", want, text);
	}
	/* Only simple types: their text is the same everywhere. */
	if (start && sample_note(row->notes, "dtype", value, sizeof(value)) &&
	    strchr("<>|", value[0])) {
		snprintf(want, sizeof(want), "'descr': '%s'", value);
		if (!strstr(text, want))
			fault(row->path, row->what, "no %s in %s", want, text);
	}
	free(text);
}

static void check_range(const struct sample_row *row,
			struct bloscfs_file *file,
			const struct bloscfs_node *dir, const char *arg,
			bool npy)
{
	uint64_t off = 0, len = 0, start = 0;
	struct bloscfs_node node;
	char *text = calloc(1, 4096);

	sscanf(arg, "%" SCNu64 "+%" SCNu64, &off, &len);
	if (!sample_find(file, dir, npy ? "data.npy" : "data.bin", &node)) {
		fault(row->path, row->what, "no such entry");
	} else {
		if (npy)
			start = npy_start(file, &node, text, 4096);
		check_bytes(row, file, &node, start + off, len, false);
	}
	free(text);
}

/* ---- damaged files --------------------------------------------------- */

static bool needs_magic(const struct sample_row *row)
{
	return strcmp(row->kind, "none") && strcmp(row->kind, "chunk1") &&
	       strcmp(row->kind, "chunk2") && strcmp(row->kind, "packed");
}

/* Whether the file (of a folder, its index) begins as one of the formats
 * that have a magic. */
static bool has_magic(const char *path)
{
	char head[10] = { 0 }, index[4200];
	int fd;
	bool has;

	snprintf(index, sizeof(index), "%s%s", path,
		 sample_is_folder(path) ? "/chunks.b2frame" : "");
	fd = open(index, O_RDONLY | O_CLOEXEC);
	has = fd >= 0 && read(fd, head, 10) == 10 &&
	      (!memcmp(head + 1, "\xa8" "b2frame", 9) ||
	       !memcmp(head, "blpk", 4) || !memcmp(head, "PK\3\4", 4));

	if (fd >= 0)
		close(fd);
	return has;
}

static void check_corrupt(const struct sample_row *row, const char *path)
{
	bool must_fail = strstr(row->notes, "expect=error") != NULL;
	struct bloscfs_file *file = NULL;
	struct bloscfs_diag diag = { 0 };
	enum bloscfs_err err = sample_open(fs, path, &file, &diag);
	struct tally t;

	if (err != BLOSCFS_OK) {
		if (err != BLOSCFS_ERR_NOT_FORMAT ||
		    (must_fail && needs_magic(row) && has_magic(path)))
			fault(row->path, row->what, "does not open: %s: %s",
			      bloscfs_err_name(err), diag.text);
		return;
	}
	read_all(file, &t);
	if (t.n_other)
		fault(row->path, row->what, "an error that is none of "
		      "damage: %s: %s", bloscfs_err_name(t.worst),
		      t.diag.text);
	if (must_fail && !t.n_damaged && !t.n_unsupported &&
	    bloscfs_file_status(file, &diag) == BLOSCFS_GOOD)
		fault(row->path, row->what, "served without an error");
	bloscfs_close(file);
}

/* The container whose directory is `at`: the file's own, or one inside. */
static void check_status(const struct sample_row *row,
			 struct bloscfs_file *file,
			 const struct bloscfs_node *at)
{
	struct json_object *info = read_info(file, at), *status = NULL;
	struct bloscfs_diag diag = { 0 };
	struct bloscfs_node dir, node;
	char value[64], name[BLOSCFS_NAME_MAX + 1];
	uint64_t n, want;

	if (bloscfs_file_status(file, &diag) != BLOSCFS_GOOD && !at->child)
		fault(row->path, "status", "is not good: %s", diag.text);
	if (!info || !json_object_object_get_ex(info, "status", &status) ||
	    strcmp(json_object_get_string(status), "good"))
		fault(row->path, row->what, "info.json does not say good");
	json_object_put(info);
	if (!sample_note(row->notes, "nchunks", value, sizeof(value)) ||
	    !sample_find(file, at, "chunks", &dir))
		return;
	want = strtoull(value, NULL, 10);
	for (n = 0; n <= want; n++)
		if (!bloscfs_list(file, &dir, n, name, &node))
			break;
	if (n != want)
		fault(row->path, "status", "%" PRIu64 " chunks, wanted %"
		      PRIu64, n, want);
}

/* ---- a row ----------------------------------------------------------- */

/* A row that is none of damage. */
static void check_entry(const struct sample_row *row,
			struct bloscfs_file *file)
{
	struct bloscfs_node dir, node;
	const char *rest = sample_enter(file, row->what, &dir), *arg;
	char what[64], entry[512];
	size_t len;

	if (!rest) {
		fault(row->path, row->what, "there is no such member");
		return;
	}
	len = strcspn(rest, ":");
	arg = rest + len + (rest[len] == ':');
	snprintf(what, sizeof(what), "%.*s", (int)len, rest);
	if (rest != row->what && strstr(row->notes, "still readable") == NULL)
		check_status(row, file, &dir);
	if (!strcmp(what, "range") || !strcmp(what, "npyrange"))
		check_range(row, file, &dir, arg, what[0] == 'n');
	else if (!strcmp(what, "status"))
		check_status(row, file, &dir);
	else if (!sample_entry(what, arg, entry))
		fault(row->path, row->what, "nobody knows what that is");
	else if (!sample_find(file, &dir, entry, &node))
		fault(row->path, row->what, "there is no %s", entry);
	else if (!strcmp(what, "npy"))
		check_npy(row, file, &node);
	else
		check_bytes(row, file, &node, 0, UINT64_MAX, true);
}

static void check_row(const struct sample_row *row, const char *path,
		      struct bloscfs_file *file)
{
	if (!strcmp(row->what, "corrupt"))
		check_corrupt(row, path);
	else if (file)			/* else it was said already */
		check_entry(row, file);
}

/* The rows of a folder that is no container: each names a file in it. */
static void check_folder_row(const struct sample_row *row, const char *path)
{
	size_t len = strcspn(row->what + 7, ":");
	struct bloscfs_file *file = NULL;
	struct bloscfs_diag diag = { 0 };
	struct sample_row inner = *row;
	char below[8192];
	enum bloscfs_err err;

	if (strncmp(row->what, "member:", 7)) {
		if (strcmp(row->what, "corrupt"))
			fault(row->path, row->what, "is no container");
		return;
	}
	snprintf(below, sizeof(below), "%s/%.*s", path, (int)len,
		 row->what + 7);
	inner.what = row->what + 7 + len + (row->what[7 + len] == ':');
	err = sample_open(fs, below, &file, &diag);
	if (err != BLOSCFS_OK) {
		fault(below, row->what, "%s: %s", bloscfs_err_name(err),
		      diag.text);
		return;
	}
	check_entry(&inner, file);
	bloscfs_close(file);
}

/* Whether the row's path or notes name a codec that this build has not. */
static bool wants_left_out_codec(const struct sample_row *row)
{
	const char *codec, *version;
	char noted[64] = "";
	bool built;

	(void)sample_note(row->notes, "codec", noted, sizeof(noted));
	for (size_t i = 0; bloscfs_table("codec", i, &codec, &version, &built);
	     i++)
		if (!built &&
		    (strstr(row->path, codec) || !strcmp(noted, codec)))
			return true;
	return false;
}

/* The rows of one container. What has whole content and no damage must be
 * good. */
static void check_group(const char *dir, const struct sample_row *rows,
			size_t n)
{
	const struct sample_row *sound = NULL;
	struct bloscfs_file *file = NULL;
	struct bloscfs_diag diag = { 0 };
	bool corrupt = !strncmp(rows->path, "corrupt/", 8), wanted = false;
	enum bloscfs_err err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, rows->path);
	if (sample_is_folder(path) && !sample_is_container_dir(path)) {
		for (size_t i = 0; i < n; i++)
			check_folder_row(&rows[i], path);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		bool damaged = !strcmp(rows[i].what, "corrupt");

		corrupt = corrupt || damaged;
		wanted = wanted || !damaged;
		if (!strcmp(rows[i].what, "data") ||
		    !strcmp(rows[i].what, "npy"))
			sound = &rows[i];
	}
	/* A damaged one says of each row whether it is still readable. */
	may_lack = !strncmp(rows->path, "unsupported-", 12) ||
		   (!corrupt && wants_left_out_codec(rows));
	err = wanted ? sample_open(fs, path, &file, &diag) : BLOSCFS_OK;
	if (err != BLOSCFS_OK)
		fault(rows->path, "open", "%s: %s", bloscfs_err_name(err),
		      diag.text);
	if (file && sound && !corrupt && !may_lack) {
		struct bloscfs_node root = bloscfs_root();

		check_status(sound, file, &root);
	}
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i], path, file);
	bloscfs_close(file);
}

static bool is_picked(const struct sample_row *row, const char *kinds)
{
	char list[256], kind[64];

	if (!kinds)
		return true;
	snprintf(list, sizeof(list), ",%s,", kinds);
	snprintf(kind, sizeof(kind), ",%s,", row->kind);
	return strstr(list, kind) != NULL;
}

static void check_manifest(const char *dir, const char *kinds)
{
	struct sample_rows m;
	char path[4096];
	size_t n_checked = 0;

	snprintf(path, sizeof(path), "%s/MANIFEST.tsv", dir);
	sample_rows_load(path, &m);
	n_faults = n_lacking = 0;
	for (size_t i = 0, n; i < m.n; i += n) {
		for (n = 1; i + n < m.n; n++)
			if (strcmp(m.rows[i].path, m.rows[i + n].path))
				break;
		if (!is_picked(&m.rows[i], kinds))
			continue;
		check_group(dir, &m.rows[i], n);
		n_checked += n;
	}
	sample_rows_free(&m);
	printf("# %zu rows checked, %u faults\n", n_checked, n_faults);
	if (n_lacking)
		printf("# %u of them are of a codec that is not in this build, "
		       "and said so\n", n_lacking);
	assert_true(n_checked > 0);
	assert_int_equal(n_faults, 0);
}

static void the_manifest_of_the_samples_holds(void **state)
{
	(void)state;
	check_manifest(data_dir(), NULL);
}

static void the_manifest_of_the_corpus_holds(void **state)
{
	(void)state;
	check_manifest(getenv("BLOSCFS_CORPUS"),
		       getenv("BLOSCFS_CORPUS_KINDS"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_what_their_names_say),
		cmocka_unit_test(the_manifest_of_the_samples_holds),
		/* The last: only where there is a corpus. */
		cmocka_unit_test(the_manifest_of_the_corpus_holds),
	};

	return corpus_run_group("samples", tests,
				sizeof(tests) / sizeof(tests[0]), set_up,
				tear_down);
}
