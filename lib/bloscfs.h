/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bloscfs.h - the public interface of libbloscfs: Blosc containers as small
 * trees of virtual files. It is the manual, too: sections are marked by lines
 * of dashes, and the rules that hold for all calls come first.
 *
 * A program in short, without its checks:
 *
 *	struct bloscfs *fs;
 *	struct bloscfs_file *file;
 *	struct bloscfs_node node;
 *
 *	bloscfs_new(NULL, &fs, NULL);
 *	bloscfs_open(fs, open("a.b2nd", O_RDONLY), "a.b2nd", 0, 0, &file, NULL);
 *	bloscfs_lookup(file, NULL, "data.bin", &node);
 *	bloscfs_read(file, &node, 0, buf, sizeof(buf), &len, NULL);
 *	bloscfs_close(file);
 *	bloscfs_free(fs);
 *
 * Threads: all calls may run at once, on different or on the same objects,
 * but for what a call says itself. An instance is freed after its files are
 * closed. The library never prints, and touches no file that it was not given.
 *
 * Errors: a call that can fail returns enum bloscfs_err, which must be looked
 * at. What it gives is named ret_, comes last (a diagnosis behind it) and is
 * untouched on failure. A diagnosis is filled on failure only.
 *
 * NULL: a diagnosis may be NULL anywhere, and so may an entry (node or dir),
 * which then is the directory of the outermost container. What else may be
 * NULL is said to be; NULL may be closed and freed. A NULL that is not allowed
 * is not followed: the call fails with INVALID, returns false, 0 or NULL
 * (bloscfs_file_status: damaged; bloscfs_fd_take: -EINVAL), or does nothing.
 *
 * Room to grow: a struct whose first member is `size` may get more members at
 * its end. The caller sets size to its sizeof; neither side touches what lies
 * behind it, and what an older caller does not have is 0. All other structs
 * keep their length for ever; their members `reserved` are 0, and callers
 * leave them so.
 *
 * Sizes and offsets are in bytes. Strings are NUL-terminated; those that calls
 * return are static unless said otherwise.
 */
#ifndef BLOSCFS_H
#define BLOSCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BLOSCFS_MUST_CHECK __attribute__((warn_unused_result))
#else
#define BLOSCFS_MUST_CHECK
#endif

/* ---- versions -------------------------------------------------------- */

/* Of this header. As one number: 10000 * major + 100 * minor + patch. */
#define BLOSCFS_VERSION_MAJOR 0
#define BLOSCFS_VERSION_MINOR 1
#define BLOSCFS_VERSION_PATCH 0
#define BLOSCFS_VERSION_NUMBER                                      \
	(10000 * BLOSCFS_VERSION_MAJOR + 100 * BLOSCFS_VERSION_MINOR + \
	 BLOSCFS_VERSION_PATCH)

/* Of the library that is there: "0.1.0", and as a number. */
const char *bloscfs_version(void);
unsigned bloscfs_version_number(void);

/* Whether a text shows a character of Unicode as itself. False of controls,
 * marks of direction, and all that is not seen: who prints names, which may
 * hold them, spells these. */
bool bloscfs_is_seen(uint32_t character);

/* Row i (0, 1, ...) of a table of what this build knows, or false at the end.
 * table: "codec", "filter", "container" or "view". *ret_version is NULL for
 * our own code; *ret_built is false for what is named but not decodable.
 * "view groups" are the views that a list of them can name, and *ret_version
 * the words there that stand for each and others, with a space before and
 * behind every one; or NULL. */
bool bloscfs_table(const char *table, size_t i, const char **ret_name,
		   const char **ret_version,
		   bool *ret_built) BLOSCFS_MUST_CHECK;

/* ---- errors ---------------------------------------------------------- */

enum bloscfs_err {
	BLOSCFS_OK = 0,
	BLOSCFS_ERR_NOMEM,		/* no memory, or over the budget */
	BLOSCFS_ERR_IO,			/* the source could not be read */
	BLOSCFS_ERR_NOT_FORMAT,		/* not a container we know */
	BLOSCFS_ERR_TRUNCATED,		/* bytes end too early */
	BLOSCFS_ERR_CORRUPT,		/* bytes contradict the format */
	BLOSCFS_ERR_UNSUPPORTED,	/* known, but not decodable here */
	BLOSCFS_ERR_LIMIT,		/* over a limit of ours */
	BLOSCFS_ERR_RANGE,		/* beyond the end */
	BLOSCFS_ERR_CHANGED,		/* the source changed meanwhile */
	BLOSCFS_ERR_INVALID,		/* the caller's mistake */
	BLOSCFS_ERR_CANCELLED,		/* by bloscfs_call_cancel */
	BLOSCFS_ERR_TOO_MUCH,		/* more work than the call may make */
	BLOSCFS_ERR_NO_FILES,		/* no descriptor is free */
	BLOSCFS_ERR_ACCESS,		/* the source may not be read */
};

