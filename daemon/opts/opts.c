/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.c - argv becomes a struct opts.
 *
 * "-o name=value" and "--name=value" go through the same table. A comma ends
 * an option of -o unless a backslash precedes it; the list of views= goes on
 * over commas up to the next word that is an option.
 */
#include "opts/opts.h"

#include "bloscfs.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define HELP_NAME_CAP 28
#define NOT_GIVEN (UINT64_MAX - 1)	/* no size is as large */
#define DEFAULT_VIEWS "info,data,npy,chunks,meta"

enum opt_kind {
	OPT_FLAG,	/* bool */
	OPT_SIZE,	/* uint64_t, with K, M, G */
	OPT_COUNT,	/* uint64_t */
	OPT_SECONDS,	/* double */
	OPT_TEXT,	/* char *, owned */
	OPT_FORMATS,	/* a list with colons */
	OPT_RULE,	/* a glob, may be given more than once */
	OPT_FD,		/* int */
	OPT_MASK,	/* mode_t, octal */
	OPT_UMASK,	/* both masks */
	OPT_UID,
	OPT_GID,
	OPT_LEVEL,
	OPT_SUBTYPE,	/* only our own name */
	OPT_FUSE,	/* handed to libfuse, with or without a value */
	OPT_FUSE_FLAG,	/* the same, and a bool of ours */
	OPT_IGNORED,	/* what mount(8) adds; without effect */
};

struct opt {
	const char *name;
	const char *value;	/* how --help names it; NULL: takes none */
	enum opt_kind kind;
	size_t where;		/* in struct opts */
	const char *help;	/* NULL: not listed */
};

#define AT(member) offsetof(struct opts, member)

