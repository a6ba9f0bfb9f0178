#include "format/svg.h"

#include "assets.h"
#include "base/str.h"
#include "format/columns.h"
#include "format/headline.h"
#include "format/outline.h"
#include "format/palette.h"
#include "format/value.h"
#include "profile/tree_state.h"

#include <errno.h>
#include <math.h>

/* The picture as it is without its script, in user units (pixels). The script knows ROW and PAD, too. */
enum {
	WIDTH = 1200,
	PAD = 10,
	INNER = WIDTH - 2 * PAD,
	ROW = 18,
	MIN_LABEL = 24,  /* narrower frames have no label */
	LEGEND_TOP = 54, /* below title and subtitle */
	LEGEND_MAX_NAME = 40,
	TITLE_COLUMNS = 110,
};
#define CHAR_WIDTH           6.6 /* of the labels' 11 px fixed-width font, rounded up */
#define TEXT_WIDTH           6.8 /* of the legend's 12 px proportional font, on average */
#define MIN_WIDTH_DEFAULT_PX 0.1
#define DOT                  HEADLINE_SEPARATOR

/* A rectangle. start and value are in values of the tree and lie inside the parent's. */
struct box {
	struct outline_row row;
	int64_t start, value;
};

struct picture {
	const struct profile *profile;
	const struct format_write_opts *opts;
	const struct tree *tree;
	unsigned annotate; /* bits of enum annotate */
	uint8_t *states;   /* by node */
	struct palette *palette;
	VEC(struct box) boxes; /* pre-order */
	uint32_t rows;
	double px_per_value, min_width_px;
	struct out *out;
	struct buf buf;
};

/* --- which rectangles --- */

/* The boxes beside each other on one level: where the next one starts, and where their parent ends. */
struct level {
	int64_t next, end;
};

/* What a frame is as wide as. */
static int64_t row_width(const struct picture *pic, const struct outline_row *row)
{
	return pic->opts->older_widths ? row->other_total : row->total;
}

static int64_t whole_width(const struct picture *pic)
{
	const struct tree_node *root = &pic->tree->nodes.v[TREE_ROOT];
	int64_t total = pic->opts->older_widths ? root->other_total : root->total;
	return total > 0 ? total : 0;
}

/* Children lie inside their parent, from its left edge on, whatever a file said; what has no width is no box. */
static void place_boxes(struct picture *pic, const struct outline *outline, int64_t total)
{
	struct level *levels = xcalloc(outline->depth + 1, sizeof *levels);
	levels[0].end = total;
	for (size_t i = 0; i < outline->rows.n; i++) {
		struct outline_row row = outline->rows.v[i];
		struct level *level = &levels[row.depth];
		int64_t room = level->end - level->next;
		int64_t width = row_width(pic, &row);
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
	pic->px_per_value = total > 0 ? INNER / (double)total : 0;
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
	err_set(err, E2BIG, "the picture would have %zu rectangles; browsers get slow beyond %d",
		pic->boxes.n, SVG_MAX_RECTS);
	return err_hint(err,
			"draw less: --min-width %g, or --focus on a part\n"
			"or insist: --force",
			pic->min_width_px > 0.25 ? 2 * pic->min_width_px : 0.5);
}

/* --- text --- */

static void xml(struct buf *b, const char *s, size_t max)
{
	struct buf shown = { 0 };
	esc_term(&shown, s, strlen(s), max);
	esc_xml(b, shown.data, shown.len, SIZE_MAX);
	buf_done(&shown);
}

static const struct tree_func *node_func(const struct picture *pic, uint32_t node)
{
	return &pic->tree->funcs.v[pic->tree->nodes.v[node].func];
}

/* The full name with the suffix that --annotate asks for. */
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

/* How much a frame grew since the older side: in points of its share, or in percent of what it was. */
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

/* "kernel · vmlinux · 1,234 samples · 4.56 % of all · self 1.20 %" */
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
	int64_t self = pic->opts->older_widths ? n->other_self : n->self;
	if (!box->row.below && self > 0)
		buf_addf(b, DOT "self %.2f %%", value_percent(self, total));
	if (!box->row.below && pic->tree->is_diff)
		put_change(pic, n, b);
}

/* What a label shows: the name without suffixes like "_[k]": the colour says it. */
static void strip_suffixes(struct buf *name)
{
	const char *end = name->data + name->len;
	for (; name->len > 4 && end[-4] == '_' && end[-3] == '[' && end[-1] == ']' &&
	       strchr("kjicoGg", end[-2]);
	     end -= 4)
		name->len -= 4;
}

