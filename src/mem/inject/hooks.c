/* The functions that take the place of malloc and its family. Each starts with the one comparison
 * that most calls need, and ends with a jump to the real function. */
#include "mem/inject/library.h"

#include <errno.h>

static struct {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real;

/* --- allocation ------------------------------------------------------------------------------- */

/* Whether this allocation needs no further look. */
static inline bool is_passed(size_t size)
{
	if (UNLIKELY(size >= mem_thread.left))
		return false;
	mem_thread.left -= size;
	return true;
}

static void *taken(void *p, size_t size, float weight, enum live_function by)
{
	if (p && weight > 0)
		table_add(p, size, weight, by);
	return p;
}

static __attribute__((noinline)) void *sampled_malloc(size_t size)
{
	float weight = sample_due(size);

	return taken(real.malloc(size), size, weight, LIVE_MALLOC);
}

static void *hook_malloc(size_t size)
{
	return LIKELY(is_passed(size)) ? real.malloc(size) : sampled_malloc(size);
}

static __attribute__((noinline)) void *sampled_calloc(size_t n, size_t size, size_t all)
{
	float weight = sample_due(all);

	return taken(real.calloc(n, size), all, weight, LIVE_CALLOC);
}

/* A product that does not fit is the real function's to refuse. */
static void *hook_calloc(size_t n, size_t size)
{
	size_t all;

	if (UNLIKELY(__builtin_mul_overflow(n, size, &all)) || LIKELY(is_passed(all)))
		return real.calloc(n, size);
	return sampled_calloc(n, size, all);
}

#define ALIGNED(name, by) \
	static __attribute__((noinline)) void *sampled_##name(size_t align, size_t size) \
	{ \
		float weight = sample_due(size); \
\
		return taken(real.name(align, size), size, weight, by); \
	} \
	static void *hook_##name(size_t align, size_t size) \
	{ \
		return LIKELY(is_passed(size)) ? real.name(align, size) \
					       : sampled_##name(align, size); \
	}
ALIGNED(memalign, LIVE_MEMALIGN)
ALIGNED(aligned_alloc, LIVE_ALIGNED_ALLOC)

#define PAGES(name, by) \
	static void *hook_##name(size_t size) \
	{ \
		float weight = is_passed(size) ? 0 : sample_due(size); \
\
		return taken(real.name(size), size, weight, by); \
	}
PAGES(valloc, LIVE_VALLOC)
PAGES(pvalloc, LIVE_PVALLOC)

static int hook_posix_memalign(void **out, size_t align, size_t size)
{
	float weight = is_passed(size) ? 0 : sample_due(size);
	int rc = real.posix_memalign(out, align, size);

	if (rc == 0)
		taken(*out, size, weight, LIVE_POSIX_MEMALIGN);
	return rc;
}

/* --- release ---------------------------------------------------------------------------------- */

/* Most addresses have no row. */
static inline bool may_have_row(const void *p)
{
	return UNLIKELY(mem_library.filter[live_filter_of((uintptr_t)p)]);
}

/* The row goes first: afterwards another thread may have the address. */
static __attribute__((noinline)) void sampled_free(void *p)
{
	table_remove(p, NULL);
	real.free(p);
}

static void hook_free(void *p)
{
	if (may_have_row(p))
		sampled_free(p);
	else
		real.free(p);
}

/* --- realloc ---------------------------------------------------------------------------------- */

/* A call that fails leaves the block and its row unchanged. */
static void *moved(void *p, void *to, size_t size, float weight, const struct live_row *was,
		   enum live_function by)
{
	if (to)
		return taken(to, size, weight, by);
	if (was && size)
		table_put_back(p, was);
	return NULL;
}

static __attribute__((noinline)) void *sampled_realloc(void *p, size_t size, enum live_function by)
{
	float weight = is_passed(size) ? 0 : sample_due(size);
	struct live_row was;
	bool had = p && may_have_row(p) && table_remove(p, &was);

	return moved(p, real.realloc(p, size), size, weight, had ? &was : NULL, by);
}

static void *hook_realloc(void *p, size_t size)
{
	if (UNLIKELY(size >= mem_thread.left) || may_have_row(p))
		return sampled_realloc(p, size, LIVE_REALLOC);
	mem_thread.left -= size;
	return real.realloc(p, size);
}

/* That of the C library calls realloc by a slot: it would be seen twice. */
static void *hook_reallocarray(void *p, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all))
		return real.reallocarray(p, n, size);
	return sampled_realloc(p, all, LIVE_REALLOCARRAY);
}

