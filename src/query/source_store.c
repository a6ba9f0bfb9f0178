/* A store (store/codec/store.h) as a source: one read-only view, as of its opening. */
#include "base/mem.h"
#include "query/source.h"
#include "store/codec/block.h"
#include "store/codec/store.h"

#include <stdlib.h>

struct source_store {
	struct source base;
	struct store *own; /* NULL: the store is the caller's */
	struct store_view *view;
};

static struct store_view *view_of(struct source *s)
{
	return ((struct source_store *)s)->view;
}

static bool is_stopped(void *ctx)
{
	return source_is_stopped(ctx);
}

static const struct profile *get_catalog(struct source *s)
{
	return store_view_catalog(view_of(s));
}

static void get_range(struct source *s, int64_t *from_ns, int64_t *to_ns)
{
	store_view_range(view_of(s), from_ns, to_ns);
}

static struct source_sums sums_of(const struct store_sums *sums)
{
	return (struct source_sums){ .dict = sums->dict,
				     .n = sums->n,
				     .stack = sums->stack,
				     .value = sums->value,
				     .count = sums->count,
				     .squares = sums->squares };
}

static uint32_t left_out(struct source *s, struct err *why)
{
	return store_view_left_out(view_of(s), why);
}

struct sums_call {
	source_sums_fn part;
	void *ctx;
};

static int give_sums(void *ctx, const struct store_sums *sums)
{
	const struct sums_call *call = ctx;
	struct source_sums given = sums_of(sums);

	return call->part(call->ctx, &given);
}

static int merge_each(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		      source_sums_fn part, void *ctx, bool *rounded, struct err *err)
{
	struct sums_call call = { part, ctx };

	return store_merge_each(view_of(s), wanted, from_ns, to_ns, give_sums, &call, rounded, err);
}

static int merge(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		 struct source_merged *out, struct err *err)
{
	struct store_merged merged;
	int rc = store_merge(view_of(s), wanted, from_ns, to_ns, &merged, err);

	if (rc)
		return rc;
	*out = (struct source_merged){ .parts = xcalloc(merged.n + 1, sizeof *out->parts),
				       .n = merged.n,
				       .rounded = merged.rounded };
	for (size_t i = 0; i < merged.n; i++)
		out->parts[i] = sums_of(&merged.parts[i]);
	merged.n = 0; /* out owns the lists now */
	store_merged_done(&merged);
	return 0;
}

static int steps(struct source *s, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		 size_t n, int64_t *sums, struct err *err)
{
	return store_steps(view_of(s), group, from_ns, step_ns, n, sums, err);
}

struct row_call {
	source_row_fn row;
	source_columns_fn columns;
	source_same_fn same;
	void *ctx;
};

static int give_row(void *ctx, const struct store_row *r)
{
	const struct row_call *call = ctx;
	struct source_row row = { .dict = r->dict,
				  .time_ns = r->time_ns,
				  .length_ns = r->length_ns,
				  .value = r->value,
				  .series = r->series,
				  .stack = r->stack,
				  .pid = r->pid,
				  .tid = r->tid,
				  .cpu = r->cpu,
				  .link = r->link,
				  .is_window = r->is_window };

	return call->row(call->ctx, &row);
}

static int rows(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		source_row_fn row, void *ctx, struct err *err)
{
	struct row_call call = { .row = row, .ctx = ctx };

	return store_rows(view_of(s), wanted, from_ns, to_ns, give_row, &call, err);
}

static int give_columns(void *ctx, const struct store_columns *c)
{
	const struct row_call *call = ctx;
	const struct source_columns columns = { .dict = c->dict,
						.series = c->series,
						.time_ns = c->from_ns,
						.length_ns = BLOCK_WINDOW_NS,
						.n = c->n,
						.stack = c->stack,
						.window = c->window,
						.value = c->value };

	return call->columns(call->ctx, &columns);
}

static bool ask_same(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n)
{
	const struct row_call *call = ctx;

	return call->same(call->ctx, dict, stacks, n);
}

static int columns(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		   source_row_fn row, source_columns_fn fn, source_same_fn same, void *ctx,
		   struct err *err)
{
	struct row_call call = { .row = row, .columns = fn, .same = same, .ctx = ctx };
	const struct store_taker taker = { .row = give_row,
					   .columns = give_columns,
					   .same = same ? ask_same : NULL,
					   .ctx = &call };

	return store_columns(view_of(s), wanted, from_ns, to_ns, &taker, err);
}

static int points(struct source *s, uint32_t series, int64_t from_ns, int64_t to_ns,
		  source_points_fn fn, void *ctx, struct err *err)
{
	return store_points(view_of(s), series, from_ns, to_ns, fn, ctx, err);
}

static int whole_rows(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		      source_row_fn row, void *ctx, struct err *err)
{
	struct row_call call = { .row = row, .ctx = ctx };

	return store_whole_rows(view_of(s), wanted, from_ns, to_ns, give_row, &call, err);
}

static void close_store(struct source *source)
{
	struct source_store *s = (struct source_store *)source;

	store_view_close(s->view);
	store_abandon(s->own); /* nothing was written */
	free(s);
}

/* own: closed with the source, and on failure; may be NULL. */
static int open_view(struct store *store, struct store *own, struct source **out, struct err *err)
{
	static const struct source_ops ops = {
		.catalog = get_catalog,
		.range = get_range,
		.merge = merge,
		.merge_each = merge_each,
		.steps = steps,
		.rows = rows,
		.columns = columns,
		.whole_rows = whole_rows,
		.points = points,
		.left_out = left_out,
		.close = close_store,
	};
	struct source_store *s = xcalloc(1, sizeof *s);

	s->own = own;
	s->base.ops = &ops;
	s->base.window_ns = BLOCK_WINDOW_NS;
	int rc = store_view_open(store, &s->view, err);
	if (rc) {
		close_store(&s->base);
		return rc;
	}
	store_view_set_stop(s->view, is_stopped, &s->base);
	*out = source_unify_units(&s->base);
	return 0;
}

int source_of_store(struct store *store, struct source **out, struct err *err)
{
	return open_view(store, NULL, out, err);
}

int source_open_store(const char *dir, struct source **out, struct err *err)
{
	struct store *store;
	int rc = store_open(dir, &(struct store_opts){ .read_only = true }, &store, err);

	return rc ? rc : open_view(store, store, out, err);
}
