/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.c - --report: the rows, and the page around them.
 */
#include "check/page.h"

#include "check/lines.h"
#include "check/page_text.h"
#include "check/words.h"
#include "tree/far.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_TALLIES 40		/* formats or codecs that have a line */
#define MAX_FAULTS 100		/* on the page, of one container */
#define MAX_SOURCES 20		/* named at its top */

/* Of all containers with one format or one codec. */
struct tally {
	char name[24];
	uint64_t n, nbytes, cbytes;
};

struct tallies {
	struct tally list[MAX_TALLIES];
	size_t n;
};

struct page {
	const struct opts *opts;
	char *path;		/* without symbolic links */
	FILE *rows;
	pthread_mutex_t lock;
	struct tallies formats, codecs;	/* all below under the lock */
	uint64_t nbytes, cbytes;	/* of those whose nbytes is known */
};

/* ---- numbers --------------------------------------------------------- */

/* "12.3 MB" */
static void put_bytes(FILE *out, uint64_t n)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB",
					     "EB" };
	double size = (double)n;
	unsigned unit = 0;

	while (size >= 999.5 && unit < 6) {
		size /= 1000;
		unit++;
	}
	fprintf(out, "%.*f %s", unit ? 1 : 0, size, units[unit]);
}

/* A cell, with what it is sorted by. */
static void put_size(FILE *out, bool known, uint64_t n)
{
	if (!known || n == BLOSCFS_NOT_KNOWN) {
		fputs("<td class=\"n soft\" data-n=\"\">\xe2\x80\x93", out);
		return;
	}
	fprintf(out, "<td class=\"n\" data-n=\"%" PRIu64 "\" title=\"%" PRIu64
		" bytes\">", n, n);
	put_bytes(out, n);
}

static void put_count(FILE *out, bool known, uint64_t n)
{
	if (known && n != BLOSCFS_NOT_KNOWN)
		fprintf(out, "<td class=\"n\" data-n=\"%" PRIu64 "\">%" PRIu64,
			n, n);
	else
		fputs("<td class=\"n soft\" data-n=\"\">\xe2\x80\x93", out);
}

/* "3.04x", "5.5 million x" */
static void put_times(FILE *out, double ratio)
{
	static const char *const words[] = { "", " thousand ", " million ",
					     " billion " };
	unsigned i = 0;

	while (i < 3 && ratio >= (i ? 999.95 : 99999.5)) {
		ratio /= 1000;
		i++;
	}
	fprintf(out, "%.*f%s\xc3\x97", i ? 1 : ratio < 99.5 ? 2 : 0, ratio,
		words[i]);
}

static void put_ratio(FILE *out, bool known, uint64_t nbytes, uint64_t cbytes)
{
	double ratio;

	if (!known || nbytes == BLOSCFS_NOT_KNOWN || !cbytes) {
		fputs("<td class=\"n soft\" data-n=\"\">\xe2\x80\x93", out);
		return;
	}
	ratio = (double)nbytes / (double)cbytes;
	fprintf(out, "<td class=\"n\" data-n=\"%.17g\">", ratio);
	put_times(out, ratio);
}

/* ---- tallies --------------------------------------------------------- */

static void count_in(struct tallies *tallies, const char *name,
		     const struct bloscfs_facts *facts)
{
	bool sized = facts->kind != BLOSCFS_KIND_STORE &&
		     facts->nbytes != BLOSCFS_NOT_KNOWN;
	struct tally *tally = tallies->list;
	size_t i = 0;

	while (i < tallies->n && strcmp(tallies->list[i].name, name))
		i++;
	if (i == MAX_TALLIES) {
		name = "others";
		i--;
	} else if (i == tallies->n) {
		tallies->n++;
	}
	tally += i;
	snprintf(tally->name, sizeof(tally->name), "%s", name);
	tally->n++;
	tally->nbytes += sized ? facts->nbytes : 0;
	tally->cbytes += sized ? facts->cbytes : 0;
}

