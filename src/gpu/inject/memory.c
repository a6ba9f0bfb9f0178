/* Memory outside the program's heap: private pages, and memfds that the agent maps. */
#include "gpu/inject/library.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *map_private(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *map_memfd(const char *name, size_t size, void *place, int *out)
{
	int fd = syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, size) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		p = mmap(place, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED : 0), fd, 0);
	if (p == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	*out = fd;
	return p;
}

void close_memfd(int fd, const char *name)
{
	char path[48], want[64], text[64];
	int len = snprintf(want, sizeof want, "/memfd:%s (deleted)", name);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, text, sizeof text);

	if (n == len && !memcmp(text, want, n))
		close(fd);
}
