/* Writes the flame chart as SVG. */
#include "assets.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/str.h"
#include "base/vec.h"
#include "format/common/columns.h"
#include "format/common/headline.h"
#include "format/common/value.h"
#include "format/picture/flame_chart.h"
#include "format/picture/svg.h"
#include "format/picture/svg_page.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/state.h"
#include "profile/tree/time_range.h"

#include <math.h>

enum {
	AXIS = SVG_ROW,   /* labels of the time axis, followed by the row for all threads */
	LANE_GAP = 6,     /* between lanes */
	TICK_SPACE = 100, /* minimum distance of ticks */
	TICK_LABEL = 40   /* part of it used by text */
};
#define DOT HEADLINE_SEPARATOR

struct drawn_lane {
	size_t first, n; /* in boxes */
	uint32_t y;
};
struct chart_picture {
	const struct profile *profile;
	const struct format_write_opts *opts;
	struct flame_chart chart;
	struct palette *palette;
	struct chart_boxes boxes;
	struct drawn_lane lanes[CHART_MAX_LANES];
	uint32_t height; /* of axis and lanes */
	double px_per_ns, min_width_px;
	struct svg_page page;
};

/* --- layout --- */

static bool layout_lanes(struct chart_picture *pic, size_t max)
{
	int64_t min_ns = value_clamp(ceil(pic->min_width_px / pic->px_per_ns));
	pic->height = AXIS + SVG_ROW + LANE_GAP;
	vec_clear(&pic->boxes.all);
	pic->boxes.merged = 0;
	for (size_t i = 0; i < pic->chart.lanes.n; i++) {
		size_t first = pic->boxes.all.n;
		pic->boxes.depth = 0;
		if (!chart_lane_boxes(&pic->chart, &pic->chart.lanes.v[i], min_ns, max,
				      &pic->boxes))
			return false;
		pic->lanes[i] = (struct drawn_lane){ first, pic->boxes.all.n - first, pic->height };
		pic->height += SVG_ROW * (1 + pic->boxes.depth) + LANE_GAP;
	}
	return true;
}

/* Merges more until it fits; in the worst case each lane is one shade. */
static void picture_layout(struct chart_picture *pic)
{
	size_t max = pic->opts->force ? SIZE_MAX : SVG_MAX_RECTS - CHART_MAX_LANES - 1;
	pic->px_per_ns = SVG_INNER / (double)(pic->chart.to_ns - pic->chart.from_ns);
	pic->min_width_px =
		pic->opts->min_width_px ? pic->opts->min_width_px : SVG_MIN_WIDTH_DEFAULT_PX;
	pic->min_width_px = pic->min_width_px > 0 ? pic->min_width_px : 0;
	while (!layout_lanes(pic, max))
		pic->min_width_px =
			pic->min_width_px > 0 ? 1.25 * pic->min_width_px : SVG_MIN_WIDTH_DEFAULT_PX;
}

/* --- text --- */

static const struct tree_func *node_func(const struct chart_picture *pic, uint32_t node)
{
	const struct tree *t = pic->chart.tree;
	return &t->funcs.v[t->nodes.v[node].func];
}

static bool is_shade(const struct chart_box *box)
{
	return box->merged > 1;
}

static void put_name(const struct chart_picture *pic, const struct chart_box *box, struct buf *b)
{
	if (!is_shade(box)) {
		uint32_t name = node_func(pic, box->node)->name;
		buf_adds(b, strtab_get(&pic->chart.tree->strings, name));
		return;
	}
	fmt_count(b, box->merged);
	buf_addf(b, " frames below %.3g px", pic->min_width_px);
}

static void put_id(struct buf *b, uint32_t id)
{
	if (id == SAMPLE_NO_ID)
		buf_addc(b, '?');
	else
		buf_addf(b, "%u", id);
}

/* Appends "redis-server 812/815". */
static void put_lane_name(const struct chart_picture *pic, const struct chart_lane *lane,
			  struct buf *b)
{
	const char *name = profile_str(pic->profile, lane->name);
	columns_fit(b, *name ? name : "thread", SVG_TITLE_COLUMNS);
	buf_addc(b, ' ');
	put_id(b, lane->pid);
	buf_addc(b, '/');
	put_id(b, lane->tid);
}

static void put_times(struct buf *b, int64_t from_ns, int64_t to_ns)
{
	fmt_duration(b, to_ns - from_ns);
	buf_adds(b, DOT "--time ");
	time_range_text(b, from_ns, to_ns);
}

