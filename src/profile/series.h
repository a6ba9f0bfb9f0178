/* profile/series.h: types, labels, and series = {type, period, labels}.
 *
 * Series are selected and grouped by labels: host, comm, process, container_id …; pid, tid and
 * cpu change too often and are columns of the samples. Values of a series are in its type's unit;
 * a count of samples times the period is in the period's unit. */
#ifndef CRESSET_PROFILE_SERIES_H
#define CRESSET_PROFILE_SERIES_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* The last two are metrics: numbers over time, without stacks or samples. A store has them. In a
 * recording they are readings (readings.h), which become such series for queries. */
enum aggregation { AGG_SUM = 0, AGG_SNAPSHOT = 1, AGG_GAUGE = 2, AGG_COUNTER = 3 };

/* Values of the label "age" of memory in use: younger than that; the last one: all other memory. */
#define AGE_LABEL "age"
enum age { AGE_1M, AGE_10M, AGE_1H, AGE_OLDER, AGES };
extern const char *const age_words[AGES + 1]; /* NULL-terminated */

/* All strings are ids of the profile's strtab. A CPU profile: {cpu, samples, count, cpu,
 * nanoseconds}. The sample types of one pprof file are types that share a name. */
struct type {
	uint32_t name;
	uint32_t sample_type, unit;        /* what is counted: samples/count, alloc_space/bytes */
	uint32_t period_type, period_unit; /* unit of a period: cpu/nanoseconds; 0 = no period */
	uint8_t aggregation;               /* enum aggregation */
};
static inline bool type_is_metric(const struct type *t)
{
	return t->aggregation >= AGG_GAUGE;
}

struct label {
	uint32_t key;
	uint32_t str; /* string value, when is_num is 0 */
	int64_t num;
	uint32_t unit; /* of num */
	uint32_t is_num;
};
struct series {
	uint32_t type;
	int64_t period;  /* in the type's period unit, 0 = none */
	uint32_t labels; /* id of a label set: equal sets have equal ids; 0 = no labels */
};
struct label_set {
	uint32_t first, n; /* in labels[], sorted by key, then value */
};

struct series_table { /* zeroed = empty; label set 0 is added by the first call */
	VEC(struct type) types;
	VEC(struct label) labels;
	VEC(struct label_set) sets;
	VEC(struct series) series;
	struct map type_index, set_index, series_index;
};

void series_table_done(struct series_table *t);
uint32_t type_intern(struct series_table *t, const struct type *type);
/* labels may be in any order; the copy is sorted, without exact duplicates. A key may have several
 * values (pprof allows it). */
uint32_t label_set_intern(struct series_table *t, const struct label *labels, uint32_t n);
uint32_t series_intern(struct series_table *t, const struct series *s);

/* Return the id of an existing entry, or UINT32_MAX. t is unchanged afterwards. */
uint32_t label_set_find(struct series_table *t, const struct label *labels, uint32_t n);
uint32_t series_find(const struct series_table *t, const struct series *s);

/* Returns a placeholder for an unused row, so that later series keep their ids. It has no labels, a
 * period that no series has, and some valid type. */
struct series series_free_place(uint32_t id, uint32_t type);
bool series_is_free(const struct series_table *t, uint32_t id);
uint32_t series_count(const struct series_table *t); /* without unused rows */
/* Puts s into an unused row; t must not have s yet. */
void series_take_place(struct series_table *t, uint32_t id, const struct series *s);

/* Returns the first label with this key in a set, or NULL. Valid until the next change. */
const struct label *label_find(const struct series_table *t, uint32_t set, uint32_t key);

#endif
