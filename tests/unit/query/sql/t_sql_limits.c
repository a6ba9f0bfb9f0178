// tier: test
/* SQL from anyone: only SELECT runs, and everything ends in time. */
#include "format/formats.h"
#include "sql_source.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <sqlite3.h>

/* --- refused statements -------------------------------------------------------------------------- */

static const struct {
	const char *text, *words;
} refused[] = {
	{ "", "empty statement" },
	{ " ; -- nothing\n /* at all */ ;", "empty statement" },
	{ "INSERT INTO samples VALUES (1)", "column 1: only SELECT" },
	{ "UPDATE samples SET value = 1", "column 1: only SELECT" },
	{ "DELETE FROM samples", "only SELECT" },
	{ "REPLACE INTO series VALUES (1)", "only SELECT" },
	{ "CREATE TABLE t(a)", "only SELECT" },
	{ "CREATE TEMP TABLE t AS SELECT 1", "only SELECT" },
	{ "CREATE TEMP VIEW v AS SELECT 1", "only SELECT" },
	{ "CREATE VIRTUAL TABLE v USING fts5(a)", "only SELECT" },
	{ "DROP TABLE samples", "only SELECT" },
	{ "ALTER TABLE samples RENAME TO x", "only SELECT" },
	{ "ATTACH '/tmp/x.db' AS x", "only SELECT" },
	{ "DETACH main", "only SELECT" },
	{ "PRAGMA writable_schema = 1", "only SELECT" },
	{ "VACUUM INTO '/tmp/x.db'", "only SELECT" },
	{ "REINDEX", "only SELECT" },
	{ "ANALYZE", "only SELECT" },
	{ "BEGIN", "only SELECT" },
	{ "SAVEPOINT x", "only SELECT" },
	{ "EXPLAIN SELECT 1", "only SELECT" },
	{ "EXPLAIN QUERY PLAN SELECT 1", "only SELECT" },
	{ "SELECTED", "only SELECT" },
	{ "WITH x AS (SELECT 1) DELETE FROM samples", "may not be modified" },
	{ "WITH x AS (SELECT 1) INSERT INTO samples SELECT * FROM x", "only SELECT" },
	{ "SELECT 1; SELECT 2", "column 11: one statement" },
	{ "SELECT 1; DROP TABLE samples", "column 11: one statement" },
	{ "SELECT 1;;;x", "column 12: one statement" },
	{ "SELECT load_extension('/tmp/x.so')", "column 8: the function 'load_extension'" },
	{ "SELECT \"load_extension\"('/tmp/x.so')", "the function 'load_extension'" },
	{ "SELECT writefile('/tmp/x', 'y')", "no such function: writefile" },
	{ "SELECT readfile('/etc/passwd')", "no such function: readfile" },
	{ "SELECT edit('x')", "no such function" },
	{ "SELECT fts3_tokenizer('simple')", "fts3_tokenizer" },
	{ "SELECT sqlite_compileoption_get(0)", "the function 'sqlite_compileoption_get'" },
	{ "SELECT randomblob(10)", "the function 'randomblob'" },
	{ "SELECT json_extract('{}', '$')", "the function 'json_extract'" },
	{ "SELECT 1 WHERE 'a' MATCH 'b'", "match" },
	{ "SELECT value FROM samples WHERE value REGEXP 'a'", "REGEXP" },
	{ "SELECT * FROM sqlite_master", "the table 'sqlite_master'" },
	{ "SELECT count(*) FROM sqlite_schema", "the table 'sqlite_" },
	{ "SELECT 1 FROM sqlite_temp_master", "the table 'sqlite_temp_master'" },
	{ "SELECT * FROM pragma_database_list", "only SELECT" },
	{ "SELECT count(*) FROM pragma_function_list()", "only SELECT" },
	{ "SELECT * FROM json_each('[1,2]')", "no such table" },
	{ "SELECT * FROM dbstat", "no such table" },
	{ "SELECT * FROM fts5vocab", "no such table" },
	{ "SELECT * FROM samples.x", "no such table" },
	{ "SELECT missing FROM samples", "column 8: no such column" },
	{ "SELECT \"missing\" FROM samples", "no such column" }, /* not taken for a string */
	{ "SELECT 1,\n  2 +\n  foo(3)", "line 3, column 3: no such function" },
	{ "SELECT ?", "" },
	{ "SELECT :name", "" },
	{ "SELECT 'abc", "unrecognized token" },
	{ "SELECT (1", "incomplete input" },
	{ "SELECT abs(1, 2)", "wrong number of arguments" },
};

