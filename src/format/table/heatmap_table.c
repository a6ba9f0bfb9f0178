/* The heatmap as text and JSON. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "format/common/columns.h"
#include "format/common/headline.h"
#include "format/common/heat_scale.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "profile/tree/tree.h"

enum {
	LABEL = 8,      /* columns before a line */
	CELL_MAX = 6,   /* maximum width if there are few columns */
	TICK_SPACE = 8, /* minimum distance of ticks */
	LABEL_ROWS = 10 /* rows between labels */
};
#define PLAIN_COLOR "\033[0m"

/* --- words --- */

bool heat_is_time(const struct heatmap *h)
{
	return strcmp(value_unit(h->tree->unit).base, "ns") == 0;
}

/* Appends "1 s" or "20 ms"; both are round numbers. */
static void put_width(struct buf *b, int64_t ns)
{
	if (ns >= 1000000000)
		buf_addf(b, "%.9g s", ns / 1e9);
	else
		buf_addf(b, "%.9g ms", ns / 1e6);
}

void heat_explain(const struct heatmap *h, struct buf *b)
{
	buf_adds(b, "a column is ");
	put_width(b, h->column_ns);
	buf_adds(b, ", a cell ");
	put_width(b, h->row_ns);
	buf_addf(b, " of it with %s", heat_is_time(h) ? "the time of all threads" : "its samples");
}

/* --- the look of a cell in text --- */

struct heat_text {
	const struct heatmap *h;
	struct heat_scale scale;
	const char *const *glyphs; /* by step; NULL: colour */
	const uint8_t *colors;     /* of 256, by shade */
	const char *empty;         /* an empty cell */
	bool utf8;
	uint32_t cell_width, rows_a_line;
};

static const char *const ascii_glyphs[] = { NULL, ":", "-", "=", "+", "*", "#", "%", "@" };
static const char *const block_glyphs[] = { NULL, "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
					    "\xe2\x96\x88" };
/* Both ramps are visible on light and dark backgrounds, and get darker. */
static const uint8_t red_ramp[] = { 0, 223, 216, 209, 203, 196, 160, 124, 88 };
static const uint8_t blue_ramp[] = { 0, 153, 117, 75, 39, 33, 27, 20, 18 };

static struct heat_text text_of(const struct heatmap *h, const struct table_opts *opts)
{
	enum { BLOCKS = sizeof block_glyphs / sizeof *block_glyphs - 1 };
	bool blocks = opts->utf8 && opts->width && !opts->color;
	struct heat_text t = { .h = h, .rows_a_line = 1 };
	t.utf8 = opts->utf8 && (opts->color || opts->width);
	uint32_t room = heatmap_text_columns(opts);
	t.scale = heat_scale_of(h, blocks ? BLOCKS : HEAT_STEPS);
	t.colors = heat_is_time(h) ? blue_ramp : red_ramp;
	if (!opts->color)
		t.glyphs = blocks ? block_glyphs : ascii_glyphs;
	t.empty = t.utf8 ? "\xc2\xb7" : ".";
	if (opts->color && opts->utf8)
		t.rows_a_line = 2;
	t.cell_width = room / h->columns < CELL_MAX ? room / h->columns : CELL_MAX;
	return t;
}

uint32_t heatmap_text_columns(const struct table_opts *opts)
{
	enum { LEAST = 40 };
	uint32_t width = opts->width ? opts->width : HEATMAP_PLAIN_WIDTH;
	width = (width < LEAST ? LEAST : width) - LABEL - 2;
	return width < HEATMAP_MAX_COLUMNS ? width : HEATMAP_MAX_COLUMNS;
}

/* Returns -1 outside the selected range. */
static int step_at(const struct heat_text *t, uint32_t column, uint32_t row)
{
	int64_t from, to;
	if (!heatmap_cell_range(t->h, column, row, &from, &to))
		return -1;
	return heat_step(&t->scale, heatmap_cell(t->h, column, row));
}

