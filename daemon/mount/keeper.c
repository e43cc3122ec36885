/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keeper.c - has one thread, which waits for signals and for who serves.
 *
 * To end, the mount is taken away; who serves it sees the device close when the
 * last user is gone, and the line to it closes with it. A second signal does
 * not wait for that: the server gives up what is being decoded, too.
 */
#include "mount/keeper.h"

#include "log/log.h"
#include "mount/line.h"
#include "mount/mount.h"
#include "mount/ready.h"
#include "mount/say.h"
#include "mount/serve.h"
#include "mount/session.h"
#include "mount/unmount.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REASON_CAP 512
/* What a server that gives up is given to end by itself. */
#define FORCED_MS 10000
/* Whoever dies more often than that is not started again. */
#define MOST_DEATHS 5
#define DEATHS_SECONDS 60
#define RESTART_MS 1000

static int kept_fd = -1;

struct keeper {
	struct daemon *daemon;
	pid_t server;
	struct line line;	/* to it; closed where it has ended */
	int signals;		/* signalfd */
	bool asked;		/* to end */
	bool forced;		/* without waiting */
	unsigned major, minor;	/* of the mount; 0:0 until known */
	/* 0 until known. Numbers of devices and mounts come again once a mount
	 * is gone; the unique one does not, where the kernel has it. */
	uint64_t mount_id;
	uint64_t unique_id;
	int breach;		/* a call that the sandbox forbids; -1 */
	bool serves;		/* it has been mounted once */
	bool owes_log;		/* it is to be opened anew */
	time_t deaths[MOST_DEATHS];	/* CLOCK_MONOTONIC, in turn */
	unsigned n_deaths;
};

/* ---- The mount ------------------------------------------------------- */

/* Not if it is gone, or covered by another's mount. */
static bool is_mounted(const struct keeper *keeper)
{
	const char *point = keeper->daemon->mountpoint;
	struct mount_entry entry;

	return mount_find(point, &entry) && entry.major == keeper->major &&
	       entry.minor == keeper->minor &&
	       (!keeper->mount_id || entry.id == keeper->mount_id) &&
	       (!keeper->unique_id ||
		keeper->unique_id == mount_unique_id(point));
}

/* False where it was there and still is, with the reason logged. */
static bool detach(const struct keeper *keeper, bool lazy)
{
	char reason[REASON_CAP];

	if (!is_mounted(keeper))
		return false;
	if (mount_detach(keeper->daemon->mountpoint, lazy, reason,
			 sizeof(reason)) == 0)
		return true;
	if (lazy && is_mounted(keeper))
		log_msg(LEVEL_ERR, "cannot unmount: %s", reason);
	return false;
}

static void take_down(struct keeper *keeper)
{
	keeper->asked = true;
	line_send(&keeper->line, LINE_HURRY, NULL, -1);
	if (!detach(keeper, true))
		line_send(&keeper->line, LINE_END, NULL, -1);
}

/* Of what the kernel knows by itself: nobody serves yet. */
static void know_mount(struct keeper *keeper)
{
	const char *point = keeper->daemon->mountpoint;
	struct mount_entry entry;

	if (mount_find(point, &entry)) {
		keeper->major = entry.major;
		keeper->minor = entry.minor;
		keeper->mount_id = entry.id;
	}
	keeper->unique_id = mount_unique_id(point);
}

static void raise_readahead(const struct keeper *keeper)
{
	uint64_t len = keeper->daemon->opts->readahead;
	int status;

	if (len == 0)
		return;
	status = mount_set_readahead(keeper->major, keeper->minor, len);
	if (status)
		log_msg(LEVEL_WARN, "the read-ahead stays at the kernel's "
			"default: %s", strerror(-status));
}

/* ---- Who serves ------------------------------------------------------ */

/* A digit and a line, which is one line whatever it holds. */
static void log_words(char *text)
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

