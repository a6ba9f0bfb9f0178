/* Interns kinds of GPU work, and makes the frames of each on first use. */
#include "collect/gpu/gpu_time_state.h"

#include "base/hash.h"
#include "base/vec.h"
#include "collect/process/symbolize.h"
#include "profile/sink.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

void gpu_works_init(struct gpu_works *w)
{
	*w = (struct gpu_works){ 0 };
	strtab_init(&w->names);
}

void gpu_works_done(struct gpu_works *w)
{
	strtab_done(&w->names);
	map_done(&w->index);
	vec_done(&w->all);
	vec_done(&w->frames);
}

static bool same_work(const void *ctx, uint32_t i)
{
	const struct gpu_work *const *w = ctx;

	return memcmp(&w[1][i], w[0], sizeof *w[0]) == 0;
}

uint32_t gpu_works_put(struct gpu_works *w, enum frame_kind kind, const char *name, uint32_t gpu,
		       uint32_t stream, uint32_t names)
{
	bool is_full = w->all.n >= GPU_WORKS_MAX; /* a program that invents streams */
	struct gpu_work work = { strtab_put(&w->names, name), kind, is_full ? 0 : gpu,
				 is_full ? 0 : stream };
	const struct gpu_work *ctx[] = { &work, w->all.v };

	if (w->all.n >= GPU_WORKS_MAX + names)
		return 0;
	uint32_t i =
		map_intern(&w->index, hash_bytes(&work, sizeof work), w->all.n, same_work, ctx);

	if (i == w->all.n) {
		vec_push(&w->all, work);
		vec_push(&w->frames, FRAME_NONE);
	}
	return i;
}

uint32_t gpu_works_frame(struct gpu_works *w, struct sink *sink, uint32_t work)
{
	const struct gpu_work *of = &w->all.v[work];
	const char *name = strtab_get(&w->names, of->name);
	struct frame f = { .kind = of->kind, .mapping = MAPPING_NONE };

	if (w->frames.v[work] != FRAME_NONE)
		return w->frames.v[work];
	char *plain = of->kind == FRAME_GPU_KERNEL ? symbol_demangle(name) : NULL;
	f.function = sink_string(sink, plain ? plain : *name ? name : "[unknown]");
	free(plain);
	return w->frames.v[work] = sink->ops->frame(sink, &f);
}

void gpu_works_new_sink(struct gpu_works *w)
{
	for (size_t i = 0; i < w->frames.n; i++)
		w->frames.v[i] = FRAME_NONE;
}

void gpu_works_trim(struct gpu_works *w)
{
	if (w->all.n <= GPU_WORKS_FEW)
		return;
	gpu_works_done(w);
	gpu_works_init(w);
}
