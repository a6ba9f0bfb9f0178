// tier: test
/* Any bytes as /proc/kallsyms. */
#include "memory_file.h"
#include "symbol/symbol.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_source *s;
	struct symbol sym;
	int fd = memory_file(data, size);
	if (symbol_open_kallsyms(fd, &s, NULL) == 0) {
		for (uint64_t addr = 0; addr < 0x4000; addr += 0x11)
			if (symbol_lookup(s, addr, &sym) &&
			    (addr - sym.start >= sym.size || !*sym.linkage))
				abort();
		symbol_lookup(s, 0xffffffff81000100, &sym);
		symbol_lookup(s, UINT64_MAX, &sym);
		symbol_close(s);
	}
	close(fd);
	return 0;
}
