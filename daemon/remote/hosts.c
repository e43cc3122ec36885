/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts.c - see hosts.h.
 */
#include "remote/hosts.h"

#include "remote/clock.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FIRST_MS 100
#define LONGEST_MS 5000
#define MOST_ASKED_MS 30000	/* longer ones hold for one request alone */

/* FNV-1a over what precedes the path. */
static uint64_t key_of(const char *url)
{
	const char *name = strstr(url, "://");
	size_t len = name ? (size_t)(name - url) + 3 : 0;
	uint64_t hash = 14695981039346656037u;

	len += strcspn(url + len, "/?#");
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)url[i]) * 1099511628211u;
	return hash ? hash : 1;
}

struct host *hosts_find(struct hosts *hosts, const char *url)
{
	uint64_t key = key_of(url);

	for (size_t i = 0; i < N_HOSTS; i++) {
		struct host *host = &hosts->rows[(key + i) % N_HOSTS];
		uint64_t known = 0;

		if (atomic_compare_exchange_strong(&host->key, &known, key)) {
			atomic_fetch_add(&hosts->n, 1);
			return host;
		}
		if (known == key)
			return host;
	}
	return &hosts->rows[key % N_HOSTS];
}

uint64_t hosts_number(const struct hosts *hosts, const struct host *host)
{
	return host && atomic_load(&hosts->n) > 1 ? atomic_load(&host->key) :
						    0;
}

/* The finalizer of splitmix64, over a seed and a counter. */
uint64_t hosts_draw(uint64_t n)
{
	static _Atomic uint64_t seed, count;
	uint64_t x = atomic_load(&seed);

	if (!x) {
		if (getrandom(&x, sizeof(x), GRND_NONBLOCK) != sizeof(x))
			x = (uint64_t)remote_now_ms() << 20 ^
			    (uint64_t)getpid();
		atomic_store(&seed, x | 1);
	}
	x += atomic_fetch_add(&count, 1) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % n;
}

/* Answers take their time: it is the most that any of them says. */
void host_tells_date(struct host *host, int64_t date)
{
	int64_t ahead = date * 1000 - remote_now_ms();
	int64_t known = atomic_load(&host->ahead_ms);

	while (date < INT64_MAX / 2000 && (!known || known < ahead) &&
	       !atomic_compare_exchange_weak(&host->ahead_ms, &known, ahead))
		;
}

bool host_is_since(const struct host *host, int64_t date, int64_t since_ms)
{
	int64_t ahead = atomic_load(&host->ahead_ms);

	/* Dates are whole seconds. */
	return ahead && date && date < INT64_MAX / 2000 &&
	       date * 1000 + 1000 > since_ms + ahead;
}

void host_slow_down(struct host *host, int64_t begin_ms, long status,
		    uint64_t asked_ms)
{
	int64_t now = remote_now_ms(), pause = FIRST_MS, until;
	unsigned n = atomic_load(&host->n_refusals);

	/* Those that were under way together are one refusal. */
	if (begin_ms >= atomic_load(&host->since_ms) &&
	    atomic_compare_exchange_strong(&host->n_refusals, &n, n + 1)) {
		atomic_store(&host->since_ms, now);
		n++;
	}
	for (; n > 1 && pause < LONGEST_MS; n--)
		pause *= 2;
	if (pause > LONGEST_MS)
		pause = LONGEST_MS;
	if (asked_ms > (uint64_t)pause)
		pause = asked_ms < MOST_ASKED_MS ? (int64_t)asked_ms :
						   MOST_ASKED_MS;
	atomic_store(&host->status, status);
	until = atomic_load(&host->until_ms);
	while (until < now + pause &&
	       !atomic_compare_exchange_weak(&host->until_ms, &until,
					     now + pause))
		;
}

void host_answers(struct host *host, int64_t begin_ms)
{
	if (begin_ms >= atomic_load(&host->since_ms))
		atomic_store(&host->n_refusals, 0);
}

uint64_t host_pause(const struct host *host)
{
	int64_t now = remote_now_ms();
	int64_t left = atomic_load(&host->until_ms) - now;
	int64_t all = left + now - atomic_load(&host->since_ms);

	if (left <= 0)
		return 0;
	return (uint64_t)left + hosts_draw((uint64_t)(all > 1 ? all : 2) / 2 +
					   1);
}
