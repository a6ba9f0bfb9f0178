/* profile/chunk.h: the tables of a profile, encoded as chunks of bytes. Recordings, and the store's
 * batches and dictionaries, consist of such chunks.
 *
 * Each chunk adds new entries to one table. Ids count up from the start of a table, so a reader
 * that applies chunks in order gets the writer's ids. docs/formats.md describes every payload. */
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
	CHUNK_COMMIT = 12,   /* number of samples so far; belongs to no table */
	CHUNK_ORIGINS = 13,  /* always with CHUNK_OPTIONAL */
	CHUNK_SPANS = 14,    /* samples that cover time */
	CHUNK_THREADS = 15,  /* always with CHUNK_OPTIONAL */
	CHUNK_LINKS = 16,    /* spans of traces */
	CHUNK_LINKED = 17,   /* samples, some with spans of traces */
	CHUNK_READINGS = 18, /* always with CHUNK_OPTIONAL */
	CHUNK_TYPES_END
};
enum {
	CHUNK_ZSTD = 1,     /* the payload is one zstd frame with its content size */
	CHUNK_OPTIONAL = 2, /* a reader that does not know the type may skip it */
};

/* Sets of chunk types: frames and stacks; everything else that samples refer to. */
enum {
	CHUNK_ALL = (1 << CHUNK_TYPES_END) - 2,
	CHUNK_DICTIONARY =
		1 << CHUNK_STRINGS | 1 << CHUNK_MAPPINGS | 1 << CHUNK_FRAMES | 1 << CHUNK_STACKS,
	CHUNK_CATALOG =
		1 << CHUNK_STRINGS | 1 << CHUNK_TYPES | 1 << CHUNK_LABELS | 1 << CHUNK_SERIES,
};

/* Limits for readers; more is damage or a decompression bomb. */
enum {
	CHUNK_MAX_BYTES = 16 << 20,  /* of a decompressed payload */
	CHUNK_MAX_ENTRIES = 1 << 26, /* of a table, or of samples */
	CHUNK_MAX_FRAMES = 1 << 30,  /* of all stacks together, fully expanded */
};

/* In CHUNK_META, after a reason's name: the time that the losses stand for, in ns. */
#define LOSS_TIME_SUFFIX ".ns"

/* Position of a writer or reader in the tables of CHUNK_DICTIONARY and CHUNK_CATALOG: the next id
 * of each. */
struct chunk_position {
	uint32_t strings, mappings, frames, types, sets, series, stacks;
};

uint64_t chunk_checksum(uint32_t type, uint32_t flags, const void *payload, size_t len);

#endif
