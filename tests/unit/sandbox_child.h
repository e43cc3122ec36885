/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox_child.h - what the sandbox's tests share: a child that enters it and
 * tries one thing, which succeeds, fails with an errno, or is its end, told by
 * its keeper's end of a line.
 */
#ifndef BFS_TESTS_SANDBOX_CHILD_H
#define BFS_TESTS_SANDBOX_CHILD_H

#include "sandbox/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534
#define WORKED 200	/* exit statuses below it are an errno */
#define CANNOT_ENTER 201

/* What is tried: 0, or an errno. */
typedef int attempt(void);

/* A folder with a file in it, another file, and a folder to be written. */
static char work[64], inside[80], outside[80], cache[80], private[80];
/* What becomes the child's root before it enters, which only root can do; NULL:
 * none. */
static const char *child_root;

struct result {
	int status;		/* of the child: exit status, or -signal */
	int call;		/* that was forbidden; -1: none */
};

static inline int make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, "text", 4) == 4 &&
		    fchmod(fd, mode) == 0;

	return fd < 0 || close(fd) || !good;
}

static inline int make_work(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(work, sizeof(work), "%.30s/bfs-test-XXXXXX",
		 tmp && strlen(tmp) < 30 ? tmp : "/tmp");
	if (!mkdtemp(work) || chmod(work, 0755))
		return 1;
	snprintf(inside, sizeof(inside), "%s/source", work);
	snprintf(cache, sizeof(cache), "%s/cache", work);
	if (mkdir(inside, 0755) || mkdir(cache, 0777) || chmod(cache, 0777))
		return 1;
	snprintf(private, sizeof(private), "%s/source/private", work);
	snprintf(inside, sizeof(inside), "%s/source/file", work);
	snprintf(outside, sizeof(outside), "%s/file", work);
	return make_file(inside, 0644) || make_file(outside, 0666) ||
	       make_file(private, 0);
}

static inline int remove_work(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", work);
	return system(command);
}

static inline struct sandbox_terms plain_terms(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/source", work);
	return (struct sandbox_terms){
		.mode = SANDBOX_REQUIRE,
		.source_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.tell_fd = -1, .tell_word = 'b',
	};
}

_Noreturn static inline void be_child(struct sandbox_terms *terms,
				      bool ordinary, attempt *try)
{
	char error[512];
	int failed;

	if (child_root && (chroot(child_root) || chdir("/")))
		_exit(CANNOT_ENTER);
	if (ordinary && geteuid() == 0 &&
	    (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		_exit(CANNOT_ENTER);
	if (sandbox_enter(terms, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		_exit(CANNOT_ENTER);
	}
	failed = try();
	_exit(failed ? failed : WORKED);
}

static inline struct result run_with(struct sandbox_terms terms, bool ordinary,
			      attempt *try)
{
	struct result result = { .call = -1 };
	char text[32] = "";
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				    ends), 0);
	terms.tell_fd = ends[1];
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_child(&terms, ordinary, try);
	close(ends[1]);
	got = recv(ends[0], text, sizeof(text) - 1, 0);
	close(ends[0]);
	if (got > 1 && text[0] == 'b')
		result.call = atoi(text + 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	result.status = WIFEXITED(status) ? WEXITSTATUS(status) :
					    -WTERMSIG(status);
	if (terms.source_fd >= 0)
		close(terms.source_fd);
	return result;
}

static inline void works(struct sandbox_terms terms, attempt *try)
{
	for (int ordinary = 0; ordinary < 2; ordinary++) {
		if (terms.source_fd >= 0)
			terms.source_fd = plain_terms().source_fd;
		assert_int_equal(run_with(terms, ordinary, try).status,
				 WORKED);
	}
}

static inline void fails(struct sandbox_terms terms, attempt *try, int error)
{
	for (int ordinary = 0; ordinary < 2; ordinary++) {
		if (terms.source_fd >= 0)
			terms.source_fd = plain_terms().source_fd;
		assert_int_equal(run_with(terms, ordinary, try).status,
				 error);
	}
}

/* It is the end, and the call is named. */
static inline void ends(struct sandbox_terms terms, attempt *try,
			const char *name)
{
	struct result result;
	char *found;

	for (int ordinary = 0; ordinary < 2; ordinary++) {
		if (terms.source_fd >= 0)
			terms.source_fd = plain_terms().source_fd;
		result = run_with(terms, ordinary, try);
		assert_int_equal(result.status, SANDBOX_BREACH);
		found = sandbox_call_name(result.call);
		assert_non_null(found);
		assert_string_equal(found, name);
		free(found);
	}
}

/* ---- What is tried in more than one file ---------------------------- */

static inline int open_with(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static inline int result_of(long got) { return got < 0 ? errno : 0; }

static inline int read_inside(void) { return open_with(inside, O_RDONLY); }
static inline int read_outside(void) { return open_with(outside, O_RDONLY); }
static inline int make_socket(void)
{
	return result_of(socket(AF_INET, 1, 0));
}

static inline int execute(void)
{
	char *argv[] = { "true", NULL };

	return result_of(execv("/bin/true", argv));
}

/* Sanitizers and valgrind make calls of their own; a kernel may lack it. */
static inline bool can_be_tested(void)
{
	const char *preload = getenv("LD_PRELOAD");

#ifdef BFS_SANITIZED
	return false;
#endif
	return calls_library() && fence_version() > 0 &&
	       !(preload && strstr(preload, "vgpreload"));
}

#endif