static const struct opt table[] = {
	{ "cache_size", "SIZE", OPT_SIZE, AT(cache_size),
	  "memory for decoded blocks (256M)" },
	{ "max_memory", "SIZE", OPT_SIZE, AT(max_memory),
	  "limit of all memory of the decoder (half of the memory)" },
	{ "max_request", "SIZE", OPT_SIZE, AT(max_request),
	  "what one request may read and decode (2G)" },
	{ "threads", "N", OPT_COUNT, AT(threads),
	  "threads that decode (the CPUs allowed)" },
	{ "jobs", "N", OPT_COUNT, AT(jobs),
	  "threads of --check (the CPUs allowed)" },
	{ "views", "LIST", OPT_TEXT, AT(views),
	  "entries to show (" DEFAULT_VIEWS ")" },
	{ "formats", "A:B:...", OPT_FORMATS, 0,
	  "what becomes a directory (all but chunk)" },
	{ "include", "GLOB", OPT_RULE, 0,
	  "against an exclude: what may become one" },
	{ "exclude", "GLOB", OPT_RULE, 0,
	  "what is left as it is, with all below it" },
	{ "keep", NULL, OPT_FLAG, AT(keep),
	  "leave containers as they are; directories are NAME.d" },
	{ "readahead", "SIZE", OPT_SIZE, AT(readahead),
	  "the kernel's read-ahead, if root (128K)" },
	{ "offset", "SIZE", OPT_SIZE, AT(offset),
	  "where the container starts in SOURCE (0)" },
	{ "length", "SIZE", OPT_SIZE, AT(length),
	  "how long the container is (to the end)" },
	{ "uid", "USER", OPT_UID, AT(uid), "owner of all entries" },
	{ "gid", "GROUP", OPT_GID, AT(gid), "group of all entries" },
	{ "umask", "MODE", OPT_UMASK, 0,
	  "permission bits to take away (octal)" },
	{ "fmask", "MODE", OPT_MASK, AT(fmask), "the same, of files" },
	{ "dmask", "MODE", OPT_MASK, AT(dmask), "the same, of directories" },
	{ "attr_timeout", "SECONDS", OPT_SECONDS, AT(attr_timeout),
	  "how long names and attributes are kept (5)" },
	{ "immutable", NULL, OPT_FLAG, AT(immutable),
	  "SOURCE never changes: keep everything for a day" },
	{ "noxattr", NULL, OPT_FLAG, AT(noxattr),
	  "no extended attributes" },
	{ "idle_timeout", "SECONDS", OPT_COUNT, AT(idle_timeout),
	  "unmount after so long without use (never)" },
	{ "notify_fd", "FD", OPT_FD, AT(notify_fd),
	  "write a line end to FD once mounted" },
	{ "catalog", "FILE", OPT_TEXT, AT(catalog),
	  "what of a server is where: lines of address, tab, path" },
	{ "connect_timeout", "SECONDS", OPT_SECONDS, AT(connect_timeout),
	  "how long a server may take to answer a call (10)" },
	{ "read_timeout", "SECONDS", OPT_SECONDS, AT(read_timeout),
	  "how long it may be silent, or busy (30)" },
	{ "ca_file", "FILE", OPT_TEXT, AT(ca_file),
	  "authorities that vouch for servers (the system's)" },
	{ "no_sign", NULL, OPT_FLAG, AT(no_sign),
	  "ask S3 as nobody in particular" },
	{ "log_level", "LEVEL", OPT_LEVEL, AT(log_level),
	  "err, warn, notice, info or debug (notice)" },
	{ "log_file", "FILE", OPT_TEXT, AT(log_file),
	  "append the log to FILE" },
	{ "syslog", NULL, OPT_FLAG, AT(syslog),
	  "log to syslog (the default in the background)" },
	{ "fsname", "NAME", OPT_TEXT, AT(fsname),
	  "the name in the table of mounts (SOURCE)" },
	{ "allow_other", NULL, OPT_FUSE_FLAG, AT(allow_other),
	  "let other users in, as file modes permit" },
	{ "allow_root", NULL, OPT_FUSE_FLAG, AT(allow_root),
	  "let root in" },
	{ "auto_unmount", NULL, OPT_FUSE_FLAG, AT(auto_unmount),
	  "unmount even when the daemon is killed" },
	{ "default_permissions", NULL, OPT_FUSE, 0,
	  "let the kernel check permissions" },
	{ "max_read", "SIZE", OPT_FUSE, 0, "largest read request" },
	{ "max_readahead", "SIZE", OPT_FUSE, 0, NULL },
	{ "max_background", "N", OPT_FUSE, 0, NULL },
	{ "congestion_threshold", "N", OPT_FUSE, 0, NULL },
	{ "debug", NULL, OPT_FUSE, 0, NULL },
	{ "subtype", "NAME", OPT_SUBTYPE, 0, NULL },
	{ "noexec", NULL, OPT_FUSE, 0, NULL },
	{ "exec", NULL, OPT_FUSE, 0, NULL },
	{ "noatime", NULL, OPT_FUSE, 0, NULL },
	{ "atime", NULL, OPT_IGNORED, 0, NULL },
	{ "ro", NULL, OPT_IGNORED, 0, NULL },
	{ "rw", NULL, OPT_IGNORED, 0, NULL },
	{ "dev", NULL, OPT_IGNORED, 0, NULL },
	{ "nodev", NULL, OPT_IGNORED, 0, NULL },
	{ "suid", NULL, OPT_IGNORED, 0, NULL },
	{ "nosuid", NULL, OPT_IGNORED, 0, NULL },
	{ "defaults", NULL, OPT_IGNORED, 0, NULL },
};

#define N_OPTS (sizeof(table) / sizeof(table[0]))

struct parse {
	struct opts *opts;
	char *error;
	size_t error_cap;
	bool umask_set, fmask_set, dmask_set;
	mode_t umask;
};

__attribute__((format(printf, 2, 3)))
static int refuse(struct parse *parse, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(parse->error, parse->error_cap, fmt, args);
	va_end(args);
	return -EINVAL;
}

