/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.c - the system calls of a process that serves, by seccomp(2).
 *
 * What is not listed ends the process: a handler tells the keeper which call it
 * was. Names that an architecture lacks are passed over.
 *
 * libseccomp knows the names. Its filters take ten times as long to make as
 * these, which is a twentieth of what mounting takes, so the program for the
 * kernel is written here: what is called most comes first, then calls whose
 * arguments are looked at, then a tree of the others. Kernels since 5.11 run it
 * for all calls at the beginning, and later for the second kind only.
 */
#include "sandbox/layers.h"

#include <errno.h>

#ifdef BFS_HAVE_SECCOMP

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __s390__
#define CLONE_FLAGS_AT 1
#else
#define CLONE_FLAGS_AT 0
#endif

static int tell_fd = -1;
static char tell_word;

static const char *const often[] = {
	"read", "writev", "pread64", "futex", "poll", NULL,
};

static const char *const always[] = {
	/* Bytes, and what is known of files. */
	"readv", "preadv", "preadv2", "write", "lseek", "_llseek", "open",
	"openat", "openat2", "close", "close_range", "dup", "dup2", "dup3",
	"fstat", "fstat64", "stat", "stat64", "lstat", "lstat64", "newfstatat",
	"fstatat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64",
	"access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"getdents64", "getdents", "getxattr", "lgetxattr", "fgetxattr",
	"listxattr", "llistxattr", "flistxattr", "fadvise64",
	"fadvise64_64", "readahead",
	"name_to_handle_at", "getcwd", "fsync",
	/* Between threads, and with the keeper. */
	"pipe", "pipe2", "eventfd2", "ppoll", "ppoll_time64",
	"select", "_newselect", "pselect6", "epoll_create1", "epoll_ctl",
	"epoll_wait", "epoll_pwait", "epoll_pwait2", "recvfrom", "recv",
	"recvmsg", "shutdown",
	/* Memory. */
	"brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise",
	"mincore", "membarrier", "mlock", "munlock",
	/* Threads, time, signals. */
	"futex_time64", "set_robust_list", "get_robust_list",
	"rseq", "set_tid_address", "sched_yield", "sched_getaffinity",
	"sched_getparam", "sched_getscheduler",
	"sched_get_priority_max", "sched_get_priority_min", "getcpu",
	"getpriority", "clock_gettime", "clock_gettime64",
	"clock_getres", "clock_nanosleep", "clock_nanosleep_time64",
	"nanosleep", "gettimeofday", "time", "times", "getrusage",
	"sysinfo", "uname", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "sigreturn", "sigaltstack", "rt_sigtimedwait",
	"restart_syscall", "exit", "exit_group", "getpid",
	"gettid", "getppid", "getuid", "geteuid", "getgid", "getegid",
	"getuid32", "geteuid32", "getgid32", "getegid32", "getresuid",
	"getresgid", "getgroups", "getsid", "getpgrp", "setsid",
	"getrlimit", "ugetrlimit", "getrandom", "capget",
#ifdef __i386__
	/* All calls of sockets in one, which cannot be told apart. */
	"socketcall",
#endif
	NULL,
};

static const char *const with_network[] = {
	"sendto", "send", "sendmsg",
	"connect", "bind", "getsockname", "getpeername", "getsockopt",
	"setsockopt", "sendmmsg", "recvmmsg",
	NULL,
};

/* Below the folder that may be written. None that changes what Landlock does
 * not guard, which are owners, modes and times: root's own files may be read in
 * /usr, and are to stay what they are. */
static const char *const with_files[] = {
	"pwrite64", "pwritev", "pwritev2", "ftruncate", "ftruncate64",
	"fallocate", "fdatasync", "sync_file_range", "flock", "mkdir",
	"mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
	"renameat2", "msync",
	NULL,
};

/* Younger than the library may be; they have one number everywhere. */
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465
/* From here on calls are younger than this list. The C library may try them,
 * and does without where there are none. */
#define FIRST_YOUNG 452
#define N_YOUNG 60


#define MOST_STEPS 1024
#define MOST_NAMES 256
#define LEAF 4
#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(error) (SECCOMP_RET_ERRNO | (error))

struct program {
	struct sock_filter steps[MOST_STEPS];
	size_t n;		/* may be more than there is room for */
};

static void add(struct program *p, int code, uint32_t k, size_t jt, size_t jf)
{
	if (p->n < MOST_STEPS)
		p->steps[p->n] = (struct sock_filter){
			.code = (uint16_t)code, .k = k, .jt = (uint8_t)jt,
			.jf = (uint8_t)jf,
		};
	p->n++;
}

static void load(struct program *p, size_t offset)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t action)
{
	add(p, BPF_RET | BPF_K, action, 0, 0);
}

/* Ends with an action where the loaded word is value, else goes on. */
static void answer_to(struct program *p, uint32_t value, uint32_t action)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	answer(p, action);
}

struct numbers {
	uint32_t of[MOST_NAMES];
	size_t n;
};

