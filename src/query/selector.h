/* query/selector.h: which samples somebody asks for: a profile type and conditions on labels, as
 * Prometheus writes them (https://prometheus.io/docs/prometheus/latest/querying/basics/).
 *
 *     cpu{comm="redis-server",host=~"web.*"}              type name (or sample type)
 *     alloc:alloc_space                                   name:sample type
 *     process_cpu:cpu:nanoseconds:cpu:nanoseconds{}       …:unit:period type:period unit
 *     {comm!="bash","service.name"!~`a|b`}                any type; UTF-8 names in quotes
 *
 *     type      = part [ ":" part [ ":" part ":" part ":" part ] ]       part: letters, digits, _ - . / or quoted
 *     condition = label ( "=" | "!=" | "=~" | "!~" ) string              "…" '…' with escapes, `…` without
 *
 * Regular expressions (base/pattern.h) match whole values. A label that is not there is "". Of a label
 * with several values any may match; != and !~ are the opposite of = and =~. `pid`, `tid`, `cpu` and
 * `trace_id` (32 hexadecimal digits) look at the sample's own columns where the series has no such label, and `stack_id` (as many) at what
 * its stack is (profile/stack_id.h). `__name__` is the
 * type's name. A metric is a type, too (store/metric_samples.h): cpu_busy{host="a"}, or cpu_busy:gauge{} where another type has
 * that name. */
#ifndef CRESSET_QUERY_SELECTOR_H
#define CRESSET_QUERY_SELECTOR_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SELECTOR_MAX_LEN = 16 * 1024,
	SELECTOR_MAX_CONDITIONS = 64,
};

struct selector;

/* -EINVAL with words that name the column (from 1, in bytes) and the text there in the hint. */
int selector_parse(const char *text, struct selector **out, struct err *err);
void selector_free(struct selector *s); /* NULL is fine */

/* The type as it was written; NULL: it names none and takes all. */
const char *selector_type_text(const struct selector *s);
bool selector_takes_type(const struct selector *s, const struct profile *p, uint32_t type);

/* From now on it takes series of any type, by the same conditions: for who has chosen the types. */
void selector_take_all_types(struct selector *s);

/* The first label it names that no series has (and that is no column), NULL when there is none: for
 * people who wonder why nothing is left. */
const char *selector_unknown_label(const struct selector *s, const struct profile *p);

/* The same question of labels that are no profile's yet. get: the value of a label, NULL where there is none; type: its name. A selector with
 * conditions on columns, or with more than the name of a type, cannot be answered: selector_suits_labels says so. */
typedef const char *selector_get_fn(void *ctx, const char *label);
bool selector_suits_labels(const struct selector *s);
bool selector_takes_labels(const struct selector *s, const char *type, selector_get_fn *get,
			   void *ctx);

/* A selector and the series of a profile, a catalog's, say. Both stay the caller's and must not change. */
struct selector_match;
struct selector_match *selector_match_new(const struct selector *s, const struct profile *p);
void selector_match_free(struct selector_match *m); /* NULL is fine */

enum selector_answer {
	SELECTS_NOTHING = 0,   /* of this series */
	SELECTS_ALL = 1,       /* its samples */
	SELECTS_BY_STACK = 2,  /* those that selector_match_sample takes: the stack decides */
	SELECTS_BY_COLUMN = 4, /* likewise: pid, tid, cpu or trace decide */
	SELECTS_BY_BOTH = SELECTS_BY_STACK | SELECTS_BY_COLUMN,
};
enum selector_answer selector_match_series(const struct selector_match *m, uint32_t series);
struct selected_sample {
	uint32_t series, pid, tid, cpu;
	const struct trace_link *link; /* NULL: none */
	const struct profile
		*dict; /* of the stack, there as long as the match; NULL: there is no stack */
	uint32_t stack;
};
bool selector_match_sample(struct selector_match *m, const struct selected_sample *s);

/* Takes the samples away that it does not select. Returns how many are left. */
size_t selector_apply(const struct selector *s, struct profile *p);

#endif
