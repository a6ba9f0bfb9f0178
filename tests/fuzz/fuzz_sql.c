// tier: test
/* Any text as a SQL statement, with tight limits, on a small profile of two stacks: it ends, and what it says of samples stays true. */
#include "base/mem.h"
#include "format/table/grid.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "query/guard.h"
#include "query/source.h"
#include "query/sql/sql.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t named_frame(struct sink *s, const char *name)
{
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, name) };
	return s->ops->frame(s, &f);
}

static struct profile *example(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, "redis") };
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, &label, 1) };
	uint32_t frames[] = { named_frame(s, "main"), named_frame(s, "a;b\n"),
			      named_frame(s, "\xff") };
	struct sample sample = { .series = s->ops->series(s, &series), .tid = SAMPLE_NO_ID };
	for (uint32_t i = 0; i < 6; i++) {
		sample.stack = s->ops->stack(s, frames, 2 + i % 2);
		sample.time_ns = 10 * i;
		sample.value = i;
		s->ops->sample(s, &sample);
	}
	return p;
}

struct seen {
	size_t columns, rows;
	int64_t first; /* number of the first cell */
};

static int take_columns(void *ctx, const char *const *names, size_t n, struct err *err)
{
	(void)err;
	((struct seen *)ctx)->columns = n;
	for (size_t i = 0; i < n; i++)
		if (!names[i])
			abort();
	return 0;
}

static int take_row(void *ctx, const struct cell *cells, size_t n, struct err *err)
{
	struct seen *seen = ctx;
	(void)err;
	if (n != seen->columns || !n)
		abort();
	for (size_t i = 0; i < n; i++)
		if (cells[i].len > SQL_MAX_VALUE)
			abort();
	seen->rows++;
	seen->first = cells[0].integer;
	return 0;
}

static int run(struct source *source, const char *text, struct seen *seen)
{
	const struct guard_limits limits = { .time_ns = 20000000,
					     .memory_bytes = 16 << 20,
					     .rows = 100 };
	struct sql_answer to = { take_columns, take_row, seen };
	struct sql *sql;
	if (sql_open(source, &limits, &sql, NULL) < 0)
		abort();
	int rc = sql_run(sql, text, &to, NULL);
	sql_close(sql);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct profile *p = example();
	struct source *source = source_of_profile(p);
	struct seen seen = { 0 };
	run(source, text, &seen);
	if (seen.rows > 100)
		abort();
	seen = (struct seen){ 0 };
	int rc = run(source, "SELECT sum(value) FROM samples", &seen);
	if (rc == 0 && seen.first != 15)
		abort();
	source_close(source);
	profile_free(p);
	free(text);
	return 0;
}
