/* Formats rows as text, CSV or JSON. */
#include "format/table/grid.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "format/common/columns.h"
#include "format/table/table_rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { FLUSH_BYTES = 64 * 1024, LEAST_WIDTH = 8, GAP = 2 };
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

struct grid_column {
	uint32_t width;
	bool is_text; /* has a text value: left-aligned */
};
struct grid {
	struct grid_opts opts;
	struct out *out;
	struct buf b;
	struct json json;
	size_t n_columns;

	/* For text: the names, then the rows. */
	struct arena arena;
	VEC(const char *) cells;
	struct grid_column *columns;
};

struct grid *grid_new(const struct grid_opts *opts, struct out *out)
{
	struct grid *g = xcalloc(1, sizeof *g);
	g->opts = *opts;
	g->out = out;
	g->json = json_to(&g->b);
	return g;
}

void grid_free(struct grid *g)
{
	if (!g)
		return;
	buf_done(&g->b);
	arena_done(&g->arena);
	vec_done(&g->cells);
	free(g->columns);
	free(g);
}

static int flush(struct grid *g, size_t at_least, struct err *err)
{
	if (g->b.len < at_least)
		return 0;
	int rc = out_write(g->out, g->b.data, g->b.len, err);
	buf_clear(&g->b);
	return rc;
}

/* --- values ----------------------------------------------------------------------------------- */

static void add_real(struct buf *b, double v)
{
	struct json j = json_to(b);
	if (isfinite(v))
		json_num(&j, v);
	else
		buf_adds(b, v > 0 ? "inf" : "-inf"); /* SQL has no NaN */
}

static void add_hex(struct buf *b, const struct cell *c)
{
	for (size_t i = 0; i < c->len; i++)
		buf_addf(b, "%02x", (unsigned char)c->data[i]);
}

/* Replaces NULs, so that no reader of C strings truncates the text. */
static void add_text(struct buf *b, const struct cell *c)
{
	const char *s = c->data, *end = s + c->len, *nul;
	for (; (nul = memchr(s, '\0', end - s)); s = nul + 1) {
		buf_add(b, s, nul - s);
		buf_adds(b, "\xef\xbf\xbd");
	}
	buf_add(b, s, end - s);
}

static void add_plain(struct buf *b, const struct cell *c)
{
	switch (c->kind) {
	case CELL_NULL:
		buf_adds(b, "NULL");
		break;
	case CELL_INTEGER:
		buf_addf(b, "%lld", (long long)c->integer);
		break;
	case CELL_REAL:
		add_real(b, c->real);
		break;
	case CELL_TEXT:
		add_text(b, c);
		break;
	case CELL_BLOB:
		add_hex(b, c);
		break;
	}
}

/* --- text ------------------------------------------------------------------------------------- */

static int text_cell(struct grid *g, const struct cell *c, struct grid_column *column,
		     struct err *err)
{
	buf_clear(&g->b);
	add_plain(&g->b, c);
	size_t width = utf8_width(buf_cstr(&g->b));
	column->width = width > column->width ? width : column->width;
	column->is_text |= c->kind == CELL_TEXT || c->kind == CELL_BLOB;
	if (g->arena.total + g->b.len > GRID_MAX_BYTES) {
		err_set(err, E2BIG, "the result is too large for a text table");
		return err_hint(err, "--format csv and --format json write any");
	}
	vec_push(&g->cells, (const char *)arena_dup(&g->arena, g->b.data, g->b.len));
	return 0;
}

static uint64_t line_width(const struct grid *g)
{
	uint64_t width = 0;
	for (size_t i = 0; i < g->n_columns; i++)
		width += g->columns[i].width + (i ? GAP : 0);
	return width;
}

/* Truncates the widest text column to fit the line, as long as one is worth truncating. */
static void fit_columns(struct grid *g)
{
	for (size_t i = 0; i < g->n_columns; i++)
		if (g->columns[i].width > COLUMNS_MAX_BYTES)
			g->columns[i].width = COLUMNS_MAX_BYTES;
	while (g->opts.width && line_width(g) > g->opts.width) {
		struct grid_column *widest = NULL;
		uint64_t over = line_width(g) - g->opts.width;
		for (size_t i = 0; i < g->n_columns; i++)
			if (g->columns[i].is_text && g->columns[i].width > LEAST_WIDTH &&
			    (!widest || g->columns[i].width > widest->width))
				widest = &g->columns[i];
		if (!widest)
			return;
		uint32_t most = widest->width - LEAST_WIDTH;
		widest->width -= over < most ? over : most;
	}
}

