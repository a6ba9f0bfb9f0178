/* Names frames of files that are open, one symbol source at a time. */
#include "collect/process/symbolize.h"

#include "base/vec.h"
#include "collect/process/elf_names.h"
#include "collect/process/object.h"
#include "profile/names.h"
#include "profile/sink.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>

struct placed_frame {
	uint64_t addr;
	uint32_t frame;
};

static int by_addr(const void *a, const void *b)
{
	const struct placed_frame *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void set_names(struct sink *sink, uint32_t frame, const struct symbol_line *lines,
		      uint32_t n)
{
	struct line out[NAMES_MAX_INLINE];

	for (uint32_t i = 0; i < n; i++) {
		struct function f = {
			.name = sink_string(sink, lines[i].name),
			.linkage = sink_string(sink, lines[i].linkage),
			.file = lines[i].file ? sink_string(sink, lines[i].file) : 0,
			.start_line = lines[i].start_line,
		};
		out[i] = (struct line){
			.function = sink->ops->function(sink, &f),
			.line = lines[i].line,
		};
	}
	sink->ops->names(sink, frame, out, n);
}

/* Returns the origin of the name; NULL if none exists. */
static const char *name_frame(struct symbolize *s, struct symbol_source *names,
			      const struct placed_frame *p)
{
	struct symbol_line lines[NAMES_MAX_INLINE];
	uint32_t n = names ? symbol_lines(names, p->addr, lines, NAMES_MAX_INLINE) : 0;

	if (n) {
		set_names(s->sink, p->frame, lines, n);
		s->named++;
		return names->origin;
	}
	const uint32_t *samples = map_get(s->leaf_samples, p->frame);
	s->unsymbolized += samples ? *samples : 0;
	return NULL;
}

/* Adjacent frames mostly have the same origin. */
struct origin_run {
	struct symbolize *s;
	uint32_t mapping;
	const char *origin;
	uint64_t frames;
};

static void origin_run_end(struct origin_run *r)
{
	struct sink *sink = r->s->sink;

	if (r->frames)
		sink->ops->origin(sink, r->mapping, sink_string(sink, r->origin), r->frames);
	r->frames = 0;
}

static void origin_run_add(struct origin_run *r, const char *origin)
{
	if (r->origin != origin)
		origin_run_end(r);
	r->origin = origin;
	r->frames++;
}

/* Works in order of address, so that neighbours find warm caches, and the ids in the sink are the
 * same every time. */
void symbolize_frames(struct symbolize *s, struct symbol_source *names, uint32_t mapping,
		      const struct map *frames)
{
	struct origin_run run = { .s = s, .mapping = mapping };
	VEC(struct placed_frame) all = { 0 };

	vec_reserve(&all, frames->n);
	map_each (frames, slot)
		vec_push(&all, (struct placed_frame){ slot->key, slot->value });
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_addr);
	for (size_t i = 0; i < all.n; i++)
		origin_run_add(&run, name_frame(s, names, &all.v[i]));
	origin_run_end(&run);
	vec_done(&all);
}

void symbolize_object(struct symbolize *s, struct object_table *objects, struct object *o)
{
	int fd = object_fd(objects, o);
	struct elf_names names;
	int rc = fd < 0 ? -ENODATA : elf_names_open(&names, s->files, fd, o->name, o->pid);

	symbolize_frames(s, rc ? NULL : names.source, o->mapping, &o->frames);
	uint64_t skipped = rc ? rc != -ENODATA : names.source->skipped;
	if (skipped)
		s->sink->ops->loss(s->sink, LOSS_SYMBOLS_SKIPPED, skipped);
	if (rc == 0)
		elf_names_close(&names);
}
