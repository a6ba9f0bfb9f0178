// tier: test
/* Any bytes as an ELF file of a Go program: functions are in order and cover what is found in them, chains of inlined functions end,
 * rows increase and lie inside their function. */
#include "symbol/elf/elf_layout.h"
#include "symbol/go/go_names.h"
#include "symbol/symbol.h"
#include "unwind/cfi.h"
#include "unwind/go_rows.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FUNCTIONS = 200, MAX_LINES = 32 };

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void ask(struct go_names *g, uint64_t addr)
{
	struct symbol sym;
	struct symbol_line lines[MAX_LINES];
	bool found = go_names_lookup(g, addr, &sym);
	uint32_t n = go_names_lines(g, addr, lines, MAX_LINES);
	must(n <= MAX_LINES);
	if (found)
		must(*sym.name && sym.start <= addr && addr - sym.start < sym.size);
	for (uint32_t i = 0; i < n; i++)
		must(lines[i].name && lines[i].linkage);
}

static bool on_fde(void *ctx, const struct cfi_fde *fde)
{
	uint64_t *n = ctx;
	must(fde->start < fde->end && fde->n > 0 && fde->rows[0].addr == fde->start);
	for (size_t i = 0; i < fde->n; i++) {
		must(fde->rows[i].addr < fde->end);
		if (i)
			must(fde->rows[i - 1].addr < fde->rows[i].addr);
	}
	return ++*n < 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file f;
	struct elf_layout layout = { 0 };
	struct go_names g = { 0 };
	uint64_t n = 0, skipped = 0;
	if (elf_file_open_image(&f, data, size, NULL) < 0)
		return 0;
	if (elf_layout_read(&layout, &f, NULL) == 0 && go_names_open(&g, &f, &layout, NULL) == 0) {
		for (uint32_t i = 0; i < g.table.n_functions && i < MAX_FUNCTIONS; i++) {
			struct go_function fn;
			if (!gopclntab_function(&g.table, i, &fn))
				continue;
			ask(&g, fn.start);
			ask(&g, fn.start + 9);
			ask(&g, fn.end - 1);
		}
		if (g.table.n_functions < 100000)
			go_rows_read(&g.table, f.header.e_machine, on_fde, &n, &skipped, NULL);
	}
	go_names_close(&g);
	elf_layout_done(&layout);
	elf_file_close(&f);
	return 0;
}
