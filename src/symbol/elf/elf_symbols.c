/* Sorts functions by address, and selects the best name of each. */
#include "symbol/elf/elf_symbols.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/radix.h"
#include "base/search.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	SYMBOLS_PER_READ = 1024,
	/* Bytes compared when choosing between two names at one address, and so the size of the
	 * first read of a name. */
	NAME_HEAD = 256,
	/* Cost of reading a single name: a system call, which takes as long as reading this many
	 * bytes of the table. */
	BYTES_ASKED = 1024,
	/* Number of nested functions (or labels inside one) through which a lookup walks back. */
	MAX_NESTING = 4096,
	/* Number of names at one address that are compared; further ones are ignored. */
	MAX_ALIASES = 64,
	/* limit: further names of an ELF file that are compared once they are needed */
	MAX_WAITING = 64 << 10,
};

void elf_symbols_done(struct elf_symbols *s)
{
	for (size_t i = 0; i < s->names.n; i++)
		free(s->names.v[i].image);
	vec_done(&s->names);
	vec_done(&s->aliases);
	vec_done(&s->v);
}

/* --- names ------------------------------------------------------------------------------------ */

int elf_symbols_add_names(struct elf_symbols *s, const struct elf_file *f, uint64_t offset,
			  uint64_t size, uint32_t *base, struct err *err)
{
	const struct elf_names *last = s->names.n ? &s->names.v[s->names.n - 1] : NULL;
	if (last && f->fd >= 0 && last->fd == f->fd && last->offset == offset &&
	    last->size == size) {
		*base = last->base;
		return 0;
	}
	*base = last ? last->base + last->size : 0;
	if (offset > f->size || size > f->size - offset || size > UINT32_MAX - *base)
		return err_set(err, ENOEXEC, "the string table lies outside the ELF file");
	struct elf_names names = { .fd = f->fd, .offset = offset, .base = *base, .size = size };
	if (f->fd < 0) {
		names.image = xmalloc(size ? size : 1);
		elf_file_read_some(f, offset, names.image, size);
		names.offset = 0;
	}
	vec_push(&s->names, names);
	return 0;
}

/* Returns the string table that contains a name, or NULL. */
static struct elf_names *names_of(const struct elf_symbols *s, uint32_t name)
{
	for (size_t i = 0; i < s->names.n; i++) {
		struct elf_names *n = &s->names.v[i];
		if (name >= n->base && name - n->base < n->size)
			return n;
	}
	return NULL;
}

/* Reads the bytes of a name and those after it, up to size. */
static size_t names_read(const struct elf_symbols *s, uint32_t name, char *to, size_t size)
{
	const struct elf_names *n = names_of(s, name);
	if (!n)
		return 0;
	const struct elf_file bytes = { .fd = n->fd,
					.image = (const uint8_t *)n->image,
					.size = n->offset + n->size };
	return elf_file_read_some(&bytes, n->offset + (name - n->base), to, size);
}

size_t elf_symbols_name(const struct elf_symbols *s, uint32_t name, char *text, size_t size)
{
	size_t len = 0;
	for (size_t want = NAME_HEAD; want / 2 < size; want *= 2) {
		size_t max = want < size - 1 ? want : size - 1;
		size_t got = names_read(s, name, text, max);
		len = strnlen(text, got);
		if (len < max)
			break;
	}
	text[len] = '\0';
	char *version = len ? strchr(text + 1, '@') : NULL;
	if (version)
		*version = '\0';
	return version ? (size_t)(version - text) : len;
}

/* Reads the whole table. Names that the file no longer has stay empty. */
static void names_hold(struct elf_names *n)
{
	const struct elf_file bytes = { .fd = n->fd, .size = n->offset + n->size };
	n->image = xcalloc(n->size, 1);
	elf_file_read_some(&bytes, n->offset, n->image, n->size);
	n->fd = -1;
	n->offset = 0;
}

void elf_symbols_hold_names(struct elf_symbols *s)
{
	for (size_t i = 0; i < s->names.n; i++)
		if (!s->names.v[i].image && s->names.v[i].size <= ELF_MAX_NAMES)
			names_hold(&s->names.v[i]);
}