static const struct opt *find_opt(const char *name, size_t len)
{
	for (size_t i = 0; i < N_OPTS; i++) {
		if (strlen(table[i].name) == len &&
		    memcmp(table[i].name, name, len) == 0)
			return &table[i];
	}
	return NULL;
}

static bool parse_number(const char *text, int base, uint64_t *ret_number,
			 const char **ret_end)
{
	char *end;
	unsigned long long number;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, base);
	if (errno)
		return false;
	*ret_number = number;
	*ret_end = end;
	return true;
}

static bool parse_size(const char *text, uint64_t *ret_size)
{
	static const char units[] = "kmgt";
	const char *end, *unit;
	uint64_t size;
	unsigned shift = 0;

	if (!parse_number(text, 10, &size, &end))
		return false;
	if (*end) {
		unit = strchr(units, *end | 0x20);
		if (!unit || end[1])
			return false;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (size > (UINT64_MAX >> 1 >> shift))
		return false;
	*ret_size = size << shift;
	return true;
}

static bool parse_count(const char *text, int base, uint64_t max,
			uint64_t *ret_count)
{
	const char *end;
	uint64_t count;

	if (!parse_number(text, base, &count, &end) || *end || count > max)
		return false;
	*ret_count = count;
	return true;
}

static bool parse_seconds(const char *text, double *ret_seconds)
{
	char *end;
	double seconds;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	seconds = strtod(text, &end);
	if (*end || !isfinite(seconds) || seconds > 1e9)
		return false;
	*ret_seconds = seconds;
	return true;
}

static bool parse_user(const char *text, struct opts *opts)
{
	const struct passwd *entry;
	uint64_t uid;

	if (parse_count(text, 10, UINT32_MAX - 1, &uid)) {
		opts->uid = (uid_t)uid;
	} else {
		entry = getpwnam(text);
		if (!entry)
			return false;
		opts->uid = entry->pw_uid;
	}
	opts->has_uid = true;
	return true;
}

static bool parse_group(const char *text, struct opts *opts)
{
	const struct group *entry;
	uint64_t gid;

	if (parse_count(text, 10, UINT32_MAX - 1, &gid)) {
		opts->gid = (gid_t)gid;
	} else {
		entry = getgrnam(text);
		if (!entry)
			return false;
		opts->gid = entry->gr_gid;
	}
	opts->has_gid = true;
	return true;
}

static int hand_on(struct opts *opts, const char *name, const char *value)
{
	size_t len = strlen(name) + (value ? strlen(value) + 1 : 0);
	size_t old_len = opts->fuse ? strlen(opts->fuse) : 0;
	char *grown = realloc(opts->fuse, old_len + len + 2);

	if (!grown)
		return -ENOMEM;
	opts->fuse = grown;
	snprintf(grown + old_len, len + 2, "%s%s%s%s", old_len ? "," : "",
		 name, value ? "=" : "", value ? value : "");
	return 0;
}

/* What libfuse takes as a number it must get as one. */
static int hand_on_value(struct opts *opts, const char *name,
			 const char *value)
{
	char digits[24];
	uint64_t size;

	if (!value)
		return hand_on(opts, name, NULL);
	if (!parse_size(value, &size) || size > UINT32_MAX)
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
	return hand_on(opts, name, digits);
}

static bool parse_mask(struct parse *parse, const struct opt *opt,
		       const char *value)
{
	uint64_t mask;

	if (!parse_count(value, 8, 0777, &mask))
		return false;
	if (opt->kind == OPT_UMASK) {
		parse->umask = (mode_t)mask;
		parse->umask_set = true;
		return true;
	}
	memcpy((char *)parse->opts + opt->where, &(mode_t){ (mode_t)mask },
	       sizeof(mode_t));
	if (opt->where == AT(fmask))
		parse->fmask_set = true;
	else
		parse->dmask_set = true;
	return true;
}

static bool parse_text(void *where, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return false;
	free(*(char **)where);
	*(char **)where = copy;
	return true;
}

/* False: not a value for this option. */
static bool take_value(struct parse *parse, const struct opt *opt,
		       const char *value)
{
	struct opts *opts = parse->opts;
	void *where = (char *)opts + opt->where;
	uint64_t number;

	switch (opt->kind) {
	case OPT_FLAG:
		*(bool *)where = true;
		return true;
	case OPT_SIZE:
		return parse_size(value, where);
	case OPT_COUNT:
		return parse_count(value, 10, INT32_MAX / 1000, where);
	case OPT_SECONDS:
		return parse_seconds(value, where);
	case OPT_TEXT:
		return *value && parse_text(where, value);
	case OPT_FORMATS:
		return choice_set_formats(&opts->choice, value);
	case OPT_RULE:
		return *value && choice_add_rule(&opts->choice,
						 *opt->name == 'e', value);
	case OPT_FD:
		if (!parse_count(value, 10, INT_MAX, &number))
			return false;
		*(int *)where = (int)number;
		return true;
	case OPT_MASK:
	case OPT_UMASK:
		return parse_mask(parse, opt, value);
	case OPT_UID:
		return parse_user(value, opts);
	case OPT_GID:
		return parse_group(value, opts);
	case OPT_LEVEL:
		return log_level_parse(value, where);
	case OPT_SUBTYPE:
		return strcmp(value, "bloscfs") == 0;
	case OPT_FUSE_FLAG:
		*(bool *)where = true;
		return hand_on(opts, opt->name, NULL) == 0;
	case OPT_FUSE:
		return hand_on_value(opts, opt->name, value) == 0;
	case OPT_IGNORED:
		return true;
	}
	return false;
}

/* text is name or name=value. */
static int take_option(struct parse *parse, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value = text[len] ? text + len + 1 : NULL;
	const struct opt *opt = find_opt(text, len);

	if (!opt)
		return refuse(parse, "unknown option '%.*s'; bloscfs --help "
			      "lists the options", (int)len, text);
	if (opt->value && !value)
		return refuse(parse, "option '%s' needs a value; write "
			      "%s=%s", opt->name, opt->name, opt->value);
	if (!opt->value && value)
		return refuse(parse, "option '%s' takes no value; write "
			      "just %s", opt->name, opt->name);
	if (!take_value(parse, opt, value))
		return refuse(parse, "'%s' is no value for option '%s'; "
			      "bloscfs --%s tells what it takes", value,
			      opt->name, opt->kind == OPT_FORMATS ? "version" :
			      "help");
	return 0;
}

/* Cuts the first option off *list, in place, and unescapes it. */
static char *cut_option(char **list)
{
	char *start = *list, *to = start, *from = start;

	while (*from && *from != ',') {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from++;
	}
	*list = *from ? from + 1 : NULL;
	*to = '\0';
	return start;
}

/* Whether the next word of a -o list still belongs to views=. */
static bool goes_on(const char *rest)
{
	size_t len = strcspn(rest, ",");

	return !memchr(rest, '=', len) && !find_opt(rest, len);
}

static int take_list(struct parse *parse, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;
	int error = copy ? 0 : -ENOMEM;

	while (!error && rest) {
		word = cut_option(&rest);
		if (strncmp(word, "views=", 6) == 0) {
			while (rest && goes_on(rest)) {
				/* The comma before rest was cut: restore. */
				rest[-1] = ',';
				cut_option(&rest);
			}
		}
		if (*word)
			error = take_option(parse, word);
	}
	free(copy);
	return error;
}

static int take_form(struct parse *parse, enum form form)
{
	if (parse->opts->form != FORM_MOUNT && parse->opts->form != form)
		return refuse(parse, "--check, --info, --unmount, --version "
			      "and --help exclude each other; give one");
	parse->opts->form = form;
	return 0;
}

static int take_long(struct parse *parse, const char *name)
{
	static const struct {
		const char *name;
		enum form form;
	} forms[] = {
		{ "check", FORM_CHECK }, { "info", FORM_INFO },
		{ "unmount", FORM_UNMOUNT }, { "version", FORM_VERSION },
		{ "help", FORM_HELP },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(name, forms[i].name) == 0)
			return take_form(parse, forms[i].form);
	}
	if (strcmp(name, "foreground") == 0) {
		parse->opts->foreground = true;
		return 0;
	}
	return take_option(parse, name);
}

