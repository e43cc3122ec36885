/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_place.c - from a row's words to an entry of an opened container.
 */
#include "support/sample_place.h"

#include "support/sample_rows.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool sample_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum bloscfs_err sample_open(struct bloscfs *fs, const char *path,
			     struct bloscfs_file **ret_file,
			     struct bloscfs_diag *diag)
{
	const char *slash = strrchr(path, '/');
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum bloscfs_err err;

	if (fd < 0)
		return BLOSCFS_ERR_IO;
	if (sample_is_folder(path)) {
		err = bloscfs_open_dir(fs, fd, ret_file, diag);
		close(fd);
		return err;
	}
	err = bloscfs_open(fs, fd, slash ? slash + 1 : path, 0, 0, ret_file,
			   diag);
	if (err != BLOSCFS_OK)
		close(fd);
	return err;
}

struct bloscfs_file *sample_open_data(struct bloscfs *fs, const char *name)
{
	struct bloscfs_file *file;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", TEST_DATA_DIR, name);
	return sample_open(fs, path, &file, NULL) == BLOSCFS_OK ? file : NULL;
}

bool sample_find(struct bloscfs_file *file, const struct bloscfs_node *dir,
		 const char *path, struct bloscfs_node *ret_node)
{
	struct bloscfs_node node = *dir;
	char name[BLOSCFS_NAME_MAX + 1];

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len > BLOSCFS_NAME_MAX)
			return false;
		memcpy(name, path, len);
		name[len] = 0;
		if (len > 0 && !bloscfs_lookup(file, &node, name, &node))
			return false;
		path += len + (path[len] == '/');
	}
	*ret_node = node;
	return true;
}

bool sample_is_container_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *format;
	bool is = fd >= 0 && bloscfs_probe_dir(fd, &format) == BLOSCFS_OK;

	if (fd >= 0)
		close(fd);
	return is;
}

const char *sample_enter(struct bloscfs_file *file, const char *what,
			 struct bloscfs_node *ret_dir)
{
	char path[1024];

	*ret_dir = bloscfs_root();
	for (;;) {
		bool embed = !strncmp(what, "embed:", 6);
		size_t len;

		if (!embed && strncmp(what, "member:", 7))
			return what;
		what += embed ? 6 : 7;
		len = strcspn(what, ":");
		snprintf(path, sizeof(path), "%s%.*s", embed ? "tree/" : "",
			 (int)len, what);
		if (!sample_find(file, ret_dir, path, ret_dir))
			return NULL;
		what += len + (what[len] == ':');
	}
}

bool sample_entry(const char *what, const char *arg, char *path)
{
	static const char *const sections[][2] = {
		{ "metadata", "meta/metadata" },
		{ "userdata", "meta/userdata" },
		{ "codecdata", "meta/codec" },
		{ "usermeta", "meta/usermeta" },
		{ "data", "data.bin" },
		{ "npy", "data.npy" },
	};

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		if (!strcmp(what, sections[i][0])) {
			strcpy(path, sections[i][1]);
			return true;
		}
	}
	if (!strcmp(what, "chunk"))
		sprintf(path, "chunks/%010llu", strtoull(arg, NULL, 10));
	else if (!strcmp(what, "vlblock"))	/* of a file of one chunk */
		sprintf(path, "blocks/0000000000/%010llu",
			strtoull(arg, NULL, 10));
	else if (!strcmp(what, "metalayer"))
		sample_file_name(arg, stpcpy(path, "meta/"));
	else if (!strcmp(what, "vlmetalayer"))
		sample_file_name(arg, stpcpy(path, "vlmeta/"));
	else
		return false;
	return true;
}
