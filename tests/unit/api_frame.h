/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api_frame.h - an instance and the bytes of a frame with metalayers, made
 * before all tests of a program. Behind cmocka.h and its headers.
 */
#ifndef TEST_API_FRAME_H
#define TEST_API_FRAME_H

#include "bloscfs.h"
#include "support/frames.h"

#include <stdlib.h>

static struct bloscfs *fs;
static struct frame_bytes frame;

static inline int set_up(void **state)
{
	struct frame_input in;

	if (frames_setup(state) || bloscfs_new(NULL, &fs, NULL))
		return 1;
	in = frames_rich_input();
	frame = frames_build(&in);
	return 0;
}

static inline int tear_down(void **state)
{
	bloscfs_free(fs);
	free(frame.p);
	return frames_teardown(state);
}

#endif
