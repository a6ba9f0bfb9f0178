/* Caches kind, name and state of stacks. */
#include "query/lanes/lanes_work.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "profile/tree/tree.h"

#include <stdlib.h>
#include <string.h>

int stack_facts_init(struct stack_facts *s, const struct tree_opts *opts, struct err *err)
{
	*s = (struct stack_facts){ .has_filter = opts->focus || opts->ignore };
	return tree_filter_init(&s->filter, opts, err);
}

void stack_facts_done(struct stack_facts *s)
{
	tree_filter_done(&s->filter);
	for (size_t i = 0; i < s->dicts.n; i++)
		free(s->dicts.v[i].known);
	vec_done(&s->dicts);
	vec_done(&s->all);
	vec_done(&s->frames);
}

uint64_t stack_facts_bytes(const struct stack_facts *s)
{
	uint64_t bytes = vec_size_bytes(&s->all);
	for (size_t i = 0; i < s->dicts.n; i++)
		bytes += s->dicts.v[i].n * sizeof *s->dicts.v[i].known;
	return bytes;
}

static uint32_t find_dict(struct stack_facts *s, struct profile *dict)
{
	if (s->last_dict < s->dicts.n && s->dicts.v[s->last_dict].dict == dict)
		return s->last_dict;
	uint32_t i = 0;
	while (i < s->dicts.n && s->dicts.v[i].dict != dict)
		i++;
	if (i == s->dicts.n)
		vec_push(&s->dicts, (struct stack_facts_of){ .dict = dict });
	return s->last_dict = i;
}

/* Returns the filter's results for the functions of a frame, including inlined ones. Sets *leaf, if
 * still unset, to the innermost one that is shown. */
static unsigned look_at_frame(struct stack_facts *s, struct profile *dict, uint32_t frame,
			      const char **leaf)
{
	struct shown_line lines[NAMES_MAX_INLINE];
	uint32_t n = profile_frame_lines(dict, frame, lines, NAMES_MAX_INLINE);
	unsigned all = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct tree_func f = { .name = lines[i].name,
				       .binary = profile_frame_binary(dict, frame),
				       .file = lines[i].file,
				       .kind = dict->frames.frames.v[frame].kind,
				       .inlined = i + 1 < n };
		unsigned bits = tree_filter_func(&s->filter, &dict->strings, &f);
		if (!*leaf && !(bits & FUNC_DROP))
			*leaf = profile_str(dict, lines[i].name);
		all |= bits;
	}
	return all;
}

static struct stack_fact find_out(struct stack_facts *s, struct profile *dict, uint32_t stack)
{
	uint32_t depth = stack_depth(&dict->stacks, stack);
	struct stack_fact f = { .stack = stack };
	unsigned bits = 0;
	vec_reserve(&s->frames, depth + 1);
	stack_frames(&dict->stacks, stack, s->frames.v);
	for (uint32_t i = depth; i-- > 0 && (!f.leaf || s->has_filter);)
		bits |= look_at_frame(s, dict, s->frames.v[i], &f.leaf);
	f.leaf = f.leaf ? f.leaf : "";
	f.passes = tree_filter_passes(&s->filter, bits);
	f.state = state_of_stack(dict, stack).state;
	return f;
}

/* Stack ids count from 0, so an array is enough; it grows with the dictionary. */
static uint32_t *known_at(struct stack_facts_of *of, uint32_t stack)
{
	if (stack >= of->n) {
		uint32_t n = of->dict->stacks.stacks.n;
		n = n > stack ? n : stack + 1;
		of->known = xreallocarray(of->known, n, sizeof *of->known);
		memset(of->known + of->n, 0, (n - of->n) * sizeof *of->known);
		of->n = n;
	}
	return &of->known[stack];
}

uint32_t stack_facts_get(struct stack_facts *s, struct profile *dict, uint32_t stack)
{
	uint32_t dict_id = find_dict(s, dict), *known = known_at(&s->dicts.v[dict_id], stack);
	if (*known)
		return *known - 1;
	struct stack_fact f = find_out(s, dict, stack);
	f.dict = dict_id;
	vec_push(&s->all, f);
	*known = s->all.n;
	return *known - 1;
}
