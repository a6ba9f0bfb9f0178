/* The symbol source of an ELF file: its tables and debug file. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/elf/elf_debug.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/go/go_names.h"
#include "symbol/name_cache.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { START_BYTES = 38 }; /* size of the C library's _start */

struct elf_source {
	struct symbol_source base;
	/* separate debug file, whose names are read on demand; -1 = none */
	int debug_fd;
	struct elf_layout layout;
	struct elf_symbols symbols;
	const char *symbols_origin;
	struct name_cache names; /* text of the symbols */
	VEC(struct cached_name) named;
	uint32_t *named_at; /* by symbol: index in named + 1; 0: not named yet */
	struct go_names go; /* of a Go program; preferred to symbols */
	uint64_t start;     /* address of _start in a program; 0: unknown */
	/* Debug information, opened when lines are first needed. */
	int fd; /* the caller's */
	debug_locate_fn *locate;
	void *ctx;
	bool dwarf_tried;
	struct dwarf *dwarf; /* NULL: none */
};

static void elf_source_close(struct symbol_source *s)
{
	struct elf_source *e = (struct elf_source *)s;
	go_names_close(&e->go);
	dwarf_close(e->dwarf);
	elf_layout_done(&e->layout);
	elf_symbols_done(&e->symbols);
	name_cache_done(&e->names);
	vec_done(&e->named);
	free(e->named_at);
	if (e->debug_fd >= 0)
		close(e->debug_fd);
	free(e);
}

static const char *elf_source_copy_name(struct elf_source *e, uint32_t name)
{
	char head[512], *text = head;
	size_t len = elf_symbols_name(&e->symbols, name, head, sizeof head);
	if (len == sizeof head - 1) {
		text = xmalloc(ELF_MAX_NAME);
		len = elf_symbols_name(&e->symbols, name, text, ELF_MAX_NAME);
	}
	const char *copy = len ? name_cache_copy(&e->names, text, len) : NULL;
	if (text != head)
		free(text);
	return copy;
}

/* Returns the names of sym, read and demangled on first use. Returns false if the file no longer
 * has them or the cache is full. */
static bool elf_source_name(struct elf_source *e, const struct elf_symbol *sym,
			    struct cached_name *out)
{
	uint32_t *at = &e->named_at[sym - e->symbols.v.v];
	if (*at) {
		*out = e->named.v[*at - 1];
		return true;
	}
	uint32_t name = elf_symbols_best_name(&e->symbols, sym);
	const char *linkage = elf_symbols_name_held(&e->symbols, name);
	if (!linkage)
		linkage = elf_source_copy_name(e, name);
	if (!linkage) {
		e->base.skipped++;
		return false;
	}
	*out = name_cache_make(&e->names, linkage, sym->plt ? "@plt" : "");
	vec_push(&e->named, *out);
	*at = e->named.n;
	return true;
}

/* Some Go functions exist once per calling convention; the symbol of one of them is NAME.abi0. Go's
 * own table, all that a stripped program has, calls both NAME: so does its name here. */
static void elf_source_abi(struct elf_source *e, uint64_t start, const char **linkage)
{
	const struct elf_symbol *sym = elf_symbols_find(&e->symbols, start);
	struct cached_name names;
	size_t len = strlen(*linkage);
	if (sym && sym->addr == start && elf_source_name(e, sym, &names) &&
	    strncmp(names.linkage, *linkage, len) == 0 && strcmp(names.linkage + len, ".abi0") == 0)
		*linkage = names.linkage;
}

/* In a stripped program, the C library's _start has no symbol, but the header has its address. */
static bool elf_source_start(const struct elf_source *e, uint64_t vaddr, uint64_t offset,
			     struct symbol *out)
{
	if (!e->start || vaddr - e->start >= START_BYTES)
		return false;
	*out = (struct symbol){
		.name = "_start",
		.linkage = "_start",
		.start = offset - (vaddr - e->start),
		.size = START_BYTES,
	};
	return true;
}

static bool elf_source_lookup(struct symbol_source *s, uint64_t offset, struct symbol *out)
{
	struct elf_source *e = (struct elf_source *)s;
	struct cached_name name;
	uint64_t vaddr;
	if (!elf_layout_vaddr(&e->layout, offset, &vaddr))
		return false;
	if (go_names_lookup(&e->go, vaddr, out)) {
		elf_source_abi(e, out->start, &out->linkage);
		out->start = offset - (vaddr - out->start);
		return true;
	}
	const struct elf_symbol *sym = elf_symbols_find(&e->symbols, vaddr);
	if (!sym)
		return elf_source_start(e, vaddr, offset, out);
	if (!elf_source_name(e, sym, &name))
		return false;
	*out = (struct symbol){
		.name = name.name,
		.linkage = name.linkage,
		.start = offset - (vaddr - sym->addr),
		.size = sym->size,
	};
	return true;
}