static void hear_line(struct keeper *keeper)
{
	struct line_message message;
	int got = line_hear(&keeper->line, &message);

	if (got == -EAGAIN)
		return;
	if (got <= 0) {
		line_close(&keeper->line);
		return;
	}
	switch (message.word) {
	case LINE_LOG:
		log_words(message.text);
		break;
	case LINE_IDLE:
		if (!keeper->asked && detach(keeper, false))
			log_msg(LEVEL_NOTICE, "not used for %llu s",
				(unsigned long long)
				keeper->daemon->opts->idle_timeout);
		break;
	case LINE_BREACH:
		keeper->breach = number_of(message.text);
		break;
	case LINE_READY:
	case LINE_WATCHED:
	case LINE_DEVICE:
	case LINE_MOUNTED:
	case LINE_STATS:
	case LINE_NEW_LOG:
	case LINE_HURRY:
	case LINE_END:
	case LINE_FORCE:
		break;
	}
}

/* The line closes when the server's process has ended, or is about to. */
static enum exit_code reap(struct keeper *keeper)
{
	char *name;
	int status;

	line_close(&keeper->line);
	while (waitpid(keeper->server, &status, 0) < 0) {
		if (errno != EINTR)
			return EXIT_DIED;
	}
	if (WIFSIGNALED(status)) {
		log_msg(LEVEL_ERR, "who served the mount was killed by signal "
			"%d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		return keeper->forced ? EXIT_FAILED : EXIT_DIED;
	}
	if (WEXITSTATUS(status) != SANDBOX_BREACH)
		return (enum exit_code)WEXITSTATUS(status);
	name = sandbox_call_name(keeper->breach);
	log_msg(LEVEL_ERR, "who served the mount was ended for a system call "
		"that its sandbox forbids: %s (%d)", name ? name : "unknown",
		keeper->breach);
	free(name);
	return EXIT_DIED;
}

static enum exit_code kill_server(struct keeper *keeper)
{
	int status;

	kill(keeper->server, SIGKILL);
	while (waitpid(keeper->server, &status, 0) < 0 && errno == EINTR)
		;
	line_close(&keeper->line);
	return EXIT_FAILED;
}

static int start_server(struct keeper *keeper)
{
	pid_t self = getpid();
	struct line end;
	int status = line_make(&keeper->line, &end);

	if (status)
		return status;
	fflush(NULL);
	keeper->server = fork();
	if (keeper->server == 0) {
		line_close(&keeper->line);
		close(keeper->signals);
		/* Both are closed, and others may have their numbers, when
		 * they have been told. */
		if (kept_fd >= 0 && !keeper->serves)
			close(kept_fd);
		if (keeper->daemon->opts->notify_fd >= 0 && !keeper->serves)
			close(keeper->daemon->opts->notify_fd);
		exit((int)serve_run(keeper->daemon, &end, self));
	}
	status = keeper->server < 0 ? -errno : 0;
	log_leave_losses();
	line_close(&end);
	if (status)
		line_close(&keeper->line);
	return status;
}

/* 0: none. */
static unsigned next_signal(const struct keeper *keeper)
{
	struct signalfd_siginfo info;

	return read(keeper->signals, &info, sizeof(info)) == sizeof(info) ?
	       info.ssi_signo : 0;
}

/* While nobody serves: whether it is one to end. */
static bool is_asked_early(struct keeper *keeper)
{
	unsigned number = next_signal(keeper);

	if (number == SIGUSR2)
		keeper->owes_log = true;
	else if (number && number != SIGUSR1)
		keeper->asked = true;
	return keeper->asked;
}

/* Until SOURCE is open. A signal to end ends it all. */
static enum exit_code await_ready(struct keeper *keeper, keeper_told told,
				  void *arg)
{
	struct pollfd fds[] = {
		{ .fd = keeper->line.hear, .events = POLLIN },
		{ .fd = keeper->signals, .events = POLLIN },
	};
	struct line_message message = { .fd = -1 };
	enum exit_code code;
	int got;

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents && is_asked_early(keeper))
			return kill_server(keeper);
		got = line_hear(&keeper->line, &message);
		if (got == 1 && message.word == LINE_READY)
			return EXIT_OK;
		if (got == 1 && message.word == LINE_BREACH)
			keeper->breach = number_of(message.text);
		if (got == 1 && message.word == LINE_LOG)
			log_words(message.text);
		if (got == 0)
			break;
	}
	code = reap(keeper);
	if (code == EXIT_DIED || code == EXIT_OK) {
		told(arg, "who was to serve the mount ended before it was "
		     "made; see the log");
		code = EXIT_DIED;
	}
	return code;
}

