/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start.c - opens the source, checks the mount point, goes to the background.
 *
 * What can fail without looking into SOURCE fails before the fork. The parent
 * waits at a pipe for the child's word, then asks the mount itself, and only
 * then returns. The child, the mount's keeper, leaves the session after that
 * word and not before: an automounter waits with all who do not belong to its
 * own group. The library starts its threads when first needed, so none is lost
 * in a fork.
 */
#include "mount/start.h"

#include "log/log.h"
#include "remote/url.h"
#include "tree/far.h"
#include "tree/sides_add.h"
#include "mount/ask.h"
#include "mount/keeper.h"
#include "mount/mount.h"
#include "mount/patience.h"
#include "mount/ready.h"
#include "mount/root.h"
#include "mount/say.h"
#include "tree/source_rights.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAST_MEMORY (1 << 20)
#define THREAD_MEMORY (32 << 10)	/* buffers of one thread */
#define MAX_IDLE_CONTAINERS 256
#define MAX_DIRS 1024
#define FAR_THREADS 32	/* that wait for a server, most of the time */
#define OWN_FILES 14	/* the device, the source, the log, the keeper ... */
#define WORKER_FILES 4	/* that one request opens at most */
#define ANSWER_MS 30000	/* of who serves, who has answered once */
#define DEFAULT_TIMEOUT 5
#define IMMUTABLE_TIMEOUT 86400

/* As many descriptors as we may have. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Who gets how many of them: the mount itself, each worker for the time of a
 * request, folders being listed; and opened files, which take what is left in
 * turn. */
static void share_descriptors(struct daemon *daemon)
{
	struct rlimit limit = { .rlim_cur = 64, .rlim_max = 64 };
	size_t own = OWN_FILES + sides_count_fds(&daemon->src.sides);
	size_t n, quarter;

	getrlimit(RLIMIT_NOFILE, &limit);
	n = limit.rlim_cur > own ? limit.rlim_cur - own : 1;
	quarter = n / 4;
	daemon->max_workers = quarter / WORKER_FILES < UINT_MAX ?
			      (unsigned)(quarter / WORKER_FILES) : UINT_MAX;
	if (daemon->max_workers < 2)
		daemon->max_workers = 2;
	daemon->max_dirs = quarter < MAX_DIRS ? (unsigned)quarter : MAX_DIRS;
	bloscfs_fd_set_limit(quarter > 16 ? 2 * quarter : quarter + 1);
	daemon->max_idle = quarter < MAX_IDLE_CONTAINERS ?
			   quarter : MAX_IDLE_CONTAINERS;
}

static enum exit_code make_library(struct daemon *daemon)
{
	const struct opts *opts = daemon->opts;
	bool far = far_is(opts, opts->words[0]);
	struct bloscfs_options options = {
		.size = sizeof(options), .cache_size = opts->cache_size,
		.max_memory = opts->max_memory,
		.threads = opts->threads || !far ? (unsigned)opts->threads :
						   FAR_THREADS,
		.views = opts->views, .drop_behind = opts->drop_behind,
	};
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = bloscfs_new(&options, &daemon->fs, &why);

	if (err == BLOSCFS_ERR_INVALID)
		return say_failed(EXIT_USAGE, "wrong options: %s; bloscfs "
			    "--version lists the views", why.text);
	if (err != BLOSCFS_OK)
		return say_failed(EXIT_FAILED, "cannot start: %s; try other "
			    "limits", why.text);
	return EXIT_OK;
}

static enum exit_code open_far(struct daemon *daemon, const char *source)
{
	const struct opts *opts = daemon->opts;
	char error[1024];

	if (opts->offset || opts->length)
		return say_failed(EXIT_USAGE, "offset and length are for files "
				  "of this machine; leave them out");
	if (far_open(source, opts, &daemon->src.far, error, sizeof(error)))
		return say_failed(EXIT_SOURCE, "%s", error);
	daemon->src.choice = &opts->choice;
	far_set_library(daemon->src.far, daemon->fs);
	if (!opts->disk_cache)
		return EXIT_OK;
	daemon->write_dir = realpath(opts->disk_cache, NULL);
	return daemon->write_dir ? EXIT_OK :
	       say_failed(EXIT_FAILED, "cannot find '%s': %s; give another "
			  "disk_cache", opts->disk_cache, strerror(errno));
}

