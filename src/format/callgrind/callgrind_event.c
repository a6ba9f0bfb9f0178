/* Parses event lines, and computes derived events. */
#include "base/vec.h"
#include "format/callgrind/callgrind_graph.h"
#include "profile/sum.h"

#include <string.h>

static const struct {
	const char *name, *unit;
} callgrind_known[] = {
	{ "Ir", "instructions" },  { "Instructions", "instructions" },
	{ "Dr", "reads" },         { "Dw", "writes" },
	{ "I1mr", "misses" },      { "D1mr", "misses" },
	{ "D1mw", "misses" },      { "ILmr", "misses" },
	{ "DLmr", "misses" },      { "DLmw", "misses" },
	{ "Bc", "branches" },      { "Bi", "branches" },
	{ "Bcm", "mispredicted" }, { "Bim", "mispredicted" },
	{ "sysCount", "calls" },   { "Cycles", "cycles" },
};

static const struct {
	const char *text, *unit;
	int64_t factor;
} callgrind_units[] = {
	{ "ns", "nanoseconds", 1 },
	{ "nanoseconds", "nanoseconds", 1 },
	{ "10ns", "nanoseconds", 10 },
	{ "us", "microseconds", 1 },
	{ "µs", "microseconds", 1 },
	{ "microseconds", "microseconds", 1 },
	{ "ms", "milliseconds", 1 },
	{ "milliseconds", "milliseconds", 1 },
	{ "s", "seconds", 1 },
	{ "seconds", "seconds", 1 },
	{ "bytes", "bytes", 1 },
	{ "B", "bytes", 1 },
	{ "kB", "kilobytes", 1 },
	{ "MB", "megabytes", 1 },
	{ "count", "count", 1 },
	{ "samples", "count", 1 },
	{ "instructions", "instructions", 1 },
	{ "cycles", "cycles", 1 },
};

