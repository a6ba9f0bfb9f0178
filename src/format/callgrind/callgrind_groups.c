/* Groups functions in cycles (strongly connected components), and finds ways through a group. */
#include "base/mem.h"
#include "base/vec.h"
#include "format/callgrind/callgrind_graph.h"

#include <string.h>

/* --- calls by caller --- */

static void callgrind_sort_calls(struct callgrind_groups *s)
{
	const struct callgrind_graph *g = s->graph;
	uint32_t *first = s->first_call;
	for (size_t i = 0; i < g->calls.n; i++)
		first[callgrind_caller(g, i) + 1]++;
	for (size_t i = 0; i < g->functions.n; i++)
		first[i + 1] += first[i];
	for (size_t i = 0; i < g->calls.n; i++)
		s->calls[first[callgrind_caller(g, i)]++] = i;
	memmove(first + 1, first, g->functions.n * sizeof *first);
	first[0] = 0;
}

/* --- groups --- */

/* R. Tarjan, "Depth-first search and linear graph algorithms", 1972; without recursion. */
struct tarjan {
	struct callgrind_groups *s;
	uint32_t *seen, *low; /* by function; seen 0 = not yet */
	uint32_t *next;       /* by function: the next call to examine */
	VEC(uint32_t) path, open;
	uint32_t time;
};

static void tarjan_enter(struct tarjan *t, uint32_t f)
{
	t->seen[f] = t->low[f] = ++t->time;
	t->next[f] = t->s->first_call[f];
	vec_push(&t->path, f);
	vec_push(&t->open, f);
}

static void tarjan_leave(struct tarjan *t, uint32_t f)
{
	struct callgrind_groups *s = t->s;
	t->path.n--;
	if (t->path.n) {
		uint32_t caller = t->path.v[t->path.n - 1];
		if (t->low[f] < t->low[caller])
			t->low[caller] = t->low[f];
	}
	if (t->low[f] != t->seen[f])
		return;
	uint32_t member;
	do {
		member = t->open.v[--t->open.n];
		s->of_function[member] = s->n;
		s->members[s->n]++;
	} while (member != f);
	s->n++;
}

static void tarjan_from(struct tarjan *t, uint32_t root)
{
	const struct callgrind_groups *s = t->s;
	tarjan_enter(t, root);
	while (t->path.n) {
		uint32_t f = t->path.v[t->path.n - 1];
		if (t->next[f] == s->first_call[f + 1]) {
			tarjan_leave(t, f);
			continue;
		}
		uint32_t callee = s->graph->calls.v[s->calls[t->next[f]++]].callee;
		if (!t->seen[callee])
			tarjan_enter(t, callee);
		else if (s->of_function[callee] == UINT32_MAX && t->seen[callee] < t->low[f])
			t->low[f] = t->seen[callee];
	}
}

static void callgrind_find_groups(struct callgrind_groups *s)
{
	size_t n = s->graph->functions.n;
	struct tarjan t = { .s = s,
			    .seen = xcalloc(n, sizeof(uint32_t)),
			    .low = xcalloc(n, sizeof(uint32_t)),
			    .next = xcalloc(n, sizeof(uint32_t)) };
	memset(s->of_function, 0xff, n * sizeof *s->of_function);
	for (uint32_t f = 0; f < n; f++)
		if (!t.seen[f])
			tarjan_from(&t, f);
	free(t.seen);
	free(t.low);
	free(t.next);
	vec_done(&t.path);
	vec_done(&t.open);
}

/* --- items by group --- */

/* Returns the group that this item leaves, or UINT32_MAX for a call inside a group. */
static uint32_t callgrind_item_group(const struct callgrind_groups *s, uint32_t item)
{
	const struct callgrind_graph *g = s->graph;
	if (item < g->code.n)
		return s->of_function[g->code.v[item].function];
	uint32_t call = item - g->code.n;
	uint32_t group = s->of_function[callgrind_caller(g, call)];
	return s->of_function[g->calls.v[call].callee] == group ? UINT32_MAX : group;
}

static void callgrind_sort_items(struct callgrind_groups *s)
{
	uint32_t *first = s->first_item, n = s->graph->code.n + s->graph->calls.n, group;
	for (uint32_t i = 0; i < n; i++)
		if ((group = callgrind_item_group(s, i)) != UINT32_MAX)
			first[group + 1]++;
	for (uint32_t i = 0; i < s->n; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < n; i++)
		if ((group = callgrind_item_group(s, i)) != UINT32_MAX)
			s->items[first[group]++] = i;
	memmove(first + 1, first, s->n * sizeof *first);
	first[0] = 0;
}

void callgrind_groups_init(struct callgrind_groups *s, const struct callgrind_graph *g)
{
	size_t n = g->functions.n, size = sizeof(uint32_t);
	*s = (struct callgrind_groups){ .graph = g };
	s->calls = xcalloc(g->calls.n + 1, size);
	s->first_call = xcalloc(n + 1, size);
	s->of_function = xcalloc(n, size);
	s->members = xcalloc(n, size);
	s->items = xcalloc(g->code.n + g->calls.n, size);
	s->first_item = xcalloc(n + 1, size);
	s->way = xcalloc(n, size);
	s->ways_from = xcalloc(n, size);
	s->queue = xcalloc(n, size);
	memset(s->ways_from, 0xff, n * size);
	callgrind_sort_calls(s);
	callgrind_find_groups(s);
	callgrind_sort_items(s);
}

void callgrind_groups_done(struct callgrind_groups *s)
{
	free(s->calls);
	free(s->first_call);
	free(s->of_function);
	free(s->members);
	free(s->items);
	free(s->first_item);
	free(s->way);
	free(s->ways_from);
	free(s->queue);
}

/* --- paths through a group --- */

void callgrind_groups_ways(struct callgrind_groups *s, uint32_t from)
{
	const struct callgrind_graph *g = s->graph;
	uint32_t group = s->of_function[from], head = 0, tail = 0;
	if (s->members[group] == 1 || s->ways_from[group] == from)
		return;
	s->ways_from[group] = from;
	/* Clear the marks of an earlier search of the group. */
	for (uint32_t i = s->first_item[group]; i < s->first_item[group + 1]; i++)
		if (s->items[i] < g->code.n)
			s->way[g->code.v[s->items[i]].function] = UINT32_MAX;
	s->queue[tail++] = from;
	while (head < tail) {
		uint32_t f = s->queue[head++];
		for (uint32_t i = s->first_call[f]; i < s->first_call[f + 1]; i++) {
			uint32_t callee = g->calls.v[s->calls[i]].callee;
			s->steps++;
			if (callee == from || s->of_function[callee] != group ||
			    s->way[callee] != UINT32_MAX)
				continue;
			s->way[callee] = s->calls[i];
			s->queue[tail++] = callee;
		}
	}
}
