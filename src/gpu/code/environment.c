/* Reads /proc/PID/environ up to a limit, and finds a variable. */
#include "gpu/code/environment.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool environment_any(int dir, environment_fn *fn, void *ctx)
{
	int fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	char *text = xcalloc(1, ENVIRONMENT_MAX + 1), *p = text;
	bool found = false;

	for (ssize_t n; (n = read(fd, p, text + ENVIRONMENT_MAX - p)) > 0;)
		p += n;
	for (char *v = text; v < p && !found; v += strlen(v) + 1)
		found = fn(ctx, v);
	close(fd);
	free(text);
	return found;
}