const char *elf_symbols_name_held(struct elf_symbols *s, uint32_t name)
{
	struct elf_names *n = names_of(s, name);
	if (!n)
		return NULL;
	if (!n->image && n->size <= ELF_MAX_NAMES && n->size / BYTES_ASKED < n->asked++)
		names_hold(n);
	if (!n->image)
		return NULL;
	const char *text = n->image + (name - n->base);
	size_t left = n->size - (name - n->base), max = left < ELF_MAX_NAME ? left : ELF_MAX_NAME;
	size_t len = strnlen(text, max);
	return len && len < max && !memchr(text + 1, '@', len - 1) ? text : NULL;
}

/* --- reading a table -------------------------------------------------------------------------- */

bool elf_table_of_section(const struct elf_file *f, uint32_t type, struct elf_table *t)
{
	GElf_Shdr symbols, names;
	size_t entry = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	if (!elf_file_section(f, NULL, type, &symbols) || symbols.sh_size < entry ||
	    !elf_file_section_at(f, symbols.sh_link, &names) || names.sh_type != SHT_STRTAB)
		return false;
	*t = (struct elf_table){ symbols.sh_offset, symbols.sh_size / entry, names.sh_offset,
				 names.sh_size };
	return true;
}

union raw_symbols {
	Elf32_Sym s32[SYMBOLS_PER_READ];
	Elf64_Sym s64[SYMBOLS_PER_READ];
};

/* Reads symbols first … first + n of the table, in native format; returns the number read. */
static size_t table_read(const struct elf_file *f, const struct elf_table *t, uint64_t first,
			 size_t n, GElf_Sym *to)
{
	union raw_symbols raw;
	size_t entry = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	n = elf_file_read_some(f, t->offset + first * entry, &raw, n * entry) / entry;
	Elf_Data data = {
		.d_buf = &raw, .d_type = ELF_T_SYM, .d_version = EV_CURRENT, .d_size = n * entry
	};
	if (!gelf_xlatetom(f->elf, &data, &data, f->header.e_ident[EI_DATA]))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const Elf32_Sym *s = &raw.s32[i];
		to[i] = gelf_getclass(f->elf) == ELFCLASS64
				? raw.s64[i]
				: (GElf_Sym){ s->st_name,  s->st_info,  s->st_other,
					      s->st_shndx, s->st_value, s->st_size };
	}
	return n;
}

/* Whether a symbol without type is inside the executable section it belongs to. End marks (etext)
 * are just after it. */
static bool label_is_code(const struct elf_file *f, const GElf_Sym *sym)
{
	GElf_Shdr section;
	return elf_file_section_at(f, sym->st_shndx, &section) &&
	       (section.sh_flags & SHF_EXECINSTR) && sym->st_value >= section.sh_addr &&
	       sym->st_value - section.sh_addr < section.sh_size;
}

/* $x, $d and similar mark changes between code and data (ARM, RISC-V); .L names are internal to the
 * assembler. */
static bool label_is_mark(const struct elf_symbols *s, uint32_t name)
{
	char head[2] = "";
	names_read(s, name, head, sizeof head);
	return head[0] == '$' || (head[0] == '.' && head[1] == 'L');
}

static bool symbol_is_function(const struct elf_file *f, const GElf_Sym *sym,
			       const struct elf_layout *layout)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	if (sym->st_shndx == SHN_UNDEF || sym->st_name == 0 ||
	    !elf_layout_code_end(layout, sym->st_value))
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && (f->header.e_shnum == 0 || label_is_code(f, sym));
}

static enum elf_binding symbol_binding(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return ELF_LOCAL;
	case STB_WEAK:
		return ELF_WEAK;
	default: /* including STB_GNU_UNIQUE */
		return ELF_GLOBAL;
	}
}

static void symbols_add(struct elf_symbols *s, const GElf_Sym *sym, uint32_t base,
			uint64_t names_size)
{
	if (sym->st_name >= names_size) {
		s->skipped++;
		return;
	}
	struct elf_symbol made = {
		.addr = sym->st_value,
		.name = base + sym->st_name,
		.size = sym->st_size < ELF_MAX_FUNCTION ? sym->st_size : ELF_MAX_FUNCTION,
		.binding = symbol_binding(sym),
		.label = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE,
	};
	if (made.label && made.binding == ELF_LOCAL && label_is_mark(s, made.name))
		return;
	vec_push(&s->v, made);
}

