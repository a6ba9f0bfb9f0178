/* base/own_args.h: the command line of this process, as the kernel shows it to others. */
#ifndef CRESSET_BASE_OWN_ARGS_H
#define CRESSET_BASE_OWN_ARGS_H

/* Makes /proc/self/cmdline empty. Any user may read it, and the kernel holds the lock of our
 * mappings for that: a reader that has no CPU then, because others of its user have all of them,
 * stops each mmap and brk of this process. Call it before there are threads. Returns 0, or -errno
 * (-EINVAL: this kernel cannot). */
int own_args_hide(void);

#endif
