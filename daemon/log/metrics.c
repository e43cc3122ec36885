/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metrics.c - one table of plain numbers, and the few families with labels.
 *
 * A family is named without _total, which its samples get; a unit ends its
 * name. Labels are words of ours, so that nothing in them needs escaping.
 */
#include "log/metrics.h"

#include <inttypes.h>
#include <stddef.h>

enum family_type { COUNTER, GAUGE };

struct family {
	const char *name;
	const char *unit;	/* or NULL */
	const char *help;
	enum family_type type;
	size_t where;		/* uint64_t in struct metrics */
};

#define AT(member) offsetof(struct metrics, member)

static const struct family plain[] = {
	{ "bloscfs_cache_hits", NULL,
	  "Blocks that were in the cache.",
	  COUNTER, AT(stats.cache_hits) },
	{ "bloscfs_cache_misses", NULL,
	  "Blocks that had to be decoded.",
	  COUNTER, AT(stats.cache_misses) },
	{ "bloscfs_cache_waits", NULL,
	  "Blocks that another thread was decoding already.",
	  COUNTER, AT(stats.cache_waits) },
	{ "bloscfs_cache_evictions", NULL,
	  "Blocks that left the cache for others.",
	  COUNTER, AT(stats.cache_evictions) },
	{ "bloscfs_decoded_bytes", "bytes",
	  "Bytes of decoded blocks.", COUNTER, AT(stats.decoded) },
	{ "bloscfs_source_bytes", "bytes",
	  "Bytes read from containers for decoding.",
	  COUNTER, AT(stats.source_bytes) },
	{ "bloscfs_source_reads", NULL,
	  "Reads from containers for decoding.",
	  COUNTER, AT(stats.source_reads) },
	{ "bloscfs_faults_dropped", NULL,
	  "Met faults that found no room in the list of errors.",
	  COUNTER, AT(faults.n_dropped) },
	{ "bloscfs_slow_requests", NULL,
	  "Requests that were left to the threads for slow ones.",
	  COUNTER, AT(work.n_slow) },
	{ "bloscfs_interrupted_requests", NULL,
	  "Requests that were interrupted while they waited or were slow.",
	  COUNTER, AT(work.n_interrupted) },
	{ "bloscfs_waiting_requests", NULL,
	  "Requests that wait for their turn now.",
	  GAUGE, AT(work.n_waiting) },
	{ "bloscfs_faults", NULL,
	  "Distinct faults in the list of errors.",
	  GAUGE, AT(faults.n_distinct) },
	{ "bloscfs_cache_held_bytes", "bytes",
	  "Bytes of blocks in the cache now.", GAUGE, AT(stats.cache_held) },
	{ "bloscfs_cache_limit_bytes", "bytes",
	  "Bytes that the cache may hold.", GAUGE, AT(stats.cache_budget) },
	{ "bloscfs_memory_bytes", "bytes",
	  "Bytes that the decoder holds, the cache among them.",
	  GAUGE, AT(stats.memory) },
	{ "bloscfs_memory_limit_bytes", "bytes",
	  "Bytes that the decoder may hold; 0 where there is no limit.",
	  GAUGE, AT(stats.memory_budget) },
	{ "bloscfs_memory_waits", NULL,
	  "Times that work waited until others gave memory back.",
	  COUNTER, AT(stats.memory_waits) },
	{ "bloscfs_frames_open", NULL,
	  "Containers that are open now.", GAUGE, AT(containers_open) },
	{ "bloscfs_frames_idle", NULL,
	  "Containers that are open and not in use.",
	  GAUGE, AT(containers_idle) },
	{ "bloscfs_nodes", NULL,
	  "Names that the kernel remembers.", GAUGE, AT(nodes) },
	{ "bloscfs_sources", NULL,
	  "What is mounted side by side.", GAUGE, AT(sources) },
	{ "bloscfs_sources_lost", NULL,
	  "Of several sources those that were found removed or replaced.",
	  GAUGE, AT(sources_lost) },
	{ "bloscfs_server_failures", NULL,
	  "Requests to servers that gave no bytes.",
	  COUNTER, AT(net.n_failed) },
	{ "bloscfs_server_cancelled", NULL,
	  "Requests to servers that nobody waited for any more.",
	  COUNTER, AT(net.n_cancelled) },
	{ "bloscfs_server_retries", NULL,
	  "Requests to servers that were made again.",
	  COUNTER, AT(net_retries) },
	{ "bloscfs_server_bytes", "bytes",
	  "Bytes that servers sent.", COUNTER, AT(net.bytes) },
	{ "bloscfs_disk_cache_hits", NULL,
	  "Reads of what servers sent that the disk cache had bytes for.",
	  COUNTER, AT(disk.n_hits) },
	{ "bloscfs_disk_cache_misses", NULL,
	  "Reads that it had no bytes for.",
	  COUNTER, AT(disk.n_misses) },
	{ "bloscfs_disk_cache_read_bytes", "bytes",
	  "Bytes that came from the disk cache.",
	  COUNTER, AT(disk.read) },
	{ "bloscfs_disk_cache_written_bytes", "bytes",
	  "Bytes that were written to the disk cache.",
	  COUNTER, AT(disk.written) },
	{ "bloscfs_disk_cache_evictions", NULL,
	  "Files that left the disk cache for others.",
	  COUNTER, AT(disk.n_evicted) },
	{ "bloscfs_disk_cache_dropped", NULL,
	  "Pieces that were not written, as the disk was behind or failed.",
	  COUNTER, AT(disk.n_dropped) },
	{ "bloscfs_disk_cache_faults", NULL,
	  "Damaged files and failed calls of the disk cache.",
	  COUNTER, AT(disk.n_faults) },
	{ "bloscfs_start_time_seconds", "seconds",
	  "When the mount was made, since 1970.", GAUGE, AT(started) },
};

