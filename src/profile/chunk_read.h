/* profile/chunk_read.h: applies chunks (profile/chunk.h) to a sink. Every id in a payload is
 * checked against the number of entries so far, so a damaged or hostile payload returns false and
 * leaves the sink consistent. */
#ifndef CRESSET_PROFILE_CHUNK_READ_H
#define CRESSET_PROFILE_CHUNK_READ_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct chunk_position;
struct profile;

/* Maps the file's ids to the sink's. */
struct chunk_ids {
	VEC(uint32_t) v;
};

struct chunk_reader {
	struct sink *sink;
	struct stack_table *restored; /* the sink's table; NULL: the sink's ids differ */
	struct chunk_ids strings, mappings, frames, functions, types, sets, series, stacks, links;
	struct stack_table file_stacks; /* as in the file, but own[] has the sink's frames */
	VEC(uint32_t) scratch;
	VEC(struct line) lines;
	VEC(struct label) labels;
	VEC(struct sample) samples;
	VEC(struct reading_point) readings;
	uint64_t frames_given, samples_given;
	struct profile_meta meta; /* the last one, in the sink's ids; chunk_reader_end sets it */
	bool has_meta;
};

void chunk_reader_init(struct chunk_reader *t, struct sink *sink);
/* For a profile that is to get the same ids as the written one, except that it may have further
 * strings. p is empty or has the start of the same tables. Stacks are not looked up, so this
 * is fast. Applying a chunk returns false if a table repeats an entry or the profile differs;
 * equal stacks far apart are found only by stack_table_index. */
void chunk_reader_restore(struct chunk_reader *t, struct profile *p);
/* For chunks of samples that were written from p and use p's ids. */
void chunk_reader_init_own(struct chunk_reader *t, struct profile *p);
/* Sets the position in a restored profile that has at least this much of the dictionary, whatever
 * was read before. The next entries must equal the ones that the profile has from there on, or
 * follow them. */
void chunk_reader_seek(struct chunk_reader *t, const struct chunk_position *at);
void chunk_reader_done(struct chunk_reader *t);

/* Sets *out to the plain bytes of a payload: in raw if it was compressed, else in place. Returns
 * false if it cannot be decompressed. */
bool chunk_unpack(uint32_t flags, const void *payload, size_t len, struct buf *raw,
		  struct cur *out);

/* Applies a decompressed payload of any type but CHUNK_COMMIT. */
bool chunk_apply(struct chunk_reader *t, uint32_t type, struct cur payload);

/* Passes the meta to the sink; call it after all chunks were applied. */
void chunk_reader_end(struct chunk_reader *t);

#endif
