/* Reads the links /proc/PID/exe. */
#include "collect/proc/proc_programs.h"

#include "base/parse.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool read_program(uint32_t pid, char *path, size_t size)
{
	char link[40];

	snprintf(link, sizeof link, "/proc/%" PRIu32 "/exe", pid);
	ssize_t len = readlink(link, path, size - 1);
	path[len > 0 ? len : 0] = '\0';
	return len > 0;
}

void proc_programs(void (*fn)(void *ctx, uint32_t pid, const char *path), void *ctx)
{
	DIR *dir = opendir("/proc");
	char path[4096];
	uint64_t pid;

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (!parse_u64(e->d_name, &pid) && pid <= INT32_MAX &&
		    read_program((uint32_t)pid, path, sizeof path))
			fn(ctx, (uint32_t)pid, path);
	closedir(dir);
}
