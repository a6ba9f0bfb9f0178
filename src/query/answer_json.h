/* query/answer_json.h: writes results as JSON, for the command line and HTTP. All functions append
 * to b, with a newline at the end.
 *
 * A range is one object. Keys may be added, but never change:
 *
 *     format "cresset.range", version 1, type, unit, scale and scaled_unit (as in cresset.report)
 *     from_ns, step_ns, steps      Unix time; since the start for a file without a clock
 *     groups                       [{labels {name: value, …}, total, values [of each step]}],
 *                                  greatest total first
 *
 * A metric is also one object:
 *
 *     format "cresset.metric", version 1, metric, unit, reduce
 *     from_ns, step_ns, steps      Unix time
 *     groups                       [{labels {name: value, …}, values [of each step, null if
 *                                  there are none]}], by label
 *
 * Types are [{type, sample_type, unit, period_type, period_unit, aggregation "sum" | "snapshot" |
 * "gauge" | "counter", series (number)}]; unknown values are null. */
#ifndef CRESSET_QUERY_ANSWER_JSON_H
#define CRESSET_QUERY_ANSWER_JSON_H

#include "query/metrics.h"
#include "query/plan.h"

struct buf;
struct catalog_texts;
struct json;
struct profile;
struct query;
struct selector;

void range_json(const struct query *q, const struct query_range *r, struct buf *b);

void metric_json(const struct query *q, const struct query_metric *m, int reduction, struct buf *b);

/* Writes the member "labels" of a group: {by: name, …}. */
void labels_json(struct json *j, const char *const *by, const char *const *names, uint32_t n);

/* Writes the types that s selects; NULL: all. */
void types_json(const struct profile *catalog, const struct selector *s, struct buf *b);
void texts_json(const struct catalog_texts *t, struct buf *b);

/* Returns the number of series of a type. */
uint32_t catalog_series_of_type(const struct profile *p, uint32_t type);
/* Lists the series that s may select, as selectors. */
void catalog_series(const struct profile *p, const struct selector *s, struct catalog_texts *out);

#endif
