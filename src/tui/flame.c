/* Lays out boxes in characters, and draws them. */
#include "tui/flame.h"

#include "base/hash.h"
#include "base/mem.h"
#include "format/common/palette.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"
#include "tui/grid.h"
#include "tui/match.h"

#include <string.h>

enum { EIGHTHS = 8, GAP_FROM = 2 * EIGHTHS, LABEL_FROM = 3 * EIGHTHS, BLOCKS = 0x2590 };
#define MATCH_RGB 0xe600e6
#define DARK_RGB  0x111111
#define LIGHT_RGB 0xffffff

/* --- paths that outlive a tree --------------------------------------------------------------- */

static uint64_t node_hash(const struct tree *t, uint32_t node)
{
	const struct tree_func *f = &t->funcs.v[t->nodes.v[node].func];
	const char *name = strtab_get(&t->strings, f->name);
	const char *binary = strtab_get(&t->strings, f->binary);
	uint64_t names =
		hash_mix(hash_bytes(name, strlen(name)), hash_bytes(binary, strlen(binary)));
	return hash_mix(names, f->kind);
}

static void path_of(const struct tree *t, uint32_t node, struct flame_path *p)
{
	vec_clear(&p->at);
	for (; node != TREE_ROOT; node = t->nodes.v[node].parent)
		vec_push(&p->at, node_hash(t, node));
	for (size_t i = 0; i < p->at.n / 2; i++) {
		uint64_t swap = p->at.v[i];
		p->at.v[i] = p->at.v[p->at.n - 1 - i];
		p->at.v[p->at.n - 1 - i] = swap;
	}
}

/* Follows the path as far as it exists in this tree. */
static uint32_t path_find(const struct tree *t, const struct flame_path *p)
{
	uint32_t at = TREE_ROOT;
	for (size_t i = 0; i < p->at.n; i++) {
		uint32_t child = t->nodes.v[at].first_child;
		while (child != TREE_NONE && node_hash(t, child) != p->at.v[i])
			child = t->nodes.v[child].next;
		if (child == TREE_NONE)
			break;
		at = child;
	}
	return at;
}

void flame_set_tree(struct flame *f, const struct tree *t)
{
	f->tree = t;
	vec_clear(&f->boxes);
	if (!t)
		return;
	f->zoom = path_find(t, &f->zoom_path);
	f->selected = path_find(t, &f->selected_path);
}

void flame_done(struct flame *f)
{
	vec_done(&f->zoom_path.at);
	vec_done(&f->selected_path.at);
	vec_done(&f->boxes);
	*f = (struct flame){ 0 };
}

/* --- layout ----------------------------------------------------------------------------------- */

static int node_depth(const struct tree *t, uint32_t node)
{
	int depth = 0;
	for (; node != TREE_ROOT; node = t->nodes.v[node].parent)
		depth++;
	return depth;
}

static void add_box(struct flame *f, const struct flame_place *p, uint32_t node, int depth,
		    int from, int to)
{
	int y = depth - f->top;
	if (y >= 0 && y < p->rows && to > from)
		vec_push(&f->boxes, (struct flame_box){ node, p->y + y, from, to });
}

/* A node and the first of its children that are not laid out yet. */
struct frame_at {
	uint32_t node, child;
	int64_t from, total; /* as drawn */
	int64_t sum;         /* of the previous children */
};

/* Returns the drawn size of a child. Values may be negative, so children can exceed their parent; a
 * box never extends beyond its parent's. */
static int64_t drawn_total(const struct frame_at *parent, const struct tree_node *child)
{
	int64_t left = parent->total - parent->sum, total = child->total > 0 ? child->total : 0;
	return total < left ? total : left;
}

/* Lays out everything below the zoomed node. Widths are relative to its total, rounded so that
 * neighbours touch. */
static void lay_out(struct flame *f, const struct flame_place *p)
{
	const struct tree_node *nodes = f->tree->nodes.v;
	double scale = (double)p->cols * EIGHTHS / (double)nodes[f->zoom].total;
	VEC(struct frame_at) stack = { 0 };
	int base = node_depth(f->tree, f->zoom);
	vec_push(&stack, (struct frame_at){ f->zoom, nodes[f->zoom].first_child, 0,
					    nodes[f->zoom].total, 0 });
	while (stack.n) {
		struct frame_at *at = &stack.v[stack.n - 1];
		uint32_t child = at->child;
		if (child == TREE_NONE || base + (int)stack.n - f->top >= p->rows) {
			stack.n--;
			continue;
		}
		int64_t from = at->from + at->sum, total = drawn_total(at, &nodes[child]);
		int x0 = (int)((double)from * scale);
		int x1 = (int)((double)(from + total) * scale);
		at->sum += total;
		at->child = nodes[child].next;
		if (x1 <= x0)
			continue;
		add_box(f, p, child, base + (int)stack.n, x0, x1);
		vec_push(&stack,
			 (struct frame_at){ child, nodes[child].first_child, from, total, 0 });
	}
	vec_done(&stack);
}

