/* format/otlp_tables.h: the dictionary of an OTLP message being read. Strings and attributes go to the sink when they are asked for; a
 * location becomes a frame when the first stack has it, a stack is known when all were loaded.
 *
 * What is malformed inside a table leaves a gap that is counted in `skipped`; nothing here fails. */
#ifndef CRESSET_FORMAT_OTLP_TABLES_H
#define CRESSET_FORMAT_OTLP_TABLES_H

#include "base/pb.h"
#include "base/vec.h"
#include "format/otlp.h"
#include "format/otlp_attr.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stdint.h>

/* Where an entry lies in the message. */
struct otlp_entry {
	uint32_t at, len;
};
struct otlp_entries {
	VEC(struct otlp_entry) all;
	const uint8_t *from, *to; /* of all of them in the message */
	bool is_torn;             /* something else is between them */
	VEC(uint32_t)
	ids; /* the sink's; UINT32_MAX while nobody asked, or of a stack: it cannot be used */
};

struct otlp_attr {
	enum otlp_role role;
	struct cur key;
	struct otlp_value value; /* a FORM_TEXT where the message has an index of a string */
	uint64_t unit;           /* index of a string */
	bool has_label;          /* label is filled in */
	struct label label;
};

enum otlp_place {
	PLACE_FILE,   /* the ordinary case */
	PLACE_KERNEL, /* addresses are what they are */
	PLACE_NONE,   /* no mapping, or one that says nothing */
};
struct otlp_mapping {
	enum otlp_place place;
	struct mapping model;
	bool name_only; /* may be the binary of frames that are known by name */
	uint32_t id;    /* the sink's; UINT32_MAX before its first use */
};
enum { FUNCTION_TEXT_NAME, FUNCTION_TEXT_LINKAGE, FUNCTION_TEXT_FILE, FUNCTION_TEXTS };
struct otlp_function {                 /* from its first use on */
	uint64_t text[FUNCTION_TEXTS]; /* indices of strings */
	struct function f;
	uint32_t id; /* the sink's */
	bool is_loaded;
};

enum { OTLP_KEY_MEMOS = 64 };
struct otlp_key_memo {
	const uint8_t *key;
	size_t len;
	enum otlp_role role;
};

struct otlp_tables {
	struct sink *sink;
	const uint8_t *file;
	struct otlp_known_stacks *known;     /* NULL: nobody asks */
	struct otlp_entries of[OTLP_TABLES]; /* by enum otlp_table */
	VEC(struct otlp_attr) attrs;
	VEC(struct otlp_mapping) mappings;
	VEC(struct otlp_function) functions;
	uint32_t no_mapping, kernel; /* the sink's mappings; UINT32_MAX before their first use */
	VEC(struct line) lines;      /* of the location at hand … */
	uint64_t lines_hash;         /* … and all they say, by the sink's ids */
	const struct otlp_function *outermost;
	VEC(uint32_t) frames;         /* of the stacks at hand */
	VEC(uint32_t) lines_of_frame; /* by frame: hash of its lines, 0 for none */
	struct otlp_key_memo key_memos[OTLP_KEY_MEMOS];
	uint64_t skipped, unnamed, n_frames;
};

void otlp_tables_init(struct otlp_tables *t, struct sink *sink, const void *file);
void otlp_tables_done(struct otlp_tables *t);

/* Notes the entries of a dictionary at c. False when there are too many; damage is counted. */
bool otlp_tables_add(struct otlp_tables *t, struct cur c);

/* Fills in what t->known says of the message. After all was loaded. */
void otlp_tables_compare(struct otlp_tables *t);

/* Call once after all was added; stacks: see otlp_frames.h. */
void otlp_tables_load(struct otlp_tables *t);

/* The sink's id; an index out of range counts as skipped and gives the empty string. */
uint32_t otlp_string(struct otlp_tables *t, uint64_t index);
struct cur otlp_text(const struct otlp_tables *t, uint64_t index);

/* NULL when there is none. */
const struct otlp_function *otlp_function(struct otlp_tables *t, uint64_t index);

/* An entry of the attribute table; NULL when there is none. */
struct otlp_attr *otlp_attr_at(struct otlp_tables *t, uint64_t index);
/* A KeyValue of a resource or scope. False when it is damaged. */
bool otlp_attr_read(struct otlp_tables *t, struct cur c, struct otlp_attr *a);
/* What it is as a label; false when it has no value a label can have. */
bool otlp_attr_label(struct otlp_tables *t, struct otlp_attr *a, struct label *label);

/* The sink's link; 0 of none, and where the sink has no room. */
uint32_t otlp_link(struct otlp_tables *t, uint64_t index);

/* Whether a stack is known already, as far as the message goes on with the tables of before. */
static inline bool otlp_stack_is_known(const struct otlp_tables *t, uint64_t index)
{
	const struct otlp_known_stacks *k = t->known;
	return k && k->follows && index < k->n && k->id[index] != UINT32_MAX;
}

/* The sink's stack; UINT32_MAX when there is none, or one of its locations is missing. */
static inline uint32_t otlp_stack(const struct otlp_tables *t, uint64_t index)
{
	const struct otlp_entries *e = &t->of[TABLE_STACK];
	if (index == 0 && e->ids.n == 0)
		return 0;
	if (otlp_stack_is_known(t, index))
		return 0;
	return index < e->ids.n ? e->ids.v[index] : UINT32_MAX;
}

#endif
