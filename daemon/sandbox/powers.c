/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * powers.c - capabilities (capabilities(7)): none is left but to read what
 * others own, and that one only to who had it.
 */
#include "sandbox/layers.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A kernel says EINVAL to the first that it does not know. */
static void drop_bounds(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (cap != CAP_DAC_READ_SEARCH &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	}
}

int powers_drop(bool *ret_kept)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	const uint32_t wanted = UINT32_C(1) << CAP_DAC_READ_SEARCH;

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	drop_bounds();
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	data[0].permitted &= wanted;
	data[0].effective &= wanted;
	data[0].inheritable = 0;
	data[1] = (struct __user_cap_data_struct){ 0 };
	*ret_kept = data[0].effective != 0;
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}
