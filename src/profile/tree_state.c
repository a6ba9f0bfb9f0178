#include "profile/tree_state.h"

#include "base/mem.h"

#include <string.h>

static uint8_t state_of_func(const struct tree *t, uint32_t func)
{
	const struct tree_func *f = &t->funcs.v[func];

	if (f->kind != FRAME_MARKER)
		return STATE_UNSAID;
	return state_of_marker(strtab_get(&t->strings, f->name), strtab_len(&t->strings, f->name));
}

/* A node takes over from its parent what it does not say itself; with leaves at the root the parent is nearer to them. */
uint8_t *tree_states(const struct tree *t)
{
	uint8_t *of_func = xcalloc(t->funcs.n, 1), *state = xcalloc(t->nodes.n, 1);
	uint8_t unmarked = state_of_type(t->type_name);

	for (uint32_t f = 1; f < t->funcs.n; f++)
		of_func[f] = state_of_func(t, f);
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		uint8_t own = of_func[t->nodes.v[i].func], above = state[t->nodes.v[i].parent];
		state[i] = (t->is_inverted && above) || !own ? above : own;
	}
	for (uint32_t i = 0; i < t->nodes.n; i++)
		state[i] = state[i] ? state[i] : unmarked;
	free(of_func);
	return state;
}

/* By node: whether there are waits in it. To be freed. */
static bool *find_waits(const struct tree *t, const uint8_t *states)
{
	bool *waits = xcalloc(t->nodes.n, sizeof *waits);

	for (uint32_t i = t->nodes.n; i-- > 1;) {
		waits[i] |= t->nodes.v[i].self && states[i] != STATE_ON_CPU;
		waits[t->nodes.v[i].parent] |= waits[i];
	}
	return waits;
}

void tree_show_on_cpu(struct tree *t)
{
	uint8_t *states = tree_states(t);
	bool *waits = find_waits(t, states);
	uint32_t n = t->nodes.n;
	struct tree_func f = { .name = strtab_put(&t->strings, "[on-CPU]"), .kind = FRAME_MARKER };

	for (uint32_t i = 1; i < n; i++) {
		int64_t self = t->nodes.v[i].self;

		if (self <= 0 || !waits[i] || states[i] != STATE_ON_CPU)
			continue;
		uint32_t child = tree_child(t, i, tree_func_intern(t, &f));
		t->nodes.v[child].self = t->nodes.v[child].total = self;
		t->nodes.v[i].self = 0;
	}
	free(states);
	free(waits);
}

bool tree_func_is_marker(const struct tree *t, uint32_t func, const char *marker)
{
	const struct tree_func *f = &t->funcs.v[func];

	return f->kind == FRAME_MARKER && strcmp(strtab_get(&t->strings, f->name), marker) == 0;
}