static void lay_out_all(struct flame *f, const struct flame_place *p)
{
	const struct tree_node *nodes = f->tree->nodes.v;
	uint32_t node = f->zoom;
	vec_clear(&f->boxes);
	for (int depth = node_depth(f->tree, node); depth >= 0; depth--) {
		add_box(f, p, node, depth, 0, p->cols * EIGHTHS);
		node = nodes[node].parent;
	}
	if (nodes[f->zoom].total > 0)
		lay_out(f, p);
}

/* --- drawing ---------------------------------------------------------------------------------- */

struct painter {
	const struct flame *f;
	struct grid *g;
	const struct flame_place *p;
	struct palette *palette;
	const struct swatch *swatches;
	uint32_t *owner; /* by eighth of a row: box + 1 */
};

static const char *name_of(const struct flame *f, uint32_t node)
{
	const struct tree *t = f->tree;
	if (node == TREE_ROOT)
		return "all";
	return strtab_get(&t->strings, t->funcs.v[t->nodes.v[node].func].name);
}

static bool is_match(const struct painter *p, uint32_t node)
{
	return p->p->match && match_is_on(p->p->match) &&
	       match_is(p->p->match, name_of(p->f, node));
}

/* Returns the style of a box and its text. */
static struct grid_style box_style(const struct painter *p, uint32_t box)
{
	uint32_t node = p->f->boxes.v[box].node;
	struct grid_style s = GRID_PLAIN;
	if (!p->p->has_colour) {
		bool is_on = is_match(p, node);
		s.attrs = (box & 1 ? GRID_REVERSE : 0) | (is_on ? GRID_BOLD | GRID_UNDERLINE : 0);
	} else {
		struct shade shade = palette_shade(p->palette, node);
		const struct swatch *swatch = &p->swatches[shade.swatch];
		s.bg = palette_rgb(swatch, shade.step);
		s.fg = swatch->light_text ? LIGHT_RGB : DARK_RGB;
		if (is_match(p, node)) {
			s.bg = MATCH_RGB;
			s.fg = LIGHT_RGB;
		}
	}
	if (node == p->f->selected)
		s.attrs |= GRID_BOLD | GRID_UNDERLINE;
	return s;
}

/* Draws a column shared by two boxes, or by a box and empty space. */
static void draw_edge(const struct painter *p, int y, int x, const uint32_t *owner)
{
	uint32_t left = owner[0], right = owner[EIGHTHS - 1];
	int n = 1;
	while (n < EIGHTHS && owner[n] == left)
		n++;
	struct grid_style l = left ? box_style(p, left - 1) : GRID_PLAIN;
	struct grid_style r = right ? box_style(p, right - 1) : GRID_PLAIN;
	struct grid_style s = { l.bg, r.bg, 0 };
	if (!left) /* the block character draws the empty part */
		s = (struct grid_style){ r.bg, COLOUR_DEFAULT, GRID_REVERSE };
	grid_set(p->g, y, x, BLOCKS - n, s);
}

static void draw_cells(const struct painter *p, int y)
{
	for (int x = 0; x < p->p->cols; x++) {
		const uint32_t *owner = &p->owner[x * EIGHTHS];
		bool is_whole = owner[0] == owner[EIGHTHS - 1];
		uint32_t box = is_whole ? owner[0] : owner[EIGHTHS / 2];
		if (!is_whole && p->p->has_colour && !p->g->ascii)
			draw_edge(p, y, x, owner);
		else if (box)
			grid_set(p->g, y, x, ' ', box_style(p, box - 1));
	}
}

static void draw_label(const struct painter *p, uint32_t box)
{
	const struct flame_box *b = &p->f->boxes.v[box];
	int from = (b->from + EIGHTHS - 1) / EIGHTHS, to = (b->to - 1) / EIGHTHS;
	if (b->to - b->from >= LABEL_FROM && to > from)
		grid_put(p->g, b->y, from, to - from, box_style(p, box), name_of(p->f, b->node));
}

