/* format/callgrind/callgrind_graph.h: the contents of a callgrind file, summed up: functions, their
 * code, calls between them, and the costs of code and calls by type.
 *
 *     function   {thread, object, file, name}
 *     code       {function, file}: the function's own file, or one inlined into it (fi=)
 *     call       {code, callee}
 *     type       the self cost of every code and the inclusive cost of every call
 *
 * Each thread has its own functions, so the graph has a separate part for each thread. Rows are
 * found by content and added if new. At a limit, `full` names the exhausted table; no row is added,
 * and the result is row 0, which always exists, or UINT32_MAX for calls and types. */
#ifndef CRESSET_FORMAT_CALLGRIND_CALLGRIND_GRAPH_H
#define CRESSET_FORMAT_CALLGRIND_CALLGRIND_GRAPH_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* limit: functions, names, or pieces of inlined code */
	CALLGRIND_MAX_FUNCTIONS = 1 << 22,
	CALLGRIND_MAX_CALLS = 1 << 23,      /* limit: calls */
	CALLGRIND_MAX_TYPES = 64,           /* limit: events */
	CALLGRIND_MAX_COSTS = 1 << 26,      /* limit: costs: (functions + calls) × events */
	CALLGRIND_MAX_NAME_BYTES = 1 << 28, /* limit: all names */
	CALLGRIND_NO_THREAD = UINT32_MAX,
};

struct callgrind_name {
	const char *text;
	uint32_t len;
};
struct callgrind_function {
	uint32_t thread;             /* CALLGRIND_NO_THREAD */
	uint32_t object, file, name; /* names; 0 = unknown */
	uint32_t code;               /* of its own file */
};
struct callgrind_code {
	uint32_t function;
	uint32_t file; /* name */
};
struct callgrind_call {
	uint32_t code, callee; /* callee: function */
};
typedef VEC(int64_t) callgrind_costs; /* by row; missing rows are 0 */
struct callgrind_type {
	uint32_t name, title, unit; /* names; 0 = not given */
	callgrind_costs self, calls;
};

struct callgrind_graph {
	struct arena texts;
	VEC(struct callgrind_name) names;
	VEC(struct callgrind_function) functions;
	VEC(struct callgrind_code) code;
	VEC(struct callgrind_call) calls;
	VEC(struct callgrind_type) types;
	struct map name_index, function_index, code_index, call_index;
	const char *full; /* "functions", "names" …; NULL if nothing is full */
};

void callgrind_graph_init(struct callgrind_graph *g);
void callgrind_graph_done(struct callgrind_graph *g);

uint32_t callgrind_name(struct callgrind_graph *g, const char *text, size_t len);
uint32_t callgrind_function(struct callgrind_graph *g, const struct callgrind_function *f);
uint32_t callgrind_code(struct callgrind_graph *g, uint32_t function, uint32_t file);
uint32_t callgrind_call(struct callgrind_graph *g, uint32_t code, uint32_t callee);
uint32_t callgrind_type(struct callgrind_graph *g, uint32_t name);

/* Adds to the cost of a row. */
void callgrind_cost_add(callgrind_costs *c, uint32_t row, int64_t cost);

static inline int64_t callgrind_cost(const callgrind_costs *c, uint32_t row)
{
	return row < c->n ? c->v[row] : 0;
}

/* --- callgrind_event.c ---
 *
 * The titles and units of callgrind's types, and types computed from others.
 *
 * The unit comes from the type's name: "Ir" counts instructions; "Time_(10ns)" and "cpu(ms)" have
 * it in parentheses. Otherwise it is in parentheses at the end of the long name ("event: sys : time
 * in the kernel (ns)"). Otherwise the type is a count. */

/* Applies the text after "event:": "Ir : long name", "Sum = 2 Ir + Dr : long name". The types it
 * refers to and their costs must exist. Returns false if the text is malformed. */
bool callgrind_event_apply(struct callgrind_graph *g, const char *text, size_t len);

/* Gives every type its unit. Call once, after all events are applied. Costs in units of 10 ns
 * become nanoseconds. */
void callgrind_event_units(struct callgrind_graph *g);

/* --- callgrind_groups.c ---
 *
 * Groups of functions that call each other in a cycle (strongly connected components; most have one
 * function), and paths through a group.
 *
 * Groups are numbered so that calls between groups go from higher to lower numbers. The exits of a
 * group are its *items*: the self costs of its code, and the calls to other groups. */

struct callgrind_groups {
	const struct callgrind_graph *graph;
	uint32_t n;
	uint32_t *of_function; /* group */
	uint32_t *members;     /* by group: number of functions */
	/* Items of group i: items[first_item[i]] … items[first_item[i + 1] - 1]. A number below
	 * graph->code.n is a code, otherwise it is graph->code.n + call. */
	uint32_t *items, *first_item;
	/* Calls made by function i: calls[first_call[i]] … calls[first_call[i + 1] - 1]. */
	uint32_t *calls, *first_call;
	/* Shortest paths: the call that reaches each function of a group from the function
	 * ways_from[group]. */
	uint32_t *way, *ways_from, *queue;
	uint64_t steps; /* calls examined for paths */
};

void callgrind_groups_init(struct callgrind_groups *s, const struct callgrind_graph *g);
void callgrind_groups_done(struct callgrind_groups *s);

static inline uint32_t callgrind_caller(const struct callgrind_graph *g, uint32_t call)
{
	return g->code.v[g->calls.v[call].code].function;
}

/* Fills way[] for all functions of the group of `from`, unless the last call for the group had the
 * same `from`. */
void callgrind_groups_ways(struct callgrind_groups *s, uint32_t from);

/* --- callgrind_stacks.c ---
 *
 * Stacks estimated from a call graph with costs.
 *
 * The graph has the self cost of each function and the total cost of each call, but not which call
 * led to which. Every activation of a function is assumed to be average: the cost that flows into
 * it by a call is divided among its self cost and its own calls in proportion to their costs over
 * the whole run.
 *
 * Two sums are exact. For each code, the sum over all stacks that end in it is its self cost. For
 * each call that is in no cycle, the sum over all stacks with it is its inclusive cost, as far as
 * the graph adds up (it does if valgrind wrote it). Therefore divisions use whole numbers, round
 * running sums, and take from what is left of each cost.
 *
 * Functions that call each other in a cycle are one group. The costs of calls inside a group are
 * not used, since they count recursion more than once. The flow into a group is divided among all
 * flows out of it (self costs, calls to the outside). Each gets the shortest path through the
 * group, so that no stack contains a function twice.
 *
 * A graph may have exponentially many paths. Therefore a flow below 1/CALLGRIND_SHARE of the total
 * is not divided: it follows one path, chosen at random with the costs as weights, and branches
 * only where the cost there is used up. Stacks deeper than CALLGRIND_MAX_DEPTH continue below a
 * marker at the root. When the steps are used up, the remaining self costs go to the largest
 * existing stack of their code, or to a stack of a marker and the function alone. */

struct sink;

enum {
	CALLGRIND_SHARE = 1 << 13,
	CALLGRIND_MAX_DEPTH = 512,
	/* Costs examined and frames emitted, all types together: seconds. */
	/* limit: steps to divide a cost; the rest goes to one stack */
	CALLGRIND_MAX_STEPS = 1 << 26,
};

/* Emits one sample per stack, type and thread; tid is the thread's number in the file. */
void callgrind_stacks_give(const struct callgrind_graph *g, struct sink *sink, uint32_t pid);

#endif