/* status: of opening it. */
static enum exit_code refuse_source(const char *source, int status)
{
	if (status == -ENOENT && url_is_other(source))
		return say_failed(EXIT_SOURCE, "'%s' " URL_OTHER, source);
	if (status == -ENOENT)
		return say_failed(EXIT_SOURCE, "'%s' does not exist; give a "
			    "directory or a container file", source);
	if (status == -ENOTSUP)
		return say_failed(EXIT_SOURCE, "'%s' is neither a directory "
				  "nor a regular file; give one of these",
				  source);
	return say_failed(EXIT_SOURCE, "cannot open '%s': %s; give a directory "
			  "or a container file that you may read", source,
			  strerror(-status));
}

static enum exit_code open_source(struct daemon *daemon, const char *source)
{
	int status;

	if (far_is(daemon->opts, source))
		return open_far(daemon, source);
	status = src_open(&daemon->src, source);
	if (status)
		return refuse_source(source, status);
	if (!daemon->src.file && (daemon->opts->offset ||
				  daemon->opts->length))
		return say_failed(EXIT_USAGE, "offset and length are for one "
			    "container file, but '%s' is a directory; leave "
			    "them out", source);
	return EXIT_OK;
}

/* Above SOURCE, which is out of reach of who serves it. */
static enum exit_code look_above(struct daemon *daemon)
{
	int status = daemon->src.far || daemon->src.file ? 0 :
		     choice_in_store(daemon->src.root_fd,
				     &daemon->lies_in_store);

	if (!status)
		return EXIT_OK;
	return say_failed(EXIT_SOURCE, "cannot look into '%s': %s; give "
			  "another", daemon->opts->words[0],
			  strerror(-status));
}

/* One of several, and above it. */
static enum exit_code open_side(struct daemon *daemon, const char *source)
{
	int status = sides_add(&daemon->src, source);
	struct side *side;

	if (status == -ENAMETOOLONG)
		return say_failed(EXIT_SOURCE, "'%s' has too long a name, or "
				  "one without room for the number that tells "
				  "equal names apart; give a short link to it",
				  source);
	if (status)
		return refuse_source(source, status);
	side = &daemon->src.sides.list[daemon->src.sides.n - 1];
	status = side->file ? 0 : choice_in_store(side->fd,
						  &side->lies_in_store);
	if (!status)
		return EXIT_OK;
	return say_failed(EXIT_SOURCE, "cannot look into '%s': %s; give "
			  "another", source, strerror(-status));
}

static enum exit_code open_sides(struct daemon *daemon)
{
	const struct opts *opts = daemon->opts;
	enum exit_code code = EXIT_OK;
	struct patience patience;

	for (size_t i = 0; i < opts_n_sources(opts); i++)
		if (far_is(opts, opts->words[i]))
			return say_failed(EXIT_USAGE, "several sources: what "
				"is on servers is mounted alone; call bloscfs "
				"once for each of these");
	if (opts->offset || opts->length)
		return say_failed(EXIT_USAGE, "offset and length are for one "
				  "container file, but there are several "
				  "sources; leave them out");
	daemon->src.sides.made = daemon->started;
	for (size_t i = 0; !code && i < opts_n_sources(opts); i++) {
		patience_begin(&patience, opts->words[i]);
		code = open_side(daemon, opts->words[i]);
		patience_end(&patience);
	}
	return code;
}

/* What SOURCE lies on may not answer: a mount whose server is away. */
static enum exit_code look_at_source(struct daemon *daemon)
{
	struct patience patience;
	enum exit_code code;

	if (opts_n_sources(daemon->opts) > 1)
		return open_sides(daemon);
	patience_begin(&patience, daemon->source);
	code = open_source(daemon, daemon->opts->words[0]);
	if (!code)
		code = look_above(daemon);
	patience_end(&patience);
	return code;
}

/* Whether it is shown itself. */
static bool is_source(const struct src *src, const struct stat *point)
{
	struct stat st;

	for (size_t i = 0; i < src->sides.n; i++)
		if (!src->sides.list[i].file &&
		    src->sides.list[i].dev == point->st_dev &&
		    src->sides.list[i].ino == point->st_ino)
			return true;
	return src->root_fd >= 0 && !src->file &&
	       fstat(src->root_fd, &st) == 0 && st.st_dev == point->st_dev &&
	       st.st_ino == point->st_ino;
}

