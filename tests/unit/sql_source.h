/* tests/unit/sql_source.h: a source with two dictionaries for tests of SQL, and statements run on it. */
#ifndef CRESSET_TESTS_SQL_SOURCE_H
#define CRESSET_TESTS_SQL_SOURCE_H

#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/table/grid.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "query/guard.h"
#include "query/source.h"
#include "query/sql/sql.h"

/* --- a source of two dictionaries ---------------------------------------------------------------- */

struct own_row {
	struct source_row row;
	int part;
};
struct own {
	struct source base;
	struct profile *catalog, *dict[2];
	VEC(struct own_row) rows;
	int64_t from_ns, to_ns;
	uint64_t calls, given; /* of rows */
	int fails;             /* rows and merge fail with this */
};

static inline const struct profile *own_catalog(struct source *base)
{
	return ((struct own *)base)->catalog;
}

static inline void own_range(struct source *base, int64_t *from_ns, int64_t *to_ns)
{
	*from_ns = ((struct own *)base)->from_ns;
	*to_ns = ((struct own *)base)->to_ns;
}

static inline int own_merge(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
			    struct source_merged *out, struct err *err)
{
	struct own *o = (struct own *)base;
	(void)wanted, (void)from_ns, (void)to_ns;
	if (o->fails)
		return err_set(err, o->fails, "the disk is gone");
	*out = (struct source_merged){ .parts = xcalloc(2, sizeof *out->parts), .n = 2 };
	for (int i = 0; i < 2; i++)
		out->parts[i].dict = o->dict[i];
	return 0;
}

static inline int own_rows(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
			   source_row_fn row, void *ctx, struct err *err)
{
	struct own *o = (struct own *)base;
	o->calls++;
	if (o->fails)
		return err_set(err, o->fails, "the disk is gone");
	for (size_t i = 0; i < o->rows.n; i++) {
		const struct source_row *r = &o->rows.v[i].row;
		if (!wanted[r->series] || r->time_ns < from_ns || r->time_ns >= to_ns)
			continue;
		o->given++;
		int rc = row(ctx, r);
		if (rc)
			return rc;
	}
	return 0;
}

static const struct source_ops own_ops = {
	.catalog = own_catalog,
	.range = own_range,
	.merge = own_merge,
	.rows = own_rows,
};

static inline uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static inline uint32_t add_type(struct sink *s, const char *name, const char *sample_type)
{
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, sample_type),
			  .unit = sink_string(s, "count") };
	return s->ops->type(s, &t);
}

enum { OWN_SERIES = 6, OWN_STACKS = 40 };
static const char *const own_comms[OWN_SERIES] = { "redis", "nginx", "bash", "redis", "", "cc1" };

static inline void add_series(struct own *o)
{
	struct sink *s = profile_sink(o->catalog);
	uint32_t types[3] = { add_type(s, "cpu", "samples"), add_type(s, "alloc", "alloc_space"),
			      add_type(s, "alloc", "alloc_objects") };
	for (uint32_t i = 0; i < OWN_SERIES; i++) {
		struct label labels[2] = {
			{ .key = sink_string(s, "comm"), .str = sink_string(s, own_comms[i]) },
			{ .key = sink_string(s, "n"), .num = i, .is_num = 1 },
		};
		struct series series = { .type = types[i % 3],
					 .period = i,
					 .labels = s->ops->labels(s, labels, 2) };
		ck_assert_uint_eq(s->ops->series(s, &series), i);
	}
}

static inline uint32_t named_frame(struct sink *s, const char *name)
{
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, name) };
	return s->ops->frame(s, &f);
}

/* Stacks of f0 … f9 below main; the second dictionary has others under the same ids. */
static inline void add_stacks(struct profile *dict, uint64_t seed)
{
	struct sink *s = profile_sink(dict);
	while (dict->stacks.stacks.n < OWN_STACKS) {
		uint32_t frames[5] = { named_frame(s, "main") }, n = 1;
		for (; n < 2 + random_next(&seed) % 4; n++) {
			char name[8];
			snprintf(name, sizeof name, "f%d", (int)(random_next(&seed) % 10));
			frames[n] = named_frame(s, name);
		}
		s->ops->stack(s, frames, n);
	}
}

