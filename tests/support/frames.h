/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.h - frames built byte by byte from a description, opened with their
 * views, for tests of what lies above containers.
 *
 * Chunks are stored uncompressed. All calls fail the running test where they
 * cannot do their work, unless they return an error.
 */
#ifndef BFS_TEST_FRAMES_H
#define BFS_TEST_FRAMES_H

#include "array/array.h"
#include "view/dispatch.h"
#include "view/kept.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_bytes {
	uint8_t *p;		/* free() */
	size_t len;
	size_t cap;
};

struct frame_layer {
	const char *name;
	size_t name_len;
	const void *p;
	size_t len;
};

#define FRAME_LAYER(name, bytes) \
	{ name, sizeof(name) - 1, bytes, sizeof(bytes) - 1 }

struct frame_input {
	const struct frame_layer *metas;
	size_t n_metas;
	const struct frame_layer *vlmetas;
	size_t n_vlmetas;
	const uint8_t *data;	/* cut into chunks */
	size_t len;
	size_t chunksize, blocksize;
	uint8_t typesize;
	uint8_t special[1024];	/* top byte of the index entry, or 0 */
};

struct frame_bytes frames_build(const struct frame_input *in);

/* Metalayers with all kinds of names, and their file names. */
#define FRAMES_N_METAS 12
#define FRAMES_N_VLMETAS 8
extern const struct frame_layer frames_metas[FRAMES_N_METAS];
extern const char *const frames_meta_files[FRAMES_N_METAS];
extern const struct frame_layer frames_vlmetas[FRAMES_N_VLMETAS];
extern const char *const frames_vlmeta_files[FRAMES_N_VLMETAS];
/* The bytes of all chunks: no two neighbours equal. */
extern uint8_t frames_pattern[100000];
/* (5, 7) in chunks of (4, 4), blocks of (2, 3), items "<i4". */
#define FRAMES_ARRAY_META_LEN 53
extern const char frames_array_meta[FRAMES_ARRAY_META_LEN + 1];

/* Group setup and teardown: the engine that all files share. */
extern struct bfs_engine *frames_engine;
int frames_setup(void **state);
int frames_teardown(void **state);

enum bfs_err frames_open_source(struct bfs_source *source, const char *views,
				const char *name, struct bfs_file **ret_file,
				struct bfs_diag *diag);
enum bfs_err frames_try_open(const struct frame_bytes *bytes,
			     struct bfs_file **ret_file);
struct bfs_file *frames_open(const struct frame_bytes *bytes);
/* The same with a list of views. */
struct bfs_file *frames_open_with(const struct frame_bytes *bytes,
				  const char *views);
/* Four chunks, the second of them zeros, with all odd metalayers. */
struct frame_input frames_rich_input(void);
struct bfs_file *frames_open_rich(struct frame_bytes *ret_bytes);
/* An array of four chunks; special (4 entries) may be NULL. */
struct bfs_file *frames_open_grid(struct frame_bytes *ret_bytes,
				  const char *meta, size_t len,
				  const uint8_t *special);
void frames_close(struct bfs_file *file, struct frame_bytes *bytes);

struct bfs_node frames_root(void);
bool frames_find(struct bfs_file *file, const char *path,
		 struct bfs_node *ret_node);
/* A whole entry with a NUL behind; free(). */
uint8_t *frames_read(struct bfs_file *file, const char *path,
		     size_t *ret_len);
void frames_expect(struct bfs_file *file, const char *path, const void *want,
		   size_t len);
/* Parsed as strict JSON, an object; json_object_put(). */
struct json_object *frames_json(struct bfs_file *file, const char *path);
/* The text of a value, or NULL. */
const char *frames_text(struct json_object *obj, const char *key);

#endif
