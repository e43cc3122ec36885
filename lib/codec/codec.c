/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.c - the table of codecs, their names, and the state of each worker.
 *
 * In: a chunk's or a frame's numbers for a codec; out: its row or its name.
 * The rows are constant; a worker's states belong to that worker alone.
 */
#include "codec/codec.h"

#include "base/mem.h"

#include <stdio.h>

#define CODE_LZ4 1
#define CODE_LZ4HC 2	/* another writer of lz4, without a row */
#define FORMAT_BY_ID 6

#define BFS_CODEC_ROW(stem) &bfs_codec_##stem,
const struct bfs_codec *const bfs_codecs[] = {
#include "codec/rows.def"
};
#undef BFS_CODEC_ROW

const size_t bfs_n_codecs = BFS_ARRAY_LEN(bfs_codecs);

const struct bfs_codec *bfs_codec_find(unsigned format, unsigned id)
{
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		const struct bfs_codec *codec = bfs_codecs[i];

		if (codec->format < 0 || (unsigned)codec->format != format)
			continue;
		if (format != FORMAT_BY_ID ||
		    (codec->id >= 0 && (unsigned)codec->id == id))
			return codec;
	}
	return NULL;
}

const struct bfs_codec *bfs_codec_by_code(unsigned code)
{
	if (code == CODE_LZ4HC)
		code = CODE_LZ4;
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		const struct bfs_codec *codec = bfs_codecs[i];

		if (codec->id >= 0 && (unsigned)codec->id == code)
			return codec;
	}
	return NULL;
}

const char *bfs_codec_code_name(unsigned code, char buf[24])
{
	const struct bfs_codec *codec = bfs_codec_by_code(code);

	if (code == CODE_LZ4HC)
		return "lz4hc";
	if (codec)
		return codec->name;
	snprintf(buf, 24, "codec-%u", code);
	return buf;
}

const char *bfs_codec_format_name(unsigned format, unsigned id, char buf[24])
{
	const struct bfs_codec *codec = bfs_codec_find(format, id);

	if (codec)
		return codec->name;
	if (format == FORMAT_BY_ID)
		snprintf(buf, 24, "codec-%u", id);
	else
		snprintf(buf, 24, "format-%u", format);
	return buf;
}

struct bfs_codec_states {
	void *slot[BFS_ARRAY_LEN(bfs_codecs)];
};

struct bfs_codec_states *bfs_codec_states_new(void)
{
	return bfs_zalloc(1, sizeof(struct bfs_codec_states));
}

void bfs_codec_states_free(struct bfs_codec_states *states)
{
	if (!states)
		return;
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		if (states->slot[i] && bfs_codecs[i]->state_free)
			bfs_codecs[i]->state_free(states->slot[i]);
	}
	bfs_free(states);
}

static enum bfs_err find_state(const struct bfs_codec *codec,
			       struct bfs_codec_states *states,
			       void **ret_state)
{
	size_t i = 0;

	while (i < bfs_n_codecs && bfs_codecs[i] != codec)
		i++;
	if (i == bfs_n_codecs)
		return BFS_ERR_INVALID;
	if (!states->slot[i])
		states->slot[i] = codec->state_new();
	if (!states->slot[i])
		return BFS_ERR_NOMEM;
	*ret_state = states->slot[i];
	return BFS_OK;
}

enum bfs_err bfs_codec_decode(const struct bfs_codec *codec,
			      const struct bfs_codec_job *job,
			      struct bfs_codec_states *states)
{
	void *state = NULL;

	if (!codec->decode)
		return BFS_ERR_UNSUPPORTED;
	if (codec->state_new)
		BFS_TRY(find_state(codec, states, &state));
	return codec->decode(job, state);
}
