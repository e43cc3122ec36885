/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.c - argv becomes a struct opts.
 *
 * "-o name=value" and "--name=value" go through the same table. A comma ends
 * an option of -o unless a backslash precedes it; the list of views= goes on
 * over commas up to the next word that is an option.
 */
#include "opts/value.h"

#include "bloscfs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_DISK_CACHE (4 << 20)
#define NOT_GIVEN (UINT64_MAX - 1)	/* no size that is given is as large */

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
	for (size_t i = 0; i < n_opts; i++) {
		if (opts_table[i].kind != OPT_GROUP &&
		    strlen(opts_table[i].name) == len &&
		    memcmp(opts_table[i].name, name, len) == 0)
			return &opts_table[i];
	}
	return NULL;
}

static int refuse_unknown(struct parse *parse, const char *name, size_t len)
{
	const char *meant = opts_guess(name, len);

	if (len == 7 && memcmp(name, "remount", len) == 0)
		return refuse(parse, "remount: a mount cannot be changed while "
			      "it is there; unmount it, and mount it anew");
	if (meant)
		return refuse(parse, "unknown option '%.*s'; did you mean %s?",
			      (int)len, name, meant);
	return refuse(parse, "unknown option '%.*s'; bloscfs --help lists the "
		      "options", (int)len, name);
}

