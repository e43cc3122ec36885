/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.c - the system calls of a process that serves, by seccomp(2).
 *
 * What is not listed ends the process: a handler tells the keeper which call it
 * was. Names that an architecture lacks are passed over.
 */
#include "sandbox/layers.h"

#include <errno.h>

#ifdef BFS_HAVE_SECCOMP

#include <linux/sched.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __s390__
#define CLONE_FLAGS_AT 1
#else
#define CLONE_FLAGS_AT 0
#endif

static int tell_fd = -1;
static char tell_word;

static const char *const always[] = {
	/* Bytes, and what is known of files. */
	"read", "readv", "pread64", "preadv", "preadv2", "write", "writev",
	"lseek", "_llseek", "open", "openat", "openat2", "close",
	"close_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "fstat",
	"fstat64", "stat", "stat64", "lstat", "lstat64", "newfstatat",
	"fstatat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64",
	"access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"getdents64", "getdents", "getxattr", "lgetxattr", "fgetxattr",
	"listxattr", "llistxattr", "flistxattr", "fadvise64",
	"fadvise64_64", "readahead",
	"name_to_handle_at", "getcwd", "fsync",
	/* Between threads, and with the keeper. */
	"pipe", "pipe2", "eventfd2", "poll", "ppoll", "ppoll_time64",
	"select", "_newselect", "pselect6", "epoll_create1", "epoll_ctl",
	"epoll_wait", "epoll_pwait", "epoll_pwait2", "sendto", "send",
	"sendmsg", "recvfrom", "recv", "recvmsg", "shutdown",
	/* Memory. */
	"brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise",
	"mincore", "membarrier", "mlock", "munlock",
	/* Threads, time, signals. */
	"futex", "futex_time64", "set_robust_list", "get_robust_list",
	"rseq", "set_tid_address", "sched_yield", "sched_getaffinity",
	"sched_setaffinity", "sched_getparam", "sched_getscheduler",
	"sched_setscheduler",
	"sched_get_priority_max", "sched_get_priority_min", "getcpu",
	"setpriority", "getpriority", "clock_gettime", "clock_gettime64",
	"clock_getres", "clock_nanosleep", "clock_nanosleep_time64",
	"nanosleep", "gettimeofday", "time", "times", "getrusage",
	"sysinfo", "uname", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "sigreturn", "sigaltstack", "rt_sigtimedwait",
	"restart_syscall", "tgkill", "exit", "exit_group", "getpid",
	"gettid", "getppid", "getuid", "geteuid", "getgid", "getegid",
	"getuid32", "geteuid32", "getgid32", "getegid32", "getresuid",
	"getresgid", "getgroups", "getsid", "getpgrp", "setsid",
	"getrlimit", "ugetrlimit", "getrandom", "capget",
	NULL,
};

static const char *const with_network[] = {
	"connect", "bind", "getsockname", "getpeername", "getsockopt",
	"setsockopt", "sendmmsg", "recvmmsg", "socketpair",
	NULL,
};

/* Below the folder that may be written. */
static const char *const with_files[] = {
	"pwrite64", "pwritev", "pwritev2", "ftruncate", "ftruncate64",
	"fallocate", "fdatasync", "sync_file_range", "flock", "mkdir",
	"mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
	"renameat2", "link", "linkat", "fchmod", "msync", "utimensat",
	NULL,
};

/* Younger than the library may be; they have one number everywhere. */
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465
/* From here on calls are younger than this list. The C library may try them,
 * and does without where there are none. */
#define FIRST_YOUNG 452
#define N_YOUNG 60

static int allow_young(scmp_filter_ctx filter)
{
	int status = 0;

	for (int nr = FIRST_YOUNG; nr < FIRST_YOUNG + N_YOUNG && !status;
	     nr++)
		status = seccomp_rule_add(filter, nr == NR_GETXATTRAT ||
					  nr == NR_LISTXATTRAT ?
					  SCMP_ACT_ALLOW :
					  SCMP_ACT_ERRNO(ENOSYS), nr, 0);
	return status;
}

static int allow(scmp_filter_ctx filter, const char *const *names)
{
	int number, status = 0;

	for (; *names && !status; names++) {
		number = seccomp_syscall_resolve_name(*names);
		/* Below 0: not of this architecture. */
		if (number >= 0)
			status = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
						  number, 0);
	}
	return status;
}

/* Threads yes, processes no; what the C library can do without it does without:
 * a clone3 cannot be looked into. Of settings, the names of threads. What a
 * device can be told is not for us: streams ask whether they are a terminal.
 * Limits are read only. Sockets lead to servers, not to others here. */
