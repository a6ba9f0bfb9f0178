/* A difference as text. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "format/common/columns.h"
#include "format/common/headline.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "format/table/table_rows.h"
#include "profile/change/diff.h"
#include "profile/change/interval.h"

#include <math.h>

enum { WIDTH_MIN = 60, NAME_MIN = 16, SIDE_NAME_MAX = 60 };
#define ELLIPSIS "\xe2\x80\xa6"

/* --- numbers under the norm --- */

static void put_number(struct buf *b, enum diff_norm norm, const char *unit, double v)
{
	bool is_count = strcmp(value_unit(unit).base, unit) == 0;
	if (norm == DIFF_SHARE || (norm == DIFF_RATE && is_count && fabs(v) < 1000))
		buf_addf(b, "%.2f", v);
	else
		value_fmt_bare(b, value_clamp(round(v)), unit);
}

static void put_change(struct buf *b, enum diff_norm norm, const char *unit, double v)
{
	if (v > 0)
		buf_addc(b, '+');
	put_number(b, norm, unit, v);
}

static void put_interval(struct buf *b, const struct diff *d, struct interval i)
{
	if (isnan(i.low)) {
		buf_addc(b, '?');
		return;
	}
	put_change(b, d->norm, d->unit, i.low);
	buf_adds(b, " " ELLIPSIS " ");
	put_change(b, d->norm, d->unit, i.high);
}

static const char *mark(const struct diff_change *c)
{
	static const char *const marks[] = { "?", "~", "", "*" };
	return c->change || c->certainty == CHANGE_UNKNOWN ? marks[c->certainty] : "";
}

/* --- the table: all cells are built first to find the column widths ------------ */

enum column { OLD, NEW, CHANGE, INTERVAL, MARK, TOTAL, TOTAL_MARK, MATCH, NUMBERS };
static const char *const column_names[NUMBERS] = {
	"old self", "new self", "change", "interval", "", "total", "", "",
};
static const bool is_marks[NUMBERS] = { [MARK] = true, [TOTAL_MARK] = true, [MATCH] = true };
#define LOOSE_MARK "\xe2\x89\x88"

struct text_line {
	char *cells[NUMBERS];
	uint32_t func;
};
struct lines {
	VEC(struct text_line) v;
	size_t width[NUMBERS];
	size_t function, binary;
};

static void lines_done(struct lines *l)
{
	for (size_t i = 0; i < l->v.n; i++)
		for (int c = 0; c < NUMBERS; c++)
			free(l->v.v[i].cells[c]);
	vec_done(&l->v);
}

/* Shows "-" instead of zero if a side does not have the function. */
static void put_side(struct buf *b, const struct diff *d, double v, bool is_there)
{
	if (is_there)
		put_number(b, d->norm, d->unit, v);
	else
		buf_addc(b, '-');
}

static void put_cell(const struct diff *d, const struct diff_row *r, enum column column,
		     struct buf *b)
{
	switch (column) {
	case OLD:
		put_side(b, d, r->self.older, r->older_total || r->older_self);
		break;
	case NEW:
		put_side(b, d, r->self.newer, r->newer_total || r->newer_self);
		break;
	case CHANGE:
		put_change(b, d->norm, d->unit, r->self.change);
		break;
	case INTERVAL:
		put_interval(b, d, r->self.interval);
		break;
	case MARK:
		buf_adds(b, mark(&r->self));
		break;
	case TOTAL:
		put_change(b, d->norm, d->unit, r->total.change);
		break;
	case TOTAL_MARK:
		buf_adds(b, mark(&r->total));
		break;
	case MATCH:
		buf_adds(b, r->match ? LOOSE_MARK : "");
		break;
	case NUMBERS:
		break;
	}
}

static size_t widen(size_t width, const char *text)
{
	size_t w = utf8_width(text);
	return w > width ? w : width;
}

static void add_line(struct lines *l, const struct diff *d, const struct diff_row *r)
{
	struct text_line line = { .func = r->func };
	for (int c = 0; c < NUMBERS; c++) {
		struct buf b = { 0 };
		put_cell(d, r, c, &b);
		line.cells[c] = buf_steal(&b);
		l->width[c] = widen(l->width[c], line.cells[c]);
	}
	l->function = widen(l->function, table_name(d->names, r->func));
	l->binary = widen(l->binary, table_binary(d->names, r->func));
	vec_push(&l->v, line);
}

