/* format/pprof_put.h: the tables of a pprof file being written. A frame becomes a location when the
 * first sample needs it, and brings its functions, strings and mapping along. */
#ifndef CRESSET_FORMAT_PPROF_PUT_H
#define CRESSET_FORMAT_PPROF_PUT_H

#include "base/hash.h"
#include "base/pb.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* A mapping as it will stand in the file. Where the model knows no run-time range, an address range
 * of its own is made up. */
struct pprof_place {
	uint64_t start, limit, offset;
	bool is_kernel; /* the kernel or one of its modules */
	bool used;
	uint8_t flags; /* MAPPING_HAS_*, as far as made out by the frames written */
};

struct pprof_put {
	struct profile *p;
	struct buf locations, functions, strings; /* messages, ready for the file */
	uint32_t n_locations, n_functions, n_strings;
	/* Ids in the file by the model's; 0 = none yet. */
	VEC(uint32_t) location_of_frame, function_of, string_of;
	struct map function_by_name; /* (name << 32 | file) of frames that are known by name only */
	uint32_t empty_string;       /* a second one: index 0 means "none" */
	VEC(struct pprof_place) places; /* by mapping */
	uint32_t kernel, empty;         /* mappings, MAPPING_NONE when there is none */
	bool kind_used[FRAME_KINDS];    /* mappings that only say a kind */
	/* Names (strings) of frames' binaries that are no mappings of the model, and by name the
	 * number of the mapping in the file. */
	VEC(uint32_t) binaries;
	struct map mapping_of_binary;
};

void pprof_put_init(struct pprof_put *w, struct profile *p);
void pprof_put_done(struct pprof_put *w);

/* Index of a string in the file. */
uint32_t pprof_put_string(struct pprof_put *w, uint32_t string);
uint32_t pprof_put_text(struct pprof_put *w, const char *text, size_t len); /* not looked for */

/* Like pprof_put_string, but never 0. */
uint32_t pprof_put_value_string(struct pprof_put *w, uint32_t string);

/* Id of the location of a frame. */
uint32_t pprof_put_frame(struct pprof_put *w, uint32_t frame);

/* Appends all tables. Call last. */
void pprof_put_tables(struct pprof_put *w, struct buf *out);

#endif
