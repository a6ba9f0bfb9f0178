/* tests/unit/workers.h: the processes of a struct helper, for tests that stop and kill them. */
#ifndef CRESSET_TESTS_WORKERS_H
#define CRESSET_TESTS_WORKERS_H

#include <check.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { WORKERS_TRIES = 5000, WORKERS_PAUSE_MS = 10 }; /* 50 s */

/* The state of a process with that parent and name: 0: it is another, or there is none. */
static inline char state_of_child(pid_t pid, pid_t parent, const char *name)
{
	char path[64], text[512] = "", state;
	int ppid;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return 0;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || sscanf(close + 1, " %c %d", &state, &ppid) != 2)
		return 0;
	*close = 0;
	return ppid == parent && strcmp(open + 1, name) == 0 ? state : 0;
}

/* 0: there is none (any more: zombies do not count). */
static inline pid_t find_child(pid_t parent, const char *name)
{
	DIR *dir = opendir("/proc");
	pid_t found = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *e; !found && (e = readdir(dir));) {
		pid_t pid = atoi(e->d_name);
		char state = pid > 0 ? state_of_child(pid, parent, name) : 0;

		if (state && state != 'Z' && state != 'X')
			found = pid;
	}
	closedir(dir);
	return found;
}

static inline pid_t await_child(pid_t parent, const char *name)
{
	pid_t pid = 0;

	for (int i = 0; i < WORKERS_TRIES && !(pid = find_child(parent, name)); i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_int_gt(pid, 0);
	return pid;
}

static inline void stop_child(pid_t pid, pid_t parent, const char *name)
{
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	for (int i = 0; i < WORKERS_TRIES && state_of_child(pid, parent, name) != 'T'; i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_int_eq(state_of_child(pid, parent, name), 'T');
}

#endif
