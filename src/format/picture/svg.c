/* Lays out the boxes of a tree, and writes the SVG with its script. */
#include "format/picture/svg.h"

#include "assets.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "format/common/columns.h"
#include "format/common/headline.h"
#include "format/common/outline.h"
#include "format/common/palette.h"
#include "format/common/value.h"
#include "format/picture/svg_page.h"
#include "profile/change/signed.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <math.h>

#define DOT HEADLINE_SEPARATOR

/* A rectangle. start and value are in the tree's unit and lie inside the parent's. */
struct box {
	struct outline_row row;
	int64_t start, value;
};

struct picture {
	const struct profile *profile;
	const struct format_write_opts *opts;
	const struct tree *tree;
	bool older_widths; /* also if only the older side has something to show */
	unsigned annotate; /* bits of enum annotate */
	uint8_t *states;   /* by node */
	struct palette *palette;
	VEC(struct box) boxes; /* pre-order */
	uint32_t rows;
	double px_per_value, min_width_px;
	struct svg_page page;
};

/* --- layout --- */

/* The state of one level: the start of the next box, and the end of the parent. */
struct level {
	int64_t next, end;
};

static int64_t whole_width(const struct picture *pic)
{
	const struct tree_node *root = &pic->tree->nodes.v[TREE_ROOT];
	int64_t total = pic->older_widths ? root->other_total : root->total;
	return total > 0 ? total : 0;
}

/* Places children inside their parent, from its left edge on, even if the file's values do not fit.
 * Nodes without a width get no box. */
static void place_boxes(struct picture *pic, const struct outline *outline, int64_t total)
{
	struct level *levels = xcalloc(outline->depth + 1, sizeof *levels);
	levels[0].end = total;
	for (size_t i = 0; i < outline->rows.n; i++) {
		struct outline_row row = outline->rows.v[i];
		struct level *level = &levels[row.depth];
		int64_t room = level->end - level->next;
		int64_t width = pic->older_widths ? row.other_total : row.total;
		struct box box = { row, level->next, width < room ? width : room };
		box.value = box.value < 0 ? 0 : box.value;
		level->next += box.value;
		level[1] = (struct level){ box.start, box.start + box.value };
		if (box.value > 0 || row.depth == 0)
			vec_push(&pic->boxes, box);
	}
	free(levels);
}

static void picture_layout(struct picture *pic)
{
	struct outline outline = { 0 };
	int64_t total = whole_width(pic);
	pic->px_per_value = total > 0 ? SVG_INNER / (double)total : 0;
	double min = total > 0 ? ceil(pic->min_width_px / pic->px_per_value) : 1;
	outline_build(pic->tree, ORDER_NAME, min > 1 ? value_clamp(min) : 1, &outline);
	place_boxes(pic, &outline, total);
	for (size_t i = 0; i < pic->boxes.n; i++)
		if (pic->boxes.v[i].row.depth >= pic->rows)
			pic->rows = pic->boxes.v[i].row.depth + 1;
	outline_done(&outline);
}

static int picture_check_size(const struct picture *pic, struct err *err)
{
	if (pic->boxes.n <= SVG_MAX_RECTS || pic->opts->force)
		return 0;
	err_set(err, E2BIG, "the graph would have %zu rectangles; browsers get slow beyond %d",
		pic->boxes.n, SVG_MAX_RECTS);
	return err_hint(err,
			"use --min-width %g, or --focus on a part\n"
			"or override: --force",
			pic->min_width_px > 0.25 ? 2 * pic->min_width_px : 0.5);
}

/* --- text --- */

static const struct tree_func *node_func(const struct picture *pic, uint32_t node)
{
	return &pic->tree->funcs.v[pic->tree->nodes.v[node].func];
}

/* Appends the full name with the suffix requested by --annotate. */
static void put_name(struct picture *pic, const struct box *box, struct buf *b)
{
	if (box->row.below) {
		fmt_count(b, box->row.below);
		buf_addf(b, " frame%s below %g px", box->row.below == 1 ? "" : "s",
			 pic->min_width_px);
		return;
	}
	const struct tree_func *f = node_func(pic, box->row.node);
	bool is_leaf = box->row.node != TREE_ROOT && pic->tree->nodes.v[box->row.node].self;
	buf_adds(b, strtab_get(&pic->tree->strings, f->name));
	buf_adds(b, format_suffix(f->kind, pic->annotate));
	if (is_leaf)
		buf_adds(b, format_state_suffix(pic->states[box->row.node], pic->annotate));
}