/* A store holds what others are counted for. */
static void count_facts(struct page *page, const struct bloscfs_facts *facts)
{
	pthread_mutex_lock(&page->lock);
	count_in(&page->formats, facts->format, facts);
	if (facts->kind != BLOSCFS_KIND_STORE) {
		count_in(&page->codecs, facts->codec[0] ? facts->codec :
							  "none said", facts);
		if (facts->nbytes != BLOSCFS_NOT_KNOWN) {
			page->nbytes += facts->nbytes;
			page->cbytes += facts->cbytes;
		}
	}
	pthread_mutex_unlock(&page->lock);
}

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void put_tallies(FILE *out, const char *title, const char *head,
			struct tallies *tallies)
{
	if (!tallies->n)
		return;
	qsort(tallies->list, tallies->n, sizeof(*tallies->list),
	      compare_tallies);
	fprintf(out, "<section><h2>%s</h2><div class=\"wide\"><table>"
		"<thead><tr><th>%s<th class=\"n\">Containers"
		"<th class=\"n\">Decoded<th class=\"n\">Stored"
		"<th class=\"n\">Ratio</thead><tbody>\n", title, head);
	for (size_t i = 0; i < tallies->n; i++) {
		const struct tally *tally = &tallies->list[i];

		fputs("<tr><td>", out);
		words_html(out, tally->name);
		put_count(out, true, tally->n);
		put_size(out, tally->cbytes, tally->nbytes);
		put_size(out, tally->cbytes, tally->cbytes);
		put_ratio(out, true, tally->nbytes, tally->cbytes);
		putc('\n', out);
	}
	fputs("</table></div></section>\n", out);
}

/* ---- rows ------------------------------------------------------------ */

static void put_told(FILE *out, const struct check_told *told)
{
	char text[640];

	check_word(told, text, sizeof(text));
	words_html(out, text);
}

/* What is not told in the row itself. */
static void put_list(FILE *out, const char *one, const char *many,
		     const struct check_list *list,
		     const struct check_told *known)
{
	const struct check_told *told;
	size_t i = 0, n = 0;

	while ((told = check_next(list, &i)) != NULL)
		n += !known || !check_is_same(told, known);
	if (!n)
		return;
	fprintf(out, "<details><summary>%zu %s</summary><ul class=\"why\">", n,
		n == 1 ? one : many);
	i = n = 0;
	while ((told = check_next(list, &i)) != NULL && n < MAX_FAULTS) {
		if (known && check_is_same(told, known))
			continue;
		fputs("<li>", out);
		put_told(out, told);
		n++;
	}
	if (told)
		fputs("<li class=\"soft\">and more, which "
		      "<code>bloscfs --check</code> lists", out);
	fputs("</ul></details>", out);
}

static void put_what(FILE *out, const struct bloscfs_facts *facts)
{
	bool known = facts->format != NULL;

	fputs("<td>", out);
	words_html(out, known ? facts->format : "\xe2\x80\x93");
	fputs("<td class=\"kind soft\">", out);
	words_html(out, known ? bloscfs_kind_name(facts->kind) :
				"\xe2\x80\x93");
	if (!known || !facts->is_array)
		return;
	fputs("<br><code>", out);
	words_html(out, facts->dtype);
	for (unsigned i = 0; i < facts->ndim && i < BLOSCFS_MAX_DIM; i++)
		fprintf(out, "%s%" PRId64, i ? " \xc3\x97 " : " ",
			facts->shape[i]);
	fputs("</code>", out);
}

static void put_codec(FILE *out, const struct bloscfs_facts *facts)
{
	fputs("<td>", out);
	words_html(out, facts->format && facts->codec[0] ? facts->codec :
							   "\xe2\x80\x93");
	for (unsigned i = 0; i < facts->n_filters; i++) {
		fputs(i ? ", " : "<br><span class=\"soft\">", out);
		words_html(out, facts->filters[i].name);
	}
	if (facts->n_filters)
		fputs("</span>", out);
}

