/* Computes the TLS offset for the main program and libraries. */
#include "symbol/elf/elf_tls.h"

#include "base/buf.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/elf_symbols.h"

#include <errno.h>
#include <string.h>

enum {
	SIZE_OF_SYM = 24,
	SIZE_OF_RELA = 24,
	PER_READ = 512,
	MAX_NAME = 64,
	MAX_RELOCATIONS = 4 << 20,
	MAX_SECTIONS = 4096, /* searched for relocations */
};

/* --- records of a table, in pieces ------------------------------------------------------------ */

/* Calls fn for every record of 24 bytes until it returns false. */
typedef bool record_fn(void *ctx, struct cur record);

static void each_record(const struct elf_file *f, uint64_t offset, uint64_t n, record_fn *fn,
			void *ctx)
{
	uint8_t raw[PER_READ * SIZE_OF_SYM];

	for (uint64_t i = 0; i < n;) {
		uint64_t max = n - i < PER_READ ? n - i : PER_READ;
		size_t got =
			elf_file_read_some(f, offset + i * SIZE_OF_SYM, raw, max * SIZE_OF_SYM) /
			SIZE_OF_SYM;

		for (size_t k = 0; k < got; k++)
			if (!fn(ctx, cur_of(raw + k * SIZE_OF_SYM, SIZE_OF_SYM)))
				return;
		if (got < max)
			return;
		i += got;
	}
}

/* --- the symbol ------------------------------------------------------------------------------- */

struct search {
	const struct elf_file *f;
	const struct elf_table *table;
	const char *name;
	struct elf_tls *out;
	uint64_t index; /* of the current symbol */
	bool found;
};

static bool is_named(const struct search *s, uint32_t name)
{
	char text[MAX_NAME];
	size_t len = strlen(s->name) + 1;

	return len <= sizeof text && name < s->table->names_size &&
	       elf_file_read(s->f, s->table->names_offset + name, text, len) &&
	       memcmp(text, s->name, len) == 0;
}

static bool take_symbol(void *ctx, struct cur c)
{
	struct search *s = ctx;
	uint32_t name = cur_u32(&c);
	uint8_t info = cur_u8(&c);

	cur_u8(&c);
	uint16_t section = cur_u16(&c);
	uint64_t value = cur_u64(&c), size = cur_u64(&c);
	if (ELF64_ST_TYPE(info) == STT_TLS && section != SHN_UNDEF && size == sizeof(void *) &&
	    is_named(s, name)) {
		s->out->value = value;
		s->found = true;
		return false;
	}
	s->index++;
	return s->index < ELF_MAX_SYMBOLS;
}

static bool find_symbol(struct search *s)
{
	struct elf_layout layout = { 0 };
	struct elf_table t;
	bool there = elf_table_of_section(s->f, SHT_DYNSYM, &t);

	if (!there && elf_layout_read(&layout, s->f, NULL) == 0)
		there = elf_table_of_dynamic(s->f, &layout, &t);
	elf_layout_done(&layout);
	there = there || elf_table_of_section(s->f, SHT_SYMTAB, &t);
	s->table = &t;
	if (there)
		each_record(s->f, t.offset, t.count, take_symbol, s);
	s->table = NULL;
	return s->found;
}

/* --- the words -------------------------------------------------------------------------------- */

/* If the linker made the symbol local, the relocation has its value instead of its number; for
 * general-dynamic words the value is in the second word. */
static bool is_module_of(const struct search *s, uint64_t at, uint32_t symbol)
{
	struct elf_layout layout = { 0 };
	uint64_t offset, value = 0;

	if (symbol)
		return symbol == s->index;
	if (elf_layout_read(&layout, s->f, NULL) == 0 &&
	    elf_layout_offset(&layout, at + 8, &offset) &&
	    !elf_file_read(s->f, offset, &value, sizeof value))
		value = UINT64_MAX;
	elf_layout_done(&layout);
	return value == s->out->value;
}

static bool take_relocation(void *ctx, struct cur c)
{
	struct search *s = ctx;
	uint64_t at = cur_u64(&c), info = cur_u64(&c), addend = cur_u64(&c);
	uint32_t type = GELF_R_TYPE(info), symbol = GELF_R_SYM(info);
	bool is_ours = symbol ? symbol == s->index && !addend : addend == s->out->value;
	enum elf_tls_words words = ELF_TLS_NO_WORDS;

	if (type == R_X86_64_TLSDESC && is_ours)
		words = ELF_TLS_DESCRIPTOR;
	else if (type == R_X86_64_TPOFF64 && is_ours)
		words = ELF_TLS_OFFSET;
	else if (type == R_X86_64_DTPMOD64 && is_module_of(s, at, symbol))
		words = ELF_TLS_MODULE;
	if (words == ELF_TLS_NO_WORDS)
		return true;
	s->out->words = words;
	s->out->words_at = at;
	return false;
}

static void find_words(struct search *s)
{
	GElf_Shdr section;
	size_t n = 0;

	if (elf_getshdrnum(s->f->elf, &n) < 0)
		return;
	for (size_t i = 1; i < n && i < MAX_SECTIONS && !s->out->words; i++) {
		if (!elf_file_section_at(s->f, i, &section) || section.sh_type != SHT_RELA ||
		    !(section.sh_flags & SHF_ALLOC))
			continue;
		uint64_t count = section.sh_size / SIZE_OF_RELA;
		each_record(s->f, section.sh_offset,
			    count < MAX_RELOCATIONS ? count : MAX_RELOCATIONS, take_relocation, s);
	}
}

/* --- the segments ----------------------------------------------------------------------------- */

static bool read_segments(const struct elf_file *f, struct elf_tls *out)
{
	GElf_Phdr p;
	size_t n = 0;
	bool has_tls = false, has_code = false;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f->elf, i, &p))
			continue;
		if (p.p_type == PT_TLS) {
			uint64_t align = p.p_align ? p.p_align : 1;
			/* The end is at the thread pointer, moved down to align the start. */
			uint64_t size = p.p_memsz + ((-p.p_vaddr - p.p_memsz) & (align - 1));

			out->program_offset = (int64_t)(out->value - size);
			has_tls = out->value <= p.p_memsz;
		} else if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && !has_code) {
			out->code_skew = p.p_vaddr - p.p_offset;
			has_code = true;
		}
	}
	return has_tls && has_code;
}

int elf_tls_find(const struct elf_file *f, const char *name, struct elf_tls *out)
{
	struct elf_tls tls = { 0 };
	struct search s = { .f = f, .name = name, .out = &tls };

	if (f->header.e_machine != EM_X86_64 || f->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->header.e_ident[EI_DATA] != ELFDATA2LSB || !find_symbol(&s) ||
	    !read_segments(f, &tls))
		return -ENODATA;
	find_words(&s);
	*out = tls;
	return 0;
}

bool elf_is_musl(const struct elf_file *f)
{
	char path[256];
	GElf_Phdr p;
	size_t n = 0;

	for (size_t i = 0; elf_getphdrnum(f->elf, &n) == 0 && i < n; i++) {
		if (!gelf_getphdr(f->elf, i, &p) || p.p_type != PT_INTERP)
			continue;
		size_t got = elf_file_read_some(
			f, p.p_offset, path, p.p_filesz < sizeof path ? p.p_filesz : sizeof path);
		return memmem(path, got, "/ld-musl-", 9) != NULL;
	}
	return false;
}
