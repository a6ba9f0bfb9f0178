#include "query/frame_names.h"

struct function_key {
	const struct frame_names *names;
	const struct named_function *f;
};

static bool same_function(const void *ctx, uint32_t id)
{
	const struct function_key *key = ctx;
	const struct named_function *a = key->f, *b = &key->names->functions.v[id];
	return a->name == b->name && a->file == b->file && a->binary == b->binary &&
	       a->kind == b->kind;
}

static uint32_t intern_function(struct frame_names *names, const struct named_function *f)
{
	struct function_key key = { names, f };
	uint32_t fresh = names->functions.n;
	uint32_t id =
		map_intern(&names->index, hash_bytes(f, sizeof *f), fresh, same_function, &key);
	if (id == fresh)
		vec_push(&names->functions, *f);
	return id;
}

static void add_frame(struct frame_names *names, struct profile *dict, uint32_t frame)
{
	struct shown_line shown[NAMES_MAX_INLINE];
	uint32_t n = profile_frame_lines(dict, frame, shown, NAMES_MAX_INLINE);
	uint32_t binary = profile_frame_binary(dict, frame);

	vec_push(&names->first, names->lines.n);
	while (n--) {
		struct named_function f = { shown[n].name, shown[n].file, binary,
					    dict->frames.frames.v[frame].kind };
		vec_push(&names->lines,
			 (struct named_line){ intern_function(names, &f), shown[n].line });
	}
}

void frame_names_init(struct frame_names *names, struct profile *dict)
{
	*names = (struct frame_names){ .dict = dict };
	for (uint32_t i = 0; i < dict->frames.frames.n; i++)
		add_frame(names, dict, i);
	vec_push(&names->first, names->lines.n);
}

void frame_names_done(struct frame_names *names)
{
	vec_done(&names->functions);
	vec_done(&names->lines);
	vec_done(&names->first);
	map_done(&names->index);
}

static void add_lines(struct stack_lines *out, const struct frame_names *names, uint32_t frame)
{
	uint32_t first = names->first.v[frame], end = names->first.v[frame + 1];

	for (uint32_t i = first; i < end; i++) {
		const struct named_line *l = &names->lines.v[i];
		vec_push(&out->lines,
			 (struct stack_line){ frame, l->function, l->line, i > first });
	}
}

void stack_lines_get(struct stack_lines *out, const struct frame_names *names, uint32_t stack)
{
	const struct stack_table *stacks = &names->dict->stacks;
	uint32_t depth = stack_depth(stacks, stack);

	vec_clear(&out->lines);
	vec_reserve(&out->frames, depth);
	if (depth)
		stack_frames(stacks, stack, out->frames.v);
	for (uint32_t i = 0; i < depth; i++)
		add_lines(out, names, out->frames.v[i]);
}

void stack_lines_done(struct stack_lines *s)
{
	vec_done(&s->lines);
	vec_done(&s->frames);
}
