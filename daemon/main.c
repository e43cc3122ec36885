/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - bloscfs, the program: what the command line asks for.
 */
#include "check/check.h"
#include "check/info.h"
#include "remote/url.h"
#include "tree/nested.h"
#include "opts/opts.h"
#include "mount/start.h"
#include "mount/unmount.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* What is freed shall go back to the system, from few heaps. Large buffers are
 * not the heap's; no request allocates much from it. */
static void set_heap(void)
{
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 4);
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

/* A closed descriptor 0 to 2 would become some file of ours. */
static void fill_stdio(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd < 3);
	if (fd > 2)
		close(fd);
}

/* What may grow no further (RLIMIT_FSIZE) is an error for who writes there, as
 * a full disk is; by default it would end us, and a mount with us. */
static void ignore_limit(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGXFSZ, &ignore, NULL);
}

/* What may follow an address is a secret that lets its bearer in, and the table
 * of processes shows what argv holds: it goes on in a copy. */
static bool hide_secrets(struct opts *opts)
{
	for (size_t i = 0; i < opts->n_words; i++) {
		char *given = opts->words[i], *query = strchr(given, '?');

		if (!query || !url_is(given))
			continue;
		opts->words[i] = strdup(given);
		if (!opts->words[i])
			return false;
		explicit_bzero(query, strlen(query));
	}
	return true;
}

static enum exit_code unmount(const char *mountpoint)
{
	char error[2048];

	if (unmount_run(mountpoint, error, sizeof(error)) == 0)
		return EXIT_OK;
	fprintf(stderr, "bloscfs: %s\n", error);
	return EXIT_FAILED;
}

static enum exit_code help(const char *name)
{
	if (!opts_help(stdout, name)) {
		fprintf(stderr, "bloscfs: there is no option '%s'; bloscfs "
			"--help lists them\n", name);
		return EXIT_USAGE;
	}
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

static enum exit_code run(const struct opts *opts)
{
	switch (opts->form) {
	case FORM_MOUNT:
		return opts->fake ? EXIT_OK : start_mount(opts);
	case FORM_CHECK:
		return check_run(opts);
	case FORM_INFO:
		return info_print(opts);
	case FORM_CAT:
		return info_cat(opts);
	case FORM_UNMOUNT:
		return unmount(opts->words[0]);
	case FORM_VERSION:
		return info_version();
	case FORM_HELP:
		return help(opts->help_of);
	}
	return EXIT_OK;
}

/* mount(8) has numbers of its own: 1 for a wrong call, 32 for a mount that
 * failed. */
static int as_helper(enum exit_code code)
{
	switch (code) {
	case EXIT_OK:
		return 0;
	case EXIT_USAGE:
		return 1;
	case EXIT_FAILED:
	case EXIT_SOURCE:
	case EXIT_DIED:
		break;
	}
	return 32;
}

int main(int argc, char **argv)
{
	char error[1024] = "no memory to start; free some";
	/* Parsing puts other words into argv. */
	bool helper = argc > 0 && opts_is_helper(argv[0]);
	enum exit_code code = EXIT_USAGE;
	struct opts opts;

	set_heap();
	fill_stdio();
	ignore_limit();
	bloscfs_avoid(nested_is);
	if (opts_parse(&opts, argc, argv, error, sizeof(error)) == 0)
		code = hide_secrets(&opts) ? run(&opts) : EXIT_FAILED;
	else
		fprintf(stderr, "bloscfs: %s\n", error);
	opts_release(&opts);
	return helper ? as_helper(code) : (int)code;
}
