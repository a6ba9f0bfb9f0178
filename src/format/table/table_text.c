/* Tables as text. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "format/common/columns.h"
#include "format/common/headline.h"
#include "format/common/outline.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "format/table/table_rows.h"
#include "profile/change/estimate.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/sum.h"
#include "profile/tree/top.h"

#include <math.h>

enum {
	WIDTH_MIN = 60,
	WIDTH_FULL = 90, /* from this width on kinds are not truncated */
	KIND_MAX = 8,
	NUMBER_WIDTH = 7,
	VALUE_WIDTH = 9,
	BINARY_MAX = 24,
	TREE_NUMBERS = 2 * (NUMBER_WIDTH + 1) + 1,
};
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

/* --- the parts of a text line --- */

static void bold_line(const struct table_opts *opts, struct buf *b, struct buf *line)
{
	buf_addf(b, "%s%s%s\n", opts->color ? BOLD : "", buf_cstr(line), opts->color ? PLAIN : "");
}

static void percent_cell(struct buf *b, double part, double whole)
{
	buf_addf(b, "%*.2f ", NUMBER_WIDTH, value_percent(part, whole));
}

static void value_cell(struct buf *b, int64_t v, const char *unit)
{
	struct buf text = { 0 };
	value_fmt_bare(&text, v, unit);
	columns_right(b, buf_cstr(&text), VALUE_WIDTH);
	buf_addc(b, ' ');
	buf_done(&text);
}

/* --- head --- */

/* of_input: losses of the file's reader; else losses of its recorder. */
static void losses_text(const struct table *t, bool of_input, struct buf *b)
{
	const struct profile_meta *meta = &t->profile->meta;
	for (int i = 0; i < LOSS_REASONS; i++) {
		const struct loss_info *info = &loss_reasons[i];
		if (!meta->loss[i] || of_input != info->is_input)
			continue;
		buf_adds(b, "  ");
		fmt_count(b, meta->loss[i]);
		buf_addf(b, "x %s", info->text);
		loss_time_text(b, meta, i);
		buf_addf(b, "%s%s\n", *info->remedy ? "; " : "", info->remedy);
	}
}

/* States that the file was a difference, and of what. */
static void negative_text(const struct tree *t, struct buf *b)
{
	if (!t->n_negative)
		return;
	buf_adds(b, "  a difference: ");
	fmt_count(b, t->n_negative);
	buf_adds(b, " of ");
	fmt_count(b, t->n_samples);
	buf_adds(b, " values are below zero, ");
	value_fmt(b, sum_sub(0, t->nodes.v[TREE_ROOT].other_total), t->unit);
	buf_addf(b, ": %s\n",
		 t->is_marked ? "the older side; percentages are of it"
			      : "less than before; percentages are of all without their signs");
}

static void head_text(const struct table *t, struct buf *b)
{
	struct buf line = { 0 };
	headline_origin(t->profile, &line);
	if (line.len)
		buf_addf(b, "%s\n", buf_cstr(&line));
	buf_clear(&line);
	esc_term(&line, t->tree->type_name, strlen(t->tree->type_name), COLUMNS_MAX_BYTES);
	buf_adds(&line, ": ");
	headline_counts(t->profile, t->tree, &line);
	buf_addf(b, "%s\n", buf_cstr(&line));
	buf_done(&line);
	negative_text(t->tree, b);
	losses_text(t, false, b);
}

/* --- top --- */

/* Layout of the top table: numbers have fixed widths, names share the rest of the line. */
struct top_layout {
	bool filtered, with_estimates;
	uint32_t kind, function, binary;
};

static uint32_t widest(const struct tree *t, const struct top_row *rows, uint32_t n,
		       const char *(*text)(const struct tree *, uint32_t), uint32_t least)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t w = utf8_width(text(t, rows[i].func));
		least = w > least ? w : least;
	}
	return least;
}

