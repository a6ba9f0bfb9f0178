/* server/budget.h: bytes that may be held at once, by all who ask together. Any thread may call. */
#ifndef CRESSET_SERVER_BUDGET_H
#define CRESSET_SERVER_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t limit_bytes;
	_Atomic uint64_t used_bytes;
};

/* False: there is not so much left. */
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

#endif
