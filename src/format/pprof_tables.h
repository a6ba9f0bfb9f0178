/* format/pprof_tables.h: the tables of a pprof file being read. Strings, mappings and functions go
 * to the sink at once; a location becomes a frame when the first sample asks for it (see pprof.h
 * for how). Ids in the file may be any numbers.
 *
 * What is malformed inside a table leaves a gap that is counted in `skipped`; nothing here
 * fails. */
#ifndef CRESSET_FORMAT_PPROF_TABLES_H
#define CRESSET_FORMAT_PPROF_TABLES_H

#include "base/hash.h"
#include "base/pb.h"
#include "base/vec.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a message or a string lies in the file. */
struct pprof_entry {
	uint32_t at, len;
};
struct pprof_entries {
	VEC(struct pprof_entry) all;
	/* By row, of strings and locations: the sink's id, UINT32_MAX while nobody asked. */
	VEC(uint32_t) ids;
	/* Row of an id: most writers number 1, 2, 3 …, so the first `dense` rows have id = row +
	 * 1. */
	uint32_t dense;
	struct map row_of_id;
};

/* What a mapping says about locations in it. */
enum pprof_role {
	ROLE_FILE,   /* the ordinary case */
	ROLE_KERNEL, /* offsets are addresses (modules are files) */
	ROLE_EMPTY,  /* there, but without name, build id or range */
	ROLE_KIND,   /* written by us to say of what kind a frame known by name is */
	ROLE_NONE,   /* the location has no mapping */
};
struct pprof_mapping {
	enum pprof_role role;
	enum frame_kind kind; /* of ROLE_KIND */
	bool is_vsyscall;     /* user code at a kernel address */
	uint8_t flags;        /* MAPPING_* */
	uint32_t name;        /* string, of ROLE_FILE */
	/* The sink's. UINT32_MAX of ROLE_KIND, and before their first use of ROLE_NONE and of files
	 * of which nothing but the name is known: these may be the binary of frames by name only. */
	uint32_t id;
	uint64_t start, offset;
};
struct pprof_function {
	struct function f;
	uint32_t id;
	uint64_t name_text, file_text; /* indices of strings */
	uint64_t hash;                 /* of its texts: equal in every file */
};

struct pprof_tables {
	struct sink *sink;
	const uint8_t *file;
	struct pprof_entries strings, mappings, functions, locations;
	VEC(struct pprof_mapping) mapping;   /* by row */
	VEC(struct pprof_function) function; /* by row */
	struct pprof_mapping no_mapping;
	VEC(struct line) lines; /* of the location at hand … */
	uint64_t lines_hash;    /* … and all they say */
	const struct pprof_function *outermost;
	/* By frame: hash of its lines, 0 for none: two sets of names cannot share a frame. */
	VEC(uint32_t) lines_of_frame;
	uint64_t skipped;
};

void pprof_tables_init(struct pprof_tables *t, struct sink *sink, const void *file);
void pprof_tables_done(struct pprof_tables *t);

/* Notes a message (or string) at c. False when there are too many. */
bool pprof_entries_add(struct pprof_tables *t, struct pprof_entries *e, struct cur c);

/* Call once after everything was added and before anything is asked. */
void pprof_tables_load(struct pprof_tables *t);

/* The sink's id of a string; an index out of range counts as skipped and gives the empty string. */
uint32_t pprof_string(struct pprof_tables *t, uint64_t index);
bool pprof_string_valid(const struct pprof_tables *t, uint64_t index);

/* The text itself; "" when the index is out of range. */
struct cur pprof_text(const struct pprof_tables *t, uint64_t index);

/* The frame of a location; UINT32_MAX when there is no such location or it is malformed. Of one that
 * was asked for before it is locations.ids.v[row]. */
uint32_t pprof_find_frame(struct pprof_tables *t, uint64_t location_id);

#endif
