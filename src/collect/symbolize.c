#include "collect/symbolize.h"

#include "symbol/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static void name_frame(struct symbolize *s, struct symbol_source *names,
		       const struct placed_frame *p)
{
	struct symbol_line lines[NAMES_MAX_INLINE];
	uint32_t n = names ? symbol_lines(names, p->addr, lines, NAMES_MAX_INLINE) : 0;

	if (n) {
		set_names(s->sink, p->frame, lines, n);
		return;
	}
	const uint32_t *samples = map_get(s->leaf_samples, p->frame);
	s->unsymbolized += samples ? *samples : 0;
}

/* In order of address, so that neighbours meet warm caches and the sink's ids come out the same
 * every time. */
void symbolize_frames(struct symbolize *s, struct symbol_source *names, const struct map *frames)
{
	VEC(struct placed_frame) all = { 0 };

	vec_reserve(&all, frames->n);
	map_each (frames, slot)
		vec_push(&all, (struct placed_frame){ slot->key, slot->value });
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_addr);
	for (size_t i = 0; i < all.n; i++)
		name_frame(s, names, &all.v[i]);
	vec_done(&all);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Debug files are looked for here first, then in the process's own root directory: a container
 * cannot foist its own on others. */
struct debug_roots {
	struct debug_root root[2];
	unsigned current, first_attempt;
};

static int locate(void *ctx, const struct debug_request *req, unsigned attempt)
{
	struct debug_roots *r = ctx;

	if (attempt == 0)
		r->current = r->first_attempt = 0;
	for (; r->current < 2; r->current++, r->first_attempt = attempt) {
		struct debug_root *root = &r->root[r->current];
		int fd = root->fd < 0 ? -1
				      : debug_locate_in_root(root, req, attempt - r->first_attempt);

		if (fd >= 0)
			return fd;
	}
	return -1;
}

void symbolize_object(struct symbolize *s, struct object_table *objects, struct object *o)
{
	int fd = object_fd(objects, o);
	struct symbol_source *names = NULL;
	char root[32];

	snprintf(root, sizeof root, "/proc/%" PRIu32 "/root", o->pid);
	struct debug_roots roots = { .root = {
					     { open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
					       o->name },
					     { open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
					       o->name },
				     } };
	int rc = fd < 0 ? -ENODATA : symbol_open_elf(fd, locate, &roots, &names, NULL);
	if (rc)
		names = NULL;
	uint64_t skipped = names ? names->skipped : rc != -ENODATA;
	if (skipped)
		s->sink->ops->loss(s->sink, LOSS_SYMBOLS_SKIPPED, skipped);
	symbolize_frames(s, names, &o->frames);
	symbol_close(names);
	for (int i = 0; i < 2; i++)
		if (roots.root[i].fd >= 0)
			close(roots.root[i].fd);
}
