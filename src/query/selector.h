/* query/selector.h: selectors: a profile type and conditions on labels, in the syntax of Prometheus
 * (https://prometheus.io/docs/prometheus/latest/querying/basics/).
 *
 *     cpu{comm="redis-server",host=~"web.*"}              type name (or sample type)
 *     alloc:alloc_space                                   name:sample type
 *     process_cpu:cpu:nanoseconds:cpu:nanoseconds{}       …:unit:period type:period unit
 *     {comm!="bash","service.name"!~`a|b`}                any type; UTF-8 names in quotes
 *
 *     type      = part [ ":" part [ ":" part ":" part ":" part ] ]
 *     part      = letters, digits, _ - . / or a quoted string
 *     condition = label ( "=" | "!=" | "=~" | "!~" ) string
 *     string    = "…" or '…' with escapes, `…` without
 *
 * Regular expressions (base/pattern.h) match whole values. A missing label is "". Of a label with
 * several values any may match; != and !~ are the opposite of = and =~. `pid`, `tid`, `cpu` and
 * `trace_id` (32 hexadecimal digits) refer to the sample's own columns if the series has no such
 * label, and `stack_id` (32 digits as well) to its stack (profile/stack_id.h). `__name__` is the
 * type's name. A metric is a type as well (store/codec/metric_samples.h): cpu_busy{host="a"}, or
 * cpu_busy:gauge{} if another type has the same name. */
#ifndef CRESSET_QUERY_SELECTOR_H
#define CRESSET_QUERY_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

enum {
	SELECTOR_MAX_LEN = 16 * 1024, /* limit: bytes of a selector */
	SELECTOR_MAX_CONDITIONS = 64,
};

struct selector;

/* -EINVAL: the message has the column (from 1, in bytes), the hint the text there. */
int selector_parse(const char *text, struct selector **out, struct err *err);
void selector_free(struct selector *s); /* NULL is fine */

/* Returns the type as written; NULL: none, any type is selected. */
const char *selector_type_text(const struct selector *s);
bool selector_takes_type(const struct selector *s, const struct profile *p, uint32_t type);

/* Makes it select series of any type, by the same conditions, for callers that have chosen the
 * types. */
void selector_take_all_types(struct selector *s);

/* Returns the first label in it that no series has (and that is not a column), or NULL. For
 * messages that explain an empty result. */
const char *selector_unknown_label(const struct selector *s, const struct profile *p);

/* Matches labels that are not in a profile. get: returns the value of a label, or NULL; type: its
 * name. Impossible for a selector with conditions on columns, or with more than the name of a type:
 * selector_suits_labels returns false. */
typedef const char *selector_get_fn(void *ctx, const char *label);
bool selector_suits_labels(const struct selector *s);
bool selector_takes_labels(const struct selector *s, const char *type, selector_get_fn *get,
			   void *ctx);

/* A selector applied to the series of a profile, such as a catalog. Both stay the caller's and must
 * not change. */
struct selector_match;
struct selector_match *selector_match_new(const struct selector *s, const struct profile *p);
void selector_match_free(struct selector_match *m); /* NULL is fine */

enum selector_answer {
	SELECTS_NOTHING = 0,   /* no sample of the series */
	SELECTS_ALL = 1,       /* all samples of the series */
	SELECTS_BY_STACK = 2,  /* as selector_match_sample says: by the stack */
	SELECTS_BY_COLUMN = 4, /* the same: by pid, tid, cpu or trace */
	SELECTS_BY_BOTH = SELECTS_BY_STACK | SELECTS_BY_COLUMN,
};
enum selector_answer selector_match_series(const struct selector_match *m, uint32_t series);
struct selected_sample {
	uint32_t series, pid, tid, cpu;
	const struct trace_link *link; /* NULL: none */
	const struct profile *dict; /* of the stack, valid as long as the match; NULL: no stack */
	uint32_t stack;
};
bool selector_match_sample(struct selector_match *m, const struct selected_sample *s);

/* Removes the samples that it does not select. Returns the number left. */
size_t selector_apply(const struct selector *s, struct profile *p);

#endif
