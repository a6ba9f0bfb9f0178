/* profile/chunk_write.h: what is new in a profile, as chunks (profile/chunk.h), for whoever keeps them: a file, a database. */
#ifndef CRESSET_PROFILE_CHUNK_WRITE_H
#define CRESSET_PROFILE_CHUNK_WRITE_H

#include "base/err.h"
#include "profile/chunk.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

/* Takes a payload, packed when flags say so. A failure ends the writing. */
struct chunk_out {
	int (*put)(void *ctx, enum chunk_type type, uint32_t flags, const void *payload, size_t len,
		   struct err *err);
	void *ctx;
};

/* Remembers what was written of one profile. */
struct chunk_writer;
struct chunk_writer *chunk_writer_new(void);
void chunk_writer_free(struct chunk_writer *w); /* NULL is fine */

/* Hands over what is new in p since the last call: always the same profile. types: bits 1 << CHUNK_…, of CHUNK_SAMPLES both kinds; the
 * tables that a table refers to must be among them, or be written otherwise. After a failure only chunk_writer_free is left. */
int chunk_write(struct chunk_writer *w, const struct profile *p, uint32_t types,
		const struct chunk_out *out, struct err *err);

/* How many samples were written so far. */
uint64_t chunk_writer_samples(const struct chunk_writer *w);

/* All samples that were written have been taken out of the profile (samples.n is 0). */
void chunk_writer_drop_samples(struct chunk_writer *w);

#endif
