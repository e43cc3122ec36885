/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_source.c - opens a container in a source of one's own: here bytes in
 * memory that answer late, as a store behind a network does.
 *
 *	own_source FILE		the bytes of its data.bin
 *
 * How often the source was asked is told on standard error.
 */
#include <bloscfs.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct late {
	unsigned char *bytes;
	size_t len;
	/* The library's threads call, many at once. */
	atomic_uint n_reads, n_ranges, n_closed;
};

static int fail(const char *what, const struct bloscfs_diag *diag)
{
	fprintf(stderr, "own_source: %s: %s: %s\n", what,
		bloscfs_err_name(diag->err), diag->text);
	return 1;
}

/* The delay: 4 ms in short steps, each of which a cancelled call can leave. */
static enum bloscfs_err wait_for_answer(struct bloscfs_diag *why)
{
	struct timespec step = { .tv_nsec = 1000000 };

	for (int i = 0; i < 4; i++) {
		enum bloscfs_err err = bloscfs_call_check(why);

		if (err != BLOSCFS_OK)
			return err;
		nanosleep(&step, NULL);
	}
	return BLOSCFS_OK;
}

static enum bloscfs_err read_late(void *arg, uint64_t off, void *buf,
				  size_t len, size_t *ret_len,
				  struct bloscfs_diag *why)
{
	struct late *late = arg;
	enum bloscfs_err err = wait_for_answer(why);

	if (err != BLOSCFS_OK)
		return err;
	/* The range lies inside: the library has seen to that. */
	memcpy(buf, late->bytes + off, len);
	*ret_len = len;
	late->n_reads++;
	return BLOSCFS_OK;
}

/* Here a store would begin to fetch what read asks for one by one later. */
static void note_ranges(void *arg, const struct bloscfs_range *ranges,
			size_t n)
{
	struct late *late = arg;

	(void)ranges;
	late->n_ranges += (unsigned)n;
}

static void note_close(void *arg)
{
	struct late *late = arg;

	late->n_closed++;
}

/* 0 and the file's bytes, which the caller frees. */
static int load(const char *path, struct late *late)
{
	FILE *file = fopen(path, "rb");
	long len = -1;

	if (!file)
		return -1;
	if (fseek(file, 0, SEEK_END) == 0)
		len = ftell(file);
	late->len = len < 0 ? 0 : (size_t)len;
	late->bytes = malloc(late->len + 1);
	if (len < 0 || !late->bytes || fseek(file, 0, SEEK_SET) != 0 ||
	    fread(late->bytes, 1, late->len, file) != late->len) {
		fclose(file);
		return -1;
	}
	return fclose(file);
}

static int print_data(struct bloscfs_file *file)
{
	static unsigned char buf[1 << 16];
	struct bloscfs_diag diag;
	struct bloscfs_node data;
	uint64_t off = 0;
	size_t len;

	if (!bloscfs_lookup(file, NULL, "data.bin", &data)) {
		fprintf(stderr, "own_source: there is no data.bin\n");
		return 1;
	}
	do {
		if (bloscfs_read(file, &data, off, buf, sizeof(buf), &len,
				 &diag) != BLOSCFS_OK)
			return fail("read", &diag);
		fwrite(buf, 1, len, stdout);
		off += len;
	} while (len == sizeof(buf));
	if (fflush(stdout) != 0) {
		perror("own_source: standard output");
		return 1;
	}
	return 0;
}

static int serve(struct bloscfs *fs, struct late *late, const char *name)
{
	struct bloscfs_source source = {
		.size = sizeof(source),
		.arg = late,
		.length = late->len,
		/* Without identity nothing else is known to be the same;
		 * without check it never changes. */
		.read = read_late,
		.will_need = note_ranges,
		.close = note_close,
	};
	struct bloscfs_file *file;
	struct bloscfs_diag diag;
	int status;

	if (bloscfs_open_source(fs, &source, name, &file, &diag) != BLOSCFS_OK)
		return fail(name, &diag);
	status = print_data(file);
	/* Only now may the source go. */
	bloscfs_close(file);
	fprintf(stderr, "reads %u, ranges told %u, closed %u\n",
		late->n_reads, late->n_ranges, late->n_closed);
	return status;
}

int main(int argc, char **argv)
{
	struct late late = { 0 };
	struct bloscfs_diag diag;
	struct bloscfs *fs;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: own_source FILE\n");
		return 2;
	}
	if (load(argv[1], &late) != 0) {
		perror(argv[1]);
		free(late.bytes);
		return 1;
	}
	if (bloscfs_new(NULL, &fs, &diag) != BLOSCFS_OK) {
		free(late.bytes);
		return fail("instance", &diag);
	}
	status = serve(fs, &late, argv[1]);
	bloscfs_free(fs);
	free(late.bytes);
	return status;
}
