/* Sets the nice value of each thread. */
#include "agent/priority.h"

#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

enum { PRIORITY_THREADS = 1024 }; /* a hostile part may have any number */

void priority_raise(pid_t pid)
{
	char path[40];
	const struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	for (int i = 0; tasks && i < PRIORITY_THREADS && (e = readdir(tasks)); i++) {
		uint64_t tid;

		errno = 0;
		if (parse_u64(e->d_name, &tid) == 0 && tid && getpriority(PRIO_PROCESS, tid) > 0 &&
		    !errno)
			setpriority(PRIO_PROCESS, tid, 0);
	}
	if (tasks)
		closedir(tasks);
}
