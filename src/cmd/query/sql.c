/* cresset sql: runs one SELECT over a recording, any readable file, or a store. */
#include "query/sql/sql.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "cmd/query/remote.h"
#include "format/formats.h"
#include "format/table/grid.h"
#include "profile/profile.h"
#include "query/guard.h"
#include "query/source.h"

#include <errno.h>

struct sql_cmd_opts {
	const char *data, *output;
	struct remote_opts remote;
	int format;
	uint64_t time_ns, rows, memory_bytes;
};

/* From the second on in the order of enum grid_format. */
static const char *const format_words[] = { "auto", "table", "csv", "json", NULL };

#define PART(title, member) .group = title, .offset = offsetof(struct sql_cmd_opts, member)
static const struct cmd_opt sql_options[] = {
	{ NULL, "data", "PATH", "a recording, a profile of any format, or a store directory",
	  OPT_STRING, PART("Data", data), .basic = true },
	{ NULL, "format", "NAME", "table, csv or json; auto: by the ending of OUT, else a table",
	  OPT_ENUM, PART("Output", format), .words = format_words, .def = "auto", .basic = true },
	{ "o", "output", "OUT", "output file; - for standard output", OPT_STRING,
	  PART("Output", output), .def = "-", .basic = true },
	REMOTE_OPTIONS(sql_cmd_opts),
	{ NULL, "timeout", "TIME", "time limit; 0: none", OPT_DURATION, PART("Limits", time_ns),
	  .def = "60s", .basic = true },
	{ NULL, "max-rows", "N", "maximum number of result rows, more is an error; 0: none",
	  OPT_U64, PART("Limits", rows), .def = "1000000" },
	{ NULL, "memory", "SIZE", "memory limit for sorting and grouping; 0: none", OPT_SIZE,
	  PART("Limits", memory_bytes), .def = "512M" },
	{ 0 },
};

/* --- the response ----------------------------------------------------------------------------- */

/* A failed write has an exit status of its own. */
struct writer {
	struct grid *grid;
	bool failed;
};

static int write_columns(void *ctx, const char *const *names, size_t n, struct err *err)
{
	struct writer *w = ctx;
	int rc = grid_columns(w->grid, names, n, err);
	w->failed = rc != 0;
	return rc;
}

static int write_row(void *ctx, const struct cell *cells, size_t n, struct err *err)
{
	struct writer *w = ctx;
	int rc = grid_row(w->grid, cells, n, err);
	w->failed = rc != 0;
	return rc;
}

static int answer(struct sql *sql, const char *text, struct grid *grid, struct err *err)
{
	struct writer w = { .grid = grid };
	struct sql_answer to = { write_columns, write_row, &w };
	int rc = sql_run(sql, text, &to, err);
	if (rc == 0) {
		rc = grid_finish(grid, err);
		w.failed = rc != 0;
	}
	if (rc == 0)
		return CMD_OK;
	return cmd_fail(rc == -EINVAL              ? CMD_USAGE
			: w.failed && rc != -E2BIG ? CMD_NO_OUTPUT
						   : CMD_FAILED,
			err);
}

static enum grid_format answer_format(const struct cmd_line *line, const struct sql_cmd_opts *o)
{
	if (line->globals.json)
		return GRID_JSON;
	if (o->format)
		return (enum grid_format)(o->format - 1);
	return str_ends(o->output, ".csv")    ? GRID_CSV
	       : str_ends(o->output, ".json") ? GRID_JSON
					      : GRID_TEXT;
}

