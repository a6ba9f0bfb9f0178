// tier: test
/* Any bytes as /proc/PID/maps. */
#include "collect/proc/proc_maps.h"
#include "memory_file.h"

#include <string.h>

struct input {
	size_t size, lines;
};

static bool check(void *ctx, const struct proc_map *m)
{
	struct input *in = ctx;

	if (m->start >= m->end || strlen(m->name) > in->size)
		abort();
	return ++in->lines < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memory_file(data, size);
	struct input in = { .size = size };

	if (proc_maps_read_fd(fd, check, &in))
		abort();
	close(fd);
	return 0;
}
