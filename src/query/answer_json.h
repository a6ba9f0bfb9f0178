/* query/answer_json.h: answers as JSON, for the command line and HTTP alike. All append to b, with a newline at the end.
 *
 * A range is one object; keys are only ever added:
 *
 *     format "cresset.range", version 1, type, unit, scale and scaled_unit (as in cresset.report)
 *     from_ns, step_ns, steps      Unix time; of a file that knows no clock since its start
 *     groups                       [{labels {name: value, …}, total, values [of each step]}], greatest total first
 *
 * A metric is one object, too:
 *
 *     format "cresset.metric", version 1, metric, unit, reduce
 *     from_ns, step_ns, steps      Unix time
 *     groups                       [{labels {name: value, …}, values [of each step, null where there is nothing]}], by label
 *
 * Types are [{type, sample_type, unit, period_type, period_unit, aggregation "sum" | "snapshot" | "gauge" | "counter", series (how many)}]; what is not known
 * is null. */
#ifndef CRESSET_QUERY_ANSWER_JSON_H
#define CRESSET_QUERY_ANSWER_JSON_H

#include "base/json.h"
#include "query/catalog.h"
#include "query/metrics.h"
#include "query/plan.h"

void range_json(const struct query *q, const struct query_range *r, struct buf *b);

void metric_json(const struct query *q, const struct query_metric *m, int reduction, struct buf *b);

/* A member "labels" of a group: {by: name, …}. */
void labels_json(struct json *j, const char *const *by, const char *const *names, uint32_t n);

/* Those that s takes; NULL: all. */
void types_json(const struct profile *catalog, const struct selector *s, struct buf *b);
void texts_json(const struct catalog_texts *t, struct buf *b);

/* How many series a type has. */
uint32_t catalog_series_of_type(const struct profile *p, uint32_t type);
/* The series that s may select, as selectors. */
void catalog_series(const struct profile *p, const struct selector *s, struct catalog_texts *out);

#endif
