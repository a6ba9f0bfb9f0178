/* format/recording_tables.h: the payloads of a recording's chunks, applied to a sink. Ids of the
 * file are counted, and checked whenever one is used, so a damaged or hostile payload ends with
 * `false` and leaves the sink consistent. */
#ifndef CRESSET_FORMAT_RECORDING_TABLES_H
#define CRESSET_FORMAT_RECORDING_TABLES_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stdint.h>

/* The sink's id by the file's. */
struct recording_ids {
	VEC(uint32_t) v;
};

struct recording_tables {
	struct sink *sink;
	struct recording_ids strings, mappings, frames, functions, types, sets, series, stacks;
	struct stack_table file_stacks; /* as in the file; own[] are the sink's frames */
	VEC(uint32_t) scratch;
	VEC(struct line) lines;
	VEC(struct label) labels;
	VEC(struct sample) samples;
	uint64_t frames_given, samples_given;
	struct profile_meta
		meta; /* the last one, in the sink's ids; given by recording_tables_end */
	bool has_meta;
};

void recording_tables_init(struct recording_tables *t, struct sink *sink);
void recording_tables_done(struct recording_tables *t);

/* Applies a payload (unpacked) of one of the types above but CHUNK_COMMIT. */
bool recording_apply(struct recording_tables *t, uint32_t type, struct cur payload);

/* Gives the meta to the sink, once everything was applied. */
void recording_tables_end(struct recording_tables *t);

#endif
