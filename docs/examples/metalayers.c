/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metalayers.c - walks the metalayers of a container: a line for each, with
 * its entry's name, its length in bytes and the first bytes in hexadecimal.
 *
 *	metalayers FILE
 */
#include <bloscfs.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int fail(const char *what, const struct bloscfs_diag *diag)
{
	fprintf(stderr, "metalayers: %s: %s: %s\n", what,
		bloscfs_err_name(diag->err), diag->text);
	return 1;
}

static int print_entry(struct bloscfs_file *file, const char *folder,
		       const char *name, const struct bloscfs_node *node)
{
	unsigned char head[16];
	struct bloscfs_attr attr;
	struct bloscfs_diag diag;
	size_t len;

	/* Reading tells damage; the size of a damaged one is not known. */
	if (bloscfs_read(file, node, 0, head, sizeof(head), &len, &diag) !=
	    BLOSCFS_OK)
		return fail(name, &diag);
	bloscfs_stat(file, node, &attr);
	printf("%s/%s %llu", folder, name, (unsigned long long)attr.size);
	for (size_t i = 0; i < len; i++)
		printf("%s%02x", i ? "" : " ", head[i]);
	printf("\n");
	return 0;
}

/* The entries of one of the two folders of metalayers. */
static int print_folder(struct bloscfs_file *file, const char *folder)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node dir, node;
	struct bloscfs_diag diag;
	uint64_t mark = bloscfs_mark();
	int status = 0;

	/* Containers without metalayers have no such folder. */
	if (bloscfs_lookup(file, NULL, folder, &dir))
		for (uint64_t i = 0; bloscfs_list(file, &dir, i, name, &node);
		     i++)
			status |= print_entry(file, folder, name, &node);
	/* Looking up and listing return no error: "there is none" holds if
	 * nothing went wrong meanwhile. */
	if (!status && bloscfs_met(mark, &diag) != BLOSCFS_OK)
		return fail(folder, &diag);
	return status;
}

/* Damage can hide metalayers: a container that is not good says why. */
static int look_at_status(struct bloscfs_file *file)
{
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_diag diag;

	if (bloscfs_facts(file, NULL, &facts, &diag) != BLOSCFS_OK)
		return fail("facts", &diag);
	if (facts.status != BLOSCFS_GOOD)
		return fail("container", &facts.why);
	return 0;
}

int main(int argc, char **argv)
{
	struct bloscfs_file *file;
	struct bloscfs_diag diag;
	struct bloscfs *fs;
	int fd, status;

	if (argc != 2) {
		fprintf(stderr, "usage: metalayers FILE\n");
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
	if (bloscfs_open(fs, fd, argv[1], 0, 0, &file, &diag) != BLOSCFS_OK) {
		status = fail(argv[1], &diag);
		close(fd);
	} else {
		status = print_folder(file, "meta");
		status |= print_folder(file, "vlmeta");
		status |= look_at_status(file);
		bloscfs_close(file);
	}
	bloscfs_free(fs);
	if (fflush(stdout) != 0) {
		perror("metalayers: standard output");
		return 1;
	}
	return status;
}
