/* collect/process_memory.h: the memory of another process. Addresses come from that process, and may be anything. */
#ifndef CRESSET_COLLECT_PROCESS_MEMORY_H
#define CRESSET_COLLECT_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* 0; -EFAULT: not all of it is there; or why nothing of this process may be read. */
int process_memory_read(uint32_t pid, uint64_t addr, void *out, size_t len);

#endif
