/* Writes the heatmap as SVG. */
#include "format/picture/svg.h"

#include "assets.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "format/common/headline.h"
#include "format/common/heat_scale.h"
#include "format/common/value.h"
#include "format/picture/svg_page.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

enum {
	LEFT = 60,      /* width of the row labels */
	TOP = 84,       /* heading and scale */
	CELL = 9,       /* height */
	CELL_MAX = 36,  /* maximum width */
	LABEL_ROWS = 5, /* rows between labels */
	TICK_SPACE = 60,
	FOOT = 60, /* column labels, and the line with the selection */
	SWATCH = 26
};

struct heat_picture {
	const struct profile *profile;
	const struct heatmap *h;
	struct heat_scale scale;
	double cell_px;
	struct svg_page page;
};

static double column_x(const struct heat_picture *pic, uint32_t column)
{
	return LEFT + column * pic->cell_px;
}

/* Draws a cell with "12.3 ms\n--time 3.2s-3.22s". */
static void put_cell(struct heat_picture *pic, uint32_t column, uint32_t row)
{
	const struct heatmap *h = pic->h;
	struct buf *b = &pic->page.buf, title = { 0 };
	int64_t value = heatmap_cell(h, column, row), from, to;
	int step = heat_step(&pic->scale, value);
	if (!heatmap_cell_range(h, column, row, &from, &to) || !step)
		return;
	value_fmt(&title, value, h->tree->unit);
	buf_adds(&title, "\n--time ");
	time_range_text(&title, from, to);
	buf_addf(b,
		 "<rect class=\"s%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
		 "data-i=\"%u\" data-v=\"%lld\"><title>",
		 heat_shade(&pic->scale, step), column_x(pic, column), TOP + CELL * row,
		 pic->cell_px > 3 ? pic->cell_px - 1 : pic->cell_px, CELL - 1,
		 column * HEATMAP_ROWS + row, (long long)value);
	esc_xml(b, title.data, title.len, SIZE_MAX);
	buf_adds(b, "</title></rect>\n");
	buf_done(&title);
}

/* Draws the selected range of a column as one rectangle, visible in empty cells. */
static void put_column(struct heat_picture *pic, uint32_t column)
{
	const struct heatmap *h = pic->h;
	int64_t from, to;
	uint32_t first = 0, end = HEATMAP_ROWS;
	while (first < end && !heatmap_cell_range(h, column, first, &from, &to))
		first++;
	while (end > first && !heatmap_cell_range(h, column, end - 1, &from, &to))
		end--;
	buf_addf(&pic->page.buf,
		 "<rect class=\"s0\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>\n",
		 column_x(pic, column), TOP + CELL * first,
		 pic->cell_px > 3 ? pic->cell_px - 1 : pic->cell_px, CELL * (end - first) - 1);
}

static int put_cells(struct heat_picture *pic, struct err *err)
{
	int rc = 0;
	buf_addf(&pic->page.buf, "<g class=\"cells\">\n");
	for (uint32_t column = 0; rc == 0 && column < pic->h->columns; column++) {
		put_column(pic, column);
		for (uint32_t row = 0; row < HEATMAP_ROWS; row++)
			put_cell(pic, column, row);
		rc = svg_flush(&pic->page, 1 << 16, err);
	}
	buf_adds(&pic->page.buf, "</g>\n");
	return rc;
}

static void put_axes(struct heat_picture *pic)
{
	const struct heatmap *h = pic->h;
	struct buf *b = &pic->page.buf;
	uint32_t each = 1;
	for (uint32_t row = 0; row < HEATMAP_ROWS; row += LABEL_ROWS)
		buf_addf(b,
			 "<text class=\"axis\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%.9g "
			 "s</text>\n",
			 LEFT - 6, TOP + CELL * row + CELL - 1, row * h->row_ns / 1e9);
	for (int i = 0; each * pic->cell_px < TICK_SPACE; i++)
		each = i % 3 == 1 ? each / 2 * 5 : each * 2;
	for (uint32_t column = 0; column < h->columns; column += each)
		buf_addf(b, "<text class=\"axis\" x=\"%.1f\" y=\"%d\">%.9g s</text>\n",
			 column_x(pic, column), TOP + CELL * HEATMAP_ROWS + 14,
			 (h->start_ns + column * h->column_ns) / 1e9);
}

