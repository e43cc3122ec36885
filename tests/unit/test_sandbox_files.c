/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of sandbox/: which files may be read and written.
 */
#include "sandbox_child.h"

/* ---- What is tried --------------------------------------------------- */

static int write_inside(void) { return open_with(inside, O_RDWR); }
static int cut_inside(void) { return open_with(inside, O_RDONLY | O_TRUNC); }
static int write_outside(void) { return open_with(outside, O_WRONLY); }
static int unlink_inside(void) { return result_of(unlink(inside)); }
static int read_users(void) { return open_with("/etc/passwd", O_RDONLY); }
static int read_groups(void) { return open_with("/etc/group", O_RDONLY); }
static int read_private(void) { return open_with(private, O_RDONLY); }
static int list_root(void) { return open_with("/", O_RDONLY | O_DIRECTORY); }
static int read_mounts(void)
{
	return open_with("/proc/self/mountinfo", O_RDONLY);
}

static int read_parents_words(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	return open_with(path, O_RDONLY);
}

static int create_inside(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s.new", inside);
	return open_with(path, O_WRONLY | O_CREAT);
}

static int use_cache(void)
{
	char path[100], other[110];
	int fd, failed = 0;

	snprintf(path, sizeof(path), "%s/%d", cache, (int)getpid());
	snprintf(other, sizeof(other), "%s.new", path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	if (pwrite(fd, "text", 4, 0) != 4 || ftruncate(fd, 2) ||
	    rename(path, other) || unlink(other))
		failed = errno;
	close(fd);
	return failed;
}

static int change_mode(void)
{
	int fd = open(inside, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : result_of(fchmod(fd, 0777));
}

/* As what is in use is marked. */
static int touch_cache(void)
{
	char path[100];
	int fd, failed;

	snprintf(path, sizeof(path), "%s/%d", cache, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	failed = fd < 0 ? errno : result_of(futimens(fd, NULL));
	if (fd >= 0)
		close(fd);
	return failed ? failed : result_of(unlink(path));
}

#define RESOLVER "/etc/resolv.conf"

static int read_resolver(void)
{
	return access(RESOLVER, F_OK) ? 0 : open_with(RESOLVER, O_RDONLY);
}

/* ---- Tests ----------------------------------------------------------- */

static void source_is_read_and_nothing_is_written(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	works(terms, read_inside);
	works(terms, read_mounts);
	fails(terms, write_inside, EACCES);
	fails(terms, cut_inside, EACCES);
	fails(terms, create_inside, EACCES);
	fails(terms, read_outside, EACCES);
	fails(terms, write_outside, EACCES);
	fails(terms, read_users, EACCES);
	fails(terms, list_root, EACCES);
	fails(terms, read_parents_words, EACCES);
	ends(terms, unlink_inside, "unlink");
	close(terms.source_fd);
}

/* A folder beside the source. */
static int list_cache(void)
{
	return open_with(cache, O_RDONLY | O_DIRECTORY);
}

static void several_sources_are_read_and_nothing_else(void **state)
{
	struct sandbox_terms terms = plain_terms();
	int fds[3] = { terms.source_fd, -1, -1 };

	(void)state;
	terms.source_fd = -1;
	terms.more_fds = fds;
	terms.n_more = 3;
	works(terms, read_inside);
	fails(terms, list_cache, EACCES);
	fds[2] = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fds[2] >= 0);
	works(terms, read_inside);
	works(terms, list_cache);
	fails(terms, write_inside, EACCES);
	fails(terms, use_cache, EACCES);
	fails(terms, read_outside, EACCES);
	fails(terms, list_root, EACCES);
	close(fds[0]);
	close(fds[2]);
}

static void root_reads_what_others_own_and_users_do_not(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(run_with(plain_terms(), false, read_private).status,
			 WORKED);
	assert_int_equal(run_with(plain_terms(), true, read_private).status,
			 EACCES);
}

static void a_folder_for_writing_is_the_only_one(void **state)
{
	struct sandbox_terms terms = plain_terms();

	(void)state;
	terms.write_dir = cache;
	works(terms, use_cache);
	works(terms, read_inside);
	fails(terms, write_inside, EACCES);
	fails(terms, unlink_inside, EACCES);
	fails(terms, write_outside, EACCES);
	ends(terms, make_socket, "socket");
	ends(terms, change_mode, "fchmod");
	works(terms, touch_cache);
	close(terms.source_fd);
}

static struct sandbox_terms network_terms(enum sandbox_mode mode)
{
	return (struct sandbox_terms){
		.mode = mode, .source_fd = -1, .network = true,
		.tell_fd = -1, .tell_word = 'b',
	};
}

static void of_etc_servers_need_a_few_files(void **state)
{
	struct sandbox_terms terms = network_terms(SANDBOX_REQUIRE);

	(void)state;
	works(terms, read_users);
	works(terms, read_resolver);
	fails(terms, read_groups, EACCES);
	fails(terms, read_inside, EACCES);
}

/* A root of its own, in which the list is a file or leads to one. */
static void make_root(char root[100], const char *name, const char *leads_to)
{
	static const char *const folders[] = {
		"", "/etc", "/run", "/run/resolvconf",
	};
	char path[200];

	snprintf(root, 100, "%s/%s", work, name);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	snprintf(path, sizeof(path), "%s/etc/group", root);
	assert_int_equal(make_file(path, 0644), 0);
	snprintf(path, sizeof(path), "%s/%s", root,
		 leads_to ? leads_to : RESOLVER);
	assert_int_equal(make_file(path, 0644), 0);
	snprintf(path, sizeof(path), "%s" RESOLVER, root);
	if (leads_to)
		assert_int_equal(symlink(leads_to, path), 0);
}

/* Without being required it lets a new list be found that takes the place of
 * the old one. */
static void etc_is_read_only_where_the_resolver_is_a_file(void **state)
{
	struct sandbox_terms terms = network_terms(SANDBOX_ON);
	char file[100], link[100];

	(void)state;
	/* As it is here. */
	if (fence_may_be_replaced(RESOLVER, "/etc"))
		works(terms, read_groups);
	else
		fails(terms, read_groups, EACCES);
	works(terms, read_resolver);
	if (geteuid() != 0)
		return;
	make_root(file, "plain", NULL);
	make_root(link, "leads", "/run/resolvconf/resolv.conf");
	child_root = file;
	works(terms, read_groups);
	works(terms, read_resolver);
	child_root = link;
	fails(terms, read_groups, EACCES);
	works(terms, read_resolver);
	child_root = NULL;
}

static void a_file_elsewhere_or_a_mount_is_not_replaced(void **state)
{
	char folder[100], path[200];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/source", work);
	assert_true(fence_may_be_replaced(inside, folder));
	assert_false(fence_may_be_replaced(outside, folder));
	snprintf(path, sizeof(path), "%s/none", folder);
	assert_true(fence_may_be_replaced(path, folder));
	snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(symlink(outside, path), 0);
	assert_false(fence_may_be_replaced(path, folder));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(inside, path), 0);
	assert_true(fence_may_be_replaced(path, folder));
	assert_int_equal(unlink(path), 0);
	/* Not in a folder that begins alike. */
	snprintf(folder, sizeof(folder), "%s/sour", work);
	assert_false(fence_may_be_replaced(inside, folder));
	/* /proc is another mount than /. */
	assert_false(fence_may_be_replaced("/proc/version", "/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_is_read_and_nothing_is_written),
		cmocka_unit_test(several_sources_are_read_and_nothing_else),
		cmocka_unit_test(root_reads_what_others_own_and_users_do_not),
		cmocka_unit_test(a_folder_for_writing_is_the_only_one),
		cmocka_unit_test(of_etc_servers_need_a_few_files),
		cmocka_unit_test(etc_is_read_only_where_the_resolver_is_a_file),
		cmocka_unit_test(a_file_elsewhere_or_a_mount_is_not_replaced),
	};

	if (!can_be_tested()) {
		puts("1..0 # SKIP no sandbox here: Landlock, libseccomp, or "
		     "under a tool that needs more");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_work, remove_work);
}
