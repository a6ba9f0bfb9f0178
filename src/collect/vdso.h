/* collect/vdso.h: the code that the kernel maps into every process as [vdso]. */
#ifndef CRESSET_COLLECT_VDSO_H
#define CRESSET_COLLECT_VDSO_H

/* A copy of this process's vDSO, an ELF image, as a file in memory. Returns a descriptor or
 * -errno. */
int vdso_open(void);

#endif
