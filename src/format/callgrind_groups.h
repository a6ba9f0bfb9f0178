/* format/callgrind_groups.h: the functions of a call graph in groups that call each other in a
 * cycle (strongly connected components; most have one function), and ways through a group.
 *
 * Groups are numbered so that calls between groups go from higher numbers to lower ones. The ways
 * out of a group are its *items*: the self costs of its code, and the calls to other groups. */
#ifndef CRESSET_FORMAT_CALLGRIND_GROUPS_H
#define CRESSET_FORMAT_CALLGRIND_GROUPS_H

#include "format/callgrind_graph.h"

#include <stdbool.h>

struct callgrind_groups {
	const struct callgrind_graph *graph;
	uint32_t n;
	uint32_t *of_function; /* group */
	uint32_t *members;     /* of a group: how many functions */
	/* Items of group i: items[first_item[i]] … items[first_item[i + 1] - 1]. A number below
	 * graph->code.n is a code, others are graph->code.n + call. */
	uint32_t *items, *first_item;
	/* Calls made by function i: calls[first_call[i]] … calls[first_call[i + 1] - 1]. */
	uint32_t *calls, *first_call;
	/* Shortest ways: the call by which each function of a group is reached from the function
	 * that ways_from says of the group. */
	uint32_t *way, *ways_from, *queue;
	uint64_t steps; /* calls looked at for ways */
};

void callgrind_groups_init(struct callgrind_groups *s, const struct callgrind_graph *g);
void callgrind_groups_done(struct callgrind_groups *s);

static inline uint32_t callgrind_caller(const struct callgrind_graph *g, uint32_t call)
{
	return g->code.v[g->calls.v[call].code].function;
}

/* Fills way[] for all functions of the group of `from`, unless that was done last. */
void callgrind_groups_ways(struct callgrind_groups *s, uint32_t from);

#endif
