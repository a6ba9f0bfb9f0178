/* agent/wire.h: what the collector and the store process say to each other (base/stream.h).
 *
 *     collector → store                                  store → collector
 *     WIRE_BEGIN   a dictionary begins, empty            WIRE_ACK    a batch is synced in the store
 *     WIRE_CHUNK   what is new in it; samples            WIRE_WANT   the file of a mapping, please
 *     WIRE_METRICS what else was measured meanwhile      WIRE_IDLE   all that could be named after a batch is
 *     WIRE_BATCH   what came is a batch
 *     WIRE_FILE    a file, open for reading, or none
 *
 * Chunks are those of profile/chunk.h, and ids are those of the collector's profile: what is in its dictionary is sent once, until the
 * dictionary begins anew. A collector has one batch on its way at a time, and sends it again after a WIRE_BEGIN when the stream broke before
 * it was acknowledged; it has the same number then, so that it is stored once. */
#ifndef CRESSET_AGENT_WIRE_H
#define CRESSET_AGENT_WIRE_H

#include "profile/chunk.h"
#include "store/store.h"

#include <stdint.h>

enum wire_type {
	WIRE_BEGIN = 1,
	WIRE_CHUNK,
	WIRE_BATCH,
	WIRE_FILE,
	WIRE_ACK,
	WIRE_WANT,
	WIRE_IDLE,
	WIRE_METRICS, /* one message of OTLP metrics, not packed; at most one for a batch */
};

struct wire_begin {
	uint64_t generation; /* of the dictionary */
	uint8_t sender[STORE_SENDER_BYTES];
};
struct wire_chunk {
	uint32_t type, flags; /* enum chunk_type; the payload follows */
};
struct wire_batch {
	uint64_t sequence; /* from 1 */
	int64_t start_mono_ns, start_wall_ns, duration_ns;
	uint32_t is_last; /* the collector ends */
	uint32_t reserved;
};
struct wire_file { /* with a descriptor, or there is none */
	uint64_t generation;
	uint32_t mapping;
	uint32_t reserved;
};
struct wire_want {
	uint64_t generation;
	uint32_t mapping;
	uint32_t reserved;
};
struct wire_done { /* WIRE_ACK, WIRE_IDLE */
	uint64_t sequence;
};

enum {
	WIRE_MAX_TO_STORE = CHUNK_MAX_BYTES + 4096,
	WIRE_MAX_TO_COLLECTOR = 64,
};

#endif
