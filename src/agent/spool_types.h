/* agent/spool_types.h: options, messages, entries and counts of a spool (agent/spool.h). */
#ifndef CRESSET_AGENT_SPOOL_TYPES_H
#define CRESSET_AGENT_SPOOL_TYPES_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum spool_kind { SPOOL_PROFILES, SPOOL_METRICS, SPOOL_KINDS };
enum {
	SPOOL_ID_BYTES = 16,
	SPOOL_MIN_BYTES = 1 << 20,
	SPOOL_MAX_MESSAGE = 64 << 20, /* decompressed */
};
struct spool_opts {
	const char *dir; /* exists */
	uint64_t max_bytes;
	const char *vfs; /* NULL: the default one */
};
struct spool_source { /* identifies a batch that may be passed again */
	uint8_t id[SPOOL_ID_BYTES];
	uint64_t sequence; /* increasing */
};
struct spool_message {
	enum spool_kind kind;
	const void *data; /* plain */
	size_t len;
	uint64_t samples;                  /* or points; counted as lost when it is dropped */
	const struct spool_source *source; /* NULL: it is passed only once */
	int64_t now_ns;                    /* Unix time */
};
struct spool_entry {
	uint64_t id;   /* grows */
	uint64_t base; /* id of its key; 0: it is whole */
	enum spool_kind kind;
	int64_t made_ns;
	uint64_t samples;
	struct buf packed;
};
/* Totals over the life of the file. */
struct spool_counts {
	uint64_t added, added_samples;
	uint64_t sent, sent_samples;
	uint64_t dropped, dropped_samples; /* no space */
	uint64_t refused, refused_samples; /* refused by a server, or damaged */
};
struct spool_status {
	uint64_t waiting, waiting_bytes;
	struct spool_counts counts;
};
/* The batch that the server retains as a key. */
struct spool_peer {
	uint64_t url_hash;
	uint64_t key; /* id; 0: none */
};

#endif