static const char *arrow(double change)
{
	return change > 0 ? "\xe2\x96\xb2" : change < 0 ? "\xe2\x96\xbc" : "=";
}

/* Appends a frame's change since the older side: in points of its share, or in percent of its old
 * value. */
static void put_change(struct picture *pic, const struct tree_node *n, struct buf *b)
{
	const struct tree_node *root = &pic->tree->nodes.v[TREE_ROOT];
	double factor = pic->tree->other_factor;
	double before = value_percent(n->other_total, root->other_total);
	double points = value_percent(n->total, root->total) - before;
	double percent = value_percent(n->total, n->other_total * factor) - 100;
	if (!n->other_total)
		buf_adds(b, DOT "new");
	else if (!n->total)
		buf_adds(b, DOT "gone");
	else if (factor > 0)
		buf_addf(b, DOT "%s %.2f %%", arrow(percent), fabs(percent));
	else
		buf_addf(b, DOT "%s %.2f points, was %.2f %%", arrow(points), fabs(points), before);
}

/* Appends "kernel · vmlinux · 1,234 samples · 4.56 % of all · self 1.20 %". */
static void put_info(struct picture *pic, const struct box *box, struct buf *b)
{
	const struct tree_node *n = &pic->tree->nodes.v[box->row.node];
	int64_t total = whole_width(pic);
	if (!box->row.below && box->row.node != TREE_ROOT) {
		const struct tree_func *f = node_func(pic, box->row.node);
		const char *binary = strtab_get(&pic->tree->strings, f->binary);
		buf_addf(b, "%s%s" DOT, frame_kinds[f->kind].name, f->inlined ? ", inlined" : "");
		if (*binary) {
			esc_term(b, binary, strlen(binary), SVG_MAX_NAME);
			buf_adds(b, DOT);
		}
	}
	value_fmt(b, box->value, pic->tree->unit);
	buf_addf(b, DOT "%.2f %% of all", value_percent(box->value, total));
	int64_t self = pic->older_widths ? n->other_self : n->self;
	if (!box->row.below && self > 0)
		buf_addf(b, DOT "self %.2f %%", value_percent(self, total));
	if (!box->row.below && pic->tree->is_diff)
		put_change(pic, n, b);
}

/* Shortens a name for a label: suffixes like "_[k]" are dropped, since the colour shows them. */
static void strip_suffixes(struct buf *name)
{
	const char *end = name->data + name->len;
	for (; name->len > 4 && end[-4] == '_' && end[-3] == '[' && end[-1] == ']' &&
	       strchr("kjicoGg", end[-2]);
	     end -= 4)
		name->len -= 4;
}

/* --- writing --- */

static double box_x(const struct picture *pic, const struct box *box)
{
	return box->start * pic->px_per_value;
}

static uint32_t box_y(const struct picture *pic, const struct box *box)
{
	return SVG_ROW * (pic->opts->icicle ? box->row.depth : pic->rows - 1 - box->row.depth);
}

static struct shade box_shade(const struct picture *pic, const struct box *box)
{
	if (box->row.below)
		return (struct shade){ PALETTE_REST, 0 };
	return palette_shade(pic->palette, box->row.node);
}

static void put_rect(struct picture *pic, const struct box *box, struct buf *scratch)
{
	struct buf *b = &pic->page.buf;
	struct shade shade = box_shade(pic, box);
	double width = svg_gapped(box->value * pic->px_per_value);
	buf_addf(b,
		 "<rect class=\"%c%d\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
		 "data-v=\"%lld\">"
		 "<title>",
		 svg_letter(shade.swatch), shade.step, box_x(pic, box), box_y(pic, box), width,
		 SVG_ROW - 1, (long long)box->value);
	buf_clear(scratch);
	put_name(pic, box, scratch);
	svg_text(b, buf_cstr(scratch), SVG_MAX_NAME);
	buf_addc(b, '\n');
	buf_clear(scratch);
	put_info(pic, box, scratch);
	svg_text(b, buf_cstr(scratch), SIZE_MAX);
	buf_adds(b, "</title></rect>\n");
}

