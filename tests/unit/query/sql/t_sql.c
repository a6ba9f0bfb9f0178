// tier: test
/* SQL over a source: answers equal loops over its rows, and conditions are pushed down. */
#include "sql_source.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/codec/store.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

/* --- answers ------------------------------------------------------------------------------------- */

struct sums {
	long long rows, values, times;
};

static struct sums sums_where(const struct own *o, bool (*takes)(const struct source_row *r))
{
	struct sums sums = { 0 };
	for (size_t i = 0; i < o->rows.n; i++) {
		const struct source_row *r = &o->rows.v[i].row;
		if (!takes(r))
			continue;
		sums.rows++;
		sums.values += r->value;
		sums.times += r->time_ns;
	}
	return sums;
}

static bool all(const struct source_row *r)
{
	(void)r;
	return true;
}
static bool from_1050(const struct source_row *r)
{
	return r->time_ns >= 1050;
}
static bool inner(const struct source_row *r)
{
	return r->time_ns > 1050 && r->time_ns < 1060;
}
static bool between(const struct source_row *r)
{
	return r->time_ns >= 1050 && r->time_ns <= 1060;
}
static bool outer(const struct source_row *r)
{
	return r->time_ns < 1020 || r->time_ns > 1150 || r->series == 3;
}
static bool at_1100(const struct source_row *r)
{
	return r->time_ns == 1100;
}
static bool series_2(const struct source_row *r)
{
	return r->series == 2;
}
static bool some_series(const struct source_row *r)
{
	return (r->series == 1 || r->series == 4) && r->time_ns <= 1100;
}
static bool is_cpu(const struct source_row *r)
{
	return r->series % 3 == 0;
}
static bool objects(const struct source_row *r)
{
	return r->series % 3 == 2;
}
static bool redis(const struct source_row *r)
{
	return r->series == 0 || r->series == 3;
}
static bool some_times(const struct source_row *r)
{
	return r->time_ns == 1010 || r->time_ns == 1090;
}
static bool none(const struct source_row *r)
{
	(void)r;
	return false;
}

/* extra: rows at the boundary moments that may be read beyond those selected. */
static const struct {
	const char *where;
	bool (*takes)(const struct source_row *r);
	bool (*asked)(const struct source_row *r); /* NULL: as takes */
} conditions[] = {
	{ "1", all, NULL },
	{ "time >= 1050", from_1050, NULL },
	{ "1050 <= time", from_1050, NULL },
	{ "time > 1050 AND time < 1060", inner, between },
	{ "time BETWEEN 1050 AND 1060", between, NULL },
	{ "time BETWEEN 1049.5 AND 1060.5", between, all },
	{ "time = 1100", at_1100, NULL },
	{ "time IN (1090, 1010)", some_times, all },
	{ "series = 2", series_2, NULL },
	{ "series IN (4, 1, 77, -3, NULL, 'x') AND time <= 1100", some_series, NULL },
	{ "type = 'cpu'", is_cpu, NULL },
	{ "type IN ('cpu', 'off-cpu')", is_cpu, NULL },
	{ "type = 'CPU' COLLATE NOCASE", is_cpu, all },
	{ "type = 'alloc' AND sample_type = 'alloc_objects'", objects, NULL },
	{ "series IN (SELECT series FROM labels WHERE key = 'comm' AND value = 'redis')", redis,
	  NULL },
	{ "time < 1020 OR time > 1150 OR series = 3", outer, all },
	{ "series = 2 AND series = 3", none, NULL },
	{ "time > 1060 AND time < 1050", none, NULL },
	{ "time > 9e300", none, all },
	{ "series = 6", none, NULL },
	{ "time = NULL", none, all },
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

START_TEST(equal_loops)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct own *o = own_new(2000, seed);
		for (size_t i = 0; i < CONDITIONS; i++) {
			struct sums want = sums_where(o, conditions[i].takes);
			char *text = xasprintf("SELECT count(*), total(value), total(time) FROM "
					       "samples WHERE %s",
					       conditions[i].where);
			char *sums = xasprintf("%lld|%g|%g\n", want.rows, (double)want.values,
					       (double)want.times);
			answers(o, text, sums);
			free(text);
			free(sums);
		}
		own_free(o);
	}
}
END_TEST

