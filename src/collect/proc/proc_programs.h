/* collect/proc/proc_programs.h: the programs that run now. */
#ifndef CRESSET_COLLECT_PROC_PROC_PROGRAMS_H
#define CRESSET_COLLECT_PROC_PROC_PROGRAMS_H

#include <stdint.h>

/* Calls fn for each process of /proc that runs a program, with the path of its file. Waits for no
 * other process. */
void proc_programs(void (*fn)(void *ctx, uint32_t pid, const char *path), void *ctx);

#endif