/* Draws a swatch for each step, with its greatest value and unit. */
static void put_scale(struct heat_picture *pic)
{
	struct buf *b = &pic->page.buf, text = { 0 };
	double x = LEFT;
	for (int step = 0; step <= pic->scale.steps; step++) {
		int64_t bound = step ? heat_bound(&pic->scale, step) : 0;
		buf_clear(&text);
		if (!step)
			buf_adds(&text, "nothing");
		else if (heat_bound(&pic->scale, step - 1) + 1 < bound)
			buf_adds(&text, "\xe2\x89\xa4 ");
		if (step == pic->scale.steps)
			value_fmt(&text, bound, pic->h->tree->unit);
		else if (step)
			value_fmt_bare(&text, bound, pic->h->tree->unit);
		buf_addf(b,
			 "<rect class=\"s%d\" x=\"%.0f\" y=\"58\" width=\"%d\" height=\"12\"/>"
			 "<text class=\"axis\" x=\"%.0f\" y=\"68\">",
			 heat_shade(&pic->scale, step), x, SWATCH, x + SWATCH + 5);
		svg_text(b, buf_cstr(&text), SVG_MAX_NAME);
		buf_adds(b, "</text>\n");
		x += SWATCH + 5 + 7 * utf8_width(buf_cstr(&text)) + 14;
	}
	buf_done(&text);
}

static void put_heading(struct heat_picture *pic)
{
	const struct heatmap *h = pic->h;
	struct buf title = { 0 }, sub = { 0 };
	buf_addf(&title, "%.60s heatmap", h->tree->type_name);
	headline_counts(pic->profile, h->tree, &sub);
	buf_adds(&sub, HEADLINE_SEPARATOR);
	heat_explain(h, &sub);
	if (h->outside) {
		buf_adds(&sub, HEADLINE_SEPARATOR);
		value_fmt(&sub, h->outside, h->tree->unit);
		buf_adds(&sub, " before the start");
	}
	svg_put_heading(&pic->page.buf, buf_cstr(&title), buf_cstr(&sub));
	buf_done(&title);
	buf_done(&sub);
}

static void put_root(struct heat_picture *pic, uint32_t height)
{
	const struct heatmap *h = pic->h;
	struct value_unit unit = value_unit(h->tree->unit);
	struct buf *b = &pic->page.buf;
	svg_put_root(b, height);
	buf_addf(b,
		 " data-start=\"%lld\" data-row=\"%lld\" data-from=\"%lld\" data-to=\"%lld\" "
		 "data-columns=\"%u\" data-rows=\"%d\" data-left=\"%d\" data-top=\"%d\" "
		 "data-width=\"%.4f\" data-height=\"%d\" data-scale=\"%lld\" data-unit=\"",
		 (long long)h->start_ns, (long long)h->row_ns, (long long)h->from_ns,
		 (long long)h->to_ns, h->columns, HEATMAP_ROWS, LEFT, TOP, pic->cell_px, CELL,
		 (long long)unit.scale);
	svg_text(b, unit.base, SVG_MAX_NAME);
	buf_addf(b, "\" data-ramp=\"%s\">\n", heat_is_time(h) ? "blue" : "red");
}

static void put_description(struct heat_picture *pic)
{
	struct buf *b = &pic->page.buf, text = { 0 };
	buf_adds(&text, "Heatmap: time goes down each column and on from column to column; ");
	heat_explain(pic->h, &text);
	buf_adds(&text, ". ");
	headline_origin(pic->profile, &text);
	buf_adds(b, "<title>");
	svg_text(b, pic->h->tree->type_name, 60);
	buf_adds(b, " heatmap</title>\n<desc>");
	svg_text(b, buf_cstr(&text), SIZE_MAX);
	buf_adds(b, "</desc>\n");
	buf_done(&text);
}

static int picture_write(struct heat_picture *pic, struct err *err)
{
	struct buf *b = &pic->page.buf;
	uint32_t bottom = TOP + CELL * HEATMAP_ROWS;
	put_root(pic, bottom + FOOT);
	put_description(pic);
	buf_adds(b, "<style><![CDATA[\n");
	buf_add(b, asset_svg_heatmap_css, asset_svg_heatmap_css_len);
	buf_adds(b, "]]></style>\n");
	put_heading(pic);
	put_scale(pic);
	put_axes(pic);
	int rc = put_cells(pic, err);
	buf_addf(b,
		 "<g class=\"picked\"/>\n<text class=\"line\" x=\"%d\" y=\"%u\">"
		 "The title of a cell has its value and its --time.</text>\n",
		 LEFT, bottom + 42);
	svg_put_script(b, asset_svg_heatmap_js, asset_svg_heatmap_js_len);
	buf_adds(b, "</svg>\n");
	return rc ? rc : svg_flush(&pic->page, 0, err);
}

int heatmap_svg_write(const struct profile *p, const struct heatmap *h, struct out *out,
		      struct err *err)
{
	struct heat_picture pic = { .profile = p, .h = h, .page.out = out };
	pic.scale = heat_scale_of(h, HEAT_STEPS);
	pic.cell_px = (SVG_WIDTH - SVG_PAD - LEFT) / (double)h->columns;
	pic.cell_px = pic.cell_px < CELL_MAX ? pic.cell_px : CELL_MAX;
	int rc = picture_write(&pic, err);
	buf_done(&pic.page.buf);
	return rc;
}
