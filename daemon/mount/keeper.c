/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keeper.c - has one thread, which waits for signals and for who serves.
 *
 * To end, the mount is taken away; who serves it sees the device close when the
 * last user is gone, and the line to it closes with it. A second signal does
 * not wait for that: the server gives up what is being decoded, too.
 *
 * The server may be somebody else's by then. So nothing waits for it without an
 * end that a timer sets, however much it says meanwhile.
 */
#include "mount/keeper.h"

#include "log/log.h"
#include "mount/ask.h"
#include "mount/child.h"
#include "mount/holders.h"
#include "mount/line.h"
#include "mount/point.h"
#include "mount/ready.h"
#include "mount/say.h"
#include "mount/session.h"
#include "mount/unmount.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* What a server that gives up is given to end by itself. */
#define FORCED_SECONDS 10
/* After so long somebody is in the way, and it is said who. */
#define HELD_SECONDS 1
/* What it is given for its first answer, which needs no file but SOURCE. */
#define ANSWER_SECONDS 30
/* Whoever dies more often than that is not started again. */
#define MOST_DEATHS 5
#define DEATHS_SECONDS 60
#define RESTART_MS 1000

static int kept_fd = -1;

struct keeper {
	struct daemon *daemon;
	struct child child;	/* who serves */
	struct point point;
	int signals;		/* signalfd */
	int timer;		/* timerfd: who serves has had its time; or,
				 * if not forced, should have ended by now */
	bool asked;		/* to end */
	bool forced;		/* without waiting */
	bool serves;		/* it has been mounted once */
	bool owes_log;		/* it is to be opened anew */
	time_t deaths[MOST_DEATHS];	/* CLOCK_MONOTONIC, in turn */
	unsigned n_deaths;
};

static void set_timer(struct keeper *keeper, time_t seconds)
{
	struct itimerspec spec = { .it_value = { .tv_sec = seconds } };

	timerfd_settime(keeper->timer, 0, &spec, NULL);
}

static void take_down(struct keeper *keeper)
{
	keeper->asked = true;
	line_send(&keeper->child.line, LINE_HURRY, NULL, -1);
	if (!point_detach(&keeper->point, true))
		line_send(&keeper->child.line, LINE_END, NULL, -1);
	if (!keeper->forced)
		set_timer(keeper, HELD_SECONDS);
}

/* Whoever pressed Ctrl-C sees a program that does not end. */
static void tell_holders(const struct keeper *keeper)
{
	struct holders who;

	holders_find(keeper->point.major, keeper->point.minor, &who);
	log_msg(LEVEL_NOTICE, "unmounted, and waits for %s%s%s; a second "
		"signal ends it at once", who.users[0] ? who.users :
		who.spaces[0] ? "" : "who has something open there",
		who.users[0] && who.spaces[0] ? ", " : "", who.spaces[0] ?
		who.spaces : "");
}

/* ---- Who serves ------------------------------------------------------ */

