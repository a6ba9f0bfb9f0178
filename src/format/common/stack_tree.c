/* Converts rows to stacks of the sink, with a cache per row. */
#include "format/common/stack_tree.h"

#include "profile/sink.h"
#include "profile/stack.h"

/* Values of row.stack besides the id of a stack, and of row.depth besides the number of rows from
 * the root. */
enum { NOT_ASKED = UINT32_MAX - 1, UNUSABLE = STACK_TREE_NONE };
enum { DEPTH_UNKNOWN = 0, DEPTH_BEING_FOUND = UINT32_MAX };

uint32_t stack_tree_add(struct stack_tree *t, uint32_t parent, uint32_t frame)
{
	vec_push(&t->rows, (struct stack_tree_row){ parent, frame, NOT_ASKED, DEPTH_UNKNOWN });
	return t->rows.n - 1;
}

/* Converts the path of rows, leaf first, to frames, root first, in place. */
static uint32_t stack_tree_frames(struct stack_tree *t)
{
	uint32_t n = 0;
	for (size_t i = 0; i < t->path.n / 2; i++) {
		uint32_t row = t->path.v[i];
		t->path.v[i] = t->path.v[t->path.n - 1 - i];
		t->path.v[t->path.n - 1 - i] = row;
	}
	for (size_t i = 0; i < t->path.n; i++) {
		uint32_t frame = t->rows.v[t->path.v[i]].frame;
		if (frame != STACK_TREE_NO_FRAME)
			t->path.v[n++] = frame;
	}
	return n;
}

/* Creates the stack of a row whose depth is known and at most STACK_MAX_DEPTH. */
static uint32_t stack_tree_make(struct stack_tree *t, struct sink *sink, uint32_t row)
{
	struct stack_tree_row *r = &t->rows.v[row];
	if (r->stack != NOT_ASKED)
		return r->stack;
	t->steps += r->depth;
	if (t->steps > STACK_TREE_MAX_STEPS)
		return r->stack = UNUSABLE;
	vec_clear(&t->path);
	for (; row != STACK_TREE_ROOT; row = t->rows.v[row].parent)
		vec_push(&t->path, row);
	uint32_t n = stack_tree_frames(t);
	return r->stack = sink->ops->stack(sink, t->path.v, n);
}

enum { NOWHERE = UINT32_MAX - 1 };

/* Climbs from row to one whose depth is known, and marks the rows on the way. Returns that row,
 * STACK_TREE_ROOT or NOWHERE. */
static uint32_t stack_tree_climb(struct stack_tree *t, uint32_t row)
{
	vec_clear(&t->way);
	while (row != STACK_TREE_ROOT) {
		if (row >= t->rows.n || t->rows.v[row].depth == DEPTH_BEING_FOUND)
			return NOWHERE;
		if (t->rows.v[row].depth != DEPTH_UNKNOWN)
			return row;
		t->rows.v[row].depth = DEPTH_BEING_FOUND;
		vec_push(&t->way, row);
		row = t->rows.v[row].parent;
	}
	return row;
}

/* Finds the depth of a row and of all rows above it, each once. Invalid rows keep
 * DEPTH_BEING_FOUND, which makes the rows below them invalid as well. Rows that are too deep get
 * their parent's stack. */
static void stack_tree_find_depth(struct stack_tree *t, struct sink *sink, uint32_t row)
{
	uint32_t above = stack_tree_climb(t, row);
	while (t->way.n) {
		struct stack_tree_row *r = &t->rows.v[t->way.v[--t->way.n]];
		if (above == NOWHERE) {
			r->stack = UNUSABLE;
			continue;
		}
		r->depth = above == STACK_TREE_ROOT ? 1 : t->rows.v[above].depth + 1;
		if (r->depth > STACK_MAX_DEPTH)
			r->stack = stack_tree_make(t, sink, above);
		above = t->way.v[t->way.n];
	}
}

uint32_t stack_tree_stack(struct stack_tree *t, struct sink *sink, uint32_t row)
{
	if (row >= t->rows.n)
		return STACK_TREE_NONE;
	if (t->rows.v[row].depth == DEPTH_UNKNOWN)
		stack_tree_find_depth(t, sink, row);
	return stack_tree_make(t, sink, row);
}

void stack_tree_done(struct stack_tree *t)
{
	vec_done(&t->rows);
	vec_done(&t->path);
	vec_done(&t->way);
}
