/* tests/unit/differing_stacks.h: files of other tools in which all stacks differ, of any size. */
#ifndef CRESSET_TESTS_DIFFERING_STACKS_H
#define CRESSET_TESTS_DIFFERING_STACKS_H

#include "base/buf.h"
#include "format/common/format.h"
#include "rand.h"

#include <stdlib.h>

enum { DIFFERING_DEPTH = 64 };

/* How the stacks of a file differ. */
struct differing_shape {
	const char *name;
	uint32_t depth;     /* of a stack, at most DIFFERING_DEPTH */
	uint32_t functions; /* 0: none is in two stacks */
	uint32_t shared; /* frames at the root that two stacks in a row have in common, at least */
};

struct differing_stacks {
	struct differing_shape shape;
	struct rng rng;
	uint32_t n, made;            /* stacks, functions */
	uint32_t f[DIFFERING_DEPTH]; /* of the current stack, root first */
	uint32_t depth, first;       /* frames before `first` belong to the stack before */
	struct buf tables;           /* what a format puts after its stacks */
	uint32_t known, ids;         /* for the writer */
};

struct differing_format {
	const struct format *format;
	const char *name;
	void (*begin)(struct differing_stacks *s, struct buf *b);
	void (*stack)(struct differing_stacks *s, struct buf *b);
	void (*end)(struct differing_stacks *s, struct buf *b);
};

static inline void differing_next(struct differing_stacks *s)
{
	const struct differing_shape *shape = &s->shape;
	uint32_t most = shape->depth - shape->shared;
	s->first = s->n ? shape->shared : 0;
	s->depth = shape->depth;
	if (s->n && shape->functions && most > 1)
		s->first += rng_below(&s->rng, most);
	for (uint32_t i = s->first; i < s->depth; i++)
		s->f[i] = shape->functions ? (uint32_t)rng_below(&s->rng, shape->functions)
					   : s->made++;
	s->n++;
}

/* Returns the data of such a file, of about this size. */
static inline struct buf differing_file(const struct differing_format *f,
					const struct differing_shape *shape, size_t size)
{
	struct differing_stacks s = { .shape = *shape, .rng = { 7 } };
	struct buf b = { 0 };
	f->begin(&s, &b);
	while (b.len + s.tables.len < size) {
		differing_next(&s);
		f->stack(&s, &b);
	}
	f->end(&s, &b);
	buf_done(&s.tables);
	return b;
}

#endif