/* Divides the width left by the numbers among the names. The binary is shortened or dropped
 * first. */
static void fit_names(struct lines *l, uint32_t width)
{
	size_t used = NUMBERS, cap = COLUMNS_MAX_BYTES;
	for (int c = 0; c < NUMBERS; c++)
		used += l->width[c];
	if (width) {
		width = width < WIDTH_MIN ? WIDTH_MIN : width;
		cap = width > used + NAME_MIN ? width - used : NAME_MIN;
	}
	l->function = l->function < cap ? l->function : cap;
	size_t left = cap - l->function;
	if (l->binary > 0 && l->binary < strlen("binary"))
		l->binary = strlen("binary");
	if (l->binary + 1 > left)
		l->binary = left >= 2 * strlen("binary") ? left - 1 : 0;
}

static void put_line(const struct lines *l, const char *const *cells, const char *function,
		     const char *binary, struct buf *b)
{
	for (int c = 0; c < NUMBERS; c++) {
		if (!l->width[c]) /* of MATCH, if nothing is marked */
			continue;
		if (is_marks[c])
			columns_left(b, cells[c], l->width[c]);
		else
			columns_right(b, cells[c], l->width[c]);
		buf_addc(b, ' ');
	}
	columns_left(b, function, l->function);
	buf_addc(b, ' ');
	columns_fit(b, binary, l->binary);
	while (b->data[b->len - 1] == ' ')
		b->len--;
	buf_addc(b, '\n');
}

static void put_header(const struct lines *l, const struct table_opts *opts, struct buf *b)
{
	struct buf line = { 0 };
	put_line(l, column_names, "function", "binary", &line);
	line.len--;
	buf_addf(b, opts->color ? "\033[1m%s\033[0m\n" : "%s\n", buf_cstr(&line));
	buf_done(&line);
}

static bool is_changed(const struct diff_row *r)
{
	return r->self.change || r->total.change;
}

static void put_rows(const struct diff_table *t, const struct table_opts *opts, struct buf *b)
{
	const struct diff *d = t->diff;
	const struct diff_row *r;
	struct lines l = { .function = strlen("function") };
	size_t next = 0, left = 0;
	uint32_t shown = 0;
	for (int c = 0; c < NUMBERS; c++)
		l.width[c] = strlen(column_names[c]);
	l.width[MARK] = l.width[TOTAL_MARK] = 1;
	while ((r = diff_rows_next(t, opts, &next, &shown)))
		if (is_changed(r))
			add_line(&l, d, r);
	while ((r = diff_rows_next(t, &(struct table_opts){ 0 }, &next, &shown)))
		left += is_changed(r);
	fit_names(&l, opts->width);
	if (l.v.n)
		put_header(&l, opts, b);
	for (size_t i = 0; i < l.v.n; i++)
		put_line(&l, (const char *const *)l.v.v[i].cells,
			 table_name(d->names, l.v.v[i].func), table_binary(d->names, l.v.v[i].func),
			 b);
	if (left) {
		buf_adds(b, "(+");
		fmt_count(b, left);
		buf_addf(b, " function%s)\n", left == 1 ? "" : "s");
	}
	lines_done(&l);
}

/* --- head and foot --- */

static void put_side_line(const struct diff_table_side *s, const char *which, struct buf *b)
{
	buf_addf(b, "%s  ", which);
	columns_fit(b, s->name, SIDE_NAME_MAX);
	buf_adds(b, ": ");
	esc_term(b, s->tree->type_name, strlen(s->tree->type_name), SIDE_NAME_MAX);
	buf_adds(b, HEADLINE_SEPARATOR);
	headline_counts(s->profile, s->tree, b);
	buf_addc(b, '\n');
}

static uint32_t count_matched(const struct diff *d, enum match_how how)
{
	uint32_t n = 0;
	for (size_t i = 0; i < d->rows.n; i++)
		n += d->rows.v[i].match == how;
	return n;
}

