/* tui/flame.h: a flame graph of characters: the root at the top, boxes as wide as eighths of a column allow. What is narrower than an
 * eighth is not drawn. Which box is zoomed to and which is selected is remembered by what the frames on the way there are, so that both stay when the
 * tree is made anew. */
#ifndef CRESSET_TUI_FLAME_H
#define CRESSET_TUI_FLAME_H

#include "base/vec.h"
#include "profile/tree.h"
#include "tui/grid.h"
#include "tui/match.h"

struct flame_path { /* hashes of the frames from the root on; empty: the root */
	VEC(uint64_t) at;
};
struct flame {
	const struct tree *tree; /* the caller's */
	struct flame_path zoom_path, selected_path;
	uint32_t zoom, selected;     /* nodes */
	int top;                     /* depth in the first row */
	VEC(struct flame_box) boxes; /* of the last drawing */
};
struct flame_box {
	uint32_t node;
	int y, from, to; /* row of the grid; eighths of its columns */
};
struct flame_place {
	int y, rows, cols;
	bool has_colour;
	const struct match *match; /* NULL: nothing is marked */
};

/* The same place in another tree, or as near as there is. */
void flame_set_tree(struct flame *f, const struct tree *t);
void flame_done(struct flame *f);

void flame_draw(struct flame *f, struct grid *g, const struct flame_place *p);
/* The node drawn at a place of the grid; TREE_NONE. */
uint32_t flame_node_at(const struct flame *f, int y, int x);

void flame_select(struct flame *f, uint32_t node);
enum flame_step { FLAME_PARENT, FLAME_CHILD, FLAME_LEFT, FLAME_RIGHT };
void flame_move(struct flame *f, enum flame_step step, int rows);
void flame_zoom(struct flame *f, uint32_t node); /* TREE_ROOT: back */
/* Zooms out a step; false: there is none. */
bool flame_zoom_out(struct flame *f);

/* The totals of the outermost frames that match, added up. */
int64_t flame_matched(const struct flame *f, const struct match *m);

#endif
