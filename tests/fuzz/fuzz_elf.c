// tier: test
/* Any bytes as an ELF file, with itself offered as its separate debug file. */
#include "base/err.h"
#include "memory_file.h"
#include "symbol/symbol.h"

#include <string.h>

static int offer_itself(void *ctx, const struct debug_request *req, unsigned attempt)
{
	if (req->debuglink && strlen(req->debuglink) > 4096)
		abort();
	return attempt == 0 ? dup(*(int *)ctx) : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_source *s;
	struct symbol sym;
	struct err err = { 0 };
	uint8_t id[20];
	int fd = memory_file(data, size);
	if (elf_build_id(fd, id, sizeof id) > (int)sizeof id)
		abort();
	if (symbol_open_elf(fd, offer_itself, &fd, &s, &err) == 0) {
		for (uint64_t offset = 0; offset < size + 64; offset += size / 256 + 1)
			if (symbol_lookup(s, offset, &sym) &&
			    (!*sym.name || !*sym.linkage || offset - sym.start >= sym.size))
				abort();
		symbol_close(s);
	} else if (!err.code || !*err.text) {
		abort();
	}
	close(fd);
	return 0;
}