/* The source is read for the rows that conditions leave, and once. */
START_TEST(conditions_are_pushed_down)
{
	struct own *o = own_new(3000, 7);
	for (size_t i = 0; i < CONDITIONS; i++) {
		bool (*asked)(const struct source_row *r) =
			conditions[i].asked ? conditions[i].asked : conditions[i].takes;
		char *text =
			xasprintf("SELECT count(*) FROM samples WHERE %s", conditions[i].where);
		uint64_t most = sums_where(o, asked).rows;
		o->calls = o->given = 0;
		free(ask(o, text));
		if (asked == all)
			ck_assert_msg(o->given <= 3 * most, "%s", text); /* one scan per OR */
		else
			ck_assert_msg(o->given <= most && o->calls <= 1,
				      "%s: %llu rows, %llu calls", text,
				      (unsigned long long)o->given, (unsigned long long)o->calls);
		free(text);
	}
	own_free(o);
}
END_TEST

/* A plus before a column keeps SQLite from pushing down: both ways give the same result, for any value. */
START_TEST(odd_values_are_compared_as_ever)
{
	static const char *const columns[] = { "time", "series", "type", "stack", "sample_type" };
	static const char *const ops[] = { "=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT" };
	static const char *const values[] = {
		"NULL",
		"2",
		"2.0",
		"2.5",
		"1100",
		"'1100'",
		"' 1100 '",
		"1100.25",
		"'abc'",
		"''",
		"x'02'",
		"9223372036854775807",
		"-9223372036854775807 - 1",
		"9.3e18",
		"-9.3e18",
		"9e999",
		"'cpu'",
		"x'637075'",
		"4294967298",
		"4294967298.0",
		"-1",
		"'2'",
	};
	struct own *o = own_new(500, 9);
	for (size_t c = 0; c < 5; c++)
		for (size_t p = 0; p < 8; p++)
			for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
				char *pushed =
					xasprintf("SELECT count(*) FROM samples WHERE %s %s %s",
						  columns[c], ops[p], values[v]);
				char *plain =
					xasprintf("SELECT count(*) FROM samples WHERE +%s %s %s",
						  columns[c], ops[p], values[v]);
				/* a + removes the affinity of the column */
				if (values[v][0] != '\'' && columns[c][1] != 'y' &&
				    columns[c][1] != 'a') {
					char *want = ask(o, plain);
					answers(o, pushed, want);
					free(want);
				} else {
					free(ask(o, pushed));
				}
				free(pushed);
				free(plain);
			}
	own_free(o);
}
END_TEST

START_TEST(both_sides_of_a_join)
{
	struct own *o = own_new(300, 3);
	long long pairs = 0;
	char want[32];
	for (size_t i = 0; i < o->rows.n; i++)
		for (size_t k = 0; k < o->rows.n; k++)
			pairs += o->rows.v[i].row.time_ns == o->rows.v[k].row.time_ns &&
				 o->rows.v[i].row.series == o->rows.v[k].row.series;
	snprintf(want, sizeof want, "%lld\n", pairs);
	answers(o, "SELECT count(*) FROM samples a JOIN samples b USING (time, series)", want);
	own_free(o);
}
END_TEST

/* More rows than are held at once: at many moments, and at a single one. */
START_TEST(slices)
{
	enum { ROWS = 1060000 };
	struct own *o = own_new(0, 1);
	o->to_ns = 2000000;
	for (int64_t i = 0; i < ROWS; i++) {
		/* half of them are at one moment, and identical */
		struct source_row r = { .dict = o->dict[0],
					.time_ns = i % 2 ? 5000 : 1000 + i,
					.value = i % 2 ? 1 : i % 1000,
					.series = 1 };
		vec_push(&o->rows, (struct own_row){ r, 0 });
	}
	struct sums want = sums_where(o, all);
	char text[64];
	snprintf(text, sizeof text, "%lld|%lld|%lld\n", want.rows, want.values, want.times);
	answers(o, "SELECT count(*), sum(value), sum(time) FROM samples", text);
	snprintf(text, sizeof text, "%d\n", ROWS);
	answers(o, "SELECT count(*) FROM samples WHERE time < 900000 OR time >= 5000", text);
	own_free(o);
}
END_TEST

/* --- stacks and names ---------------------------------------------------------------------------- */

static void text_of(const struct own *o, int part, uint32_t stack, struct buf *b)
{
	struct profile *p = o->dict[part];
	uint32_t frames[8], depth = stack_depth(&p->stacks, stack);
	buf_clear(b);
	if (depth)
		stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < depth; i++)
		buf_addf(b, "%s%s", i ? ";" : "",
			 profile_str(p, p->frames.frames.v[frames[i]].function));
	buf_cstr(b);
}

