/* query/guard.h: limits the cost of a query. Errors name the limit that was exceeded; 0 is no
 * limit. */
#ifndef CRESSET_QUERY_GUARD_H
#define CRESSET_QUERY_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

struct guard_limits {
	uint64_t time_ns;
	/* for the response and its intermediate data, without the source's own memory */
	uint64_t memory_bytes;
	uint64_t rows;           /* of the response: groups, cells of a range, samples */
	bool (*stop)(void *ctx); /* returns true if the caller no longer waits; may be NULL */
	void *ctx;
};
struct guard {
	const struct guard_limits *limits;
	uint64_t start_ns; /* monotonic */
};

/* Starts the time limit. The source checks the guard until guard_end. */
void guard_begin(struct guard *g, const struct guard_limits *limits, struct source *s);
void guard_end(struct guard *g, struct source *s);

/* Return 0 or -ECANCELED, -ETIME, -ENOMEM, -E2BIG. */
int guard_check(const struct guard *g, struct err *err);
int guard_memory(const struct guard *g, uint64_t bytes, struct err *err);
int guard_rows(const struct guard *g, uint64_t rows, struct err *err);

#endif