static void text_line(struct grid *g, const char *const *cells, struct buf *line)
{
	for (size_t i = 0; i < g->n_columns; i++) {
		const struct grid_column *c = &g->columns[i];
		buf_adds(line, i ? "  " : "");
		if (!c->is_text)
			columns_right(line, cells[i], c->width);
		else if (i + 1 < g->n_columns)
			columns_left(line, cells[i], c->width);
		else
			columns_fit(line, cells[i], c->width);
	}
}

static int finish_text(struct grid *g, struct err *err)
{
	int rc = 0;
	buf_clear(&g->b);
	fit_columns(g);
	for (size_t i = 0; rc == 0 && i < g->cells.n; i += g->n_columns) {
		bool bold = i == 0 && g->opts.color;
		struct buf line = { 0 };
		text_line(g, g->cells.v + i, &line);
		buf_adds(&g->b, bold ? BOLD : "");
		if (g->opts.utf8)
			buf_add(&g->b, line.data, line.len);
		else
			table_ascii(&line, &g->b);
		buf_adds(&g->b, bold ? PLAIN "\n" : "\n");
		buf_done(&line);
		rc = flush(g, FLUSH_BYTES, err);
	}
	return rc;
}

/* --- CSV and JSON ----------------------------------------------------------------------------- */

static void csv_cell(struct buf *b, const struct cell *c, bool is_first)
{
	buf_adds(b, is_first ? "" : ",");
	if (c->kind == CELL_TEXT)
		esc_csv(b, c->data, c->len, SIZE_MAX);
	else if (c->kind != CELL_NULL)
		add_plain(b, c);
}

static void json_cell(struct json *j, const struct cell *c)
{
	struct buf text = { 0 };
	switch (c->kind) {
	case CELL_NULL:
		json_str(j, NULL);
		break;
	case CELL_INTEGER:
		json_i64(j, c->integer);
		break;
	case CELL_REAL:
		json_num(j, c->real);
		break;
	default:
		add_plain(&text, c);
		json_str(j, buf_cstr(&text));
	}
	buf_done(&text);
}

static void json_head(struct json *j, const char *const *names, size_t n)
{
	json_obj(j);
	json_key_str(j, "format", "cresset.sql");
	json_key_i64(j, "version", 1);
	json_key(j, "columns");
	json_arr(j);
	for (size_t i = 0; i < n; i++)
		json_str(j, names[i]);
	json_end(j);
	json_key(j, "rows");
	json_arr(j);
}

/* --- the interface ---------------------------------------------------------------------------- */

int grid_columns(struct grid *g, const char *const *names, size_t n, struct err *err)
{
	struct grid_column unused;
	int rc = 0;
	g->n_columns = n;
	if (g->opts.format == GRID_JSON)
		json_head(&g->json, names, n);
	if (g->opts.format == GRID_TEXT)
		g->columns = xcalloc(n, sizeof *g->columns);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct cell name = { .kind = CELL_TEXT, .data = names[i], .len = strlen(names[i]) };
		if (g->opts.format == GRID_CSV)
			csv_cell(&g->b, &name, i == 0);
		if (g->opts.format != GRID_TEXT)
			continue;
		unused = (struct grid_column){ 0 };
		rc = text_cell(g, &name, &unused, err);
		g->columns[i].width = unused.width; /* a name does not make its column text */
	}
	if (g->opts.format == GRID_CSV)
		buf_addc(&g->b, '\n');
	return rc;
}

int grid_row(struct grid *g, const struct cell *cells, size_t n, struct err *err)
{
	int rc = 0;
	if (g->opts.format == GRID_JSON)
		json_arr(&g->json);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (g->opts.format == GRID_TEXT)
			rc = text_cell(g, &cells[i], &g->columns[i], err);
		else if (g->opts.format == GRID_CSV)
			csv_cell(&g->b, &cells[i], i == 0);
		else
			json_cell(&g->json, &cells[i]);
	}
	if (g->opts.format == GRID_TEXT)
		return rc;
	if (g->opts.format == GRID_JSON)
		json_end(&g->json);
	else
		buf_addc(&g->b, '\n');
	return flush(g, FLUSH_BYTES, err);
}

int grid_finish(struct grid *g, struct err *err)
{
	int rc = g->opts.format == GRID_TEXT ? finish_text(g, err) : 0;
	if (g->opts.format == GRID_JSON) {
		json_end(&g->json);
		json_end(&g->json);
		buf_addc(&g->b, '\n');
	}
	return rc ? rc : flush(g, 1, err);
}