/* Appends "kernel · vmlinux · 12.3 ms · --time 3.2s-3.2123s". */
static void put_info(const struct chart_picture *pic, const struct chart_box *box, struct buf *b)
{
	if (!is_shade(box)) {
		const struct tree_func *f = node_func(pic, box->node);
		const char *binary = strtab_get(&pic->chart.tree->strings, f->binary);
		buf_addf(b, "%s%s" DOT, frame_kinds[f->kind].name, f->inlined ? ", inlined" : "");
		esc_term(b, binary, strlen(binary), SVG_MAX_NAME);
		buf_adds(b, *binary ? DOT : "");
	}
	put_times(b, box->from_ns, box->to_ns);
}

static void put_lane_info(const struct chart_picture *pic, const struct chart_lane *lane,
			  struct buf *b)
{
	buf_adds(b, "thread" DOT);
	value_fmt(b, lane->value, pic->chart.tree->unit);
	buf_adds(b, DOT);
	fmt_count(b, lane->samples);
	buf_adds(b, lane->samples == 1 ? " stack" : " stacks");
}

/* --- rectangles --- */

static double px_at(const struct chart_picture *pic, int64_t ns)
{
	return (ns - pic->chart.from_ns) * pic->px_per_ns;
}

static struct shade box_shade(const struct chart_picture *pic, const struct chart_box *box)
{
	if (is_shade(box))
		return (struct shade){ PALETTE_REST, 0 };
	return palette_shade(pic->palette, box->node);
}

struct chart_rect {
	struct shade shade;
	uint32_t y, rows;
	int64_t from_ns, to_ns;
	const char *class, *attributes; /* additional ones */
};

static void put_rect(struct chart_picture *pic, const struct chart_rect *r, struct buf *name,
		     struct buf *info)
{
	struct buf *b = &pic->page.buf;
	buf_addf(b,
		 "<rect class=\"%c%d%s\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
		 "data-s=\"%lld\" data-v=\"%lld\"%s><title>",
		 svg_letter(r->shade.swatch), r->shade.step, r->class, px_at(pic, r->from_ns), r->y,
		 svg_gapped((r->to_ns - r->from_ns) * pic->px_per_ns), SVG_ROW * r->rows - 1,
		 (long long)r->from_ns, (long long)(r->to_ns - r->from_ns), r->attributes);
	svg_text(b, buf_cstr(name), SVG_MAX_NAME);
	buf_addc(b, '\n');
	svg_text(b, buf_cstr(info), SIZE_MAX);
	buf_adds(b, "</title></rect>\n");
	buf_clear(name);
	buf_clear(info);
}

/* Draws the row for all threads, below the axis. */
static void put_whole(struct chart_picture *pic, struct buf *name, struct buf *info)
{
	const struct flame_chart *c = &pic->chart;
	struct chart_rect r = { { PALETTE_ROOT, 0 }, AXIS, 1, c->from_ns, c->to_ns, "", "" };
	buf_adds(name, "all threads");
	put_times(info, c->from_ns, c->to_ns);
	put_rect(pic, &r, name, info);
}

static uint32_t box_y(const struct drawn_lane *lane, const struct chart_box *box)
{
	return lane->y + SVG_ROW * (1 + box->depth);
}

static int put_lane(struct chart_picture *pic, size_t i, struct buf *name, struct buf *info,
		    struct err *err)
{
	const struct flame_chart *c = &pic->chart;
	const struct drawn_lane *lane = &pic->lanes[i];
	struct chart_rect head = { { PALETTE_ROOT, 0 }, lane->y, 1, c->from_ns, c->to_ns, "",
				   " data-l=\"\"" };
	int rc = 0;
	put_lane_name(pic, &c->lanes.v[i], name);
	put_lane_info(pic, &c->lanes.v[i], info);
	put_rect(pic, &head, name, info);
	for (size_t k = lane->first; rc == 0 && k < lane->first + lane->n; k++) {
		const struct chart_box *box = &pic->boxes.all.v[k];
		struct chart_rect r = { .shade = box_shade(pic, box),
					.y = box_y(lane, box),
					.rows = box->rows,
					.from_ns = box->from_ns,
					.to_ns = box->to_ns,
					.class = is_shade(box) ? " n" : "",
					.attributes = "" };
		put_name(pic, box, name);
		put_info(pic, box, info);
		put_rect(pic, &r, name, info);
		rc = svg_flush(&pic->page, 1 << 16, err);
	}
	return rc;
}

