/* Byte budgets and request rates. */
#include "server/limits.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>

void rate_init(struct rate *r, uint32_t per_s, uint32_t burst)
{
	*r = (struct rate){ .per_s = per_s, .burst = burst > per_s ? burst : per_s };
	pthread_mutex_init(&r->lock, NULL);
	r->buckets = xcalloc(RATE_SENDERS, sizeof *r->buckets);
}

void rate_done(struct rate *r)
{
	if (!r->buckets)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r->buckets);
	*r = (struct rate){ 0 };
}

uint64_t rate_sender(const struct sockaddr *a, int64_t user)
{
	if (user >= 0)
		return hash_mix(1, (uint64_t)user);
	if (a && a->sa_family == AF_INET)
		return hash_bytes(&((const struct sockaddr_in *)a)->sin_addr, 4);
	if (a && a->sa_family == AF_INET6)
		return hash_bytes(&((const struct sockaddr_in6 *)a)->sin6_addr, 8);
	return 0;
}

bool rate_take(struct rate *r, uint64_t sender, uint64_t now_ns, uint32_t *wait_s)
{
	struct rate_bucket *b = &r->buckets[sender % RATE_SENDERS];
	if (!r->per_s)
		return true;
	pthread_mutex_lock(&r->lock);
	double seconds = now_ns > b->last_ns ? (now_ns - b->last_ns) / 1e9 : 0;
	b->tokens = b->last_ns ? fmin(r->burst, b->tokens + seconds * r->per_s) : r->burst;
	b->last_ns = now_ns;
	bool is_there = b->tokens >= 1;
	if (is_there)
		b->tokens -= 1;
	*wait_s = is_there ? 0 : ceil((1 - b->tokens) / r->per_s);
	pthread_mutex_unlock(&r->lock);
	return is_there;
}
