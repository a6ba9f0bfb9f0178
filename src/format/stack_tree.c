#include "format/stack_tree.h"

/* What row.stack says beside the id of a stack. */
enum { NOT_ASKED = UINT32_MAX - 1, UNUSABLE = STACK_TREE_NONE };

uint32_t stack_tree_add(struct stack_tree *t, uint32_t parent, uint32_t frame)
{
	vec_push(&t->rows, (struct stack_tree_row){ parent, frame, NOT_ASKED });
	return t->rows.n - 1;
}

/* The path from row up to its root into t->path; false when it does not get there. */
static bool stack_tree_climb(struct stack_tree *t, uint32_t row)
{
	vec_clear(&t->path);
	while (row != STACK_TREE_ROOT) {
		if (row >= t->rows.n || t->rows.v[row].stack == UNUSABLE ||
		    t->path.n == t->rows.n || t->steps >= STACK_TREE_MAX_STEPS)
			return false;
		t->steps++;
		vec_push(&t->path, row);
		row = t->rows.v[row].parent;
	}
	return true;
}

/* Turns the path of rows, leaf first, into frames, root first, in place. */
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

uint32_t stack_tree_stack(struct stack_tree *t, struct sink *sink, uint32_t row)
{
	if (row >= t->rows.n)
		return STACK_TREE_NONE;
	if (t->rows.v[row].stack != NOT_ASKED)
		return t->rows.v[row].stack;
	if (!stack_tree_climb(t, row)) {
		/* Each of these is climbed once only, so that circles cost no more than rows. */
		for (size_t i = 0; i < t->path.n; i++)
			t->rows.v[t->path.v[i]].stack = UNUSABLE;
		return STACK_TREE_NONE;
	}
	uint32_t n = stack_tree_frames(t);
	t->rows.v[row].stack = sink->ops->stack(sink, t->path.v, n);
	return t->rows.v[row].stack;
}

void stack_tree_done(struct stack_tree *t)
{
	vec_done(&t->rows);
	vec_done(&t->path);
}