static struct top_layout top_layout(const struct table *t, const struct table_opts *opts,
				    const struct top_row *rows, uint32_t n)
{
	const struct tree *tree = t->tree;
	struct top_layout l = { .filtered = table_is_filtered(tree),
				.with_estimates = t->estimates && !tree->is_diff };
	l.kind = widest(tree, rows, n, table_kind, strlen("kind"));
	l.binary = widest(tree, rows, n, table_binary, strlen("binary"));
	l.function = widest(tree, rows, n, table_name, strlen("function"));
	l.function = l.function > COLUMNS_MAX_BYTES ? COLUMNS_MAX_BYTES : l.function;
	if (!opts->width)
		return l;
	uint32_t width = opts->width < WIDTH_MIN ? WIDTH_MIN : opts->width;
	if (width < WIDTH_FULL && l.kind > KIND_MAX)
		l.kind = KIND_MAX;
	uint32_t used = 2 * (NUMBER_WIDTH + 1) + 2 * (VALUE_WIDTH + 1) + l.kind + 2;
	used += tree->is_diff ? VALUE_WIDTH + 1 : l.filtered ? NUMBER_WIDTH + 1 : 0;
	used += l.with_estimates ? VALUE_WIDTH + 1 : 0;
	uint32_t room = width > used ? width - used : 0;
	if (l.binary > BINARY_MAX || l.function + l.binary > room)
		l.binary = l.binary < room / 3 ? l.binary : room / 3;
	if (l.function > room - l.binary)
		l.function = room - l.binary;
	return l;
}

static void top_header(const struct top_layout *l, bool is_diff, const struct table_opts *opts,
		       struct buf *b)
{
	struct buf line = { 0 };
	buf_addf(&line, "%*s %*s ", NUMBER_WIDTH, is_diff ? "old %" : "self %", NUMBER_WIDTH,
		 is_diff ? "new %" : "total %");
	if (is_diff)
		buf_addf(&line, "%*s ", VALUE_WIDTH, "change");
	else if (l->filtered)
		buf_addf(&line, "%*s ", NUMBER_WIDTH, "all %");
	buf_addf(&line, "%*s %*s ", VALUE_WIDTH, is_diff ? "old self" : "self", VALUE_WIDTH,
		 is_diff ? "self" : "total");
	if (l->with_estimates) {
		columns_right(&line, "\302\261", VALUE_WIDTH);
		buf_addc(&line, ' ');
	}
	columns_left(&line, "kind", l->kind + 1);
	columns_left(&line, "function", l->function + 1);
	columns_fit(&line, "binary", l->binary);
	bold_line(opts, b, &line);
	buf_done(&line);
}

static void change_cell(struct buf *b, double points)
{
	const char *sign = points > 0 ? "\xe2\x96\xb2" : points < 0 ? "\xe2\x96\xbc" : " ";
	buf_addf(b, "%s%*.2f ", sign, VALUE_WIDTH - 1, points);
}

/* Shows the larger distance of the total to its interval's ends; nothing if it is exact. */
static void estimate_cell(const struct table *t, const struct top_row *r, struct buf *b)
{
	struct estimate e = estimates_get(t->estimates, t->tree, r->func, r->self, r->total);
	int64_t below = r->total - e.total_low, above = e.total_high - r->total;
	int64_t off = above > below ? above : below;
	if (off > 0)
		value_cell(b, off, t->tree->unit);
	else
		buf_addf(b, "%*s", VALUE_WIDTH + 1, "");
}

static void top_numbers(const struct table *t, const struct top_layout *l, const struct top_row *r,
			struct buf *b)
{
	const struct tree *tree = t->tree;
	const struct tree_node *root = &tree->nodes.v[TREE_ROOT];
	if (tree->is_diff) {
		percent_cell(b, r->other_self, tree_whole(tree, true));
		percent_cell(b, r->self, tree_whole(tree, false));
		change_cell(b, table_change(tree, r));
		value_cell(b, r->other_self, tree->unit);
		value_cell(b, r->self, tree->unit);
		return;
	}
	percent_cell(b, r->self, root->total);
	percent_cell(b, r->total, root->total);
	if (l->filtered)
		percent_cell(b, r->total, tree->unfiltered_total);
	value_cell(b, r->self, tree->unit);
	value_cell(b, r->total, tree->unit);
	if (l->with_estimates)
		estimate_cell(t, r, b);
}

