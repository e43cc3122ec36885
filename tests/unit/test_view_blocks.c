/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_blocks.c - blocks of chunks that have very many.
 */
#include "support/build.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One more than 24 bits can number. */
#define N_BLOCKS (((size_t)1 << 24) + 1)

static void the_last_of_many_blocks_is_its_own_chunks(void **state)
{
	struct build_frame f = { .chunksize = N_BLOCKS, .typesize = 1 };
	struct frame_bytes bytes;
	struct bfs_file *file;
	struct build out = { 0 };
	uint8_t *data = malloc(N_BLOCKS);

	(void)state;
	assert_non_null(data);
	for (uint8_t i = 1; i <= 2; i++) {
		struct build_chunk c = { data, N_BLOCKS, 1, 1, BUILD_RAW,
					 0, 0, 0 };

		memset(data, i, N_BLOCKS);
		data[N_BLOCKS - 1] = (uint8_t)(i + 10);
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, &out);
	bytes = (struct frame_bytes){ .p = out.p, .len = out.len };
	file = frames_open_with(&bytes, "blocks");
	frames_expect(file, "blocks/0000000000/0016777216", "\x0b", 1);
	frames_expect(file, "blocks/0000000000/0016777215", "\x01", 1);
	frames_expect(file, "blocks/0000000001/0000000000", "\x02", 1);
	frames_expect(file, "blocks/0000000001/0016777216", "\x0c", 1);
	frames_close(file, &bytes);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_of_many_blocks_is_its_own_chunks),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