/* --- writing --- */

static char swatch_letter(uint8_t swatch)
{
	return swatch < 26 ? 'a' + swatch : 'A' + swatch - 26;
}

static double box_x(const struct picture *pic, const struct box *box)
{
	return box->start * pic->px_per_value;
}

static uint32_t box_y(const struct picture *pic, const struct box *box)
{
	return ROW * (pic->opts->icicle ? box->row.depth : pic->rows - 1 - box->row.depth);
}

static struct shade box_shade(const struct picture *pic, const struct box *box)
{
	if (box->row.below)
		return (struct shade){ PALETTE_REST, 0 };
	return palette_shade(pic->palette, box->row.node);
}

static void put_rect(struct picture *pic, const struct box *box, struct buf *scratch)
{
	struct buf *b = &pic->buf;
	struct shade shade = box_shade(pic, box);
	double width = box->value * pic->px_per_value;
	width = width > 2 ? width - 0.5 : width * 0.75; /* a gap, but not in place of the frame */
	buf_addf(b,
		 "<rect class=\"%c%d\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
		 "data-v=\"%lld\">"
		 "<title>",
		 swatch_letter(shade.swatch), shade.step, box_x(pic, box), box_y(pic, box),
		 width < 0.05 ? 0.05 : width, ROW - 1, (long long)box->value);
	buf_clear(scratch);
	put_name(pic, box, scratch);
	xml(b, buf_cstr(scratch), SVG_MAX_NAME);
	buf_addc(b, '\n');
	buf_clear(scratch);
	put_info(pic, box, scratch);
	xml(b, buf_cstr(scratch), SIZE_MAX);
	buf_adds(b, "</title></rect>\n");
}

static void put_label(struct picture *pic, const struct box *box, struct buf *scratch)
{
	double width = box->value * pic->px_per_value;
	if (width < MIN_LABEL)
		return;
	uint32_t n;
	const struct swatch *swatches = palette_swatches(pic->palette, &n);
	bool light = swatches[box_shade(pic, box).swatch].light_text;
	struct buf fitted = { 0 };
	buf_clear(scratch);
	put_name(pic, box, scratch);
	strip_suffixes(scratch);
	columns_fit(&fitted, buf_cstr(scratch), (width - 6) / CHAR_WIDTH);
	buf_addf(&pic->buf, "<text%s x=\"%.1f\" y=\"%.1f\">",
		 light ? " class=\"w\" fill=\"#fff\"" : "", box_x(pic, box) + 3,
		 box_y(pic, box) + 12.5);
	esc_xml(&pic->buf, fitted.data, fitted.len, SIZE_MAX);
	buf_adds(&pic->buf, "</text>\n");
	buf_done(&fitted);
}

/* Hands over what was written so far, so that memory does not grow with the picture. */
static int picture_flush(struct picture *pic, size_t at_least, struct err *err)
{
	int rc = 0;
	if (pic->buf.len >= at_least)
		rc = out_write(pic->out, pic->buf.data, pic->buf.len, err);
	if (pic->buf.len >= at_least)
		buf_clear(&pic->buf);
	return rc;
}

static int put_boxes(struct picture *pic,
		     void (*put)(struct picture *, const struct box *, struct buf *),
		     struct err *err)
{
	struct buf scratch = { 0 };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < pic->boxes.n; i++) {
		put(pic, &pic->boxes.v[i], &scratch);
		rc = picture_flush(pic, 1 << 16, err);
	}
	buf_done(&scratch);
	return rc;
}

/* One rule for each colour that is used. */
static void put_style(struct picture *pic)
{
	bool used[PALETTE_MAX_SWATCHES][PALETTE_STEPS] = { 0 };
	uint32_t n;
	const struct swatch *swatches = palette_swatches(pic->palette, &n);
	const struct legend_line *legend = palette_legend(pic->palette, &n);
	for (uint32_t i = 0; i < n; i++)
		used[legend[i].swatch][PALETTE_STEPS / 2] = true;
	for (size_t i = 0; i < pic->boxes.n; i++) {
		struct shade shade = box_shade(pic, &pic->boxes.v[i]);
		used[shade.swatch][shade.step] = true;
	}
	buf_adds(&pic->buf, "<style><![CDATA[\n");
	buf_add(&pic->buf, asset_svg_flame_css, asset_svg_flame_css_len);
	for (int s = 0; s < PALETTE_MAX_SWATCHES; s++)
		for (int step = 0; step < PALETTE_STEPS; step++)
			if (used[s][step])
				buf_addf(&pic->buf, ".cf .%c%d{fill:#%06x}\n", swatch_letter(s),
					 step, palette_rgb(&swatches[s], step));
	buf_adds(&pic->buf, "]]></style>\n");
}

