/* POST /api/v1/sql: runs one SELECT, sent as text or as {"query": "SELECT …"}. */
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "format/table/grid.h"
#include "query/sql/sql.h"
#include "server/answer.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/tenant.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { SQL_ROWS = 1000000, MAX_WIDTH = 100000 };
static const char *const format_words[] = { "json", "csv", "table", NULL };
static const enum grid_format grid_formats[] = { GRID_JSON, GRID_CSV, GRID_TEXT };
static const char *const format_types[] = { "application/json", "text/csv; charset=utf-8",
					    "text/plain; charset=utf-8" };

/* --- the statement ---------------------------------------------------------------------------- */

/* Reads "query" of an object and skips the rest. The body is read as a stream: only the text is
 * kept. */
static int read_query(struct request *r, struct json_reader *j, const char **out, struct err *err)
{
	struct json_value key, text;
	int rc = json_enter(j, JSON_OBJECT, err);
	while (rc > 0 && (rc = json_key_next(j, &key, err)) > 0) {
		if (!json_is(&key, "query")) {
			rc = json_skip(j, err) < 0 ? -EBADMSG : 1;
			continue;
		}
		rc = json_scalar(j, &text, err);
		if (rc > 0 && text.token == JSON_STRING && text.len <= SQL_MAX_TEXT &&
		    strlen(text.text) == text.len)
			*out = arena_dup(&r->arena, text.text, text.len);
		rc = rc < 0 ? rc : 1;
	}
	return rc < 0 ? rc : 0;
}

static int parse_json(struct request *r, const char **out, struct err *err)
{
	struct input *in;
	int rc = input_open_memory(r->body.data.data, r->body.data.len, &in, err);
	if (rc < 0)
		return rc;
	struct json_reader *j = json_reader_new(in);
	rc = read_query(r, j, out, err);
	json_reader_free(j);
	input_close(in);
	if (rc < 0) {
		err->code = EINVAL;
		err_prefix(err, "the body is not JSON");
		return -EINVAL;
	}
	return *out ? 0
		    : err_set(err, EINVAL, "the body has no \"query\", or one longer than %d bytes",
			      SQL_MAX_TEXT);
}

static int read_statement(struct request *r, const char **out, struct err *err)
{
	const struct buf *b = &r->body.data;
	size_t blank = 0;
	*out = NULL;
	while (blank < b->len && strchr(" \t\r\n", b->data[blank]))
		blank++;
	if (blank < b->len && b->data[blank] == '{')
		return parse_json(r, out, err);
	if (blank == b->len)
		return err_set(err, EINVAL, "the body is empty: a SELECT is missing");
	if (b->len > SQL_MAX_TEXT || memchr(b->data, '\0', b->len))
		return err_set(err, EINVAL, "a statement has at most %d bytes, and no NUL",
			       SQL_MAX_TEXT);
	*out = arena_dup(&r->arena, b->data, b->len);
	return 0;
}

/* --- the response ----------------------------------------------------------------------------- */

struct writer {
	struct grid *grid;
	int fd;
	uint64_t max_bytes;
};

static int write_columns(void *ctx, const char *const *names, size_t n, struct err *err)
{
	return grid_columns(((struct writer *)ctx)->grid, names, n, err);
}

static int write_row(void *ctx, const struct cell *cells, size_t n, struct err *err)
{
	struct writer *w = ctx;
	off_t at = lseek(w->fd, 0, SEEK_CUR);
	if (at > 0 && (uint64_t)at > w->max_bytes)
		return err_set(err, E2BIG, "the result is larger than %llu bytes",
			       (unsigned long long)w->max_bytes);
	return grid_row(w->grid, cells, n, err);
}

static int run(struct query_params *a, const char *text, const struct grid_opts *opts,
	       struct out *out, struct err *err)
{
	struct data_source *data = &a->r->tenant->data;
	struct guard_limits limits = a->q.limits;
	struct writer w = { grid_new(opts, out), out->fd, limits.memory_bytes / 2 };
	struct sql_answer to = { write_columns, write_row, &w };
	struct sql *sql = NULL;
	limits.rows = SQL_ROWS;
	pthread_mutex_lock(&data->sql_turn);
	int rc = sql_open(a->source, &limits, &sql, err);
	if (rc == 0)
		rc = sql_run(sql, text, &to, err);
	if (rc == 0)
		rc = grid_finish(w.grid, err);
	sql_close(sql);
	pthread_mutex_unlock(&data->sql_turn);
	grid_free(w.grid);
	return rc;
}

static void answer(struct query_params *a, const char *text, const struct grid_opts *opts,
		   int format)
{
	struct err err = { 0 };
	struct out out;
	int rc = answer_open(&out, &err);
	if (rc < 0) {
		reply_failure(a->r, &err);
		return;
	}
	rc = run(a, text, opts, &out, &err);
	answer_close(a->r, format_types[format], &out, rc, &err);
}

void handle_sql(struct request *r)
{
	struct query_params a = { .r = r };
	struct err err = { 0 };
	const char *text = NULL;
	int format, rc = request_word(r, "fmt", format_words, &format, &err);
	uint64_t width = 0;
	bool ascii = false;
	if (rc == 0)
		rc = request_u64(r, "width", 0, MAX_WIDTH, &width, &err);
	if (rc == 0)
		rc = request_flag(r, "ascii", &ascii, &err);
	if (rc == 0)
		rc = read_statement(r, &text, &err);
	if (rc == 0)
		rc = query_params_source(&a, r, &err);
	if (rc < 0)
		reply_failure(r, &err);
	else
		answer(&a, text,
		       &(struct grid_opts){ .format = grid_formats[format],
					    .width = (uint32_t)width,
					    .utf8 = !ascii },
		       format);
	query_params_done(&a);
}
