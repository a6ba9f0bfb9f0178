/* collect/proc/process_memory.h: memory of another process, at addresses that may be invalid, and
 * this process's vDSO. */
#ifndef CRESSET_COLLECT_PROC_PROCESS_MEMORY_H
#define CRESSET_COLLECT_PROC_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; -EFAULT: a part of it is unmapped; or why nothing of this process may be read. */
int process_memory_read(uint32_t pid, uint64_t addr, void *out, size_t len);

/* Copies this process's vDSO, the code that the kernel maps into every process as [vdso], into a
 * file in memory: an ELF image. Returns a descriptor or -errno. */
int vdso_open(void);

#endif