static bool callgrind_is(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

static void callgrind_trim(const char **text, size_t *len)
{
	while (*len && (**text == ' ' || **text == '\t')) {
		(*text)++;
		(*len)--;
	}
	while (*len && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
		(*len)--;
}

/* --- units --- */

static void callgrind_scale(callgrind_costs *c, int64_t factor)
{
	for (size_t i = 0; factor != 1 && i < c->n; i++)
		c->v[i] = sum_mul(c->v[i], factor);
}

/* Reads a unit in parentheses at the end of a name. */
static void callgrind_unit_behind(struct callgrind_graph *g, struct callgrind_type *t,
				  const char *text, size_t len)
{
	const char *open = memrchr(text, '(', len);
	if (t->unit || !open || text[len - 1] != ')')
		return;
	open++;
	len = text + len - 1 - open;
	for (size_t i = 0; i < sizeof callgrind_units / sizeof *callgrind_units; i++) {
		if (!callgrind_is(open, len, callgrind_units[i].text))
			continue;
		const char *unit = callgrind_units[i].unit;
		t->unit = callgrind_name(g, unit, strlen(unit));
		callgrind_scale(&t->self, callgrind_units[i].factor);
		callgrind_scale(&t->calls, callgrind_units[i].factor);
		return;
	}
}

/* Valgrind's trees of allocations name the quantity in the long name: "currently allocated Bytes",
 * "Definitely lost Bytes (direct plus indirect)". */
static bool callgrind_counts_bytes(const char *text, size_t len)
{
	static const char word[] = " Bytes";
	size_t n = strlen(word);
	const char *found = memmem(text, len, word, n);
	return found && (found + n == text + len || found[n] == ' ');
}

static void callgrind_unit_of(struct callgrind_graph *g, struct callgrind_type *t)
{
	struct callgrind_name name = g->names.v[t->name];
	struct callgrind_name title = g->names.v[t->title];
	const char *unit = "count";
	callgrind_unit_behind(g, t, name.text, name.len);
	for (size_t i = 0; i < sizeof callgrind_known / sizeof *callgrind_known; i++)
		if (callgrind_is(name.text, name.len, callgrind_known[i].name))
			unit = callgrind_known[i].unit;
	if (strcmp(unit, "count") == 0)
		callgrind_unit_behind(g, t, title.text, title.len);
	if (!t->unit && callgrind_counts_bytes(title.text, title.len))
		unit = "bytes";
	if (!t->unit)
		t->unit = callgrind_name(g, unit, strlen(unit));
}

void callgrind_event_units(struct callgrind_graph *g)
{
	for (size_t i = 0; i < g->types.n; i++)
		callgrind_unit_of(g, &g->types.v[i]);
}

/* --- types computed from others --- */

static uint32_t callgrind_type_find(struct callgrind_graph *g, const char *text, size_t len)
{
	for (uint32_t i = 0; i < g->types.n; i++) {
		const struct callgrind_name *n = &g->names.v[g->types.v[i].name];
		if (n->len == len && memcmp(n->text, text, len) == 0)
			return i;
	}
	return UINT32_MAX;
}

static void callgrind_costs_add(callgrind_costs *to, const callgrind_costs *from, int64_t factor)
{
	for (size_t i = 0; i < from->n; i++)
		if (from->v[i])
			callgrind_cost_add(to, i, sum_mul(from->v[i], factor));
}

/* Adds a term: "Ir", "2 Ir", "2*Ir". */
static bool callgrind_term(struct callgrind_graph *g, uint32_t sum, const char *text, size_t len)
{
	int64_t factor = 0;
	size_t digits = 0;
	callgrind_trim(&text, &len);
	for (; digits < len && text[digits] >= '0' && text[digits] <= '9'; digits++)
		factor = sum_add(sum_mul(factor, 10), text[digits] - '0');
	text += digits;
	len -= digits;
	callgrind_trim(&text, &len);
	if (digits && len && *text == '*') {
		text++;
		len--;
		callgrind_trim(&text, &len);
	}
	uint32_t part = callgrind_type_find(g, text, len);
	if (part == UINT32_MAX || part == sum)
		return false;
	struct callgrind_type *to = &g->types.v[sum], *from = &g->types.v[part];
	callgrind_costs_add(&to->self, &from->self, digits ? factor : 1);
	callgrind_costs_add(&to->calls, &from->calls, digits ? factor : 1);
	return true;
}

/* Adds a sum: "2 Ir + Dr". */
static bool callgrind_formula(struct callgrind_graph *g, uint32_t sum, const char *text, size_t len)
{
	bool good = true;
	const char *end = text + len;
	while (good && text <= end) {
		const char *plus = memchr(text, '+', end - text);
		const char *term_end = plus ? plus : end;
		good = callgrind_term(g, sum, text, term_end - text);
		text = term_end + 1;
	}
	return good;
}

bool callgrind_event_apply(struct callgrind_graph *g, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t head = colon ? (size_t)(colon - text) : len;
	const char *equals = memchr(text, '=', head);
	const char *name = text;
	size_t name_len = equals ? (size_t)(equals - text) : head;
	callgrind_trim(&name, &name_len);
	uint32_t type = callgrind_type_find(g, name, name_len);
	if (type == UINT32_MAX && equals && name_len) {
		type = callgrind_type(g, callgrind_name(g, name, name_len));
		if (g->full)
			return false;
		if (!callgrind_formula(g, type, equals + 1, text + head - equals - 1)) {
			vec_done(&g->types.v[type].self);
			vec_done(&g->types.v[type].calls);
			g->types.n--;
			return false;
		}
	}
	if (type != UINT32_MAX && colon) {
		const char *title = colon + 1;
		size_t title_len = text + len - title;
		callgrind_trim(&title, &title_len);
		g->types.v[type].title = callgrind_name(g, title, title_len);
	}
	return name_len > 0;
}