void page_put_row(struct page *page, FILE *out,
		  const struct check_record *record)
{
	const struct check_finding *finding = record->finding;
	const struct bloscfs_facts *facts = record->facts;
	const char *verdict = check_verdict_name(finding->verdict);
	bool known = facts->format != NULL;
	bool bad = finding->verdict != CHECK_GOOD;

	if (known)
		count_facts(page, facts);
	fprintf(out, "<tr><td><span class=\"v %s\">%s</span>"
		"<td class=\"path\"><bdi>", verdict, verdict);
	words_html(out, record->path);
	fputs("</bdi>", out);
	put_what(out, facts);
	put_codec(out, facts);
	put_size(out, known, facts->nbytes);
	put_size(out, known, facts->cbytes);
	put_ratio(out, known, facts->nbytes, facts->cbytes);
	put_count(out, known, facts->n_chunks);
	fputs("<td class=\"why\">", out);
	if (bad && finding->first.text)
		put_told(out, &finding->first);
	put_list(out, "more fault", "more faults", &finding->damage,
		 finding->verdict == CHECK_DAMAGED ? &finding->first : NULL);
	put_list(out, "note", "notes", &finding->notes, NULL);
	putc('\n', out);
}

FILE *page_rows(struct page *page)
{
	return page->rows;
}

/* ---- around them ----------------------------------------------------- */

/* What a policy calls an inline text. */
static void put_hash(FILE *out, const char *text)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	/* Without it there is no style and no script, and all to read. */
	if (EVP_Digest(text, strlen(text), digest, &len, EVP_sha256(), NULL) !=
	    1)
		return;
	fputs("'sha256-", out);
	words_base64(out, digest, len);
	putc('\'', out);
}

static void put_sources(FILE *out, const struct page *page)
{
	const struct opts *opts = page->opts;

	for (size_t i = 0; i < opts->n_words && i < MAX_SOURCES; i++) {
		const char *word = opts->words[i];
		/* Secrets may follow in an address. */
		char *shown = strndup(word, far_is(opts, word) ?
				      strcspn(word, "?") : strlen(word));

		fputs("<p class=\"path\"><bdi>", out);
		words_html(out, shown ? shown : "");
		fputs("</bdi>\n", out);
		free(shown);
	}
	if (opts->n_words > MAX_SOURCES)
		fprintf(out, "<p class=\"soft\">and %zu more\n",
			opts->n_words - MAX_SOURCES);
}

static void put_tile(FILE *out, const char *cells, uint64_t n,
		     const char *name)
{
	fprintf(out, "<li class=\"%s\"><b>%" PRIu64 "</b>%s\n", cells, n,
		name);
}

static void put_sizes(FILE *out, const struct page *page, uint64_t size)
{
	fputs("<li><b>", out);
	put_bytes(out, size);
	fputs("</b>in files\n<li><b>", out);
	put_bytes(out, page->nbytes);
	fputs("</b>decoded\n", out);
	if (!page->cbytes)
		return;
	fputs("<li><b>", out);
	put_times(out, (double)page->nbytes / (double)page->cbytes);
	fputs("</b>ratio\n", out);
}

/* The policy of the page, its style and all before them. */
static void put_preamble(FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\">\n<meta http-equiv=\""
	      "Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src ", out);
	put_hash(out, page_style);
	fputs("; script-src ", out);
	put_hash(out, page_script);
	fputs("; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, "
	      "initial-scale=1\">\n<meta name=\"color-scheme\" "
	      "content=\"light dark\">\n<title>bloscfs: report</title>\n"
	      "<style>", out);
	fprintf(out, "%s</style>\n</head>\n", page_style);
}

static void put_head(FILE *out, struct page *page,
		     const uint64_t counts[CHECK_N_VERDICTS], uint64_t size)
{
	static const enum check_verdict order[] = {
		CHECK_GOOD, CHECK_DAMAGED, CHECK_UNSUPPORTED, CHECK_UNREADABLE,
		CHECK_UNRECOGNISED };
	time_t now = time(NULL);
	struct tm tm;
	char date[40] = "";

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	put_preamble(out);
	fputs("<body>\n<h1>What bloscfs found</h1>\n", out);
	put_sources(out, page);
	fprintf(out, "<p class=\"soft\">%s, bloscfs %s; every chunk decoded, "
		"every checksum verified\n<ul class=\"tiles\">\n", date,
		bloscfs_version());
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (counts[order[i]] || i < 2)
			put_tile(out, counts[order[i]] ?
				 check_verdict_name(order[i]) : "soft",
				 counts[order[i]],
				 check_verdict_name(order[i]));
	}
	put_sizes(out, page, size);
	fputs("</ul>\n<div class=\"pair\">\n", out);
	put_tallies(out, "Formats", "Format", &page->formats);
	put_tallies(out, "Codecs", "Codec", &page->codecs);
	fputs("</div>\n<h2>Containers</h2>\n"
	      "<div class=\"table\"><table id=\"all\"><thead><tr>"
	      "<th>Verdict<th>Path<th>Format<th>Kind"
	      "<th>Codec, filters<th class=\"n\">Decoded"
	      "<th class=\"n\">Stored<th class=\"n\">Ratio"
	      "<th class=\"n\">Chunks<th>Faults</thead><tbody>\n", out);
}