static void hear_line(struct keeper *keeper)
{
	struct line_message message;
	int got = line_hear(&keeper->child.line, &message);

	if (got == -EAGAIN)
		return;
	if (got <= 0) {
		line_close(&keeper->child.line);
		return;
	}
	switch (message.word) {
	case LINE_LOG:
		child_log(message.text);
		break;
	case LINE_IDLE:
		if (!keeper->asked && point_detach(&keeper->point, false))
			log_msg(LEVEL_NOTICE, "not used for %llu s",
				(unsigned long long)
				keeper->daemon->opts->idle_timeout);
		break;
	case LINE_BREACH:
		child_breach(&keeper->child, message.text);
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

static int start_child(struct keeper *keeper)
{
	int notify_fd = keeper->daemon->opts->notify_fd, leave[4];
	size_t n = 0;

	leave[n++] = keeper->signals;
	leave[n++] = keeper->timer;
	/* Both are closed, and others may have their numbers, when they have
	 * been told. */
	if (kept_fd >= 0 && !keeper->serves)
		leave[n++] = kept_fd;
	if (notify_fd >= 0 && !keeper->serves)
		leave[n++] = notify_fd;
	return child_start(&keeper->child, keeper->daemon, leave, n);
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
		{ .fd = keeper->child.line.hear, .events = POLLIN },
		{ .fd = keeper->signals, .events = POLLIN },
	};
	struct line_message message = { .fd = -1 };
	enum exit_code code;
	int got;

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents && is_asked_early(keeper))
			return child_kill(&keeper->child);
		got = line_hear(&keeper->child.line, &message);
		if (got == 1 && message.word == LINE_READY)
			return EXIT_OK;
		if (got == 1 && message.word == LINE_BREACH)
			child_breach(&keeper->child, message.text);
		if (got == 1 && message.word == LINE_LOG)
			child_log(message.text);
		if (got == 0)
			break;
	}
	code = child_reap(&keeper->child, keeper->forced);
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
	keeper->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return keeper->signals < 0 || keeper->timer < 0 ? -errno : 0;
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
	if (fd < 0 || !line_send(&keeper->child.line, LINE_NEW_LOG, NULL, fd))
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
		line_send(&keeper->child.line, LINE_STATS, NULL, -1);
		return;
	}
	if (number == SIGUSR2) {
		reopen_log(keeper);
		return;
	}
	log_msg(LEVEL_INFO, "signal %u", number);
	if (keeper->asked) {
		if (!keeper->forced)
			set_timer(keeper, FORCED_SECONDS);
		keeper->forced = true;
		line_send(&keeper->child.line, LINE_FORCE, NULL, -1);
		return;
	}
	ready_tell_end();
	take_down(keeper);
}

