/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_opts.c - command lines: refused with a sentence, or taken; what was
 * taken is written, and that taken again is written alike.
 *
 * Each byte 0 ends an argument.
 */
#include "opts/opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MOST_WORDS 24

static char *write_options(const struct opts *opts)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	opts_write(opts, out);
	if (fclose(out) || !text)
		abort();
	return text;
}

/* A line as an argument; false where it is none. */
static bool take_line(char *line, char *word, size_t cap)
{
	size_t len = strlen(line);

	if (strncmp(line, "libfuse=", 8) == 0)
		return false;
	/* What is off is not said. */
	if (len > 3 && strcmp(line + len - 3, "=no") == 0)
		return false;
	if (len > 4 && strcmp(line + len - 4, "=yes") == 0)
		line[len - 4] = '\0';
	return snprintf(word, cap, "--%s", line) < (int)cap;
}

static bool is_plain(const char *text)
{
	/* Sizes without a limit and times that are the default are no values
	 * that an option takes. */
	return !strchr(text, '\\') && !strstr(text, "=18446744073709551") &&
	       !strstr(text, "=-");
}

static void try_again(const char *text)
{
	static char words[64][512];
	char *argv[72] = { (char *)"bloscfs" }, error[512] = "";
	char *copy = strdup(text), *save = NULL;
	struct opts opts;
	int argc = 1;

	if (!copy)
		abort();
	for (char *line = strtok_r(copy, "\n", &save); line && argc < 62;
	     line = strtok_r(NULL, "\n", &save))
		if (take_line(line, words[argc], sizeof(words[0]))) {
			argv[argc] = words[argc];
			argc++;
		}
	free(copy);
	if (argc == 62)
		return;
	argv[argc++] = (char *)"--";
	argv[argc++] = (char *)"source";
	argv[argc++] = (char *)"mountpoint";
	if (opts_parse(&opts, argc, argv, error, sizeof(error)) != 0)
		abort();
	opts_release(&opts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *copy = malloc(len + 1), *argv[MOST_WORDS + 2], error[512] = "";
	struct opts opts;
	char *text;
	int argc = 0, status;

	if (!copy)
		abort();
	memcpy(copy, data, len);
	copy[len] = '\0';
	argv[argc++] = (char *)"bloscfs";
	for (char *p = copy; p < copy + len && argc <= MOST_WORDS;
	     p += strlen(p) + 1)
		argv[argc++] = p;
	argv[argc] = NULL;
	status = opts_parse(&opts, argc, argv, error, sizeof(error));
	if (status && (status != -EINVAL || !error[0]) && status != -ENOMEM)
		abort();
	if (!status && opts.form == FORM_MOUNT) {
		text = write_options(&opts);
		if (is_plain(text))
			try_again(text);
		free(text);
	}
	opts_release(&opts);
	free(copy);
	return 0;
}