/* One letter, "-oLIST" or "-o LIST"; *i moves on over an argument used. */
static int take_short(struct parse *parse, int argc, char **argv, int *i)
{
	const char *text = argv[*i] + 1;

	if (*text == 'o') {
		if (text[1])
			return take_list(parse, text + 1);
		if (*i + 1 == argc)
			return refuse(parse, "-o needs a list of options "
				      "after it");
		return take_list(parse, argv[++*i]);
	}
	if (strcmp(text, "f") == 0) {
		parse->opts->foreground = true;
		return 0;
	}
	if (strcmp(text, "d") == 0) {
		parse->opts->foreground = true;
		parse->opts->log_level = LEVEL_DEBUG;
		return hand_on(parse->opts, "debug", NULL);
	}
	if (strcmp(text, "h") == 0)
		return take_form(parse, FORM_HELP);
	if (strcmp(text, "V") == 0)
		return take_form(parse, FORM_VERSION);
	return refuse(parse, "unknown option '%s'; bloscfs --help lists the "
		      "options", argv[*i]);
}

static int check_words(struct parse *parse)
{
	const struct opts *opts = parse->opts;

	switch (opts->form) {
	case FORM_MOUNT:
		if (opts->n_words != 2)
			return refuse(parse, "%zu arguments where SOURCE and "
				      "MOUNTPOINT are needed; see bloscfs "
				      "--help", opts->n_words);
		if (opts->allow_other && opts->allow_root)
			return refuse(parse, "allow_other and allow_root "
				      "exclude each other; give one");
		if (opts->syslog && opts->log_file)
			return refuse(parse, "syslog and log_file exclude "
				      "each other; give one");
		return 0;
	case FORM_CHECK:
		if (opts->n_words == 0)
			return refuse(parse, "--check needs a container or a "
				      "folder of them; name one or more");
		return 0;
	case FORM_INFO:
		if (opts->n_words == 0)
			return refuse(parse, "--info needs a container file; "
				      "name one or more");
		return 0;
	case FORM_UNMOUNT:
		if (opts->n_words != 1)
			return refuse(parse, "--unmount needs one "
				      "MOUNTPOINT");
		return 0;
	case FORM_VERSION:
	case FORM_HELP:
		break;
	}
	return 0;
}