START_TEST(stacks_of_two_dictionaries)
{
	struct own *o = own_new(200, 5);
	struct buf want = { 0 }, text = { 0 };
	for (uint64_t part = 0; part < 2; part++)
		for (uint64_t i = 0; i < o->dict[part]->stacks.stacks.n; i++) {
			text_of(o, part, i, &text);
			buf_addf(&want, "%llu|%u|%s\n", (unsigned long long)(part << 32 | i),
				 stack_depth(&o->dict[part]->stacks, i), text.data);
		}
	answers(o, "SELECT stack, depth, stack_text(stack) FROM stacks ORDER BY stack",
		buf_cstr(&want));
	answers(o,
		"SELECT count(*) FROM (SELECT stack, group_concat(function, ';') t FROM (SELECT * "
		"FROM frames ORDER BY stack, depth) GROUP BY stack) WHERE t <> stack_text(stack)",
		"0\n");
	answers(o,
		"SELECT count(*) FROM stacks a JOIN stacks b ON (a.hash = b.hash) <> "
		"(stack_text(a.stack) = stack_text(b.stack))",
		"0\n");
	answers(o,
		"SELECT count(*) FROM stacks WHERE depth AND (root <> 'main' OR leaf <> "
		"(SELECT function FROM frames f WHERE f.stack = stacks.stack AND f.depth = "
		"stacks.depth - 1))",
		"0\n");
	answers(o,
		"SELECT count(*) FROM frames f LEFT JOIN functions n ON n.id = f.function_id "
		"WHERE n.name IS NOT f.function",
		"0\n");
	answers(o,
		"SELECT count(*) FROM samples s LEFT JOIN stacks t USING (stack) WHERE t.stack IS "
		"NULL",
		"0\n");
	answers(o,
		"SELECT stack_text(NULL), stack_text(-1), stack_text('x'), stack_text(1.5), "
		"stack_text(9000000000), stack_text(4000)",
		"NULL|NULL|NULL|NULL|NULL|NULL\n");
	buf_done(&want);
	buf_done(&text);
	own_free(o);
}
END_TEST

START_TEST(functions_of_stacks)
{
	struct own *o = own_new(3000, 11);
	struct buf text = { 0 };
	long long values = 0;
	char want[64];
	for (size_t i = 0; i < o->rows.n; i++) {
		text_of(o, o->rows.v[i].part, o->rows.v[i].row.stack, &text);
		if (strstr(text.data, "f3") || strstr(text.data, "f4"))
			values += o->rows.v[i].row.value;
	}
	snprintf(want, sizeof want, "%lld\n", values);
	answers(o, "SELECT sum(value) FROM samples WHERE has_function(stack, 'f[34]')", want);
	/* whole names */
	answers(o, "SELECT count(*) FROM samples WHERE has_function(stack, 'f')", "0\n");
	/* patterns that change from row to row */
	answers(o,
		"SELECT count(*) FROM stacks JOIN (SELECT 'f1' p UNION SELECT 'f2' UNION SELECT "
		"NULL) "
		"WHERE has_function(stack, p) <> (';' || stack_text(stack) || ';' LIKE '%;' || p "
		"|| "
		"';%')",
		"0\n");
	answers(o, "SELECT has_function(-1, 'main'), has_function(1, NULL)", "NULL|NULL\n");
	struct err err = { 0 };
	ck_assert_int_eq(try_limited(o, &wide, "SELECT has_function(1, 'a(')", &text, &err),
			 -EINVAL);
	buf_done(&text);
	own_free(o);
}
END_TEST

START_TEST(series_and_labels)
{
	struct own *o = own_new(10, 2);
	answers(o, "SELECT * FROM series WHERE id IN (1, 3) ORDER BY id",
		"1|alloc|alloc_space|count|1|NULL|NULL|sum\n3|cpu|samples|count|3|NULL|NULL|sum\n");
	answers(o, "SELECT * FROM labels WHERE series = 2", "2|comm|bash|NULL\n2|n|2|NULL\n");
	answers(o, "SELECT count(*), sum(typeof(value) = 'integer') FROM labels", "12|6\n");
	answers(o, "SELECT count(*) FROM metrics", "0\n");
	answers(o, "SELECT time, name, value, series FROM metrics WHERE series = 0", "");
	own_free(o);
}
END_TEST

