// tier: test
/* Any bytes as an ELF file: its unwind table, looked up at its own pages and at any offset. */
#include "base/err.h"
#include "memory_file.h"
#include "unwind/table.h"

#include <string.h>

static void look_up(const struct unwind_table *t, size_t size)
{
	uint64_t first = (uint64_t)t->ref.first_page << UNWIND_PAGE_BITS, state = size;
	const char *rules = t->image.data;
	for (unsigned i = 0; i < 256; i++) {
		uint64_t offset = first + i * 37;
		if (i & 1) {
			state = state * 6364136223846793005 + 1442695040888963407;
			offset = first + (state >> 33) % ((uint64_t)t->ref.n_pages * 256 + 512);
		}
		const struct unwind_rule *r = unwind_table_find(t, offset);
		if (r && ((const char *)r - rules) / sizeof *r >= t->n_rules)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table t;
	struct err err = { 0 };
	int fd = memory_file(data, size);
	if (unwind_table_build(fd, &t, &err) == 0) {
		if (t.image.len % UNWIND_CHUNK || t.image.len > UNWIND_MAX_IMAGE + UNWIND_CHUNK)
			abort();
		look_up(&t, size);
		unwind_table_done(&t);
	} else if (!err.code || !*err.text) {
		abort();
	}
	close(fd);
	return 0;
}
