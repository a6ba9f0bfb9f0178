/* query/frame_names.h: the functions of a dictionary, and which of them each of its frames is: worked out once, so that a question about
 * many stacks handles numbers instead of text.
 *
 * A frame with inlined calls is several lines, here outermost first as in stacks. */
#ifndef CRESSET_QUERY_FRAME_NAMES_H
#define CRESSET_QUERY_FRAME_NAMES_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct named_function {
	uint32_t name, file, binary; /* strings of the dictionary */
	uint32_t kind;               /* enum frame_kind */
};
struct named_line {
	uint32_t function, line;
};
struct frame_names { /* zeroed = empty */
	const struct profile *dict;
	VEC(struct named_function) functions;
	VEC(struct named_line) lines;
	VEC(uint32_t) first; /* of each frame in lines; behind the last one their number */
	struct map index;
};

/* dict gets the strings that names are made of. */
void frame_names_init(struct frame_names *names, struct profile *dict);
void frame_names_done(struct frame_names *names);

/* A stack, root first, with the calls that were inlined. */
struct stack_line {
	uint32_t frame, function, line;
	bool inlined; /* into the one before */
};
struct stack_lines { /* zeroed = empty */
	VEC(struct stack_line) lines;
	VEC(uint32_t) frames; /* kept from stack to stack */
};
void stack_lines_get(struct stack_lines *out, const struct frame_names *names, uint32_t stack);
void stack_lines_done(struct stack_lines *s);

#endif
