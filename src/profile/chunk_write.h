/* profile/chunk_write.h: what is new in a profile, as chunks (profile/chunk.h), for whoever keeps them: a file, a database. */
#ifndef CRESSET_PROFILE_CHUNK_WRITE_H
#define CRESSET_PROFILE_CHUNK_WRITE_H

#include "base/err.h"
#include "profile/chunk.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes a payload, packed when flags say so. A failure ends the writing. */
struct chunk_out {
	int (*put)(void *ctx, enum chunk_type type, uint32_t flags, const void *payload, size_t len,
		   struct err *err);
	void *ctx;
	bool plain; /* nothing is packed: whoever takes payloads packs them together */
};

/* Remembers what was written of one profile. */
struct chunk_writer;
struct chunk_writer *chunk_writer_new(void);
void chunk_writer_free(struct chunk_writer *w); /* NULL is fine */

/* How large a payload gets before it is packed, about (256 KiB), and zstd's level (3). Larger ones are packed better. */
void chunk_writer_size(struct chunk_writer *w, size_t bytes, int level);

/* Rows that are written; others are as if they were empty, at the same place: strings "", functions without a name, frames without
 * names. Rows are found by id; an array that is NULL keeps all. */
struct chunk_kept {
	const bool *strings, *functions, *names; /* names: by frame */
};
/* From now on; the arrays stay the caller's. NULL: all. */
void chunk_writer_keep(struct chunk_writer *w, const struct chunk_kept *kept);

/* Hands over what is new in p since the last call: always the same profile. types: bits 1 << CHUNK_…, of CHUNK_SAMPLES all kinds; the
 * tables that a table refers to must be among them, or be written otherwise. After a failure only chunk_writer_free and chunk_writer_seek
 * are left. */
int chunk_write(struct chunk_writer *w, const struct profile *p, uint32_t types,
		const struct chunk_out *out, struct err *err);

/* All that p has. */
struct chunk_position chunk_position_of(const struct profile *p);
struct chunk_position chunk_writer_tell(const struct chunk_writer *w);
/* Goes on from there: what is before is somewhere already, what is behind is written (again). */
void chunk_writer_seek(struct chunk_writer *w, const struct chunk_position *at);

/* How many samples were written so far. */
uint64_t chunk_writer_samples(const struct chunk_writer *w);

/* All samples that were written have been taken out of the profile (samples.n is 0). */
void chunk_writer_drop_samples(struct chunk_writer *w);
/* They are back, in front of those that have come since. */
void chunk_writer_restore_samples(struct chunk_writer *w);

#endif
