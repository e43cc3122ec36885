/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the disk cache's files: remote/seal, stripe, disknote, diskfolder
 * and diskcache, without a server. */
#include "remote/diskcache.h"
#include "remote/diskfolder.h"
#include "remote/disknote.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT (UINT64_C(8) << 20)
#define TAIL 1234			/* of the object's last cell */
#define SIZE (STRIPE_LEN + 3 * STRIPE_CELL + TAIL)

/* Time stands still, so that nothing ends early. */
int64_t remote_now_ms(void)
{
	return 1;
}

struct place {
	char path[64];
	struct diskfolder folder;
	struct disk_id id;
	uint8_t *bytes;		/* the object */
};

static const char url[] = "https://host/path/file?part=1";
static const struct object_facts facts = { SIZE, 1600000000, "\"tag\"" };

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	uint8_t address[DIGEST_LEN];
	uint32_t dice = 1;
	char error[256];

	if (!p || !(p->bytes = malloc(SIZE)))
		return -1;
	for (size_t i = 0; i < SIZE; i++) {
		dice = dice * 1664525 + 1013904223;
		p->bytes[i] = (uint8_t)(dice >> 24);
	}
	strcpy(p->path, "/tmp/bloscfs-test.XXXXXX");
	if (!mkdtemp(p->path) ||
	    diskfolder_open(p->path, LIMIT, &p->folder, error,
			    sizeof(error)) ||
	    !disknote_address(url, address) ||
	    !disknote_name(address, &facts, &p->id))
		return -1;
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char command[128];

	diskfolder_close(&p->folder);
	snprintf(command, sizeof(command), "rm -rf '%s'", p->path);
	free(p->bytes);
	free(p);
	return system(command);
}

static int open_stripe(struct place *p, uint64_t number, bool write,
		       struct stripe *s)
{
	return stripe_open(p->folder.fd, &p->id, number, write, s);
}

static void write_cells(struct place *p, uint64_t off, uint64_t len)
{
	struct stripe s;
	uint64_t written = 0;

	assert_int_equal(open_stripe(p, off / STRIPE_LEN, true, &s), 0);
	assert_int_equal(stripe_write(&s, off, len, p->bytes + off,
				      &written), 0);
	stripe_close(&s);
}

/* What of a stripe is there is the truth; how many bytes of it. Cell by cell,
 * since few between others do not count. */
static uint64_t check_truth(struct place *p, uint64_t number)
{
	uint64_t off = number * STRIPE_LEN, there = 0, run, good, to;
	uint64_t end = off + STRIPE_LEN < SIZE ? off + STRIPE_LEN : SIZE;
	uint8_t buf[STRIPE_CELL];
	struct stripe s;
	bool is_there;

	if (open_stripe(p, number, false, &s))
		return 0;
	while (off < end) {
		to = end - off < STRIPE_CELL ? end : off + STRIPE_CELL;
		run = stripe_run(&s, off, to, &is_there);
		assert_int_equal(run, to - off);
		if (is_there) {
			stripe_read(&s, off, run, buf, &good);
			assert_true(good <= run);
			assert_memory_equal(buf, p->bytes + off, good);
			there += good;
		}
		off += run;
	}
	stripe_close(&s);
	return there;
}

static void cells_come_back_in_any_order(void **state)
{
	struct place *p = *state;
	struct stripe one, other;
	uint64_t written = 0, off = 7 * STRIPE_CELL;
	bool there;

	assert_int_equal(open_stripe(p, 0, false, &one), -ENOENT);
	/* Two write one file at once. */
	assert_int_equal(open_stripe(p, 0, true, &one), 0);
	assert_int_equal(open_stripe(p, 0, true, &other), 0);
	for (uint64_t i = 0; i < STRIPE_CELLS; i += 2) {
		uint64_t at = i * 3 % STRIPE_CELLS * STRIPE_CELL;

		assert_int_equal(stripe_write(&one, at, STRIPE_CELL,
					      p->bytes + at, &written), 0);
		assert_int_equal(stripe_write(&other, at, STRIPE_CELL,
					      p->bytes + at, &written), 0);
	}
	stripe_close(&one);
	stripe_close(&other);
	assert_int_equal(check_truth(p, 0), STRIPE_LEN / 2);
	write_cells(p, 0, STRIPE_LEN);
	assert_int_equal(check_truth(p, 0), STRIPE_LEN);
	/* The last cell is as long as the object has bytes for it. */
	write_cells(p, STRIPE_LEN, SIZE - STRIPE_LEN);
	assert_int_equal(check_truth(p, 1), SIZE - STRIPE_LEN);
	assert_int_equal(open_stripe(p, 0, false, &one), 0);
	assert_int_equal(stripe_run(&one, off, STRIPE_LEN, &there),
			 STRIPE_LEN - off);
	assert_true(there);
	stripe_close(&one);
}