/* ---- The life of a mount --------------------------------------------- */

static int take_signals(struct keeper *keeper)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1,
				       SIGUSR2 };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	keeper->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return keeper->signals < 0 ? -errno : 0;
}

static void reopen_log(struct keeper *keeper)
{
	const char *path = keeper->daemon->opts->log_file;
	int status = path ? log_reopen(path) : 0, fd;

	if (!path)
		return;
	if (status) {
		log_msg(LEVEL_ERR, "cannot open the log '%s' anew: %s", path,
			strerror(-status));
		return;
	}
	fd = log_copy_fd();
	if (fd < 0 || !line_send(&keeper->line, LINE_NEW_LOG, NULL, fd))
		log_msg(LEVEL_ERR, "who serves still writes the old log");
	if (fd >= 0)
		close(fd);
}

static void hear_signal(struct keeper *keeper)
{
	unsigned number = next_signal(keeper);

	if (number == 0)
		return;
	if (number == SIGUSR1) {
		line_send(&keeper->line, LINE_STATS, NULL, -1);
		return;
	}
	if (number == SIGUSR2) {
		reopen_log(keeper);
		return;
	}
	log_msg(LEVEL_INFO, "signal %u", number);
	if (keeper->asked) {
		keeper->forced = true;
		line_send(&keeper->line, LINE_FORCE, NULL, -1);
		return;
	}
	ready_tell_end();
	take_down(keeper);
}

/* Until the server has ended. */
static void keep(struct keeper *keeper)
{
	struct pollfd fds[] = {
		{ .fd = keeper->line.hear, .events = POLLIN },
		{ .fd = keeper->signals, .events = POLLIN },
	};
	int n;

	while (keeper->line.hear >= 0) {
		n = poll(fds, 2, keeper->forced ? FORCED_MS : -1);
		if (n == 0)
			kill(keeper->server, SIGKILL);
		if (n <= 0)
			continue;
		if (fds[1].revents)
			hear_signal(keeper);
		if (fds[0].revents)
			hear_line(keeper);
	}
}

/* The mount is there, and its device with the server alone: with it the mount
 * lives and dies. */
static bool hand_over(struct keeper *keeper)
{
	struct daemon *daemon = keeper->daemon;
	struct fuse_session *session = session_new(daemon);
	char name[UNMOUNT_THREAD_NAME_CAP];
	int watched;

	if (!session)
		return false;
	if (session_mount(session, daemon->mountpoint, &watched)) {
		fuse_session_destroy(session);
		return false;
	}
	know_mount(keeper);
	unmount_thread_name(name, keeper->major, keeper->minor);
	line_send(&keeper->line, LINE_DEVICE, name, fuse_session_fd(session));
	/* It closes with the server's last descriptors, behind the device: so
	 * fusermount3 finds a mount that is dead, and not one that is dying. */
	if (daemon->opts->auto_unmount && watched >= 0)
		line_send(&keeper->line, LINE_WATCHED, NULL, watched);
	session_leave(session);
	return true;
}

/* The first answer tells that the kernel and the server have agreed. */
static void serve_mount(struct keeper *keeper, keeper_told told, void *arg)
{
	const char *point = keeper->daemon->mountpoint;
	char error[SAY_CAP];
	struct stat st;

	if (stat(point, &st) < 0) {
		snprintf(error, sizeof(error), "the mount does not answer: "
			 "%s; see the log", strerror(errno));
		told(arg, error);
		take_down(keeper);
		keep(keeper);
		return;
	}
	if (keeper->major == 0 && keeper->minor == 0) {
		keeper->major = major(st.st_dev);
		keeper->minor = minor(st.st_dev);
	}
	raise_readahead(keeper);
	log_msg(LEVEL_NOTICE, "mounted on '%s'", point);
	if (told(arg, NULL))
		line_send(&keeper->line, LINE_MOUNTED, NULL, -1);
	else
		take_down(keeper);
	keeper->serves = true;
	if (keeper->owes_log)
		reopen_log(keeper);
	keeper->owes_log = false;
	keep(keeper);
}