/* --- debug information ------------------------------------------------------------------------ */

/* Opens debug information of the file itself, else of its separate debug file, which may already be
 * open for its symbols. */
static void elf_source_open_dwarf(struct elf_source *e)
{
	struct elf_file main, debug;
	e->dwarf_tried = true;
	if (elf_file_open(&main, e->fd, NULL) < 0)
		return;
	e->dwarf = dwarf_open(&main, &e->layout, e->locate, e->ctx);
	if (!e->dwarf && e->debug_fd < 0 && elf_debug_open(&main, e->locate, e->ctx, &debug)) {
		e->debug_fd = debug.fd;
		e->dwarf = dwarf_open(&debug, &e->layout, e->locate, e->ctx);
		elf_file_close(&debug);
	} else if (!e->dwarf && e->debug_fd >= 0 && elf_file_open(&debug, e->debug_fd, NULL) == 0) {
		e->dwarf = dwarf_open(&debug, &e->layout, e->locate, e->ctx);
		elf_file_close(&debug);
	}
	elf_file_close(&main);
}

/* Compilers split and copy functions: for name.cold and name.isra.0 the source has only name. */
static bool is_clone_of(const char *symbol, const char *linkage)
{
	static const char *const kinds[] = { ".cold",       ".part.",     ".isra.", ".__part.",
					     ".constprop.", ".lto_priv.", ".llvm." };
	size_t len = strlen(linkage);
	if (strncmp(symbol, linkage, len) != 0)
		return false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strncmp(symbol + len, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

/* Returns lines from debug information, with the outermost function named as its symbol, if any. */
static uint32_t elf_source_dwarf(struct elf_source *e, uint64_t vaddr, const struct symbol *sym,
				 struct symbol_line *out, uint32_t max)
{
	bool whole = false;
	if (!e->dwarf_tried)
		elf_source_open_dwarf(e);
	uint32_t n = e->dwarf ? dwarf_lookup(e->dwarf, vaddr, out, max, &whole) : 0;
	e->base.origin = n ? "DWARF" : e->symbols_origin;
	if (n == 0)
		out[n++] = (struct symbol_line){ 0 };
	struct symbol_line *last = &out[n - 1];
	/* Use the symbol's name for the function: if an address has several names, the same one is
	 * then shown with and without debug information. */
	if (sym && (whole || !last->name)) {
		if (!last->name || !is_clone_of(sym->linkage, last->linkage))
			last->name = sym->name;
		last->linkage = sym->linkage;
	}
	return last->name ? n : n - 1;
}

static uint32_t elf_source_lines(struct symbol_source *s, uint64_t offset, struct symbol_line *out,
				 uint32_t max)
{
	struct elf_source *e = (struct elf_source *)s;
	struct symbol sym;
	uint64_t vaddr;
	if (max == 0 || !elf_layout_vaddr(&e->layout, offset, &vaddr))
		return 0;
	bool named = elf_source_lookup(s, offset, &sym);
	uint32_t n = go_names_lines(&e->go, vaddr, out, max);
	if (n == 0)
		return elf_source_dwarf(e, vaddr, named ? &sym : NULL, out, max);
	e->base.origin = ".gopclntab";
	uint64_t start = vaddr - (offset - sym.start);
	elf_source_abi(e, start, &out[n - 1].linkage);
	return n;
}

/* --- edges ------------------------------------------------------------------------------------ */

static void add_edge(const struct elf_source *e, uint64_t vaddr, struct symbol_edges *out)
{
	uint64_t offset;
	if (elf_layout_offset(&e->layout, vaddr, &offset))
		vec_push(out, offset);
}

/* Symbols also end where their segment ends. */
static void elf_source_edges(struct symbol_source *s, struct symbol_edges *out)
{
	struct elf_source *e = (struct elf_source *)s;
	struct go_function f;
	for (size_t i = 0; i < e->layout.segments.n; i++) {
		vec_push(out, e->layout.segments.v[i].offset);
		vec_push(out, e->layout.segments.v[i].offset + e->layout.segments.v[i].size);
	}
	for (size_t i = 0; i < e->symbols.v.n; i++) {
		add_edge(e, e->symbols.v.v[i].addr, out);
		add_edge(e, e->symbols.v.v[i].addr + e->symbols.v.v[i].size, out);
	}
	for (uint32_t i = 0; e->go.table.kind && i < e->go.table.n_functions; i++) {
		if (!gopclntab_function(&e->go.table, i, &f))
			continue;
		add_edge(e, f.start, out);
		add_edge(e, f.end, out);
	}
	if (e->start) {
		add_edge(e, e->start, out);
		add_edge(e, e->start + START_BYTES, out);
	}
}

static const struct symbol_source_ops elf_source_ops = { .lookup = elf_source_lookup,
							 .close = elf_source_close,
							 .lines = elf_source_lines,
							 .edges = elf_source_edges };

/* --- symbols ---------------------------------------------------------------------------------- */

/* Each of these returns the number of functions found; err is set if something could not be
 * read. */

static long add_section(struct elf_source *e, const struct elf_file *f, uint32_t type,
			struct err *err)
{
	struct elf_table t;
	if (!elf_table_of_section(f, type, &t))
		return 0;
	long n = elf_symbols_add_table(&e->symbols, f, &t, &e->layout, err);
	return n < 0 ? 0 : n;
}

static long add_debug_file(struct elf_source *e, const struct elf_file *main,
			   debug_locate_fn *locate, void *ctx, struct err *err)
{
	struct elf_file debug;
	if (!elf_debug_open(main, locate, ctx, &debug))
		return 0;
	long n = add_section(e, &debug, SHT_SYMTAB, err);
	e->debug_fd = debug.fd;
	elf_file_close(&debug);
	return n;
}

static long add_debugdata(struct elf_source *e, const struct elf_file *main, struct err *err)
{
	struct buf image = { 0 };
	struct elf_file mini;
	long n = 0;
	if (elf_debugdata_unpack(main, &image, err) &&
	    elf_file_open_image(&mini, image.data, image.len, err) == 0) {
		n = add_section(e, &mini, SHT_SYMTAB, err);
		elf_file_close(&mini);
	}
	buf_done(&image);
	return n;
}

static long add_dynamic(struct elf_source *e, const struct elf_file *main, struct err *err)
{
	struct elf_table t;
	long n = add_section(e, main, SHT_DYNSYM, err);
	if (n == 0 && elf_table_of_dynamic(main, &e->layout, &t))
		n = elf_symbols_add_table(&e->symbols, main, &t, &e->layout, err);
	return n < 0 ? 0 : n;
}

/* An entry point without a symbol that clears the frame pointer is the start of a program;
 * libraries have other entry points. */
static uint64_t find_start(const struct elf_source *e, const struct elf_file *f)
{
	static const uint8_t plain[] = { 0x31, 0xed },
			     behind_endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed };
	uint8_t code[sizeof behind_endbr];
	uint64_t entry = f->header.e_entry, offset;
	if (f->header.e_machine != EM_X86_64 || !entry || elf_symbols_find(&e->symbols, entry) ||
	    !elf_layout_offset(&e->layout, entry, &offset) ||
	    !elf_file_read(f, offset, code, sizeof code))
		return 0;
	bool is_start = memcmp(code, plain, sizeof plain) == 0 ||
			memcmp(code, behind_endbr, sizeof behind_endbr) == 0;
	return is_start ? entry : 0;
}

static int elf_source_load(struct elf_source *e, const struct elf_file *main,
			   debug_locate_fn *locate, void *ctx, struct err *err)
{
	struct err bad = { 0 };
	if (add_section(e, main, SHT_SYMTAB, &bad) > 0) {
		e->base.origin = ".symtab";
	} else if (add_debug_file(e, main, locate, ctx, &bad) > 0) {
		e->base.origin = "debug file";
	} else {
		e->symbols.is_partial = add_debugdata(e, main, &bad) == 0;
		e->base.origin = e->symbols.is_partial ? ".dynsym" : ".gnu_debugdata";
		add_dynamic(e, main, &bad);
	}
	elf_symbols_add_plt(&e->symbols, main);
	elf_symbols_finish(&e->symbols, &e->layout);
	e->named_at = xcalloc(e->symbols.v.n + 1, sizeof *e->named_at);
	e->base.skipped = e->symbols.skipped;
	e->base.functions = e->symbols.v.n;
	e->symbols_origin = e->base.origin;
	if (go_names_open(&e->go, main, &e->layout, NULL) == 0) {
		e->base.origin = ".gopclntab";
		if (e->base.functions < e->go.table.n_functions)
			e->base.functions = e->go.table.n_functions;
	}
	e->start = find_start(e, main);
	if (e->symbols.v.n || e->go.table.kind || e->start)
		return 0;
	return bad.code ? err_set(err, ENOEXEC, "%s", bad.text)
			: err_set(err, ENODATA, "the ELF file has no symbols");
}

int symbol_open_elf(int fd, debug_locate_fn *locate, void *ctx, struct symbol_source **out,
		    struct err *err)
{
	struct elf_file main;
	int rc = elf_file_open(&main, fd, err);
	if (rc < 0)
		return rc;
	struct elf_source *e = xcalloc(1, sizeof *e);
	*e = (struct elf_source){
		.base.ops = &elf_source_ops, .debug_fd = -1, .fd = fd, .locate = locate, .ctx = ctx
	};
	rc = elf_layout_read(&e->layout, &main, err);
	if (rc == 0)
		rc = elf_source_load(e, &main, locate, ctx, err);
	elf_file_close(&main);
	if (rc < 0)
		symbol_close(&e->base);
	else
		*out = &e->base;
	return rc;
}