long elf_symbols_add_table(struct elf_symbols *s, const struct elf_file *f,
			   const struct elf_table *t, const struct elf_layout *layout,
			   struct err *err)
{
	uint32_t base;
	if (t->count > ELF_MAX_SYMBOLS)
		return err_set(err, ENOEXEC, "the ELF file claims to have %llu symbols",
			       (unsigned long long)t->count);
	if (t->offset > f->size)
		return err_set(err, ENOEXEC, "the symbol table lies outside the ELF file");
	int rc = elf_symbols_add_names(s, f, t->names_offset, t->names_size, &base, err);
	if (rc < 0)
		return rc;
	GElf_Sym batch[SYMBOLS_PER_READ];
	size_t before = s->v.n;
	for (uint64_t first = 0; first < t->count;) {
		uint64_t left = t->count - first;
		size_t n = left < SYMBOLS_PER_READ ? left : SYMBOLS_PER_READ;
		n = table_read(f, t, first, n, batch);
		if (n == 0) {
			s->skipped += left;
			break;
		}
		for (size_t i = 0; i < n; i++)
			if (symbol_is_function(f, &batch[i], layout))
				symbols_add(s, &batch[i], base, t->names_size);
		first += n;
	}
	return s->v.n - before;
}

/* --- one name per address --------------------------------------------------------------------- */

/* Above it, memory matters more than time. */
enum { SORTED_BY_RADIX_MAX = 256 << 10 };

static int symbol_rank(const struct elf_symbol *s)
{
	return (s->plt ? 0 : 8) + s->binding * 2 + !s->label;
}

static int symbol_compare(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (symbol_rank(x) != symbol_rank(y))
		return symbol_rank(y) - symbol_rank(x);
	return (x->name > y->name) - (x->name < y->name);
}

/* Whether a is the better name to show than b. */
static bool name_is_better(const char *a, const char *b)
{
	if ((*a == '_') != (*b == '_'))
		return *b == '_';
	size_t a_len = strlen(a), b_len = strlen(b);
	return a_len != b_len ? a_len < b_len : strcmp(a, b) < 0;
}

/* Replaces *best, which is text once it was read, by a better name. Returns whether name is. */
static bool take_better(const struct elf_symbols *s, uint32_t name, uint32_t *best, char *text)
{
	char other[NAME_HEAD];
	if (name == *best)
		return false;
	if (!*text)
		elf_symbols_name(s, *best, text, NAME_HEAD);
	elf_symbols_name(s, name, other, sizeof other);
	if (!name_is_better(other, text))
		return false;
	*best = name;
	memcpy(text, other, sizeof other);
	return true;
}

/* Returns how many of the group have the highest rank. */
static size_t group_top(const struct elf_symbol *group, size_t n)
{
	size_t top = 1;
	while (top < n && top < MAX_ALIASES && symbol_rank(&group[top]) == symbol_rank(&group[0]))
		top++;
	return top;
}

/* Whether it makes no difference, except for the name, which of the n symbols is retained. Reading
 * each name from the file takes a system call, and most are never needed. */
static bool names_can_wait(const struct elf_symbols *s, const struct elf_symbol *group, size_t n)
{
	const struct elf_names *names = names_of(s, group[0].name);
	if (n < 2 || !names || names->image || s->aliases.n >= MAX_WAITING)
		return false;
	for (size_t i = 1; i < n; i++)
		if (group[i].size != group[0].size)
			return false;
	return true;
}

/* Returns the best of the n symbols at one address, sorted by rank: of those with the highest rank,
 * the one with the best name, or the first if the choice can wait. */
static struct elf_symbol group_choose(struct elf_symbols *s, const struct elf_symbol *group,
				      size_t n)
{
	char text[NAME_HEAD] = "";
	struct elf_symbol best = group[0];
	size_t top = group_top(group, n);
	bool wait = names_can_wait(s, group, top);
	for (size_t i = 1; i < top; i++) {
		uint32_t name = best.name;
		if (wait)
			vec_push(&s->aliases, (struct elf_alias){ best.addr, group[i].name });
		else if (take_better(s, group[i].name, &name, text))
			best = group[i];
	}
	for (size_t i = 0; i < n && best.size == 0; i++)
		best.size = group[i].size;
	return best;
}