static void a_few_cells_do_not_part_a_request(void **state)
{
	struct place *p = *state;
	struct stripe s;
	bool there;

	write_cells(p, 40 * STRIPE_CELL, 15 * STRIPE_CELL);
	write_cells(p, 100 * STRIPE_CELL, 16 * STRIPE_CELL);
	assert_int_equal(open_stripe(p, 0, false, &s), 0);
	assert_int_equal(stripe_run(&s, 0, STRIPE_LEN, &there),
			 100 * STRIPE_CELL);
	assert_false(there);
	/* But what ends a range need not be asked for. */
	assert_int_equal(stripe_run(&s, 0, 50 * STRIPE_CELL, &there),
			 40 * STRIPE_CELL);
	assert_false(there);
	stripe_close(&s);
}

static void path_of(struct place *p, uint64_t number, char *path)
{
	char name[STRIPE_NAME_CAP];

	stripe_name(&p->id, number, name);
	snprintf(path, 256, "%s/bloscfs-cache-%d-%u/%s", p->path,
		 STRIPE_VERSION, (unsigned)geteuid(), name);
}

static void no_flipped_byte_is_served(void **state)
{
	struct place *p = *state;
	uint8_t byte, other;
	char path[256];
	int fd;

	write_cells(p, 0, 3 * STRIPE_CELL);
	path_of(p, 0, path);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	for (off_t at = 0; at < STRIPE_HEAD + 3 * STRIPE_CELL;
	     at += at < 256 ? 1 : 13) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		for (int bit = 0; bit < 8; bit += 3) {
			other = (uint8_t)(byte ^ (1 << bit));
			assert_int_equal(pwrite(fd, &other, 1, at), 1);
			check_truth(p, 0);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(check_truth(p, 0), 3 * STRIPE_CELL);
	close(fd);
}

static void no_cut_file_is_served(void **state)
{
	struct place *p = *state;
	char path[256];

	path_of(p, 0, path);
	for (off_t len = STRIPE_HEAD + 2 * STRIPE_CELL; len >= 0; len -= 61) {
		write_cells(p, 0, 2 * STRIPE_CELL);
		assert_int_equal(truncate(path, len), 0);
		assert_true(check_truth(p, 0) <= (uint64_t)len);
		assert_int_equal(unlink(path), 0);
	}
}

static void what_does_not_match_is_forgotten_alone(void **state)
{
	struct place *p = *state;
	uint8_t *buf = malloc(8 * STRIPE_CELL);
	struct stripe s;
	uint64_t good;
	char path[256];
	int fd;

	assert_non_null(buf);
	write_cells(p, 0, 8 * STRIPE_CELL);
	path_of(p, 0, path);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "damage", 6,
				STRIPE_HEAD + 5 * STRIPE_CELL), 6);
	close(fd);
	assert_int_equal(open_stripe(p, 0, false, &s), 0);
	assert_int_equal(stripe_read(&s, 0, 8 * STRIPE_CELL, buf, &good),
			 -EBADMSG);
	assert_int_equal(good, 5 * STRIPE_CELL);
	stripe_forget(p->folder.fd, &s, 0, 8 * STRIPE_CELL);
	stripe_close(&s);
	assert_int_equal(check_truth(p, 0), 7 * STRIPE_CELL);
	write_cells(p, 0, 8 * STRIPE_CELL);
	assert_int_equal(check_truth(p, 0), 8 * STRIPE_CELL);
	free(buf);
}

