/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.c - files within reach, by Landlock (landlock(7)).
 *
 * The numbers stand here because headers are often older than kernels. A
 * version that the kernel lacks takes its rights out of those it is asked to
 * handle.
 */
#include "sandbox/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define GIVE_VERSION 1u
#define BENEATH 1

#define BIT(n) (UINT64_C(1) << (n))
#define WRITE_FILE BIT(1)
#define READ_FILE BIT(2)
#define READ_DIR BIT(3)
#define REMOVE_DIR BIT(4)
#define REMOVE_FILE BIT(5)
#define MAKE_DIR BIT(7)
#define MAKE_REG BIT(8)
#define FIRST_RIGHTS (BIT(13) - 1)
#define REFER BIT(13)		/* version 2 */
#define TRUNCATE BIT(14)	/* 3 */
#define IOCTL_DEV BIT(15)	/* 5 */
#define NET_BIND BIT(0)		/* 4 */
#define NET_CONNECT BIT(1)	/* 4 */
#define SCOPE_SOCKETS BIT(0)	/* 6: abstract sockets of others */
#define SCOPE_SIGNALS BIT(1)	/* 6: signals to others */

#define RESOLVER "/etc/resolv.conf"
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000u
#endif

/* The rights that a rule on a file may name; the others are of folders. */
#define OF_FILES (WRITE_FILE | READ_FILE | TRUNCATE)
#define TO_READ (READ_FILE | READ_DIR)
#define TO_WRITE (TO_READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | \
		  MAKE_DIR | MAKE_REG | REFER | TRUNCATE)

struct ruleset {
	uint64_t files, net, scoped;
};

struct rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/* Needed of /proc: whether the thread that a request came from is still there,
 * and the table of mounts. Of other processes it tells no more than anybody may
 * know, as Landlock bars the rest. */
static const char *const always[] = {
	"/proc", "/sys/fs/cgroup", "/sys/devices/system/cpu", NULL,
};

/* Modules that find names of servers, certificates, and what is put in a new
 * file's place where /etc has but a link to it. */
static const char *const with_network[] = {
	"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share",
	"/usr/local/share", "/run/systemd/resolve", "/run/resolvconf",
	"/run/NetworkManager", "/var/lib/ca-certificates", "/dev/urandom",
	"/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/etc/crypto-policies", NULL,
};

/* Of /etc those alone that have no secrets: keys of hosts and passwords lie
 * there too. A file that takes the place of one of them is out of reach. */
static const char *const files_of_network[] = {
	RESOLVER, "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf",
	"/etc/host.conf", "/etc/services", "/etc/passwd", "/etc/localtime",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ssl/openssl.cnf",
	"/etc/ssl/cert.pem", "/etc/pki/tls/openssl.cnf",
	"/etc/pki/tls/cert.pem", "/etc/gnutls/config", NULL,
};

int fence_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       GIVE_VERSION);

	return version < 0 ? 0 : (int)version;
}

static struct ruleset all_of(int version, bool network)
{
	struct ruleset all = { .files = FIRST_RIGHTS };

	if (version >= 2)
		all.files |= REFER;
	if (version >= 3)
		all.files |= TRUNCATE;
	if (version >= 5)
		all.files |= IOCTL_DEV;
	if (version >= 4)
		all.net = NET_BIND | (network ? 0 : NET_CONNECT);
	if (version >= 6)
		all.scoped = SCOPE_SOCKETS | SCOPE_SIGNALS;
	return all;
}

static int allow_fd(int rules, const struct ruleset *all, int fd,
		    uint64_t rights)
{
	struct rule rule = { .allowed = rights & all->files, .fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= OF_FILES;
	return syscall(SYS_landlock_add_rule, rules, BENEATH, &rule, 0) < 0 ?
	       -errno : 0;
}

/* What is not there need not be read. */
static int allow_path(int rules, const struct ruleset *all, const char *path,
		      uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC), status;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ||
		       errno == ENOTDIR ? 0 : -errno;
	status = allow_fd(rules, all, fd, rights);
	close(fd);
	return status;
}

static int allow_paths(int rules, const struct ruleset *all,
		       const char *const *paths, uint64_t rights)
{
	int status = 0;

	for (; *paths && !status; paths++)
		status = allow_path(rules, all, *paths, rights);
	return status;
}

static uint64_t mount_of(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, 0, STATX_MNT_ID, &st) == 0 &&
	       (st.stx_mask & STATX_MNT_ID) ? st.stx_mnt_id : 0;
}

bool fence_may_be_replaced(const char *file, const char *folder)
{
	size_t len = strlen(folder);
	char real[PATH_MAX];

	if (!realpath(file, real))
		return true;
	while (len > 0 && folder[len - 1] == '/')
		len--;
	return strncmp(real, folder, len) == 0 && real[len] == '/' &&
	       mount_of(real) == mount_of(folder);
}

/* To find no server any more is worse than that all of /etc may be read, but
 * for those who require all that can be had. */
static int allow_network(int rules, const struct ruleset *all,
			 enum sandbox_mode mode)
{
	int status = allow_paths(rules, all, with_network, TO_READ);

	if (!status)
		status = allow_paths(rules, all, files_of_network, READ_FILE);
	if (!status && mode != SANDBOX_REQUIRE &&
	    fence_may_be_replaced(RESOLVER, "/etc"))
		status = allow_path(rules, all, "/etc", TO_READ);
	return status;
}

static int allow_terms(int rules, const struct ruleset *all,
		       const struct sandbox_terms *terms)
{
	int status = allow_paths(rules, all, always, READ_FILE);

	if (!status && terms->source_fd >= 0)
		status = allow_fd(rules, all, terms->source_fd, TO_READ);
	for (size_t i = 0; !status && i < terms->n_more; i++)
		if (terms->more_fds[i] >= 0)
			status = allow_fd(rules, all, terms->more_fds[i],
					  TO_READ);
	if (!status && terms->network)
		status = allow_network(rules, all, terms->mode);
	if (!status)
		status = allow_paths(rules, all, terms->more_files, READ_FILE);
	if (!status && terms->write_dir)
		status = allow_path(rules, all, terms->write_dir, TO_WRITE);
	return status;
}

int fence_close(const struct sandbox_terms *terms)
{
	struct ruleset all = all_of(fence_version(), terms->network);
	int status, rules = (int)syscall(SYS_landlock_create_ruleset, &all,
					 sizeof(all), 0);

	if (rules < 0)
		return errno == EOPNOTSUPP ? -ENOSYS : -errno;
	status = allow_terms(rules, &all, terms);
	if (!status && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		status = -errno;
	close(rules);
	return status;
}
