#include "tui/stack_words.h"

#include "profile/state.h"

#include <string.h>

enum { LINES_MAX = 16 }; /* inlined functions of a frame that are looked at */

void stack_words_done(struct stack_words_table *t)
{
	vec_done(&t->all);
	map_done(&t->by_stack);
	vec_done(&t->texts);
	map_done(&t->by_text);
	vec_done(&t->frames);
}

struct same_text {
	const struct stack_words_table *t;
	const char *text;
	size_t len;
};

static bool is_same(const void *ctx, uint32_t value)
{
	const struct same_text *s = ctx;
	const char *known = s->t->texts.v[value];
	return strlen(known) == s->len && memcmp(known, s->text, s->len) == 0;
}

const char *stack_words_text(struct stack_words_table *t, const char *text, size_t len)
{
	const struct same_text same = { t, text, len };
	uint32_t fresh = t->texts.n;
	uint32_t i = map_intern(&t->by_text, hash_bytes(text, len), fresh, is_same, &same);
	if (i == fresh) {
		char *copy = arena_alloc(t->arena, len + 1);
		memcpy(copy, text, len);
		copy[len] = '\0';
		vec_push(&t->texts, copy);
	}
	return t->texts.v[i];
}

static const char *text_of(struct stack_words_table *t, const char *text)
{
	return stack_words_text(t, text, strlen(text));
}

static bool is_marker(const struct frame *f)
{
	return f->kind == FRAME_MARKER && f->mapping == MAPPING_NONE;
}

/* "bash (12)" of "[woken by: bash (12)]". */
static void read_marker(struct stack_words_table *t, struct stack_words *s, const char *name)
{
	size_t len = strlen(name), reason_len, skip = strlen(STATE_WOKEN_BY);
	const char *reason = state_reason(name, len, &reason_len);
	if (reason)
		s->reason = stack_words_text(t, reason, reason_len);
	else if (state_of_marker(name, len) != STATE_UNSAID && !*s->reason)
		s->reason = text_of(t, name);
	else if (len > skip && strncmp(name, STATE_WOKEN_BY, skip) == 0)
		s->waker = stack_words_text(t, name + skip, len - skip - (name[len - 1] == ']'));
}

static void read_frame(struct stack_words_table *t, struct stack_words *s, struct profile *dict,
		       uint32_t frame)
{
	const struct frame *f = &dict->frames.frames.v[frame];
	struct shown_line lines[LINES_MAX];
	uint32_t n = profile_frame_lines(dict, frame, lines, LINES_MAX);
	const char *name = profile_str(dict, lines[0].name);
	if (is_marker(f)) {
		read_marker(t, s, name);
	} else if (!*s->leaf) {
		s->leaf = text_of(t, name);
		s->in_kernel = f->kind == FRAME_KERNEL;
	}
	for (uint32_t i = 0; t->function && i < n && !s->has_function; i++)
		s->has_function = strcmp(profile_str(dict, lines[i].name), t->function) == 0;
}

static struct stack_words find_facts(struct stack_words_table *t, struct profile *dict,
				     uint32_t stack)
{
	struct stack_words s = { "", "", "", false, !t->function };
	uint32_t depth = stack_depth(&dict->stacks, stack);
	vec_clear(&t->frames);
	vec_reserve(&t->frames, depth);
	stack_frames(&dict->stacks, stack, t->frames.v);
	for (uint32_t i = depth; i-- > 0 && (!*s.leaf || !s.has_function);)
		read_frame(t, &s, dict, t->frames.v[i]);
	return s;
}

const struct stack_words *stack_words_get(struct stack_words_table *t, struct profile *dict,
					  uint32_t stack)
{
	uint64_t key = hash_mix((uint64_t)(uintptr_t)dict, stack);
	const uint32_t *known = map_get(&t->by_stack, key);
	if (known)
		return &t->all.v[*known];
	map_put(&t->by_stack, key, t->all.n);
	vec_push(&t->all, find_facts(t, dict, stack));
	return &t->all.v[t->all.n - 1];
}
