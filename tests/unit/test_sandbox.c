/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of sandbox/: a child enters it and tries one thing, which succeeds,
 * fails with an errno, or is its end, told by its keeper's end of a line.
 */
#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- What is tried --------------------------------------------------- */

static int make_local_socket(void)
{
	return result_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int listen_there(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? errno : result_of(bind(fd, (struct sockaddr *)&any,
					       sizeof(any)));
}

/* The call itself: fork() may block signals around it, and what is forbidden
 * while SIGSYS is blocked is the end without a name. */
static int make_process(void)
{
	return result_of((int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int trace(void) { return result_of(ptrace(PTRACE_TRACEME, 0, 0, 0)); }
static int signal_parent(void) { return result_of(kill(getppid(), 0)); }
static int become_root(void) { return result_of(setuid(0)); }
static int allow_dumps(void)
{
	return result_of(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int make_mount(void)
{
	return result_of(mount("tmpfs", cache, "tmpfs", 0, NULL));
}

static int make_ring(void)
{
#ifdef SYS_io_uring_setup
	return result_of(syscall(SYS_io_uring_setup, 1, NULL));
#else
	return result_of(syscall(425, 1, NULL));
#endif
}

static int read_parents_memory(void)
{
	return result_of(syscall(SYS_process_vm_readv, getppid(), NULL, 0,
				 NULL, 0, 0));
}

/* Through the call itself, whichever one the C library takes. */
static int read_limits(void)
{
	struct rlimit limit;

	return result_of(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL,
				 &limit));
}

static int raise_limits(void)
{
	const struct rlimit limit = { 64, 64 };

	return result_of(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit,
				 NULL));
}

static int type_for_the_user(void)
{
	char letter = 'x';

	return result_of(ioctl(STDIN_FILENO, TIOCSTI, &letter));
}

static int signal_parents_thread(void)
{
	return result_of(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int signal_ourselves(void)
{
	return result_of(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid),
				 0));
}

/* The kernel would send it whenever a pipe is written to. */
static int have_parent_signalled(void)
{
	return result_of(fcntl(STDIN_FILENO, F_SETOWN, getppid()));
}

static int choose_a_signal(void)
{
	return result_of(fcntl(STDIN_FILENO, 10 /* F_SETSIG */, SIGKILL));
}

static int lease_inside(void)
{
	int fd = open(inside, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? EACCES :
	       result_of(fcntl(fd, 1024 /* F_SETLEASE */, F_RDLCK));
}

static int use_descriptor(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	return flags < 0 ? errno : result_of(fcntl(fd, F_SETFL, flags));
}

static int slow_down_parent(void)
{
	return result_of(setpriority(PRIO_PROCESS, (id_t)getppid(), 19));
}

static int slow_down_all(void)
{
	return result_of(setpriority(PRIO_USER, 0, 19));
}

static int step_back(void)
{
	return result_of(setpriority(PRIO_PROCESS, 0, 19));
}

static int schedule_parent(void)
{
	const struct sched_param param = { 0 };

	return result_of(sched_setscheduler(getppid(), SCHED_BATCH, &param));
}

static int read_parents(const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)getppid(), what);
	return open_with(path, O_RDONLY);
}

static int read_parents_pages(void) { return read_parents("mem"); }
static int read_parents_map(void) { return read_parents("maps"); }
static int read_parents_input(void) { return read_parents("fd/0"); }
static int list_parents_files(void) { return read_parents("fd"); }
static int read_parents_root(void) { return read_parents("root/etc/passwd"); }

static int write_own_limits(void)
{
	return open_with("/proc/self/oom_score_adj", O_WRONLY);
}

static int send_message(void)
{
	struct msghdr message = { 0 };

	return result_of(sendmsg(STDIN_FILENO, &message, 0));
}

static int load_program(void)
{
	return result_of(syscall(SYS_bpf, 0, NULL, 0));
}

static int catch_faults(void)
{
	return result_of(syscall(SYS_userfaultfd, 0));
}

static int read_keys(void)
{
	return result_of(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static int open_by_number(void)
{
	return result_of(syscall(SYS_open_by_handle_at, 0, NULL, 0));
}

static int take_parents_file(void)
{
#ifdef SYS_pidfd_getfd
	return result_of(syscall(SYS_pidfd_getfd, 0, 0, 0));
#else
	return result_of(syscall(438, 0, 0, 0));
#endif
}

static int watch_events(void)
{
	return result_of(syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0));
}

static int talk_to_ciphers(void)
{
	return result_of(socket(AF_NETLINK, SOCK_RAW, 21 /* CRYPTO */));
}

static int talk_to_routes(void)
{
	return result_of(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int talk_by_sctp(void)
{
	return result_of(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
}

static int make_packet_socket(void)
{
	return result_of(socket(17 /* AF_PACKET */, SOCK_RAW, 0));
}

static int call_from_the_future(void)
{
	return result_of(syscall(509));
}

static void *nothing(void *arg) { return arg; }

static int make_thread(void)
{
	pthread_t thread;
	int failed = pthread_create(&thread, NULL, nothing, NULL);

	return failed ? failed : pthread_join(thread, NULL);
}

static void *bare_socket(void *arg)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0 ? arg : NULL;
}

/* As a thread of the library's pool, which hears no signal but this one. */
static int make_socket_elsewhere(void)
{
	pthread_t thread;
	sigset_t most;

	sigfillset(&most);
	sigdelset(&most, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &most, NULL);
	if (pthread_create(&thread, NULL, bare_socket, NULL))
		return EAGAIN;
	return pthread_join(thread, NULL);
}

static int make_pair(int type)
{
	int pair[2];

	return result_of(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair));
}

/* One could be turned to any service of the machine that has a name among
 * files. */
static int make_turning_pair(void) { return make_pair(SOCK_DGRAM); }
static int make_stream_pair(void)
{
	return make_pair(SOCK_STREAM | SOCK_NONBLOCK);
}

/* The number behind a name in /proc/self/status. */
static uint64_t own_status(const char *name, int base)
{
	char line[256];
	uint64_t number = UINT64_MAX;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) == 0 &&
		    line[strlen(name)] == ':')
			number = strtoull(line + strlen(name) + 1, NULL,
					  base);
	}
	if (file)
		fclose(file);
	return number;
}

static int have_little(void)
{
	const uint64_t read_search = 1u << 2;
	struct rlimit core;
	uint64_t wanted = geteuid() == 0 ? read_search : 0;

	if (own_status("CapEff", 16) != wanted ||
	    own_status("CapPrm", 16) != wanted ||
	    own_status("CapInh", 16) != 0 || own_status("CapAmb", 16) != 0)
		return EPERM;
	if (own_status("NoNewPrivs", 10) != 1 ||
	    own_status("Seccomp", 10) != 2)
		return EACCES;
	return getrlimit(RLIMIT_CORE, &core) || core.rlim_cur || core.rlim_max;
}

static int say_what(void)
{
	const char *text = sandbox_in_force();

	return strstr(text, "Landlock") && strstr(text, "seccomp") &&
	       strstr(text, "no new privileges") && strstr(text, "no dumps") &&
	       strstr(text, "no capability") ? 0 : EINVAL;
}

static int say_none(void)
{
	return strcmp(sandbox_in_force(), "none") ? EINVAL : 0;
}

/* ---- Tests ----------------------------------------------------------- */

static void calls_that_serving_does_not_need_are_the_end(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	ends(terms, make_socket, "socket");
	ends(terms, make_socket_elsewhere, "socket");
	ends(terms, execute, "execve");
	ends(terms, make_process, "clone");
	ends(terms, trace, "ptrace");
	ends(terms, signal_parent, "kill");
	ends(terms, become_root, "setuid");
	ends(terms, raise_limits, "prlimit64");
	works(terms, read_limits);
	fails(terms, type_for_the_user, ENOTTY);
	ends(terms, make_mount, "mount");
	ends(terms, make_ring, "io_uring_setup");
	ends(terms, read_parents_memory, "process_vm_readv");
	fails(terms, allow_dumps, EINVAL);
	fails(terms, call_from_the_future, ENOSYS);
	works(terms, make_thread);
	close(terms.source_fd);
}

static void other_processes_are_out_of_reach(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	ends(terms, signal_parents_thread, "tgkill");
	works(terms, signal_ourselves);
	fails(terms, have_parent_signalled, EINVAL);
	fails(terms, choose_a_signal, EINVAL);
	fails(terms, lease_inside, EINVAL);
	works(terms, use_descriptor);
	ends(terms, slow_down_parent, "setpriority");
	ends(terms, slow_down_all, "setpriority");
	works(terms, step_back);
	ends(terms, schedule_parent, "sched_setscheduler");
	fails(terms, read_parents_pages, EACCES);
	fails(terms, read_parents_map, EACCES);
	fails(terms, read_parents_input, EACCES);
	fails(terms, list_parents_files, EACCES);
	fails(terms, read_parents_root, EACCES);
	fails(terms, write_own_limits, EACCES);
	ends(terms, take_parents_file, "pidfd_getfd");
	close(terms.source_fd);
}

static void doors_of_the_kernel_are_shut(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	ends(terms, send_message, "sendmsg");
	ends(terms, load_program, "bpf");
	ends(terms, catch_faults, "userfaultfd");
	ends(terms, read_keys, "keyctl");
	ends(terms, open_by_number, "open_by_handle_at");
	ends(terms, watch_events, "perf_event_open");
	close(terms.source_fd);
	terms.source_fd = -1;
	terms.network = true;
	fails(terms, talk_to_ciphers, EPROTONOSUPPORT);
	fails(terms, talk_by_sctp, EPROTONOSUPPORT);
	ends(terms, make_packet_socket, "socket");
	works(terms, talk_to_routes);
}

static void rights_are_gone(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	works(terms, have_little);
	works(terms, say_what);
	close(terms.source_fd);
}

static void servers_are_asked_and_never_served(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	close(terms.source_fd);
	terms.source_fd = -1;
	terms.network = true;
	works(terms, make_socket);
	fails(terms, make_local_socket, EAFNOSUPPORT);
	fails(terms, make_turning_pair, EPROTONOSUPPORT);
	works(terms, make_stream_pair);
	if (fence_version() >= 4)
		fails(terms, listen_there, EACCES);
	fails(terms, read_inside, EACCES);
	ends(terms, execute, "execve");
}

static void off_it_changes_nothing(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	terms.mode = SANDBOX_OFF;
	works(terms, read_outside);
	works(terms, make_socket);
	works(terms, say_none);
	close(terms.source_fd);
}

static void words_are_parsed(void **state)
{
	enum sandbox_mode mode = SANDBOX_OFF;

	(void)state;
	assert_true(sandbox_parse("require", &mode));
	assert_int_equal(mode, SANDBOX_REQUIRE);
	assert_true(sandbox_parse("on", &mode));
	assert_string_equal(sandbox_mode_name(mode), "on");
	assert_false(sandbox_parse("yes", &mode));
	assert_false(sandbox_parse("", &mode));
	assert_int_equal(mode, SANDBOX_ON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_serving_does_not_need_are_the_end),
		cmocka_unit_test(other_processes_are_out_of_reach),
		cmocka_unit_test(doors_of_the_kernel_are_shut),
		cmocka_unit_test(rights_are_gone),
		cmocka_unit_test(servers_are_asked_and_never_served),
		cmocka_unit_test(off_it_changes_nothing),
		cmocka_unit_test(words_are_parsed),
	};

	if (!can_be_tested()) {
		puts("1..0 # SKIP no sandbox here: Landlock, libseccomp, or "
		     "under a tool that needs more");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_work, remove_work);
}
