/* profile/chunk.h: the tables of a profile, encoded as chunks of bytes. Recordings, and the store's
 * batches and dictionaries, consist of such chunks.
 *
 * Each chunk adds new entries to one table. Ids count up from the start of a table, so a reader
 * that applies chunks in order gets the writer's ids.
 *
 * A payload consists of numbers (LEB128: seven bits a byte, the lowest first, the high bit set in
 * all but the last byte), signed numbers (zigzag: 0, -1, 1, -2 … are 0, 1, 2, 3 …) and bytes. Each
 * table counts its rows from 0 over all chunks; an id is such a count. String 0 is empty, label set
 * 0 has no labels, stack 0 has no frames: these three are not written. Rows fill a payload to its
 * end. A row of each table ("str": a string's id):
 *
 *     1 strings     length, bytes: any, at most 64 KiB
 *     2 mappings    name str, length and bytes of the build id, build id as text (str, if it is not
 *                   hex), identity, start, limit, offset, flags (MAPPING_*, profile/frame.h)
 *     3 frames      kind (profile/frame.h), mapping + 1, file offset (in the kernel: address); or
 *                   kind, 0, function str, file str, line, binary str
 *     4 functions   name str, linkage name str, file str, first line
 *     5 names       frame, n, n × { function, line, column }, innermost first; replaces earlier
 *                   ones. The first column has 2^30 added: one of several equal functions
 *     6 types       name, sample type, unit, period type, period unit (str each); 0 sums,
 *                   1 snapshots; in batches and catalogs of a store also 2 gauge, 3 counter
 *     7 label sets  n, n × { key str, then 1 and the value, signed; or 0 and the value str; unit
 *                   str }
 *     8 series      type, period (signed), label set
 *     9 stacks      own id - parent's id, frames shared with the parent from the root, n, n × frame
 *                   (profile/stack.h)
 *     10 samples    n, then n values of each column: time in ns *, value (signed), series *,
 *                   stack *, pid + 1 *, tid + 1 *, cpu + 1 *; 0 is unknown. Columns marked * are
 *                   signed differences from the previous row, the first from 0
 *     11 meta       one row, the last one counts: start, Unix ns; start by the samples' clock, ns;
 *                   duration, ns (signed each); host, kernel, command, clock (str each); CPUs;
 *                   default type (0: the first); default sample type, documentation URL,
 *                   drop_frames, keep_frames (str each, of pprof); own CPU time in ns; own peak
 *                   memory in bytes; n, n comments (str); n, n columns of the source (types); then
 *                   to the end losses: length and bytes of the reason's name, count; for losses of
 *                   known time also the name with LOSS_TIME_SUFFIX, and ns
 *     12 end        samples in the recording: the last chunk of a complete one
 *     13 origins    mapping, source of the names (str; 0: frames without a name), frames. Rows of
 *                   equal ids add up
 *     14 samples    that cover time: as 10, and the length in ns (signed), which starts at the time
 *     15 threads    pid, tid, name str, first and last moment, time on a CPU, blocked, waiting for
 *                   a CPU, stopped (signed, ns). A later row of equal pid, tid and first moment
 *                   replaces the earlier one
 *     16 spans      trace id of 16 bytes, span id of 8; zeros: unknown. Numbered from 1
 *     17 samples    as 14, and the span *; 0, or one that does not exist: none
 *     18 readings   name str, unit str, label set, 0 gauge or 1 counter, n, n × { time * in ns by
 *                   the samples' clock; value: IEEE 754 bits XOR those before (the first: 0), bytes
 *                   reversed, as a number }. Rows of equal name, unit, labels and kind add up
 *
 * A later version adds tables as new types, with CHUNK_OPTIONAL if old readers can do without them.
 * Anything else is a new version of the file, which old readers refuse. */
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
	CHUNK_MAX_BYTES = 16 << 20, /* of a decompressed payload */
	/* limit: entries of a table of a recording, samples; chunks with more are left out */
	CHUNK_MAX_ENTRIES = 1 << 26,
	CHUNK_MAX_FRAMES = 1 << 30, /* of all stacks together, fully expanded */
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
