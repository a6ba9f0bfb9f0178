/* agent/wire.h: the messages between the collector and the store process (base/stream.h).
 *
 *     collector → store                                  store → collector
 *     WIRE_BEGIN   a new, empty dictionary               WIRE_ACK   a batch is synced in the store
 *     WIRE_CHUNK   new entries of it; samples            WIRE_WANT  requests a mapping's file
 *     WIRE_METRICS metrics of the same interval          WIRE_IDLE  all names after a batch that
 *                                                                   could be found were found
 *     WIRE_BATCH   ends a batch
 *     WIRE_FILE    a file, open for reading, or none
 *
 * Chunks are those of profile/chunk.h, and ids are those of the collector's profile. An entry of
 * its dictionary is sent once, until the next dictionary starts. A collector has one batch in
 * flight at a time. If the stream breaks before the acknowledgment, it sends the batch again after
 * a WIRE_BEGIN, with the same number, so the batch is stored only once. */
#ifndef CRESSET_AGENT_WIRE_H
#define CRESSET_AGENT_WIRE_H

#include "profile/chunk.h"
#include "store/codec/store.h"

#include <stdint.h>

enum wire_type {
	WIRE_BEGIN = 1,
	WIRE_CHUNK,
	WIRE_BATCH,
	WIRE_FILE,
	WIRE_ACK,
	WIRE_WANT,
	WIRE_IDLE,
	WIRE_METRICS, /* one message of OTLP metrics, uncompressed; at most one per batch */
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
	uint32_t is_last; /* the collector exits */
	uint32_t reserved;
};
struct wire_file { /* with a descriptor, or without if there is no file */
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

/* --- control.c: messages between the supervisor and its two processes: one byte each; to a process
 * also with a new end of the stream between the two. Ends when either side is gone. */

enum control {
	CONTROL_GONE = 0,
	CONTROL_NOTHING,
	CONTROL_STREAM, /* to a process: the other one is ready */
	CONTROL_STOP,   /* to a process: finish pending work and exit */
	CONTROL_READY,  /* from a process */
	CONTROL_TOKEN,  /* to the sending process: the token file, open for reading */
};

/* Both return 0 or -errno. */
int control_pair(int fds[2]);
int control_send(int fd, enum control what, int passed_fd);
/* Does not block. With CONTROL_STREAM and CONTROL_TOKEN the caller owns *passed_fd. */
enum control control_receive(int fd, int *passed_fd);

#endif
