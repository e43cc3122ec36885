/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_mix.c - see source_mix.h.
 */
#include "tree/source_mix.h"

#include "tree/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILES 16384
#define MAX_DEPTH 6

/* Of a column of bcolz, which has a file for each chunk. */
static const char *const column_files[] = { "meta/sizes", "meta/storage" };

struct mix {
	const struct src *src;
	uint64_t sum;		/* of all files, in any order */
	unsigned n;
};

static bool add_file(struct mix *mix, int dir_fd, const char *name,
		     uint64_t above)
{
	struct stat st;
	uint64_t key;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	key = hash_text(above, name);
	key = hash_word(key, (uint64_t)st.st_ino);
	key = hash_word(key, (uint64_t)st.st_size);
	key = hash_word(key, (uint64_t)st.st_mtim.tv_sec);
	mix->sum += hash_word(key, (uint64_t)st.st_mtim.tv_nsec);
	mix->n++;
	return true;
}

static void add_folder(struct mix *mix, int dir_fd, const char *name,
		       uint64_t above, unsigned depth);

static void add_entry(struct mix *mix, int dir_fd,
		      const struct dirent *entry, uint64_t above,
		      unsigned depth)
{
	const char *name = entry->d_name;

	if (!strcmp(name, ".") || !strcmp(name, "..") ||
	    !strcmp(name, "_indexes"))
		return;
	if (entry->d_type != DT_DIR && add_file(mix, dir_fd, name, above))
		return;
	if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
	    depth < MAX_DEPTH)
		add_folder(mix, dir_fd, name, above, depth + 1);
}

/* Recursion is bounded by MAX_DEPTH. */
static void add_folder(struct mix *mix, int dir_fd, const char *name,
		       uint64_t above, unsigned depth)
{
	int fd = src_at(mix->src, dir_fd, name, O_RDONLY | O_DIRECTORY);
	uint64_t key = hash_text(above, name);
	const struct dirent *entry;
	bool is_column = false;
	DIR *dir;

	if (fd < 0)
		return;
	for (size_t i = 0; i < 2; i++)
		is_column |= add_file(mix, fd, column_files[i], key);
	dir = is_column ? NULL : fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while (mix->n < MAX_FILES && (entry = readdir(dir)))
		add_entry(mix, fd, entry, key, depth);
	closedir(dir);
}

uint64_t source_mix(const struct src *src, int dir_fd)
{
	struct mix mix = { .src = src };

	add_folder(&mix, dir_fd, "", hash_seed(), 0);
	return mix.sum;
}
