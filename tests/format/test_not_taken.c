/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_not_taken.c - what is no container is not taken for one: other
 * formats, archives, random bytes, and the programs and libraries of the
 * machine that runs the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bloscfs.h"
#include "container/container.h"
#include "support/build2.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Names under which most things come, and those that say nothing. */
static const char *const names[] = {
	NULL, "", "x", "x.bin", "x.zip", "x.txt", "noext.", ".b2", "x.b2frame",
	"x.b2nd", "x.blp", "x.chunk", "x.blosc",
};

#define N_NAMES (sizeof(names) / sizeof(*names))

static const struct bfs_format *probe(const void *p, size_t len,
				      const char *name)
{
	const struct bfs_format *found;
	struct bfs_source *source;

	assert_int_equal(bfs_source_memory(p, len, false, &source, NULL),
			 BFS_OK);
	found = bfs_container_probe(source, name);
	bfs_source_unref(source);
	return found;
}

static void expect_not_taken(const void *p, size_t len, const char *what)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		const struct bfs_format *found = probe(p, len, names[i]);

		if (found)
			fail_msg("%s is taken for %s under %s", what,
				 found->name, names[i] ? names[i] : "no name");
	}
}

/* ---- other formats --------------------------------------------------- */

static void texts_are_not_taken(void **state)
{
	static const char *const texts[] = {
		"", "a", "ab", "abc", "hello, world\n", "b2frame", "blosc",
		"#!/bin/sh\necho blpk\n", "BLPK....", "bplk", " blpk",
		"{\"format\": \"b2nd\"}", "<?xml version=\"1.0\"?>",
		"\xef\xbb\xbf" "with a byte order mark",
		"\xa8" "b2frame\0 without its first byte",
		"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed "
		"do eiusmod tempor incididunt ut labore et dolore magna.",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		expect_not_taken(texts[i], strlen(texts[i]), texts[i]);
}

static void other_formats_are_not_taken(void **state)
{
	static const struct { const char *what; const char *p; size_t len; }
	magics[] = {
#define MAGIC(what, bytes) { what, bytes, sizeof(bytes) - 1 }
		MAGIC("PNG", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0"),
		MAGIC("JPEG", "\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1"),
		MAGIC("GIF", "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff"),
		MAGIC("PDF", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"),
		MAGIC("ELF", "\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0"),
		MAGIC("gzip", "\x1f\x8b\x8\0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0"),
		MAGIC("xz", "\xfd" "7zXZ\0\0\4\xe6\xd6\xb4\x46"),
		MAGIC("zstd", "\x28\xb5\x2f\xfd\x24\0\1\0\0\x99\xe9\xd8\x51"),
		MAGIC("lz4", "\x04\x22\x4d\x18\x64\x40\xa7\0\0\0\0\5\x5d\xcc"),
		MAGIC("bzip2", "BZh91AY&SY\x17\x72\x45\x38\x50\x90"),
		MAGIC("HDF5", "\x89HDF\r\n\x1a\n\0\0\0\0\0\x8\x8\0\4\0\x10\0"),
		MAGIC("NumPy", "\x93NUMPY\1\0\x76\0{'descr': '<i4', }"),
		MAGIC("netCDF", "CDF\1\0\0\0\0\0\0\0\n\0\0\0\0\0\0\0\0"),
		MAGIC("TIFF", "II*\0\x8\0\0\0\0\0\0\0"),
		MAGIC("RIFF", "RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0"),
		MAGIC("SQLite", "SQLite format 3\0\x10\0\1\1\0\x40\x20\x20"),
		MAGIC("class", "\xca\xfe\xba\xbe\0\0\0\x34\0\x1d\n\0\6\0\x0f"),
		MAGIC("Parquet", "PAR1\x15\4\x15\x10\x15\x14"),
		MAGIC("msgpack", "\x9e\xa8" "b2frame!\xd2\0\0\0\x61\xcf"),
		MAGIC("pickle", "\x80\4\x95\x1b\0\0\0\0\0\0\0}\x94."),
#undef MAGIC
	};

	(void)state;
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		uint8_t page[4096] = { 0 };

		expect_not_taken(magics[i].p, magics[i].len, magics[i].what);
		memcpy(page, magics[i].p, magics[i].len);
		expect_not_taken(page, sizeof(page), magics[i].what);
	}
}

static void bytes_that_repeat_are_not_taken(void **state)
{
	static uint8_t page[5000];

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		memset(page, (int)c, sizeof(page));
		for (size_t len = 0; len < sizeof(page);
		     len += len < 200 ? 1 : 600)
			expect_not_taken(page, len, "one byte repeated");
	}
}

/* ---- archives -------------------------------------------------------- */

static void archives_of_other_things_are_not_taken(void **state)
{
	struct zip_member text = { .name = "a.txt", .p = "hello", .len = 5 };
	struct zip_member folder = { .name = "folder/" };
	struct build frame = build_sample("good-frame-empty.b2frame");
	struct zip_member member = { .name = "a.b2frame", .p = frame.p,
				     .len = frame.len };
	struct zip z = { 0 };

	(void)state;
	zip_add(&z, &text);
	zip_add(&z, &member);
	zip_finish(&z, false);
	expect_not_taken(z.out.p, z.out.len, "an archive of texts");
	free(z.out.p);
	z = (struct zip){ 0 };
	zip_add(&z, &folder);
	zip_add(&z, &member);
	zip_finish(&z, false);
	expect_not_taken(z.out.p, z.out.len, "an archive of folders");
	free(z.out.p);
	z = (struct zip){ 0 };
	zip_finish(&z, false);
	expect_not_taken(z.out.p, z.out.len, "an archive of nothing");
	free(z.out.p);
	free(frame.p);
}

static void archive_whose_first_member_is_deflated_is_not_taken(void **state)
{
	struct build frame = build_sample("good-frame-empty.b2frame");
	/* Raw deflate with one stored block: the frame lies there as it is,
	 * but not where a member begins. */
	struct build raw = { 0 };
	struct zip_member member = { .name = "a.b2frame", .method = 8 };
	struct zip z = { 0 };

	(void)state;
	build_byte(&raw, 1);
	build_byte(&raw, (unsigned)frame.len & 255);
	build_byte(&raw, (unsigned)frame.len >> 8);
	build_byte(&raw, ~(unsigned)frame.len & 255);
	build_byte(&raw, ~((unsigned)frame.len >> 8) & 255);
	build_bytes(&raw, frame.p, frame.len);
	member.p = raw.p;
	member.len = raw.len;
	zip_add(&z, &member);
	zip_finish(&z, false);
	expect_not_taken(z.out.p, z.out.len, "an archive of deflated things");
	free(z.out.p);
	free(raw.p);
	free(frame.p);
}

/* ---- random bytes ---------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void random_bytes_are_not_taken(void **state)
{
	uint64_t seed = 20, words[8];

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		const struct bfs_format *found;

		for (unsigned k = 0; k < 8; k++)
			words[k] = draw(&seed);
		found = probe(words, sizeof(words), i % 2 ? NULL : "x.bin");
		if (found)
			fail_msg("random bytes %u are taken for %s", i,
				 found->name);
	}
}

/* Small numbers, as headers of formats without magic have them. */
static void random_small_numbers_are_not_taken(void **state)
{
	uint64_t seed = 7;
	uint8_t bytes[256];

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		size_t len = 16 + draw(&seed) % (sizeof(bytes) - 16);
		const struct bfs_format *found;

		for (size_t k = 0; k < len; k++)
			bytes[k] = draw(&seed) % 4 ? 0 :
				   (uint8_t)(draw(&seed) % 8);
		found = probe(bytes, len, NULL);
		if (found)
			fail_msg("small numbers %u (%zu bytes) are taken for "
				 "%s", i, len, found->name);
	}
}

