/* collect/proc/proc_maps.h: /proc/PID/maps, line by line (proc_pid_maps(5)). */
#ifndef CRESSET_COLLECT_PROC_PROC_MAPS_H
#define CRESSET_COLLECT_PROC_PROC_MAPS_H

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

/* Parses one line without its newline, and changes it: \012 in the name becomes a newline again.
 * Returns false when it is malformed; *m is then untouched. */
bool proc_map_parse(char *line, struct proc_map *m);

/* Passes every valid line to fn until it returns false. Reads at most PROC_MAPS_MAX_LINES lines, so
 * that a process with millions of mappings costs a bounded time. Returns 0, or -errno when there is
 * no such process or it cannot be read. */
enum { PROC_MAPS_MAX_LINES = 262144 };
typedef bool proc_map_fn(void *ctx, const struct proc_map *m);
int proc_maps_read(uint32_t pid, proc_map_fn *fn, void *ctx);
int proc_maps_read_fd(int fd, proc_map_fn *fn, void *ctx); /* fd stays the caller's */

#endif
