/* server/query_params.h: a query from a request's parameters: q (a selector), from, to, by (labels,
 * with commas), and the filters focus, ignore, hide, no_kernel, no_user. */
#ifndef CRESSET_SERVER_QUERY_PARAMS_H
#define CRESSET_SERVER_QUERY_PARAMS_H

#include "query/query.h"
#include "query/query_parse.h"

struct err;

struct query_params {
	struct request *r;
	struct source *source; /* leased */
	const struct profile *catalog;
	struct selector *selector;
	struct query_span span;
	struct query q;
};

/* Takes a lease only, for requests without a query. Call query_params_done in any case. Returns 0,
 * or -errno with err set. */
int query_params_source(struct query_params *a, struct request *r, struct err *err);
/* Parses the selector in a parameter; it stays NULL if the parameter is absent. */
int query_params_selector(struct query_params *a, const char *param, struct err *err);
/* Reads all of the query's parameters. */
int query_params_query(struct query_params *a, struct request *r, struct err *err);
/* Reads parts of the range; the query's range and type must be known. */
int query_params_within(struct query_params *a, const char *param, struct query *q,
			struct err *err);
/* Reads only the filters. */
int query_params_filters(struct query_params *a, struct err *err);
/* Limits of time and memory, and whether the client still waits. */
struct guard_limits query_params_limits(struct request *r);
void query_params_done(struct query_params *a);

#endif