START_TEST(refusals)
{
	struct own *o = own_new(10, 1);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct err err = { 0 };
		struct buf out = { 0 };
		int rc = try_limited(o, &wide, refused[i].text, &out, &err);
		ck_assert_msg(rc == -EINVAL, "%s: %d, %s", refused[i].text, rc, buf_cstr(&out));
		ck_assert_msg(strstr(err.text, refused[i].words), "%s: %s", refused[i].text,
			      err.text);
		ck_assert_msg(strncmp(err.text, "SQL", 3) == 0, "%s", err.text);
		ck_assert_uint_eq(out.len, 0);
		buf_done(&out);
	}
	ck_assert_uint_eq(o->calls, 0);
	own_free(o);
}
END_TEST

START_TEST(allowed_forms)
{
	struct own *o = own_new(10, 1);
	answers(o, "VALUES (1, 2.5, 'x', NULL)", "1|2.5|x|NULL\n");
	answers(o, " /* why */ -- not\n;select 1;; -- end", "1\n");
	answers(o, "WITH x(a) AS (VALUES (1), (2)) SELECT sum(a) FROM x", "3\n");
	answers(o,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) "
		"SELECT count(*), sum(i) FROM n",
		"10|55\n");
	answers(o,
		"SELECT strftime('%Y-%m-%dT%H:%M:%S', 1700000000123456789 / 1000000000, "
		"'unixepoch')",
		"2023-11-14T22:13:20\n");
	answers(o, "SELECT upper(trim('  a ')), 'Abc' LIKE 'a%', 'Abc' GLOB 'a*', sqrt(16)",
		"A|1|0|4\n");
	answers(o, "SELECT sum(1) OVER (ORDER BY x) FROM (SELECT 1 x UNION SELECT 2)", "1\n2\n");
	own_free(o);
}
END_TEST

/* --- limits -------------------------------------------------------------------------------------- */

static char *repeated(const char *first, const char *each, size_t n, const char *last)
{
	struct buf b = { 0 };
	buf_adds(&b, first);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, each);
	buf_adds(&b, last);
	return buf_steal(&b);
}

/* Each statement gets 300 ms; it must end in 3 s of CPU time, with any result. Returns the error. */
static int ends(struct own *o, const char *text)
{
	const struct guard_limits limits = { .time_ns = 300000000, .memory_bytes = 64 << 20 };
	struct buf out = { 0 };
	struct err err = { 0 };
	uint64_t start_ns = clock_cpu_ns();
	int rc = try_limited(o, &limits, text, &out, &err);
	uint64_t took_ms = (clock_cpu_ns() - start_ns) / 1000000;
	ck_assert_msg(took_ms < 3000, "%.60s: %llu ms: %s", text, (unsigned long long)took_ms,
		      err.text);
	ck_assert_uint_le(out.len, 4 << 20);
	buf_done(&out);
	return rc;
}

static int ends_free(struct own *o, char *text)
{
	int rc = ends(o, text);
	free(text);
	return rc;
}