static void a_seal_is_of_one_place(void **state)
{
	struct place *p = *state;
	struct seal seal;
	uint8_t key[DIGEST_LEN];
	uint64_t one, other;

	memcpy(key, p->id.name, sizeof(key));
	assert_true(seal_begin(&seal, key));
	assert_true(seal_of(&seal, SEAL_CELL, 1, p->bytes, 4096, &one));
	assert_true(seal_of(&seal, SEAL_CELL, 1, p->bytes, 4096, &other));
	assert_int_equal(one, other);
	assert_true(seal_of(&seal, SEAL_CELL, 2, p->bytes, 4096, &other));
	assert_int_not_equal(one, other);
	assert_true(seal_of(&seal, SEAL_HEAD, 1, p->bytes, 4096, &other));
	assert_int_not_equal(one, other);
	assert_true(seal_of(&seal, SEAL_CELL, 1, p->bytes, 4095, &other));
	assert_int_not_equal(one, other);
	seal_end(&seal);
	key[0] ^= 1;
	assert_true(seal_begin(&seal, key));
	assert_true(seal_of(&seal, SEAL_CELL, 1, p->bytes, 4096, &other));
	assert_int_not_equal(one, other);
	seal_end(&seal);
}

static void put_note(struct place *p, const uint8_t *address,
		     const uint8_t *bytes, size_t len)
{
	char name[STRIPE_NAME_CAP];
	int64_t used;
	int fd;

	disknote_file(address, name);
	assert_int_equal(disk_open_file(p->folder.fd, name, O_RDWR | O_CREAT |
					O_TRUNC, &fd, &used), 0);
	assert_int_equal(disk_write_all(fd, bytes, len, 0), 0);
	close(fd);
}

static void what_is_no_file_is_not_opened(void **state)
{
	struct place *p = *state;
	int dir = p->folder.fd, fd;
	int64_t used;

	assert_int_equal(mkdirat(dir, "directory", 0700), 0);
	assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	assert_int_equal(disk_open_file(dir, "file", O_RDWR | O_CREAT, &fd,
					&used), 0);
	close(fd);
	assert_int_equal(disk_open_file(dir, "directory", O_RDONLY, &fd,
					&used), -EBADMSG);
	assert_int_equal(disk_open_file(dir, "directory", O_RDWR, &fd, &used),
			 -EBADMSG);
	assert_int_equal(disk_open_file(dir, "pipe", O_RDONLY, &fd, &used),
			 -EBADMSG);
	assert_int_equal(disk_open_file(dir, "pipe", O_RDWR, &fd, &used),
			 -EBADMSG);
	assert_int_equal(disk_open_file(dir, "link", O_RDONLY, &fd, &used),
			 -EBADMSG);
	assert_int_equal(disk_open_file(dir, "none", O_RDONLY, &fd, &used),
			 -ENOENT);
}

static void reading_all_ends_with_the_file(void **state)
{
	struct place *p = *state;
	int64_t used;
	char got[16];
	int fd;

	assert_int_equal(disk_open_file(p->folder.fd, "file", O_RDWR | O_CREAT,
					&fd, &used), 0);
	assert_int_equal(disk_write_all(fd, "0123456789", 10, 0), 0);
	/* Of a failure that was none of its own. */
	errno = EIO;
	assert_int_equal(disk_read_all(fd, got, sizeof(got), 0), 10);
	assert_memory_equal(got, "0123456789", 10);
	assert_int_equal(disk_read_all(fd, got, 4, 3), 4);
	assert_memory_equal(got, "3456", 4);
	assert_int_equal(disk_read_all(fd, got, sizeof(got), 10), 0);
	close(fd);
	assert_int_equal(disk_read_all(fd, got, sizeof(got), 0), -EBADF);
}

static void a_note_is_whole_or_none(void **state)
{
	struct place *p = *state;
	uint8_t address[DIGEST_LEN], bytes[DISKNOTE_LEN];
	struct object_facts got;

	assert_true(disknote_address(url, address));
	assert_int_equal(disknote_read(p->folder.fd, address, &got),
			 -ENOENT);
	assert_true(disknote_write(address, &facts, bytes));
	put_note(p, address, bytes, sizeof(bytes));
	assert_int_equal(disknote_read(p->folder.fd, address, &got), 0);
	assert_int_equal(got.size, facts.size);
	assert_int_equal(got.modified, facts.modified);
	assert_string_equal(got.tag, facts.tag);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 4;
		put_note(p, address, bytes, sizeof(bytes));
		assert_int_equal(disknote_read(p->folder.fd, address, &got),
				 i >= 16 && i < 20 ? -ENOTSUP : -EBADMSG);
		bytes[i] ^= 4;
	}
	for (size_t len = 0; len < sizeof(bytes); len += 73) {
		put_note(p, address, bytes, len);
		assert_int_equal(disknote_read(p->folder.fd, address, &got),
				 len ? -EBADMSG : -ENOENT);
	}
	/* Another address's. */
	put_note(p, address, bytes, sizeof(bytes));
	address[3] ^= 1;
	put_note(p, address, bytes, sizeof(bytes));
	assert_int_equal(disknote_read(p->folder.fd, address, &got),
			 -EBADMSG);
}