/* Why: a place in the container and one phrase. */
struct bloscfs_diag {
	enum bloscfs_err err;
	uint64_t off;
	int64_t chunk;		/* logical number, -1 where it is none */
	char text[200];
	uint64_t reserved[2];
};

/* A short name such as "corrupt"; never NULL. */
const char *bloscfs_err_name(enum bloscfs_err err);
/* The errno that a program should see; 0 for BLOSCFS_OK. */
int bloscfs_err_errno(enum bloscfs_err err);

/* Errors of the moment (NOMEM, IO, CHANGED, CANCELLED, TOO_MUCH, NO_FILES,
 * ACCESS) say nothing about a container, and nothing that was found beside one
 * is kept: the call may succeed another time. Calls that return no error may
 * meet one, too: take a mark before them and ask behind. OK, or the error that
 * this thread met since; what those calls said is void then. */
uint64_t bloscfs_mark(void);
enum bloscfs_err bloscfs_met(uint64_t mark,
			     struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;

/* ---- instances ------------------------------------------------------- */

/* A cache of decoded blocks, threads that decode ahead, a budget of memory. */
struct bloscfs;

/* As cache_size: only the blocks that are being read. */
#define BLOSCFS_NO_CACHE UINT64_MAX
/* As max_memory. */
#define BLOSCFS_NO_LIMIT UINT64_MAX

struct bloscfs_options {
	size_t size;		/* sizeof(struct bloscfs_options) */
	uint64_t cache_size;	/* decoded blocks; 0 = 256 MiB; never more than
				 * three quarters of max_memory */
	uint64_t max_memory;	/* all that it may hold; 0 = half of what memory
				 * and control groups leave to the process
				 * beside the limits of its other instances, at
				 * most cache_size + 1 GiB. Calls wait for
				 * memory that is in use; what one instance
				 * holds is nothing to another. */
	unsigned threads;	/* 0 = the CPUs this process may use */
	const char *views;	/* "info,data,..."; NULL = the default */
	bool drop_behind;	/* give the pages of files that are read back
				 * to the kernel, behind who reads; those of
				 * the few last MiB at bloscfs_rest */
};

/* options may be NULL. May be called before a fork: threads start when first
 * needed. INVALID names a wrong view. */
enum bloscfs_err bloscfs_new(const struct bloscfs_options *options,
			     struct bloscfs **ret_fs,
			     struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;
/* All its files are closed and its calls ended. */
void bloscfs_free(struct bloscfs *fs);

struct bloscfs_stats {
	size_t size;			/* sizeof(struct bloscfs_stats) */
	uint64_t cache_hits, cache_misses, cache_waits, cache_evictions;
	uint64_t cache_held, cache_budget;	/* bytes */
	uint64_t decoded;		/* bytes */
	uint64_t decode_ns;
	uint64_t source_bytes, source_reads;
	uint64_t memory;		/* bytes held for the instance */
	uint64_t memory_budget;		/* what it may hold; 0 = any */
	uint64_t memory_waits;		/* calls that waited for some of it */
	uint64_t memory_refused;	/* calls that can never have enough */
	uint64_t threads;		/* that decode at once */
};

/* Counters since the instance was made. */
void bloscfs_stats_get(struct bloscfs *fs, struct bloscfs_stats *ret_stats);
/* What the caller holds for the files of fs beside them (names, handles), in
 * bytes: counts against max_memory, up to a quarter of it. bytes stand in place
 * of what was said last; by one thread at a time. */
void bloscfs_beside(struct bloscfs *fs, uint64_t bytes);
/* Gives unpinned memory back to the system: all of it; what is idle, and
 * blocks beyond the cache's budget, which stay for a reader in the middle. */
void bloscfs_trim(struct bloscfs *fs);
void bloscfs_settle(struct bloscfs *fs);

/* ---- opening --------------------------------------------------------- */

/* Which container a regular file is, from its first bytes and its length;
 * NOT_FORMAT if none. fd stays the caller's. name is the file's name, a hint,
 * and may be NULL. *ret_format is a name of the table "container". */
enum bloscfs_err bloscfs_probe(int fd, const char *name,
			       const char **ret_format) BLOSCFS_MUST_CHECK;
/* The same for a directory (sparse frames): one or two glances inside. dirfd
 * stays the caller's. */
enum bloscfs_err bloscfs_probe_dir(int dirfd, const char **ret_format)
	BLOSCFS_MUST_CHECK;

/* An opened container. */
struct bloscfs_file;

/* Opens the container at [offset, offset + length) of fd (length 0: to the
 * end). fd belongs to the file from success on. name is a hint and may be
 * NULL. Damage is not a failure: the file says so (bloscfs_facts), and serves
 * what it can. */
enum bloscfs_err bloscfs_open(struct bloscfs *fs, int fd, const char *name,
			      uint64_t offset, uint64_t length,
			      struct bloscfs_file **ret_file,
			      struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;
/* The container that is a directory. dirfd stays the caller's. */
enum bloscfs_err bloscfs_open_dir(struct bloscfs *fs, int dirfd,
				  struct bloscfs_file **ret_file,
				  struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;
/* The same over bytes in memory, which must outlive the file. buf may be NULL
 * if len is 0, name in any case. */
enum bloscfs_err bloscfs_open_memory(struct bloscfs *fs, const void *buf,
				     size_t len, const char *name,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;
/* No piece of it may be held, and no call run on it. */
void bloscfs_close(struct bloscfs_file *file);

/* Nobody reads the file for now: with drop_behind, what is left of what was
 * read is given back. One or a few system calls. */
void bloscfs_rest(struct bloscfs_file *file);

/* Whether what is behind is still what was opened (CHANGED if not). Reading
 * asks this by itself. */
enum bloscfs_err bloscfs_file_check(struct bloscfs_file *file,
				    struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* ---- sources of the caller's own ------------------------------------- */

/* Bytes [off, off + len) of a source. */
struct bloscfs_range {
	uint64_t off, len;
};

/* A source of the caller's own: an object in a store, a file behind a
 * network. Its calls come from any threads, many at once, for as long as the
 * file is open, and may wait; they must not call the library for that file.
 * Errors that say nothing about the bytes (IO, NOMEM, CHANGED, CANCELLED,
 * TOO_MUCH, NO_FILES, ACCESS) are passed on to who reads and never kept;
 * others are taken for IO. why->text may be filled with a phrase for users
 * (no newline); it is empty and why is never NULL. */
struct bloscfs_source {
	size_t size;			/* sizeof(struct bloscfs_source) */
	void *arg;			/* of all calls; the caller's own */
	uint64_t length;		/* bytes; never changes */
	/* A validator (an ETag with its URL): two openings whose identities are
	 * equal have the same bytes, for ever. Copied. identity_len 0: nothing
	 * is known to be the same. */
	const void *identity;
	size_t identity_len;
	/* Fills buf with len bytes at off, which lie inside, and sets *ret_len
	 * (0 before) to how many these are: fewer are an error. Where a long
	 * wait is in it, it should ask bloscfs_call_check meanwhile, and
	 * return what that says. */
	enum bloscfs_err (*read)(void *arg, uint64_t off, void *buf,
				 size_t len, size_t *ret_len,
				 struct bloscfs_diag *why);
	/* OK while the object is the one that was opened; CHANGED if not. Asked
	 * after each group of reads, before their bytes count, so it should
	 * answer from memory where a read itself finds a changed object out.
	 * NULL: it never changes. */
	enum bloscfs_err (*check)(void *arg, struct bloscfs_diag *why);
	/* A hint: before blocks are read, the ranges that this will ask for,
	 * in order, neighbours merged, gaps between them; first those of
	 * headers, then of blocks, many of them in several calls. Must not
	 * wait for them. read still asks for each by itself. NULL: it is not
	 * told. */
	void (*will_need)(void *arg, const struct bloscfs_range *ranges,
			  size_t n);
	/* Nothing is called any more. Once, when the file is closed; not where
	 * opening failed. May be NULL. */
	void (*close)(void *arg);
	/* How many bytes could come while one more read is waited for; 0: few.
	 * Where these are many, will_need tells what a read is likely to ask
	 * for beside what it will: of a chunk that was never read where its
	 * blocks may lie, and what follows the beginning of all. */
	uint64_t wait_cost;
	/* Whether a range that lies inside needs no such wait, as it is kept
	 * somewhere near: then nothing is guessed that it tells. NULL: never.
	 */
	bool (*is_near)(void *arg, uint64_t off, uint64_t len);
};

/* bloscfs_probe and bloscfs_open of such a source, which is copied. */
enum bloscfs_err bloscfs_probe_source(const struct bloscfs_source *source,
				      const char *name,
				      const char **ret_format,
				      struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;
enum bloscfs_err bloscfs_open_source(struct bloscfs *fs,
				     const struct bloscfs_source *source,
				     const char *name,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* ---- folders of the caller's own ------------------------------------- */

enum bloscfs_there {
	BLOSCFS_NOTHING,
	BLOSCFS_A_FILE,
	BLOSCFS_A_FOLDER,
};

/* A folder of the caller's own, which is one container of many files: a prefix
 * in a store that holds a sparse frame or a column of bcolz. What
 * struct bloscfs_source says of calls and errors holds here, too. Paths are
 * relative to it, as in "data/__0.blp", and hold no "." or "..". */
struct bloscfs_folder {
	size_t size;			/* sizeof(struct bloscfs_folder) */
	void *arg;			/* of all calls; the caller's own */
	/* What lies there (NOTHING before), and a file's length in bytes.
	 * Asked of many files when a container is opened. */
	enum bloscfs_err (*find)(void *arg, const char *path,
				 enum bloscfs_there *ret_there,
				 uint64_t *ret_length,
				 struct bloscfs_diag *why);
	/* Fills a source (zeroed before), which is closed by its close; where
	 * nothing is there it stays zeroed, and OK is returned. */
	enum bloscfs_err (*open)(void *arg, const char *path,
				 struct bloscfs_source *ret_source,
				 struct bloscfs_diag *why);
	/* Nothing is called any more. Once, when the container is closed; not
	 * where opening failed. May be NULL. */
	void (*close)(void *arg);
};

/* bloscfs_probe_dir and bloscfs_open_dir of such a folder, which is copied. */
enum bloscfs_err bloscfs_probe_folder(const struct bloscfs_folder *folder,
				      const char **ret_format,
				      struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;
enum bloscfs_err bloscfs_open_folder(struct bloscfs *fs,
				     const struct bloscfs_folder *folder,
				     struct bloscfs_file **ret_file,
				     struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* Memory that sources hold for the files of fs, and could do without (what was
 * read ahead, or may be asked for again), counts against max_memory. Taken
 * before it is allocated; false where it would be in the way of decoding, or
 * anybody waits for memory: the source then does without. The calls of this
 * group wait for nobody, and may be made under a lock. */
bool bloscfs_charge(struct bloscfs *fs, uint64_t bytes) BLOSCFS_MUST_CHECK;
void bloscfs_give_back(struct bloscfs *fs, uint64_t bytes);
/* Whether bloscfs_charge would refuse anything just now: what is idle is better
 * given back than kept. */
bool bloscfs_is_tight(struct bloscfs *fs);
/* Called by a thread that is about to wait for so many bytes, within a call of
 * the library for fs but with nothing held: what sources have idle is to be
 * given back. It must not wait for long, nor call the library but for
 * bloscfs_give_back. Before the first file is opened. */
void bloscfs_on_want(struct bloscfs *fs,
		     void (*want)(void *arg, uint64_t bytes), void *arg);

/* ---- entries --------------------------------------------------------- */

/* An entry of a container's directory: a plain value, to be copied and kept.
 * Its members are the library's own, but for `child`, which tells the
 * container: 0 is the outermost one, other numbers are containers inside it,
 * and hold for this opening only; the rest holds for every opening of the same
 * bytes. */
struct bloscfs_node {
	uint16_t view;
	uint16_t kind;
	uint32_t child;
	uint64_t index;
	uint64_t reserved;
};

#define BLOSCFS_NAME_MAX 255

struct bloscfs_attr {
	bool is_dir;
	bool renews;		/* a text that has other bytes, of the same
				 * number, once more faults were met */
	uint64_t size;		/* exact, where it can be known */
	uint64_t stored;	/* bytes that are not holes */
	uint32_t blksize;	/* power of two, 4 KiB ... 1 MiB */
	uint64_t reserved[4];
};

/* The directory of the outermost container; NULL in its place does as well. */
struct bloscfs_node bloscfs_root(void);
/* False when there is no such entry, or dir is none. */
bool bloscfs_lookup(struct bloscfs_file *file, const struct bloscfs_node *dir,
		    const char *name,
		    struct bloscfs_node *ret_node) BLOSCFS_MUST_CHECK;
/* The entry at position pos (0, 1, ...) of a directory, in constant time;
 * false at the end. name has room for BLOSCFS_NAME_MAX + 1 bytes. */
bool bloscfs_list(struct bloscfs_file *file, const struct bloscfs_node *dir,
		  uint64_t pos, char *name,
		  struct bloscfs_node *ret_node) BLOSCFS_MUST_CHECK;
/* What bloscfs_stat would say, without looking at the entry. */
bool bloscfs_is_dir(struct bloscfs_file *file,
		    const struct bloscfs_node *node);
/* Decodes nothing. Where a size cannot be known it is what headers claim, or
 * 1, and bloscfs_access tells why. */
void bloscfs_stat(struct bloscfs_file *file, const struct bloscfs_node *node,
		  struct bloscfs_attr *ret_attr);
/* What open(2) should answer. */
enum bloscfs_err bloscfs_access(struct bloscfs_file *file,
				const struct bloscfs_node *node,
				struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;
/* A number that is the entry's own among all entries of the container, and
 * the same each time that container is opened. */
uint64_t bloscfs_node_id(struct bloscfs_file *file,
			 const struct bloscfs_node *node);
/* Whether entries with a `child` were given out. */
bool bloscfs_has_children(struct bloscfs_file *file);

#define BLOSCFS_XATTR_MAX 1024

/* The i-th extended attribute (0, 1, ...) of an entry: user.bloscfs.format,
 * .codec, .filters, .shape, .dtype, .ratio of a container's directory,
 * user.bloscfs.chunk (JSON) of a chunk's file. False at the end; *ret_len 0
 * for one that does not apply. value holds BLOSCFS_XATTR_MAX bytes, or is
 * NULL (ret_len may be, too, then): the name alone is given, at no cost. */
bool bloscfs_xattr(struct bloscfs_file *file, const struct bloscfs_node *node,
		   size_t i, const char **ret_name, char *value,
		   size_t *ret_len);

/* ---- facts ----------------------------------------------------------- */

enum bloscfs_status {
	BLOSCFS_GOOD,
	BLOSCFS_DAMAGED,
	BLOSCFS_UNSUPPORTED,
};

/* The verdict on the outermost container, and why (ret_why may be NULL, and is
 * filled unless it is good). Void where bloscfs_met says so; bloscfs_facts
 * tells the same and more, of any container, with an error of its own. */
enum bloscfs_status bloscfs_file_status(struct bloscfs_file *file,
					struct bloscfs_diag *ret_why);

enum bloscfs_kind {
	BLOSCFS_KIND_FRAME,		/* chunks, and no more is known */
	BLOSCFS_KIND_ARRAY,
	BLOSCFS_KIND_COLUMN,		/* of a table (bcolz) */
	BLOSCFS_KIND_OBJECTS,		/* a list of values in MessagePack */
	BLOSCFS_KIND_TENSOR,		/* an array packed in a plain frame */
	BLOSCFS_KIND_STORE,		/* members by name, containers or not */
	BLOSCFS_KIND_EXPRESSION,	/* a recipe: no chunk holds data */
	BLOSCFS_KIND_PROXY,		/* what was fetched of another array */
};

/* "frame", "array", ...; never NULL. */
const char *bloscfs_kind_name(enum bloscfs_kind kind);

#define BLOSCFS_MAX_DIM 16
#define BLOSCFS_MAX_FILTERS 6
/* A number that headers and index do not tell. */
#define BLOSCFS_NOT_KNOWN UINT64_MAX

struct bloscfs_filter {
	char name[24];
	uint8_t id;			/* as stored */
	uint8_t meta;			/* its parameter, as stored */
	uint8_t reserved[6];		/* 0 */
};

/* What headers and index tell about a container as a whole: the same as its
 * info.json. Strings that are pointers are static. */
struct bloscfs_facts {
	size_t size;			/* sizeof(struct bloscfs_facts), set by
					 * the caller; stays as it is */
	const char *format;		/* "b2nd", "chunk", ... */
	char format_detail[48];		/* "2, contiguous"; may be "" */
	enum bloscfs_kind kind;
	enum bloscfs_status status;
	struct bloscfs_diag why;	/* if status is not good; else err is
					 * OK, chunk -1 and text "" */
	uint64_t source_size;		/* bytes of the file (of a directory,
					 * of its index) or the member */
	uint64_t data_size;		/* bytes of data.bin, or NOT_KNOWN */
	uint64_t nbytes;		/* all chunks decoded, or NOT_KNOWN */
	uint64_t cbytes;		/* all that is stored */
	uint64_t n_chunks;		/* that can be named */
	uint64_t n_fetched;		/* of these, by a proxy; of all other
					 * kinds NOT_KNOWN */
	int64_t chunksize;		/* decoded; 0: they vary; -1: none */
	uint32_t blocksize;		/* decoded; 0: not said */
	uint32_t typesize;		/* bytes of an item, 1 or more */
	uint64_t n_metas;		/* metalayers in meta/ ... */
	uint64_t n_vlmetas;		/* ... and in vlmeta/ */
	bool has_vlblocks;		/* blocks of a chunk vary in size */

	/* Of the first stored chunk, or else what the container says. */
	char codec[24];			/* "lz4"; "": not known */
	int32_t clevel;			/* as the container says; -1: not */
	uint32_t n_filters;		/* in the order of compressing */
	struct bloscfs_filter filters[BLOSCFS_MAX_FILTERS];

	/* Of an array, as stored; it need not be sound (see status). All 0
	 * where there is none. */
	bool is_array;
	bool is_tiled;			/* chunk_shape and block_shape tell how
					 * items lie in chunks and blocks */
	char order;			/* 'C' or 'F' of the bytes in data.bin;
					 * 0 without an array */
	uint32_t ndim;			/* may be 0 of an array */
	int64_t shape[BLOSCFS_MAX_DIM];	/* in items */
	int64_t chunk_shape[BLOSCFS_MAX_DIM];
	int64_t block_shape[BLOSCFS_MAX_DIM];
	uint64_t dtype_len;		/* bytes of the whole; 0: none said */
	char dtype[256];		/* NumPy's name ("<f8"), cut where it
					 * is longer: see bloscfs_dtype */
};

/* The facts about the container that an entry belongs to: node->child alone
 * counts, NULL is the outermost one. Decodes nothing of it (a container
 * inside is found in what the outer one holds). Damage is a fact and no
 * failure; what fails is an error of the moment, or no such container. */
enum bloscfs_err bloscfs_facts(struct bloscfs_file *file,
			       const struct bloscfs_node *node,
			       struct bloscfs_facts *ret_facts,
			       struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;
/* The whole dtype, as stored, of a container named in the same way. buf (cap
 * bytes, may be NULL if that is 0) takes what fits, with a NUL behind;
 * *ret_len is the length without it. RANGE if none is said. */
enum bloscfs_err bloscfs_dtype(struct bloscfs_file *file,
			       const struct bloscfs_node *node, char *buf,
			       size_t cap, size_t *ret_len,
			       struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;

enum bloscfs_chunk_kind {
	BLOSCFS_CHUNK_BLOCKS,		/* compressed blocks of one size */
	BLOSCFS_CHUNK_VLBLOCKS,		/* the same of any sizes */
	BLOSCFS_CHUNK_PLAIN,		/* stored as it is */
	BLOSCFS_CHUNK_ZEROS,		/* what follows is one value for all */
	BLOSCFS_CHUNK_NAN,
	BLOSCFS_CHUNK_VALUE,		/* the one that the chunk holds */
	BLOSCFS_CHUNK_UNINIT,		/* any; reads as zeros */
};

/* What index and header tell about one chunk: the same as the attribute
 * user.bloscfs.chunk of its file. */
struct bloscfs_chunk_facts {
	size_t size;			/* sizeof(struct bloscfs_chunk_facts),
					 * set by the caller; stays as it is */
	enum bloscfs_status status;	/* as far as these tell */
	bool is_known;			/* else what follows but nbytes is 0,
					 * offset NOT_KNOWN */
	bool is_stored;			/* it has a header, which tells all
					 * below; else the index makes it up */
	bool repeats;			/* all its items are equal */
	enum bloscfs_chunk_kind kind;
	uint64_t nbytes;		/* decoded, or NOT_KNOWN */
	uint64_t cbytes;		/* stored */
	uint64_t file;			/* of a container that is a directory:
					 * the number of the chunk's file */
	uint64_t offset;		/* in the container or that file */
	uint32_t blocksize;		/* decoded; 0: they vary */
	uint32_t n_blocks;
	uint32_t typesize;
	uint32_t value_len;		/* of a VALUE; else 0 */
};

/* The facts about chunk n (0, 1, ... of n_chunks) of the container that an
 * entry belongs to, as for bloscfs_facts. Decodes nothing, and reads one
 * header at most, but the first time where only the sizes of all others tell
 * that of a chunk. Damage is a fact; RANGE where there is no such chunk. */
enum bloscfs_err bloscfs_chunk_facts(struct bloscfs_file *file,
				     const struct bloscfs_node *node,
				     uint64_t n,
				     struct bloscfs_chunk_facts *ret_facts,
				     struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* Looks at how the container that an entry belongs to is laid out, beyond what
 * serving it needs: chunks that share bytes, bytes that nothing names, numbers
 * that contradict one another, checksums of members of a ZIP store. tell gets
 * each finding, in no order, by the calling thread; it must not call the
 * library. A note is of what the format permits; all else is damage, though
 * each byte may be served right. Reads the headers of all chunks and the whole
 * of such members; damage of single chunks is for who decodes them. Fails only
 * for what says nothing about the container. */
enum bloscfs_err bloscfs_examine(struct bloscfs_file *file,
				 const struct bloscfs_node *node,
				 void (*tell)(void *arg, bool is_note,
					      const struct bloscfs_diag *why),
				 void *arg,
				 struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;

/* The same of a folder that is no container but a table: columns of bcolz and
 * the list that names them. Tells what of the list is no column, and columns
 * that have other numbers of rows; of each column itself nothing. Nothing is
 * told where *ret_is is false. tell may be NULL, and fs then, too, to know that
 * alone. dirfd is only used. */
enum bloscfs_err bloscfs_examine_table(struct bloscfs *fs, int dirfd,
				       bool *ret_is,
				       void (*tell)(void *arg, bool is_note,
						    const struct bloscfs_diag
							    *why),
				       void *arg, struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* ---- reading --------------------------------------------------------- */

/* Reads up to len bytes at off; *ret_len is short only at the end. Damage in
 * the range fails the whole call. buf may be NULL if len is 0. */
enum bloscfs_err bloscfs_read(struct bloscfs_file *file,
			      const struct bloscfs_node *node, uint64_t off,
			      void *buf, size_t len, size_t *ret_len,
			      struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;

/* The same without a copy where possible. */
struct bloscfs_pieces;
/* Pieces for one thread at a time, reusable; NULL on no memory. */
struct bloscfs_pieces *bloscfs_pieces_new(void) BLOSCFS_MUST_CHECK;
/* Nothing may be pinned. */
void bloscfs_pieces_free(struct bloscfs_pieces *pieces);
/* buf (len bytes) takes what must be gathered, and must outlive the pieces.
 * iov and n stay valid until bloscfs_unpin, by the same thread, which each
 * success needs. Nothing is pinned on failure. */
enum bloscfs_err bloscfs_pin(struct bloscfs_file *file,
			     const struct bloscfs_node *node, uint64_t off,
			     void *buf, size_t len,
			     struct bloscfs_pieces *pieces,
			     const struct iovec **ret_iov, size_t *ret_n,
			     struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;
void bloscfs_unpin(struct bloscfs_file *file, struct bloscfs_pieces *pieces);

/* The first byte at or after off that is in a hole, or in data (as lseek(2)
 * with SEEK_HOLE, SEEK_DATA: the end counts as a hole). RANGE where there is
 * none, which is ENXIO to a program. */
enum bloscfs_err bloscfs_seek(struct bloscfs_file *file,
			      const struct bloscfs_node *node, uint64_t off,
			      bool hole, uint64_t *ret_off,
			      struct bloscfs_diag *diag) BLOSCFS_MUST_CHECK;

/* ---- calls that can be left ------------------------------------------ */

/* A call context: what one request may cost, and a way out of it. It holds for
 * all calls of this header that the thread makes between start and end, with
 * files of the context's instance: opening, looking up, facts and reading. A
 * thread works for the context that it started last, until it ends it; a
 * thread without one is never stopped. A stopped call fails at the next block
 * that it would read or decode, and at each further one; what is decoded
 * already may still be had. */
struct bloscfs_call;

/* Whether a request waits where others have the memory that it needs. */
enum bloscfs_patience {
	BLOSCFS_WAITS,			/* for as much as it takes */
	BLOSCFS_WAITS_FOR_LITTLE,	/* for a 32nd of max_memory at most,
					 * which large requests leave alone */
	BLOSCFS_WAITS_NEVER,
};

struct bloscfs_call_limits {
	size_t size;		/* sizeof(struct bloscfs_call_limits) */
	uint64_t bytes;		/* read and decoded; 0 = any number */
	uint64_t cpu_ms;	/* of the thread; 0 = any; looked at seldom */
	uint64_t wall_ms;	/* the same by the clock */
	enum bloscfs_patience patience;
};

/* Used by one thread at a time, again and again. NULL on no memory. */
struct bloscfs_call *bloscfs_call_new(struct bloscfs *fs) BLOSCFS_MUST_CHECK;
/* Not while it is started. */
void bloscfs_call_free(struct bloscfs_call *call);
/* From here on the thread's calls count together against the limits (NULL:
 * none) and can be cancelled. What cancelled it before is forgotten. */
void bloscfs_call_start(struct bloscfs_call *call,
			const struct bloscfs_call_limits *limits);
/* What runs for it fails with CANCELLED (EINTR). From any thread and more than
 * once, as long as the context lives. */
void bloscfs_call_cancel(struct bloscfs_call *call);
/* Of the thread that started it: OK, or CANCELLED, or TOO_MUCH with the limit
 * and the cause in words. What the thread was told since, by calls that
 * return no error either, is void then. */
enum bloscfs_err bloscfs_call_stopped(const struct bloscfs_call *call,
				      struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;
/* The same thread's: whether it was TOO_MUCH because it had not the patience to
 * wait for memory. */
bool bloscfs_call_would_wait(const struct bloscfs_call *call);
void bloscfs_call_end(struct bloscfs_call *call);
/* For a source that waits (struct bloscfs_source), on the thread that it was
 * called on: OK, or why what it works for is to end. */
enum bloscfs_err bloscfs_call_check(struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;
/* Cancels all contexts of fs, those to come too, and decoding ahead: nothing
 * is decoded from now on by those who have one. */
void bloscfs_cancel_all(struct bloscfs *fs);

/* ---- for servers of whole trees -------------------------------------- */

/*
 * What follows serves programs that show whole trees of files, which come, go
 * and grow meanwhile, as the daemon bloscfs does. Who reads containers needs
 * none of it.
 */

/* Whether a container in a regular file says that it is longer than the file
 * is: damaged, or still being copied in. name may be NULL. */
bool bloscfs_is_short(int fd, const char *name);

/* The i-th name (0, 1, ...) of a file that a directory must hold to be worth
 * a probe, relative to it; NULL at the end. Its size and time tell whether
 * the container changed, its mode who may read it. */
const char *bloscfs_dir_index(size_t i);
/* The format (a name of the table "container") that the i-th such name is the
 * index of; NULL at the end. */
const char *bloscfs_dir_format(size_t i);
/* Whether a directory with the i-th such name is no container, and stays what
 * it is: a table, whose columns are containers themselves. bloscfs_open_dir
 * opens what stands beside it, where the view "arrow" is on: entries that have
 * all columns together. bloscfs_probe_dir does not find it. False at the
 * end. */
bool bloscfs_dir_is_beside(size_t i) BLOSCFS_MUST_CHECK;
/* Name i (0, 1, ...) of the entries that an instance may show beside such a
 * directory; NULL at the end, and where it shows none. */
const char *bloscfs_beside_name(const struct bloscfs *fs, size_t i);
/* The k-th kind of files (0, 1, ...) that a container with the i-th such name
 * may consist of: those in *ret_folder of the directory ("": in itself) whose
 * names end in *ret_ending. False at the end. */
bool bloscfs_dir_part(size_t i, size_t k, const char **ret_folder,
		      const char **ret_ending) BLOSCFS_MUST_CHECK;

/* The format (a name of the table "container") that a file's name says it
 * has, whatever it holds, or NULL: "b2frame" of "x.b2nd". */
const char *bloscfs_claimed(const char *name);

/* Whether a directory is a store of another system (Zarr, N5) that keeps
 * chunks in files of its own: an array or a group, by its metadata's files.
 * A few glances inside; dirfd stays the caller's and may be O_PATH. */
enum bloscfs_err bloscfs_is_foreign(int dirfd, bool *ret_is) BLOSCFS_MUST_CHECK;
/* The same of a folder of the caller's own, which is not closed. */
enum bloscfs_err bloscfs_is_foreign_folder(const struct bloscfs_folder *folder,
					   bool *ret_is,
					   struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* Asked about each file of a container that is a directory, when it is opened
 * to be read, and when something but its bytes has changed since. */
struct bloscfs_guard {
	bool (*may)(void *arg, int fd);	/* false: reading it gives CHANGED;
					 * NULL: nobody is asked */
	void *arg;			/* outlives the container */
};
/* bloscfs_open_dir with a guard, which is copied. */
enum bloscfs_err bloscfs_open_guarded(struct bloscfs *fs, int dirfd,
				      const struct bloscfs_guard *guard,
				      struct bloscfs_file **ret_file,
				      struct bloscfs_diag *diag)
	BLOSCFS_MUST_CHECK;

/* Remembers what the file's index says, for bloscfs_continues: by then who
 * appends may have overwritten it. Before the file is shared. */
void bloscfs_remember(struct bloscfs_file *file);
/* Whether newer is what older was with chunks appended to it, or nothing at
 * all has changed: both openings of one source, both remembered. With
 * take_blocks, newer goes on with the decoded blocks of older, as far as the
 * chunks prove to be the same. Before newer is shared. */
bool bloscfs_continues(struct bloscfs_file *newer, struct bloscfs_file *older,
		       bool take_blocks) BLOSCFS_MUST_CHECK;
/* Whether the entry goes on in an opening that continues this one: its bytes
 * stay, and at most more come behind them. */
bool bloscfs_keeps(struct bloscfs_file *file,
		   const struct bloscfs_node *node);
/* Whether the file behind was removed, and only the descriptor keeps it (and
 * its space). Waits for nothing. */
bool bloscfs_is_removed(struct bloscfs_file *file);

/* Descriptors that are let go while nobody uses them, where a process has
 * few of them (see bloscfs_fd_set_limit), and opened again when needed. */
struct bloscfs_reopen {
	/* A descriptor of the very same file, unchanged, or -errno: -ESTALE
	 * if there is none. Called by any thread, at any time. */
	int (*open)(void *arg);
	void (*release)(void *arg);	/* arg is not needed any more */
	void *arg;
};

/* Lets the library close the file's descriptor between reads. how->arg is taken
 * over, unless it returns false: bytes in memory, part of a file and sources
 * of the caller's own have no such descriptor. Once, before the file is
 * shared. */
bool bloscfs_let_go(struct bloscfs_file *file,
		    const struct bloscfs_reopen *how) BLOSCFS_MUST_CHECK;

/* A file of the caller's own among them. */
struct bloscfs_fd;
/* Takes over fd and how->arg. NULL on no memory: both stay the caller's. */
struct bloscfs_fd *bloscfs_fd_new(int fd, const struct bloscfs_reopen *how)
	BLOSCFS_MUST_CHECK;
/* Nobody may have taken it. */
void bloscfs_fd_free(struct bloscfs_fd *f);
/* The descriptor, good until given back, or -errno (nothing to give back
 * then): -EMFILE, -ENFILE where there is truly none left. */
int bloscfs_fd_take(struct bloscfs_fd *f) BLOSCFS_MUST_CHECK;
void bloscfs_fd_give(struct bloscfs_fd *f);
/* How many the whole process keeps open at once, those of opened containers
 * included; no limit without a call. */
void bloscfs_fd_set_limit(size_t n);
/* How many of them are open now. */
size_t bloscfs_fd_count(void);
/* Whether what failed with this errno is worth another try: it was for want
 * of descriptors, and one was let go. */
bool bloscfs_fd_may_retry(int error);
/* What is to be asked about each name in a container that is a directory
 * before anything else is: where it says true nothing is opened, as if nothing
 * were there. It must not wait for the file system. At first, and with NULL,
 * nobody is asked. For the whole process, before its first container. */
void bloscfs_avoid(bool (*avoid)(int dirfd, const char *name));

#ifdef __cplusplus
}
#endif

#endif