static void write_head(FILE *out, const char *name, const char *type,
		       const char *unit, const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

static void write_plain(FILE *out, const struct metrics *metrics,
			const struct family *family)
{
	const void *at = (const char *)metrics + family->where;
	bool counts = family->type == COUNTER;

	write_head(out, family->name, counts ? "counter" : "gauge",
		   family->unit, family->help);
	fprintf(out, "%s%s %llu\n", family->name, counts ? "_total" : "",
		(unsigned long long)*(const uint64_t *)at);
}

static void write_labelled(FILE *out, const char *name, const char *label,
			   const char *value, uint64_t number)
{
	fprintf(out, "%s_total{%s=\"%s\"} %llu\n", name, label, value,
		(unsigned long long)number);
}

static void write_requests(FILE *out, const struct counts *counts)
{
	static const char *const name = "bloscfs_requests";

	write_head(out, name, "counter", NULL,
		   "Requests of the kernel, by what was asked for.");
	for (size_t i = 0; i < N_REQUEST_KINDS; i++)
		write_labelled(out, name, "kind", counters_request_name(
				       (enum request_kind)i),
			       counts->requests[i]);
}

static void write_served(FILE *out, const struct counts *counts)
{
	static const char *const name = "bloscfs_served_bytes";
	static const char *const froms[N_SERVED] = {
		[SERVED_CONTAINER] = "container",
		[SERVED_PLAIN] = "plain",
	};

	write_head(out, name, "counter", "bytes",
		   "Bytes given to the kernel: of what lies in containers, "
		   "and of plain files.");
	for (size_t i = 0; i < N_SERVED; i++)
		write_labelled(out, name, "from", froms[i],
			       counts->served[i]);
}

static void write_errors(FILE *out, const struct fault_counts *faults)
{
	static const char *const name = "bloscfs_errors";

	write_head(out, name, "counter", NULL,
		   "Requests that failed because of the source or for lack "
		   "of memory.");
	for (size_t i = BLOSCFS_OK + 1; i < FAULTS_N_KINDS; i++)
		write_labelled(out, name, "kind",
			       bloscfs_err_name((enum bloscfs_err)i),
			       faults->failed[i]);
}

/* No double: it would lose nanoseconds after some months. */
static void write_decode_time(FILE *out, uint64_t ns)
{
	write_head(out, "bloscfs_decode_seconds", "counter", "seconds",
		   "Time that threads spent decoding, all together.");
	fprintf(out, "bloscfs_decode_seconds_total %llu.%09llu\n",
		(unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
}

static void write_latency(FILE *out, const struct transport_counts *net)
{
	static const char *const name = "bloscfs_server_request_seconds";
	uint64_t sum = 0;

	write_head(out, name, "histogram", "seconds",
		   "How long requests to servers took.");
	for (unsigned i = 0; i < TRANSPORT_N_TOOK; i++) {
		sum += net->took[i];
		if (i + 1 < TRANSPORT_N_TOOK)
			fprintf(out, "%s_bucket{le=\"%u.%03u\"} %llu\n", name,
				(1u << i) / 1000, (1u << i) % 1000,
				(unsigned long long)sum);
	}
	fprintf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_count %llu\n"
		"%s_sum %llu.%03llu\n", name, (unsigned long long)sum, name,
		(unsigned long long)sum, name,
		(unsigned long long)(net->took_ms / 1000),
		(unsigned long long)(net->took_ms % 1000));
}

void metrics_write(FILE *out, const struct metrics *metrics)
{
	write_head(out, "bloscfs_build", "info", NULL,
		   "The program that answers here.");
	fprintf(out, "bloscfs_build_info{version=\"%s\"} 1\n",
		bloscfs_version());
	write_requests(out, &metrics->counts);
	write_served(out, &metrics->counts);
	write_errors(out, &metrics->faults);
	write_decode_time(out, metrics->stats.decode_ns);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		write_plain(out, metrics, &plain[i]);
	write_latency(out, &metrics->net);
	fputs("# EOF\n", out);
}

void metrics_write_line(FILE *out, const struct metrics *metrics)
{
	const struct bloscfs_stats *stats = &metrics->stats;
	uint64_t n_requests = 0, n_failed = 0;

	for (size_t i = 0; i < N_REQUEST_KINDS; i++)
		n_requests += metrics->counts.requests[i];
	for (size_t i = 0; i < FAULTS_N_KINDS; i++)
		n_failed += metrics->faults.failed[i];
	fprintf(out, "%" PRIu64 " requests, %" PRIu64 " failed for the source "
		"or memory, %" PRIu64 " slow, %" PRIu64 " waiting; served %"
		PRIu64 " bytes of containers, %" PRIu64 " of plain files; ",
		n_requests, n_failed, metrics->work.n_slow,
		metrics->work.n_waiting,
		metrics->counts.served[SERVED_CONTAINER],
		metrics->counts.served[SERVED_PLAIN]);
	fprintf(out, "decoded %" PRIu64 " bytes in %" PRIu64 " ms; cache %"
		PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " of %" PRIu64
		" bytes; memory %" PRIu64 " of %" PRIu64 " bytes; ",
		stats->decoded, stats->decode_ns / 1000000,
		stats->cache_hits, stats->cache_misses, stats->cache_held,
		stats->cache_budget, stats->memory, stats->memory_budget);
	fprintf(out, "containers %" PRIu64 " open, %" PRIu64 " idle; %" PRIu64
		" names", metrics->containers_open, metrics->containers_idle,
		metrics->nodes);
	if (metrics->net.bytes || metrics->net.n_failed)
		fprintf(out, "; servers sent %" PRIu64 " bytes, %" PRIu64
			" failures", (uint64_t)metrics->net.bytes,
			(uint64_t)metrics->net.n_failed);
}