START_TEST(bombs_that_run)
{
	struct own *o = own_new(20000, 1);
	ck_assert_int_eq(ends(o, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
				 "SELECT count(*) FROM n"),
			 -ETIME);
	ck_assert_int_eq(ends(o, "SELECT count(*) FROM samples a, samples b, samples c"), -ETIME);
	ck_assert_int_eq(ends(o, "SELECT count(*) FROM frames a, frames b, frames c, frames d"),
			 -ETIME);
	/* memory: a set, a sorter, groups */
	ck_assert_int_lt(ends(o,
			      "WITH RECURSIVE n(i) AS (SELECT zeroblob(100000) UNION SELECT i || "
			      "hex(zeroblob(1)) FROM n) SELECT count(*) FROM n"),
			 0);
	ck_assert_int_lt(ends(o,
			      "SELECT a.time, zeroblob(100000) z FROM samples a, samples b ORDER "
			      "BY z, a.time"),
			 0);
	/* SQLite's own function takes 49 s for it, 15 s with limited values */
	ck_assert_int_eq(ends(o, "SELECT printf('%.*c', 1e9, 'x')"), -EINVAL);
	ends(o, "SELECT printf('%.*c', 1000000000, 'x')");
	ck_assert_int_eq(ends(o, "SELECT length(printf('%1500000s', 'x'))"), -EINVAL);
	ck_assert_int_eq(ends(o, "SELECT printf('%s%s', zeroblob(0) || hex(zeroblob(400000)), "
				 "hex(zeroblob(400000)))"),
			 -E2BIG);
	ck_assert_int_eq(ends(o, "SELECT length(zeroblob(2000000))"), -E2BIG);
	ck_assert_int_eq(ends(o, "SELECT length(replace(hex(zeroblob(400000)), '0', 'abc'))"),
			 -E2BIG);
	ck_assert_int_lt(ends(o, "SELECT length(group_concat(hex(zeroblob(1000)))) FROM samples"),
			 0);
	own_free(o);
}
END_TEST