/* What lies at the mount point is out of sight until the mount ends, and may be
 * missed. Where that is not to be seen nothing is said. */
static void note_hidden(const struct daemon *daemon, const char *point)
{
	DIR *dir = opendir(daemon->mountpoint);
	const struct dirent *entry;
	struct stat st;

	if (!dir)
		return;
	do
		entry = readdir(dir);
	while (entry && (!strcmp(entry->d_name, ".") ||
			 !strcmp(entry->d_name, "..")));
	if (entry && fstat(dirfd(dir), &st) == 0 &&
	    !is_source(&daemon->src, &st))
		fprintf(stderr, "bloscfs: note: '%s' is not empty; what is in "
			"it is hidden until it is unmounted\n", point);
	closedir(dir);
}

static enum exit_code check_point(struct daemon *daemon, const char *point)
{
	char error[SAY_CAP];

	if (mount_check(daemon->opts, point, &daemon->mountpoint,
			&daemon->made_point, error, sizeof(error)))
		return say_failed(EXIT_FAILED, "%s", error);
	if (!daemon->made_point)
		note_hidden(daemon, point);
	return EXIT_OK;
}

static enum exit_code open_log(const struct opts *opts)
{
	int status = 0;

	log_set_level(opts->log_level);
	if (opts->log_file)
		status = log_open(LOG_TO_FILE, opts->log_file);
	else if (opts->syslog)
		status = log_open(LOG_TO_SYSLOG, NULL);
	if (status)
		return say_failed(EXIT_FAILED, "cannot write the log '%s': %s; "
			    "give another log_file", opts->log_file,
			    strerror(-status));
	if (opts->notify_fd >= 0 && fcntl(opts->notify_fd, F_GETFD) < 0)
		return say_failed(EXIT_USAGE, "notify_fd=%d is not an open "
			    "descriptor; open it for bloscfs first",
			    opts->notify_fd);
	return EXIT_OK;
}

static uint64_t count_threads(struct bloscfs *fs)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };

	bloscfs_stats_get(fs, &stats);
	return stats.threads;
}

/* Without room for its threads' buffers a mount would answer nobody. */
static enum exit_code check_memory(const struct daemon *daemon)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };
	uint64_t least = LEAST_MEMORY + daemon->n_threads * THREAD_MEMORY;

	bloscfs_stats_get(daemon->fs, &stats);
	if (!stats.memory_budget || stats.memory_budget >= least)
		return EXIT_OK;
	return say_failed(EXIT_USAGE, "max_memory is %" PRIu64 " bytes, where %"
		    PRIu64 " threads need %" PRIu64 " at least; give more "
		    "memory or fewer threads", stats.memory_budget,
		    daemon->n_threads, least);
}

/* All but the mount itself, cheapest and most likely faults first. */
static enum exit_code prepare(struct daemon *daemon)
{
	const struct opts *opts = daemon->opts;
	enum exit_code code;

	raise_descriptors();
	code = make_library(daemon);
	if (daemon->fs)
		daemon->n_threads = count_threads(daemon->fs);
	if (!code)
		code = check_memory(daemon);
	if (!code)
		code = open_log(opts);
	if (!code)
		code = look_at_source(daemon);
	share_descriptors(daemon);
	if (!code)
		code = check_point(daemon, opts->words[opts->n_words - 1]);
	if (opts->attr_timeout >= 0)
		daemon->timeout = opts->attr_timeout;
	else
		daemon->timeout = opts->immutable ? IMMUTABLE_TIMEOUT :
						    DEFAULT_TIMEOUT;
	if (daemon->src.far)
		far_set_fresh(daemon->src.far, daemon->timeout);
	daemon->src.parts_ns = daemon->timeout < 1 ?
			       (int64_t)(daemon->timeout * 1e9) : 1000000000;
	return code;
}

/* What was made for this mount goes with it, unless somebody put something
 * there meanwhile. */
static void leave_point(const struct daemon *daemon)
{
	if (daemon->made_point && daemon->mountpoint)
		rmdir(daemon->mountpoint);
}

static bool told_in_foreground(void *arg, const char *error)
{
	if (error) {
		say_failed(EXIT_FAILED, "%s", error);
		return false;
	}
	ready_tell(arg);
	return true;
}

/* What the child tells its waiting parent through. */
struct word {
	const struct opts *opts;
	int fd;
};