static void put_label(struct picture *pic, const struct box *box, struct buf *scratch)
{
	double width = box->value * pic->px_per_value;
	if (width < SVG_MIN_LABEL)
		return;
	uint32_t n;
	const struct swatch *swatches = palette_swatches(pic->palette, &n);
	bool light = swatches[box_shade(pic, box).swatch].light_text;
	buf_clear(scratch);
	put_name(pic, box, scratch);
	strip_suffixes(scratch);
	svg_put_label(&pic->page.buf, box_x(pic, box), box_y(pic, box), width, buf_cstr(scratch),
		      light ? " class=\"w\" fill=\"#fff\"" : "");
}

static int put_boxes(struct picture *pic,
		     void (*put)(struct picture *, const struct box *, struct buf *),
		     struct err *err)
{
	struct buf scratch = { 0 };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < pic->boxes.n; i++) {
		put(pic, &pic->boxes.v[i], &scratch);
		rc = svg_flush(&pic->page, 1 << 16, err);
	}
	buf_done(&scratch);
	return rc;
}

/* Returns the function with the greatest share of self values, excluding the n in not; 0 if there
 * is none. */
static uint32_t most_expensive(const struct picture *pic, const uint32_t * not, int n)
{
	const double *self = palette_self(pic->palette);
	uint32_t best = 0;
	for (uint32_t f = 1; f < pic->tree->funcs.n; f++) {
		bool taken = false;
		for (int i = 0; i < n; i++)
			taken |= not [i] == f;
		if (!taken && self[f] > (best ? self[best] : 0))
			best = f;
	}
	return best;
}

/* Describes the graph for readers who cannot see it: its subject, and its three most expensive
 * functions. */
static void put_description(struct picture *pic)
{
	const struct tree *t = pic->tree;
	uint32_t most[3];
	struct buf b = { 0 };
	buf_addf(&b,
		 "Flame graph of %s with %zu frames; a frame is a function, its width is the share "
		 "of the total, next to its caller. Most self time:",
		 t->type_name, pic->boxes.n);
	for (int k = 0; k < 3 && (most[k] = most_expensive(pic, most, k)); k++) {
		const char *name = strtab_get(&t->strings, t->funcs.v[most[k]].name);
		buf_addf(&b, "%s ", k ? "," : "");
		esc_term(&b, name, strlen(name), SVG_MAX_NAME);
		buf_addf(&b, " %.1f %%", 100 * palette_self(pic->palette)[most[k]]);
	}
	buf_adds(&b, ". ");
	headline_origin(pic->profile, &b);
	buf_adds(&pic->page.buf, "<desc>");
	svg_text(&pic->page.buf, buf_cstr(&b), SIZE_MAX);
	buf_adds(&pic->page.buf, "</desc>\n");
	buf_done(&b);
}

static void put_title(struct picture *pic, struct buf *title)
{
	if (pic->opts->title)
		columns_fit(title, pic->opts->title, SVG_TITLE_COLUMNS);
	else
		buf_addf(title, "%.60s flame graph%s%s%s", pic->tree->type_name,
			 pic->tree->is_inverted ? ", inverted" : "",
			 pic->tree->is_diff ? ", changes" : "",
			 pic->older_widths ? ", as wide as before" : "");
	buf_cstr(title);
}

static void put_root(struct picture *pic, uint32_t height)
{
	struct value_unit unit = value_unit(pic->tree->unit);
	struct buf *b = &pic->page.buf;
	svg_put_root(b, height);
	buf_addf(b, " data-rest=\"%c\" data-scale=\"%lld\" data-unit=\"", svg_letter(PALETTE_REST),
		 (long long)unit.scale);
	svg_text(b, unit.base, SVG_MAX_NAME);
	buf_addc(b, '"');
	svg_put_light(b, pic->palette);
	buf_adds(b, pic->opts->icicle ? " data-icicle=\"\">\n" : ">\n");
}

