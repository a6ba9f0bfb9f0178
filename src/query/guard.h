/* query/guard.h: what one question may cost. All limits are said in words when they are met; 0 is no limit. */
#ifndef CRESSET_QUERY_GUARD_H
#define CRESSET_QUERY_GUARD_H

#include "base/err.h"
#include "query/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_limits {
	uint64_t time_ns;
	uint64_t
		memory_bytes; /* of the answer and of what it is made from, above the source's own */
	uint64_t rows;        /* of the answer: groups, cells of a range, samples */
	bool (*stop)(
		void *ctx); /* true: nobody waits for the answer any more; NULL: somebody does */
	void *ctx;
};
struct guard {
	const struct guard_limits *limits;
	uint64_t start_ns; /* monotonic */
};

/* From here on the time runs. The source asks the guard until guard_end. */
void guard_begin(struct guard *g, const struct guard_limits *limits, struct source *s);
void guard_end(struct guard *g, struct source *s);

/* 0, or -ECANCELED, -ETIME, -ENOMEM, -E2BIG with words. */
int guard_check(const struct guard *g, struct err *err);
int guard_memory(const struct guard *g, uint64_t bytes, struct err *err);
int guard_rows(const struct guard *g, uint64_t rows, struct err *err);

#endif
