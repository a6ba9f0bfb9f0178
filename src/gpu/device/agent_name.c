/* Compares CRESSET_AGENT of a process with the agent's. */
#include "gpu/device/agent_name.h"

#include "gpu/code/environment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct looking {
	const char *ours; /* "" for none */
	bool fits;
};

static bool on_variable(void *ctx, const char *variable)
{
	const size_t len = sizeof AGENT_NAME_VARIABLE; /* including the = */
	struct looking *l = ctx;

	if (strncmp(variable, AGENT_NAME_VARIABLE "=", len))
		return false;
	l->fits = strcmp(variable + len, l->ours) == 0;
	return true;
}

bool agent_name_fits(pid_t pid)
{
	const char *ours = getenv(AGENT_NAME_VARIABLE);
	struct looking l = { .ours = ours ? ours : "" };
	char path[32];

	l.fits = !*l.ours;
	snprintf(path, sizeof path, "/proc/%d", pid);
	int dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	if (dir >= 0) {
		environment_any(dir, on_variable, &l);
		close(dir);
	}
	return l.fits;
}
