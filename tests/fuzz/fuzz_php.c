// tier: test
/* Any bytes as PHP's ELF file, and as a function that the walker has sent. */
#include "base/buf.h"
#include "bpf/event.h"
#include "memory_file.h"
#include "runtime/php_parts.h"
#include "symbol/elf/elf_file.h"

#include <string.h>

static void read_elf(const uint8_t *data, size_t size)
{
	struct php_file file;
	struct elf_file f;
	int fd = memory_file(data, size);

	if (elf_file_open(&f, fd, NULL) == 0) {
		if (php_file_read(&f, &file, NULL) == 0 &&
		    (!file.n_loop || file.n_loop > LOOP_PARTS_MAX || file.vm > PHP_VM_HYBRID ||
		     file.func_lines + 8 > PHP_FUNC_BYTES))
			abort();
		elf_file_close(&f);
	}
	close(fd);
}

static void name_function(const uint8_t *data, size_t size)
{
	struct event_function f = { .kind = EVENT_FUNCTION };
	struct buf name = { 0 }, file = { 0 };

	memcpy(&f, data, size < sizeof f ? size : sizeof f);
	bool is_named = php_runtime.name_function(&f, &name, &file);
	/* At most three bytes for one, and the marks around them. */
	if (is_named != (name.len != 0) ||
	    name.len > 3 * (2 * FUNCTION_NAME + FUNCTION_FILE) + 64 ||
	    file.len > 3 * FUNCTION_FILE + 8)
		abort();
	buf_done(&name);
	buf_done(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	if (memcmp(data, "\177ELF", 4) == 0)
		read_elf(data, size);
	else
		name_function(data, size);
	return 0;
}
