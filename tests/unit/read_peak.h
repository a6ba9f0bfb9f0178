/* tests/unit/read_peak.h: the memory that reading a file takes, compared with the file's size. */
#ifndef CRESSET_TESTS_READ_PEAK_H
#define CRESSET_TESTS_READ_PEAK_H

#include "base/err.h"
#include "read_text.h"

#include <sys/resource.h>

enum { READ_PEAK_TIMES = 8 };

static inline size_t read_peak_now(void)
{
	struct rusage use;
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &use), 0);
	return (size_t)use.ru_maxrss * 1024;
}

/* Checks that reading takes at most READ_PEAK_TIMES the size of the data, profile included. The peak of a
 * process never falls, so a test calls it once. Sanitizers add memory. */
static inline struct profile *check_peak(const struct format *f, const struct buf *b)
{
	struct err err = { 0 };
	size_t before = read_peak_now();
	struct profile *p = read_bytes(f, b->data, b->len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	size_t more = read_peak_now() - before;
#ifndef __SANITIZE_ADDRESS__
	ck_assert_msg(more <= READ_PEAK_TIMES * b->len, "%zu bytes for %zu", more, b->len);
#endif
	return p;
}

#endif