static void top_line(const struct table *table, const struct top_layout *l, const struct top_row *r,
		     struct buf *b)
{
	const struct tree *t = table->tree;
	top_numbers(table, l, r, b);
	columns_left(b, table_kind(t, r->func), l->kind);
	buf_addc(b, ' ');
	columns_left(b, table_name(t, r->func), l->function);
	buf_addc(b, ' ');
	columns_fit(b, table_binary(t, r->func), l->binary);
	while (b->data[b->len - 1] == ' ')
		b->len--;
	buf_addc(b, '\n');
}

static void top_text(const struct table *t, const struct table_opts *opts, struct buf *b)
{
	uint32_t n;
	struct top_row *rows = table_rows(t, opts->top_n, &n);
	struct top_layout l = top_layout(t, opts, rows, n);
	top_header(&l, t->tree->is_diff, opts, b);
	for (uint32_t i = 0; i < n; i++)
		top_line(t, &l, &rows[i], b);
	if (n < t->top->rows.n) {
		buf_adds(b, "(+");
		fmt_count(b, t->top->rows.n - n);
		buf_adds(b, " functions)\n");
	}
	if (l.with_estimates) {
		buf_adds(b, "\302\261 of totals: ");
		value_fmt(b, estimates_total(t->estimates), t->tree->unit);
		buf_adds(b, " are estimates; 95 % intervals\n");
	}
	free(rows);
}

/* --- tree --- */

/* A line of a tree is "total % self % art name". Chains of only children are not indented, so that
 * deep stacks stay on the screen. */
struct tree_text {
	const struct table_opts *opts;
	const struct tree *tree;
	bool hides_self;            /* for callers: self values mean nothing there */
	int64_t total, other_total; /* base of percentages */
	uint32_t width;             /* columns for art and name */
	char *art;                  /* by level: ' ' nothing, '|' more siblings follow */
	uint32_t *level;            /* of each depth */
	struct buf line;
};

/* Branches deeper than this are not indented further, so that lines do not grow with stack
 * depth. */
enum { TREE_MAX_LEVELS = 64 };

