/* Finds the table of functions (gopclntab.h) in a file, and the runtime's moduledata, which has
 * what the table lacks since Go 1.18: the start of the text, and that of inline trees, `go:func.*`.
 *
 *     words  0  header of the table     7  paths
 *            1  names                  20  first and last address of functions
 *            4  units                  22  start of the text
 *            …                          g  go:func.*
 *                                     g+1  since Go 1.26: the end of the table
 *                                       …  slice of text sections: address, length, capacity
 *
 * g is 38 up to Go 1.19, 40 up to 1.26, and 43 in 1.27; the table's header is the same in the last
 * two. So `go:func.*` is used only if all of this agrees: the release in .go.buildinfo, if it is
 * present; the words after g; and the inline trees that it leads to. Without it the program has no
 * inlined functions.
 *
 * Sources: src/runtime/symtab.go and src/debug/buildinfo/buildinfo.go of Go 1.19, 1.26 and 1.27. */
#include "symbol/go/gopclntab.h"

#include "base/err.h"
#include "base/mem.h"
#include "symbol/elf/elf_layout.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- searching -------------------------------------------------------------------------------- */

/* In hostile files each of many segments can cover the whole file. */
enum { SEARCH_BYTES = 64 << 10 };

static size_t search_read(struct gopclntab *t, uint64_t at, void *to, uint64_t want)
{
	if (t->searched > GO_MAX_SEARCH)
		return 0;
	t->searched += want;
	return elf_file_read_some(&t->pages.file, at, to, want);
}

static bool search_words(struct gopclntab *t, uint64_t offset, uint64_t size,
			 bool (*on_word)(void *ctx, uint64_t word, uint64_t at), void *ctx)
{
	uint64_t *words = xmalloc(SEARCH_BYTES), end = offset + size;
	bool found = false;
	for (uint64_t at = offset + (-offset & 7); at < end && !found; at += SEARCH_BYTES) {
		uint64_t want = end - at < SEARCH_BYTES ? end - at : SEARCH_BYTES;
		size_t n = search_read(t, at, words, want) / 8;
		for (size_t i = 0; i < n && !found; i++)
			found = on_word(ctx, words[i], at + 8 * i);
		if (n == 0)
			break;
	}
	free(words);
	return found;
}

/* --- the release ------------------------------------------------------------------------------ */

/* Bytes of .go.buildinfo: a magic, the size of pointers, flags; since Go 1.18 a varint length and
 * the version follow. */
enum { INFO_FLAGS = 15, INFO_INLINE = 2, INFO_VERSION = 32, INFO_BYTES = INFO_VERSION + 64 };
static const char info_magic[] = "\xff Go buildinf:";

struct info_search {
	struct gopclntab *t;
	unsigned release;
};

/* Returns N of Go 1.N; 0: unknown, or between releases. */
static unsigned release_at(struct gopclntab *t, uint64_t at)
{
	char info[INFO_BYTES + 1] = { 0 }; /* a file may end in it */
	unsigned release = 0;
	file_pages_read(&t->pages, at, info, INFO_BYTES);
	if (memcmp(info, info_magic, sizeof info_magic - 1) != 0 ||
	    !(info[INFO_FLAGS] & INFO_INLINE))
		return 0;
	size_t len = (uint8_t)info[INFO_VERSION];
	if (len < INFO_BYTES - INFO_VERSION)
		info[INFO_VERSION + 1 + len] = 0;
	const char *version = strstr(info + INFO_VERSION + 1, "go1.");
	if (!version || strstr(info + INFO_VERSION + 1, "devel"))
		return 0;
	for (const char *p = version + 4; *p >= '0' && *p <= '9' && release < 1000; p++)
		release = 10 * release + (*p - '0');
	return release;
}

static bool on_info_word(void *ctx, uint64_t word, uint64_t at)
{
	struct info_search *s = ctx;
	if (memcmp(&word, info_magic, sizeof word) == 0)
		s->release = release_at(s->t, at);
	return s->release;
}

/* It is in the data; a file without sections is searched for it. */
static unsigned release_of(struct gopclntab *t, const struct elf_file *f)
{
	struct info_search s = { t, 0 };
	GElf_Shdr section;
	if (elf_file_section(f, ".go.buildinfo", SHT_NULL, &section))
		return release_at(t, section.sh_offset);
	if (elf_file_section(f, NULL, SHT_NULL, &section))
		return 0;
	for (size_t i = t->layout->segments.n; i-- > 0;) {
		const struct elf_segment *e = &t->layout->segments.v[i];
		if (!e->executable && search_words(t, e->offset, e->size, on_info_word, &s))
			break;
	}
	return s.release;
}

/* --- the base of inline trees ----------------------------------------------------------------- */

/* The indexes of words in use. */
enum {
	MODULE_HEADER,
	MODULE_NAMES,
	MODULE_MIN_PC = 20,
	MODULE_MAX_PC,
	MODULE_TEXT,
	MODULE_WORDS = 48,
};

