/* server/limits.h: limits that keep one client from using up the server: bytes held at one time,
 * and the request rate of each sender. Any thread may call. */
#ifndef CRESSET_SERVER_LIMITS_H
#define CRESSET_SERVER_LIMITS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* --- bytes that may be held at once, by all clients together ---
 *
 * A body reserves its bytes before it is read, and again before it is decompressed. */

struct budget {
	uint64_t limit_bytes;
	_Atomic uint64_t used_bytes;
};

/* Returns false if fewer bytes are left. */
static inline bool budget_take(struct budget *b, uint64_t bytes)
{
	uint64_t used = atomic_load(&b->used_bytes);
	do {
		if (bytes > b->limit_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak(&b->used_bytes, &used, used + bytes));
	return true;
}
static inline void budget_give(struct budget *b, uint64_t bytes)
{
	atomic_fetch_sub(&b->used_bytes, bytes);
}

/* --- how often each sender may ask --- */

/* A token bucket, which fills up at a steady rate. Senders are IPv4 addresses, the first 64 bits of
 * IPv6 addresses, and users of this machine. There are RATE_SENDERS buckets; senders that hash to
 * the same bucket share it, so the table cannot be filled. */
enum { RATE_SENDERS = 4096 };

struct rate {
	uint32_t per_s; /* 0: no limit */
	uint32_t burst;
	pthread_mutex_t lock;
	struct rate_bucket {
		uint64_t last_ns;
		double tokens;
	} * buckets;
};

void rate_init(struct rate *r, uint32_t per_s, uint32_t burst);
void rate_done(struct rate *r);

/* Takes a token from the bucket of rate_sender's result. Returns false if it is empty, with *wait_s
 * set to the seconds until there is a token. */
bool rate_take(struct rate *r, uint64_t sender, uint64_t now_ns, uint32_t *wait_s);
/* user: a user of this machine, each of which is a sender; -1: the address is. */
uint64_t rate_sender(const struct sockaddr *address, int64_t user);

#endif
