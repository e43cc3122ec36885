/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slice.c - reads a slice of an array: only the blocks that it touches are
 * decoded.
 *
 *	slice FILE START:STOP ...	one range for each dimension
 *
 * Prints the items of the slice, in C order, as the bytes that they are:
 *
 *	slice pond.b2nd 0:96 12:13 0:32 | od -t d2
 */
#include <bloscfs.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct slice {
	uint64_t start[BLOSCFS_MAX_DIM], stop[BLOSCFS_MAX_DIM];
};

static int fail(const char *what, const struct bloscfs_diag *diag)
{
	fprintf(stderr, "slice: %s: %s: %s\n", what,
		bloscfs_err_name(diag->err), diag->text);
	return 1;
}

/* Whether the ranges lie in the array's shape. */
static int parse(char **words, const struct bloscfs_facts *facts,
		 struct slice *ret_slice)
{
	for (uint32_t d = 0; d < facts->ndim; d++) {
		unsigned long long start, stop;

		if (sscanf(words[d], "%llu:%llu", &start, &stop) != 2 ||
		    start > stop || stop > (uint64_t)facts->shape[d])
			return 0;
		ret_slice->start[d] = start;
		ret_slice->stop[d] = stop;
	}
	return 1;
}

/* Takes at, the first item of a row, to that of the next row; 0 behind the
 * last. A row is a run along the last dimension: data.bin holds it in one
 * piece. */
static int next_row(const struct slice *slice, uint32_t ndim, uint64_t at[])
{
	for (uint32_t d = ndim - 1; d-- > 0;) {
		if (++at[d] < slice->stop[d])
			return 1;
		at[d] = slice->start[d];
	}
	return 0;
}

static int print_slice(struct bloscfs_file *file,
		       const struct bloscfs_node *data,
		       const struct bloscfs_facts *facts,
		       const struct slice *slice)
{
	uint32_t ndim = facts->ndim;
	uint64_t at[BLOSCFS_MAX_DIM], n_items = 1, item_len, row_len;
	struct bloscfs_diag diag;
	char *row;

	for (uint32_t d = 0; d < ndim; d++) {
		if (slice->start[d] == slice->stop[d])
			return 0;
		at[d] = slice->start[d];
		n_items *= (uint64_t)facts->shape[d];
	}
	item_len = facts->data_size / n_items;
	row_len = (slice->stop[ndim - 1] - slice->start[ndim - 1]) * item_len;
	row = malloc(row_len);
	if (!row) {
		perror("slice");
		return 1;
	}
	do {
		uint64_t off = 0;
		size_t len;

		for (uint32_t d = 0; d < ndim; d++)
			off = off * (uint64_t)facts->shape[d] + at[d];
		if (bloscfs_read(file, data, off * item_len, row, row_len,
				 &len, &diag) != BLOSCFS_OK) {
			free(row);
			return fail("read", &diag);
		}
		/* The range lies in the array, so that len is all of it. */
		fwrite(row, 1, len, stdout);
	} while (next_row(slice, ndim, at));
	free(row);
	if (fflush(stdout) != 0) {
		perror("slice: standard output");
		return 1;
	}
	return 0;
}

static int slice_file(struct bloscfs_file *file, int n_words, char **words)
{
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_diag diag;
	struct bloscfs_node data;
	struct slice slice;

	if (bloscfs_facts(file, NULL, &facts, &diag) != BLOSCFS_OK)
		return fail("facts", &diag);
	if (facts.status != BLOSCFS_GOOD)
		return fail("container", &facts.why);
	if (!facts.is_array || facts.ndim < 1 || facts.order != 'C' ||
	    facts.data_size == BLOSCFS_NOT_KNOWN ||
	    !bloscfs_lookup(file, NULL, "data.bin", &data)) {
		fprintf(stderr, "slice: no array with dimensions, in C order\n");
		return 1;
	}
	if ((uint32_t)n_words != facts.ndim || !parse(words, &facts, &slice)) {
		fprintf(stderr, "slice: wants %u ranges START:STOP within the "
			"shape\n", (unsigned)facts.ndim);
		return 2;
	}
	return print_slice(file, &data, &facts, &slice);
}

int main(int argc, char **argv)
{
	struct bloscfs_file *file;
	struct bloscfs_diag diag;
	struct bloscfs *fs;
	int fd, status;

	if (argc < 2) {
		fprintf(stderr, "usage: slice FILE START:STOP ...\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	if (bloscfs_new(NULL, &fs, &diag) != BLOSCFS_OK) {
		close(fd);
		return fail("instance", &diag);
	}
	/* The whole file; the descriptor is the library's once it is open. */
	if (bloscfs_open(fs, fd, argv[1], 0, 0, &file, &diag) != BLOSCFS_OK) {
		status = fail(argv[1], &diag);
		close(fd);
	} else {
		status = slice_file(file, argc - 2, argv + 2);
		bloscfs_close(file);
	}
	bloscfs_free(fs);
	return status;
}
