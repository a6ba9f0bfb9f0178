// tier: test
/* Any bytes as a jitdump, asked at several times. */
#include "memory_file.h"
#include "symbol/symbol.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t times_ns[] = { UINT64_MAX, 0, 100, 200, 1ull << 40 };
	struct symbol_source *s;
	struct symbol sym;
	int fd = memory_file(data, size);
	if (symbol_open_jitdump(fd, &s, NULL) == 0) {
		for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
			symbol_jitdump_at(s, times_ns[i]);
			for (uint64_t addr = 0xff0; addr < 0x2000; addr += 7)
				if (symbol_lookup(s, addr, &sym) && addr - sym.start >= sym.size)
					abort();
		}
		symbol_close(s);
	}
	close(fd);
	return 0;
}
