/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.h - requests for one very object, tried again while that makes sense.
 */
#ifndef BFS_DAEMON_REMOTE_ASK_H
#define BFS_DAEMON_REMOTE_ASK_H

#include "remote/clock.h"
#include "remote/transport.h"

#include "bloscfs.h"

#include <pthread.h>
#include <stdatomic.h>

/* What all objects of a mount share; set up before they are opened. Texts are
 * borrowed. */
struct remote {
	struct transport *transport;
	struct signer *signer;		/* or NULL: nothing is signed */
	struct diskcache *disk;		/* or NULL */
	uint64_t retry_ms;		/* a request is tried so long */
	uint64_t fresh_ms;		/* an answer is believed so long */
	uint64_t whole_most;		/* objects up to it are fetched whole */
	/* Whether the calling thread may wait for a server (hosts_number): if
	 * not, calls fail with EINTR where they would. NULL: always. */
	bool (*may_wait)(uint64_t server);
	/* Whether the calling thread's work is wanted no more; or NULL. */
	bool (*stopped)(void);
	/* Told once why a first look at SOURCE (probing) is in vain so long
	 * that somebody may wonder; or NULL. */
	void (*in_vain)(const char *url, const char *why, uint64_t seconds);
	atomic_bool probing;
	/* What is held counts against its max_memory; NULL: against none. */
	struct bloscfs *fs;
	pthread_mutex_t lock;	/* guards the list below */
	struct object *opened;
	_Atomic uint64_t ahead;	/* bytes asked for ahead and not used, of all */
	_Atomic uint64_t wholes;	/* sizes of objects kept as a whole */
	_Atomic uint64_t n_retries;
	atomic_bool hurry;		/* nothing is tried again */
};

struct object_facts {
	uint64_t size;
	int64_t modified;	/* seconds since 1970; 0: not told */
	char tag[REMOTE_TAG_CAP];
};

struct extent {
	uint64_t off, len;
};

/* Which object is meant: what all its answers must tell. */
struct identity {
	struct remote *remote;
	char *url;
	bool s3;
	struct host *host;
	struct object_facts facts;	/* as it was opened */
	uint64_t wait_cost;		/* bytes that could come while a request
					 * is waited for; 0: few */
	_Atomic int64_t stale_ms;	/* when it was another last; 0: never */
	atomic_bool gone;		/* ... or was not there */
	_Atomic int64_t checked_ms;	/* when it was still the same */
	_Atomic int64_t asking_ms;	/* when somebody began to ask that */
};

/* Memory that may be held, or is better given back (bloscfs.h). No wait. */
bool remote_charge(struct remote *remote, uint64_t len);
void remote_give_back(struct remote *remote, uint64_t len);
bool remote_is_tight(struct remote *remote);

/* What comes over one connection, where nothing else is known. */
#define REMOTE_BYTES_A_MS 50000

/* url: of what is waited for. */
bool remote_may_wait(const struct remote *remote, const char *url);
/* arg is a struct remote. */
bool remote_stopped(void *arg);
int remote_errno(const struct response *r, bool opened);
/* Waits for the condition, but not for long: who waits asks remote_stopped and
 * what he waits for each time. */
void remote_wait_a_moment(pthread_cond_t *cond, pthread_mutex_t *lock);
/* Notes what an answer to a request that began then tells of its server. */
void remote_note(struct host *host, int64_t begin_ms,
		 const struct response *r);
/* Asks until there is an answer, or none is to be expected. */
void remote_ask(struct remote *remote, const struct request *request,
		struct response *r);

/* The request for a range of this very object. */
struct request object_request(const struct identity *o, uint64_t off,
			      uint64_t len, void *buf);
/* Whether an answer came and is of this very object. */
bool object_fits(struct identity *o, struct response *r);
/* Whether it was another a moment ago. After that the server is asked again: it
 * may have erred, and the same identity means the same bytes. */
bool object_is_stale(const struct identity *o);
/* What is to be told of one that is stale. */
const char *object_fate(const struct identity *o);

#endif
