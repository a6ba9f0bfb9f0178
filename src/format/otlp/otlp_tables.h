/* format/otlp/otlp_tables.h: the dictionary of an OTLP message being read. Strings and attributes
 * go to the sink when requested. A location becomes a frame with the first stack that has it, and
 * stacks are available once all are loaded.
 *
 * A malformed table entry leaves a gap and is counted in `skipped`. Nothing here fails. */
#ifndef CRESSET_FORMAT_OTLP_OTLP_TABLES_H
#define CRESSET_FORMAT_OTLP_OTLP_TABLES_H

#include "base/buf.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_attr.h"
#include "profile/names.h"
#include "profile/series.h"

#include <stdbool.h>
#include <stdint.h>

/* Position of an entry in the message. */
struct otlp_entry {
	uint32_t at, len;
};
struct otlp_entries {
	VEC(struct otlp_entry) all;
	const uint8_t *from, *to; /* range of all entries in the message */
	bool is_torn;             /* other data lies between them */
	VEC(uint32_t)
	ids; /* in the sink; UINT32_MAX until requested, or for a stack: unusable */
};

struct otlp_attr {
	enum otlp_role role;
	struct cur key;
	struct otlp_value value; /* FORM_TEXT if the message has a string index */
	uint64_t unit;           /* index of a string */
	bool has_label;          /* label is set */
	struct label label;
};

enum otlp_place {
	PLACE_FILE,   /* the ordinary case */
	PLACE_KERNEL, /* addresses are absolute */
	PLACE_NONE,   /* no mapping, or an empty one */
};
struct otlp_mapping {
	enum otlp_place place;
	struct mapping model;
	bool name_only; /* may be the binary of frames known by name */
	uint32_t id;    /* in the sink; UINT32_MAX before first use */
};
enum { FUNCTION_TEXT_NAME, FUNCTION_TEXT_LINKAGE, FUNCTION_TEXT_FILE, FUNCTION_TEXTS };
struct otlp_function {                 /* filled in on first use */
	uint64_t text[FUNCTION_TEXTS]; /* indices of strings */
	struct function f;
	uint32_t id; /* in the sink */
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
	struct otlp_known_stacks *known;     /* NULL: not used */
	struct otlp_entries of[OTLP_TABLES]; /* by enum otlp_table */
	VEC(struct otlp_attr) attrs;
	VEC(struct otlp_mapping) mappings;
	VEC(struct otlp_function) functions;
	uint32_t no_mapping, kernel; /* mappings in the sink; UINT32_MAX before first use */
	VEC(struct line) lines;      /* of the current location … */
	uint64_t lines_hash;         /* … and the hash of their content, by the sink's ids */
	const struct otlp_function *outermost;
	VEC(uint32_t) frames;         /* of the current stacks */
	VEC(uint32_t) lines_of_frame; /* by frame: hash of its lines, 0 for none */
	struct otlp_key_memo key_memos[OTLP_KEY_MEMOS];
	uint64_t skipped, unnamed, n_frames;
};

void otlp_tables_init(struct otlp_tables *t, struct sink *sink, const void *file);
void otlp_tables_done(struct otlp_tables *t);

/* Records the entries of a dictionary at c. Returns false if there are too many; damage is
 * counted. */
bool otlp_tables_add(struct otlp_tables *t, struct cur c);

/* Compares the tables with those of t->known. Call after everything is loaded. */
void otlp_tables_compare(struct otlp_tables *t);

/* Call once, after everything is added. For stacks see otlp_load_stacks. */
void otlp_tables_load(struct otlp_tables *t);

/* Returns the sink's id. An index out of range counts as skipped and gives the empty string. */
uint32_t otlp_string(struct otlp_tables *t, uint64_t index);
struct cur otlp_text(const struct otlp_tables *t, uint64_t index);

/* Returns NULL if none exists. */
const struct otlp_function *otlp_function(struct otlp_tables *t, uint64_t index);

/* Returns an entry of the attribute table, or NULL. */
struct otlp_attr *otlp_attr_at(struct otlp_tables *t, uint64_t index);
/* Reads a KeyValue of a resource or scope. Returns false if it is damaged. */
bool otlp_attr_read(struct otlp_tables *t, struct cur c, struct otlp_attr *a);
/* Converts an attribute to a label. Returns false if its value cannot be a label's. */
bool otlp_attr_label(struct otlp_tables *t, struct otlp_attr *a, struct label *label);

/* Returns the sink's link, or 0 if none exists or the sink has no space. */
uint32_t otlp_link(struct otlp_tables *t, uint64_t index);

/* Whether a stack is already known because the message continues the earlier tables. */
static inline bool otlp_stack_is_known(const struct otlp_tables *t, uint64_t index)
{
	const struct otlp_known_stacks *k = t->known;
	return k && k->follows && index < k->n && k->id[index] != UINT32_MAX;
}

/* Returns the sink's stack, or UINT32_MAX if it or one of its locations is missing. */
static inline uint32_t otlp_stack(const struct otlp_tables *t, uint64_t index)
{
	const struct otlp_entries *e = &t->of[TABLE_STACK];
	if (index == 0 && e->ids.n == 0)
		return 0;
	if (otlp_stack_is_known(t, index))
		return 0;
	return index < e->ids.n ? e->ids.v[index] : UINT32_MAX;
}

/* --- otlp_frames.c ---
 *
 * Converts locations of an OTLP message to frames, and its stacks to those of the sink. */

enum { OTLP_STACK_USED = UINT32_MAX - 1 };

/* Marks a stack as used by a sample. The tables must be loaded. */
static inline void otlp_use_stack(struct otlp_tables *t, uint64_t index)
{
	struct otlp_entries *e = &t->of[TABLE_STACK];
	if (index < e->ids.n && !otlp_stack_is_known(t, index))
		e->ids.v[index] = OTLP_STACK_USED;
}

/* For a message without samples: its dictionary has updates of its own, names that arrived late. */
static inline void otlp_use_all_stacks(struct otlp_tables *t)
{
	for (size_t i = 0; i < t->of[TABLE_STACK].ids.n; i++)
		otlp_use_stack(t, i);
}

/* Passes the used stacks to the sink and fills of[TABLE_STACK].ids. */
void otlp_load_stacks(struct otlp_tables *t);

/* --- otlp_samples.c: the samples of an OTLP message, Profile by Profile --- */

struct cur;

/* Facts about the message, found before any sample is passed on. */
struct otlp_times {
	bool any; /* some sample has a time */
	uint64_t
		base_unix_ns; /* the earliest profile's time: start_mono_ns on the samples' clock */
	int64_t start_mono_ns;
};

struct otlp_samples;

struct otlp_samples *otlp_samples_new(struct otlp_tables *t, enum otlp_layout layout,
				      const struct otlp_times *times);
/* Adds to *given and *rejected. */
void otlp_samples_free(struct otlp_samples *s, uint64_t *given, uint64_t *rejected);

/* Sets the labels of all following profiles: a resource's, replacing the previous one's. */
void otlp_samples_set_resource(struct otlp_samples *s, const struct label *labels, uint32_t n);

/* Starts the Profiles of a ResourceProfiles message. Two of them may be views of the same samples,
 * their number and their CPU time: the second is left out, or each gets its own name. */
void otlp_samples_set_profiles(struct otlp_samples *s, struct cur resource);

/* Reads the samples of such a Profile. Returns 0; -ENODATA if it has samples but gave none;
 * -EBADMSG if there are too many samples. */
int otlp_samples_add(struct otlp_samples *s, struct cur profile);

#endif
