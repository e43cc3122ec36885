/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - chunks.tsv: one line per chunk, all of one length, so that line N
 * begins at a known place and is made when it is read.
 *
 * 128 bytes each: a line of names, then chunk after chunk. Fields are separated
 * by tabs, and have no blanks around them, so that cut and awk take them as
 * they are; the last one alone, "padding", is blanks up to the line's length.
 * What is not known is "-".
 */
#include "base/bytes.h"
#include "codec/codec.h"
#include "filter/filter.h"
#include "view/chunkfacts.h"
#include "view/kept.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE 128
#define MAX_CHUNKS UINT64_C(10000000000)	/* numbers of ten digits */
#define MAX_FILTERS 31			/* bytes of that field */
#define FIELD 32			/* bytes of any other, with its NUL */

enum { NUMBER, OFFSET, CBYTES, NBYTES, CODEC, FILTERS, SPECIAL, BLOCKS,
       STATUS, N_FIELDS };

static const struct {
	const char *name;
	int width;		/* at most */
} fields[N_FIELDS] = {
	[NUMBER] = { "chunk", 10 },
	[OFFSET] = { "offset", 19 },
	[CBYTES] = { "cbytes", 10 },
	[NBYTES] = { "nbytes", 10 },
	[CODEC] = { "codec", 10 },
	[FILTERS] = { "filters", MAX_FILTERS },
	[SPECIAL] = { "special", 7 },
	[BLOCKS] = { "blocks", 10 },
	[STATUS] = { "status", 11 },
};

/* The widths, and a tab behind each; the line end. */
_Static_assert(10 + 19 + 10 + 10 + 10 + MAX_FILTERS + 7 + 10 + 11 + N_FIELDS +
	       1 == LINE, "a line has its length");

static void set_u64(char *field, uint64_t v)
{
	snprintf(field, FIELD, "%" PRIu64, v);
}

/* As many names as fit; "..." at the end where there are more. */
static void set_filters(char *field, const struct bfs_chunk_head *head)
{
	char name[24], list[FIELD * BFS_N_FILTER_SLOTS] = "";
	size_t len = 0;

	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++) {
		if (head->filters[i])
			len += (size_t)snprintf(
				list + len, sizeof(list) - len, "%s%s",
				len ? "," : "",
				bfs_filter_name(head->filters[i], name));
	}
	if (len > MAX_FILTERS)
		strcpy(list + MAX_FILTERS - 3, "...");
	if (len)
		memcpy(field, list, strlen(list) + 1);
}

static void set_head(char field[N_FIELDS][FIELD + 1],
		     const struct bfs_chunk_head *head)
{
	char buf[24];

	set_u64(field[CBYTES], head->cbytes);
	snprintf(field[CODEC], FIELD, "%s",
		 bfs_codec_format_name(head->codec_format, head->codec_id,
				       buf));
	set_filters(field[FILTERS], head);
	set_u64(field[BLOCKS], head->n_blocks);
}

static void set_facts(char field[N_FIELDS][FIELD + 1],
		      const struct bfs_chunk_facts *facts)
{
	static const char *const statuses[] = {
		[BFS_GOOD] = "good",
		[BFS_DAMAGED] = "damaged",
		[BFS_UNSUPPORTED] = "unsupported",
	};
	const char *special = bfs_special_name(facts->kind);

	if (facts->placed && facts->stored)
		set_u64(field[OFFSET], facts->span.off);
	else if (facts->placed)
		set_u64(field[CBYTES], 0);
	if (facts->has_head)
		set_head(field, &facts->head);
	if (facts->has_len)
		set_u64(field[NBYTES], facts->nbytes);
	if (facts->placed && special)
		strcpy(field[SPECIAL], special);
	strcpy(field[STATUS], statuses[facts->status]);
}

/* line holds LINE + 1 bytes. */
static void put_fields(char field[N_FIELDS][FIELD + 1], const char *padding,
		       char *line)
{
	size_t at = 0;

	for (size_t i = 0; i < N_FIELDS; i++)
		at += (size_t)snprintf(line + at, LINE + 1 - at, "%.*s\t",
				       fields[i].width, field[i]);
	snprintf(line + at, LINE + 1 - at, "%-*s\n", (int)(LINE - 1 - at),
		 padding);
}

static void make_names(char *line)
{
	char field[N_FIELDS][FIELD + 1];

	for (size_t i = 0; i < N_FIELDS; i++)
		snprintf(field[i], sizeof(field[i]), "%s", fields[i].name);
	put_fields(field, "padding", line);
}

static enum bfs_err make_line(struct bfs_container *container, uint64_t n,
			      char *line, struct bfs_diag *diag)
{
	char field[N_FIELDS][FIELD + 1];
	struct bfs_chunk_facts facts;

	BFS_TRY(bfs_chunk_find_facts(container, n, &facts, diag));
	for (size_t i = 0; i < N_FIELDS; i++)
		strcpy(field[i], "-");
	set_u64(field[NUMBER], n);
	set_facts(field, &facts);
	put_fields(field, "", line);
	return BFS_OK;
}

static enum bfs_err table_fill(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	struct bfs_container *container = file->array->container;
	size_t done = 0;

	(void)node;
	while (done < len) {
		uint64_t n = (off + done) / LINE;
		size_t in = (size_t)((off + done) % LINE), part;
		char line[LINE + 1];

		if (n == 0)
			make_names(line);
		else
			BFS_TRY(make_line(container, n - 1, line, diag));
		part = (size_t)bfs_min(len - done, LINE - in);
		memcpy(buf + done, line + in, part);
		done += part;
	}
	return bfs_source_check(container->source, diag);
}

static size_t table_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "chunks.tsv", 0 };
	return 1;
}

static void table_stat(struct bfs_file *file, const struct bfs_node *node,
		       struct bfs_attr *ret_attr)
{
	uint64_t n = file->array->container->n_chunks;

	(void)node;
	if (n > MAX_CHUNKS)
		return;
	ret_attr->len = (n + 1) * LINE;
	ret_attr->stored_len = ret_attr->len;
}

static enum bfs_err table_open(struct bfs_file *file,
			       const struct bfs_node *node,
			       struct bfs_diag *diag)
{
	(void)node;
	if (file->array->container->n_chunks <= MAX_CHUNKS)
		return BFS_OK;
	return bfs_fail(diag, BFS_ERR_LIMIT, 0,
			"more chunks than a table has lines for");
}

const struct bfs_view bfs_view_table = {
	.name = "table",
	.roots = table_roots,
	.stat = table_stat,
	.open = table_open,
	.fill = table_fill,
};
