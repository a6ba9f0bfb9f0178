/* query/catalog.h: what there is to ask for: labels, their values, series. */
#ifndef CRESSET_QUERY_CATALOG_H
#define CRESSET_QUERY_CATALOG_H

#include "base/arena.h"
#include "base/buf.h"
#include "profile/profile.h"
#include "query/selector.h"

/* Texts, sorted, each once; they live in the catalog or in the arena. */
struct catalog_texts {
	VEC(const char *) all;
	struct arena arena;
};
void catalog_texts_done(struct catalog_texts *t);

/* Of the series that s may select; NULL: of all. out must be zeroed or done. */
void catalog_labels(const struct profile *p, const struct selector *s, struct catalog_texts *out);
void catalog_values(const struct profile *p, const struct selector *s, const char *label,
		    struct catalog_texts *out);
/* Whether any series has such a label. */
bool catalog_has_label(const struct profile *p, const char *label);

/* A series as a selector that selects it: cpu:samples{comm="redis-server",host="db7"}. */
void catalog_series_text(const struct profile *p, uint32_t series, struct buf *b);

/* sum, snapshot, gauge or counter. */
const char *catalog_aggregation(const struct type *t);

#endif