/* ---- this machine ---------------------------------------------------- */

#define MOST_FILES 3000
#define MOST_SECONDS 60

/* Files of a directory, itself alone, that are not taken. */
static unsigned probe_directory(const char *path, unsigned most, time_t end)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		return 0;
	while (n < most && time(NULL) < end && (entry = readdir(dir))) {
		const char *format = NULL;
		struct stat st;
		int fd = openat(dirfd(dir), entry->d_name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			enum bloscfs_err err;

			err = bloscfs_probe(fd, entry->d_name, &format);
			if (err != BLOSCFS_ERR_NOT_FORMAT)
				fail_msg("%s/%s is taken for %s", path,
					 entry->d_name, format ? format :
					 bloscfs_err_name(err));
			n++;
		}
		close(fd);
	}
	closedir(dir);
	return n;
}

static void programs_and_libraries_are_not_taken(void **state)
{
	static const char *const paths[] = {
		"/usr/bin", "/usr/lib/x86_64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/etc",
	};
	time_t end = time(NULL) + MOST_SECONDS;
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		n += probe_directory(paths[i], MOST_FILES - n, end);
	print_message("# %u files\n", n);
	assert_true(n > 10);
}

static void directories_of_other_things_are_not_taken(void **state)
{
	static const char *const paths[] = { "/", "/usr/bin", "/etc", "/dev",
					     "/proc", "/tmp", TEST_DATA_DIR };
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const char *format = NULL;

		if (fd < 0)
			continue;
		if (bloscfs_probe_dir(fd, &format) != BLOSCFS_ERR_NOT_FORMAT)
			fail_msg("%s is taken for %s", paths[i], format);
		close(fd);
		n++;
	}
	assert_true(n >= 4);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(texts_are_not_taken),
		T(other_formats_are_not_taken),
		T(bytes_that_repeat_are_not_taken),
		T(archives_of_other_things_are_not_taken),
		T(archive_whose_first_member_is_deflated_is_not_taken),
		T(random_bytes_are_not_taken),
		T(random_small_numbers_are_not_taken),
		T(programs_and_libraries_are_not_taken),
		T(directories_of_other_things_are_not_taken),
	};

	return cmocka_run_group_tests_name("not_taken", tests, NULL, NULL);
}