static void repeat(struct buf *b, const char *s, uint32_t n)
{
	while (n--)
		buf_adds(b, s);
}

static int color_of(const struct heat_text *t, int step)
{
	return t->colors[heat_shade(&t->scale, step)];
}

/* Draws two rows in one character: the upper half in the foreground colour, the lower in the
 * background colour. */
static void put_halves(const struct heat_text *t, int upper, int lower, struct buf *b)
{
	if (upper > 0 && lower > 0)
		buf_addf(b, "\033[38;5;%d;48;5;%dm", color_of(t, upper), color_of(t, lower));
	else if (upper > 0 || lower > 0)
		buf_addf(b, "\033[38;5;%dm", color_of(t, upper > 0 ? upper : lower));
	repeat(b,
	       upper > 0   ? "\xe2\x96\x80"
	       : lower > 0 ? "\xe2\x96\x84"
	       : upper < 0 ? " "
			   : t->empty,
	       t->cell_width);
	buf_adds(b, upper > 0 || lower > 0 ? PLAIN_COLOR : "");
}

static void put_cell(const struct heat_text *t, uint32_t column, uint32_t row, struct buf *b)
{
	int step = step_at(t, column, row);
	if (t->rows_a_line == 2) {
		put_halves(t, step, step_at(t, column, row + 1), b);
	} else if (step <= 0) {
		repeat(b, step < 0 ? " " : t->empty, t->cell_width);
	} else if (t->glyphs) {
		repeat(b, t->glyphs[step], t->cell_width);
	} else {
		buf_addf(b, "\033[48;5;%dm", color_of(t, step));
		repeat(b, " ", t->cell_width);
		buf_adds(b, PLAIN_COLOR);
	}
}

static void put_seconds(struct buf *b, int64_t ns)
{
	buf_addf(b, "%.9gs", ns / 1e9);
}

static void put_row_label(const struct heat_text *t, uint32_t row, struct buf *b)
{
	struct buf label = { 0 };
	if (row % LABEL_ROWS == 0)
		put_seconds(&label, row * t->h->row_ns);
	columns_right(b, buf_cstr(&label), LABEL);
	buf_adds(b, t->utf8 ? " \xe2\x94\x82" : " |");
	buf_done(&label);
}

/* Appends "0 s       10 s": the start times of columns. */
static void put_ticks(const struct heat_text *t, struct buf *b)
{
	uint32_t each = 1;
	size_t at = 0;
	for (int i = 0; each * t->cell_width < TICK_SPACE; i++)
		each = i % 3 == 1 ? each / 2 * 5 : each * 2;
	repeat(b, " ", LABEL + 2);
	for (uint32_t c = 0; c < t->h->columns; c += each) {
		struct buf tick = { 0 };
		for (; at < (size_t)c * t->cell_width; at++)
			buf_addc(b, ' ');
		put_seconds(&tick, t->h->start_ns + c * t->h->column_ns);
		buf_adds(b, buf_cstr(&tick));
		at += tick.len;
		buf_done(&tick);
	}
	buf_addc(b, '\n');
}

static void put_matrix(const struct heat_text *t, struct buf *b)
{
	for (uint32_t row = 0; row < HEATMAP_ROWS; row += t->rows_a_line) {
		put_row_label(t, row, b);
		for (uint32_t column = 0; column < t->h->columns; column++)
			put_cell(t, column, row, b);
		while (b->data[b->len - 1] == ' ')
			b->len--;
		buf_addc(b, '\n');
	}
}

/* Appends ". 0  : 1-3  - 4-6": the values of the steps. */
static void put_scale(const struct heat_text *t, struct buf *b)
{
	buf_addf(b, "%s nothing", t->empty);
	for (int step = 1; step <= t->scale.steps; step++) {
		buf_adds(b, "  ");
		if (t->glyphs)
			buf_addf(b, "%s ", t->glyphs[step]);
		else
			buf_addf(b, "\033[48;5;%dm  " PLAIN_COLOR " ", color_of(t, step));
		buf_adds(b, heat_bound(&t->scale, step - 1) + 1 < heat_bound(&t->scale, step)
				    ? "up to "
				    : "");
		value_fmt_bare(b, heat_bound(&t->scale, step), t->h->tree->unit);
	}
	buf_addc(b, '\n');
}

