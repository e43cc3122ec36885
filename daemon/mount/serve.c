/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.c - mounts, runs the workers, ends cleanly.
 *
 * The main thread takes the signals and waits; each worker takes requests
 * from the kernel and answers them. To end, the mount is taken away and the
 * workers see the device close when the last user is gone. A second signal
 * does not wait for that: it cancels what is being decoded, too.
 */
#include "mount/serve.h"

#include "log/counters.h"
#include "ops/control.h"
#include "ops/handle.h"
#include "mount/mount.h"
#include "mount/ready.h"
#include "ops/reply.h"
#include "mount/unmount.h"
#include "ops/interrupts.h"
#include "ops/threads.h"
#include "ops/work.h"
#include "tree/far.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define MAX_WORKERS 256
#define FREE_WORKERS 2
/* Ending workers are looked for so often, and given up in the end. */
#define WAIT_MS 100
#define STUCK_MS 1500
/* Interrupts a worker's system call; known signals have other uses. */
#define WAKE SIGRTMIN
#define SAID_CAP 512
#define TICK_SECONDS 5
#define TRIM_SECONDS 30

struct serve {
	struct daemon *daemon;
	pthread_t workers[MAX_WORKERS];
	unsigned n_workers;
	int signals;		/* signalfd */
	int ended;		/* eventfd: a worker ended */
	unsigned major, minor;	/* of the mount; 0:0 until known */
	bool forced;		/* not to wait for what is stuck */
	uint64_t mount_id;	/* these two: 0 until known. Numbers ... */
	uint64_t unique_id;	/* ... of devices and mounts come again */
};

/* When requests came last. */
struct use {
	uint64_t n_requests;
	time_t since;
	bool trimmed;
};

/* The last thing that libfuse said, for the sentence about a failure. */
static char fuse_said[SAID_CAP];
static atomic_bool fuse_running;

static enum log_level level_of(enum fuse_log_level level)
{
	switch (level) {
	case FUSE_LOG_EMERG:
	case FUSE_LOG_ALERT:
	case FUSE_LOG_CRIT:
	case FUSE_LOG_ERR:
		return LEVEL_ERR;
	case FUSE_LOG_WARNING:
		return LEVEL_WARN;
	case FUSE_LOG_NOTICE:
	case FUSE_LOG_INFO:
		return LEVEL_INFO;
	case FUSE_LOG_DEBUG:
		break;
	}
	return LEVEL_DEBUG;
}

__attribute__((format(printf, 2, 0)))
static void hear_fuse(enum fuse_log_level level, const char *fmt,
		      va_list args)
{
	char text[SAID_CAP];

	vsnprintf(text, sizeof(text), fmt, args);
	text[strcspn(text, "\n")] = '\0';
	if (atomic_load(&fuse_running))
		log_msg(level_of(level), "libfuse: %s", text);
	else if (text[0])
		memcpy(fuse_said, text, sizeof(text));
}

/* Requests come in memory, never through a pipe: splicing is off. */
static void count_request(const struct fuse_buf *buf)
{
	const struct fuse_in_header *head = buf->mem;

	counters_request(buf->flags & FUSE_BUF_IS_FD ? 0 : head->opcode);
}

/* Not if it is gone, or covered by another's mount. */
static bool is_mounted(const struct serve *serve)
{
	struct mount_entry entry;

	return mount_find(serve->daemon->mountpoint, &entry) &&
	       entry.major == serve->major && entry.minor == serve->minor &&
	       (!serve->mount_id || entry.id == serve->mount_id) &&
	       (!serve->unique_id || serve->unique_id ==
		mount_unique_id(serve->daemon->mountpoint));
}

/* Unmounts, and ends whatever is under way. */
_Noreturn static void leave_at_once(struct serve *serve)
{
	char reason[SAID_CAP];

	if (is_mounted(serve))
		mount_detach(serve->daemon->mountpoint, true, reason,
			     sizeof(reason));
	_exit(EXIT_FAILURE);
}

/* Storage that does not answer holds a worker for good. */
_Noreturn static void give_up(struct serve *serve)
{
	log_msg(LEVEL_ERR, "some reads do not come to an end: ends without "
		"them");
	leave_at_once(serve);
}

static void *work(void *arg)
{
	struct serve *serve = arg;
	struct daemon *daemon = serve->daemon;
	struct fuse_buf buf = { 0 };
	uint64_t one = 1;
	int len;

	counters_thread_init();
	if (reply_thread_init(true) || work_thread_init(daemon)) {
		/* Whoever asked already would wait for ever. */
		log_msg(LEVEL_ERR, "no memory for a worker's buffers: ends");
		leave_at_once(serve);
	}
	while (!fuse_session_exited(daemon->session)) {
		len = fuse_session_receive_buf(daemon->session, &buf);
		if (len == -EINTR)
			continue;
		if (len <= 0)
			break;
		count_request(&buf);
		fuse_session_process_buf(daemon->session, &buf);
		interrupts_sweep(daemon);
	}
	fuse_session_exit(daemon->session);
	free(buf.mem);
	work_thread_release();
	reply_thread_release();
	if (write(serve->ended, &one, sizeof(one)) < 0)
		log_msg(LEVEL_ERR, "cannot tell that a worker ended");
	return NULL;
}

