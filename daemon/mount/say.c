/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * say.c - see say.h.
 */
#include "mount/say.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum exit_code say_failed(enum exit_code code, const char *fmt, ...)
{
	char text[SAY_CAP];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "bloscfs: %s\n", text);
	return code;
}

void say_no_more(int null)
{
	if (null < 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++) {
		if (fd != null)
			dup2(null, fd);
	}
	if (null > 2)
		close(null);
}