static void put_head(const struct profile *p, const struct heatmap *h, struct buf *b)
{
	struct buf line = { 0 };
	headline_origin(p, &line);
	if (line.len)
		buf_addf(b, "%s\n", buf_cstr(&line));
	buf_clear(&line);
	esc_term(&line, h->tree->type_name, strlen(h->tree->type_name), COLUMNS_MAX_BYTES);
	buf_adds(&line, ": ");
	headline_counts(p, h->tree, &line);
	buf_addf(b, "%s\n", buf_cstr(&line));
	heat_explain(h, b);
	if (h->outside) {
		buf_adds(b, "; ");
		value_fmt(b, h->outside, h->tree->unit);
		buf_adds(b, " before the start are not shown");
	}
	buf_adds(b, "\n\n");
	buf_done(&line);
}

void heatmap_text(const struct profile *p, const struct heatmap *h, const struct table_opts *opts,
		  struct buf *b)
{
	struct heat_text t = text_of(h, opts);
	put_head(p, h, b);
	put_ticks(&t, b);
	put_matrix(&t, b);
	buf_addc(b, '\n');
	put_scale(&t, b);
}

/* --- JSON and CSV --- */

static void json_cells(struct json *j, const struct heatmap *h)
{
	int64_t from, to;
	json_key(j, "cells");
	json_arr(j);
	for (uint32_t column = 0; column < h->columns; column++) {
		json_arr(j);
		for (uint32_t row = 0; row < HEATMAP_ROWS; row++)
			if (heatmap_cell_range(h, column, row, &from, &to))
				json_i64(j, heatmap_cell(h, column, row));
			else
				json_str(j, NULL);
		json_end(j);
	}
	json_end(j);
}

void heatmap_json(const struct heatmap *h, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_str(&j, "format", "cresset.heatmap");
	json_key_i64(&j, "version", 1);
	json_key_str(&j, "type", h->tree->type_name);
	json_key_str(&j, "unit", h->tree->unit);
	json_key_i64(&j, "epoch_ns", h->epoch_ns);
	json_key_i64(&j, "from_ns", h->from_ns);
	json_key_i64(&j, "to_ns", h->to_ns);
	json_key_i64(&j, "start_ns", h->start_ns);
	json_key_i64(&j, "column_ns", h->column_ns);
	json_key_i64(&j, "row_ns", h->row_ns);
	json_key_i64(&j, "columns", h->columns);
	json_key_i64(&j, "rows", HEATMAP_ROWS);
	json_key_i64(&j, "total", h->tree->nodes.v[TREE_ROOT].total);
	json_key_i64(&j, "outside", h->outside);
	json_key_i64(&j, "max", h->max);
	json_cells(&j, h);
	json_end(&j);
	buf_addc(b, '\n');
}

void heatmap_csv(const struct heatmap *h, struct buf *b)
{
	int64_t from, to;
	buf_adds(b, "offset_s");
	for (uint32_t column = 0; column < h->columns; column++)
		buf_addf(b, ",%.9g", (h->start_ns + column * h->column_ns) / 1e9);
	for (uint32_t row = 0; row < HEATMAP_ROWS; row++) {
		buf_addf(b, "\n%.9g", row * h->row_ns / 1e9);
		for (uint32_t column = 0; column < h->columns; column++) {
			buf_addc(b, ',');
			if (heatmap_cell_range(h, column, row, &from, &to))
				buf_addf(b, "%lld", (long long)heatmap_cell(h, column, row));
		}
	}
	buf_addc(b, '\n');
}