static void put_legend(const struct diff *d, struct buf *b)
{
	if (d->norm == DIFF_SHARE)
		buf_adds(b, "in percent of each side's total, changes in points");
	else
		esc_term(b, d->unit, strlen(d->unit), SIDE_NAME_MAX);
	if (d->norm == DIFF_RATE)
		buf_adds(b, " per second");
	buf_addf(b, "; %g %% intervals; ~ may be chance, * is significant even among ",
		 100 * d->confidence);
	fmt_count(b, d->n_compared);
	buf_adds(b, " compared, ? unknown");
	if (count_matched(d, MATCH_LOOSE) || count_matched(d, MATCH_NO_NAMES))
		buf_adds(b, "; " LOOSE_MARK " the same function of another build");
	buf_adds(b, "\n\n");
}

static uint32_t count_self(const struct diff *d, int sign, enum diff_certainty least)
{
	uint32_t n = 0;
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_change *c = &d->rows.v[i].self;
		n += c->change * sign > 0 && c->certainty >= least;
	}
	return n;
}

static void put_percent(struct buf *b, double ratio)
{
	buf_addf(b, "%+.1f", 100 * (ratio - 1));
}

static void put_whole(const struct diff_table *t, struct buf *b)
{
	const struct diff *d = t->diff;
	struct interval i = d->whole_ratio;
	buf_adds(b, "All of ");
	esc_term(b, t->newer.tree->type_name, strlen(t->newer.tree->type_name), SIDE_NAME_MAX);
	buf_adds(b, d->whole_norm == DIFF_RATE ? " per second: " : ": ");
	if (!(d->whole.older > 0)) {
		buf_adds(b, "there was none before.");
		return;
	}
	put_percent(b, d->whole.newer / d->whole.older);
	buf_adds(b, " %");
	if (!isnan(i.low)) {
		buf_adds(b, " (");
		put_percent(b, i.low);
		buf_adds(b, " " ELLIPSIS " ");
		put_percent(b, i.high);
		buf_addc(b, ')');
	}
	buf_addc(b, '.');
}

void diff_table_summary(const struct diff_table *t, struct buf *b)
{
	const struct diff *d = t->diff;
	uint32_t grew = count_self(d, 1, CHANGE_LIKELY), shrank = count_self(d, -1, CHANGE_LIKELY);
	uint32_t sure = count_self(d, 1, CHANGE_SURE) + count_self(d, -1, CHANGE_SURE);
	if (d->whole.certainty == CHANGE_UNKNOWN) {
		buf_adds(b, "The significance is unknown: a file does not have its number of "
			    "samples. ");
		put_whole(t, b);
		return;
	}
	buf_addf(b, "%u function%s grew and %u shrank significantly", grew, grew == 1 ? "" : "s",
		 shrank);
	if (grew + shrank)
		buf_addf(b, ", %u of them with high confidence", sure);
	buf_adds(b, " (of ");
	fmt_count(b, d->n_self);
	buf_addf(b, ", up to %.0f expected by chance). ", ceil(d->n_self * (1 - d->confidence)));
	put_whole(t, b);
}

/* States what NO_NAMES rows are. */
static void put_nameless(const struct diff *d, struct buf *b)
{
	uint32_t n = count_matched(d, MATCH_NO_NAMES);
	if (n)
		buf_addf(b,
			 "Functions of %u binar%s are one row each, [no names]: without names they "
			 "cannot be matched between two builds (--strict shows them).\n",
			 n, n == 1 ? "y" : "ies");
}

void diff_table_text(const struct diff_table *t, const struct table_opts *opts, struct buf *b)
{
	struct buf text = { 0 };
	put_side_line(&t->older, "old", &text);
	put_side_line(&t->newer, "new", &text);
	put_legend(t->diff, &text);
	put_rows(t, opts, &text);
	buf_addc(&text, '\n');
	diff_table_summary(t, &text);
	buf_addc(&text, '\n');
	put_nameless(t->diff, &text);
	if (opts->utf8)
		buf_add(b, text.data, text.len);
	else
		table_ascii(&text, b);
	buf_done(&text);
}
