/* collect/proc_maps.h: /proc/PID/maps, line by line (proc_pid_maps(5)). */
#ifndef CRESSET_COLLECT_PROC_MAPS_H
#define CRESSET_COLLECT_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_map {
	uint64_t start, end, pgoff;
	uint32_t maj, min;
	uint64_t ino;
	bool executable;
	const char *name; /* "" for anonymous memory */
};

/* Reads one line without its newline, which is changed: the name's \012 become newlines again.
 * False when it is malformed; *m is untouched then. */
bool proc_map_parse(char *line, struct proc_map *m);

/* Hands every line that can be read to fn until that returns false. At most PROC_MAPS_MAX_LINES
 * lines, so that a process with millions of mappings costs a bounded time. Returns 0, or -errno
 * when there is no such process or it may not be read. */
enum { PROC_MAPS_MAX_LINES = 262144 };
typedef bool proc_map_fn(void *ctx, const struct proc_map *m);
int proc_maps_read(uint32_t pid, proc_map_fn *fn, void *ctx);
int proc_maps_read_fd(int fd, proc_map_fn *fn, void *ctx); /* fd stays the caller's */

#endif
