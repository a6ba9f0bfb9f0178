/* format/callgrind_graph.h: what a callgrind file says, summed up: functions, the code they are
 * made of, calls between them, and the costs of both by type.
 *
 *     function   {thread, object, file, name}
 *     code       {function, file}: the function's own file, or one that was inlined into it (fi=)
 *     call       {code, callee}
 *     type       the self cost of every code and the inclusive cost of every call
 *
 * Each thread has functions of its own, so the graph falls apart into one for each. Rows are found
 * by content and added when new. Past a limit `full` says what there is too much of; instead of a
 * new row then 0 is given, which is always there, or of calls and types UINT32_MAX. */
#ifndef CRESSET_FORMAT_CALLGRIND_GRAPH_H
#define CRESSET_FORMAT_CALLGRIND_GRAPH_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

enum {
	CALLGRIND_MAX_FUNCTIONS = 1 << 22, /* and as many names, and code of functions */
	CALLGRIND_MAX_CALLS = 1 << 23,
	CALLGRIND_MAX_TYPES = 64,
	CALLGRIND_MAX_COSTS = 1 << 26,      /* (code + calls) * types; 8 bytes each */
	CALLGRIND_MAX_NAME_BYTES = 1 << 28, /* of all names together */
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
typedef VEC(int64_t) callgrind_costs; /* by row; what is behind the end is 0 */
struct callgrind_type {
	uint32_t name, title, unit; /* names; 0 = not said */
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
	const char *full; /* "functions", "names" …: NULL while all is well */
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

#endif
