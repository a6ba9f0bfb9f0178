/* Writes the columns of a tree as varints. */
#include "format/common/tree_bin.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/pb.h"
#include "profile/frame.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#include <math.h>
#include <string.h>

enum { INLINED = 1, KIND_REST = 0 };

enum column { DEPTH, FRAME, SELF, SELF_B, N, N_B, W2, W2_B, START, COLUMNS };
static const char *const column_names[COLUMNS] = { "depth", "frame", "self", "self_b", "n",
						   "n_b",   "w2",    "w2_b", "start" };

enum frame_column { NAME, FILE_NAME, LINE, MAPPING, KIND, FLAGS, FRAME_COLUMNS };

struct writer {
	const struct tree *t;
	const struct tree_bin_opts *opts;
	bool has[COLUMNS], is_signed;
	uint32_t *frame; /* by function: index in the frame table + 1; 0: not added yet */
	uint32_t n_frames, n_nodes;
	int64_t start_ns; /* of the previous node */
	struct strtab strings;
	struct buf text; /* of the current string */
	struct buf frames[FRAME_COLUMNS], nodes[COLUMNS];
};

/* --- strings and frames ----------------------------------------------------------------------- */

static uint32_t put_string(struct writer *w, uint32_t id)
{
	const struct strtab *from = &w->t->strings;
	buf_clear(&w->text);
	esc_utf8(&w->text, strtab_get(from, id), strtab_len(from, id), TREE_TEXT_MAX);
	return strtab_putn(&w->strings, w->text.data, w->text.len);
}

/* The row of omitted nodes is kind 0, so that readers can recognize it by number. */
static uint32_t kind_number(uint8_t kind)
{
	return kind == FRAME_REST ? KIND_REST : kind < FRAME_REST ? kind + 1 : kind;
}

static void put_frame(struct writer *w, const struct tree_func *f, uint32_t name)
{
	pb_put_varint(&w->frames[NAME], name);
	pb_put_varint(&w->frames[FILE_NAME], put_string(w, f->file));
	pb_put_varint(&w->frames[LINE], 0); /* nodes are functions, regardless of lines */
	pb_put_varint(&w->frames[MAPPING], put_string(w, f->binary));
	pb_put_varint(&w->frames[KIND], kind_number(f->kind));
	pb_put_varint(&w->frames[FLAGS], f->inlined ? INLINED : 0);
	w->n_frames++;
}

