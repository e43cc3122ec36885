/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_address.c - addresses taken apart, keys in JSON, and catalogs: what is
 * taken names one object or a tree, and no path of a catalog leads out of it.
 */
#include "remote/catalog.h"
#include "remote/granted.h"
#include "remote/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_url(const char *text)
{
	static const struct url_s3 endpoints[] = {
		{ NULL, "us-east-1" }, { "http://127.0.0.1:80/", "x" },
	};
	char error[256], *coded;
	struct url url;

	for (size_t i = 0; i < 2; i++) {
		if (url_parse(text, &endpoints[i], &url, error, sizeof(error)))
			continue;
		if (strncasecmp(url.http, "http", 4) != 0 || !url_is(text) ||
		    !url.name || strchr(url.name, '/'))
			abort();
		coded = url_encode(url.http, true);
		if (!coded || strpbrk(coded, "/ ?&=+#"))
			abort();
		free(coded);
		url_release(&url);
	}
}

static void check_paths(const struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->n; i++) {
		const char *path = catalog->lines[i].path;

		if (!*path || *path == '/' || strncmp(path, "../", 3) == 0 ||
		    strstr(path, "/../") || strstr(path, "//"))
			abort();
	}
}

static void try_catalog(const uint8_t *data, size_t len)
{
	char path[64], error[512];
	struct folder folder = { 0 };
	struct catalog catalog;
	int fd = memfd_create("catalog", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (catalog_read(path, &catalog, error, sizeof(error)) == 0) {
		check_paths(&catalog);
		if (catalog_list(&catalog, "", &folder))
			abort();
		folder_release(&folder);
		catalog_release(&catalog);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	struct keys keys;
	int64_t until;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	try_url(text);
	free(text);
	try_catalog(data, len);
	if (granted_parse((const char *)data, len, &keys, &until) == 0) {
		if (!*keys.id || !*keys.secret)
			abort();
		keys_forget(&keys);
	}
	return 0;
}
