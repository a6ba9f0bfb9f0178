/* profile/profile.h: a profile in memory: all tables of the data model, and the sink that fills
 * them.
 *
 *     struct profile *p = profile_new();
 *     … some producer (profile_sink(p)) …
 *     tree_build(p, &opts, &tree, &err);                see profile/tree/tree.h
 *     profile_free(p);
 *
 * A profile is a recording, a parsed file or a merge of several. Readers use the members directly;
 * writers use the sink. */
#ifndef CRESSET_PROFILE_PROFILE_H
#define CRESSET_PROFILE_PROFILE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/link.h"
#include "profile/names.h"
#include "profile/readings.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "profile/thread.h"

#include <stdint.h>

/* One sample per row, in columns. pid, tid and cpu are SAMPLE_NO_ID if unknown. */
struct sample_columns {
	int64_t *time_ns, *value;
	int64_t *length_ns; /* NULL while all are 0 */
	uint32_t *series, *stack, *pid, *tid, *cpu;
	uint32_t *link; /* NULL while all are 0 */
	size_t n, cap;
};

void sample_columns_done(struct sample_columns *c);

/* Returns n rows of all, from first on, as columns in the same memory; all stays the owner. */
static inline struct sample_columns sample_rows(const struct sample_columns *all, size_t first,
						size_t n)
{
	return (struct sample_columns){
		.time_ns = all->time_ns + first,
		.value = all->value + first,
		.length_ns = all->length_ns ? all->length_ns + first : NULL,
		.series = all->series + first,
		.stack = all->stack + first,
		.pid = all->pid + first,
		.tid = all->tid + first,
		.cpu = all->cpu + first,
		.link = all->link ? all->link + first : NULL,
		.n = n,
		.cap = n,
	};
}

/* The source of the names of a mapping's frames: ".symtab", "debug file", ".dynsym" …
 * (symbol/symbol.h), each with the number of frames it named; string 0 stands for unsymbolized
 * frames. Only mappings that this program symbolized have origins. They count distinct frames, not
 * samples; a merged profile has the sums. */
struct origin {
	uint32_t mapping;
	uint32_t name; /* string; 0: no name was found */
	uint64_t frames;
};
struct origin_table { /* zeroed = empty */
	VEC(struct origin) all;
	struct map index;
};

void origin_add(struct origin_table *t, uint32_t mapping, uint32_t name, uint64_t frames);

/* Derived data that other modules store with a profile. */
struct profile_cache {
	void (*free)(struct profile_cache *c);
	uint64_t (*bytes)(const struct profile_cache *c);
};
struct profile {
	struct sink sink;
	struct strtab strings;
	struct frame_table frames;
	struct names names;
	struct origin_table origins;
	struct stack_table stacks;
	struct series_table series;
	struct sample_columns samples;
	struct thread_table threads;
	struct link_table links;
	struct readings readings;
	struct profile_meta meta;
	struct profile_cache *shown; /* tree/shown_funcs.h; NULL: not needed yet */
};

static inline int64_t sample_length_ns(const struct sample_columns *c, size_t row)
{
	return c->length_ns ? c->length_ns[row] : 0;
}

static inline uint32_t sample_link(const struct sample_columns *c, size_t row)
{
	return c->link ? c->link[row] : 0;
}

struct profile *profile_new(void);
void profile_free(struct profile *p);

static inline struct sink *profile_sink(struct profile *p)
{
	return &p->sink;
}
static inline const char *profile_str(const struct profile *p, uint32_t id)
{
	return strtab_get(&p->strings, id);
}

/* Adds everything in src to dst. Frames, stacks and series are merged by identity (names and labels
 * by text); of two lists of names for a frame the more detailed one is retained. If both know their
 * wall clock, times of src are converted to dst's clock. Meta: earliest start, both durations,
 * summed losses, comments of both. Commutative up to the order of ids. */
void profile_merge(struct profile *dst, const struct profile *src);

/* Does the same for files that may be of other programs: if both have a name for the function at an
 * address, but not the same, the frame of src stays separate, in a file without a build id. A frame
 * that only one side has a name for gets it in both. */
void profile_merge_file(struct profile *dst, const struct profile *src);

/* A file without any name may be a copy of each file with its build id, so which one it is can be
 * decided only when all files are merged. Call the first for each profile before they are merged by
 * profile_merge_file, and the second at the end: it returns p, or frees it and returns another one
 * in its place. */
void profile_part_nameless(struct profile *p);
struct profile *profile_join_nameless(struct profile *p);

/* Picks the type to show: by sample type ("samples", "alloc_space"), else by name ("cpu"); with
 * want = NULL the default type, else the first. Returns UINT32_MAX if none exists. */
uint32_t profile_pick_type(const struct profile *p, const char *want);
/* Whether a sample type counts samples of what its type or another column says. */
bool profile_counts_samples(const char *sample_type);
/* Returns the name to show for a type: its own, or its sample type if it shares the name with other
 * columns of a file ("space", the period's type of four columns). Valid until the next string. */
const char *profile_type_name(const struct profile *p, uint32_t type);

/* Return the sum of all values of a type, and of all losses that are samples. */
int64_t profile_total(const struct profile *p, uint32_t type);
uint64_t profile_lost_samples(const struct profile *p);

/* Writes the lines of a frame for display, innermost first: from names, else the frame's own name,
 * else one line "module+0xoffset" ("[unknown]" without a module). Writes at most max; returns
 * their number (at least 1). Text lives as long as the profile. */
struct shown_line {
	uint32_t name, file; /* strings */
	uint32_t line;
};
uint32_t profile_frame_lines(struct profile *p, uint32_t frame, struct shown_line *out,
			     uint32_t max);

/* Returns the last component of a mapping's path as a string id; 0 for frames without one. */
uint32_t profile_frame_binary(struct profile *p, uint32_t frame);

#endif
