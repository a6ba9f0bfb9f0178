/* query/source.h: the data that queries read: a store, or one profile (a recording, any readable
 * file). Both have the same operations; everything above (query/plan.h, SQL) uses only these.
 *
 * Times are Unix time in ns; ns since the start for a profile without a wall clock. Series ids are
 * the catalog's. */
#ifndef CRESSET_QUERY_SOURCE_H
#define CRESSET_QUERY_SOURCE_H

#include "profile/sink.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct metric_point;
struct profile;
struct sample_part;
struct trace_link;

/* Values by stack, of one dictionary (a day's, or the profile). */
struct source_sums {
	struct profile *dict; /* strings, frames, names, stacks; changed by interned strings only */
	uint32_t n;
	uint32_t *stack; /* ascending, no duplicates */
	int64_t *value;
	/* number of samples, and the sum of their squares; NULL: count is value */
	double *count, *squares;
	uint32_t *rows; /* number of rows; NULL: unknown */
};
struct source_merged {
	struct source_sums *parts;
	size_t n;
	bool rounded; /* detail was deleted: blocks at the range's ends count as a whole */
};
void source_merged_done(struct source_merged *m);

typedef int (*source_sums_fn)(void *ctx, const struct source_sums *sums);

struct source_row {
	struct profile *dict; /* as in source_sums */
	int64_t time_ns, length_ns, value;
	uint32_t series, stack, pid, tid, cpu; /* SAMPLE_NO_ID if the source has windows only */
	const struct trace_link *link;         /* NULL: none; valid during the call */
	bool is_window; /* a sum over length_ns; ids and the link are unknown */
};
/* Returns a row of a profile, or the part of it in a range. */
struct source_row source_profile_row(struct profile *p, size_t row, const struct sample_part *part);
typedef int (*source_row_fn)(void *ctx, const struct source_row *row);

/* Rows of one series that are windows, as columns. */
struct source_columns {
	struct profile *dict;
	uint32_t series;
	int64_t time_ns, length_ns; /* start of window 0; length of each */
	size_t n;
	const uint32_t *stack, *window;
	const int64_t *value;
};
typedef int (*source_columns_fn)(void *ctx, const struct source_columns *c);
/* Returns entry i as a row. */
static inline struct source_row source_columns_row(const struct source_columns *c, size_t i)
{
	return (struct source_row){ .dict = c->dict,
				    .time_ns = c->time_ns + c->window[i] * c->length_ns,
				    .length_ns = c->length_ns,
				    .value = c->value[i],
				    .series = c->series,
				    .stack = c->stack[i],
				    .pid = SAMPLE_NO_ID,
				    .tid = SAMPLE_NO_ID,
				    .cpu = SAMPLE_NO_ID,
				    .is_window = true };
}
/* Returns true if the caller does not distinguish these stacks. */
typedef bool (*source_same_fn)(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n);
typedef int (*source_points_fn)(void *ctx, const struct metric_point *points, size_t n);

struct source;
struct source_ops {
	/* Types, labels, series. */
	const struct profile *(*catalog)(struct source *s);
	/* The first and the last time with any data; both 0: no data. */
	void (*range)(struct source *s, int64_t *from_ns, int64_t *to_ns);
	/* wanted: by series. */
	int (*merge)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     struct source_merged *out, struct err *err);
	/* The same, one part at a time, each with its dictionary, valid only during the callback.
	 * NULL: merge is as good. */
	int (*merge_each)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
			  source_sums_fn part, void *ctx, bool *rounded, struct err *err);
	/* Adds to sums[group[series] * steps + step]; group UINT32_MAX: not wanted. */
	int (*steps)(struct source *s, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		     size_t steps, int64_t *sums, struct err *err);
	/* Calls row for every sample, exact ones if they are retained, otherwise windows. Stops
	 * when row returns nonzero, and returns that value. */
	int (*rows)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		    source_row_fn row, void *ctx, struct err *err);
	/* The same, with many windows at one time. NULL: the source has no windows. If same returns
	 * true for the stacks of a series, its windows come summed, each with any one of the
	 * stacks; same NULL: stacks always matter. */
	int (*columns)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		       source_row_fn row, source_columns_fn columns, source_same_fn same, void *ctx,
		       struct err *err);
	/* Like rows, for samples that start in the range, not clipped. NULL: rows never clips. */
	int (*whole_rows)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
			  source_row_fn row, void *ctx, struct err *err);
	/* Reads the points of a metric series in time order (store_points). NULL: the source has no
	 * metrics. */
	int (*points)(struct source *s, uint32_t series, int64_t from_ns, int64_t to_ns,
		      source_points_fn points, void *ctx, struct err *err);
	/* Returns the number of day files that results so far had to leave out as unreadable; why:
	 * the first one's reason. NULL: the source has no day files. */
	uint32_t (*left_out)(struct source *s, struct err *why);
	void (*close)(struct source *s);
};
struct source { /* embedded first in the source's own struct */
	const struct source_ops *ops;
	bool since_start;  /* times are since the start, not Unix time */
	int64_t window_ns; /* start and length of steps are multiples of it; 0: any */
	bool is_block;     /* samples have no times: a range that overlaps them has them all */
	/* Called now and then by long operations; if it returns true, they end with -ECANCELED. May
	 * be NULL. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};
/* Appends a sentence about left-out day files, if any. */
void source_note_left_out(struct source *s, struct buf *out);
static inline bool source_is_stopped(const struct source *s)
{
	return s->stop && s->stop(s->stop_ctx);
}
static inline int source_columns(struct source *s, const bool *wanted, int64_t from_ns,
				 int64_t to_ns, source_row_fn row, source_columns_fn columns,
				 source_same_fn same, void *ctx, struct err *err)
{
	if (!s->ops->columns)
		return s->ops->rows(s, wanted, from_ns, to_ns, row, ctx, err);
	return s->ops->columns(s, wanted, from_ns, to_ns, row, columns, same, ctx, err);
}
static inline void source_close(struct source *s) /* NULL is fine */
{
	if (s)
		s->ops->close(s);
}

/* Takes over a source and returns one in which types that differ only in the unit of a quantity are
 * one (profile/units.h): the same source if none exists. */
struct source *source_unify_units(struct source *in);

/* p stays the caller's and must not change, except that its readings are added to it as series. */
struct source *source_of_profile(struct profile *p);
/* Opens a read-only view of dir (store/codec/store.h), also next to a running writer. */
int source_open_store(const char *dir, struct source **out, struct err *err);
/* Opens a view of a store that this process has open; the store stays the caller's. */
struct store;
int source_of_store(struct store *store, struct source **out, struct err *err);

#endif