static int put_lane_labels(struct chart_picture *pic, size_t i, struct buf *name, struct err *err)
{
	const struct drawn_lane *lane = &pic->lanes[i];
	struct buf *b = &pic->page.buf;
	uint32_t n_swatches;
	const struct swatch *swatches = palette_swatches(pic->palette, &n_swatches);
	put_lane_name(pic, &pic->chart.lanes.v[i], name);
	svg_put_label(b, 0, lane->y, SVG_INNER, buf_cstr(name), " class=\"l\" font-weight=\"600\"");
	for (size_t k = lane->first; k < lane->first + lane->n; k++) {
		const struct chart_box *box = &pic->boxes.all.v[k];
		double width = (box->to_ns - box->from_ns) * pic->px_per_ns;
		if (width < SVG_MIN_LABEL)
			continue;
		buf_clear(name);
		put_name(pic, box, name);
		svg_put_label(b, px_at(pic, box->from_ns), box_y(lane, box), width, buf_cstr(name),
			      swatches[box_shade(pic, box).swatch].light_text
				      ? " class=\"w\" fill=\"#fff\""
				      : "");
	}
	buf_clear(name);
	return svg_flush(&pic->page, 1 << 16, err);
}

/* --- the time axis --- */

/* Returns 1, 2 or 5 times a power of ten. */
static int64_t tick_step(double least_ns)
{
	int64_t step = 1;
	for (int i = 0; step < least_ns && step <= INT64_MAX / 10; i++)
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	return step;
}

/* The script redraws the axis for the visible range. */
static void put_axis(struct chart_picture *pic)
{
	const struct flame_chart *c = &pic->chart;
	struct buf *b = &pic->page.buf;
	int64_t step = tick_step(TICK_SPACE / pic->px_per_ns);
	for (int64_t k = (c->from_ns + step - 1) / step; k <= (c->to_ns - 1) / step; k++) {
		double x = px_at(pic, k * step);
		if (x > SVG_INNER - TICK_LABEL)
			break;
		buf_addf(b,
			 "<line stroke=\"#c9ccd2\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%u\"/>"
			 "<text x=\"%.1f\" y=\"12.5\">%.9g s</text>\n",
			 x, x, pic->height, x + 3, k * step / 1e9);
	}
}

/* --- the picture --- */

static void put_notes(const struct chart_picture *pic, struct buf *b)
{
	const struct flame_chart *c = &pic->chart;
	if (c->period_ns > 0) {
		buf_adds(b, DOT "a sample stands for ");
		fmt_duration(b, c->period_ns);
		buf_adds(b, " around it");
	} else if (c->period_ns < 0) {
		buf_adds(b, DOT "a sample stands for its period around it");
	}
	if (pic->profile->samples.length_ns)
		buf_adds(b, DOT "waits are exact");
	if (c->n_threads > c->lanes.n)
		buf_addf(b, DOT "%zu threads of %u, those with the most", c->lanes.n, c->n_threads);
	if (pic->boxes.merged) {
		buf_adds(b, DOT);
		fmt_count(b, pic->boxes.merged);
		buf_addf(b, " frames below %.3g px merged: zoom in with --time", pic->min_width_px);
	}
	if (c->placeless) {
		buf_adds(b, DOT);
		value_fmt(b, c->placeless, c->tree->unit);
		buf_adds(b, " known as sums only");
	}
	if (c->hidden) {
		buf_adds(b, DOT);
		fmt_count(b, c->hidden);
		buf_adds(b, c->hidden == 1 ? " sample" : " samples");
		buf_adds(b, " hidden by others");
	}
	if (c->cut) {
		buf_adds(b, DOT);
		fmt_count(b, c->cut);
		buf_addf(b, c->cut == 1 ? " stack" : " stacks");
		buf_addf(b, " cut at %d frames", CHART_MAX_DEPTH);
	}
}

static void put_heading(struct chart_picture *pic, const char *title)
{
	struct buf sub = { 0 };
	headline_counts(pic->profile, pic->chart.tree, &sub);
	put_notes(pic, &sub);
	svg_put_heading(&pic->page.buf, title, buf_cstr(&sub));
	buf_done(&sub);
}

static void put_style(struct chart_picture *pic)
{
	struct svg_colors colors = { .used[PALETTE_ROOT][0] = true };
	for (size_t i = 0; i < pic->boxes.all.n; i++) {
		struct shade shade = box_shade(pic, &pic->boxes.all.v[i]);
		colors.used[shade.swatch][shade.step] = true;
	}
	buf_adds(&pic->page.buf, "<style><![CDATA[\n");
	buf_add(&pic->page.buf, asset_svg_flame_css, asset_svg_flame_css_len);
	svg_put_colors(&pic->page.buf, pic->palette, &colors);
	buf_adds(&pic->page.buf, "]]></style>\n");
}

