/* Reads the line program of a cubin. */
#include "gpu/code/cubin_lines.h"

#include "base/mem.h"
#include "base/search.h"
#include "symbol/dwarf/dwarf_abbrev.h"
#include "symbol/elf/elf_layout.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_TABLES = 1 << 16,
	MAX_ROWS = 4 << 20, /* over all tables: 56 bytes each */
	MAX_RELOCATIONS = 8 << 20,
	R_CUDA_32 = 1, /* the 4-byte kind among those in .debug_line */
};

/* --- relocation ------------------------------------------------------------------------------- */

struct relocation_table {
	uint64_t offset, n; /* in the file */
	size_t size;        /* of an entry: Elf64_Rel and Elf64_Rela start the same way */
};

/* A relocation gives the start of a sequence, in the bytes after DW_LNE_set_address. If it has no
 * addend (files for up to sm_89), those bytes are the addend. */
static bool relocate_one(uint8_t *data, uint64_t size, const Elf64_Rela *r, bool has_addend,
			 cubin_symbol_fn *symbol, void *ctx)
{
	uint64_t addr, addend = 0, width = ELF64_R_TYPE(r->r_info) == R_CUDA_32 ? 4 : 8;
	if (size < width || r->r_offset > size - width ||
	    !symbol(ctx, ELF64_R_SYM(r->r_info), &addr))
		return false;
	memcpy(&addend, data + r->r_offset, width);
	addr = htole64(addr + (has_addend ? (uint64_t)r->r_addend : le64toh(addend)));
	memcpy(data + r->r_offset, &addr, width);
	return true;
}

static void relocate(struct cubin_lines *l, const struct elf_file *f,
		     const struct relocation_table *t, cubin_symbol_fn *symbol, void *ctx)
{
	uint8_t *data = sections_own(&l->sections, DWARF_LINE);
	uint64_t size = l->sections.s[DWARF_LINE].size;
	for (uint64_t i = 0; data && i < t->n && i < MAX_RELOCATIONS; i++) {
		Elf64_Rela r = { 0 };
		if (!elf_file_read(f, t->offset + i * t->size, &r, t->size))
			break;
		l->skipped += !relocate_one(data, size, &r, t->size == sizeof r, symbol, ctx);
	}
	l->skipped += !data || t->n > MAX_RELOCATIONS;
}

static void relocate_all(struct cubin_lines *l, const struct elf_file *f, cubin_symbol_fn *symbol,
			 void *ctx)
{
	GElf_Shdr s;
	bool found = elf_file_section(f, ".rela.debug_line", SHT_RELA, &s) ||
		     elf_file_section(f, ".rel.debug_line", SHT_REL, &s);
	if (!found)
		return;
	size_t size = s.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	const struct relocation_table t = { s.sh_offset, s.sh_size / size, size };
	relocate(l, f, &t, symbol, ctx);
}

/* --- reading ---------------------------------------------------------------------------------- */

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
		/* The end of a sequence is after its text. */
		if (at != CUBIN_NO_ROW && !elf_layout_code_end(layout, row->addr))
			continue;
		vec_push(&l->v, (struct cubin_line_row){ row->addr, l->tables.n, at });
	}
	vec_push(&l->tables, t);
}

/* Of rows at one address the last counts, but an end sorts before a start. */
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
	sections_find(&l->sections, f, false); /* false only means that there is no .debug_info */
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

/* --- lookup ----------------------------------------------------------------------------------- */

bool cubin_lines_find(const struct cubin_lines *l, uint64_t addr, struct cubin_line_row *out)
{
	size_t after = vec_upper(&l->v, addr, addr);
	if (after == 0 || l->v.v[after - 1].row == CUBIN_NO_ROW)
		return false;
	*out = l->v.v[after - 1];
	return true;
}

/* Turns "/a/b/../c" into "/a/c". A ".." above the first directory stays. */
static void drop_dots(char *path)
{
	char *up;
	while ((up = strstr(path, "/../")) != NULL && up != path) {
		char *before = up;
		while (before > path && before[-1] != '/')
			before--;
		if (before == path || strncmp(before, "../", 3) == 0)
			break;
		memmove(before, up + 4, strlen(up + 4) + 1);
	}
}

static struct cubin_path split_path(struct cubin_lines *l, char *path)
{
	drop_dots(path);
	const char *slash = strrchr(path, '/');
	struct cubin_path p = { .file = path };
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
		char *own = arena_dup(&l->text, path, strlen(path));
		t->paths[file] = split_path(l, own);
	}
	return t->paths[file];
}

/* Returns a name in the section's strings, which stay valid, or NULL if it is not NUL-terminated
 * within the section. */
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
