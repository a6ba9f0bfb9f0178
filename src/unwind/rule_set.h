/* unwind/rule_set.h: the distinct rules of one unwind table, numbered by how often they are
 * used. */
#ifndef CRESSET_UNWIND_RULE_SET_H
#define CRESSET_UNWIND_RULE_SET_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/unwind_table.h"

struct cfi_rule;

enum { RULE_SET_KNOWN_BITS = 8 };

struct rule_set { /* zeroed = before init */
	VEC(struct unwind_rule) rules;
	VEC(uint32_t) used; /* how often each was added */
	struct map index;   /* by content */
	/* Cache: a few rules account for most rows. A free slot holds rule 0. */
	struct unwind_rule known[1 << RULE_SET_KNOWN_BITS];
	uint16_t known_id[1 << RULE_SET_KNOWN_BITS];
};

/* Adds rule 0, which stands for no rule. */
void rule_set_init(struct rule_set *s);
void rule_set_done(struct rule_set *s); /* a zeroed one is fine */

/* Returns the number of a rule in the walker's format. Numbers may exceed UNWIND_MAX_RULES: the
 * caller has to stop then. */
uint32_t rule_set_add(struct rule_set *s, const struct cfi_rule *rule);

/* Returns the number of the rule for gaps between functions (UNWIND_GAP). uses: how many will have
 * it. */
uint32_t rule_set_add_gap(struct rule_set *s, uint32_t uses);

/* Sorts the rules, the most used first, after rule 0; returns the new numbers, to be freed. Only
 * for at most UNWIND_MAX_RULES rules. */
uint16_t *rule_set_sort(struct rule_set *s);

#endif