static void only_signatures_do_not_name_an_object(void **state)
{
	static const struct {
		const char *one, *other;
		bool same;
	} rows[] = {
		{ "https://h/a?X-Amz-Date=1&p=2", "https://h/a?p=2", false },
		{ "https://h/a?p=2&X-Amz-Signature=a&x-amz-date=1",
		  "https://h/a?p=2&X-Amz-Signature=b", true },
		{ "https://h/a?X-Goog-Date=1", "https://h/a", true },
		{ "https://h/a?p=1", "https://h/a?p=2", false },
		{ "https://h/a?p=1", "https://h/a", false },
		{ "https://h/a", "http://h/a", false },
		{ "https://h/a?X-AmzDate=1", "https://h/a", false },
	};
	uint8_t one[DIGEST_LEN], other[DIGEST_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(disknote_address(rows[i].one, one));
		assert_true(disknote_address(rows[i].other, other));
		assert_int_equal(memcmp(one, other, sizeof(one)) == 0,
				 rows[i].same);
	}
}

static void identity_is_all_that_a_server_tells(void **state)
{
	struct place *p = *state;
	struct object_facts changed[] = { facts, facts, facts };
	uint8_t address[DIGEST_LEN];
	struct disk_id id;

	assert_true(disknote_address(url, address));
	changed[0].size++;
	changed[1].modified++;
	changed[2].tag[1] = 'T';
	for (size_t i = 0; i < 3; i++) {
		assert_true(disknote_name(address, &changed[i], &id));
		assert_memory_not_equal(id.name, p->id.name, DIGEST_LEN);
	}
}

static void a_held_lock_is_not_waited_for(void **state)
{
	struct place *p = *state;
	struct diskfolder *f = &p->folder;
	const uint64_t step = 256 << 10;	/* the least */
	char path[256];
	int fd;

	assert_int_equal(diskfolder_add(f, 0), 0);
	snprintf(path, sizeof(path), "%s/bloscfs-cache-%d-%u/size", p->path,
		 STRIPE_VERSION, (unsigned)geteuid());
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(diskfolder_add(f, step), 0);
	assert_int_equal(diskfolder_add(f, step - 1), 0);
	assert_int_equal(diskfolder_add(f, 1), -EAGAIN);
	close(fd);
	assert_int_equal(diskfolder_add(f, 0), 0);
	assert_int_equal(f->own, 0);
	assert_int_equal(f->total, 2 * step);
}

static void what_others_wrote_counts(void **state)
{
	struct place *p = *state;
	struct diskfolder other;
	char error[256];

	assert_int_equal(diskfolder_open(p->path, LIMIT, &other, error,
					 sizeof(error)), 0);
	assert_int_equal(diskfolder_add(&p->folder, 0), 0);
	assert_int_equal(diskfolder_add(&other, 0), 0);
	assert_int_equal(diskfolder_add(&other, LIMIT / 2), 0);
	assert_int_equal(diskfolder_add(&p->folder, LIMIT / 4), 0);
	assert_int_equal(p->folder.total, LIMIT / 2 + LIMIT / 4);
	/* More than is really there: counting tells the truth. */
	assert_int_equal(diskfolder_add(&p->folder, LIMIT / 2), 0);
	assert_true(p->folder.total < LIMIT / 2);
	assert_int_equal(p->folder.n_evicted, 0);
	diskfolder_close(&other);
}

