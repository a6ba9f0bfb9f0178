/* collect/gpu_works.h: the kinds of work that run on GPUs: {kernel or marker, device, stream}, each with a number that stays when the sink
 * changes, and a frame of the sink once it is needed. */
#ifndef CRESSET_COLLECT_GPU_WORKS_H
#define CRESSET_COLLECT_GPU_WORKS_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/symbolize.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <stdint.h>

enum {
	GPU_WORKS_MAX = 1 << 18, /* beyond, devices and streams are not told apart */
	GPU_WORKS_FEW = 1 << 12, /* not worth forgetting */
};

struct gpu_work {
	uint32_t name;        /* of names */
	uint32_t kind;        /* enum frame_kind */
	uint32_t gpu, stream; /* as struct gpu_ran has them; 0: not known */
};
struct gpu_works {
	struct strtab names;
	struct map index;
	VEC(struct gpu_work) all;
	VEC(uint32_t) frames; /* of each; FRAME_NONE: not asked for yet */
};

void gpu_works_init(struct gpu_works *w);
void gpu_works_done(struct gpu_works *w);

/* names: how many different ones there may be, as they are bounded elsewhere. 0 when there is no room. */
uint32_t gpu_works_put(struct gpu_works *w, enum frame_kind kind, const char *name, uint32_t gpu,
		       uint32_t stream, uint32_t names);
uint32_t gpu_works_frame(struct gpu_works *w, struct sink *sink, uint32_t work);
/* Frames are another sink's from now on. */
void gpu_works_new_sink(struct gpu_works *w);
/* Forgets all of them, when there are many: nobody has their numbers any more. */
void gpu_works_trim(struct gpu_works *w);

#endif
