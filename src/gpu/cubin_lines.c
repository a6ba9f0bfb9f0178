#include "gpu/cubin_lines.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_TABLES = 1 << 16,
	MAX_ROWS = 4 << 20, /* of all tables: 56 bytes each */
	MAX_RELOCATIONS = 8 << 20,
	R_CUDA_32 = 1, /* of the kinds that .debug_line has, the one with 4 bytes */
};

/* --- relocation ------------------------------------------------------------------------------------------------------ */

/* Each says where a sequence begins: in 8 bytes of 0 behind DW_LNE_set_address. */
static void relocate_one(struct cubin_lines *l, uint8_t *data, uint64_t size, const Elf64_Rela *r,
			 cubin_symbol_fn *symbol, void *ctx)
{
	uint64_t addr, width = ELF64_R_TYPE(r->r_info) == R_CUDA_32 ? 4 : 8;
	if (size < width || r->r_offset > size - width ||
	    !symbol(ctx, ELF64_R_SYM(r->r_info), &addr)) {
		l->skipped++;
		return;
	}
	addr = htole64(addr + r->r_addend);
	memcpy(data + r->r_offset, &addr, width);
}

static void relocate(struct cubin_lines *l, const struct elf_file *f, const GElf_Shdr *rela,
		     cubin_symbol_fn *symbol, void *ctx)
{
	uint8_t *data = sections_own(&l->sections, DWARF_LINE);
	uint64_t n = rela->sh_size / sizeof(Elf64_Rela);
	if (!data || n > MAX_RELOCATIONS) {
		l->skipped++;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		Elf64_Rela r;
		if (!elf_file_read(f, rela->sh_offset + i * sizeof r, &r, sizeof r)) {
			l->skipped++;
			break;
		}
		relocate_one(l, data, l->sections.s[DWARF_LINE].size, &r, symbol, ctx);
	}
}

static void relocate_all(struct cubin_lines *l, const struct elf_file *f, cubin_symbol_fn *symbol,
			 void *ctx)
{
	GElf_Shdr rela;
	if (elf_file_section(f, ".rela.debug_line", SHT_RELA, &rela))
		relocate(l, f, &rela, symbol, ctx);
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

static void add_table(struct cubin_lines *l, uint64_t offset, const struct elf_layout *layout)
{
	const struct dwarf_sizes sizes = { .address = 8 };
	struct cubin_line_table t = { .rows.keep_calls = MAX_ROWS - l->n_rows };
	rows_read(&t.rows, &l->sections, offset, &sizes, NULL, 0, layout);
	vec_done(&t.rows.v);
	l->n_rows += t.rows.calls.n;
	l->skipped += t.rows.skipped;
	for (uint32_t i = 0; i < t.rows.calls.n; i++) {
		const struct dwarf_call_row *row = &t.rows.calls.v[i];
		uint32_t at = row->file == ROW_GAP ? CUBIN_NO_ROW : i;
		/* The end of a sequence lies behind its text. */
		if (at != CUBIN_NO_ROW && !elf_layout_code_end(layout, row->addr))
			continue;
		vec_push(&l->v, (struct cubin_line_row){ row->addr, l->tables.n, at });
	}
	vec_push(&l->tables, t);
}

/* Of rows at one address the last counts, but an end never counts before a beginning. */
static int row_compare(const void *a, const void *b)
{
	const struct cubin_line_row *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if ((x->row == CUBIN_NO_ROW) != (y->row == CUBIN_NO_ROW))
		return x->row == CUBIN_NO_ROW ? -1 : 1;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

void cubin_lines_read(struct cubin_lines *l, const struct elf_file *f,
		      const struct elf_layout *layout, cubin_symbol_fn *symbol, void *ctx)
{
	sections_find(&l->sections, f, false); /* false only says that there is no .debug_info */
	if (l->sections.s[DWARF_LINE].size == 0)
		return;
	relocate_all(l, f, symbol, ctx);
	uint64_t offset = 0;
	do {
		add_table(l, offset, layout);
		offset = rows_next(&l->sections, offset);
	} while (offset && l->tables.n < MAX_TABLES && l->n_rows < MAX_ROWS);
	l->skipped += offset != 0;
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof *l->v.v, row_compare);
}

void cubin_lines_done(struct cubin_lines *l)
{
	for (size_t i = 0; i < l->tables.n; i++) {
		rows_done(&l->tables.v[i].rows);
		free(l->tables.v[i].paths);
	}
	vec_done(&l->tables);
	vec_done(&l->v);
	arena_done(&l->text);
	sections_done(&l->sections);
}

/* --- lookup ---------------------------------------------------------------------------------------------------------- */

bool cubin_lines_find(const struct cubin_lines *l, uint64_t addr, struct cubin_line_row *out)
{
	size_t lo = 0, hi = l->v.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->v.v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || l->v.v[lo - 1].row == CUBIN_NO_ROW)
		return false;
	*out = l->v.v[lo - 1];
	return true;
}

static struct cubin_path split_path(struct cubin_lines *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct cubin_path p = { .file = arena_dup(&l->text, path, strlen(path)) };
	if (slash) {
		p.file = arena_dup(&l->text, slash + 1, strlen(slash + 1));
		p.dir = arena_dup(&l->text, path, slash == path ? 1 : slash - path);
	}
	return p;
}

static struct cubin_path path_of(struct cubin_lines *l, struct cubin_line_table *t, uint32_t file)
{
	const struct cubin_path none = { 0 };
	if (file >= t->rows.files.n)
		return none;
	if (!t->paths)
		t->paths = xcalloc(t->rows.files.n, sizeof *t->paths);
	if (!t->paths[file].file) {
		const char *path = rows_path(&t->rows, &l->sections, file);
		if (!path)
			return none;
		t->paths[file] = split_path(l, path);
	}
	return t->paths[file];
}

/* In the arena of the section's strings: they stay, and are NUL-terminated only where the section says so. */
static const char *name_at(struct cubin_lines *l, uint64_t offset)
{
	size_t len;
	const char *text = sections_string(&l->sections, DWARF_STR, offset, &len);
	bool ends = text && offset + len < l->sections.s[DWARF_STR].size && text[len] == '\0';
	return ends && len ? text : NULL;
}

bool cubin_lines_step(struct cubin_lines *l, struct cubin_line_row *at, struct cubin_place *out)
{
	struct cubin_line_table *t = &l->tables.v[at->table];
	const struct dwarf_call_row row = t->rows.calls.v[at->row];
	struct cubin_path path = path_of(l, t, row.file);
	bool inlined = row.context && row.context <= t->rows.calls.n &&
		       t->rows.calls.v[row.context - 1].file != ROW_GAP;
	*out = (struct cubin_place){ path.dir, path.file, NULL, row.line };
	if (!inlined)
		return false;
	out->name = name_at(l, row.name);
	at->row = row.context - 1;
	return true;
}