static void settle_masks(struct parse *parse)
{
	if (!parse->umask_set)
		return;
	if (!parse->fmask_set)
		parse->opts->fmask = parse->umask;
	if (!parse->dmask_set)
		parse->opts->dmask = parse->umask;
}

/* As the library has it: 0 is its default, and none a number of its own. */
static uint64_t settle_size(uint64_t given, uint64_t none)
{
	if (given == NOT_GIVEN)
		return 0;
	return given ? given : none;
}

int opts_parse(struct opts *opts, int argc, char **argv, char *error,
	       size_t error_cap)
{
	struct parse parse = {
		.opts = opts, .error = error, .error_cap = error_cap,
	};
	bool only_words = false;
	int status = 0;

	*opts = (struct opts){
		.form = FORM_MOUNT, .words = argv,
		.cache_size = NOT_GIVEN, .max_memory = NOT_GIVEN,
		.attr_timeout = -1, .connect_timeout = 10,
		.read_timeout = 30, .log_level = LEVEL_NOTICE,
		.notify_fd = -1, .max_request = UINT64_C(2) << 30,
	};
	for (int i = 1; i < argc && !status; i++) {
		if (only_words || argv[i][0] != '-' || !argv[i][1])
			argv[opts->n_words++] = argv[i];
		else if (strcmp(argv[i], "--") == 0)
			only_words = true;
		else if (argv[i][1] == '-')
			status = take_long(&parse, argv[i] + 2);
		else
			status = take_short(&parse, argc, argv, &i);
	}
	settle_masks(&parse);
	opts->cache_size = settle_size(opts->cache_size, BLOSCFS_NO_CACHE);
	opts->max_memory = settle_size(opts->max_memory, BLOSCFS_NO_LIMIT);
	return status ? status : check_words(&parse);
}

