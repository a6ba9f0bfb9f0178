/* Whether allocations of Java can be recorded in a process. */
#include "base/err.h"
#include "collect/inspect/inspect.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"
#include "runtime/hotspot_sampler.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct search {
	struct mapped_file at; /* end 0: not found */
};

static bool on_map(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;
	const char *slash = strrchr(m->name, '/');

	/* It may be replaced: "/usr/lib/…/libjvm.so (deleted)". */
	if (!m->executable || !slash ||
	    (strcmp(slash, "/libjvm.so") != 0 && strncmp(slash, "/libjvm.so ", 11) != 0))
		return true;
	s->at = (struct mapped_file){ .pid = s->at.pid,
				      .start = m->start,
				      .end = m->end,
				      .pgoff = m->pgoff,
				      .path = "",
				      .maj = m->maj,
				      .min = m->min,
				      .ino = m->ino };
	return false;
}

int inspect_java_heap(uint32_t pid, struct err *err)
{
	struct search s = { .at = { .pid = pid } };
	struct hotspot_sampler sampler;
	struct elf_file f;
	struct stat st;

	if (proc_maps_read(pid, on_map, &s) < 0 || !s.at.end)
		return -ENODATA;
	int fd = mapped_file_open_mapping(&s.at, &st);
	if (fd < 0)
		return err_set(err, ENOTSUP, "its libjvm cannot be opened: %s", strerror(-fd));
	int rc = elf_file_open(&f, fd, err);
	if (rc == 0) {
		rc = hotspot_sampler_find(&f, &sampler, err);
		elf_file_close(&f);
	}
	close(fd);
	return rc;
}