/* Until the server has ended. */
static void keep(struct keeper *keeper)
{
	struct pollfd fds[] = {
		{ .fd = keeper->child.line.hear, .events = POLLIN },
		{ .fd = keeper->signals, .events = POLLIN },
		{ .fd = keeper->timer, .events = POLLIN },
	};

	while (keeper->child.line.hear >= 0) {
		if (poll(fds, 3, -1) <= 0)
			continue;
		if (fds[2].revents) {
			if (keeper->forced)
				kill(keeper->child.pid, SIGKILL);
			else
				tell_holders(keeper);
			set_timer(keeper, 0);
		}
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
	point_know(&keeper->point);
	unmount_thread_name(name, keeper->point.major, keeper->point.minor);
	/* fusermount3 leaves a mount alone that is not dead when this one
	 * closes. The kernel closes those of a process that dies from the
	 * highest number on, and in the server this one gets a lower number
	 * than the device. */
	if (daemon->opts->auto_unmount && watched >= 0)
		line_send(&keeper->child.line, LINE_WATCHED, NULL, watched);
	line_send(&keeper->child.line, LINE_DEVICE, name,
		  fuse_session_fd(session));
	session_leave(session);
	return true;
}

/* The first answer tells that the kernel and the server have agreed. 0 or
 * -errno: -ETIMEDOUT without one, -EINTR after a signal to end. */
static int await_answer(struct keeper *keeper, dev_t *ret_dev)
{
	struct pollfd fds[] = {
		{ .events = POLLIN },
		{ .fd = keeper->signals, .events = POLLIN },
		{ .fd = keeper->timer, .events = POLLIN },
		{ .events = POLLIN },
	};
	struct asked asked;
	int status = ask_begin(&asked, keeper->daemon->mountpoint,
			       keeper->serves ? -1 : kept_fd);
	bool asked_to_end = false;

	if (status)
		return status;
	fds[3].fd = asked.fd;
	set_timer(keeper, ANSWER_SECONDS);
	do {
		fds[0].fd = keeper->child.line.hear;
		if (poll(fds, 4, -1) <= 0)
			continue;
		if (fds[0].revents)
			hear_line(keeper);
		asked_to_end = fds[1].revents && is_asked_early(keeper);
	} while (!asked_to_end && !fds[2].revents && !fds[3].revents);
	set_timer(keeper, 0);
	status = ask_end(&asked, ret_dev);
	return status == -ETIMEDOUT && asked_to_end ? -EINTR : status;
}

/* Nobody else is to wait for it. */
static void give_up(struct keeper *keeper, int status, keeper_told told,
		    void *arg)
{
	char error[SAY_CAP];

	kill(keeper->child.pid, SIGKILL);
	keeper->forced = status == -EINTR || status == -ETIMEDOUT;
	snprintf(error, sizeof(error), "the mount does not answer: %s; see "
		 "the log", status == -EINTR ? "it was ended before" :
		 strerror(-status));
	told(arg, error);
	take_down(keeper);
	keep(keeper);
}

static void serve_mount(struct keeper *keeper, keeper_told told, void *arg)
{
	const char *point = keeper->daemon->mountpoint;
	dev_t dev = 0;
	int status = await_answer(keeper, &dev);
	bool known = keeper->point.major || keeper->point.minor;

	/* The folder below answers, too, where the mount is gone again. */
	if (!status && known && dev != makedev(keeper->point.major,
					       keeper->point.minor))
		status = -ENOTCONN;
	if (status) {
		give_up(keeper, status, told, arg);
		return;
	}
	if (!known) {
		keeper->point.major = major(dev);
		keeper->point.minor = minor(dev);
	}
	point_raise_readahead(&keeper->point, keeper->daemon->opts->readahead);
	log_msg(LEVEL_NOTICE, "mounted on '%s'", point);
	if (told(arg, NULL))
		line_send(&keeper->child.line, LINE_MOUNTED, NULL, -1);
	else
		keeper->asked = true;
	keeper->serves = true;
	if (keeper->owes_log)
		reopen_log(keeper);
	keeper->owes_log = false;
	/* Also by a signal that came together with the first answer. */
	if (keeper->asked) {
		ready_tell_end();
		take_down(keeper);
	}
	keep(keeper);
}

/* In a container even root may not, unless it was started so. */
static const char *advice(void)
{
	if (!strstr(session_said(), strerror(EPERM)))
		return "check who may mount there";
	return "a container needs SYS_ADMIN and /dev/fuse to mount (--cap-add "
	       "SYS_ADMIN --device /dev/fuse); bloscfs --cat reads without a "
	       "mount";
}

static enum exit_code mount_and_keep(struct keeper *keeper, keeper_told told,
				     void *arg)
{
	const char *point = keeper->daemon->mountpoint;
	char error[SAY_CAP];
	enum exit_code code;

	if (!hand_over(keeper)) {
		snprintf(error, sizeof(error), "cannot mount on '%s': %s; %s",
			 point, session_said(), advice());
		told(arg, error);
		return child_kill(&keeper->child);
	}
	serve_mount(keeper, told, arg);
	code = child_reap(&keeper->child, keeper->forced);
	/* An aborted connection leaves its mount behind. */
	point_detach(&keeper->point, true);
	if (!keeper->point.silent)
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

	keeper->point = (struct point){ .path = keeper->daemon->mountpoint };
	keeper->child.breach = -1;
	/* A server that dies each time at once would take a whole CPU. */
	if (poll(&fd, 1, keeper->n_deaths > 1 ? RESTART_MS : 0) > 0 &&
	    is_asked_early(keeper))
		return code;
	log_msg(LEVEL_NOTICE, "serves '%s' anew", keeper->daemon->mountpoint);
	if (start_child(keeper))
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
	struct keeper keeper = {
		.daemon = daemon, .signals = -1, .timer = -1,
		.child = { .line = { .hear = -1, .speak = -1 },
			   .breach = -1 },
		.point = { .path = daemon->mountpoint },
	};
	const struct opts *opts = daemon->opts;
	enum exit_code code = EXIT_FAILED;

	if (take_signals(&keeper) || start_child(&keeper)) {
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
	if (keeper.timer >= 0)
		close(keeper.timer);
	return code;
}
