#include "format/chart_states.h"

#include "profile/state.h"
#include "profile/sum.h"

#include <stdlib.h>
#include <string.h>

struct split {
	const struct tree *from;
	struct tree *to;
	uint8_t *
		state; /* by node of `from`: what the marker nearest to it says, going to the root */
	uint32_t *node[THREAD_STATES]; /* by node of `from`: WANTED, then that in `to` */
};
enum { WANTED = UINT32_MAX };

static void find_states(struct split *s)
{
	const struct tree *t = s->from;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		const struct tree_func *f = &t->funcs.v[t->nodes.v[i].func];
		const char *name = strtab_get(&t->strings, f->name);
		s->state[i] = s->state[t->nodes.v[i].parent];
		if (f->kind != FRAME_MARKER)
			continue;
		enum thread_state said = state_of_marker(name, strlen(name));
		s->state[i] = said != STATE_UNSAID ? said : s->state[i];
	}
}

static enum thread_state sample_state(const struct split *s, const struct profile *p,
				      const struct tree_sample *sample)
{
	enum thread_state said = s->state[sample->node];
	if (said != STATE_UNSAID)
		return said;
	if (sample_length_ns(&p->samples, sample->row) <= 0)
		return STATE_ON_CPU;
	said = state_of_type(s->from->type_name);
	return said != STATE_ON_CPU ? said : STATE_OFF_CPU;
}

static uint32_t state_root(struct split *s, enum thread_state state)
{
	struct tree_func f = { .kind = FRAME_MARKER };
	f.name = strtab_put(&s->to->strings, thread_state_names[state]);
	return tree_child(s->to, TREE_ROOT, tree_func_intern(s->to, &f));
}

/* Makes the nodes that are wanted; parents come first. */
static void make_nodes(struct split *s, enum thread_state state)
{
	uint32_t *node = s->node[state];
	for (uint32_t i = 0; i < s->from->nodes.n; i++) {
		const struct tree_node *n = &s->from->nodes.v[i];
		if (node[i] != WANTED)
			continue;
		node[i] = i == TREE_ROOT ? state_root(s, state)
					 : tree_child(s->to, node[n->parent],
						      tree_func_copy(s->to, s->from, n->func));
	}
}

static void split_samples(struct split *s, const struct profile *p, struct tree_samples *samples)
{
	for (size_t i = 0; i < samples->rows.n; i++) {
		uint32_t up = samples->rows.v[i].node;
		uint32_t *node = s->node[sample_state(s, p, &samples->rows.v[i])];
		for (; node[up] != WANTED; up = s->from->nodes.v[up].parent) {
			node[up] = WANTED;
			if (up == TREE_ROOT)
				break;
		}
	}
	for (int state = 0; state < THREAD_STATES; state++)
		make_nodes(s, state);
	for (size_t i = 0; i < samples->rows.n; i++) {
		struct tree_sample *sample = &samples->rows.v[i];
		sample->node = s->node[sample_state(s, p, sample)][sample->node];
		struct tree_node *n = &s->to->nodes.v[sample->node];
		n->self = sum_add(n->self, sample->value);
	}
}

struct tree *tree_split_states(const struct profile *p, const struct tree *t,
			       struct tree_samples *samples)
{
	struct split s = { .from = t, .to = tree_new() };
	s.state = xcalloc(t->nodes.n, sizeof *s.state);
	for (int i = 0; i < THREAD_STATES; i++)
		s.node[i] = xcalloc(t->nodes.n, sizeof *s.node[i]);
	tree_take_unit(s.to, t);
	s.to->unfiltered_total = t->unfiltered_total;
	s.to->n_samples = t->n_samples;
	find_states(&s);
	split_samples(&s, p, samples);
	tree_total(s.to);
	for (int i = 0; i < THREAD_STATES; i++)
		free(s.node[i]);
	free(s.state);
	return s.to;
}