static void put_style(struct picture *pic)
{
	struct svg_colors colors = { 0 };
	for (size_t i = 0; i < pic->boxes.n; i++) {
		struct shade shade = box_shade(pic, &pic->boxes.v[i]);
		colors.used[shade.swatch][shade.step] = true;
	}
	buf_adds(&pic->page.buf, "<style><![CDATA[\n");
	buf_add(&pic->page.buf, asset_svg_flame_css, asset_svg_flame_css_len);
	svg_put_colors(&pic->page.buf, pic->palette, &colors);
	buf_adds(&pic->page.buf, "]]></style>\n");
}

static void put_heading(struct picture *pic, const struct buf *title)
{
	struct buf sub = { 0 };
	headline_counts(pic->profile, pic->tree, &sub);
	svg_put_heading(&pic->page.buf, title->data, buf_cstr(&sub));
	buf_done(&sub);
}

static int picture_write(struct picture *pic, struct err *err)
{
	struct buf title = { 0 }, legend = { 0 };
	/* The legend follows the root element, which needs the legend's height. */
	uint32_t top = SVG_LEGEND_TOP + svg_put_legend(&pic->page.buf, pic->palette);
	legend = pic->page.buf;
	pic->page.buf = (struct buf){ 0 };
	put_title(pic, &title);
	put_root(pic, top + SVG_ROW * pic->rows + SVG_PAD);
	buf_adds(&pic->page.buf, "<title>");
	svg_text(&pic->page.buf, title.data, SIZE_MAX);
	buf_adds(&pic->page.buf, "</title>\n");
	put_description(pic);
	put_style(pic);
	put_heading(pic, &title);
	buf_add(&pic->page.buf, legend.data, legend.len);
	buf_addf(&pic->page.buf, "<g class=\"f\" transform=\"translate(%d,%u)\">\n", SVG_PAD, top);
	int rc = put_boxes(pic, put_rect, err);
	buf_addf(&pic->page.buf,
		 "</g>\n<g class=\"t\" transform=\"translate(%d,%u)\" font-family=\"monospace\" "
		 "font-size=\"11\">\n",
		 SVG_PAD, top);
	rc = rc ? rc : put_boxes(pic, put_label, err);
	buf_adds(&pic->page.buf, "</g>\n");
	svg_put_script(&pic->page.buf, asset_svg_flame_js, asset_svg_flame_js_len);
	buf_adds(&pic->page.buf, "</svg>\n");
	rc = rc ? rc : svg_flush(&pic->page, 0, err);
	buf_done(&title);
	buf_done(&legend);
	return rc;
}

int svg_write_tree(const struct profile *p, const struct tree *t,
		   const struct format_write_opts *opts, struct out *out, struct err *err)
{
	struct picture pic = { .profile = p, .tree = t, .opts = opts, .page.out = out };
	pic.older_widths = t->is_diff && (opts->older_widths || t->nodes.v[TREE_ROOT].total <= 0);
	pic.annotate = format_annotate(opts->annotate, t->type_name);
	pic.states = tree_states(t);
	pic.min_width_px = opts->min_width_px ? opts->min_width_px : SVG_MIN_WIDTH_DEFAULT_PX;
	pic.min_width_px = pic.min_width_px > 0 ? pic.min_width_px : 0;
	int rc = palette_new(opts->palette, t, &pic.palette, err);
	if (rc == 0) {
		picture_layout(&pic);
		rc = picture_check_size(&pic, err);
	}
	if (rc == 0)
		rc = picture_write(&pic, err);
	vec_done(&pic.boxes);
	buf_done(&pic.page.buf);
	palette_free(pic.palette);
	free(pic.states);
	return rc;
}

static int svg_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err)
{
	struct tree_opts tree_opts = opts->tree;
	struct tree *t = NULL;
	int rc = format_pick_type(p, opts->type, &tree_opts.type, err);
	if (rc == 0)
		rc = tree_build_signed(p, &tree_opts, &t, err);
	if (rc == 0 && strcmp(t->type_name, "wall") == 0 && !t->is_inverted && !t->is_diff)
		tree_show_on_cpu(t);
	if (rc == 0)
		rc = svg_write_tree(p, t, opts, out, err);
	tree_free(t);
	return rc;
}

const struct format format_svg = {
	.name = "svg",
	.summary = "interactive flame graph",
	.notes = "One file without dependencies: a click zooms, Ctrl-F searches.",
	.endings = (const char *const[]){ ".svg", NULL },
	.one_type = true,
	.write = svg_write,
};
