/* tests/unit/map_files.h: for tests of what opens files by /proc/PID/map_files, the only way to a deleted or replaced one. The kernel lets root
 * do so, and processes with CAP_CHECKPOINT_RESTORE. */
#ifndef CRESSET_TESTS_MAP_FILES_H
#define CRESSET_TESTS_MAP_FILES_H

#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static inline bool may_open_map_files(void)
{
	uint64_t start, end;
	char path[96];
	FILE *maps = fopen("/proc/self/maps", "r"); /* the first one is this program */
	int n = maps ? fscanf(maps, "%lx-%lx", &start, &end) : 0;

	if (maps)
		fclose(maps);
	if (n != 2)
		return false;
	snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", start, end);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* At the top of a test. */
#define T_NEEDS_MAP_FILES() \
	do { \
		if (!may_open_map_files()) \
			T_SKIP("needs CAP_CHECKPOINT_RESTORE"); \
	} while (0)

#endif