/* Returns the height of the legend. Its lines wrap at the width of the picture, by an estimate of their own. */
static uint32_t put_legend(struct picture *pic)
{
	uint32_t n, rows = 0;
	const struct legend_line *legend = palette_legend(pic->palette, &n);
	double x = 0;
	struct buf text = { 0 };
	buf_adds(&pic->buf, "<g class=\"legend\">\n");
	for (uint32_t i = 0; i < n; i++) {
		buf_clear(&text);
		columns_fit(&text, legend[i].label, LEGEND_MAX_NAME);
		if (legend[i].self >= 0.0005) /* what would be shown as 0.0 % */
			buf_addf(&text, " %.1f %%", 100 * legend[i].self);
		double width = 16 + TEXT_WIDTH * utf8_width(buf_cstr(&text)) + 16;
		if (x + width > INNER) {
			x = 0;
			rows++;
		}
		buf_addf(&pic->buf,
			 "<g transform=\"translate(%.0f,%u)\"><rect class=\"%c%d\" width=\"12\" "
			 "height=\"12\"/><text x=\"16\" y=\"10\">",
			 PAD + x, LEGEND_TOP + ROW * rows, swatch_letter(legend[i].swatch),
			 PALETTE_STEPS / 2);
		esc_xml(&pic->buf, text.data, text.len, SIZE_MAX);
		buf_adds(&pic->buf, "</text></g>\n");
		x += width;
	}
	buf_adds(&pic->buf, "</g>\n");
	buf_done(&text);
	return n ? ROW * (rows + 1) : 0;
}

/* The script as it is but for indentation and comments that have lines of their own: every picture carries it. */
static void put_script(struct buf *b)
{
	struct cur c = cur_of(asset_svg_flame_js, asset_svg_flame_js_len);
	const char *line;
	size_t len;
	bool comment = false;
	buf_adds(b, "<script><![CDATA[\n");
	while (cur_line(&c, &line, &len)) {
		size_t indent = 0;
		while (indent < len && line[indent] == '\t')
			indent++;
		comment = comment || (len - indent >= 2 && !memcmp(line + indent, "/*", 2));
		if (!comment && len > indent) {
			buf_add(b, line + indent, len - indent);
			buf_addc(b, '\n');
		}
		comment = comment && !(len >= 2 && !memcmp(line + len - 2, "*/", 2));
	}
	buf_adds(b, "]]></script>\n");
}

/* The function with the greatest share of self values but for the n in not; 0 when there is none. */
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

/* For those who do not see the picture: what it is, and its three most expensive functions. */
static void put_description(struct picture *pic)
{
	const struct tree *t = pic->tree;
	uint32_t most[3];
	struct buf b = { 0 };
	buf_addf(&b,
		 "Flame graph of %s with %zu frames; a frame is a function, as wide as its "
		 "share of the total, next to the one that called it. Most by itself:",
		 t->type_name, pic->boxes.n);
	for (int k = 0; k < 3 && (most[k] = most_expensive(pic, most, k)); k++) {
		const char *name = strtab_get(&t->strings, t->funcs.v[most[k]].name);
		buf_addf(&b, "%s ", k ? "," : "");
		esc_term(&b, name, strlen(name), SVG_MAX_NAME);
		buf_addf(&b, " %.1f %%", 100 * palette_self(pic->palette)[most[k]]);
	}
	buf_adds(&b, ". ");
	headline_origin(pic->profile, &b);
	buf_adds(&pic->buf, "<desc>");
	xml(&pic->buf, buf_cstr(&b), SIZE_MAX);
	buf_adds(&pic->buf, "</desc>\n");
	buf_done(&b);
}

static void put_title(struct picture *pic, struct buf *title)
{
	if (pic->opts->title)
		columns_fit(title, pic->opts->title, TITLE_COLUMNS);
	else
		buf_addf(title, "%.60s flame graph%s%s%s", pic->tree->type_name,
			 pic->tree->is_inverted ? ", inverted" : "",
			 pic->tree->is_diff ? ", changes" : "",
			 pic->opts->older_widths ? ", as wide as before" : "");
	buf_cstr(title);
}

