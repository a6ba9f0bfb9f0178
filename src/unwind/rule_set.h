/* unwind/rule_set.h: the distinct rules of one unwind table, numbered by how often they are used. */
#ifndef CRESSET_UNWIND_RULE_SET_H
#define CRESSET_UNWIND_RULE_SET_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/unwind_table.h"
#include "unwind/cfi.h"

enum { RULE_SET_KNOWN_BITS = 8 };

struct rule_set { /* zeroed = before init */
	VEC(struct unwind_rule) rules;
	VEC(uint32_t) used; /* how often each was added */
	struct map index;   /* by content */
	/* Few rules are many rows': most are found here. A free slot holds rule 0. */
	struct unwind_rule known[1 << RULE_SET_KNOWN_BITS];
	uint16_t known_id[1 << RULE_SET_KNOWN_BITS];
};

/* Adds rule 0, which says that there is none. */
void rule_set_init(struct rule_set *s);
void rule_set_done(struct rule_set *s); /* of a zeroed one is fine */

/* The number of a rule as the walker reads it. Numbers may pass UNWIND_MAX_RULES: the caller has to stop then. */
uint32_t rule_set_add(struct rule_set *s, const struct cfi_rule *rule);

/* The number of the rule of gaps between functions (UNWIND_GAP), which so many will have. */
uint32_t rule_set_add_gap(struct rule_set *s, uint32_t uses);

/* Puts the commonest rules first, behind rule 0; returns the new numbers, to be freed. At most UNWIND_MAX_RULES. */
uint16_t *rule_set_sort(struct rule_set *s);

#endif