/* A single function call cannot be interrupted: none may take length × length. */
START_TEST(functions_that_could_take_long)
{
	struct own *o = own_new(10, 1);
	const char *texts[] = {
		"SELECT length(replace(hex(zeroblob(490000)), hex(zeroblob(200000)) || '1', ''))",
		"SELECT instr(hex(zeroblob(490000)), hex(zeroblob(200000)) || '1')",
		"SELECT trim(hex(zeroblob(490000)), replace(hex(zeroblob(200000)), '00', '12') || "
		"'0')",
		"SELECT ltrim(hex(zeroblob(490000)), '0')",
		"SELECT rtrim(hex(zeroblob(490000)), '120')",
		"SELECT hex(zeroblob(490000)) LIKE '%0%0%0%0%0%0%0%0%0%0%0%1'",
		"SELECT hex(zeroblob(490000)) LIKE '%' || hex(zeroblob(120)) || '1%'",
		"SELECT hex(zeroblob(490000)) GLOB '*0*0*0*0*0*0*0*0*1'",
		"SELECT hex(zeroblob(490000)) GLOB '*[' || hex(zeroblob(120)) || ']1*'",
		"SELECT length(strftime(replace(hex(zeroblob(100000)), '00', '%J'), 0))",
		"SELECT length(quote(hex(zeroblob(490000))))",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ends(o, texts[i]);
	own_free(o);
}
END_TEST

/* A chain of n levels: each uses the previous one twice. */
static char *with_chain(int n)
{
	struct buf b = { 0 };
	buf_adds(&b, "WITH t0 AS (SELECT 1 AS x)");
	for (int i = 1; i <= n; i++)
		buf_addf(&b, ", \"T%d\"(x) AS NOT MATERIALIZED (SELECT a.x FROM t%d a, [t%d] b)", i,
			 i - 1, i - 1);
	buf_addf(&b, " SELECT count(*) FROM t%d", n);
	return buf_steal(&b);
}

/* n nested subqueries, each naming the inner column k times. */
static char *nested(int n, int k, const char *tail)
{
	struct buf b = { 0 };
	for (int i = 0; i < n; i++) {
		buf_adds(&b, "SELECT a");
		for (int j = 1; j < k; j++)
			buf_adds(&b, "+a");
		buf_adds(&b, " AS a FROM (");
	}
	buf_adds(&b, "SELECT time AS a FROM samples");
	for (int i = 0; i < n; i++)
		buf_adds(&b, ")");
	buf_adds(&b, tail);
	return buf_steal(&b);
}

START_TEST(bombs_that_are_prepared)
{
	struct own *o = own_new(10, 1);
	ck_assert_int_eq(ends_free(o, with_chain(5)), 0);
	ck_assert_int_eq(ends_free(o, with_chain(40)), -E2BIG);
	for (int n = 2; n <= 9; n++) {
		ends_free(o, nested(n, 30, ""));
		ends_free(o, nested(n, 30, " WHERE a > 0"));
	}
	char *arms = repeated("(SELECT 1 AS x", " UNION ALL SELECT 2", 20, ")");
	char *joined = xasprintf("SELECT count(*) FROM %s a, %s b, %s c, %s d, %s e", arms, arms,
				 arms, arms, arms);
	ends_free(o, joined);
	free(arms);
	own_free(o);
}
END_TEST

START_TEST(long_texts)
{
	struct own *o = own_new(100, 1);
	ck_assert_int_eq(ends_free(o, repeated("SELECT 1", "+1", 1000, "")), -EINVAL);
	ck_assert_int_eq(ends_free(o, repeated("SELECT ", "(", 5000, "1")), -EINVAL);
	ck_assert_int_eq(ends_free(o, repeated("SELECT 1", " UNION SELECT 1", 60, "")), -EINVAL);
	ck_assert_int_eq(ends_free(o, repeated("SELECT 1", ",1", 300, "")), -EINVAL);
	ck_assert_int_eq(ends_free(o, repeated("SELECT max(1", ",1", 40, ")")), -EINVAL);
	ck_assert_int_eq(ends_free(o, repeated("SELECT '", "x", 70000, "'")), -E2BIG);
	ck_assert_int_eq(ends_free(o, repeated("SELECT count(*) FROM samples WHERE series IN (1",
					       ",2", 30000, ")")),
			 0);
	ck_assert_int_eq(ends_free(o, repeated("SELECT count(*) FROM samples WHERE time = 1",
					       " OR time = 2 OR series = 1", 40, "")),
			 0);
	ck_assert_int_eq(
		ends_free(o, repeated("SELECT count(*) FROM samples a0", ", samples", 70, "")),
		-EINVAL);
	ends_free(o, repeated("SELECT 1 WHERE 'a' LIKE '", "%a", 2000, "'"));
	own_free(o);
}
END_TEST

static bool stop_at_once(void *ctx)
{
	++*(int *)ctx;
	return true;
}

START_TEST(other_ends)
{
	struct own *o = own_new(20000, 1);
	struct buf out = { 0 };
	struct err err = { 0 };
	int asked = 0;
	struct guard_limits stopped = { .stop = stop_at_once, .ctx = &asked };
	ck_assert_int_eq(try_limited(o, &stopped, "SELECT count(*) FROM samples", &out, &err),
			 -ECANCELED);
	ck_assert_int_gt(asked, 0);
	struct guard_limits few = { .rows = 10 };
	ck_assert_int_eq(try_limited(o, &few, "SELECT 1 FROM samples LIMIT 10", &out, &err), 0);
	ck_assert_int_eq(try_limited(o, &few, "SELECT 1 FROM samples", &out, &err), -E2BIG);
	o->fails = EIO;
	ck_assert_int_eq(try_limited(o, &wide, "SELECT 1 FROM samples", &out, &err), -EIO);
	ck_assert_str_eq(err.text, "the disk is gone");
	ck_assert_int_eq(try_limited(o, &wide, "SELECT 1 FROM stacks", &out, &err), -EIO);
	ck_assert_int_eq(try_limited(o, &wide, "SELECT stack_text(1)", &out, &err), -EIO);
	ck_assert_int_eq(try_limited(o, &wide, "SELECT 1 FROM series", &out, &err), 0);
	ck_assert_ptr_null(o->base.stop);
	buf_done(&out);
	own_free(o);
}
END_TEST

/* A connection works normally after a failed statement, and after a limit. */
START_TEST(continues_after_failures)
{
	struct own *o = own_new(20000, 1);
	struct guard_limits limits = { .time_ns = 100000000 };
	struct buf out = { 0 };
	struct sql_answer to = { take_columns, take_row, &out };
	struct err err = { 0 };
	struct sql *sql;
	ck_assert_int_eq(sql_open(&o->base, &limits, &sql, &err), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(
			sql_run(sql, "SELECT count(*) FROM samples a, samples b", &to, &err),
			-ETIME);
		ck_assert_int_eq(sql_run(sql, "SELECT load_extension('x')", &to, &err), -EINVAL);
		ck_assert_int_eq(sql_run(sql, "SELECT x", &to, NULL), -EINVAL);
		ck_assert_int_eq(sql_run(sql, "SELECT 42", &to, &err), 0);
	}
	ck_assert_str_eq(buf_cstr(&out), "42\n42\n42\n");
	sql_close(sql);
	buf_done(&out);
	own_free(o);
}
END_TEST

/* --- our own text functions, compared with SQLite's ----------------------------------------------- */

static char *random_text(uint64_t *seed)
{
	static const char *const parts[] = {
		"a", "b", "ab", "\xc3\xa4", "\xe2\x82\xac", " ", "aa"
	};
	struct buf b = { 0 };
	for (uint64_t n = random_next(seed) % 6; n--;)
		buf_adds(&b, parts[random_next(seed) % 7]);
	buf_cstr(&b);
	return buf_steal(&b);
}

static char *sqlite_says(sqlite3 *db, const char *text)
{
	sqlite3_stmt *stmt;
	ck_assert_int_eq(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
	char *out = xasprintf("%s\n", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return out;
}

START_TEST(text_functions_equal_those_of_sqlite)
{
	static const char *const forms[] = {
		"instr('%s', '%s')",
		"replace('%s', '%s', 'xy')",
		"trim('%s', '%s')",
		"ltrim('%s', '%s')",
		"rtrim('%s', '%s')",
		"instr(CAST('%s' AS BLOB), CAST('%s' AS BLOB))",
		"instr(CAST('%s' AS BLOB), '%s')",
	};
	static const char *const formats[] = {
		"",
		"NULL",
		"'plain'",
		"'100%%'",
		"'%d|%5d|%-5d|%05d|%+d', 7, 7, 7, 7, 7",
		"'%x %X %o %#x %u', 255, 255, 8, 255, 7",
		"'%x', -1",
		"'%,d', 1234567",
		"'%.2f|%8.3f|%e|%g', 1.005, 2.5, 12345.678, 1e-5",
		"'%f', 'x'",
		"'%d'",
		"'%s %s', 'a'",
		"'%-6s|%6s|%.2s', 'abc', 'abc', 'abc'",
		"'%*d|%.*f', 6, 42, 2, 3.14159",
		"'%q|%Q|%w', 'it''s', 'it''s', 'a\"b'",
		"'%Q %s', NULL, NULL",
		"'%c|%3c|%-3c|%.3c|%.*c|%c', 'xyz', 'x', 'x', 'ab', 4, 'ä', ''",
		"'%lld %ld', 5, 6",
		"'%!.20g', 0.1",
		"1.5",
		"'%d', '12abc'",
		"'%d', 3.99",
		"'%-*d|', 5, 3",
		"'%*d|', -5, 3",
	};
	struct own *o = own_new(1, 1);
	uint64_t seed = 4;
	sqlite3 *db;
	ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (int i = 0; i < 1500; i++) {
		char *a = random_text(&seed), *b = random_text(&seed), call[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(call, sizeof call, forms[i % 7], a, b);
#pragma GCC diagnostic pop
		char *text = xasprintf("SELECT quote(%s)", call), *want = sqlite_says(db, text);
		answers(o, text, want);
		free(a);
		free(b);
		free(text);
		free(want);
	}
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		char *text = xasprintf("SELECT quote(printf(%s))", formats[i]);
		char *want = sqlite_says(db, text);
		answers(o, text, want);
		free(text);
		free(want);
	}
	answers(o, "SELECT instr(NULL, 'a'), replace('a', NULL, 'b'), trim('a', NULL)",
		"NULL|NULL|NULL\n");
	sqlite3_close(db);
	own_free(o);
}
END_TEST

UNIT_MAIN("sql_limits", refusals, allowed_forms, bombs_that_run, functions_that_could_take_long,
	  bombs_that_are_prepared, long_texts, other_ends, continues_after_failures,
	  text_functions_equal_those_of_sqlite)
