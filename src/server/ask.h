/* server/ask.h: a request's parameters as a question: q (a selector), from, to, by (labels, with commas), and the filters focus, ignore,
 * hide, no_kernel, no_user. */
#ifndef CRESSET_SERVER_ASK_H
#define CRESSET_SERVER_ASK_H

#include "query/ask.h"
#include "server/request.h"

struct ask {
	struct request *r;
	struct source *source; /* leased */
	const struct profile *catalog;
	struct selector *selector;
	struct query_span span;
	struct query q;
};

/* A lease alone, for what asks no query. In any case to be done. 0, or -errno with words. */
int ask_source(struct ask *a, struct request *r, struct err *err);
/* And the selector of a parameter; when it was not given it stays NULL. */
int ask_selector(struct ask *a, const char *param, struct err *err);
/* All of it. */
int ask_query(struct ask *a, struct request *r, struct err *err);
/* Parts of the range, of a query whose range and type are known. */
int ask_within(struct ask *a, const char *param, struct query *q, struct err *err);
/* The filters alone. */
int ask_filters(struct ask *a, struct err *err);
/* Time, memory, and whether somebody still waits. */
struct guard_limits ask_limits(struct request *r);
void ask_done(struct ask *a);

#endif
