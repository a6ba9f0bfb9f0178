/* format/pprof/pprof_put.h: the tables of a pprof file being written. A frame becomes a location
 * when a sample first needs it, together with its functions, strings and mapping. */
#ifndef CRESSET_FORMAT_PPROF_PPROF_PUT_H
#define CRESSET_FORMAT_PPROF_PPROF_PUT_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* A mapping as written to the file. If the model has no run-time range, an unused address range is
 * assigned. */
struct pprof_place {
	uint64_t start, limit, offset;
	bool is_kernel; /* the kernel or one of its modules */
	bool used;
	uint8_t flags; /* MAPPING_HAS_*, as found from the frames written */
};

struct pprof_put {
	struct profile *p;
	struct buf locations, functions, strings; /* encoded messages */
	uint32_t n_locations, n_functions, n_strings;
	/* Ids in the file, by id in the model; 0 = none yet. */
	VEC(uint32_t) location_of_frame, function_of, string_of;
	struct map function_by_name;    /* (name << 32 | file) of frames known only by name */
	uint32_t empty_string;          /* a second empty string: index 0 means "none" */
	VEC(struct pprof_place) places; /* by mapping */
	uint32_t kernel, empty;         /* mappings; MAPPING_NONE if none exists */
	bool kind_used[FRAME_KINDS];    /* mappings that only state a kind */
	/* Names (strings) of frames' binaries that are not mappings of the model, and the number of
	 * the mapping in the file by name. */
	VEC(uint32_t) binaries;
	struct map mapping_of_binary;
};

void pprof_put_init(struct pprof_put *w, struct profile *p);
void pprof_put_done(struct pprof_put *w);

/* Returns the index of a string in the file. */
uint32_t pprof_put_string(struct pprof_put *w, uint32_t string);
uint32_t pprof_put_text(struct pprof_put *w, const char *text, size_t len); /* not deduplicated */

/* Like pprof_put_string, but never 0. */
uint32_t pprof_put_value_string(struct pprof_put *w, uint32_t string);

/* Returns the id of a frame's location. */
uint32_t pprof_put_frame(struct pprof_put *w, uint32_t frame);

/* Appends all tables. Call last. */
void pprof_put_tables(struct pprof_put *w, struct buf *out);

#endif