/* Waits are separate rows, whole, whatever part of them a condition on time selects. */
START_TEST(waits_are_not_cut)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	p->meta.start_wall_ns = 5000;
	struct series series = { .type = add_type(s, "off-cpu", "time") };
	uint32_t id = s->ops->series(s, &series);
	for (int64_t i = 0; i < 10; i++)
		s->ops->sample(s, &(struct sample){ .time_ns = 100 * i,
						    .length_ns = 250,
						    .value = 250,
						    .series = id,
						    .pid = 1,
						    .tid = 2,
						    .cpu = SAMPLE_NO_ID });
	struct source *source = source_of_profile(p);
	struct buf out = { 0 };
	struct sql_answer to = { take_columns, take_row, &out };
	struct err err = { 0 };
	struct sql *sql;
	ck_assert_int_eq(sql_open(source, &wide, &sql, &err), 0);
	ck_assert_int_eq(sql_run(sql,
				 "SELECT min(time), max(length), sum(value), count(*) FROM samples "
				 "WHERE time > 5310 AND time <= 5600",
				 &to, &err),
			 0);
	ck_assert_str_eq(buf_cstr(&out), "5400|250|750|3\n");
	sql_close(sql);
	source_close(source);
	profile_free(p);
	buf_done(&out);
}
END_TEST

/* --- a store of several days ------------------------------------------------------------------- */

enum { STORE_BATCHES = 6 };
#define DAY_NS  (86400 * 1000000000ll)
#define FROM_NS (20000 * DAY_NS + 23 * 3600 * 1000000000ll)

/* The same functions at other times, spread over three days. */
static struct profile *batch(uint64_t number, long long *sum, long long *late)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint64_t seed = number;
	struct series series = { .type = add_type(s, "cpu", "samples") };
	uint32_t id = s->ops->series(s, &series);
	add_stacks(p, 1 + number % 2);
	for (int i = 0; i < 300; i++) {
		struct sample one = {
			.time_ns = FROM_NS + (int64_t)(random_next(&seed) % 90000) * 2000000000,
			.value = 1 + random_next(&seed) % 5,
			.series = id,
			.stack = random_next(&seed) % OWN_STACKS,
			.pid = SAMPLE_NO_ID,
			.tid = SAMPLE_NO_ID,
			.cpu = SAMPLE_NO_ID,
		};
		s->ops->sample(s, &one);
		*sum += one.value;
		*late += one.time_ns >= FROM_NS + DAY_NS ? one.value : 0;
	}
	return p;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

START_TEST(a_store)
{
	char dir[] = "/tmp/t_sql.XXXXXX";
	long long sum = 0, late = 0;
	struct store *store;
	struct source *source;
	struct sql *sql;
	struct err err = { 0 };
	struct buf out = { 0 };
	struct sql_answer to = { take_columns, take_row, &out };
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(store_open(dir, &(struct store_opts){ .retention_ns = 40000 * DAY_NS },
				    &store, &err),
			 0);
	for (uint64_t i = 0; i < STORE_BATCHES; i++) {
		struct store_batch b = { .p = batch(i, &sum, &late) };
		ck_assert_msg(store_ingest(store, &b, 1, NULL, &err) == 0, "%s", err.text);
		profile_free(b.p);
	}
	ck_assert_msg(store_close(store, &err) == 0, "%s", err.text);
	ck_assert_msg(source_open_store(dir, &source, &err) == 0, "%s", err.text);
	ck_assert_int_eq(sql_open(source, &wide, &sql, &err), 0);
	char *text = xasprintf(
		"SELECT sum(value), (SELECT sum(value) FROM samples WHERE time >= %lld), (SELECT "
		"sum(value) FROM samples WHERE time < %lld), sum(stack_text(stack) IS NULL), "
		"count(DISTINCT stack >> 32) > 1, sum(value) - (SELECT sum(value) FROM samples "
		"JOIN "
		"stacks USING (stack) WHERE root IS 'main' OR depth = 0), (SELECT count(*) FROM "
		"samples WHERE length <> 10000000000) FROM samples",
		FROM_NS + DAY_NS, FROM_NS + DAY_NS);
	char *want = xasprintf("%lld|%lld|%lld|0|1|0|0\n", sum, late, sum - late);
	ck_assert_msg(sql_run(sql, text, &to, &err) == 0, "%s", err.text);
	ck_assert_str_eq(buf_cstr(&out), want);
	free(text);
	free(want);
	sql_close(sql);
	source_close(source);
	buf_done(&out);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

UNIT_MAIN("sql", a_store, equal_loops, conditions_are_pushed_down, odd_values_are_compared_as_ever,
	  both_sides_of_a_join, slices, stacks_of_two_dictionaries, functions_of_stacks,
	  series_and_labels, waits_are_not_cut)
