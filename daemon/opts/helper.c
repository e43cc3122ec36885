/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper.c - the program under the name of mount.bloscfs, as mount(8) calls it
 * for `mount -t bloscfs` and lines of fstab:
 *
 *	mount.bloscfs SOURCE MOUNTPOINT [-sfnv] [-N NS] [-o LIST] [-t TYPE]
 */
#include "opts/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HELPER_NAME "mount.bloscfs"

bool opts_is_helper(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && strcmp(slash ? slash + 1 : argv0, HELPER_NAME) == 0;
}

static bool is_word(const char *name, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(name, word, len) == 0;
}

bool helper_has(const struct parse *parse, const char *name, size_t len)
{
	static const char *const words[] = {
		"_netdev", "nofail", "auto", "noauto", "user", "nouser",
		"users", "nousers", "owner", "noowner", "group", "nogroup",
		"comment", "relatime", "norelatime", "diratime", "nodiratime",
		"strictatime", "nostrictatime", "lazytime", "nolazytime",
		"async", "silent", "loud", "nosymfollow",
	};

	if (!parse->helper)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (is_word(name, len, words[i]))
			return true;
	}
	/* What systemd, autofs and udisks read begins so. */
	return len > 2 && (name[0] == 'x' || name[0] == 'X') && name[1] == '-';
}

bool helper_passes_over(const struct parse *parse, const char *name, size_t len)
{
	return parse->sloppy && !is_word(name, len, "remount");
}

/* One argument may hold several letters, as -sfn. */
int helper_letters(struct parse *parse, int argc, char **argv, int *i)
{
	const char *all = argv[*i];

	for (const char *letter = all + 1; *letter; letter++) {
		switch (*letter) {
		case 'n':	/* no entry in /etc/mtab: we make none */
		case 'v':
			break;
		case 's':
			parse->sloppy = true;
			break;
		case 'f':
			parse->opts->fake = true;
			break;
		case 't':	/* our own name; its value is behind */
			if (!letter[1] && *i + 1 < argc)
				++*i;
			return 0;
		default:
			snprintf(parse->error, parse->error_cap,
				 "mount.bloscfs knows no -%c; call bloscfs "
				 "itself", *letter);
			return -EINVAL;
		}
	}
	return 0;
}
