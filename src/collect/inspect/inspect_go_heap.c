/* Whether a process is one of Go whose heap profile can be read. */
#include "base/err.h"
#include "collect/inspect/inspect.h"
#include "mem/go/go_heap.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/go/gopclntab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int inspect_go_heap(uint32_t pid, struct go_heap *out, struct err *err)
{
	struct elf_layout layout = { 0 };
	struct gopclntab table = { 0 };
	struct elf_file f;
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -ENODATA : elf_file_open(&f, fd, err);
	if (rc == 0) {
		rc = elf_layout_read(&layout, &f, err);
		rc = rc ? rc : go_heap_find(&f, &layout, GO_FINDS_HEAP, &table, out, err);
		gopclntab_close(&table);
		elf_layout_done(&layout);
		elf_file_close(&f);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
