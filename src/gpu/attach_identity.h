/* gpu/attach_identity.h: whether a process still is what it was when its files were read. Its number may be another process's by now, and exec gives it another
 * memory, in which all addresses are wrong. */
#ifndef CRESSET_GPU_ATTACH_IDENTITY_H
#define CRESSET_GPU_ATTACH_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct attach_identity {
	uint64_t start;    /* of the process, in ticks */
	uint64_t dev, ino; /* of its program */
	int memory; /* /proc/PID/mem: that of then, of which nothing is left after exec; -1: it cannot be opened */
};

/* Before anything of it is read. 0, to be closed; or -ESRCH. */
int attach_identity_open(struct attach_identity *id, uint32_t pid);
/* addr: where something is mapped that stays. */
bool attach_identity_holds(const struct attach_identity *id, uint32_t pid, uint64_t addr);
void attach_identity_close(struct attach_identity *id);

#endif
