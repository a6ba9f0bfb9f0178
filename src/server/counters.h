/* server/counters.h: what happened so far, for /metrics and /api/v1/status. Any thread may add. */
#ifndef CRESSET_SERVER_COUNTERS_H
#define CRESSET_SERVER_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	COUNTER_ROUTES = 32,  /* the last: of no route */
	COUNTER_BUCKETS = 13, /* of times: 5 ms and twice as much each; the last: longer */
	COUNTER_CLASSES = 6,  /* of statuses: 1xx … 5xx by their first digit */
};
enum refusal {
	REFUSED_CONNECTIONS, /* too many */
	REFUSED_RATE,        /* too many requests of a sender */
	REFUSED_BUSY,        /* too many queries */
	REFUSED_BODIES,      /* no budget for a body */
	REFUSED_SIZE,        /* a body that is too large, as it came or unpacked */
	REFUSED_FRAMING,     /* two lengths, or a length and a transfer encoding */
	REFUSED_USER,        /* without tokens: of a user who may not ask */
	REFUSALS
};
extern const char *const refusal_names[REFUSALS];

struct counters {
	struct {
		_Atomic uint64_t answers[COUNTER_CLASSES];
		_Atomic uint64_t time_ns, bytes;
	} routes[COUNTER_ROUTES];
	struct {
		_Atomic uint64_t buckets[COUNTER_BUCKETS], time_ns;
	} queries;
	_Atomic uint64_t refused[REFUSALS];
	_Atomic uint64_t connections, body_bytes;
};

/* What is at most so long is in bucket i, or one before. */
static inline uint64_t counter_bucket_ns(int i)
{
	return UINT64_C(5000000) << i;
}

static inline void counter_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

#endif
