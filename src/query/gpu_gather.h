/* query/gpu_gather.h: what questions about GPUs read beside the samples that somebody asked for: other types, and metrics, of the same hosts. Only files of query/ use it.
 *
 * What runs on GPUs is looked at whoever it is of: a selector chooses the hosts, by the series of its type. */
#ifndef CRESSET_QUERY_GPU_GATHER_H
#define CRESSET_QUERY_GPU_GATHER_H

#include "query/plan.h"

struct gpu_gather {
	const struct query *q;
	const struct profile *catalog;
	struct strtab hosts; /* of series that were selected; "" is a host, too */
	VEC(uint32_t) chosen;
	bool is_limited;       /* others do not count */
	struct selector *host; /* the only one there is; NULL: none, or several */
	struct guard guard;
	struct err *err;
};

/* q->type may be none (UINT32_MAX): all hosts. -ENODATA with words when no series is selected. g is to be done in any case. */
int gpu_gather_init(struct gpu_gather *g, const struct query *q, struct err *err);
void gpu_gather_done(struct gpu_gather *g);

/* The samples of q's range of one type, added to *p, which is made when it is NULL. */
int gpu_gather_type(struct gpu_gather *g, uint32_t type, const struct selector *selector,
		    struct profile **p);
/* Of all types of these names but q's own. */
int gpu_gather_types(struct gpu_gather *g, const char *const *names, size_t n, struct profile **p);

/* The value of a label of a set of a profile; "": there is none. And of a series of the catalog. */
const char *gpu_label_text(const struct profile *p, uint32_t set, const char *key);
const char *gpu_gather_label(const struct gpu_gather *g, uint32_t series, const char *key);
/* Whether a series is of the type, or metric, of this name, and of a host that counts. */
bool gpu_gather_is_of(const struct gpu_gather *g, uint32_t series, const char *name);
/* Whether it is a metric, too. */
bool gpu_gather_is_metric(const struct gpu_gather *g, uint32_t series, const char *name);
/* Appends its points, from so long before the range to so long behind it, without those that are no number. */
int gpu_gather_points(struct gpu_gather *g, uint32_t series, int64_t beyond_ns,
		      struct metric_points *to);

#endif
