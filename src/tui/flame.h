/* tui/flame.h: a flame graph of characters: the root is at the top, and box widths are multiples of
 * an eighth of a column. Narrower boxes are not drawn. The zoomed and the selected box are
 * remembered by the frames on their paths, so both survive a rebuild of the tree. */
#ifndef CRESSET_TUI_FLAME_H
#define CRESSET_TUI_FLAME_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct grid;

struct flame_path { /* hashes of the frames, root first; empty: the root */
	VEC(uint64_t) at;
};
struct flame {
	const struct tree *tree; /* owned by the caller */
	struct flame_path zoom_path, selected_path;
	uint32_t zoom, selected;     /* nodes */
	int top;                     /* depth of the first row */
	VEC(struct flame_box) boxes; /* of the last draw */
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

/* Retains zoom and selection in the new tree, or moves them to their nearest ancestors there. */
void flame_set_tree(struct flame *f, const struct tree *t);
void flame_done(struct flame *f);

void flame_draw(struct flame *f, struct grid *g, const struct flame_place *p);
/* Returns the node drawn at a position of the grid, or TREE_NONE. */
uint32_t flame_node_at(const struct flame *f, int y, int x);

enum flame_step { FLAME_PARENT, FLAME_CHILD, FLAME_LEFT, FLAME_RIGHT };
void flame_move(struct flame *f, enum flame_step step, int rows);
void flame_zoom(struct flame *f, uint32_t node); /* TREE_ROOT: no zoom */
/* Zooms out one step. Returns false at the root. */
bool flame_zoom_out(struct flame *f);

/* Returns the sum of the totals of the outermost matching frames. */
int64_t flame_matched(const struct flame *f, const struct match *m);

#endif
