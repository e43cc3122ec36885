/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build.c - the public interface to what this build is: its version, names of
 * errors, the tables of codecs, filters, containers and views; and which
 * characters it takes for seen.
 */
#include "api/priv.h"

#include "base/bytes.h"
#include "codec/codec.h"
#include "container/container.h"
#include "filter/filter.h"
#include "text/seen.h"
#include "view/dispatch.h"

#include <string.h>

const char *bloscfs_version(void)
{
	return BLOSCFS_VERSION;
}

unsigned bloscfs_version_number(void)
{
	return BLOSCFS_VERSION_NUMBER;
}

const char *bloscfs_err_name(enum bloscfs_err err)
{
	return bfs_err_name((enum bfs_err)err);
}

int bloscfs_err_errno(enum bloscfs_err err)
{
	return bfs_err_errno((enum bfs_err)err);
}

bool bloscfs_is_seen(uint32_t character)
{
	return bfs_is_seen(character);
}

struct row {
	const char *name;
	const char *version;
	bool built;
};

static bool codec_row(size_t i, struct row *ret_row)
{
	const struct bfs_codec *codec;

	if (i >= bfs_n_codecs)
		return false;
	codec = bfs_codecs[i];
	*ret_row = (struct row){
		codec->name,
		codec->version ? codec->version() : NULL,
		codec->decode != NULL,
	};
	return true;
}

static bool filter_row(size_t i, struct row *ret_row)
{
	if (i >= bfs_n_filters)
		return false;
	*ret_row = (struct row){
		bfs_filters[i]->name,
		NULL,
		bfs_filters[i]->identity ||
			bfs_filters[i]->undo[BFS_CPU_SCALAR] != NULL,
	};
	return true;
}

static bool container_row(size_t i, struct row *ret_row)
{
	if (i >= bfs_n_formats)
		return false;
	*ret_row = (struct row){ bfs_formats[i]->name, NULL,
				 bfs_formats[i]->open != NULL };
	return true;
}

static bool view_row(size_t i, struct row *ret_row)
{
	if (i >= bfs_n_views)
		return false;
	*ret_row = (struct row){ bfs_views[i]->name, NULL, true };
	return true;
}

static bool group_row(size_t i, struct row *ret_row)
{
	for (size_t k = 0; k < bfs_n_views; k++) {
		const struct bfs_view *view = bfs_views[k];

		if (view->always || i-- > 0)
			continue;
		*ret_row = (struct row){ view->name, view->groups, true };
		return true;
	}
	return false;
}

bool bloscfs_table(const char *table, size_t i, const char **ret_name,
		   const char **ret_version, bool *ret_built)
{
	static const struct {
		const char *name;
		bool (*get)(size_t i, struct row *ret_row);
	} tables[] = {
		{ "codec", codec_row },
		{ "filter", filter_row },
		{ "container", container_row },
		{ "view", view_row },
		{ "view groups", group_row },
	};

	if (!table || !ret_name || !ret_version || !ret_built)
		return false;
	for (size_t t = 0; t < BFS_ARRAY_LEN(tables); t++) {
		struct row row;

		if (strcmp(table, tables[t].name))
			continue;
		if (!tables[t].get(i, &row))
			return false;
		*ret_name = row.name;
		*ret_version = row.version;
		*ret_built = row.built;
		return true;
	}
	return false;
}
