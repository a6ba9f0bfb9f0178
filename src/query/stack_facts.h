/* query/stack_facts.h: what a stack says of its sample: what the thread did, whether the filters of a question take it, who was called last. Worked out
 * once a stack. */
#ifndef CRESSET_QUERY_STACK_FACTS_H
#define CRESSET_QUERY_STACK_FACTS_H

#include "base/vec.h"
#include "profile/stack_id.h"
#include "profile/state.h"
#include "profile/tree_filter.h"

struct stack_fact {
	uint32_t dict, stack;
	bool passes; /* focus and ignore */
	enum thread_state state;
	const char *leaf; /* of the dictionary; "" where nothing is left */
};
/* What is known of the stacks of a dictionary. */
struct stack_facts_of {
	struct profile *dict;
	uint32_t *known; /* by stack: its index in all and 1; 0: not looked at */
	uint32_t n;
};
struct stack_facts {
	struct tree_filter filter;
	bool has_filter; /* focus or ignore */
	VEC(struct stack_facts_of) dicts;
	uint32_t last_dict;
	VEC(struct stack_fact) all;
	VEC(uint32_t) frames;
};

/* -EINVAL with words for a bad regular expression; s is to be done in any case. */
int stack_facts_init(struct stack_facts *s, const struct tree_opts *opts, struct err *err);
void stack_facts_done(struct stack_facts *s);

/* Index in all. dict stays there; it is changed by interned strings only. */
uint32_t stack_facts_get(struct stack_facts *s, struct profile *dict, uint32_t stack);
uint64_t stack_facts_bytes(const struct stack_facts *s);

#endif
