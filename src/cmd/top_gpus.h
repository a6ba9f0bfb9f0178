/* cmd/top_gpus.h: top's line about GPUs, of a machine that has some. */
#ifndef CRESSET_CMD_TOP_GPUS_H
#define CRESSET_CMD_TOP_GPUS_H

#include "cmd/gpu_now.h"

struct top_gpus {
	struct gpu_watch *watch; /* NULL: none */
	struct gpu_now now;
};
void top_gpus_init(struct top_gpus *g);
void top_gpus_done(struct top_gpus *g);
/* "" where there are none. */
void top_gpus_look(struct top_gpus *g, char *out, size_t size);

#endif