static int write_answer(const struct cmd_line *line, const struct sql_cmd_opts *o, struct sql *sql)
{
	bool to_terminal = strcmp(o->output, "-") == 0;
	struct grid_opts opts = {
		.format = answer_format(line, o),
		.width = to_terminal ? line->term.width_out : 0,
		.utf8 = to_terminal ? line->term.utf8 : true,
		.color = to_terminal && line->term.color_out,
	};
	struct err err = { 0 };
	struct out out;
	if (out_open(&out, o->output, &err) < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	struct grid *grid = grid_new(&opts, &out);
	int status = answer(sql, line->args.v[0], grid, &err);
	grid_free(grid);
	if (status != CMD_OK)
		out_abort(&out);
	else if (out_commit(&out, &err) < 0)
		status = cmd_fail(CMD_NO_OUTPUT, &err);
	return status;
}

static int ask(const struct cmd_line *line, const struct sql_cmd_opts *o, struct source *source)
{
	struct guard_limits limits = { .time_ns = o->time_ns,
				       .memory_bytes = o->memory_bytes,
				       .rows = o->rows };
	struct err err = { 0 };
	struct sql *sql;
	if (sql_open(source, &limits, &sql, &err) < 0)
		return cmd_fail(CMD_FAILED, &err);
	int status = write_answer(line, o, sql);
	sql_close(sql);
	return status;
}

/* --- a server --------------------------------------------------------------------------------- */

/* The server's limits apply; a table is as wide as this terminal, and has no colours. */
static int ask_server(const struct cmd_line *line, const struct sql_cmd_opts *o)
{
	static const char *const formats[] = { "table", "csv", "json" };
	bool to_terminal = strcmp(o->output, "-") == 0;
	struct remote_opts remote = o->remote;
	struct question q;
	struct buf answer = { 0 };
	if (o->data)
		return cmd_usage(line, "choose one of --data and --server");
	question_init(&q, "api/v1/sql");
	question_add(&q, "fmt", formats[answer_format(line, o)]);
	if (to_terminal && answer_format(line, o) == GRID_TEXT) {
		question_add_u64(&q, "width", line->term.width_out);
		question_add(&q, "ascii", line->term.utf8 ? NULL : "1");
	}
	q.body = line->args.v[0];
	remote.timeout_ns = o->time_ns;
	int status = remote_ask(&remote, &q, &answer);
	if (status == CMD_OK)
		status = remote_write(o->output, &answer);
	buf_done(&answer);
	return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static int sql_cmd_run(struct cmd_line *line, const void *opts)
{
	const struct sql_cmd_opts *o = opts;
	struct profile *file;
	struct source *source;
	if (line->globals.json && o->format && o->format - 1 != GRID_JSON)
		return cmd_usage(line, "choose one of --json and --format");
	if (o->remote.server)
		return ask_server(line, o);
	int status = data_open(line, o->data, &file, &source);
	if (status != CMD_OK)
		return status;
	status = ask(line, o, source);
	data_say_left_out(source);
	source_close(source);
	profile_free(file);
	return status;
}

const struct cmd cmd_sql = {
	.name = "sql",
	.summary = "SQL over recordings and the store",
	.usage = "--data PATH 'SELECT ...' [OPTIONS]",
	.about = "Runs one SELECT and prints its rows. The tables: samples (time length type "
		 "series stack value pid tid cpu sample_type trace_id span_id), stacks (stack "
		 "depth root leaf hash stack_id), frames (stack depth kind function file line "
		 "binary inlined mapping build_id offset function_id), functions (id name file "
		 "binary kind), series (id type sample_type unit period period_type period_unit "
		 "aggregation), labels (series key value unit), metrics (time name value series). "
		 "stack_text(stack) is a stack as one line, root first; has_function(stack, 'RE') "
		 "is 1 if RE matches the whole name of one of its functions. Times are Unix "
		 "time in "
		 "nanoseconds.\n"
		 "SQLite runs the query in memory: it reads only the data and writes only the "
		 "result. Conditions on series, type and time of samples are pushed down, so "
		 "data outside them is not read.",
	.examples = {
		"cresset sql --data a.cresset 'SELECT * FROM series'\tall series",
		"cresset sql --data a.cresset 'SELECT * FROM stacks' --json\tas JSON",
		"cresset sql --data a.pb.gz 'SELECT * FROM samples' -o a.csv\tall of it",
	},
	.options = sql_options,
	.opts_size = sizeof(struct sql_cmd_opts),
	.min_args = 1,
	.max_args = 1,
	.arg_name = "'SELECT ...'",
	.has_json = true,
	.run = sql_cmd_run,
};
