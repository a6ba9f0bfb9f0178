#include "format/perf_script_frames.h"

#include "format/guess.h"
#include "format/perf_script.h"

#include <string.h>

void perf_frames_done(struct perf_frames *f)
{
	arena_done(&f->texts);
	vec_done(&f->tokens);
	map_done(&f->token_index);
	vec_done(&f->refs);
	vec_done(&f->ids);
}

struct perf_token_key {
	const struct perf_frames *f;
	struct perf_text text;
	bool is_high;
};

static bool perf_same_token(const void *ctx, uint32_t id)
{
	const struct perf_token_key *key = ctx;
	const struct perf_token *t = &key->f->tokens.v[id];
	return t->len == key->text.len && t->is_high == key->is_high &&
	       memcmp(t->text, key->text.s, t->len) == 0;
}

static uint32_t perf_string(struct perf_frames *f, struct perf_text t)
{
	return f->sink->ops->string(f->sink, t.s, t.len);
}

/* An inlined frame becomes one when it is known which frame it is inlined into. */
static struct perf_token perf_new_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	struct perf_symbol symbol;
	perf_symbol_parse(text, &symbol);
	enum frame_kind kind = perf_symbol_kind(&symbol, is_high);
	struct perf_token t = { .is_high = is_high, .is_inlined = symbol.is_inlined };
	t.frame = (struct frame){ .kind = kind,
				  .mapping = MAPPING_NONE,
				  .function = perf_string(f, symbol.name) };
	t.frame.binary = perf_string(f, perf_dso_binary(symbol.dso, kind));
	if (!t.is_inlined)
		t.id = f->sink->ops->frame(f->sink, &t.frame);
	return t;
}

static uint32_t perf_find_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	struct perf_token_key key = { f, text, is_high };
	uint64_t hash = hash_bytes(text.s, text.len) + is_high;
	uint32_t fresh = f->tokens.n;
	uint32_t id = map_intern(&f->token_index, hash, fresh, perf_same_token, &key);
	if (id == fresh) {
		struct perf_token t = perf_new_token(f, text, is_high);
		t.text = arena_dup(&f->texts, text.s, text.len);
		t.len = text.len;
		vec_push(&f->tokens, t);
	}
	return id;
}

/* Of a long line the text is not kept, so that its token equals no other. */
static uint32_t perf_long_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	struct perf_token t = perf_new_token(f, text, is_high);
	t.len = UINT32_MAX;
	vec_push(&f->tokens, t);
	return f->tokens.n - 1;
}

static uint32_t perf_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	if (text.len > PERF_SCRIPT_CACHED_LINE)
		return perf_long_token(f, text, is_high);
	if (f->refs.n == 0)
		return perf_find_token(f, text, is_high);
	struct perf_token_key key = { f, text, is_high };
	uint32_t before = f->refs.v[f->refs.n - 1].token;
	uint32_t guess = f->tokens.v[before].next;
	if (guess && perf_same_token(&key, guess))
		return guess;
	uint32_t id = perf_find_token(f, text, is_high);
	f->tokens.v[before].next = id;
	return id;
}

void perf_frames_add(struct perf_frames *f, struct perf_text text, bool is_high)
{
	if (f->refs.n >= PERF_SCRIPT_MAX_FRAMES)
		return;
	uint32_t token = perf_token(f, text, is_high);
	vec_push(&f->refs, (struct perf_frame_ref){ .token = token });
}

void perf_frames_source(struct perf_frames *f, struct perf_text file, uint32_t line)
{
	if (f->refs.n == 0)
		return;
	struct perf_frame_ref *ref = &f->refs.v[f->refs.n - 1];
	ref->file = perf_string(f, file);
	ref->line = line;
	ref->kind = guess_kind("", 0, file.s, file.len);
}

/* around: the frame that this one was inlined into, if it was. */
static struct frame perf_full_frame(const struct perf_token *t, const struct perf_frame_ref *ref,
				    const struct frame *around)
{
	struct frame frame = t->frame;
	if (t->is_inlined) {
		frame.kind = around->kind;
		frame.binary = around->binary;
	}
	if (frame.kind == FRAME_NATIVE)
		frame.kind = ref->kind;
	frame.file = ref->file;
	frame.line = ref->line;
	return frame;
}

uint32_t perf_frames_stack(struct perf_frames *f)
{
	struct frame around = { .kind = FRAME_NATIVE };
	vec_clear(&f->ids);
	vec_reserve(&f->ids, f->refs.n);
	for (size_t i = f->refs.n; i-- > 0;) {
		const struct perf_frame_ref *ref = &f->refs.v[i];
		const struct perf_token *t = &f->tokens.v[ref->token];
		uint32_t id = t->id;
		if (t->is_inlined || ref->file) {
			struct frame full = perf_full_frame(t, ref, &around);
			id = f->sink->ops->frame(f->sink, &full);
		}
		if (!t->is_inlined)
			around = t->frame;
		vec_push(&f->ids, id);
	}
	vec_clear(&f->refs);
	return f->sink->ops->stack(f->sink, f->ids.v, f->ids.n);
}