/* One byte for good; a sentence otherwise, or nothing where somebody has said
 * it to stderr. */
static bool told_in_background(void *arg, const char *error)
{
	struct word *word = arg;
	size_t len = error ? strlen(error) : 1;
	bool heard = write(word->fd, error ? error : "", len) ==
		     (ssize_t)len;

	close(word->fd);
	if (error)
		return false;
	/* Only now: who has made the mount point for us (autofs) knows us by
	 * our group, and lets nobody else look at it before we are done. */
	setsid();
	ready_tell(word->opts);
	say_no_more(-1);
	return heard;
}

static enum exit_code run_child(struct daemon *daemon, int fd)
{
	struct word word = { .opts = daemon->opts, .fd = fd };
	enum exit_code code;

	if (chdir("/") < 0)
		log_msg(LEVEL_WARN, "cannot leave the working directory");
	keeper_keep_fd(fd);
	code = keeper_run(daemon, told_in_background, &word);
	leave_point(daemon);
	root_release(daemon);
	return code;
}

/* The child ended without a word, after one to stderr if it could. */
static enum exit_code ask_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) != EXIT_OK)
		return (enum exit_code)WEXITSTATUS(status);
	return say_failed(EXIT_FAILED, "the daemon ended before it mounted; "
			  "see the log");
}

static enum exit_code await_child(pid_t pid, int fd, const char *mountpoint)
{
	char word[SAY_CAP];
	size_t len = 0;
	ssize_t got;
	int status;

	while (len < sizeof(word) - 1 &&
	       ((got = read(fd, word + len, sizeof(word) - 1 - len)) > 0 ||
		(got < 0 && errno == EINTR)))
		len += got > 0 ? (size_t)got : 0;
	word[len] = '\0';
	close(fd);
	if (len == 0)
		return ask_child(pid);
	if (word[0])
		return say_failed(EXIT_FAILED, "%s", word);
	status = ask_answers(mountpoint, ANSWER_MS);
	if (!status)
		return EXIT_OK;
	say_failed(EXIT_FAILED, "the mount on '%s' does not answer: %s; see "
		   "the log", mountpoint, strerror(-status));
	/* The second one does not wait for those who wait for the mount. */
	kill(pid, SIGTERM);
	kill(pid, SIGINT);
	waitpid(pid, NULL, 0);
	return EXIT_FAILED;
}

static enum exit_code run_background(struct daemon *daemon)
{
	enum exit_code code;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		code = say_failed(EXIT_FAILED, "cannot make a pipe: %s; close "
				  "some files", strerror(errno));
		leave_point(daemon);
		return code;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		_exit(run_child(daemon, ends[1]));
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		code = say_failed(EXIT_FAILED, "cannot fork: %s; end some "
				  "processes", strerror(errno));
		leave_point(daemon);
		return code;
	}
	code = await_child(pid, ends[0], daemon->mountpoint);
	return code;
}

/* Signals that do not end a mount do not end its start: the keeper hears them
 * when it is there. Who opens SOURCE may wait for long. */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

enum exit_code start_mount(const struct opts *opts)
{
	struct daemon daemon = { .opts = opts, .src.root_fd = -1,
				 .started = time(NULL) };
	char *given = opts->words[0], *query = given + strcspn(given, "?");
	const char *source = given;
	char *real = NULL;
	enum exit_code code;

	hold_signals();
	/* What may follow an address is a secret that lets its bearer in. */
	if (far_is(opts, given)) {
		real = strndup(given, (size_t)(query - given));
		source = real ? real : "";
	}
	daemon.source = source;
	code = prepare(&daemon);
	if (!code && daemon.src.far) {
		/* What was opened until now is no part of the child. */
		far_rest(daemon.src.far);
	} else if (!code && daemon.src.sides.n) {
		source = real = sides_text(&daemon.src.sides);
		if (!real)
			code = say_failed(EXIT_FAILED, "no memory to start; "
					  "free some");
	} else if (!code && source[0] != '/') {
		real = realpath(source, NULL);
		source = real ? real : source;
	}
	daemon.source = source;
	if (!code && !opts->foreground) {
		code = run_background(&daemon);
	} else {
		if (!code)
			code = keeper_run(&daemon, told_in_foreground,
					  (void *)opts);
		leave_point(&daemon);
	}
	root_release(&daemon);
	free(real);
	return code;
}
