/* Where the table is in an ELF file, and the runtime's moduledata. How much is read in search of them is limited, as hostile
 * files can say that all of their many segments are the whole file. */
#include "symbol/go_layout.h"

#include <errno.h>
#include <string.h>

enum { SEARCH_BYTES = 64 << 10 };

static size_t search_read(struct gopclntab *t, uint64_t at, void *to, uint64_t want)
{
	if (t->searched > GO_MAX_SEARCH)
		return 0;
	t->searched += want;
	return elf_file_read_some(&t->pages.file, at, to, want);
}

/* Calls on_word for each aligned word of [offset, offset + size) until it gives true. */
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

/* --- moduledata -------------------------------------------------------------------------------- */

/* Its words that matter. */
enum {
	MODULE_HEADER,
	MODULE_NAMES,
	MODULE_MIN_PC = 20,
	MODULE_MAX_PC,
	MODULE_TEXT,
	MODULE_WORDS = 41,
};

/* Takes what is needed when the words are those of this table's moduledata. */
static bool module_take(struct gopclntab *t, const uint64_t *w)
{
	if (w[MODULE_HEADER] != t->vaddr || w[MODULE_NAMES] != t->vaddr + (t->names - t->base))
		return false;
	uint64_t first = go_u32(t, t->functab),
		 last = go_u32(t, t->functab + 8ull * t->n_functions);
	if (w[MODULE_MIN_PC] != w[MODULE_TEXT] + first || w[MODULE_MAX_PC] != w[MODULE_TEXT] + last)
		return false;
	t->text = w[MODULE_TEXT];
	t->inline_base = w[t->kind->inline_base_word];
	return true;
}

static bool module_at(void *ctx, uint64_t word, uint64_t at)
{
	struct gopclntab *t = ctx;
	uint64_t words[MODULE_WORDS];
	if (word != t->vaddr)
		return false;
	file_pages_read(&t->pages, at, words, sizeof words);
	return module_take(t, words);
}

/* Where pointers are written by the dynamic linker, the file may have zeros: relocations know them. */
struct module_relocated {
	struct gopclntab *t;
	uint64_t module; /* address of what may be moduledata; 0: none yet */
	uint64_t words[MODULE_WORDS];
};

static bool is_relative(const Elf64_Rela *r)
{
	return ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE ||
	       ELF64_R_TYPE(r->r_info) == R_AARCH64_RELATIVE;
}

/* Those of one object come in order of their places. */
static bool on_relocation(struct module_relocated *m, const Elf64_Rela *r)
{
	if (!is_relative(r))
		return false;
	if ((uint64_t)r->r_addend == m->t->vaddr) {
		memset(m->words, 0, sizeof m->words);
		m->module = r->r_offset;
	}
	uint64_t k = (r->r_offset - m->module) / 8;
	if (!m->module || k >= MODULE_WORDS)
		return false;
	m->words[k] = r->r_addend;
	return k == m->t->kind->inline_base_word && module_take(m->t, m->words);
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

static bool module_by_relocations(struct gopclntab *t, const struct elf_file *f)
{
	enum { AT_ONCE = 512 };
	struct module_relocated m = { .t = t };
	uint64_t addr, size, at;
	if (!find_relocations(f, &addr, &size) || !elf_layout_offset(t->layout, addr, &at))
		return false;
	while (size >= sizeof(Elf64_Rela)) {
		Elf64_Rela r[AT_ONCE];
		uint64_t want = size < sizeof r ? size : sizeof r;
		size_t n = search_read(t, at, r, want) / sizeof *r;
		for (size_t i = 0; i < n; i++)
			if (on_relocation(&m, &r[i]))
				return true;
		if (n == 0)
			break;
		at += n * sizeof *r;
		size -= n * sizeof *r;
	}
	return false;
}

/* It lies in the data, which comes last. */
bool go_module_read(struct gopclntab *t, const struct elf_file *f)
{
	for (size_t i = t->layout->segments.n; i-- > 0;) {
		const struct elf_segment *s = &t->layout->segments.v[i];
		if (!s->executable && search_words(t, s->offset, s->size, module_at, t))
			return true;
	}
	return module_by_relocations(t, f);
}

/* --- the table --------------------------------------------------------------------------------- */

/* Takes the table at an offset if there is one. */
static bool table_at(struct gopclntab *t, const struct elf_file *f, uint64_t offset, uint64_t end)
{
	t->base = offset;
	t->end = end < t->pages.file.size ? end : t->pages.file.size;
	if (!elf_layout_vaddr(t->layout, offset, &t->vaddr) || !go_header_read(t))
		return false;
	if (t->kind->entry_size == 4)
		go_module_read(t, f);
	return go_header_proven(t);
}

struct table_search {
	struct gopclntab *t;
	const struct elf_file *f;
	uint64_t end;
	uint32_t tried;
};

/* The first eight bytes: magic, 0, 0, quantum of pcs, size of pointers. A file full of them is none of Go's. */
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

/* Linkers may put the section's contents into another one, but never drop .go.buildinfo (Go 1.13). */
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