static void find_numbers(struct numbers *numbers, const char *const *names)
{
	int number;

	for (; *names && numbers->n < MOST_NAMES; names++) {
		number = seccomp_syscall_resolve_name(*names);
		/* Below 0: not of this architecture. */
		if (number >= 0)
			numbers->of[numbers->n++] = (uint32_t)number;
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void add_list(struct program *p, const uint32_t *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		answer_to(p, of[i], ALLOW);
}

/* A search by halves among sorted numbers. Each end of it answers, so that the
 * instructions behind are never reached by it. */
static void add_tree(struct program *p, const uint32_t *of, size_t n)
{
	size_t half = n / 2, at;

	if (n <= LEAF) {
		add_list(p, of, n);
		answer(p, SECCOMP_RET_TRAP);
		return;
	}
	/* A conditional jump reaches 255 instructions at most, this one all. */
	add(p, BPF_JMP | BPF_JGE | BPF_K, of[half], 0, 1);
	at = p->n;
	add(p, BPF_JMP | BPF_JA, 0, 0, 0);
	add_tree(p, of, half);
	if (p->n <= MOST_STEPS)
		p->steps[at].k = (uint32_t)(p->n - at - 1);
	add_tree(p, of + half, n - half);
}

static void add_young(struct program *p)
{
	answer_to(p, NR_GETXATTRAT, ALLOW);
	answer_to(p, NR_LISTXATTRAT, ALLOW);
	add(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_YOUNG, 0, 2);
	add(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_YOUNG + N_YOUNG, 1, 0);
	answer(p, FAIL(ENOSYS));
}

/* What the headers know only with _GNU_SOURCE, or not at all. */
#define SET_PIPE_SIZE 1031
#define GET_PIPE_SIZE 1032

#define TRAP SECCOMP_RET_TRAP
#define MOST_ANSWERS 8

/* Calls that are allowed with some arguments alone:
 * clone: threads, no processes. The arguments of clone3 lie in memory, where a
 *   filter cannot look; without it the C library uses clone.
 * prctl: names of threads. ioctl: whether a stream is a terminal.
 * fcntl: copies and flags; by others, signals reach foreign processes.
 * Signals and priorities: for our own threads, as root may reach all processes.
 * prlimit64: to read limits. Sockets: only those that lead to servers and name
 *   servers, as other protocols are a large part of the kernel; pairs of them
 *   only if nothing else can be spoken to through one later. */
static const struct rule {
	const char *name;
	bool network;		/* only then */
	bool files;		/* only where there is a folder to be written */
	bool wide;		/* a pointer, which is to be NULL */
	bool of_us;		/* the value is our process */
	bool more;		/* the next rule, of the same name, decides */
	size_t argument;
	uint32_t mask;		/* of what is compared */
	size_t n;
	struct {
		uint32_t value, action;
	} answers[MOST_ANSWERS];
	uint32_t otherwise;
} rules[] = {
	{ .name = "fcntl", .argument = 1, .mask = UINT32_MAX, .n = 7,
	  .answers = { { F_GETFL, ALLOW }, { F_SETFL, ALLOW },
		       { F_GETFD, ALLOW }, { F_SETFD, ALLOW },
		       { F_DUPFD_CLOEXEC, ALLOW }, { SET_PIPE_SIZE, ALLOW },
		       { GET_PIPE_SIZE, ALLOW } },
	  .otherwise = FAIL(EINVAL) },
	{ .name = "fcntl64", .argument = 1, .mask = UINT32_MAX, .n = 7,
	  .answers = { { F_GETFL, ALLOW }, { F_SETFL, ALLOW },
		       { F_GETFD, ALLOW }, { F_SETFD, ALLOW },
		       { F_DUPFD_CLOEXEC, ALLOW }, { SET_PIPE_SIZE, ALLOW },
		       { GET_PIPE_SIZE, ALLOW } },
	  .otherwise = FAIL(EINVAL) },
	{ .name = "clone", .argument = CLONE_FLAGS_AT,
	  .mask = CLONE_THREAD | CLONE_VM, .n = 1,
	  .answers = { { CLONE_THREAD | CLONE_VM, ALLOW } },
	  .otherwise = TRAP },
	{ .name = "clone3", .otherwise = FAIL(ENOSYS) },
	{ .name = "tgkill", .of_us = true, .mask = UINT32_MAX, .n = 1,
	  .answers = { { 0, ALLOW } }, .otherwise = TRAP },
	{ .name = "setpriority", .mask = UINT32_MAX, .more = true, .n = 1,
	  .answers = { { PRIO_PROCESS, ALLOW } }, .otherwise = TRAP },
	{ .name = "setpriority", .argument = 1, .mask = UINT32_MAX, .n = 1,
	  .answers = { { 0, ALLOW } }, .otherwise = TRAP },
	{ .name = "sched_setscheduler", .mask = UINT32_MAX, .n = 1,
	  .answers = { { 0, ALLOW } }, .otherwise = TRAP },
	{ .name = "prctl", .mask = UINT32_MAX, .n = 1,
	  .answers = { { PR_SET_NAME, ALLOW } }, .otherwise = FAIL(EINVAL) },
	{ .name = "prlimit64", .wide = true, .argument = 2,
	  .mask = UINT32_MAX, .n = 1, .answers = { { 0, ALLOW } },
	  .otherwise = TRAP },
	{ .name = "ioctl", .argument = 1, .mask = UINT32_MAX, .n = 1,
	  .answers = { { FIONREAD, ALLOW } }, .otherwise = FAIL(ENOTTY) },
	{ .name = "socket", .network = true, .argument = 2,
	  .mask = UINT32_MAX, .more = true, .n = 3,
	  .answers = { { 0, ALLOW }, { IPPROTO_TCP, ALLOW },
		       { IPPROTO_UDP, ALLOW } },
	  .otherwise = FAIL(EPROTONOSUPPORT) },
	{ .name = "socket", .network = true, .mask = UINT32_MAX, .n = 4,
	  .answers = { { AF_INET, ALLOW }, { AF_INET6, ALLOW },
		       { AF_NETLINK, ALLOW },
		       { AF_UNIX, FAIL(EAFNOSUPPORT) } }, .otherwise = TRAP },
	{ .name = "socketpair", .network = true, .argument = 1,
	  .mask = (uint32_t)~(SOCK_CLOEXEC | SOCK_NONBLOCK), .n = 1,
	  .answers = { { SOCK_STREAM, ALLOW } },
	  .otherwise = FAIL(EPROTONOSUPPORT) },
	/* Of a file that is open, now. */
	{ .name = "utimensat", .files = true, .wide = true, .argument = 1,
	  .mask = UINT32_MAX, .more = true, .n = 1, .answers = { { 0, ALLOW } },
	  .otherwise = FAIL(EPERM) },
	{ .name = "utimensat", .files = true, .wide = true, .argument = 2,
	  .mask = UINT32_MAX, .n = 1, .answers = { { 0, ALLOW } },
	  .otherwise = FAIL(EPERM) },
};

/* Loads one half of an argument, which has 64 bits. */
static void load_argument(struct program *p, size_t i, bool upper)
{
	bool second = upper == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	load(p, offsetof(struct seccomp_data, args) + 8 * i +
	     (second ? 4 : 0));
}

/* Answers a call whose number matched, by its argument. With rule->more, what
 * is one of the answers is judged by the next rule, which is of the same call;
 * the loaded word is the argument by then, and the number no longer. */
static void judge(struct program *p, const struct rule *rule)
{
	uint32_t value;

	if (rule->wide) {
		load_argument(p, rule->argument, true);
		add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
		answer(p, rule->otherwise);
	}
	load_argument(p, rule->argument, false);
	add(p, BPF_ALU | BPF_AND | BPF_K, rule->mask, 0, 0);
	for (size_t i = 0; i < rule->n; i++) {
		value = rule->of_us ? (uint32_t)getpid() :
				      rule->answers[i].value;
		/* Over the values left, and the answer to all else. */
		if (rule->more)
			add(p, BPF_JMP | BPF_JEQ | BPF_K, value,
			    rule->n - i, 0);
		else
			answer_to(p, value, rule->answers[i].action);
	}
	answer(p, rule->otherwise);
}

static void add_rules(struct program *p, const struct sandbox_terms *terms)
{
	const struct rule *end = rules + sizeof(rules) / sizeof(rules[0]);
	size_t before, at;
	int number;

	for (const struct rule *rule = rules; rule < end; rule++) {
		number = seccomp_syscall_resolve_name(rule->name);
		if (number < 0 || (rule->network && !terms->network) ||
		    (rule->files && !terms->write_dir))
			continue;
		before = p->n;
		add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 0);
		at = p->n;
		for (; rule->more; rule++)
			judge(p, rule);
		judge(p, rule);
		if (p->n <= MOST_STEPS)
			p->steps[before].jf = (uint8_t)(p->n - at);
	}
}

static int enforce(const struct program *p)
{
	struct sock_fprog filter = {
		.len = (unsigned short)p->n,
		.filter = (struct sock_filter *)p->steps,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* Kernels before 5.16 would else slow down all that runs here, to guard
	 * parts of a process from one another. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0)
		return 0;
	return errno == EINVAL ? -ENOSYS : -errno;
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
		(void)!write(tell_fd, text + at, sizeof(text) - at);
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
	struct program *p = calloc(1, sizeof(*p));
	struct numbers first = { .n = 0 }, others = { .n = 0 };
	int status = p ? catch_breach(terms) : -ENOMEM;

	if (!status) {
		load(p, offsetof(struct seccomp_data, arch));
		add(p, BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0);
		answer(p, SECCOMP_RET_KILL_PROCESS);
		load(p, offsetof(struct seccomp_data, nr));
		find_numbers(&first, often);
		find_numbers(&others, always);
		if (terms->network)
			find_numbers(&others, with_network);
		if (terms->write_dir)
			find_numbers(&others, with_files);
		qsort(others.of, others.n, sizeof(others.of[0]), compare);
		add_list(p, first.of, first.n);
		add_rules(p, terms);
		add_young(p);
		add_tree(p, others.of, others.n);
		status = p->n <= MOST_STEPS && others.n < MOST_NAMES ?
			 enforce(p) : -E2BIG;
	}
	free(p);
	return status;
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
