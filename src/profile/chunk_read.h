/* profile/chunk_read.h: chunks (profile/chunk.h), applied to a sink. Ids of the
 * writer are counted, and checked whenever one is used, so a damaged or hostile payload ends with
 * `false` and leaves the sink consistent. */
#ifndef CRESSET_PROFILE_CHUNK_READ_H
#define CRESSET_PROFILE_CHUNK_READ_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/chunk.h"
#include "profile/profile.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stdint.h>

/* The sink's id by the file's. */
struct chunk_ids {
	VEC(uint32_t) v;
};

struct chunk_reader {
	struct sink *sink;
	struct stack_table *restored; /* the sink's own; NULL: it gives other ids */
	struct chunk_ids strings, mappings, frames, functions, types, sets, series, stacks, links;
	struct stack_table file_stacks; /* as in the file; own[] are the sink's frames */
	VEC(uint32_t) scratch;
	VEC(struct line) lines;
	VEC(struct label) labels;
	VEC(struct sample) samples;
	VEC(struct reading_point) readings;
	uint64_t frames_given, samples_given;
	struct profile_meta meta; /* the last one, in the sink's ids; given by chunk_reader_end */
	bool has_meta;
};

void chunk_reader_init(struct chunk_reader *t, struct sink *sink);
/* For a profile that is to be what was written, id by id (strings aside: others may be among them), and was empty or has the beginning of it. Stacks are not looked for, so this is
 * fast. Ends with `false` where a table says again what it has said, or the profile is something else; equal stacks in places far apart are seen by
 * stack_table_index only. */
void chunk_reader_restore(struct chunk_reader *t, struct profile *p);
/* For chunks of samples that were written of p, whose ids are p's own. */
void chunk_reader_init_own(struct chunk_reader *t, struct profile *p);
/* Of a restored profile that has this much of the dictionary: as if it had been read up to there, whatever was read. What comes next is to be
 * what the profile has there, or what follows. */
void chunk_reader_seek(struct chunk_reader *t, const struct chunk_position *at);
void chunk_reader_done(struct chunk_reader *t);

/* The plain bytes of a payload: in raw where it was packed, else where it is. False when they are none. */
bool chunk_unpack(uint32_t flags, const void *payload, size_t len, struct buf *raw,
		  struct cur *out);

/* Applies a payload (unpacked) of one of the types but CHUNK_COMMIT. */
bool chunk_apply(struct chunk_reader *t, uint32_t type, struct cur payload);

/* Gives the meta to the sink, once everything was applied. */
void chunk_reader_end(struct chunk_reader *t);

#endif
