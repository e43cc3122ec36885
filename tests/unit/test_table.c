/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_table.c - the daemon's table of names and slots: a little at a time, and
 * by a hash that nobody can foresee.
 */
#include "tree/table.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N 200000
/* Names that one step may look at. A table that is hashed anew at once looks
 * at all of them. */
#define MOST 100
/* Of a child that could not begin. */
#define FOREIGN 77

static struct node *make(struct tree *tree, struct node *parent,
			 const char *name)
{
	struct node *node = calloc(1, sizeof(*node) + strlen(name) + 1);

	assert_non_null(node);
	strcpy(node->name, name);
	node->parent = parent;
	tree->n_nodes++;
	assert_int_equal(table_take_slot(tree, node), 0);
	if (parent)
		table_hash(tree, node);
	return node;
}

static void names_are_found_while_the_table_grows(void **state)
{
	static struct node *nodes[N];
	struct tree tree = { 0 };
	struct node *root;
	char name[32];

	(void)state;
	assert_int_equal(table_init(&tree), 0);
	root = make(&tree, NULL, "");
	assert_int_equal(root->id, ROOT_SLOT);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_null(table_find(&tree, root, name));
		nodes[i] = make(&tree, root, name);
		assert_ptr_equal(table_find(&tree, root, name), nodes[i]);
	}
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_ptr_equal(table_find(&tree, root, name), nodes[i]);
		assert_ptr_equal(table_node(&tree, nodes[i]->id), nodes[i]);
		assert_null(table_find(&tree, nodes[i], name));
	}
	print_message("# most names moved in one step: %zu\n",
		      tree.most_moved);
	assert_in_range(tree.most_moved, 1, MOST);
	assert_true(tree.n_buckets >= N);
	for (unsigned i = 0; i < N; i++) {
		table_unhash(&tree, nodes[i]);
		assert_null(table_find(&tree, root, nodes[i]->name));
		table_free_slot(&tree, nodes[i]->id);
		assert_null(table_node(&tree, nodes[i]->id));
		free(nodes[i]);
	}
	free(root);
	table_release(&tree);
}

static void slots_are_used_again_by_other_ids(void **state)
{
	struct tree tree = { 0 };
	struct node *root, *node;
	uint64_t old;

	(void)state;
	assert_int_equal(table_init(&tree), 0);
	root = make(&tree, NULL, "");
	node = make(&tree, root, "a");
	old = node->id;
	table_unhash(&tree, node);
	table_free_slot(&tree, old);
	free(node);
	node = make(&tree, root, "b");
	assert_int_equal((uint32_t)node->id, (uint32_t)old);
	assert_true(node->id != old);
	assert_null(table_node(&tree, old));
	assert_ptr_equal(table_node(&tree, node->id), node);
	assert_null(table_node(&tree, 0));
	free(node);
	free(root);
	table_release(&tree);
}

static void the_seed_is_the_process_s_own(void **state)
{
	char path[PATH_MAX] = "", text[32] = "";
	char *args[] = { path, (char *)(uintptr_t)"seed", NULL };
	uint64_t other;
	int ends[2], status;
	ssize_t got;
	pid_t child;

	(void)state;
	assert_int_equal(hash_seed(), hash_seed());
	assert_true(hash_seed() != 0);
	assert_int_equal(pipe(ends), 0);
	/* By its path: the link leads to valgrind, where that runs us. */
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], 3);
		execv(path, args);
		_exit(errno == ENOEXEC ? FOREIGN : 1);
	}
	close(ends[1]);
	got = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == FOREIGN) {
		printf("# SKIP the_seed_is_the_process_s_own: an emulator, "
		       "whose programs start none\n");
		return;
	}
	assert_int_equal(status, 0);
	assert_true(got > 0);
	other = strtoull(text, NULL, 10);
	assert_true(other != 0 && other != hash_seed());
}

/* Names that share a bucket by one seed do not by most others. */
static void names_that_collide_do_so_by_one_seed_alone(void **state)
{
	char a[] = "a name 0000", b[32];
	unsigned n_same = 0, n_pairs = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(b, sizeof(b), "another name %u", i);
		if ((hash_text(1, a) ^ hash_text(1, b)) % 1024)
			continue;
		n_pairs++;
		n_same += (hash_text(2, a) ^ hash_text(2, b)) % 1024 == 0;
	}
	assert_in_range(n_pairs, 50, 200);
	assert_in_range(n_same, 0, 5);
}

static void each_byte_and_the_length_count(void **state)
{
	char text[40], other[40];

	(void)state;
	for (size_t len = 1; len < 33; len++) {
		memset(text, 'x', sizeof(text));
		text[len] = '\0';
		for (size_t i = 0; i < len; i++) {
			strcpy(other, text);
			other[i] ^= 1;
			assert_true(hash_text(7, text) != hash_text(7, other));
		}
		text[len - 1] = '\0';
		other[len - 1] = 'x';
		assert_true(hash_text(7, text) != hash_text(7, other));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_while_the_table_grows),
		cmocka_unit_test(slots_are_used_again_by_other_ids),
		cmocka_unit_test(the_seed_is_the_process_s_own),
		cmocka_unit_test(names_that_collide_do_so_by_one_seed_alone),
		cmocka_unit_test(each_byte_and_the_length_count),
	};

	if (argc == 2 && strcmp(argv[1], "seed") == 0) {
		dprintf(3, "%llu\n", (unsigned long long)hash_seed());
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