void opts_release(struct opts *opts)
{
	free(opts->views);
	choice_release(&opts->choice);
	free(opts->log_file);
	free(opts->catalog);
	free(opts->ca_file);
	free(opts->fsname);
	free(opts->fuse);
	opts->views = opts->log_file = opts->fsname = opts->fuse = NULL;
	opts->catalog = opts->ca_file = NULL;
}

static void write_text(FILE *out, const char *name, const char *text)
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

static void write_option(FILE *out, const struct opts *opts,
			 const struct opt *opt)
{
	const void *where = (const char *)opts + opt->where;
	const char *text;

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
	case OPT_SECONDS:
		fprintf(out, "%s=%g\n", opt->name, *(const double *)where);
		break;
	case OPT_MASK:
		fprintf(out, "%s=%04o\n", opt->name,
			(unsigned)*(const mode_t *)where);
		break;
	case OPT_TEXT:
		text = *(char *const *)where;
		if (!text && opt->where == AT(views))
			text = DEFAULT_VIEWS;
		if (text)
			write_text(out, opt->name, text);
		break;
	case OPT_FORMATS:
		write_text(out, opt->name, opts->choice.formats ?
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
	case OPT_FD:
	case OPT_RULE:
	case OPT_UMASK:
	case OPT_SUBTYPE:
	case OPT_FUSE:
	case OPT_IGNORED:
		break;
	}
}

void opts_write(const struct opts *opts, const char *source,
		const char *mountpoint, FILE *out)
{
	write_text(out, "source", source);
	write_text(out, "mountpoint", mountpoint);
	for (size_t i = 0; i < N_OPTS; i++) {
		if (table[i].where != AT(jobs) || table[i].kind != OPT_COUNT)
			write_option(out, opts, &table[i]);
	}
	for (size_t i = 0; i < opts->choice.n_rules; i++)
		write_text(out, opts->choice.rules[i].exclude ? "exclude" :
			   "include", opts->choice.rules[i].glob);
	if (opts->fuse)
		write_text(out, "libfuse", opts->fuse);
}

void opts_help(FILE *out)
{
	char name[HELP_NAME_CAP];

	fputs("usage: bloscfs [options] SOURCE MOUNTPOINT\n"
	      "       bloscfs --check SOURCE...\n"
	      "       bloscfs --info SOURCE...\n"
	      "       bloscfs --unmount MOUNTPOINT\n"
	      "       bloscfs --version | --help\n\n"
	      "Shows the Blosc containers of a directory tree, or one "
	      "container file, as\ndirectories of decoded files.\n\n"
	      "  -f, --foreground          do not go to the background\n"
	      "  -d                        the same, and log each request\n"
	      "\nOptions, alike as -o NAME[=VALUE],...; sizes take K, M, G, "
	      "T:\n", out);
	for (size_t i = 0; i < N_OPTS; i++) {
		if (!table[i].help)
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", table[i].name,
			 table[i].value ? "=" : "",
			 table[i].value ? table[i].value : "");
		fprintf(out, "  %-25s %s\n", name, table[i].help);
	}
}
