/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.c - from the sandbox to the first request, and to a clean end.
 *
 * The main thread listens to the keeper and waits, while workers answer the
 * kernel. To end, the keeper takes the mount away and the workers see the
 * device close when the last user is gone. Where it does not wait for that,
 * what is being decoded is cancelled, too.
 */
#include "mount/serve.h"

#include "log/counters.h"
#include "mount/line.h"
#include "mount/patience.h"
#include "mount/root.h"
#include "mount/say.h"
#include "mount/session.h"
#include "mount/unmount.h"
#include "mount/workers.h"
#include "ops/control.h"
#include "ops/handle.h"
#include "ops/interrupts.h"
#include "tree/far.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define TICK_SECONDS 5
#define TRIM_SECONDS 30

struct serve {
	struct daemon *daemon;
	struct workers workers;
	struct line line;	/* to the keeper */
	int null;		/* /dev/null; -1 */
};

/* A copy of the line, for the log, whose function takes no argument. */
static struct line log_line = { .hear = -1, .speak = -1 };

/* When requests came last. */
struct use {
	uint64_t n_requests;
	time_t since;
	bool trimmed;
};

/* Those that end a mount are blocked here, and the keeper's. */
static void take_signals(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
}

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* What nobody used for a while costs no memory, and for long no mount. */
static void look_for_use(struct serve *serve, struct use *use)
{
	struct daemon *daemon = serve->daemon;
	uint64_t n = counters_sum_requests();
	uint64_t limit = daemon->opts->idle_timeout;

	if (n != use->n_requests) {
		*use = (struct use){ .n_requests = n, .since = now_seconds() };
		return;
	}
	bloscfs_settle(daemon->fs);
	if (!use->trimmed && now_seconds() - use->since >= TRIM_SECONDS) {
		bloscfs_trim(daemon->fs);
#ifdef __GLIBC__
		malloc_trim(0);
#endif
		use->trimmed = true;
	}
	if (limit && (uint64_t)(now_seconds() - use->since) >= limit)
		line_tell(&serve->line, LINE_IDLE, NULL);
}

static void heed_mounted(struct serve *serve)
{
	if (serve->daemon->opts->foreground)
		return;
	/* Not before the mount is known to be there, just as the keeper: who
	 * waits for it may know both by their group (start.c). */
	setsid();
	say_no_more(serve->null);
	serve->null = -1;
}

/* Whether to end at once. Without the keeper nobody could unmount. */
static bool hear_keeper(struct serve *serve)
{
	struct line_message message = { .fd = -1 };
	int got = line_receive(&serve->line, false, &message);

	if (got == -EAGAIN)
		return false;
	if (got <= 0)
		_exit(EXIT_FAILED);
	switch (message.word) {
	case LINE_MOUNTED:
		heed_mounted(serve);
		break;
	case LINE_STATS:
		control_log_stats(serve->daemon);
		break;
	case LINE_NEW_LOG:
		if (message.fd < 0)
			break;
		log_use_fd(message.fd);
		log_msg(LEVEL_INFO, "the log goes on");
		break;
	case LINE_HURRY:
		/* Who reads from a server that hangs would hold us up. */
		if (serve->daemon->src.far)
			shelf_hurry(far_shelf(serve->daemon->src.far));
		break;
	case LINE_FORCE:
		serve->workers.forced = true;
		workers_wake(&serve->workers);
		return true;
	case LINE_END:
		workers_wake(&serve->workers);
		break;
	case LINE_READY:
	case LINE_LOG:
	case LINE_IDLE:
	case LINE_BREACH:
	case LINE_WATCHED:	/* its descriptor stays open until we end */
	case LINE_DEVICE:
		break;
	}
	return false;
}

static void wait_for_end(struct serve *serve)
{
	struct pollfd fds[] = {
		{ .fd = serve->workers.ended, .events = POLLIN },
		{ .fd = serve->line.hear, .events = POLLIN },
		{ .fd = interrupts_watch_fd(serve->daemon), .events = POLLIN },
	};
	struct use use = { .since = now_seconds() };
	uint64_t tick = serve->daemon->opts->idle_timeout;
	bool watching = false;
	time_t swept = now_seconds();
	int n;

	if (tick == 0 || tick > TICK_SECONDS)
		tick = TICK_SECONDS;
	for (;;) {
		n = poll(fds, 3, watching ? INTERRUPTS_WATCH_MS :
			 (int)tick * 1000);
		if (now_seconds() - swept >= TICK_SECONDS) {
			tree_sweep(&serve->daemon->tree);
			swept = now_seconds();
		}
		if (n == 0 && !watching)
			look_for_use(serve, &use);
		if (n == 0 ? watching : n > 0 && fds[2].revents)
			watching = interrupts_watch(serve->daemon);
		if (n <= 0)
			continue;
		if (fds[0].revents || (fds[1].revents && hear_keeper(serve)))
			return;
	}
}

static void close_session(struct serve *serve)
{
	struct daemon *daemon = serve->daemon;

	workers_end(&serve->workers);
	fuse_session_unmount(daemon->session);
	fuse_session_destroy(daemon->session);
	daemon->session = NULL;
	handle_free_all(daemon);
}

/* ---- The start ------------------------------------------------------- */