/* --- operators of C++ ------------------------------------------------------------------------- */

/* By their mangled names. Only an allocator's own: the C++ library's call malloc. */
#define NEW(symbol, by) \
	static void *(*real##symbol)(size_t); \
	static void *hook##symbol(size_t size) \
	{ \
		float weight = LIKELY(is_passed(size)) ? 0 : sample_due(size); \
\
		return taken(real##symbol(size), size, weight, by); \
	}
/* A second argument: an alignment, or std::nothrow. */
#define NEW_2(symbol, by) \
	static void *(*real##symbol)(size_t, uintptr_t); \
	static void *hook##symbol(size_t size, uintptr_t with) \
	{ \
		float weight = LIKELY(is_passed(size)) ? 0 : sample_due(size); \
\
		return taken(real##symbol(size, with), size, weight, by); \
	}
#define NEW_3(symbol, by) \
	static void *(*real##symbol)(size_t, uintptr_t, uintptr_t); \
	static void *hook##symbol(size_t size, uintptr_t with, uintptr_t and) \
	{ \
		float weight = LIKELY(is_passed(size)) ? 0 : sample_due(size); \
\
		return taken(real##symbol(size, with, and), size, weight, by); \
	}
/* Further arguments are passed on, whether there are any or not. */
#define DELETE(symbol) \
	static void (*real##symbol)(void *, uintptr_t, uintptr_t); \
	static void hook##symbol(void *p, uintptr_t with, uintptr_t and) \
	{ \
		if (may_have_row(p)) \
			table_remove(p, NULL); \
		real##symbol(p, with, and); \
	}

NEW(_Znwm, LIVE_NEW)
NEW(_Znam, LIVE_NEW_ARRAY)
NEW_2(_ZnwmRKSt9nothrow_t, LIVE_NEW)
NEW_2(_ZnamRKSt9nothrow_t, LIVE_NEW_ARRAY)
NEW_2(_ZnwmSt11align_val_t, LIVE_NEW)
NEW_2(_ZnamSt11align_val_t, LIVE_NEW_ARRAY)
NEW_3(_ZnwmSt11align_val_tRKSt9nothrow_t, LIVE_NEW)
NEW_3(_ZnamSt11align_val_tRKSt9nothrow_t, LIVE_NEW_ARRAY)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)

/* --- the table -------------------------------------------------------------------------------- */

#define FUNCTION(name) \
	{ \
#name, (void *)hook_##name, (void **)&real.name, false \
	}
#define OPERATOR(name) \
	{ \
#name, (void *)hook##name, (void **)&real##name, true \
	}
const struct mem_function mem_functions[] = {
	FUNCTION(malloc),
	FUNCTION(free),
	FUNCTION(calloc),
	FUNCTION(realloc),
	FUNCTION(reallocarray),
	FUNCTION(memalign),
	FUNCTION(aligned_alloc),
	FUNCTION(posix_memalign),
	FUNCTION(valloc),
	FUNCTION(pvalloc),
	OPERATOR(_Znwm),
	OPERATOR(_Znam),
	OPERATOR(_ZnwmRKSt9nothrow_t),
	OPERATOR(_ZnamRKSt9nothrow_t),
	OPERATOR(_ZnwmSt11align_val_t),
	OPERATOR(_ZnamSt11align_val_t),
	OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t),
	OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t),
	OPERATOR(_ZdlPv),
	OPERATOR(_ZdaPv),
	OPERATOR(_ZdlPvm),
	OPERATOR(_ZdaPvm),
	OPERATOR(_ZdlPvRKSt9nothrow_t),
	OPERATOR(_ZdaPvRKSt9nothrow_t),
	OPERATOR(_ZdlPvSt11align_val_t),
	OPERATOR(_ZdaPvSt11align_val_t),
	OPERATOR(_ZdlPvmSt11align_val_t),
	OPERATOR(_ZdaPvmSt11align_val_t),
};
const size_t mem_functions_n = sizeof mem_functions / sizeof *mem_functions;