static const struct rule {
	int call;
	uint32_t action;
	bool network;		/* only then */
	unsigned n;		/* conditions */
	struct scmp_arg_cmp when;
} rules[] = {
	{ SCMP_SYS(clone), SCMP_ACT_ALLOW, false, 1,
	  { CLONE_FLAGS_AT, SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM,
	    CLONE_THREAD | CLONE_VM } },
	{ SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), false, 0, { 0 } },
	{ SCMP_SYS(prctl), SCMP_ACT_ALLOW, false, 1,
	  { 0, SCMP_CMP_EQ, PR_SET_NAME, 0 } },
	{ SCMP_SYS(prctl), SCMP_ACT_ERRNO(EINVAL), false, 1,
	  { 0, SCMP_CMP_NE, PR_SET_NAME, 0 } },
	{ SCMP_SYS(prlimit64), SCMP_ACT_ALLOW, false, 1,
	  { 2, SCMP_CMP_EQ, 0, 0 } },
	{ SCMP_SYS(ioctl), SCMP_ACT_ALLOW, false, 1,
	  { 1, SCMP_CMP_EQ, FIONREAD, 0 } },
	{ SCMP_SYS(ioctl), SCMP_ACT_ERRNO(ENOTTY), false, 1,
	  { 1, SCMP_CMP_NE, FIONREAD, 0 } },
	{ SCMP_SYS(socket), SCMP_ACT_ALLOW, true, 1,
	  { 0, SCMP_CMP_EQ, AF_INET, 0 } },
	{ SCMP_SYS(socket), SCMP_ACT_ALLOW, true, 1,
	  { 0, SCMP_CMP_EQ, AF_INET6, 0 } },
	{ SCMP_SYS(socket), SCMP_ACT_ALLOW, true, 1,
	  { 0, SCMP_CMP_EQ, AF_NETLINK, 0 } },
	{ SCMP_SYS(socket), SCMP_ACT_ERRNO(EAFNOSUPPORT), true, 1,
	  { 0, SCMP_CMP_EQ, AF_UNIX, 0 } },
};

static int allow_some(scmp_filter_ctx filter, bool network)
{
	int status = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];

		if (rule->call >= 0 && (network || !rule->network) && !status)
			status = seccomp_rule_add_array(filter, rule->action,
							rule->call, rule->n,
							&rule->when);
	}
	return status;
}

/* Between any two instructions of ours: only what is safe there. */
static void tell_and_end(int signal, siginfo_t *info, void *context)
{
	char text[16];
	size_t at = sizeof(text);
	unsigned number = (unsigned)info->si_syscall;

	(void)signal;
	(void)context;
	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number && at > 1);
	text[--at] = tell_word;
	if (tell_fd >= 0)
		(void)!send(tell_fd, text + at, sizeof(text) - at,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	_exit(SANDBOX_BREACH);
}

static int catch_breach(const struct sandbox_terms *terms)
{
	struct sigaction action = {
		.sa_sigaction = tell_and_end,
		.sa_flags = SA_SIGINFO,
	};
	sigset_t set;

	tell_fd = terms->tell_fd;
	tell_word = terms->tell_word;
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	if (sigaction(SIGSYS, &action, NULL) < 0 ||
	    sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
		return -errno;
	return 0;
}

int calls_close(const struct sandbox_terms *terms)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
	int status = filter ? catch_breach(terms) : -ENOMEM;

	/* A tree of comparisons; older libraries make lists. */
	if (filter)
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!status)
		status = allow(filter, always);
	if (!status && terms->network)
		status = allow(filter, with_network);
	if (!status && terms->write_dir)
		status = allow(filter, with_files);
	if (!status)
		status = allow_young(filter);
	if (!status)
		status = allow_some(filter, terms->network);
	if (!status)
		status = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return status == -EINVAL ? -ENOSYS : status;
}

#define TEXT(number) #number
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *calls_library(void)
{
	return VERSION(SCMP_VER_MAJOR, SCMP_VER_MINOR, SCMP_VER_MICRO);
}

char *calls_name(int number)
{
	return seccomp_syscall_resolve_num_arch(seccomp_arch_native(),
						number);
}

#else

const char *calls_library(void)
{
	return NULL;
}

int calls_close(const struct sandbox_terms *terms)
{
	(void)terms;
	return -EOPNOTSUPP;
}

char *calls_name(int number)
{
	(void)number;
	return NULL;
}

#endif
