/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * percent.h - %XX, as addresses, keys of listings and file names spell bytes.
 */
#ifndef BFS_DAEMON_REMOTE_PERCENT_H
#define BFS_DAEMON_REMOTE_PERCENT_H

/* The byte that text, which begins with "%", spells by two hexadecimal digits;
 * -1 where it spells none. */
static inline int percent_byte(const char *text)
{
	int byte = 0;

	for (int i = 1; i <= 2; i++) {
		int c = (unsigned char)text[i];

		if (c >= '0' && c <= '9')
			c -= '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			c = (c | 0x20) - 'a' + 10;
		else
			return -1;
		byte = 16 * byte + c;
	}
	return byte;
}

#endif