static bool log_to_keeper(enum log_level level, const char *text)
{
	char line[LINE_TEXT_CAP];

	snprintf(line, sizeof(line), "%d%s", (int)level, text);
	return line_tell(&log_line, LINE_LOG, line);
}

/* syslog(3) connects anew when it must: the keeper can. */
static void hand_on_log(struct serve *serve)
{
	log_line = serve->line;
	log_open_other(log_to_keeper);
}

/* Of several SOURCEs. NULL on no memory; to be freed. */
static int *list_sides(const struct src *src)
{
	int *fds = malloc((src->sides.n + 1) * sizeof(*fds));

	for (size_t i = 0; fds && i < src->sides.n; i++)
		fds[i] = src->sides.list[i].shares ?
			 -1 : src->sides.list[i].fd;
	return fds;
}

static int confine(const struct serve *serve, char *error, size_t cap)
{
	const struct daemon *daemon = serve->daemon;
	const char *home = getenv("HOME"), **more;
	char netrc[PATH_MAX];
	int status, *sides = list_sides(&daemon->src);
	struct sandbox_terms terms = {
		.mode = daemon->opts->sandbox,
		.source_fd = daemon->src.root_fd,
		.more_fds = sides,
		.n_more = daemon->src.sides.n,
		.network = daemon->src.far != NULL,
		.write_dir = daemon->write_dir,
		.tell_fd = serve->line.speak,
		.tell_word = LINE_BREACH,
	};

	if (!sides) {
		snprintf(error, cap, "no memory to start; free some");
		return -1;
	}
	more = terms.more_files;
	if (daemon->src.far && daemon->opts->ca_file)
		*more++ = daemon->opts->ca_file;
	/* Names and passwords of servers: curl reads it. */
	if (daemon->src.far && home &&
	    snprintf(netrc, sizeof(netrc), "%s/.netrc", home) <
	    (int)sizeof(netrc))
		*more = netrc;
	status = sandbox_enter(&terms, error, cap);
	free(sides);
	return status;
}

/* 0, or -1 where the keeper gave up. */
static int take_device(struct serve *serve)
{
	struct daemon *daemon = serve->daemon;
	struct line_message message;

	do {
		message = (struct line_message){ .fd = -1 };
		if (line_receive(&serve->line, true, &message) != 1)
			return -1;
	} while (message.word == LINE_WATCHED);
	if (message.word != LINE_DEVICE || message.fd < 0)
		return -1;
	snprintf(serve->workers.name, sizeof(serve->workers.name), "%.*s",
		 (int)sizeof(serve->workers.name) - 1, message.text);
	daemon->session = session_new(daemon);
	if (daemon->session &&
	    session_serve(daemon->session, message.fd) == 0)
		return 0;
	log_msg(LEVEL_ERR, "cannot serve the device: %s", session_said());
	return -1;
}

static enum exit_code serve_device(struct serve *serve)
{
	int status;

	if (take_device(serve))
		return EXIT_FAILED;
	session_log();
	take_signals();
	serve->workers.ended = eventfd(0, EFD_CLOEXEC);
	status = serve->workers.ended < 0 ? -errno :
		 workers_start(&serve->workers);
	if (status)
		log_msg(LEVEL_ERR, "cannot start to serve: %s",
			strerror(-status));
	else
		wait_for_end(serve);
	close_session(serve);
	return status ? EXIT_FAILED : EXIT_OK;
}

/* Starts the process that runs credential_process, which the sandbox would not
 * let us do later. */
static int hire(const struct daemon *daemon)
{
	int status = 0;

	if (daemon->src.far && daemon->opts->sandbox != SANDBOX_OFF)
		status = shelf_hire(far_shelf(daemon->src.far));
	return status;
}

static enum exit_code open_and_serve(struct serve *serve)
{
	const struct opts *opts = serve->daemon->opts;
	struct patience patience;
	char error[SAY_CAP];
	enum exit_code code;

	if (log_where() == LOG_TO_SYSLOG)
		hand_on_log(serve);
	if (hire(serve->daemon))
		return say_failed(EXIT_FAILED, "cannot start what runs "
				  "credential_process; end some processes");
	if (confine(serve, error, sizeof(error)))
		return say_failed(EXIT_FAILED, "%s", error);
	patience_begin(&patience, serve->daemon->source);
	code = root_open(serve->daemon);
	patience_end(&patience);
	if (code)
		return code;
	if (!line_tell(&serve->line, LINE_READY, NULL))
		return EXIT_FAILED;
	if (!opts->foreground && !opts->log_file)
		hand_on_log(serve);
	return serve_device(serve);
}

enum exit_code serve_run(struct daemon *daemon, const struct line *line,
			 pid_t keeper)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	enum exit_code code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!serve || getppid() != keeper)
		_exit(EXIT_FAILED);
	prctl(PR_SET_NAME, UNMOUNT_SERVER_NAME);
	serve->daemon = daemon;
	serve->line = *line;
	serve->workers.daemon = daemon;
	serve->workers.ended = -1;
	serve->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	code = open_and_serve(serve);
	root_release(daemon);
	if (serve->workers.ended >= 0)
		close(serve->workers.ended);
	free(serve);
	return code;
}