static uint32_t frame_of(struct writer *w, uint32_t func)
{
	const struct tree_func *f = &w->t->funcs.v[func];
	if (!w->frame[func]) {
		put_frame(w, f, put_string(w, f->name));
		w->frame[func] = w->n_frames;
	}
	return w->frame[func] - 1;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void put_value(struct writer *w, enum column column, int64_t v)
{
	pb_put_varint(&w->nodes[column], w->is_signed ? zigzag(v) : (uint64_t)v);
}

static void put_spread(struct writer *w, enum column n, enum column w2, struct tree_spread spread)
{
	if (w->has[n])
		pb_put_varint(&w->nodes[n], llround(spread.n));
	if (!w->has[w2])
		return;
	uint64_t bits;
	memcpy(&bits, &spread.squares, sizeof bits);
	bits = htole64(bits);
	buf_add(&w->nodes[w2], &bits, sizeof bits);
}

static void put_node(struct writer *w, uint32_t id, uint32_t steps_up)
{
	const struct tree *t = w->t;
	const struct tree_node *n = &t->nodes.v[id];
	pb_put_varint(&w->nodes[DEPTH], steps_up);
	pb_put_varint(&w->nodes[FRAME], frame_of(w, n->func));
	put_value(w, SELF, t->is_diff ? n->other_self : n->self);
	if (t->is_diff)
		put_value(w, SELF_B, n->self);
	if (w->has[START]) {
		int64_t start_ns = w->opts->starts_ns[id];
		pb_put_varint(&w->nodes[START], start_ns - w->start_ns);
		w->start_ns = start_ns;
	}
	if (!w->has[N])
		return;
	put_spread(w, N, W2, t->is_diff ? t->other_spreads.v[id].self : t->spreads.v[id].self);
	if (t->is_diff)
		put_spread(w, N_B, W2_B, t->spreads.v[id].self);
}

/* Returns the next node in pre-order. Sets *steps_up to how many levels it is above the position of
 * a child. */
static uint32_t next_node(const struct tree *t, uint32_t id, uint32_t *steps_up)
{
	const struct tree_node *nodes = t->nodes.v;
	*steps_up = 0;
	if (nodes[id].first_child != TREE_NONE)
		return nodes[id].first_child;
	for (*steps_up = 1; id != TREE_ROOT; id = nodes[id].parent, ++*steps_up)
		if (nodes[id].next != TREE_NONE)
			return nodes[id].next;
	return TREE_NONE;
}

static void put_nodes(struct writer *w)
{
	uint32_t steps_up = 0;
	uint32_t root = w->t->nodes.v[TREE_ROOT].func;
	/* The root has no name: readers choose one. */
	put_frame(w, &w->t->funcs.v[root], 0);
	w->frame[root] = w->n_frames;
	for (uint32_t id = TREE_ROOT; id != TREE_NONE; id = next_node(w->t, id, &steps_up)) {
		put_node(w, id, steps_up);
		w->n_nodes++;
	}
}

/* --- choice of columns ------------------------------------------------------------------------ */

/* Whether all n samples have the same weight: the sum of squared weights is then v * v / n, which
 * readers can compute. */
static bool is_plain(int64_t value, struct tree_spread s)
{
	double squares = s.n > 0 ? (double)value * (double)value / s.n : 0;
	return fabs(s.squares - squares) <= 1e-9 * (fabs(s.squares) + squares);
}

static void look_at_spreads(struct writer *w, const struct tree_node_spread *spreads, bool is_other)
{
	const struct tree_node *nodes = w->t->nodes.v;
	for (size_t i = 0; i < w->t->nodes.n && w->has[N]; i++) {
		struct tree_spread s = spreads[i].self;
		if (!isfinite(s.n) || !isfinite(s.squares) || s.n < 0 || s.n >= (double)INT64_MAX)
			w->has[N] = false;
		else if (!is_plain(is_other ? nodes[i].other_self : nodes[i].self, s))
			w->has[W2] = true;
	}
}

static void choose_columns(struct writer *w)
{
	const struct tree *t = w->t;
	w->has[DEPTH] = w->has[FRAME] = w->has[SELF] = true;
	w->has[SELF_B] = t->is_diff;
	w->has[START] = w->opts->starts_ns != NULL;
	for (size_t i = 0; i < t->nodes.n && !w->is_signed; i++)
		w->is_signed = t->nodes.v[i].self < 0 || t->nodes.v[i].other_self < 0;
	w->has[N] = t->spreads.n == t->nodes.n && (!t->is_diff || t->other_spreads.n == t->nodes.n);
	if (w->has[N])
		look_at_spreads(w, t->spreads.v, false);
	if (w->has[N] && t->is_diff)
		look_at_spreads(w, t->other_spreads.v, true);
	w->has[W2] &= w->has[N];
	w->has[N_B] = w->has[N] && t->is_diff;
	w->has[W2_B] = w->has[W2] && t->is_diff;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void header_sums(struct json *j, const struct tree *t)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	json_key_i64(j, "total", t->is_diff ? root->other_total : root->total);
	json_key_i64(j, "unfiltered", t->is_diff ? t->other_unfiltered_total : t->unfiltered_total);
	if (t->is_diff) {
		json_key_i64(j, "total_b", root->total);
		json_key_i64(j, "unfiltered_b", t->unfiltered_total);
	}
	if (t->scale > 0 && t->scaled_unit) {
		json_key_num(j, "scale", t->scale);
		json_key_str(j, "scaled_unit", t->scaled_unit);
	}
}

static void header_kinds(struct json *j)
{
	json_key(j, "kinds");
	json_arr(j);
	json_str(j, frame_kinds[FRAME_REST].name);
	for (int kind = 0; kind < FRAME_KINDS; kind++)
		if (kind != FRAME_REST)
			json_str(j, frame_kinds[kind].name);
	json_end(j);
}

static void header_columns(struct json *j, const struct writer *w)
{
	json_key(j, "columns");
	json_arr(j);
	for (int i = 0; i < COLUMNS; i++)
		if (w->has[i])
			json_str(j, column_names[i]);
	json_end(j);
}

static void header_shape(struct json *j, const struct writer *w)
{
	const struct tree_bin_opts *opts = w->opts;
	json_key_bool(j, "inverted", w->t->is_inverted);
	if (w->is_signed)
		json_key_bool(j, "signed", true);
	if (opts->norm) {
		json_key_str(j, "norm", opts->norm);
		json_key_num(j, "seconds", opts->seconds);
		json_key_num(j, "seconds_b", opts->seconds_b);
	}
	if (opts->from_ns || opts->to_ns) {
		json_key_i64(j, "from_ns", opts->from_ns);
		json_key_i64(j, "to_ns", opts->to_ns);
	}
}

static void write_header(const struct writer *w, struct buf *out)
{
	struct json j = json_to(out);
	json_obj(&j);
	json_key_i64(&j, "version", 1);
	json_key_str(&j, "type", w->t->type_name);
	json_key_str(&j, "unit", w->t->unit);
	header_sums(&j, w->t);
	json_key_i64(&j, "nodes", w->n_nodes);
	json_key_i64(&j, "frames", w->n_frames);
	json_key_i64(&j, "strings", w->strings.all.n);
	header_kinds(&j);
	header_columns(&j, w);
	header_shape(&j, w);
	json_end(&j);
}

static void write_all(const struct writer *w, struct buf *out)
{
	struct buf header = { 0 };
	write_header(w, &header);
	buf_adds(out, "CRT1");
	pb_put_varint(out, header.len);
	buf_add(out, header.data, header.len);
	for (uint32_t i = 0; i < w->strings.all.n; i++)
		pb_put_varint(out, strtab_len(&w->strings, i));
	for (uint32_t i = 0; i < w->strings.all.n; i++)
		buf_add(out, strtab_get(&w->strings, i), strtab_len(&w->strings, i));
	for (int i = 0; i < FRAME_COLUMNS; i++)
		buf_add(out, w->frames[i].data, w->frames[i].len);
	for (int i = 0; i < COLUMNS; i++) {
		if (!w->has[i])
			continue;
		pb_put_varint(out, w->nodes[i].len);
		buf_add(out, w->nodes[i].data, w->nodes[i].len);
	}
	buf_done(&header);
}

void tree_bin_write(const struct tree *t, const struct tree_bin_opts *opts, struct buf *out)
{
	struct writer w = { .t = t, .opts = opts };
	w.frame = xcalloc(t->funcs.n, sizeof *w.frame);
	strtab_init(&w.strings);
	choose_columns(&w);
	put_nodes(&w);
	write_all(&w, out);
	for (int i = 0; i < FRAME_COLUMNS; i++)
		buf_done(&w.frames[i]);
	for (int i = 0; i < COLUMNS; i++)
		buf_done(&w.nodes[i]);
	buf_done(&w.text);
	strtab_done(&w.strings);
	free(w.frame);
}