static void put_root(struct chart_picture *pic, uint32_t top)
{
	struct buf *b = &pic->page.buf;
	svg_put_root(b, top + pic->height + SVG_PAD);
	buf_addf(b, " data-rest=\"%c\" data-scale=\"1\" data-unit=\"ns\"",
		 svg_letter(PALETTE_REST));
	svg_put_light(b, pic->palette);
	buf_addf(b, " data-icicle=\"\" data-chart=\"%u\">\n", pic->height);
}

/* Describes the graph for readers who cannot see it. */
static void put_description(struct chart_picture *pic)
{
	struct buf *b = &pic->page.buf, origin = { 0 };
	buf_addf(b,
		 "<desc>Flame chart: time from left to right, %zu threads from top to bottom, each "
		 "with its stacks, callers above. ",
		 pic->chart.lanes.n);
	headline_origin(pic->profile, &origin);
	svg_text(b, buf_cstr(&origin), SIZE_MAX);
	buf_adds(b, "</desc>\n");
	buf_done(&origin);
}

static void put_head(struct chart_picture *pic, uint32_t top, const struct buf *legend)
{
	struct buf *b = &pic->page.buf, title = { 0 };
	if (pic->opts->title)
		columns_fit(&title, pic->opts->title, SVG_TITLE_COLUMNS);
	else
		buf_addf(&title, "%.60s flame chart", pic->chart.tree->type_name);
	put_root(pic, top);
	buf_adds(b, "<title>");
	svg_text(b, buf_cstr(&title), SIZE_MAX);
	buf_adds(b, "</title>\n");
	put_description(pic);
	put_style(pic);
	put_heading(pic, buf_cstr(&title));
	buf_add(b, legend->data, legend->len);
	buf_done(&title);
}

static void begin_group(struct chart_picture *pic, const char *class, uint32_t top)
{
	buf_addf(&pic->page.buf,
		 "<g class=\"%s\" transform=\"translate(%d,%u)\" font-family=\"monospace\" "
		 "font-size=\"11\">\n",
		 class, SVG_PAD, top);
}

static int picture_write(struct chart_picture *pic, struct err *err)
{
	struct buf legend = { 0 }, name = { 0 }, info = { 0 };
	struct buf *b = &pic->page.buf;
	uint32_t top = SVG_LEGEND_TOP + svg_put_legend(&legend, pic->palette);
	int rc = 0;
	put_head(pic, top, &legend);
	begin_group(pic, "x", top);
	put_axis(pic);
	buf_adds(b, "</g>\n");
	begin_group(pic, "f", top);
	put_whole(pic, &name, &info);
	for (size_t i = 0; rc == 0 && i < pic->chart.lanes.n; i++)
		rc = put_lane(pic, i, &name, &info, err);
	buf_adds(b, "</g>\n");
	begin_group(pic, "t", top);
	for (size_t i = 0; rc == 0 && i < pic->chart.lanes.n; i++)
		rc = put_lane_labels(pic, i, &name, err);
	buf_adds(b, "</g>\n");
	svg_put_script(b, asset_svg_flame_js, asset_svg_flame_js_len);
	buf_adds(b, "</svg>\n");
	rc = rc ? rc : svg_flush(&pic->page, 0, err);
	buf_done(&legend);
	buf_done(&name);
	buf_done(&info);
	return rc;
}

int chart_svg_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err)
{
	struct chart_opts chart_opts = { .tree = &opts->tree };
	struct chart_picture pic = { .profile = p, .opts = opts, .page.out = out };
	const char *type = profile_type_name(p, opts->tree.type);
	chart_opts.by_state = state_of_type_in(p, opts->tree.type) != STATE_UNSAID &&
			      strcmp(palette_for(opts->palette, type), "wall") == 0;
	int rc = flame_chart_build(p, &chart_opts, &pic.chart, err);
	if (rc == 0)
		rc = palette_new(opts->palette, pic.chart.tree, &pic.palette, err);
	if (rc == 0) {
		picture_layout(&pic);
		rc = picture_write(&pic, err);
	}
	flame_chart_done(&pic.chart);
	vec_done(&pic.boxes.all);
	buf_done(&pic.page.buf);
	palette_free(pic.palette);
	return rc;
}
