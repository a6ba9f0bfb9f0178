#include "agent/verdict.h"

#define SECOND_NS         1000000000ull
#define BACKOFF_MAX_NS    (60 * SECOND_NS)
#define RETRY_AFTER_MAX_S 600

static bool is_ours_to_wait(long status)
{
	switch (status) {
	case 401: /* a token can be renewed, an address be put right */
	case 403:
	case 404:
	case 405:
	case 407:
	case 408:
	case 421:
	case 425:
	case 429:
		return true;
	}
	return false;
}

static bool is_broken(long status)
{
	return status == 500 || status == 501 || status == 505;
}

enum verdict verdict_of(const struct attempt *a)
{
	if (a->status >= 200 && a->status < 300)
		return VERDICT_SENT;
	if (a->is_delta && (a->status == 412 || a->status == 400))
		return VERDICT_WHOLE;
	if (a->is_zstd && (a->status == 415 || (a->status == 400 && !a->zstd_works)))
		return VERDICT_GZIP;
	if (a->status == 413)
		return VERDICT_HALVE;
	if (a->status == 409 && !a->is_first)
		return VERDICT_ANEW;
	if (is_broken(a->status))
		return a->breaks < VERDICT_MAX_BREAKS ? VERDICT_WAIT : VERDICT_REFUSE;
	if (a->status < 400 || a->status >= 500 || is_ours_to_wait(a->status))
		return VERDICT_WAIT;
	return VERDICT_REFUSE;
}

uint64_t backoff_ns(uint32_t failures, uint64_t retry_after_s, uint64_t random)
{
	uint32_t doublings = failures > 7 ? 6 : failures ? failures - 1 : 0;
	uint64_t wait_ns = SECOND_NS << doublings;

	if (retry_after_s) {
		wait_ns = (retry_after_s < RETRY_AFTER_MAX_S ? retry_after_s : RETRY_AFTER_MAX_S) *
			  SECOND_NS;
		return wait_ns + random % (wait_ns / 10);
	}
	if (wait_ns > BACKOFF_MAX_NS)
		wait_ns = BACKOFF_MAX_NS;
	return wait_ns - random % (wait_ns / 2);
}