static void pieces_are_kept_and_given(void **state)
{
	struct place *p = *state;
	struct diskcache_counts counts = { 0 };
	uint8_t *buf = malloc(SIZE);
	struct object_facts got;
	struct diskcache *cache;
	struct disk_object o;
	uint64_t lacking, there;
	char error[256];

	assert_non_null(buf);
	assert_int_equal(diskcache_open(p->path, LIMIT, &cache, error,
					sizeof(error)), 0);
	assert_non_null(cache);
	assert_false(diskcache_recall(cache, url, &got));
	diskcache_name(cache, url, &facts, &o);
	assert_memory_equal(o.id.name, p->id.name, DIGEST_LEN);
	assert_int_equal(diskcache_read(&o, 0, SIZE, buf, &lacking), 0);
	assert_int_equal(lacking, SIZE);
	/* Over the end of a stripe; and what ends within a cell is not. */
	diskcache_keep(&o, STRIPE_LEN - 20 * STRIPE_CELL,
		       21 * STRIPE_CELL,
		       p->bytes + STRIPE_LEN - 20 * STRIPE_CELL);
	diskcache_keep(&o, 0, 100, p->bytes);
	diskcache_keep(&o, 1, STRIPE_CELL - 1, p->bytes + 1);
	diskcache_keep(&o, SIZE - TAIL, 2 * TAIL, p->bytes);
	diskcache_note(cache, url, &facts);
	diskcache_rest(cache);
	assert_true(diskcache_recall(cache, url, &got));
	assert_int_equal(diskcache_lacks(&o, 0, SIZE, &there),
			 STRIPE_LEN - 20 * STRIPE_CELL);
	assert_int_equal(there, 20 * STRIPE_CELL);
	assert_int_equal(diskcache_read(&o, STRIPE_LEN - 20 * STRIPE_CELL,
					SIZE - STRIPE_LEN +
					20 * STRIPE_CELL, buf, &lacking),
			 21 * STRIPE_CELL);
	assert_memory_equal(buf, p->bytes + STRIPE_LEN - 20 * STRIPE_CELL,
			    21 * STRIPE_CELL);
	/* After a rest it goes on. */
	diskcache_keep(&o, SIZE - TAIL, TAIL, p->bytes + SIZE - TAIL);
	diskcache_rest(cache);
	assert_int_equal(diskcache_read(&o, SIZE - TAIL, TAIL, buf,
					&lacking), TAIL);
	assert_memory_equal(buf, p->bytes + SIZE - TAIL, TAIL);
	diskcache_count(cache, &counts);
	assert_int_equal(counts.written, 21 * STRIPE_CELL + TAIL);
	assert_int_equal(counts.n_faults, 0);
	assert_int_equal(counts.n_dropped, 0);
	diskcache_close(cache);
	free(buf);
}

static void the_last_note_is_recalled_before_it_is_written(void **state)
{
	struct place *p = *state;
	struct object_facts next = facts, got;
	struct diskcache *cache;
	char error[256];

	assert_int_equal(diskcache_open(p->path, LIMIT, &cache, error,
					sizeof(error)), 0);
	assert_non_null(cache);
	for (int i = 0; i < 1000; i++) {
		next.modified = 1600000000 + i;
		diskcache_note(cache, "https://host/other", &facts);
		diskcache_note(cache, url, &next);
		assert_true(diskcache_recall(cache, url, &got));
		assert_int_equal(got.modified, next.modified);
	}
	diskcache_rest(cache);
	assert_true(diskcache_recall(cache, url, &got));
	assert_int_equal(got.modified, next.modified);
	diskcache_close(cache);
}

static void without_a_cache_nothing_is_there(void **state)
{
	struct disk_object none = { .cache = NULL };
	struct object_facts got;
	uint64_t there = 1;
	char byte;

	(void)state;
	assert_false(diskcache_recall(NULL, url, &got));
	diskcache_note(NULL, url, &facts);
	diskcache_keep(&none, 0, 1, "x");
	assert_int_equal(diskcache_lacks(&none, 5, 7, &there), 7);
	assert_int_equal(there, 0);
	assert_int_equal(diskcache_read(&none, 5, 1, &byte, &there), 0);
	assert_int_equal(there, 1);
	diskcache_close(NULL);
}

#define AT_A_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, \
							  tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_A_PLACE(cells_come_back_in_any_order),
		AT_A_PLACE(a_few_cells_do_not_part_a_request),
		AT_A_PLACE(no_flipped_byte_is_served),
		AT_A_PLACE(no_cut_file_is_served),
		AT_A_PLACE(what_does_not_match_is_forgotten_alone),
		AT_A_PLACE(a_seal_is_of_one_place),
		AT_A_PLACE(what_is_no_file_is_not_opened),
		AT_A_PLACE(reading_all_ends_with_the_file),
		AT_A_PLACE(a_note_is_whole_or_none),
		cmocka_unit_test(only_signatures_do_not_name_an_object),
		AT_A_PLACE(identity_is_all_that_a_server_tells),
		AT_A_PLACE(a_held_lock_is_not_waited_for),
		AT_A_PLACE(what_others_wrote_counts),
		AT_A_PLACE(pieces_are_kept_and_given),
		AT_A_PLACE(the_last_note_is_recalled_before_it_is_written),
		cmocka_unit_test(without_a_cache_nothing_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
