/* agent/verdict.h: what a server's answer means for a batch.
 *
 *     2xx                 it is there
 *     412, 400            of one that was packed against another: the server cannot unpack it; whole, now
 *     415, 400            of zstd that this server never took: gzip, now
 *     413                 in two halves
 *     409                 the server misses too many numbers before this one (they were dropped): all begins anew, with another UUID
 *     400, 411, 414, 422, 431 …   nobody wants this one: it goes, and is counted
 *     500, 501, 505       a server that breaks on it: after some times it goes, too
 *     all others          it waits: no connection, a token that is not known, a wrong address, too much at once */
#ifndef CRESSET_AGENT_VERDICT_H
#define CRESSET_AGENT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict {
	VERDICT_SENT,
	VERDICT_WHOLE,
	VERDICT_GZIP,
	VERDICT_HALVE,
	VERDICT_ANEW,
	VERDICT_REFUSE,
	VERDICT_WAIT,
};
enum { VERDICT_MAX_BREAKS = 8 };

struct attempt {
	long status;     /* 0: there was no answer */
	bool is_delta;   /* as it was sent */
	bool is_zstd;    /* else gzip */
	bool zstd_works; /* this server took it before */
	bool is_first;   /* its number is 1 */
	uint32_t breaks; /* how often the server broke on it before */
};

enum verdict verdict_of(const struct attempt *a);

/* How long to wait after so many failures in a row, the first is 1; random: any number. It doubles from 1 s to 60 s, less up to a half of it
 * at random. A server that says Retry-After waits for that, and up to a tenth more. */
uint64_t backoff_ns(uint32_t failures, uint64_t retry_after_s, uint64_t random);

#endif
