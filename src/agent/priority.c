/* Sets the nice value of each thread of a tree of processes. */
#include "agent/priority.h"

#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
	PRIORITY_THREADS = 1024, /* a hostile part may have any number */
	PRIORITY_CHILDREN = 64,  /* of a thread */
	PRIORITY_DEPTH = 3       /* below the supervisor: collector, nursery, worker */
};

static void raise_thread(pid_t tid)
{
	errno = 0;
	if (getpriority(PRIO_PROCESS, tid) > PRIORITY_NICE && !errno)
		setpriority(PRIO_PROCESS, tid, PRIORITY_NICE);
}

static void raise_processes(pid_t pid, int depth, int *left);

static void raise_children(pid_t pid, pid_t tid, int depth, int *left)
{
	char path[64];
	pid_t children[PRIORITY_CHILDREN];
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
	FILE *f = fopen(path, "re");
	while (f && n < PRIORITY_CHILDREN && fscanf(f, "%d", &children[n]) == 1)
		n++;
	if (f)
		fclose(f);
	for (int i = 0; i < n; i++)
		raise_processes(children[i], depth - 1, left);
}

static void raise_processes(pid_t pid, int depth, int *left)
{
	char path[40];
	const struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && *left > 0 && (e = readdir(tasks))) {
		uint64_t tid;

		if (parse_u64(e->d_name, &tid) || !tid)
			continue;
		--*left;
		raise_thread(tid);
		if (depth)
			raise_children(pid, tid, depth, left);
	}
	if (tasks)
		closedir(tasks);
}

void priority_raise(pid_t pid)
{
	int left = PRIORITY_THREADS;

	raise_processes(pid, PRIORITY_DEPTH, &left);
}
