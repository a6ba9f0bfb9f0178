// tier: test
/* Any bytes, packed, as a symbol table: what is taken ascends, every reference in it can be followed, and what is asked for is found. */
#include "base/buf.h"
#include "symbol/symbol_table.h"

#include <stdlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void follow(const struct symbol_table *t)
{
	uint64_t at = 0;
	for (uint32_t i = 1; i < t->n_texts; i++) {
		struct symbol_table_text s = symbol_table_text(t, i);
		must(s.len > 0 && s.s >= t->plain.data &&
		     s.s + s.len <= t->plain.data + t->plain.len);
	}
	for (uint32_t i = 0; i < t->n_functions; i++) {
		const struct symbol_table_function *f = &t->functions[i];
		must(f->name && f->name < t->n_texts && f->linkage < t->n_texts &&
		     f->file < t->n_texts);
	}
	for (uint32_t i = 0; i < t->n_ranges; i++) {
		const struct symbol_table_range *r = &t->ranges[i];
		must(r->start >= at && r->size > 0 && r->function < t->n_functions);
		must(symbol_table_find(t, r->start) == &t->functions[r->function]);
		must(symbol_table_find(t, r->start + r->size - 1) == &t->functions[r->function]);
		must(r->start == at || !symbol_table_find(t, at));
		at = r->start + r->size;
	}
	must(!symbol_table_find(t, at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_table t;
	struct buf packed = { 0 };
	buf_reserve(&packed, ZSTD_compressBound(size));
	packed.len = ZSTD_compress(packed.data, packed.cap, data, size, 1);
	must(!ZSTD_isError(packed.len));
	if (symbol_table_read(packed.data, packed.len, &t, NULL) == 0) {
		must(symbol_table_bytes(&t) <= symbol_table_cost(packed.data, packed.len) + 4096);
		follow(&t);
		symbol_table_done(&t);
	}
	if (symbol_table_read(data, size, &t, NULL) == 0)
		symbol_table_done(&t);
	buf_done(&packed);
	return 0;
}
