/* collect/worker/far_device.h: whether access to a file may block: because it is on a file system
 * of another machine or another program (NFS, FUSE …), which may not respond. This is derived
 * from the kernel's lists, without touching the file system. Not detected: an overlay that root
 * mounted over such a file system, and FUSE on a block device. Test: tests/live/hung_files.sh. */
#ifndef CRESSET_COLLECT_WORKER_FAR_DEVICE_H
#define CRESSET_COLLECT_WORKER_FAR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The main loop looks through that list, and any user may make 100,000 mounts with long names in a
 * namespace. */
enum {
	/* limit: mount list of a process; devices beyond it are far */
	FAR_MAX_MOUNTS_BYTES = 4 << 20,
};

/* maj, min: as the kernel shows them in mappings of pid. An unknown device is far. */
bool device_is_far(uint32_t pid, uint32_t maj, uint32_t min);
/* Without the mounts of a process, whose user can make many: whether it is known to respond. */
bool device_is_near_here(uint32_t maj, uint32_t min);

/* Parses a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)), without its newline. Returns 1 when
 * it is that device, with a kind of file system that responds; 0 when of another kind; -1: another
 * device, or malformed. */
int mount_line_is_near(const char *line, size_t len, uint32_t maj, uint32_t min,
		       bool other_user_ns);
/* The same for all lines of an open file; -1 is false. */
bool mounts_are_near(int mountinfo, uint32_t maj, uint32_t min, bool other_user_ns);

#endif
