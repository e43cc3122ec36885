/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.c - where on its server lies what a path of a shelf names.
 */
#include "remote/shelf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

char *address_key(const struct shelf *shelf, const char *path)
{
	char *plain = folder_unescape(path), *key;

	if (!plain || asprintf(&key, "%s%s", shelf->url.prefix, plain) < 0)
		key = NULL;
	free(plain);
	return key;
}

int address_of(struct shelf *shelf, const char *path, struct url *ret_url)
{
	struct url_s3 s3 = { shelf->setup.endpoint, shelf->setup.region };
	struct catalog_line *line;
	char *key, *coded, error[256];

	if (shelf->has_catalog) {
		line = bsearch(&(struct catalog_line){
				.path = (char *)(uintptr_t)path },
			       shelf->catalog.lines, shelf->catalog.n,
			       sizeof(*line), catalog_compare);
		if (!line)
			return -ENOENT;
		return url_parse(line->url, &s3, ret_url, error,
				 sizeof(error)) == -ENOMEM ? -ENOMEM : 0;
	}
	*ret_url = (struct url){ .s3 = true };
	key = address_key(shelf, path);
	coded = key ? url_encode(key, false) : NULL;
	if (!coded || asprintf(&ret_url->http, "%s/%s", shelf->url.http,
			       coded) < 0)
		ret_url->http = NULL;
	free(key);
	free(coded);
	return ret_url->http ? 0 : -ENOMEM;
}
