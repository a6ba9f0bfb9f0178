/* profile/profile.h: a profile in memory: all tables of the model together, and the sink that fills
 * them.
 *
 *     struct profile *p = profile_new();
 *     … some producer (profile_sink(p)) …
 *     tree_build(p, &opts, &tree, &err);                see profile/tree.h
 *     profile_free(p);
 *
 * One recording, one parsed file or the merge of several. Readers use the members directly; writers
 * go through the sink. */
#ifndef CRESSET_PROFILE_PROFILE_H
#define CRESSET_PROFILE_PROFILE_H

#include "profile/frame.h"
#include "profile/link.h"
#include "profile/names.h"
#include "profile/origins.h"
#include "profile/readings.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "profile/thread.h"

#include <stdint.h>

/* One sample per row, in columns. pid, tid and cpu are SAMPLE_NO_ID where unknown. */
struct sample_columns {
	int64_t *time_ns, *value;
	int64_t *length_ns; /* NULL while all are 0 */
	uint32_t *series, *stack, *pid, *tid, *cpu;
	uint32_t *link; /* NULL while all are 0 */
	size_t n, cap;
};

void sample_columns_done(struct sample_columns *c);

/* What is known about the recording as a whole. Strings are ids; 0 or "" = unknown. */
struct profile_meta {
	int64_t start_wall_ns; /* Unix time of the first moment */
	int64_t start_mono_ns; /* the same moment on the samples' clock */
	int64_t duration_ns;
	/* "db7", "6.1.0-13-amd64", "cresset record -a", "cpu-clock" */
	uint32_t host, kernel, command, clock;
	uint32_t cpus;
	uint32_t default_type; /* sample type shown first, 0 = the first one */
	/* pprof's, kept for the round trip. */
	uint32_t doc_url, drop_frames, keep_frames, default_column;
	uint64_t own_cpu_ns, own_peak_bytes; /* what recording cost */
	VEC(uint32_t) comments;              /* strings */
	/* Type ids in the order of the source's columns, if it had any. */
	VEC(uint32_t) sample_types;
	uint64_t loss[LOSS_REASONS];
};

struct shown_funcs;
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
	struct shown_funcs *shown; /* shown_funcs.h; NULL: nobody has asked for it */
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

/* Adds everything of src to dst. Frames, stacks and series fall together by identity (names and
 * labels by text); of two lists of names for one frame the one that says more stays. When both know
 * their wall clock, times of src move to dst's clock. Meta: earliest start, all of both durations,
 * summed losses, comments of both. Commutative up to the order of ids. */
void profile_merge(struct profile *dst, const struct profile *src);

/* The type to show when one is needed: by sample type ("samples", "alloc_space"), else by name
 * ("cpu"); with want = NULL the default type, else the first. UINT32_MAX when there is none. */
uint32_t profile_pick_type(const struct profile *p, const char *want);

/* Sum of all values of a type; of all losses that are samples. */
int64_t profile_total(const struct profile *p, uint32_t type);
uint64_t profile_lost_samples(const struct profile *p);

/* The lines of a frame as people read them, innermost first: from names, else the frame's own name,
 * else one line "module+0xoffset" ("[unknown]" where there is no module). At most max are written;
 * returns their number (at least 1). Text lives as long as the profile. */
struct shown_line {
	uint32_t name, file; /* strings */
	uint32_t line;
};
uint32_t profile_frame_lines(struct profile *p, uint32_t frame, struct shown_line *out,
			     uint32_t max);

/* Last part of a mapping's path as a string id; 0 for frames without one. */
uint32_t profile_frame_binary(struct profile *p, uint32_t frame);

#endif