/* text is name or name=value. */
static int take_option(struct parse *parse, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value = text[len] ? text + len + 1 : NULL;
	const struct opt *opt = find_opt(text, len);

	if (!opt && (helper_has(parse, text, len) ||
		     helper_passes_over(parse, text, len)))
		return 0;
	if (!opt)
		return refuse_unknown(parse, text, len);
	if (opt->value && !value)
		return refuse(parse, "option '%s' needs a value; write "
			      "%s=%s", opt->name, opt->name, opt->value);
	if (!opt->value && value)
		return refuse(parse, "option '%s' takes no value; write "
			      "just %s", opt->name, opt->name);
	if (opts_take_value(parse, opt, value))
		return 0;
	if (opt->kind == OPT_NUMBER)
		return refuse(parse, "'%s' is no value for option '%s'; give "
			      "a number from 1 on, or leave it out", value,
			      opt->name);
	if (opt->kind == OPT_FORMATS)
		return refuse(parse, "'%s' is no value for option '%s'; "
			      "bloscfs --version tells what it takes", value,
			      opt->name);
	return refuse(parse, "'%s' is no value for option '%s'; bloscfs "
		      "--help=%s tells what it takes", value, opt->name,
		      opt->name);
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
static bool goes_on(const struct parse *parse, const char *rest)
{
	size_t len = strcspn(rest, ",");

	return !memchr(rest, '=', len) && !find_opt(rest, len) &&
	       !helper_has(parse, rest, len);
}

static int take_list(struct parse *parse, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;
	int error = copy ? 0 : -ENOMEM;

	while (!error && rest) {
		word = cut_option(&rest);
		if (strncmp(word, "views=", 6) == 0) {
			while (rest && goes_on(parse, rest)) {
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
		return refuse(parse, "--check, --info, --cat, --unmount, "
			      "--version and --help exclude each other; give "
			      "one");
	parse->opts->form = form;
	return 0;
}

static int take_long(struct parse *parse, const char *name)
{
	size_t len = strcspn(name, "=");

	for (const struct form_name *form = opts_forms; form->name; form++) {
		if (strlen(form->name + 2) != len ||
		    memcmp(name, form->name + 2, len) != 0)
			continue;
		if (name[len] && form->form != FORM_HELP)
			return refuse(parse, "%s takes no value; write a "
				      "blank behind it, not '='", form->name);
		if (name[len])
			parse->opts->help_of = name + len + 1;
		return take_form(parse, form->form);
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

	if (parse->helper && *text != 'o')
		return helper_letters(parse, argc, argv, i);
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
		return opts_hand_on(parse->opts, "debug", NULL);
	}
	if (strcmp(text, "h") == 0)
		return take_form(parse, FORM_HELP);
	if (strcmp(text, "V") == 0)
		return take_form(parse, FORM_VERSION);
	return refuse(parse, "unknown option '%s'; bloscfs --help lists the "
		      "options", argv[*i]);
}

static int refuse_words(struct parse *parse)
{
	const struct opts *opts = parse->opts;

	if (opts->n_words == 0)
		return refuse(parse, "SOURCE and MOUNTPOINT are missing; see "
			      "bloscfs --help");
	if (opts->n_words == 1)
		return refuse(parse, "the MOUNTPOINT for '%s' is missing; "
			      "bloscfs SOURCE MOUNTPOINT, or --info or --check "
			      "without a mount", opts->words[0]);
	return refuse(parse, "'%s' is one argument more than SOURCE and "
		      "MOUNTPOINT; several are for bloscfs itself, as mount(8) "
		      "knows of one", opts->words[2]);
}

/* Not taken in silence: somebody waits for what they would write. */
static int refuse_unmounted(struct parse *parse)
{
	if (parse->opts->force && parse->opts->form != FORM_CAT)
		return refuse(parse, "force is an option of --cat; give that "
			      "as well");
	if (parse->opts->report)
		return refuse(parse, "report is an option of --check; give "
			      "that as well");
	return refuse(parse, "json is an option of --check and --info; give "
		      "one of them as well");
}

static int check_words(struct parse *parse)
{
	const struct opts *opts = parse->opts;

	switch (opts->form) {
	case FORM_MOUNT:
		if (opts->json || opts->report || opts->force)
			return refuse_unmounted(parse);
		if (opts->n_words < 2 || (parse->helper && opts->n_words > 2))
			return refuse_words(parse);
		if (opts->allow_other && opts->allow_root)
			return refuse(parse, "allow_other and allow_root "
				      "exclude each other; give one");
		if (opts->disk_cache_size < LEAST_DISK_CACHE)
			return refuse(parse, "disk_cache_size is for 4M or "
				      "more; leave disk_cache out for none");
		if (opts->syslog && opts->log_file)
			return refuse(parse, "syslog and log_file exclude "
				      "each other; give one");
		return 0;
	case FORM_CHECK:
		if (opts->n_words == 0)
			return refuse(parse, "--check needs a container or a "
				      "folder of them; name one or more");
		if (opts->force)
			return refuse_unmounted(parse);
		return 0;
	case FORM_INFO:
		if (opts->n_words == 0)
			return refuse(parse, "--info needs a container or a "
				      "folder of them; name one or more");
		if (opts->report || opts->force)
			return refuse_unmounted(parse);
		return 0;
	case FORM_CAT:
		if (opts->json || opts->report)
			return refuse_unmounted(parse);
		if (opts->n_words < 2)
			return refuse(parse, "--cat needs a container and what "
				      "of it to write, as in bloscfs --cat "
				      "x.b2nd data.bin");
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

/* For the library, to which 0 says "by default"; where a user gives 0, that
 * has a number of its own: none. */
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
		.helper = argc > 0 && opts_is_helper(argv[0]),
	};
	bool only_words = false;
	int status = 0;

	*opts = (struct opts){
		.form = FORM_MOUNT, .words = argv,
		.cache_size = NOT_GIVEN, .max_memory = NOT_GIVEN,
		.attr_timeout = -1, .connect_timeout = 10,
		.read_timeout = 30, .log_level = LEVEL_NOTICE,
		.sandbox = DEFAULT_SANDBOX,
		.notify_fd = -1, .max_request = UINT64_C(2) << 30,
		.disk_cache_size = UINT64_C(10) << 30,
		.fetch_whole = UINT64_C(32) << 20,
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
	free(opts->report);
	free(opts->catalog);
	free(opts->ca_file);
	free(opts->disk_cache);
	free(opts->fsname);
	free(opts->fuse);
	opts->views = opts->log_file = opts->fsname = opts->fuse = NULL;
	opts->catalog = opts->ca_file = opts->disk_cache = NULL;
	opts->report = NULL;
}
