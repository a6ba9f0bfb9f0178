/* query/source.h: what questions are put to: a store, or one profile (a recording, any file that can be read). Both answer through the
 * same operations; everything above (query/plan.h, SQL) knows no other.
 *
 * Times are Unix time in ns; of a profile that knows no wall clock, ns since its start. Series are numbered as in the catalog. */
#ifndef CRESSET_QUERY_SOURCE_H
#define CRESSET_QUERY_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "profile/time_range.h"
#include "store/metric.h"

#include <stdbool.h>
#include <stdint.h>

/* Values by stack, as one dictionary (a day's, or the profile) has them. */
struct source_sums {
	struct profile *dict; /* strings, frames, names, stacks; changed by interned strings only */
	uint32_t n;
	uint32_t *stack; /* ascending, no two equal */
	int64_t *value;
	double *count,
		*squares; /* samples behind it, and the sum of their squares; NULL: count is value */
	uint32_t *rows;   /* behind it; NULL: not known */
};
struct source_merged {
	struct source_sums *parts;
	size_t n;
	bool rounded; /* detail was gone: whole blocks were taken where the range cuts one */
};
void source_merged_done(struct source_merged *m);

typedef int (*source_sums_fn)(void *ctx, const struct source_sums *sums);

struct source_row {
	struct profile *dict; /* as that of sums */
	int64_t time_ns, length_ns, value;
	uint32_t series, stack, pid, tid, cpu; /* SAMPLE_NO_ID where the source has windows only */
	const struct trace_link *link;         /* NULL: none; valid during the call */
	bool is_window; /* the sum of what began in length_ns: neither ids nor the link are known */
};
/* One of a profile, or the part of it that is in a range. */
static inline struct source_row source_profile_row(struct profile *p, size_t row,
						   const struct sample_part *part)
{
	const struct sample_columns *c = &p->samples;
	return (struct source_row){ .dict = p,
				    .time_ns = part->time_ns,
				    .length_ns = part->length_ns,
				    .value = part->value,
				    .series = c->series[row],
				    .stack = c->stack[row],
				    .pid = c->pid[row],
				    .tid = c->tid[row],
				    .cpu = c->cpu[row],
				    .link = link_get(&p->links, sample_link(c, row)) };
}
typedef int (*source_row_fn)(void *ctx, const struct source_row *row);

/* Rows of one series that are windows: column by column. */
struct source_columns {
	struct profile *dict;
	uint32_t series;
	int64_t time_ns, length_ns; /* of window 0, and how long each is */
	size_t n;
	const uint32_t *stack, *window;
	const int64_t *value;
};
typedef int (*source_columns_fn)(void *ctx, const struct source_columns *c);
/* As a row. */
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
/* Whether it makes no difference which of these stacks a value is of. */
typedef bool (*source_same_fn)(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n);
typedef int (*source_points_fn)(void *ctx, const struct metric_point *points, size_t n);

struct source;
struct source_ops {
	/* Types, labels, series. */
	const struct profile *(*catalog)(struct source *s);
	/* The first and the last moment there is anything of; both 0: nothing. */
	void (*range)(struct source *s, int64_t *from_ns, int64_t *to_ns);
	/* wanted: by series. */
	int (*merge)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     struct source_merged *out, struct err *err);
	/* The same, a part after the other, each with its dictionary there during the call only. NULL: merge is as good. */
	int (*merge_each)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
			  source_sums_fn part, void *ctx, bool *rounded, struct err *err);
	/* sums[group[series] * steps + step] += value; group UINT32_MAX: not wanted. */
	int (*steps)(struct source *s, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		     size_t steps, int64_t *sums, struct err *err);
	/* Every sample there is, exact ones where they are kept, else windows. Ends when row returns other than 0, which is returned. */
	int (*rows)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		    source_row_fn row, void *ctx, struct err *err);
	/* The same, of windows many at once. NULL: it has none. Where all stacks of a series are the same, its windows come as a whole, each with any
	 * of them; same NULL: they never are. */
	int (*columns)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		       source_row_fn row, source_columns_fn columns, source_same_fn same, void *ctx,
		       struct err *err);
	/* rows of samples that begin in the range, none of them cut. NULL: rows cuts none. */
	int (*whole_rows)(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
			  source_row_fn row, void *ctx, struct err *err);
	/* Points of a series that is a metric, in order of time (store_points). NULL: the source has no metrics. */
	int (*points)(struct source *s, uint32_t series, int64_t from_ns, int64_t to_ns,
		      source_points_fn points, void *ctx, struct err *err);
	/* Of how many files of days the answers so far have nothing, as they cannot be read; why: of the first. NULL: there are none. */
	uint32_t (*left_out)(struct source *s, struct err *why);
	void (*close)(struct source *s);
};
struct source { /* embedded first in the source's own struct */
	const struct source_ops *ops;
	bool since_start;  /* times are not Unix time, but since the start */
	int64_t window_ns; /* steps begin, and are as long as, multiples of it; 0: any */
	bool is_block;     /* samples have no times: a range that touches them has them all */
	/* Asked now and then by what takes long; true: the operation ends with -ECANCELED. NULL: nobody does. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};
/* Appends a sentence about that; nothing where nothing is left out. */
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

/* p stays the caller's and must not change, but that what was read beside its samples becomes series of it. */
struct source *source_of_profile(struct profile *p);
/* A view of dir (store/store.h), read-only: beside a running service, too. */
int source_open_store(const char *dir, struct source **out, struct err *err);
/* A view of a store that this process has open, which stays the caller's. */
struct store;
int source_of_store(struct store *store, struct source **out, struct err *err);

#endif
