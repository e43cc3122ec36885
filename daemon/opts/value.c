/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.c - what stands behind an option's name, read for each kind of option.
 */
#include "opts/value.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

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

int opts_hand_on(struct opts *opts, const char *name, const char *value)
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
		return opts_hand_on(opts, name, NULL);
	if (!parse_size(value, &size) || size > UINT32_MAX)
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
	return opts_hand_on(opts, name, digits);
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

bool opts_take_value(struct parse *parse, const struct opt *opt,
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
	case OPT_NUMBER:
		return parse_count(value, 10, INT32_MAX / 1000, &number) &&
		       number && (*(uint64_t *)where = number);
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
	case OPT_SANDBOX:
		return sandbox_parse(value, where);
	case OPT_SUBTYPE:
		return strcmp(value, "bloscfs") == 0;
	case OPT_FUSE_FLAG:
		*(bool *)where = true;
		return opts_hand_on(opts, opt->name, NULL) == 0;
	case OPT_FUSE:
		return hand_on_value(opts, opt->name, value) == 0;
	case OPT_IGNORED:
	case OPT_GROUP:
		return true;
	}
	return false;
}