static void put_heading(struct picture *pic, const struct buf *title)
{
	struct buf sub = { 0 };
	headline_counts(pic->profile, pic->tree, &sub);
	buf_addf(&pic->buf,
		 "<rect class=\"bg\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		 "<text class=\"title\" x=\"%d\" y=\"24\" font-size=\"17\">",
		 WIDTH / 2);
	xml(&pic->buf, title->data, SIZE_MAX);
	buf_addf(&pic->buf, "</text>\n<text class=\"sub\" x=\"%d\" y=\"44\">", WIDTH / 2);
	xml(&pic->buf, buf_cstr(&sub), SIZE_MAX);
	buf_adds(&pic->buf, "</text>\n");
	buf_done(&sub);
}

/* Swatches whose text is light, as their letters. */
static void put_light(struct picture *pic)
{
	uint32_t n;
	const struct swatch *swatches = palette_swatches(pic->palette, &n);
	buf_adds(&pic->buf, " data-light=\"");
	for (uint32_t i = 0; i < n; i++)
		if (swatches[i].light_text)
			buf_addc(&pic->buf, swatch_letter(i));
	buf_addc(&pic->buf, '"');
}

static void put_root(struct picture *pic, uint32_t height)
{
	struct value_unit unit = value_unit(pic->tree->unit);
	buf_addf(&pic->buf,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cf\" role=\"img\" width=\"%d\" "
		 "height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"12\" "
		 "data-rest=\"%c\" data-scale=\"%lld\" data-unit=\"",
		 WIDTH, height, WIDTH, height, swatch_letter(PALETTE_REST), (long long)unit.scale);
	xml(&pic->buf, unit.base, SVG_MAX_NAME);
	buf_addc(&pic->buf, '"');
	put_light(pic);
	buf_adds(&pic->buf, pic->opts->icicle ? " data-icicle=\"\">\n" : ">\n");
}

static int picture_write(struct picture *pic, struct err *err)
{
	struct buf title = { 0 }, legend = { 0 };
	/* The legend comes after the root element, which needs its height. */
	uint32_t top = LEGEND_TOP + put_legend(pic);
	legend = pic->buf;
	pic->buf = (struct buf){ 0 };
	put_title(pic, &title);
	put_root(pic, top + ROW * pic->rows + PAD);
	buf_adds(&pic->buf, "<title>");
	xml(&pic->buf, title.data, SIZE_MAX);
	buf_adds(&pic->buf, "</title>\n");
	put_description(pic);
	put_style(pic);
	put_heading(pic, &title);
	buf_add(&pic->buf, legend.data, legend.len);
	buf_addf(&pic->buf, "<g class=\"f\" transform=\"translate(%d,%u)\">\n", PAD, top);
	int rc = put_boxes(pic, put_rect, err);
	buf_addf(&pic->buf,
		 "</g>\n<g class=\"t\" transform=\"translate(%d,%u)\" font-family=\"monospace\" "
		 "font-size=\"11\">\n",
		 PAD, top);
	rc = rc ? rc : put_boxes(pic, put_label, err);
	buf_adds(&pic->buf, "</g>\n");
	put_script(&pic->buf);
	buf_adds(&pic->buf, "</svg>\n");
	rc = rc ? rc : picture_flush(pic, 0, err);
	buf_done(&title);
	buf_done(&legend);
	return rc;
}

int svg_write_tree(const struct profile *p, const struct tree *t,
		   const struct format_write_opts *opts, struct out *out, struct err *err)
{
	struct picture pic = { .profile = p, .tree = t, .opts = opts, .out = out };
	pic.annotate = format_annotate(opts->annotate, t->type_name);
	pic.states = tree_states(t);
	pic.min_width_px = opts->min_width_px ? opts->min_width_px : MIN_WIDTH_DEFAULT_PX;
	pic.min_width_px = pic.min_width_px > 0 ? pic.min_width_px : 0;
	int rc = palette_new(opts->palette, t, &pic.palette, err);
	if (rc == 0) {
		picture_layout(&pic);
		rc = picture_check_size(&pic, err);
	}
	if (rc == 0)
		rc = picture_write(&pic, err);
	vec_done(&pic.boxes);
	buf_done(&pic.buf);
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
		rc = tree_build(p, &tree_opts, &t, err);
	if (rc == 0 && strcmp(t->type_name, "wall") == 0 && !t->is_inverted)
		tree_show_on_cpu(t);
	if (rc == 0)
		rc = svg_write_tree(p, t, opts, out, err);
	tree_free(t);
	return rc;
}

const struct format format_svg = {
	.name = "svg",
	.summary = "interactive flame graph",
	.notes = "One file that needs nothing else: a click looks closer, Ctrl-F searches.",
	.endings = (const char *const[]){ ".svg", NULL },
	.one_type = true,
	.write = svg_write,
};