static void draw_row(const struct painter *p, int y)
{
	const struct flame *f = p->f;
	memset(p->owner, 0, (size_t)p->p->cols * EIGHTHS * sizeof *p->owner);
	for (uint32_t i = 0; i < f->boxes.n; i++) {
		const struct flame_box *b = &f->boxes.v[i];
		int gap = b->to - b->from >= GAP_FROM;
		for (int x = b->from; b->y == y && x < b->to - gap; x++)
			p->owner[x] = i + 1;
	}
	draw_cells(p, y);
	for (uint32_t i = 0; i < f->boxes.n; i++)
		if (f->boxes.v[i].y == y)
			draw_label(p, i);
}

void flame_draw(struct flame *f, struct grid *g, const struct flame_place *place)
{
	struct painter p = { .f = f, .g = g, .p = place };
	uint32_t n;
	if (!f->tree || place->cols < 1)
		return;
	lay_out_all(f, place);
	if (palette_new(NULL, f->tree, &p.palette, NULL) < 0)
		return;
	p.swatches = palette_swatches(p.palette, &n);
	p.owner = xcalloc((size_t)place->cols * EIGHTHS, sizeof *p.owner);
	for (int y = place->y; y < place->y + place->rows; y++)
		draw_row(&p, y);
	free(p.owner);
	palette_free(p.palette);
}

/* --- selection and zoom ----------------------------------------------------------------------- */

uint32_t flame_node_at(const struct flame *f, int y, int x)
{
	for (size_t i = 0; i < f->boxes.n; i++) {
		const struct flame_box *b = &f->boxes.v[i];
		if (b->y == y && b->from < (x + 1) * EIGHTHS && b->to > x * EIGHTHS + EIGHTHS / 2)
			return b->node;
	}
	return TREE_NONE;
}

static void flame_select(struct flame *f, uint32_t node)
{
	f->selected = node;
	path_of(f->tree, node, &f->selected_path);
}

static uint32_t widest_child(const struct tree *t, uint32_t node)
{
	uint32_t best = TREE_NONE;
	for (uint32_t c = t->nodes.v[node].first_child; c != TREE_NONE; c = t->nodes.v[c].next)
		if (best == TREE_NONE || t->nodes.v[c].total > t->nodes.v[best].total)
			best = c;
	return best;
}

/* Returns the adjacent box in the same row, whatever its parent. */
static uint32_t neighbour(const struct flame *f, bool is_right)
{
	const struct flame_box *mine = NULL, *best = NULL;
	for (size_t i = 0; i < f->boxes.n && !mine; i++)
		if (f->boxes.v[i].node == f->selected)
			mine = &f->boxes.v[i];
	for (size_t i = 0; mine && i < f->boxes.n; i++) {
		const struct flame_box *b = &f->boxes.v[i];
		if (b->y != mine->y || (is_right ? b->from <= mine->from : b->from >= mine->from))
			continue;
		if (!best || (is_right ? b->from < best->from : b->from > best->from))
			best = b;
	}
	return best ? best->node : f->selected;
}

void flame_move(struct flame *f, enum flame_step step, int rows)
{
	uint32_t to = f->selected;
	if (!f->tree)
		return;
	if (step == FLAME_PARENT && to != TREE_ROOT)
		to = f->tree->nodes.v[to].parent;
	else if (step == FLAME_CHILD)
		to = widest_child(f->tree, to);
	else if (step == FLAME_LEFT || step == FLAME_RIGHT)
		to = neighbour(f, step == FLAME_RIGHT);
	if (to != TREE_NONE)
		flame_select(f, to);
	/* Scroll so that the selected row is visible. */
	int depth = node_depth(f->tree, f->selected);
	if (depth < f->top)
		f->top = depth;
	if (depth >= f->top + rows)
		f->top = depth - rows + 1;
}

void flame_zoom(struct flame *f, uint32_t node)
{
	if (!f->tree)
		return;
	f->zoom = node;
	path_of(f->tree, node, &f->zoom_path);
	flame_select(f, node);
	if (node == TREE_ROOT)
		f->top = 0;
}

bool flame_zoom_out(struct flame *f)
{
	if (!f->tree || f->zoom == TREE_ROOT)
		return false;
	flame_zoom(f, f->tree->nodes.v[f->zoom].parent);
	return true;
}

int64_t flame_matched(const struct flame *f, const struct match *m)
{
	const struct tree *t = f->tree;
	bool *inside = xcalloc(t->nodes.n, sizeof *inside);
	int64_t sum = 0;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		bool above = inside[t->nodes.v[i].parent];
		inside[i] = above || match_is(m, name_of(f, i));
		sum += inside[i] && !above ? t->nodes.v[i].total : 0;
	}
	free(inside);
	return sum;
}
