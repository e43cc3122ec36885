/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show.c - options as text: those of a mount with their values, and --help.
 */
#include "opts/row.h"

#include "bloscfs.h"

#include <string.h>

#define HELP_NAME_CAP 28

void opts_write_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s=", name);
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (*s < 0x20 || *s == 0x7f || *s == '\\')
			fprintf(out, "\\x%02x", *s);
		else
			putc(*s, out);
	}
	putc('\n', out);
}

static void write_own_text(FILE *out, const struct opt *opt, const char *text)
{
	if (!text && opt->where == AT(views))
		text = DEFAULT_VIEWS;
	if (text)
		opts_write_text(out, opt->name, text);
}

/* 0: not known yet, which is no value of it. */
static void write_number(FILE *out, const struct opt *opt, uint64_t number)
{
	if (number)
		fprintf(out, "%s=%llu\n", opt->name,
			(unsigned long long)number);
}

static void write_option(FILE *out, const struct opts *opts,
			 const struct opt *opt)
{
	const void *where = (const char *)opts + opt->where;

	switch (opt->kind) {
	case OPT_FLAG:
	case OPT_FUSE_FLAG:
		fprintf(out, "%s=%s\n", opt->name,
			*(const bool *)where ? "yes" : "no");
		break;
	case OPT_SIZE:
	case OPT_COUNT:
		fprintf(out, "%s=%llu\n", opt->name,
			(unsigned long long)*(const uint64_t *)where);
		break;
	case OPT_NUMBER:
		write_number(out, opt, *(const uint64_t *)where);
		break;
	case OPT_SECONDS:
		fprintf(out, "%s=%g\n", opt->name, *(const double *)where);
		break;
	case OPT_MASK:
		fprintf(out, "%s=%04o\n", opt->name,
			(unsigned)*(const mode_t *)where);
		break;
	case OPT_TEXT:
		write_own_text(out, opt, *(char *const *)where);
		break;
	case OPT_FORMATS:
		opts_write_text(out, opt->name, opts->choice.formats ?
			   opts->choice.formats : "all:-chunk");
		break;
	case OPT_UID:
		if (opts->has_uid)
			fprintf(out, "uid=%u\n", (unsigned)opts->uid);
		break;
	case OPT_GID:
		if (opts->has_gid)
			fprintf(out, "gid=%u\n", (unsigned)opts->gid);
		break;
	case OPT_LEVEL:
		fprintf(out, "%s=%s\n", opt->name,
			log_level_name(opts->log_level));
		break;
	case OPT_SANDBOX:
		fprintf(out, "%s=%s\n", opt->name,
			sandbox_mode_name(opts->sandbox));
		break;
	case OPT_FD:
	case OPT_RULE:
	case OPT_UMASK:
	case OPT_SUBTYPE:
	case OPT_FUSE:
	case OPT_IGNORED:
	case OPT_GROUP:
		break;
	}
}

void opts_write(const struct opts *opts, FILE *out)
{
	bool of_mounts = true;

	for (const struct opt *opt = opts_table; opt < opts_table + n_opts;
	     opt++) {
		if (opt->kind == OPT_GROUP)
			of_mounts = strcmp(opt->name, "check") != 0;
		else if (of_mounts)
			write_option(out, opts, opt);
	}
	for (size_t i = 0; i < opts->choice.n_rules; i++)
		opts_write_text(out, opts->choice.rules[i].exclude ? "exclude" :
			   "include", opts->choice.rules[i].glob);
	if (opts->fuse)
		opts_write_text(out, "libfuse", opts->fuse);
}

static void help_usage(FILE *out)
{
	fputs("usage: bloscfs [options] SOURCE... MOUNTPOINT\n"
	      "       bloscfs --unmount MOUNTPOINT\n"
	      "       bloscfs --info SOURCE... [--json]\n"
	      "       bloscfs --check SOURCE... [--json] [--report=FILE]\n"
	      "       bloscfs --cat SOURCE ENTRY...\n"
	      "       bloscfs --version | --help[=NAME]\n\n"
	      "Shows the Blosc containers of folders, of a bucket, or single "
	      "ones, as\ndirectories of plain files; or one of those files "
	      "without a mount.\n\n"
	      "  -f, --foreground   stay in the foreground; -d: and log each "
	      "request\n\n",
	      out);
}

static bool is_listed(const struct opt *opt)
{
	return opt->help && opt->kind != OPT_GROUP;
}

static const struct opt *end_of_group(const struct opt *group)
{
	const struct opt *opt = group + 1;

	while (opt < opts_table + n_opts && opt->kind != OPT_GROUP)
		opt++;
	return opt;
}

