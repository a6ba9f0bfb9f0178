/* query/catalog.h: lists what can be queried: labels, their values, series. */
#ifndef CRESSET_QUERY_CATALOG_H
#define CRESSET_QUERY_CATALOG_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct profile;
struct selector;
struct type;

/* Sorted texts without duplicates, in the memory of the catalog or the arena. */
struct catalog_texts {
	VEC(const char *) all;
	struct arena arena;
};
void catalog_texts_done(struct catalog_texts *t);

/* Lists labels, or values of a label, of the series that s may select; NULL: of all. out must be
 * zeroed or done. */
void catalog_labels(const struct profile *p, const struct selector *s, struct catalog_texts *out);
void catalog_values(const struct profile *p, const struct selector *s, const char *label,
		    struct catalog_texts *out);
/* Returns whether any series has the label. */
bool catalog_has_label(const struct profile *p, const char *label);

/* Appends a selector for the series: cpu:samples{comm="redis-server",host="db7"}. */
void catalog_series_text(const struct profile *p, uint32_t series, struct buf *b);

/* Returns "sum", "snapshot", "gauge" or "counter". */
const char *catalog_aggregation(const struct type *t);

#endif
