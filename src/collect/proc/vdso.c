/* The vDSO of this process as an ELF file in memory. */
#include "collect/proc/process_memory.h"

#include "collect/proc/proc_maps.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool find_vdso(void *ctx, const struct proc_map *m)
{
	struct proc_map *out = ctx;

	if (strcmp(m->name, "[vdso]") != 0)
		return true;
	*out = *m;
	return false;
}

int vdso_open(void)
{
	struct proc_map m = { 0 };
	int rc = proc_maps_read(getpid(), find_vdso, &m);

	if (rc < 0 || !m.end)
		return rc < 0 ? rc : -ENOENT;
	int fd = memfd_create("cresset-vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t len = m.end - m.start;
	if (write(fd, (const void *)(uintptr_t)m.start, len) == (ssize_t)len)
		return fd;
	close(fd);
	return -EIO;
}
