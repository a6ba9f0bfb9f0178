/* collect/far_device.h: whether a file may keep whoever touches it waiting: on a file system that is another machine's or another program's (NFS, FUSE
 * …), which need not answer. Found out by what the kernel lists, without touching the file system. */
#ifndef CRESSET_COLLECT_FAR_DEVICE_H
#define CRESSET_COLLECT_FAR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* maj, min: as the kernel has them in mappings; of one that pid has. What is not known is far. */
bool device_is_far(uint32_t pid, uint32_t maj, uint32_t min);

/* A line of /proc/PID/mountinfo (proc_pid_mountinfo(5)), without its newline: 1 when it is of that device and of a kind that answers, 0 when of another kind,
 * -1: of another device, or malformed. */
int mount_line_is_near(const char *line, size_t len, uint32_t maj, uint32_t min,
		       bool other_user_ns);

#endif