/* There are few times, so that some are equal; some rows occur twice. */
static inline void add_rows(struct own *o, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		int part = random_next(&seed) % 2;
		struct source_row r = {
			.dict = o->dict[part],
			.time_ns = o->from_ns + (int64_t)(random_next(&seed) % 200),
			.length_ns = random_next(&seed) % 3,
			.value = random_next(&seed) % 5,
			.series = random_next(&seed) % OWN_SERIES,
			.stack = random_next(&seed) % OWN_STACKS,
			.pid = random_next(&seed) % 4 ? random_next(&seed) % 4 : SAMPLE_NO_ID,
			.tid = SAMPLE_NO_ID,
			.cpu = SAMPLE_NO_ID,
		};
		for (int k = 0; k < 1 + !(i % 7); k++)
			vec_push(&o->rows, (struct own_row){ r, part });
	}
}

static inline struct own *own_new(size_t rows, uint64_t seed)
{
	struct own *o = xcalloc(1, sizeof *o);
	o->base.ops = &own_ops;
	o->from_ns = 1000;
	o->to_ns = 1199;
	o->catalog = profile_new();
	add_series(o);
	for (int i = 0; i < 2; i++) {
		o->dict[i] = profile_new();
		add_stacks(o->dict[i], seed + i);
	}
	add_rows(o, rows, seed);
	return o;
}

static inline void own_free(struct own *o)
{
	profile_free(o->catalog);
	profile_free(o->dict[0]);
	profile_free(o->dict[1]);
	vec_done(&o->rows);
	free(o);
}

/* --- asking -------------------------------------------------------------------------------------- */

/* An answer as text: "1|x|NULL\n…". */
static inline int take_columns(void *ctx, const char *const *names, size_t n, struct err *err)
{
	(void)ctx, (void)names, (void)n, (void)err;
	return 0;
}

static inline int take_row(void *ctx, const struct cell *cells, size_t n, struct err *err)
{
	struct buf *b = ctx;
	(void)err;
	for (size_t i = 0; i < n; i++) {
		const struct cell *c = &cells[i];
		buf_adds(b, i ? "|" : "");
		if (c->kind == CELL_INTEGER)
			buf_addf(b, "%lld", (long long)c->integer);
		else if (c->kind == CELL_REAL)
			buf_addf(b, "%g", c->real);
		else if (c->kind == CELL_NULL)
			buf_adds(b, "NULL");
		else
			buf_add(b, c->data, c->len);
	}
	buf_addc(b, '\n');
	return 0;
}

static inline int try_limited(struct own *o, const struct guard_limits *limits, const char *text,
			      struct buf *out, struct err *err)
{
	struct sql_answer to = { take_columns, take_row, out };
	struct sql *sql;
	ck_assert_int_eq(sql_open(&o->base, limits, &sql, err), 0);
	int rc = sql_run(sql, text, &to, err);
	sql_close(sql);
	return rc;
}

/* The time is no test of the machine. */
static const struct guard_limits wide = { .time_ns = UNIT_TIMEOUT_S * 1000000000ull,
					  .memory_bytes = 1 << 28 };

/* free() */
static inline char *ask(struct own *o, const char *text)
{
	struct err err = { 0 };
	struct buf out = { 0 };
	ck_assert_msg(try_limited(o, &wide, text, &out, &err) == 0, "%s: %s", text, err.text);
	return buf_steal(&out);
}

static inline void answers(struct own *o, const char *text, const char *want)
{
	char *got = ask(o, text);
	ck_assert_msg(strcmp(got, want) == 0, "%s\n gives %s\n not   %s", text, got, want);
	free(got);
}

#endif
