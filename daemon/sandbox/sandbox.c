/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox.c - the layers, one after another.
 *
 * Files come before calls, as the calls that make the fence are none of those
 * that serving needs.
 */
#include "sandbox/layers.h"

#include "log/log.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Set before the first thread starts. */
static char in_force[160] = "none";
static int known_version = -1;

static const char *const names[] = {
	[SANDBOX_ON] = "on",
	[SANDBOX_OFF] = "off",
	[SANDBOX_REQUIRE] = "require",
};

bool sandbox_parse(const char *text, enum sandbox_mode *ret_mode)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_mode = (enum sandbox_mode)i;
			return true;
		}
	}
	return false;
}

const char *sandbox_mode_name(enum sandbox_mode mode)
{
	return names[mode];
}

static const char *reason_of(int status)
{
	if (status == -ENOSYS)
		return "this kernel does not have it";
	if (status == -EOPNOTSUPP)
		return "it is not in this build";
	return strerror(-status);
}

/* Notes that a layer is in force, or that it is not. */
static int note(const struct sandbox_terms *terms, const char *name,
		int status, char *error, size_t cap)
{
	size_t len = strlen(in_force);

	if (!status) {
		snprintf(in_force + len, sizeof(in_force) - len, "%s%s",
			 len ? ", " : "", name);
		return 0;
	}
	if (terms->mode == SANDBOX_REQUIRE) {
		snprintf(error, cap, "the sandbox cannot be had: %s: %s; with "
			 "sandbox=on it is mounted without that", name,
			 reason_of(status));
		return -1;
	}
	log_msg(LEVEL_WARN, "the sandbox is without %s: %s", name,
		reason_of(status));
	return 0;
}

static int hide_memory(void)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	return 0;
}

static int bar_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int sandbox_enter(const struct sandbox_terms *terms, char *error, size_t cap)
{
	char fence[32];
	bool kept = false;
	int status;

	known_version = fence_version();
	if (terms->mode == SANDBOX_OFF)
		return 0;
	in_force[0] = '\0';
	snprintf(fence, sizeof(fence), "Landlock %d", known_version);
	status = powers_drop(&kept);
	if (note(terms, kept ? "no capability but dac_read_search" :
		 "no capability", status, error, cap) ||
	    note(terms, "no new privileges", bar_privileges(), error, cap) ||
	    note(terms, "no dumps", hide_memory(), error, cap) ||
	    note(terms, fence, fence_close(terms), error, cap) ||
	    note(terms, "seccomp", calls_close(terms), error, cap))
		return -1;
	if (!in_force[0])
		snprintf(in_force, sizeof(in_force), "none");
	log_msg(LEVEL_INFO, "in a sandbox: %s", in_force);
	return 0;
}

const char *sandbox_in_force(void)
{
	return in_force;
}

char *sandbox_call_name(int number)
{
	return calls_name(number);
}

void sandbox_write_support(FILE *out)
{
	const char *library = calls_library();
	int version = known_version < 0 ? fence_version() : known_version;

	fprintf(out, "sandbox: ");
	if (version)
		fprintf(out, "Landlock %d, ", version);
	else
		fprintf(out, "no Landlock in this kernel, ");
	if (library)
		fprintf(out, "seccomp by libseccomp %s\n", library);
	else
		fprintf(out, "seccomp not in this build\n");
}
