// tier: test
/* Rows of unknown columns: aligned text, CSV that can be read back, JSON with the same values; control characters in them never reach a terminal. */
#include "unit.h"

#include "base/buf.h"
#include "base/fs.h"
#include "format/table/grid.h"

#include <errno.h>
#include <math.h>

/* How a grid of these rows looks; to be freed. */
static char *shown(const struct grid_opts *opts, const char *const *names, size_t n,
		   const struct cell *cells, size_t rows)
{
	char path[] = "/tmp/cresset-grid-XXXXXX";
	struct out out;
	struct buf b = { 0 };
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(out_open(&out, path, NULL), 0);
	struct grid *g = grid_new(opts, &out);
	ck_assert_int_eq(grid_columns(g, names, n, NULL), 0);
	for (size_t i = 0; i < rows; i++)
		ck_assert_int_eq(grid_row(g, cells + i * n, n, NULL), 0);
	ck_assert_int_eq(grid_finish(g, NULL), 0);
	grid_free(g);
	ck_assert_int_eq(out_commit(&out, NULL), 0);
	ck_assert_int_eq(fs_read_at(-100 /* AT_FDCWD */, path, 1 << 24, &b, NULL), 0);
	remove(path);
	fclose(fdopen(fd, "r"));
	buf_cstr(&b);
	return buf_steal(&b);
}

static const char *const names[] = { "n", "text", "any" };
#define TEXT(s) \
	{ \
		.kind = CELL_TEXT, .data = s, .len = sizeof s - 1 \
	}
#define BLOB(s) \
	{ \
		.kind = CELL_BLOB, .data = s, .len = sizeof s - 1 \
	}
#define INTEGER(v) \
	{ \
		.kind = CELL_INTEGER, .integer = v \
	}
#define REAL(v) \
	{ \
		.kind = CELL_REAL, .real = v \
	}
#define NOTHING \
	{ \
		.kind = CELL_NULL \
	}
static const struct cell cells[] = {
	INTEGER(7),
	TEXT("a,\"b\""),
	REAL(0.5),
	INTEGER(INT64_MIN),
	TEXT("gr\xc3\xbc\xc3\x9f"),
	NOTHING,
	NOTHING,
	TEXT("x\0\033[31m\ny"),
	BLOB("\x00\xff"),
};

static void looks(const struct grid_opts *opts, const char *want)
{
	char *got = shown(opts, names, 3, cells, 3);
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(text)
{
	looks(&(struct grid_opts){ .utf8 = true },
	      "                   n  text       any\n"
	      "                   7  a,\"b\"      0.5\n"
	      "-9223372036854775808  grüß       NULL\n"
	      "                NULL  x\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbdy  00ff\n");
	looks(&(struct grid_opts){ .width = 32, .color = true },
	      "\033[1m                   n  text      any\033[0m\n"
	      "                   7  a,\"b\"     0.5\n"
	      "-9223372036854775808  gr??      NULL\n"
	      "                NULL  x??[31m~  00ff\n");
}
END_TEST

START_TEST(csv)
{
	looks(&(struct grid_opts){ .format = GRID_CSV },
	      "n,text,any\n"
	      "7,\"a,\"\"b\"\"\",0.5\n"
	      "-9223372036854775808,grüß,\n"
	      ",x\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbdy,00ff\n");
}
END_TEST

START_TEST(json)
{
	looks(&(struct grid_opts){ .format = GRID_JSON },
	      "{\"format\":\"cresset.sql\",\"version\":1,\"columns\":[\"n\",\"text\",\"any\"],"
	      "\"rows\":["
	      "[7,\"a,\\\"b\\\"\",0.5],[-9223372036854775808,\"grüß\",null],"
	      "[null,\"x\xef\xbf\xbd\\u001b[31m\\ny\",\"00ff\"]]}\n");
}
END_TEST

START_TEST(numbers)
{
	static const char *const columns[] = { "a", "b", "c" };
	static const struct cell row[] = { REAL(INFINITY), REAL(-INFINITY), REAL(0.1) };
	char *got = shown(&(struct grid_opts){ .format = GRID_CSV }, columns, 3, row, 1);
	ck_assert_str_eq(got, "a,b,c\ninf,-inf,0.1\n");
	free(got);
	got = shown(&(struct grid_opts){ .format = GRID_JSON }, columns, 3, row, 1);
	ck_assert_ptr_nonnull(strstr(got, "[null,null,0.1]"));
	free(got);
}
END_TEST

/* A text column is narrowed so that lines fit; numbers are never cut. */
START_TEST(narrow)
{
	static const char *const columns[] = { "long", "number" };
	static const struct cell row[] = { TEXT("abcdefghijklmnopqrstuvwxyz"),
					   INTEGER(1234567890) };
	char *got = shown(&(struct grid_opts){ .width = 24, .utf8 = true }, columns, 2, row, 1);
	ck_assert_str_eq(got, "long              number\nabcdefghijk…  1234567890\n");
	free(got);
	got = shown(&(struct grid_opts){ .width = 10, .utf8 = true }, columns, 2, row, 1);
	ck_assert_str_eq(got, "long          number\nabcdefg…  1234567890\n");
	free(got);
}
END_TEST

START_TEST(no_columns_no_rows)
{
	char *got = shown(&(struct grid_opts){ .format = GRID_TEXT }, names, 3, NULL, 0);
	ck_assert_str_eq(got, "n  text  any\n");
	free(got);
}
END_TEST

UNIT_MAIN("grid", text, csv, json, numbers, narrow, no_columns_no_rows)