static enum exit_code mount_and_keep(struct keeper *keeper, keeper_told told,
				     void *arg)
{
	const char *point = keeper->daemon->mountpoint;
	char error[SAY_CAP];
	enum exit_code code;

	if (!hand_over(keeper)) {
		snprintf(error, sizeof(error), "cannot mount on '%s': %s; "
			 "check who may mount there", point, session_said());
		told(arg, error);
		return kill_server(keeper);
	}
	serve_mount(keeper, told, arg);
	code = reap(keeper);
	/* An aborted connection leaves its mount behind. */
	detach(keeper, true);
	log_msg(LEVEL_NOTICE, "unmounted from '%s'", point);
	return code;
}

/* ---- Again ----------------------------------------------------------- */

/* Those who started us are told no more. */
static bool told_in_log(void *arg, const char *error)
{
	(void)arg;
	if (error)
		log_msg(LEVEL_ERR, "%s", error);
	return !error;
}

/* Whether who served died, and not too often. */
static bool is_to_restart(struct keeper *keeper, enum exit_code code)
{
	struct timespec now;
	time_t *oldest = &keeper->deaths[keeper->n_deaths % MOST_DEATHS];

	if (!keeper->daemon->opts->restart || code != EXIT_DIED ||
	    !keeper->serves || keeper->asked)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (keeper->n_deaths >= MOST_DEATHS &&
	    now.tv_sec - *oldest < DEATHS_SECONDS) {
		log_msg(LEVEL_ERR, "who served died more than %d times in %d "
			"s: it is not started again", MOST_DEATHS,
			DEATHS_SECONDS);
		return false;
	}
	*oldest = now.tv_sec;
	keeper->n_deaths++;
	return true;
}

/* From the same beginning: the keeper has looked into nothing since. */
static enum exit_code mount_again(struct keeper *keeper)
{
	struct pollfd fd = { .fd = keeper->signals, .events = POLLIN };
	enum exit_code code = EXIT_DIED;

	keeper->major = keeper->minor = 0;
	keeper->mount_id = keeper->unique_id = 0;
	keeper->breach = -1;
	/* What dies at once would take all of a processor. */
	if (poll(&fd, 1, keeper->n_deaths > 1 ? RESTART_MS : 0) > 0 &&
	    is_asked_early(keeper))
		return code;
	log_msg(LEVEL_NOTICE, "serves '%s' anew", keeper->daemon->mountpoint);
	if (start_server(keeper))
		return code;
	code = await_ready(keeper, told_in_log, NULL);
	if (!code)
		code = mount_and_keep(keeper, told_in_log, NULL);
	return code ? EXIT_DIED : EXIT_OK;
}

void keeper_keep_fd(int fd)
{
	kept_fd = fd;
}

enum exit_code keeper_run(struct daemon *daemon, keeper_told told, void *arg)
{
	struct keeper keeper = { .daemon = daemon,
				 .line = { .hear = -1, .speak = -1 },
				 .signals = -1, .breach = -1 };
	const struct opts *opts = daemon->opts;
	enum exit_code code = EXIT_FAILED;

	if (take_signals(&keeper) || start_server(&keeper)) {
		told(arg, "no memory or descriptors to start; free some");
	} else {
		code = await_ready(&keeper, told, arg);
		/* What goes wrong until here reaches who started us. */
		if (!opts->foreground && !opts->log_file)
			log_open(LOG_TO_SYSLOG, NULL);
		if (!code)
			code = mount_and_keep(&keeper, told, arg);
		while (is_to_restart(&keeper, code))
			code = mount_again(&keeper);
	}
	if (keeper.signals >= 0)
		close(keeper.signals);
	return code;
}
