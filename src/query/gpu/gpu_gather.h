/* query/gpu/gpu_gather.h: reads further data for queries about GPUs: other types, and metrics, of
 * the same hosts. Only files of query/ use it.
 *
 * Work on GPUs counts for any process: a selector only selects the hosts, by the series of its
 * type. */
#ifndef CRESSET_QUERY_GPU_GPU_GATHER_H
#define CRESSET_QUERY_GPU_GPU_GATHER_H

#include "base/vec.h"
#include "profile/strtab.h"
#include "query/guard.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct metric_points;

struct gpu_gather {
	const struct query *q;
	const struct profile *catalog;
	struct strtab hosts; /* of the selected series; "" is a host, too */
	VEC(uint32_t) chosen;
	bool is_limited;       /* other hosts do not count */
	struct selector *host; /* the only one; NULL: none, or several */
	struct guard guard;
	struct err *err;
};

/* q->type may be none (UINT32_MAX): series of any type select hosts. -ENODATA: no series is
 * selected. gpu_gather_done has to be called in any case. */
int gpu_gather_init(struct gpu_gather *g, const struct query *q, struct err *err);
void gpu_gather_done(struct gpu_gather *g);

/* Sets selected[type] of each type with a series that is selected, by its labels at least. */
void gpu_gather_selected_types(const struct profile *catalog, const struct selector *selector,
			       bool *selected);

/* Adds the samples of one type in q's range to *p, which is created if NULL. */
int gpu_gather_type(struct gpu_gather *g, uint32_t type, const struct selector *selector,
		    struct profile **p);
/* The same for all types of these names except q's own. */
int gpu_gather_types(struct gpu_gather *g, const char *const *names, size_t n, struct profile **p);

/* Return the value of a label of a profile's label set, or of a series of the catalog; "": none. */
const char *gpu_label_text(const struct profile *p, uint32_t set, const char *key);
const char *gpu_gather_label(const struct gpu_gather *g, uint32_t series, const char *key);
/* Returns whether a series is of the type or metric of this name, and of a host that counts. */
bool gpu_gather_is_of(const struct gpu_gather *g, uint32_t series, const char *name);
/* The same, for metrics only. */
bool gpu_gather_is_metric(const struct gpu_gather *g, uint32_t series, const char *name);
/* Appends its points, from beyond_ns before the range to beyond_ns after it, without NaN. */
int gpu_gather_points(struct gpu_gather *g, uint32_t series, int64_t beyond_ns,
		      struct metric_points *to);

#endif