/* Some more: they answer while as many as may decode do. */
static unsigned count_workers(const struct daemon *daemon)
{
	unsigned most = daemon->max_workers < MAX_WORKERS ?
			daemon->max_workers : MAX_WORKERS;

	return daemon->n_threads + FREE_WORKERS < most ?
	       (unsigned)daemon->n_threads + FREE_WORKERS : most;
}

static int start_workers(struct serve *serve)
{
	unsigned n = count_workers(serve->daemon);
	int status = threads_start(serve->daemon);

	if (status)
		return status;
	while (serve->n_workers < n) {
		if (pthread_create(&serve->workers[serve->n_workers], NULL,
				   work, serve))
			break;
		serve->n_workers++;
	}
	return serve->n_workers ? 0 : -EAGAIN;
}

static void wake(int signal)
{
	(void)signal;
}

/* The signals that end us are taken by the main thread alone. */
static int take_signals(struct serve *serve)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction interrupt = { .sa_handler = wake };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(WAKE, &interrupt, NULL);
	serve->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	serve->ended = eventfd(0, EFD_CLOEXEC);
	return serve->signals < 0 || serve->ended < 0 ? -errno : 0;
}

/* What fusermount3 writes to stderr belongs into our sentence. */
static int mount_quietly(struct fuse_session *session, const char *path)
{
	int ends[2], saved, status;
	ssize_t len;
	char said[SAID_CAP];

	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (saved < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		if (saved >= 0)
			close(saved);
		return fuse_session_mount(session, path);
	}
	dup2(ends[1], STDERR_FILENO);
	status = fuse_session_mount(session, path);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	len = read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	if (len > 0) {
		said[len] = '\0';
		said[strcspn(said, "\n")] = '\0';
		memcpy(fuse_said, said, sizeof(said));
	}
	return status;
}

