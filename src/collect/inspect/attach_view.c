/* The state of the GPU library in a process, as attach and doctor show it. */
#include "collect/inspect/inspect.h"

#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"

struct visit {
	gpu_map_fn *fn;
	void *ctx;
};

static bool visit(void *ctx, const struct proc_map *m)
{
	struct visit *v = ctx;
	struct gpu_map map = { m->start, m->end, m->pgoff,      m->maj,
			       m->min,   m->ino, m->executable, m->name };

	return v->fn(v->ctx, &map);
}

static int maps(uint32_t pid, gpu_map_fn *fn, void *ctx)
{
	struct visit v = { fn, ctx };

	return proc_maps_read(pid, visit, &v);
}

static int open_map(uint32_t pid, const struct gpu_map *m)
{
	struct mapped_file f = {
		.pid = pid,
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.path = m->name,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
	};
	struct stat st;

	return mapped_file_open(&f, &st);
}

const struct gpu_attach_view attach_view = { maps, open_map };
