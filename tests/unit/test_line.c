/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of mount/line.h: a server that was taken over says what it likes, and
 * its keeper hears single words.
 */
#include "mount/line.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

struct sides {
	struct line keeper, server;
};

static int make_sides(void **state)
{
	struct sides *sides = calloc(1, sizeof(*sides));

	*state = sides;
	signal(SIGPIPE, SIG_IGN);
	return !sides || line_make(&sides->keeper, &sides->server);
}

static int remove_sides(void **state)
{
	struct sides *sides = *state;

	line_close(&sides->keeper);
	line_close(&sides->server);
	free(sides);
	return 0;
}

static void words_go_both_ways(void **state)
{
	struct sides *sides = *state;
	struct line_message heard;

	assert_int_equal(line_hear(&sides->keeper, &heard), -EAGAIN);
	assert_int_equal(line_receive(&sides->server, false, &heard),
			 -EAGAIN);
	assert_true(line_tell(&sides->server, LINE_LOG, "4text"));
	assert_true(line_tell(&sides->server, LINE_READY, NULL));
	assert_int_equal(line_hear(&sides->keeper, &heard), 1);
	assert_int_equal(heard.word, LINE_LOG);
	assert_string_equal(heard.text, "4text");
	assert_int_equal(line_hear(&sides->keeper, &heard), 1);
	assert_int_equal(heard.word, LINE_READY);
	assert_string_equal(heard.text, "");
	assert_true(line_send(&sides->keeper, LINE_DEVICE, "name", 0));
	assert_int_equal(line_receive(&sides->server, true, &heard), 1);
	assert_int_equal(heard.word, LINE_DEVICE);
	assert_string_equal(heard.text, "name");
	assert_true(heard.fd > 0);
	close(heard.fd);
}

/* n descriptors with one byte; the errno of it. */
static int pass(int end, size_t n)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec byte = { .iov_base = (char[]){ LINE_LOG }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte, .msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(n * sizeof(int)),
	};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	return sendmsg(end, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ?
	       errno : 0;
}

static void no_descriptor_reaches_the_keeper(void **state)
{
	struct sides *sides = *state;
	struct line_message heard;

	for (size_t n = 1; n <= 4; n++) {
		assert_int_equal(pass(sides->server.hear, n), EPIPE);
		assert_int_equal(pass(sides->server.speak, n), ENOTSOCK);
	}
	assert_int_equal(line_hear(&sides->keeper, &heard), -EAGAIN);
}

static void whatever_is_said_is_one_word_and_an_ended_text(void **state)
{
	struct sides *sides = *state;
	struct line_message heard;
	uint8_t bytes[4096];

	srand(7);
	for (int i = 0; i < 3000; i++) {
		size_t len = 1 + (size_t)rand() % (i % 2 ? 16 : sizeof(bytes));
		size_t most = len < LINE_TEXT_CAP ? len : LINE_TEXT_CAP;

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)(rand() >> 7);
		memset(heard.text, 'x', sizeof(heard.text));
		heard.fd = 0;
		assert_int_equal(write(sides->server.speak, bytes, len), len);
		assert_int_equal(line_hear(&sides->keeper, &heard), 1);
		assert_int_equal((uint8_t)heard.word, bytes[0]);
		assert_memory_equal(heard.text, bytes + 1, most - 1);
		assert_int_equal(heard.text[most - 1], '\0');
		assert_int_equal(heard.fd, -1);
		assert_int_equal(line_hear(&sides->keeper, &heard), -EAGAIN);
	}
}

static void what_finds_no_room_is_lost_and_nobody_waits(void **state)
{
	struct sides *sides = *state;
	struct line_message heard;
	size_t told = 0;

	while (line_tell(&sides->server, LINE_LOG, "4again"))
		told++;
	assert_in_range(told, 16, 100000);
	for (; told; told--) {
		assert_int_equal(line_hear(&sides->keeper, &heard), 1);
		assert_string_equal(heard.text, "4again");
	}
	assert_int_equal(line_hear(&sides->keeper, &heard), -EAGAIN);
	assert_true(line_tell(&sides->server, LINE_LOG, "4anew"));
}

static void the_end_of_either_is_heard(void **state)
{
	struct sides *sides = *state;
	struct line_message heard;
	struct line other[2];

	assert_true(line_tell(&sides->server, LINE_LOG, "4last"));
	line_close(&sides->server);
	assert_int_equal(line_hear(&sides->keeper, &heard), 1);
	assert_int_equal(line_hear(&sides->keeper, &heard), 0);
	assert_false(line_send(&sides->keeper, LINE_END, NULL, -1));
	assert_int_equal(line_make(&other[0], &other[1]), 0);
	line_close(&other[0]);
	assert_int_equal(line_receive(&other[1], true, &heard), 0);
	assert_false(line_tell(&other[1], LINE_LOG, "4text"));
	line_close(&other[1]);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, make_sides, remove_sides)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_go_both_ways),
		TEST(no_descriptor_reaches_the_keeper),
		TEST(whatever_is_said_is_one_word_and_an_ended_text),
		TEST(what_finds_no_room_is_lost_and_nobody_waits),
		TEST(the_end_of_either_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