/* "  memory    cache_size, max_memory, ..." in lines of at most 79. */
static void help_names(FILE *out, const struct opt *group)
{
	int column = fprintf(out, "  %-9s", group->name);
	const char *comma = "";

	for (const struct opt *opt = group + 1; opt < end_of_group(group);
	     opt++) {
		if (!is_listed(opt))
			continue;
		column += fprintf(out, "%s", comma);
		if (column + (int)strlen(opt->name) > 76)
			column = fprintf(out, "\n%11s", "") - 1;
		column += fprintf(out, " %s", opt->name);
		comma = ",";
	}
	putc('\n', out);
}

static void help_option(FILE *out, const struct opt *opt)
{
	char name[HELP_NAME_CAP];

	snprintf(name, sizeof(name), "--%s%s%s", opt->name,
		 opt->value ? "=" : "", opt->value ? opt->value : "");
	fprintf(out, "  %-25s %s\n", name, opt->help);
}

/* Row i of those that views= can name, and the words that stand for it. */
static bool view_row(size_t i, const char **ret_name, const char **ret_words)
{
	bool built;

	if (!bloscfs_table("view groups", i, ret_name, ret_words, &built))
		return false;
	if (!*ret_words)
		*ret_words = "";
	return true;
}

static bool has_word(const char *words, const char *word, size_t len)
{
	for (; (words = strchr(words, ' ')) && *++words;)
		if (strcspn(words, " ") == len && !memcmp(words, word, len))
			return true;
	return false;
}

static bool is_first(size_t row, const char *word, size_t len)
{
	const char *name, *words;

	for (size_t i = 0; i < row && view_row(i, &name, &words); i++)
		if (has_word(words, word, len))
			return false;
	return true;
}

/* Those that a word stands for; of no length: that none stands for. */
static void help_members(FILE *out, const char *word, size_t len)
{
	const char *name, *words, *comma = "";

	if (len)
		fprintf(out, "    %-10.*s ", (int)len, word);
	else
		fputs("  in no word but all: ", out);
	for (size_t i = 0; view_row(i, &name, &words); i++) {
		if (len ? !has_word(words, word, len) : *words != '\0')
			continue;
		fprintf(out, "%s%s", comma, name);
		comma = ", ";
	}
	putc('\n', out);
}

static void help_views(FILE *out)
{
	const char *name, *words;
	size_t len;

	fputs("  LIST has names of views, or words for several:\n", out);
	for (size_t i = 0; view_row(i, &name, &words); i++) {
		for (; (words = strchr(words, ' ')) && words[1]; words += len) {
			len = strcspn(++words, " ");
			if (is_first(i, words, len))
				help_members(out, words, len);
		}
	}
	fprintf(out, "    %-10s %s\n", "all", "all that there are");
	help_members(out, "", 0);
}

static void help_group(FILE *out, const struct opt *group)
{
	fprintf(out, "%s (%s):\n", group->help, group->name);
	for (const struct opt *opt = group + 1; opt < end_of_group(group);
	     opt++) {
		if (is_listed(opt))
			help_option(out, opt);
	}
}

static void help_short(FILE *out)
{
	help_usage(out);
	fputs("Options, alike as -o NAME[=VALUE],... and --NAME[=VALUE]; "
	      "--help=NAME tells\nof one or of a group, --help=all of all, "
	      "bloscfs(1) at length:\n", out);
	for (size_t i = 0; i < n_opts; i++) {
		if (opts_table[i].kind == OPT_GROUP)
			help_names(out, &opts_table[i]);
	}
}

static void help_all(FILE *out)
{
	help_usage(out);
	fputs("Options, alike as -o NAME[=VALUE],...; sizes take K, M, G, T. "
	      "Defaults stand in\nparentheses.\n", out);
	for (size_t i = 0; i < n_opts; i++) {
		if (opts_table[i].kind != OPT_GROUP)
			continue;
		putc('\n', out);
		help_group(out, &opts_table[i]);
	}
}

bool opts_help(FILE *out, const char *name)
{
	if (!name)
		help_short(out);
	else if (strcmp(name, "all") == 0)
		help_all(out);
	else {
		for (const struct opt *opt = opts_table;
		     opt < opts_table + n_opts; opt++) {
			if (strcmp(opt->name, name) != 0 || !opt->help)
				continue;
			if (opt->kind == OPT_GROUP)
				help_group(out, opt);
			else
				help_option(out, opt);
			if (opt->where == AT(views) && opt->kind == OPT_TEXT)
				help_views(out);
			if (opt->kind == OPT_SIZE)
				fputs("  SIZE is a number of bytes, or one "
				      "with K, M, G or T behind it\n", out);
			return true;
		}
		return false;
	}
	return true;
}
