/* tui/stack_words.h: what the tables of tasks and waits say of a stack, worked out once for each. */
#ifndef CRESSET_TUI_STACK_WORDS_H
#define CRESSET_TUI_STACK_WORDS_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Equal texts are the same pointer. */
struct stack_words {
	const char *leaf;   /* the function that ran, markers aside; "" */
	const char *reason; /* what it waited for; "" */
	const char *waker;  /* who ended that; "" */
	bool in_kernel;     /* the leaf is */
	bool has_function;  /* the one that is asked for; true where none is */
};
struct stack_words_table {
	struct arena *arena;  /* of the texts */
	const char *function; /* asked for; NULL: none */
	VEC(struct stack_words) all;
	struct map by_stack; /* hash of dictionary and stack → index in all */
	VEC(const char *) texts;
	struct map by_text;
	VEC(uint32_t) frames; /* of the stack at hand */
};
void stack_words_done(struct stack_words_table *t);

/* Valid until the next call. */
const struct stack_words *stack_words_get(struct stack_words_table *t, struct profile *dict,
					  uint32_t stack);
/* A copy of text, the same for equal ones. */
const char *stack_words_text(struct stack_words_table *t, const char *text, size_t len);

#endif
