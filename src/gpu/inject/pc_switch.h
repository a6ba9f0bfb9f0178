/* gpu/inject/pc_switch.h: PC sampling of one context, for who holds the lock (pc_sampling.c). */
#ifndef CRESSET_GPU_INJECT_PC_SWITCH_H
#define CRESSET_GPU_INJECT_PC_SWITCH_H

#include "gpu/inject/library.h"

struct pc_sampled {
	void *context;
	uint32_t id, device;
	struct cupti_pcs *pcs; /* CUPTI's own, while it is on */
};

bool pc_has_functions(void);

/* Room for samples. NULL: no memory. */
struct cupti_pcs *pcs_make(void);
void pcs_free(struct cupti_pcs *p);
void pcs_clear(struct cupti_pcs *p);
/* Into the ring. */
void pcs_write(const struct pc_sampled *c, const struct cupti_pcs *p);

/* All of it, or CUPTI's code and nothing. */
int pc_switch_on(struct pc_sampled *c);
/* What is left is handed over. */
void pc_switch_off(struct pc_sampled *c);

#endif
