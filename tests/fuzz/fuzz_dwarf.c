// tier: test
/* Any bytes as an ELF file with debug information: with itself offered as what it was split from, packed into or shares. */
#include "memory_file.h"
#include "symbol/symbol.h"

enum { MAX_CHAIN = 64, PROBES = 64 };

static int offer_itself(void *ctx, const struct debug_request *req, unsigned attempt)
{
	(void)req;
	return attempt == 0 ? dup(*(int *)ctx) : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_line lines[MAX_CHAIN];
	struct symbol_source *s;
	int fd = memory_file(data, size);
	if (symbol_open_elf(fd, offer_itself, &fd, &s, NULL) == 0) {
		for (uint64_t at = 0; at < size + PROBES; at += size / PROBES + 1) {
			uint32_t n = symbol_lines(s, at, lines, MAX_CHAIN);
			if (n > MAX_CHAIN)
				abort();
			for (uint32_t i = 0; i < n; i++)
				if (!*lines[i].name || !*lines[i].linkage ||
				    (lines[i].file && !*lines[i].file))
					abort();
		}
		symbol_close(s);
	}
	close(fd);
	return 0;
}
