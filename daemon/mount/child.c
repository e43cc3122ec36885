/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child.c - the process that serves, as its keeper sees it: started, heard,
 * and reaped.
 */
#include "mount/child.h"

#include "log/log.h"
#include "mount/serve.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void child_log(char *text)
{
	int level = text[0] - '0';

	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	if (level >= LEVEL_ERR && level <= LEVEL_DEBUG)
		log_msg((enum log_level)level, "%s", text + 1);
}

/* Of a system call; -1: it is none. */
static int number_of(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	return end == text || *end || number < 0 || number > INT_MAX ?
	       -1 : (int)number;
}

void child_breach(struct child *child, const char *text)
{
	child->breach = number_of(text);
}

enum exit_code child_reap(struct child *child, bool forced)
{
	char *name;
	int status;

	line_close(&child->line);
	while (waitpid(child->pid, &status, 0) < 0) {
		if (errno != EINTR)
			return EXIT_DIED;
	}
	if (WIFSIGNALED(status)) {
		log_msg(LEVEL_ERR, "who served the mount was killed by signal "
			"%d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		return forced ? EXIT_FAILED : EXIT_DIED;
	}
	if (WEXITSTATUS(status) != SANDBOX_BREACH)
		return (enum exit_code)WEXITSTATUS(status);
	name = sandbox_call_name(child->breach);
	log_msg(LEVEL_ERR, "who served the mount was ended for a system call "
		"that its sandbox forbids: %s (%d)", name ? name : "unknown",
		child->breach);
	free(name);
	return EXIT_DIED;
}

enum exit_code child_kill(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	line_close(&child->line);
	return EXIT_FAILED;
}

int child_start(struct child *child, struct daemon *daemon, const int *leave,
		size_t n_leave)
{
	pid_t self = getpid();
	struct line end;
	int status = line_make(&child->line, &end);

	if (status)
		return status;
	fflush(NULL);
	child->pid = fork();
	if (child->pid == 0) {
		line_close(&child->line);
		for (size_t i = 0; i < n_leave; i++)
			close(leave[i]);
		exit((int)serve_run(daemon, &end, self));
	}
	status = child->pid < 0 ? -errno : 0;
	log_leave_losses();
	line_close(&end);
	if (status)
		line_close(&child->line);
	return status;
}
