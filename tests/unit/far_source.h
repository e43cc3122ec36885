/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far_source.h - for tests: bytes in memory as a source of one's own, which
 * counts what it is asked for and can be slow, hang, fail or change.
 */
#ifndef TEST_FAR_SOURCE_H
#define TEST_FAR_SOURCE_H

#include "bloscfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define FAR_RANGES 4096

struct far {
	const uint8_t *p;
	size_t len;			/* of the bytes that are there */
	unsigned delay_us;		/* of each read */
	const char *identity;		/* or NULL */
	atomic_bool hangs;		/* reads wait until it is false, or the
					 * call that they work for is over */
	atomic_int n_hanging;
	atomic_bool changed;
	atomic_bool is_short;		/* reads give a byte less */
	/* The n-th read from now on fails so (0: none does). */
	atomic_uint fail_at;
	bool fails_on;			/* and all after it */
	enum bloscfs_err fail_with;
	const char *fail_text;
	atomic_uint n_failed;
	atomic_uint n_reads, n_checks, n_told, n_closed;
	atomic_size_t max_parallel, n_parallel;
	/* What was told, and what was read: kept while `keeps`, which is for
	 * one thread at a time. */
	bool keeps;
	size_t n_ranges, n_read_ranges;
	struct bloscfs_range ranges[FAR_RANGES], read_ranges[FAR_RANGES];
};

static inline void far_sleep(unsigned us)
{
	struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

static inline enum bloscfs_err far_hang(struct far *f,
					struct bloscfs_diag *why)
{
	enum bloscfs_err err = BLOSCFS_OK;

	atomic_fetch_add(&f->n_hanging, 1);
	while (atomic_load(&f->hangs) && err == BLOSCFS_OK) {
		far_sleep(1000);
		err = bloscfs_call_check(why);
	}
	atomic_fetch_sub(&f->n_hanging, 1);
	return err;
}

static inline bool far_fails(struct far *f)
{
	unsigned n = atomic_load(&f->fail_at);

	while (n && !(n == 1 && f->fails_on))
		if (atomic_compare_exchange_weak(&f->fail_at, &n, n - 1))
			break;
	if (n != 1)
		return false;
	atomic_fetch_add(&f->n_failed, 1);
	return true;
}

static inline enum bloscfs_err far_fetch(struct far *f, uint64_t off,
					 void *buf, size_t len,
					 size_t *ret_len,
					 struct bloscfs_diag *why)
{
	enum bloscfs_err err = BLOSCFS_OK;

	if (f->delay_us)
		far_sleep(f->delay_us);
	if (atomic_load(&f->hangs))
		err = far_hang(f, why);
	if (err != BLOSCFS_OK)
		return err;
	if (far_fails(f)) {
		if (f->fail_text)
			strcpy(why->text, f->fail_text);
		return f->fail_with;
	}
	if (off >= f->len)
		return BLOSCFS_OK;
	if (len > f->len - off)
		len = f->len - (size_t)off;
	if (atomic_load(&f->is_short))
		len--;
	memcpy(buf, f->p + off, len);
	*ret_len = len;
	return BLOSCFS_OK;
}

static inline enum bloscfs_err far_read(void *arg, uint64_t off, void *buf,
					size_t len, size_t *ret_len,
					struct bloscfs_diag *why)
{
	struct far *f = arg;
	size_t now = atomic_fetch_add(&f->n_parallel, 1) + 1;
	size_t most = atomic_load(&f->max_parallel);
	enum bloscfs_err err;

	while (now > most &&
	       !atomic_compare_exchange_weak(&f->max_parallel, &most, now))
		;
	atomic_fetch_add(&f->n_reads, 1);
	if (f->keeps && f->n_read_ranges < FAR_RANGES)
		f->read_ranges[f->n_read_ranges++] =
			(struct bloscfs_range){ off, len };
	err = far_fetch(f, off, buf, len, ret_len, why);
	atomic_fetch_sub(&f->n_parallel, 1);
	return err;
}

static inline enum bloscfs_err far_check(void *arg, struct bloscfs_diag *why)
{
	struct far *f = arg;

	(void)why;
	atomic_fetch_add(&f->n_checks, 1);
	return atomic_load(&f->changed) ? BLOSCFS_ERR_CHANGED : BLOSCFS_OK;
}

static inline void far_told(void *arg, const struct bloscfs_range *ranges,
			    size_t n)
{
	struct far *f = arg;

	atomic_fetch_add(&f->n_told, 1);
	for (size_t i = 0; f->keeps && i < n && f->n_ranges < FAR_RANGES; i++)
		f->ranges[f->n_ranges++] = ranges[i];
}

static inline void far_close(void *arg)
{
	struct far *f = arg;

	atomic_fetch_add(&f->n_closed, 1);
}

/* The far end must outlive the file. */
static inline struct bloscfs_source far_source(struct far *f)
{
	return (struct bloscfs_source){
		.size = sizeof(struct bloscfs_source),
		.length = f->len,
		.identity = f->identity,
		.identity_len = f->identity ? strlen(f->identity) : 0,
		.read = far_read, .check = far_check, .will_need = far_told,
		.close = far_close, .arg = f,
	};
}

#endif