static void tree_art(struct tree_text *w, const struct outline_row *row)
{
	uint32_t parent = row->depth ? w->level[row->depth - 1] : 0;
	bool branch = !row->only && row->depth > 0 && parent < TREE_MAX_LEVELS;
	for (uint32_t i = 0; i < parent; i++)
		buf_adds(&w->line, w->art[i] == '|' ? "\xe2\x94\x82  " : "   ");
	w->level[row->depth] = parent + branch;
	if (!branch)
		return;
	buf_adds(&w->line, row->last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
	w->art[parent] = row->last ? ' ' : '|';
}

static void tree_name(struct tree_text *w, const struct outline_row *row)
{
	uint32_t func = w->tree->nodes.v[row->node].func;
	if (row->below) {
		buf_adds(&w->line, "(+");
		fmt_count(&w->line, row->below);
		buf_addf(&w->line, " frame%s, %.1f %%)", row->below == 1 ? "" : "s",
			 value_percent(row->total, w->total));
		return;
	}
	buf_adds(&w->line, table_name(w->tree, func));
	if (*table_binary(w->tree, func))
		buf_addf(&w->line, "  (%s)", table_binary(w->tree, func));
}

static void tree_line(struct tree_text *w, const struct outline_row *row, struct buf *b)
{
	const struct tree_node *n = &w->tree->nodes.v[row->node];
	percent_cell(b, row->total, w->total);
	if (w->tree->is_diff)
		change_cell(b, value_percent(row->total, w->total) -
				       value_percent(row->other_total, w->other_total));
	else if (row->below || w->hides_self)
		buf_addf(b, "%*s ", NUMBER_WIDTH, "");
	else
		percent_cell(b, n->self, w->total);
	buf_addc(b, ' ');
	buf_clear(&w->line);
	tree_art(w, row);
	tree_name(w, row);
	columns_fit(b, buf_cstr(&w->line), w->width);
	buf_addc(b, '\n');
}

/* base: the tree whose total is 100 %. */
static void tree_text(const struct tree *tree, const struct tree *base,
		      const struct table_opts *opts, struct buf *b)
{
	const struct tree_node *root = &base->nodes.v[TREE_ROOT];
	struct outline o = { 0 };
	double least = ceil(root->total * (TABLE_TREE_PERCENT / 100));
	outline_build(tree, ORDER_TOTAL, value_clamp(least), &o);
	struct tree_text w = {
		.opts = opts,
		.tree = tree,
		.hides_self = tree != base && tree->is_inverted,
		.total = tree_whole(base, false),
		.other_total = tree_whole(base, true),
		.width = COLUMNS_MAX_BYTES,
		.art = xcalloc(TREE_MAX_LEVELS + 1, 1),
		.level = xcalloc(o.depth, sizeof(uint32_t)),
	};
	if (opts->width)
		w.width = (opts->width < WIDTH_MIN ? WIDTH_MIN : opts->width) - TREE_NUMBERS;
	buf_addf(&w.line, "%*s %*s  %s", NUMBER_WIDTH, "total %",
		 tree->is_diff ? VALUE_WIDTH : NUMBER_WIDTH, tree->is_diff ? "change" : "self %",
		 "function");
	bold_line(opts, b, &w.line);
	for (size_t i = 0; i < o.rows.n; i++)
		tree_line(&w, &o.rows.v[i], b);
	buf_done(&w.line);
	free(w.art);
	free(w.level);
	outline_done(&o);
}

static void callers_text(const struct table *t, const struct table_opts *opts, struct buf *b)
{
	struct buf line = { 0 };
	buf_adds(&line, "callers of ");
	columns_fit(&line, t->function, WIDTH_MIN);
	buf_addf(b, "%s (who called the line above)\n", buf_cstr(&line));
	tree_text(t->callers, t->tree, opts, b);
	buf_clear(&line);
	columns_fit(&line, t->function, WIDTH_MIN);
	buf_addf(b, "\ncalled by %s\n", buf_cstr(&line));
	tree_text(t->callees, t->tree, opts, b);
	buf_done(&line);
}

/* --- */

/* Returns the replacement of a drawing character on ASCII terminals; other characters become a '?'
 * for each column. */
static const char *ascii_of(uint32_t c)
{
	switch (c) {
	case 0xb7:
		return "-";
	case 0xb5:
		return "u";
	case 0x2026:
		return "~";
	case 0x2248:
		return "=";
	case 0x2500:
		return "-";
	case 0x2502:
	case 0x251c:
		return "|";
	case 0x2514:
		return "`";
	case 0x25b2:
		return "+";
	case 0x25bc:
		return "-";
	}
	return char_width(c) == 2 ? "??" : char_width(c) ? "?" : "";
}

void table_ascii(const struct buf *text, struct buf *b)
{
	for (size_t i = 0; i < text->len;) {
		size_t n = utf8_len(text->data + i, text->len - i);
		if (n > 1)
			buf_adds(b, ascii_of(utf8_char(text->data + i, n)));
		else
			buf_addc(b, text->data[i]);
		i += n ? n : 1;
	}
}

void table_text(const struct table *t, const struct table_opts *opts, struct buf *b)
{
	struct buf text = { 0 };
	head_text(t, &text);
	buf_addc(&text, '\n');
	if (t->top)
		top_text(t, opts, &text);
	if (t->with_tree)
		tree_text(t->tree, t->tree, opts, &text);
	if (t->callers && t->callees)
		callers_text(t, opts, &text);
	if (t->binaries)
		binaries_text(t->binaries, opts, &text);
	losses_text(t, true, &text);
	if (opts->utf8)
		buf_add(b, text.data, text.len);
	else
		table_ascii(&text, b);
	buf_done(&text);
}