static const struct module_layout {
	unsigned from, to; /* releases */
	unsigned inline_base;
} layouts[] = {
	{ 18, 19, 38 },
	{ 20, 26, 40 },
	{ 27, 27, 43 },
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static bool is_of(const struct module_layout *l, unsigned release)
{
	bool is_known = release && release <= layouts[LAYOUTS - 1].to;
	return !is_known || (release >= l->from && release <= l->to);
}

/* Whether words are those that follow `go:func.*`. */
static bool is_behind_base(const struct gopclntab *t, const uint64_t *w)
{
	enum { MAX_SECTIONS = 1 << 20 };
	if (w[0] > t->vaddr && w[0] - t->vaddr <= t->end - t->base)
		return true;
	return w[0] && w[1] == w[2] && w[1] > 0 && w[1] < MAX_SECTIONS;
}

/* Counts the positions in the inline tree of a function, and those that lead to an entry. */
static void tree_check(struct gopclntab *t, const struct go_function *f, uint32_t *all,
		       uint32_t *valid)
{
	struct go_inlined in;
	struct go_values v;
	go_values_begin(&v, t, f, f->inline_ids);
	while (go_values_next(&v))
		if (v.value >= 0) {
			*valid += gopclntab_inlined(t, f, v.value, &in);
			++*all;
		}
}

/* Whether nearly all inlined calls of functions all over the program are known. With another base
 * few are, by chance. */
static bool trees_fit(struct gopclntab *t)
{
	enum { TREES = 32, SPREAD = 2048 };
	uint32_t all = 0, valid = 0, trees = 0, step = t->n_functions / SPREAD + 1;
	struct go_function f;
	for (uint32_t i = 0; i < t->n_functions && trees < TREES; i += step)
		if (gopclntab_function(t, i, &f) && f.inline_tree) {
			tree_check(t, &f, &all, &valid);
			trees++;
		}
	return valid >= all - all / 16;
}

static void find_inline_base(struct gopclntab *t, const uint64_t *w, unsigned release)
{
	for (size_t i = 0; i < LAYOUTS; i++) {
		unsigned at = layouts[i].inline_base;
		if (!is_of(&layouts[i], release) || !is_behind_base(t, w + at + 1))
			continue;
		t->inline_base = w[at];
		if (trees_fit(t))
			return;
	}
	t->inline_base = 0;
}

/* --- moduledata ------------------------------------------------------------------------------- */

struct module {
	struct gopclntab *t;
	unsigned release;
	uint64_t at; /* address of possible moduledata; 0: none yet */
	uint64_t words[MODULE_WORDS];
};

/* Reads the fields if the words are this table's moduledata. */
static bool module_take(struct module *m)
{
	struct gopclntab *t = m->t;
	const uint64_t *w = m->words;
	if (w[MODULE_HEADER] != t->vaddr || w[MODULE_NAMES] != t->vaddr + (t->names - t->base))
		return false;
	uint64_t first = go_u32(t, t->functab),
		 last = go_u32(t, t->functab + 8ull * t->n_functions);
	if (w[MODULE_MIN_PC] != w[MODULE_TEXT] + first || w[MODULE_MAX_PC] != w[MODULE_TEXT] + last)
		return false;
	t->text = w[MODULE_TEXT];
	find_inline_base(t, w, m->release);
	return true;
}

static bool module_at(void *ctx, uint64_t word, uint64_t at)
{
	struct module *m = ctx;
	if (word != m->t->vaddr)
		return false;
	file_pages_read(&m->t->pages, at, m->words, sizeof m->words);
	return module_take(m);
}

/* If the dynamic linker writes the pointers, the file may have zeros; relocations have the values.
 * Those of one object are in order of address. */
static bool on_relocation(struct module *m, const Elf64_Rela *r)
{
	unsigned type = ELF64_R_TYPE(r->r_info);
	uint64_t k = (r->r_offset - m->at) / 8, at;
	bool is_header = (uint64_t)r->r_addend == m->t->vaddr;
	if (type != R_X86_64_RELATIVE && type != R_AARCH64_RELATIVE)
		return false;
	if (m->at && (is_header || k >= MODULE_WORDS)) {
		if (module_take(m))
			return true;
		m->at = 0;
	}
	if (is_header) {
		m->at = r->r_offset;
		k = 0;
		memset(m->words, 0, sizeof m->words);
		if (elf_layout_offset(m->t->layout, m->at, &at))
			file_pages_read(&m->t->pages, at, m->words, sizeof m->words);
	}
	if (m->at)
		m->words[k] = r->r_addend;
	return false;
}

static bool find_relocations(const struct elf_file *f, uint64_t *addr, uint64_t *size)
{
	enum { MAX_ENTRIES = 512 };
	GElf_Phdr p;
	size_t n = 0;
	*addr = *size = 0;
	elf_getphdrnum(f->elf, &n);
	for (size_t i = 0; i < n; i++) {
		Elf64_Dyn d[MAX_ENTRIES];
		if (!gelf_getphdr(f->elf, i, &p) || p.p_type != PT_DYNAMIC)
			continue;
		uint64_t max = p.p_filesz < sizeof d ? p.p_filesz : sizeof d;
		size_t entries = elf_file_read_some(f, p.p_offset, d, max) / sizeof *d;
		for (size_t k = 0; k < entries && d[k].d_tag != DT_NULL; k++) {
			if (d[k].d_tag == DT_RELA)
				*addr = d[k].d_un.d_ptr;
			else if (d[k].d_tag == DT_RELASZ)
				*size = d[k].d_un.d_val;
		}
	}
	return *addr && *size;
}

static bool module_by_relocations(struct module *m, const struct elf_file *f)
{
	enum { AT_ONCE = 512 };
	uint64_t addr, size, at;
	m->at = 0;
	if (!find_relocations(f, &addr, &size) || !elf_layout_offset(m->t->layout, addr, &at))
		return false;
	while (size >= sizeof(Elf64_Rela)) {
		Elf64_Rela r[AT_ONCE];
		uint64_t want = size < sizeof r ? size : sizeof r;
		size_t n = search_read(m->t, at, r, want) / sizeof *r;
		for (size_t i = 0; i < n; i++)
			if (on_relocation(m, &r[i]))
				return true;
		if (n == 0)
			break;
		at += n * sizeof *r;
		size -= n * sizeof *r;
	}
	return m->at && module_take(m);
}

/* It is in the data, so the last segments are searched first. */
static bool read_module(struct gopclntab *t, const struct elf_file *f)
{
	struct module m = { .t = t, .release = release_of(t, f) };
	for (size_t i = t->layout->segments.n; i-- > 0;) {
		const struct elf_segment *s = &t->layout->segments.v[i];
		if (!s->executable && search_words(t, s->offset, s->size, module_at, &m))
			return true;
	}
	return module_by_relocations(&m, f);
}

/* --- finding the table ------------------------------------------------------------------------ */

/* Opens the table at an offset, if there is one. */
static bool table_at(struct gopclntab *t, const struct elf_file *f, uint64_t offset, uint64_t end)
{
	t->base = offset;
	t->end = end < t->pages.file.size ? end : t->pages.file.size;
	if (!elf_layout_vaddr(t->layout, offset, &t->vaddr) || !go_header_read(t))
		return false;
	if (t->is_relative)
		read_module(t, f);
	return go_header_proven(t);
}

struct table_search {
	struct gopclntab *t;
	const struct elf_file *f;
	uint64_t end;
	uint32_t tried;
};

/* The first eight bytes: magic, 0, 0, quantum of pcs, size of pointers. A file with many of them is
 * not a Go program. */
static bool on_header_word(void *ctx, uint64_t word, uint64_t at)
{
	enum { MAX_TRIES = 16 };
	struct table_search *s = ctx;
	uint32_t magic = word, rest = word >> 32;
	if ((rest != 0x08010000 && rest != 0x08040000) || magic < 0xfffffff0 ||
	    s->tried > MAX_TRIES)
		return false;
	s->tried++;
	return table_at(s->t, s->f, at, s->end);
}

static bool search_segments(struct gopclntab *t, const struct elf_file *f)
{
	const struct elf_layout *l = t->layout;
	for (size_t i = 0; i < l->segments.n; i++) {
		const struct elf_segment *s = &l->segments.v[i];
		struct table_search search = { t, f, s->offset + s->size, 0 };
		if (search_words(t, s->offset, s->size, on_header_word, &search))
			return true;
	}
	return false;
}

/* Linkers may move the section's contents to another section, but never drop .go.buildinfo (Go
 * 1.13). */
static bool find_table(struct gopclntab *t, const struct elf_file *f)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	GElf_Shdr s;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (elf_file_section(f, names[i], SHT_PROGBITS, &s) &&
		    s.sh_size <= UINT64_MAX - s.sh_offset)
			return table_at(t, f, s.sh_offset, s.sh_offset + s.sh_size);
	if (elf_file_section(f, NULL, SHT_NULL, &s) &&
	    !elf_file_section(f, ".go.buildinfo", SHT_NULL, &s))
		return false;
	return search_segments(t, f);
}

int gopclntab_open(struct gopclntab *out, const struct elf_file *f, const struct elf_layout *layout,
		   struct err *err)
{
	uint16_t machine = f->header.e_machine;
	struct gopclntab t = { .layout = layout };
	if (f->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (machine != EM_X86_64 && machine != EM_AARCH64))
		return err_set(err, ENOTSUP, "made for another machine");
	file_pages_init(&t.pages, f);
	if (!find_table(&t, f)) {
		gopclntab_close(&t);
		return err_set(err, ENODATA, "no table of a Go program");
	}
	*out = t;
	return 0;
}
