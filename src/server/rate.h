/* server/rate.h: how often each sender may ask: a bucket of tokens that fills up at a steady rate. Senders are IPv4 addresses, the first
 * 64 bits of IPv6 addresses, and users of this machine. There are RATE_SENDERS buckets; two senders that meet in one share it, so that a table cannot be filled. */
#ifndef CRESSET_SERVER_RATE_H
#define CRESSET_SERVER_RATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

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

/* Takes a token of rate_sender's bucket. False: there is none; *wait_s: in how many seconds there is one. */
bool rate_take(struct rate *r, uint64_t sender, uint64_t now_ns, uint32_t *wait_s);
/* user: of this machine, who is a sender each; -1: it is the address. */
uint64_t rate_sender(const struct sockaddr *address, int64_t user);

#endif