uint32_t elf_symbols_best_name(const struct elf_symbols *s, const struct elf_symbol *sym)
{
	char text[NAME_HEAD] = "";
	uint32_t best = sym->name;
	size_t i = vec_lower(&s->aliases, addr, sym->addr);
	for (; i < s->aliases.n && s->aliases.v[i].addr == sym->addr; i++)
		take_better(s, s->aliases.v[i].name, &best, text);
	return best;
}

static void symbols_unique(struct elf_symbols *s)
{
	size_t kept = 0;
	for (size_t i = 0, next; i < s->v.n; i = next) {
		for (next = i + 1; next < s->v.n && s->v.v[next].addr == s->v.v[i].addr;)
			next++;
		struct elf_symbol best = group_choose(s, &s->v.v[i], next - i);
		s->v.v[kept++] = best;
	}
	s->v.n = kept;
}

/* --- ends ------------------------------------------------------------------------------------- */

static uint64_t symbol_end(const struct elf_symbol *s)
{
	return s->addr > UINT64_MAX - s->size ? UINT64_MAX : s->addr + s->size;
}

static void symbols_drop_inner_labels(struct elf_symbols *s)
{
	uint64_t reach = 0; /* end of the sized functions so far */
	size_t kept = 0;
	for (size_t i = 0; i < s->v.n; i++) {
		struct elf_symbol *sym = &s->v.v[i];
		if (sym->size == 0 && sym->label && sym->addr < reach)
			continue;
		if (symbol_end(sym) > reach)
			reach = symbol_end(sym);
		s->v.v[kept++] = *sym;
	}
	s->v.n = kept;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void symbols_close_ends(struct elf_symbols *s, const struct elf_layout *layout)
{
	uint64_t reach = 0;
	for (size_t i = 0; i < s->v.n; i++) {
		struct elf_symbol *sym = &s->v.v[i];
		sym->nested = sym->addr < reach;
		if (sym->size == 0 && s->is_partial) {
			sym->size = 1;
		} else if (sym->size == 0) {
			uint64_t end = elf_layout_code_end(layout, sym->addr);
			if (i + 1 < s->v.n)
				end = lower(end, s->v.v[i + 1].addr);
			if (sym->nested)
				end = lower(end, reach);
			sym->size = lower(end - sym->addr, ELF_MAX_FUNCTION);
		}
		if (symbol_end(sym) > reach)
			reach = symbol_end(sym);
	}
}

/* Sorts all symbols by address alone: three times as fast as by comparing them. */
static void sort_by_address(struct elf_symbols *s)
{
	size_t n = s->v.n;
	struct radix_key *room = xreallocarray(NULL, 2 * n, sizeof *room);
	struct elf_symbol *sorted = xreallocarray(NULL, n, sizeof *sorted);
	for (size_t i = 0; i < n; i++)
		room[i] = (struct radix_key){ s->v.v[i].addr, i };
	const struct radix_key *keys = radix_sort(room, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = s->v.v[keys[i].row];
	free(room);
	free(s->v.v);
	s->v.v = sorted;
	s->v.cap = n;
}

/* The fast way takes three times as much memory, which is only spent on files of usual size. */
static void symbols_sort(struct elf_symbols *s)
{
	struct elf_symbol *v = s->v.v;
	if (s->v.n > SORTED_BY_RADIX_MAX) {
		qsort(v, s->v.n, sizeof *v, symbol_compare);
		return;
	}
	sort_by_address(s);
	v = s->v.v;
	for (size_t i = 0, next; i < s->v.n; i = next) {
		for (next = i + 1; next < s->v.n && v[next].addr == v[i].addr;)
			next++;
		if (next - i > 1)
			qsort(v + i, next - i, sizeof *v, symbol_compare);
	}
}

void elf_symbols_finish(struct elf_symbols *s, const struct elf_layout *layout)
{
	if (s->v.n == 0)
		return;
	symbols_sort(s);
	symbols_unique(s);
	symbols_drop_inner_labels(s);
	symbols_close_ends(s, layout);
	s->v.v = xreallocarray(s->v.v, s->v.cap = s->v.n, sizeof *s->v.v);
}

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t vaddr)
{
	size_t at = vec_upper(&s->v, addr, vaddr);
	for (size_t steps = 0; at > 0 && steps < MAX_NESTING; steps++) {
		const struct elf_symbol *sym = &s->v.v[--at];
		if (vaddr - sym->addr < sym->size)
			return sym;
		if (!sym->nested)
			break;
	}
	return NULL;
}
