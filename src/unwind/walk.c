/* Compiles bpf/unwind.h, bpf/hotspot_step.h, bpf/v8_step.h and bpf/php_code.h for user space, with
 * their memory accesses replaced. */
#include "unwind/walk.h"

#include "base/mem.h"
#include "bpf/hotspot_step.h"
#include "bpf/php_code.h"
#include "bpf/unwind.h"
#include "bpf/v8_step.h"

#include <stdlib.h>
#include <string.h>

struct twin {
	struct walk walk;
	const struct unwind_source *source;
	uint64_t *frames;
	uint32_t called;
	struct hotspot_walk hotspot;
	struct v8_walk v8;
	bool has_loop; /* of PHP */
};

static struct twin *twin_of(struct walk *w)
{
	return (struct twin *)((char *)w - offsetof(struct twin, walk));
}

static int walk_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	const struct unwind_source *s = twin_of(w)->source;

	return !s->read(s->ctx, to, size, address);
}

static int walk_word(struct walk *w, __u64 address, __u64 *out)
{
	return walk_read(w, out, sizeof *out, address);
}

static int walk_find(struct walk *w, __u64 address)
{
	const struct unwind_source *s = twin_of(w)->source;

	return !s->find(s->ctx, address, &w->map);
}

static struct space_table *walk_table(struct walk *w, __u32 index)
{
	const struct unwind_source *s = twin_of(w)->source;

	return s->table(s->ctx, index);
}

static const void *walk_chunk(struct walk *w, __u32 chunk)
{
	const struct unwind_source *s = twin_of(w)->source;

	return s->chunk(s->ctx, chunk);
}

static struct known_frame *walk_known(struct walk *w, __u32 i)
{
	struct known_frame *known = twin_of(w)->source->known;

	return known ? known + i : NULL;
}

static void walk_put(struct walk *w, __u64 frame)
{
	twin_of(w)->frames[w->n++] = frame;
}

static int hotspot_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	const struct unwind_source *s = twin_of(w)->source;

	return !s->read_memory(s->ctx, to, size, address);
}

static int v8_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	return hotspot_read(w, to, size, address);
}

struct known_frame *unwind_known_new(void)
{
	return xcalloc(KNOWN_FRAMES, sizeof(struct known_frame));
}

/* PHP's own frames may have changed since the copy: only the native ones are walked. */
static void pass_php(struct walk *w, const struct php_process *php)
{
	bool is_jit = php_is_jit(w, php, walk_pc(w));

	twin_of(w)->has_loop |= is_jit || php_is_loop(php, walk_pc(w));
	if (is_jit)
		php_leave_jit(w, php);
}

/* Takes one frame, and the word after it. Returns 0 when the walk is over. */
static int walk_one(struct walk *w)
{
	const struct unwind_source *s = twin_of(w)->source;

	if (s->php)
		pass_php(w, s->php);
	uint64_t pc = walk_pc(w), sp = w->sp;
	if (sp && sp == s->call_sp)
		twin_of(w)->called = w->n;
	if (walk_known_frame(w, walk_known(w, known_index(w, pc)))) {
		int stepped = s->hotspot ? hotspot_step(w, &twin_of(w)->hotspot) : HOTSPOT_NOT_MINE;

		if (s->v8 && stepped == HOTSPOT_NOT_MINE)
			stepped = v8_step(w, &twin_of(w)->v8);
		if (stepped == HOTSPOT_OVER || (stepped == HOTSPOT_NOT_MINE && walk_frame(w)))
			return 0;
	}
	uint64_t word = s->behind ? s->behind(s->ctx, pc, sp, w->sp) : 0;
	if (word && w->n < w->max)
		walk_put(w, word);
	return 1;
}

struct unwind_walk unwind_walk(const struct unwind_source *source,
			       const uint64_t regs[PT_REGS_WORDS], uint64_t *frames, uint32_t max)
{
	struct twin t = { .source = source, .frames = frames };
	struct walk *w = &t.walk;

	memcpy(w->regs, regs, sizeof w->regs);
	w->use_tables = 1;
	w->image = source->known != NULL; /* the only image */
	w->max = max;
	w->settled = 1;
	w->most = 0;
	if (source->hotspot) {
		t.hotspot.process = *source->hotspot;
		t.hotspot.layout = *source->hotspot_layout;
	}
	if (source->v8)
		t.v8.process = *source->v8;
	walk_begin(w);
	while (walk_one(w))
		;
	if (w->end == WALK_NOT_LOADED && !w->missing) /* all existing mappings were searched */
		w->end = WALK_NO_FP;
	return (struct unwind_walk){
		.end = w->end,
		.n = w->n,
		.missing = w->missing,
		.by_table = w->by_table,
		.by_fp = w->by_fp,
		.called = t.called,
		.has_inline = w->has_inline,
		.has_php = t.has_loop,
	};
}
