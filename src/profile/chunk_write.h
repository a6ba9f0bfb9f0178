/* profile/chunk_write.h: writes what is new in a profile as chunks (profile/chunk.h), for callers
 * that store them in a file or a database. */
#ifndef CRESSET_PROFILE_CHUNK_WRITE_H
#define CRESSET_PROFILE_CHUNK_WRITE_H

#include "profile/chunk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

/* Receives payloads, compressed if a bit of flags is set. A failure ends the writing. */
struct chunk_out {
	int (*put)(void *ctx, enum chunk_type type, uint32_t flags, const void *payload, size_t len,
		   struct err *err);
	void *ctx;
	bool plain; /* no compression: the caller compresses several payloads together */
};

/* Remembers how much of one profile was written. */
struct chunk_writer;
struct chunk_writer *chunk_writer_new(void);
void chunk_writer_free(struct chunk_writer *w); /* NULL is fine */

/* Sets the approximate size of a payload before compression (default 256 KiB) and zstd's level
 * (default 3). Larger payloads compress better. */
void chunk_writer_size(struct chunk_writer *w, size_t bytes, int level);

/* Writes what is new in p since the last call; p must always be the same profile. types: bits 1 <<
 * CHUNK_…; CHUNK_SAMPLES includes all kinds of samples. Tables that a table refers to must be
 * included or be written elsewhere. After a failure only chunk_writer_free and chunk_writer_seek
 * may be called. */
int chunk_write(struct chunk_writer *w, const struct profile *p, uint32_t types,
		const struct chunk_out *out, struct err *err);

/* Returns the position after everything in p. */
struct chunk_position chunk_position_of(const struct profile *p);
struct chunk_position chunk_writer_tell(const struct chunk_writer *w);
/* Continues from a position: entries before it are already stored, entries after it are written
 * (again). */
void chunk_writer_seek(struct chunk_writer *w, const struct chunk_position *at);

/* Returns the number of samples written so far. */
uint64_t chunk_writer_samples(const struct chunk_writer *w);

/* Call after all written samples were taken out of the profile (samples.n is 0). */
void chunk_writer_drop_samples(struct chunk_writer *w);
/* Call after these samples were put back, in front of newer ones. */
void chunk_writer_restore_samples(struct chunk_writer *w);

#endif