static int copy_rows(struct page *page, FILE *out)
{
	char buf[65536];
	size_t n;

	if (fflush(page->rows) || ferror(page->rows))
		return -EIO;
	rewind(page->rows);
	while ((n = fread(buf, 1, sizeof(buf), page->rows)) > 0)
		fwrite(buf, 1, n, out);
	return ferror(page->rows) ? -EIO : 0;
}

static int put_page(struct page *page, FILE *out,
		    const uint64_t counts[CHECK_N_VERDICTS], uint64_t size)
{
	mode_t mask = umask(0);
	int status;

	umask(mask);
	put_head(out, page, counts, size);
	status = copy_rows(page, out);
	fprintf(out, "</table></div>\n<script>%s</script>\n</body>\n</html>\n",
		page_script);
	if (status)
		return status;
	if (fflush(out) || ferror(out) ||
	    fchmod(fileno(out), 0666 & ~mask) < 0 || fsync(fileno(out)) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

/* Beside the page; *ret_name is to be freed. */
static FILE *open_beside(const char *path, char **ret_name)
{
	FILE *file;
	int fd;

	if (asprintf(ret_name, "%s.XXXXXX", path) < 0) {
		*ret_name = NULL;
		errno = ENOMEM;
		return NULL;
	}
	fd = mkostemp(*ret_name, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w+");
	if (file)
		return file;
	unlink(*ret_name);
	close(fd);
	return NULL;
}

static int write_page(struct page *page,
		      const uint64_t counts[CHECK_N_VERDICTS], uint64_t size)
{
	char *name;
	FILE *out = open_beside(page->path, &name);
	int status = out ? 0 : -errno;

	if (out) {
		errno = 0;
		status = put_page(page, out, counts, size);
		if (fclose(out) && !status)
			status = -errno;
		if (!status && rename(name, page->path) < 0)
			status = -errno;
		if (status)
			unlink(name);
	}
	free(name);
	return status;
}

/* A signal that ends us waits until nothing is left lying about. */
int page_finish(struct page *page, const uint64_t counts[CHECK_N_VERDICTS],
		uint64_t size)
{
	sigset_t ends, before;
	int status;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	status = write_page(page, counts, size);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* ---- begin and end --------------------------------------------------- */

/* Where the page is to be: behind links, and never what is no file. */
static char *resolve(const char *path, char *error, size_t cap)
{
	char *real = realpath(path, NULL);
	struct stat st;

	if (!real)
		return strdup(path);
	if (stat(real, &st) == 0 && S_ISREG(st.st_mode))
		return real;
	snprintf(error, cap, "'%s' is no file that a report could replace; "
		 "name one that is, or is not there yet", path);
	free(real);
	return NULL;
}

struct page *page_new(const struct opts *opts, char *error, size_t cap)
{
	struct page *page = calloc(1, sizeof(*page));
	char *name = NULL;

	snprintf(error, cap, "no memory for a report; free some");
	if (!page)
		return NULL;
	page->opts = opts;
	page->path = resolve(opts->report, error, cap);
	if (!page->path) {
		free(page);
		return NULL;
	}
	pthread_mutex_init(&page->lock, NULL);
	page->rows = open_beside(page->path, &name);
	if (page->rows) {
		unlink(name);
		free(name);
		return page;
	}
	snprintf(error, cap, "cannot write the report '%s': %s; name a file "
		 "in a folder that you may write to", opts->report,
		 strerror(errno));
	free(name);
	page_free(page);
	return NULL;
}

void page_free(struct page *page)
{
	if (!page)
		return;
	if (page->rows)
		fclose(page->rows);
	pthread_mutex_destroy(&page->lock);
	free(page->path);
	free(page);
}
