/* format/pprof/pprof_tables.h: the tables of a pprof file being read. Strings, mappings and
 * functions go to the sink immediately; a location becomes a frame when the first sample needs it
 * (see pprof.h for how). Ids in the file may be any numbers.
 *
 * A malformed entry leaves a gap and is counted in `skipped`. Nothing here fails. */
#ifndef CRESSET_FORMAT_PPROF_PPROF_TABLES_H
#define CRESSET_FORMAT_PPROF_PPROF_TABLES_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cur;

/* Position of a message or a string in the file. */
struct pprof_entry {
	uint32_t at, len;
};
struct pprof_entries {
	VEC(struct pprof_entry) all;
	/* By row, for strings and locations: the sink's id, or UINT32_MAX until requested. */
	VEC(uint32_t) ids;
	/* Maps ids to rows. Most writers number 1, 2, 3 …, so the first `dense` rows have
	 * id = row + 1. */
	uint32_t dense;
	struct map row_of_id;
};

/* The role of a mapping for the locations in it. */
enum pprof_role {
	ROLE_FILE,   /* the ordinary case */
	ROLE_KERNEL, /* offsets are addresses (modules are files) */
	ROLE_EMPTY,  /* present, but without name, build id or range */
	ROLE_KIND,   /* written by us, gives the kind of a frame known by name */
	ROLE_NONE,   /* the location has no mapping */
};
struct pprof_mapping {
	enum pprof_role role;
	enum frame_kind kind; /* for ROLE_KIND */
	bool is_vsyscall;     /* user code at a kernel address */
	uint8_t flags;        /* MAPPING_* */
	uint32_t name;        /* string, for ROLE_FILE */
	/* The sink's id. UINT32_MAX for ROLE_KIND; also, before first use, for ROLE_NONE and for
	 * files known only by name, which may be the binary of frames known only by name. */
	uint32_t id;
	uint64_t start, offset;
};
struct pprof_function {
	struct function f;
	uint32_t id;
	uint64_t name_text, file_text; /* indices of strings */
	uint64_t hash;                 /* of its texts: the same in every file */
};

struct pprof_tables {
	struct sink *sink;
	const uint8_t *file;
	struct pprof_entries strings, mappings, functions, locations;
	VEC(struct pprof_mapping) mapping;   /* by row */
	VEC(struct pprof_function) function; /* by row */
	struct pprof_mapping no_mapping;
	VEC(struct line) lines; /* of the current location … */
	uint64_t lines_hash;    /* … and the hash of their content */
	const struct pprof_function *outermost;
	/* By frame: hash of its lines, 0 for none. Different names cannot share a frame. */
	VEC(uint32_t) lines_of_frame;
	uint64_t skipped;
};

void pprof_tables_init(struct pprof_tables *t, struct sink *sink, const void *file);
void pprof_tables_done(struct pprof_tables *t);

/* Records the position of a message (or string). Returns false if there are too many. */
bool pprof_entries_add(struct pprof_tables *t, struct pprof_entries *e, struct cur c);

/* Call once, after everything is added and before any lookup. */
void pprof_tables_load(struct pprof_tables *t);

/* Returns the sink's id of a string. An index out of range counts as skipped and gives the empty
 * string. */
uint32_t pprof_string(struct pprof_tables *t, uint64_t index);

/* Returns the text of a string, or "" if the index is out of range. */
struct cur pprof_text(const struct pprof_tables *t, uint64_t index);

/* Returns the frame of a location, PPROF_NO_FRAME if it stands for none, or UINT32_MAX if the
 * location is missing or malformed. After the first call a frame is also in
 * locations.ids.v[row]. */
enum { PPROF_NO_FRAME = UINT32_MAX - 1 };
uint32_t pprof_find_frame(struct pprof_tables *t, uint64_t location_id);

/* --- pprof_samples.c ---
 *
 * Reads the samples of a pprof file and passes them to a sink, in the file's order and in
 * batches. */

struct pprof_column;
struct pprof_samples;
struct sink;

/* The caller retains sink, tables, columns and the file's bytes, and must not change them in the
 * meantime. n_samples: approximate number of samples to come. */
struct pprof_samples *pprof_samples_new(struct sink *sink, struct pprof_tables *tables,
					const struct pprof_column *columns, size_t n_columns,
					uint64_t n_samples);

/* Drops text labels `state` and `reason`. */
void pprof_samples_drop_states(struct pprof_samples *s);
void pprof_samples_drop_stack_ids(struct pprof_samples *s);

/* Takes a sample's message. An unusable sample counts in the tables' `skipped`. Returns false if
 * there are more than PPROF_MAX_SAMPLES values. */
bool pprof_samples_add(struct pprof_samples *s, struct cur message);

/* Passes pending samples to the sink. Returns the total number of samples passed. */
uint64_t pprof_samples_free(struct pprof_samples *s);

#endif
