/* Adds up functions, calls and costs while the file is read. */
#include "format/callgrind/callgrind_graph.h"

#include "profile/sum.h"

#include <string.h>

void callgrind_graph_init(struct callgrind_graph *g)
{
	*g = (struct callgrind_graph){ 0 };
	callgrind_name(g, "", 0);
	callgrind_function(g, &(struct callgrind_function){ .thread = CALLGRIND_NO_THREAD });
}

void callgrind_graph_done(struct callgrind_graph *g)
{
	for (size_t i = 0; i < g->types.n; i++) {
		vec_done(&g->types.v[i].self);
		vec_done(&g->types.v[i].calls);
	}
	arena_done(&g->texts);
	vec_done(&g->names);
	vec_done(&g->functions);
	vec_done(&g->code);
	vec_done(&g->calls);
	vec_done(&g->types);
	map_done(&g->name_index);
	map_done(&g->function_index);
	map_done(&g->code_index);
	map_done(&g->call_index);
}

/* Returns whether a table of n rows can hold one more. */
static bool callgrind_has_room(struct callgrind_graph *g, size_t n, size_t max, const char *what)
{
	if (n >= max)
		g->full = what;
	else if ((g->code.n + g->calls.n + 1) * (g->types.n + 1) > CALLGRIND_MAX_COSTS)
		g->full = "costs";
	return !g->full;
}

/* --- names --- */

struct callgrind_name_key {
	const struct callgrind_graph *g;
	const char *text;
	size_t len;
};

static bool callgrind_same_name(const void *ctx, uint32_t id)
{
	const struct callgrind_name_key *key = ctx;
	const struct callgrind_name *n = &key->g->names.v[id];
	return n->len == key->len && memcmp(n->text, key->text, key->len) == 0;
}

uint32_t callgrind_name(struct callgrind_graph *g, const char *text, size_t len)
{
	struct callgrind_name_key key = { g, text, len };
	uint64_t hash = hash_bytes(text, len);
	uint32_t id;
	if (map_lookup(&g->name_index, hash, callgrind_same_name, &key, &id))
		return id;
	if (g->texts.total + len > CALLGRIND_MAX_NAME_BYTES)
		g->full = "bytes of names";
	if (!callgrind_has_room(g, g->names.n, CALLGRIND_MAX_FUNCTIONS, "names"))
		return 0;
	id = map_intern(&g->name_index, hash, g->names.n, callgrind_same_name, &key);
	vec_push(&g->names, (struct callgrind_name){ arena_dup(&g->texts, text, len), len });
	return id;
}

/* --- functions, code, calls --- */

struct callgrind_function_key {
	const struct callgrind_graph *g;
	const struct callgrind_function *f;
};

static bool callgrind_same_function(const void *ctx, uint32_t id)
{
	const struct callgrind_function_key *key = ctx;
	const struct callgrind_function *a = &key->g->functions.v[id], *b = key->f;
	return a->thread == b->thread && a->object == b->object && a->file == b->file &&
	       a->name == b->name;
}

uint32_t callgrind_function(struct callgrind_graph *g, const struct callgrind_function *f)
{
	struct callgrind_function_key key = { g, f };
	uint64_t hash = hash_mix(hash_mix(f->thread, f->object), hash_mix(f->file, f->name));
	uint32_t id;
	if (map_lookup(&g->function_index, hash, callgrind_same_function, &key, &id))
		return id;
	if (!callgrind_has_room(g, g->functions.n, CALLGRIND_MAX_FUNCTIONS, "functions"))
		return 0;
	id = map_intern(&g->function_index, hash, g->functions.n, callgrind_same_function, &key);
	vec_push(&g->functions, *f);
	uint32_t code = callgrind_code(g, id, f->file);
	g->functions.v[id].code = code;
	return id;
}

uint32_t callgrind_code(struct callgrind_graph *g, uint32_t function, uint32_t file)
{
	uint64_t key = (uint64_t)function << 32 | file;
	uint32_t *known = map_get(&g->code_index, key);
	if (known)
		return *known;
	if (!callgrind_has_room(g, g->code.n, CALLGRIND_MAX_FUNCTIONS, "inlined code"))
		return 0;
	map_put(&g->code_index, key, g->code.n);
	vec_push(&g->code, (struct callgrind_code){ function, file });
	return g->code.n - 1;
}

uint32_t callgrind_call(struct callgrind_graph *g, uint32_t code, uint32_t callee)
{
	uint64_t key = (uint64_t)code << 32 | callee;
	uint32_t *known = map_get(&g->call_index, key);
	if (known)
		return *known;
	if (!callgrind_has_room(g, g->calls.n, CALLGRIND_MAX_CALLS, "calls"))
		return UINT32_MAX;
	map_put(&g->call_index, key, g->calls.n);
	vec_push(&g->calls, (struct callgrind_call){ code, callee });
	return g->calls.n - 1;
}

/* --- types --- */

uint32_t callgrind_type(struct callgrind_graph *g, uint32_t name)
{
	for (uint32_t i = 0; i < g->types.n; i++)
		if (g->types.v[i].name == name)
			return i;
	if (!callgrind_has_room(g, g->types.n, CALLGRIND_MAX_TYPES, "events"))
		return UINT32_MAX;
	vec_push(&g->types, (struct callgrind_type){ .name = name });
	return g->types.n - 1;
}

void callgrind_cost_add(callgrind_costs *c, uint32_t row, int64_t cost)
{
	if (row >= c->n) {
		vec_reserve(c, row + 1);
		memset(c->v + c->n, 0, (row + 1 - c->n) * sizeof *c->v);
		c->n = row + 1;
	}
	c->v[row] = sum_add(c->v[row], cost);
}
