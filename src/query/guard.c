/* Counts rows, bytes and time, and checks for a stop. */
#include "query/guard.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "query/source.h"

#include <errno.h>

static bool is_over(const struct guard *g)
{
	uint64_t limit = g->limits->time_ns;
	return limit && clock_mono_ns() - g->start_ns > limit;
}

static bool stop_source(void *ctx)
{
	const struct guard *g = ctx;
	return (g->limits->stop && g->limits->stop(g->limits->ctx)) || is_over(g);
}

void guard_begin(struct guard *g, const struct guard_limits *limits, struct source *s)
{
	*g = (struct guard){ .limits = limits, .start_ns = clock_mono_ns() };
	s->stop = stop_source;
	s->stop_ctx = g;
}

void guard_end(struct guard *g, struct source *s)
{
	if (s->stop_ctx == g) {
		s->stop = NULL;
		s->stop_ctx = NULL;
	}
}

static int over_limit(int code, const char *what, const struct buf *limit, struct err *err)
{
	err_set(err, code, "%s %.*s", what, (int)limit->len, limit->data);
	err_hint(err, "select a shorter range, or fewer series");
	return -code;
}

int guard_check(const struct guard *g, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	if (g->limits->stop && g->limits->stop(g->limits->ctx))
		return err_set(err, ECANCELED, "the query was stopped");
	if (is_over(g)) {
		fmt_duration(&b, g->limits->time_ns);
		rc = over_limit(ETIME, "the query took longer than", &b, err);
	}
	buf_done(&b);
	return rc;
}

int guard_memory(const struct guard *g, uint64_t bytes, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	if (g->limits->memory_bytes && bytes > g->limits->memory_bytes) {
		fmt_bytes(&b, g->limits->memory_bytes);
		rc = over_limit(ENOMEM, "the result needs more memory than", &b, err);
	}
	buf_done(&b);
	return rc;
}

int guard_rows(const struct guard *g, uint64_t rows, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	if (g->limits->rows && rows > g->limits->rows) {
		buf_adds(&b, "limit of ");
		fmt_count(&b, g->limits->rows);
		buf_adds(&b, " rows");
		rc = over_limit(E2BIG, "the result is larger than the", &b, err);
	}
	buf_done(&b);
	return rc;
}
