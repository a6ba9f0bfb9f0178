/* Wait states of functions, for graphs of `wall`. */
#include "base/mem.h"
#include "profile/frame.h"
#include "profile/state.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#include <string.h>

/* A node without a marker inherits its parent's state; in an inverted tree the parent's marker
 * wins, as it is nearer to the leaf. */
uint8_t *tree_states(const struct tree *t)
{
	uint8_t *of_func = xcalloc(t->funcs.n, 1), *state = xcalloc(t->nodes.n, 1);

	for (uint32_t i = 1; i < t->funcs.n; i++) {
		const struct tree_func *f = &t->funcs.v[i];
		if (f->kind == FRAME_MARKER)
			of_func[i] = state_of_marker(strtab_get(&t->strings, f->name),
						     strtab_len(&t->strings, f->name));
	}
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		uint8_t own = of_func[t->nodes.v[i].func], above = state[t->nodes.v[i].parent];
		state[i] = (t->is_inverted && above) || !own ? above : own;
	}
	for (uint32_t i = 0; i < t->nodes.n; i++)
		state[i] = state[i] ? state[i] : t->unmarked;
	free(of_func);
	return state;
}

void tree_show_on_cpu(struct tree *t)
{
	uint8_t *states = tree_states(t);
	uint32_t n = t->nodes.n;
	bool *waits = xcalloc(n, sizeof *waits); /* by node: whether it contains waits */
	struct tree_func f = { .name = strtab_put(&t->strings, "[on-CPU]"), .kind = FRAME_MARKER };

	for (uint32_t i = n; i-- > 1;) {
		waits[i] |= t->nodes.v[i].self && states[i] != STATE_ON_CPU;
		waits[t->nodes.v[i].parent] |= waits[i];
	}

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