static int make_session(struct daemon *daemon, const char *source)
{
	char *options = mount_options(daemon->opts, source);
	char *argv[] = { "bloscfs", "-o", options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	if (!options)
		return -1;
	fuse_set_log_func(hear_fuse);
	daemon->session = fuse_session_new(&args, &daemon_ops,
					   sizeof(daemon_ops), daemon);
	fuse_opt_free_args(&args);
	free(options);
	if (!daemon->session)
		return -1;
	if (mount_quietly(daemon->session, daemon->mountpoint) == 0)
		return 0;
	fuse_session_destroy(daemon->session);
	daemon->session = NULL;
	return -1;
}

/* Workers may sleep in a read that nothing ends: interrupt them. */
static void join_workers(struct serve *serve)
{
	unsigned n_waits = 0;
	struct timespec until;

	for (unsigned i = 0; i < serve->n_workers; i++) {
		for (;;) {
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += WAIT_MS * 1000000;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			if (pthread_timedjoin_np(serve->workers[i], NULL,
						 &until) != ETIMEDOUT)
				break;
			if (serve->forced && ++n_waits * WAIT_MS > STUCK_MS)
				give_up(serve);
			pthread_kill(serve->workers[i], WAKE);
		}
	}
	serve->n_workers = 0;
}

static void end_workers(struct serve *serve)
{
	bloscfs_cancel_all(serve->daemon->fs);
	fuse_session_exit(serve->daemon->session);
	for (unsigned i = 0; i < serve->n_workers; i++)
		pthread_kill(serve->workers[i], WAKE);
}

static void take_down(struct serve *serve)
{
	char reason[SAID_CAP];

	if (is_mounted(serve) &&
	    mount_detach(serve->daemon->mountpoint, true, reason,
			 sizeof(reason)) == 0)
		return;
	if (is_mounted(serve))
		log_msg(LEVEL_ERR, "cannot unmount: %s", reason);
	end_workers(serve);
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
	char reason[SAID_CAP];

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
	if (limit == 0 || (uint64_t)(now_seconds() - use->since) < limit)
		return;
	if (mount_detach(daemon->mountpoint, false, reason,
			 sizeof(reason)) == 0)
		log_msg(LEVEL_NOTICE, "not used for %llu s",
			(unsigned long long)limit);
}

static void reopen_log(const struct opts *opts)
{
	int status = opts->log_file ? log_reopen(opts->log_file) : 0;

	if (status)
		log_msg(LEVEL_ERR, "cannot open the log '%s' anew: %s",
			opts->log_file, strerror(-status));
	else if (opts->log_file)
		log_msg(LEVEL_INFO, "the log goes on");
}

/* Whether to end without waiting for those who use the mount. */
static bool take_signal(struct serve *serve, bool *asked)
{
	struct signalfd_siginfo info;

	if (read(serve->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGUSR1) {
		control_log_stats(serve->daemon);
		return false;
	}
	if (info.ssi_signo == SIGUSR2) {
		reopen_log(serve->daemon->opts);
		return false;
	}
	log_msg(LEVEL_INFO, "signal %u", info.ssi_signo);
	if (*asked) {
		serve->forced = true;
		end_workers(serve);
		return true;
	}
	ready_tell_end();
	take_down(serve);
	/* Who reads from a server that hangs would hold us up. */
	if (serve->daemon->src.far)
		shelf_hurry(far_shelf(serve->daemon->src.far));
	*asked = true;
	return false;
}

static void wait_for_end(struct serve *serve)
{
	struct pollfd fds[] = {
		{ .fd = serve->ended, .events = POLLIN },
		{ .fd = serve->signals, .events = POLLIN },
		{ .fd = interrupts_watch_fd(serve->daemon), .events = POLLIN },
	};
	struct use use = { .since = now_seconds() };
	uint64_t tick = serve->daemon->opts->idle_timeout;
	bool asked = false, watching = false;
	time_t swept = now_seconds();
	int n;

	if (tick == 0 || tick > TICK_SECONDS)
		tick = TICK_SECONDS;
	for (;;) {
		n = poll(fds, 3, watching ? INTERRUPTS_WATCH_MS : asked ? -1 :
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
		if (fds[0].revents)
			return;
		if (fds[1].revents && take_signal(serve, &asked))
			return;
	}
}

static void raise_readahead(const struct serve *serve)
{
	uint64_t len = serve->daemon->opts->readahead;
	int status;

	if (len == 0)
		return;
	status = mount_set_readahead(serve->major, serve->minor, len);
	if (status)
		log_msg(LEVEL_WARN, "the read-ahead stays at the kernel's "
			"default: %s", strerror(-status));
}

/* The first answer tells that the kernel and we have agreed. */
static int meet_mount(struct serve *serve)
{
	char name[UNMOUNT_THREAD_NAME_CAP];
	struct mount_entry entry;
	struct stat st;

	if (stat(serve->daemon->mountpoint, &st) < 0)
		return -errno;
	serve->major = major(st.st_dev);
	serve->minor = minor(st.st_dev);
	if (mount_find(serve->daemon->mountpoint, &entry) &&
	    entry.major == serve->major && entry.minor == serve->minor)
		serve->mount_id = entry.id;
	serve->unique_id = mount_unique_id(serve->daemon->mountpoint);
	unmount_thread_name(name, serve->major, serve->minor);
	for (unsigned i = 0; i < serve->n_workers; i++)
		pthread_setname_np(serve->workers[i], name);
	raise_readahead(serve);
	return 0;
}

/* libfuse would unmount whatever is on our mount point by now, unless it
 * finds its device dead. A pipe that nobody reads looks just so. */
static void drop_device(struct fuse_session *session)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	close(ends[0]);
	dup3(ends[1], fuse_session_fd(session), O_CLOEXEC);
	close(ends[1]);
}

static void close_session(struct serve *serve)
{
	struct daemon *daemon = serve->daemon;
	char reason[SAID_CAP];

	join_workers(serve);
	if (!threads_stop(daemon, serve->forced ? STUCK_MS : 0))
		give_up(serve);
	/* An aborted connection leaves its mount behind. */
	if (is_mounted(serve))
		mount_detach(daemon->mountpoint, true, reason,
			     sizeof(reason));
	drop_device(daemon->session);
	fuse_session_unmount(daemon->session);
	fuse_session_destroy(daemon->session);
	daemon->session = NULL;
	handle_free_all(daemon);
}

static int serve_mounted(struct serve *serve, serve_told told, void *arg)
{
	char error[SAID_CAP];
	int status = start_workers(serve);

	if (!status)
		status = meet_mount(serve);
	if (status) {
		snprintf(error, sizeof(error), "the mount does not answer: "
			 "%s; see the log", strerror(-status));
		told(arg, error);
		end_workers(serve);
		return -1;
	}
	log_msg(LEVEL_NOTICE, "mounted on '%s'", serve->daemon->mountpoint);
	if (told(arg, NULL))
		wait_for_end(serve);
	else
		take_down(serve);
	return 0;
}

int serve_run(struct daemon *daemon, const char *source, serve_told told,
	      void *arg)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	char error[2 * SAID_CAP];
	int status;

	if (!serve || take_signals(serve)) {
		told(arg, "no memory or descriptors to start; free some");
		free(serve);
		return -1;
	}
	serve->daemon = daemon;
	if (make_session(daemon, source)) {
		snprintf(error, sizeof(error), "cannot mount on '%s': %s; "
			 "check who may mount there", daemon->mountpoint,
			 fuse_said[0] ? fuse_said : "no reason given");
		told(arg, error);
		status = -1;
	} else {
		atomic_store(&fuse_running, true);
		status = serve_mounted(serve, told, arg);
		close_session(serve);
		if (!status)
			log_msg(LEVEL_NOTICE, "unmounted from '%s'",
				daemon->mountpoint);
	}
	close(serve->signals);
	close(serve->ended);
	free(serve);
	return status;
}
