/* profile/chunk.h: the tables of a profile as chunks of bytes: what recordings, batches of the store and its dictionaries are made of.
 *
 * Each chunk adds to one table what is new; ids count up from the tables' beginning, so a reader that applies chunks in order has the
 * writer's ids. docs/formats.md describes every payload. */
#ifndef CRESSET_PROFILE_CHUNK_H
#define CRESSET_PROFILE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

enum chunk_type {
	CHUNK_STRINGS = 1,
	CHUNK_MAPPINGS = 2,
	CHUNK_FRAMES = 3,
	CHUNK_FUNCTIONS = 4,
	CHUNK_NAMES = 5,
	CHUNK_TYPES = 6,
	CHUNK_LABELS = 7,
	CHUNK_SERIES = 8,
	CHUNK_STACKS = 9,
	CHUNK_SAMPLES = 10,
	CHUNK_META = 11,
	CHUNK_COMMIT = 12,   /* how many samples there were: not of any table */
	CHUNK_ORIGINS = 13,  /* always with CHUNK_OPTIONAL */
	CHUNK_SPANS = 14,    /* samples that cover time */
	CHUNK_THREADS = 15,  /* always with CHUNK_OPTIONAL */
	CHUNK_LINKS = 16,    /* spans of traces */
	CHUNK_LINKED = 17,   /* samples, some of which belong to spans of traces */
	CHUNK_READINGS = 18, /* always with CHUNK_OPTIONAL */
	CHUNK_TYPES_END
};
enum {
	CHUNK_ZSTD = 1,     /* the payload is one zstd frame that tells its size */
	CHUNK_OPTIONAL = 2, /* a reader that does not know the type may pass over it */
};

/* The chunks that keep frames and stacks, and what else samples refer to. */
enum {
	CHUNK_ALL = (1 << CHUNK_TYPES_END) - 2,
	CHUNK_DICTIONARY =
		1 << CHUNK_STRINGS | 1 << CHUNK_MAPPINGS | 1 << CHUNK_FRAMES | 1 << CHUNK_STACKS,
	CHUNK_CATALOG =
		1 << CHUNK_STRINGS | 1 << CHUNK_TYPES | 1 << CHUNK_LABELS | 1 << CHUNK_SERIES,
};

/* What a reader takes; more is damage or a bomb. */
enum {
	CHUNK_MAX_BYTES = 16 << 20,  /* of a payload, unpacked */
	CHUNK_MAX_ENTRIES = 1 << 26, /* of a table; of samples, too */
	CHUNK_MAX_FRAMES = 1 << 30,  /* of all stacks together, written out in full */
};

/* How far the tables of CHUNK_DICTIONARY and CHUNK_CATALOG are written, or read: what comes next of each. */
struct chunk_position {
	uint32_t strings, mappings, frames, types, sets, series, stacks;
};

uint64_t chunk_checksum(uint32_t type, uint32_t flags, const void *payload, size_t len);

#endif
