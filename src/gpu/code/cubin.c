/* Reads the ELF sections: functions, lines and inlined calls. */
#include "gpu/code/cubin.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "gpu/code/cubin_lines.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/name_cache.h"

#include <errno.h>
#include <string.h>

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
enum {
	STO_CUDA_ENTRY = 0x10, /* of st_other: can be launched */
	ABI_WITH_SM_IN_SECOND_BYTE = 8,
	TEXT_GAP = 256, /* between texts, so that the end of one is not the start of the next */
	MAX_SYMBOLS = 4 << 20,
};

struct text {
	struct cubin_text shown; /* first, for cubin_texts */
	uint64_t base, offset;   /* in our address space, in the file */
	uint32_t section;
	uint32_t first, n; /* its functions */
};

struct cubin {
	struct elf_file file;
	struct elf_layout layout; /* only the code: the texts in our address space */
	VEC(struct text) texts;
	struct cubin_text *shown;
	uint32_t *text_of; /* by section; CUBIN_MAX_TEXTS: not a text */
	size_t n_sections;
	VEC(struct cubin_function) functions;
	GElf_Shdr symbols, names;
	struct cubin_lines lines;
	struct name_cache strings; /* names of inlined functions, by address of the linkage name */
	uint64_t skipped;
};

/* --- names ------------------------------------------------------------------------------------ */

/* Copies the linkage name and demangles it. Returns false if there are too many names. */
static bool make_name(struct cubin *c, const char *linkage, struct cached_name *out)
{
	const char *copy = name_cache_copy(&c->strings, linkage, strlen(linkage));
	if (!copy)
		return false;
	*out = name_cache_make(&c->strings, copy, "");
	return true;
}

/* In "$_Z5saxpyPfi$_Z5heavyf" and "$__internal_0_$__cuda_sm20_rem_u16" the function is after the
 * second $. */
static const char *device_function(const char *symbol)
{
	const char *second = symbol[0] == '$' ? strchr(symbol + 1, '$') : NULL;
	return second && second[1] ? second + 1 : symbol;
}

/* --- texts ------------------------------------------------------------------------------------ */

static const char text_prefix[] = ".text.";

static bool read_text(struct cubin *c, uint32_t section, char *name)
{
	GElf_Shdr s;
	const uint64_t executable = SHF_ALLOC | SHF_EXECINSTR;
	if (!elf_file_section_at(&c->file, section, &s) || s.sh_type != SHT_PROGBITS ||
	    (s.sh_flags & executable) != executable || s.sh_size == 0 ||
	    s.sh_offset > c->file.size || s.sh_size > c->file.size - s.sh_offset)
		return false;
	struct cached_name names;
	if (!elf_file_section_name(&c->file, &s, name, CUBIN_MAX_NAME) ||
	    strncmp(name, text_prefix, sizeof text_prefix - 1) != 0 ||
	    c->texts.n >= CUBIN_MAX_TEXTS - 1 ||
	    !make_name(c, name + sizeof text_prefix - 1, &names)) {
		c->skipped++;
		return false;
	}
	const struct text *last = c->texts.n ? &c->texts.v[c->texts.n - 1] : NULL;
	struct text t = { .section = section, .offset = s.sh_offset, .shown.size = s.sh_size };
	t.base = (last ? last->base + last->shown.size : 0) + TEXT_GAP;
	t.shown.linkage = names.linkage;
	t.shown.name = names.name;
	vec_push(&c->layout.code, (struct elf_code){ t.base, t.base + t.shown.size });
	c->text_of[section] = c->texts.n;
	vec_push(&c->texts, t);
	return true;
}

static int read_texts(struct cubin *c, struct err *err)
{
	if (elf_getshdrnum(c->file.elf, &c->n_sections) < 0 || c->n_sections == 0)
		return err_set(err, ENODATA, "no sections");
	char *name = xmalloc(CUBIN_MAX_NAME);
	c->text_of = xreallocarray(NULL, c->n_sections, sizeof *c->text_of);
	for (uint32_t i = 0; i < c->n_sections; i++) {
		c->text_of[i] = CUBIN_MAX_TEXTS;
		if (i)
			read_text(c, i, name);
	}
	free(name);
	return c->texts.n ? 0 : err_set(err, ENODATA, "no device code in it");
}

static struct text *text_of_section(const struct cubin *c, uint32_t section)
{
	bool known = section < c->n_sections && c->text_of[section] < c->texts.n;
	return known ? &c->texts.v[c->text_of[section]] : NULL;
}

/* --- symbols ---------------------------------------------------------------------------------- */

static bool symbol_at(const struct cubin *c, uint64_t index, Elf64_Sym *out)
{
	return index < c->symbols.sh_size / sizeof *out &&
	       elf_file_read(&c->file, c->symbols.sh_offset + index * sizeof *out, out,
			     sizeof *out);
}

static bool symbol_name(const struct cubin *c, const Elf64_Sym *sym, char *name)
{
	if (sym->st_name >= c->names.sh_size || c->names.sh_offset > c->file.size)
		return false;
	size_t got = elf_file_read_some(&c->file, c->names.sh_offset + sym->st_name, name,
					CUBIN_MAX_NAME);
	return got && *name && memchr(name, '\0', got);
}

static bool symbol_address(void *ctx, uint32_t index, uint64_t *addr)
{
	const struct cubin *c = ctx;
	Elf64_Sym sym;
	const struct text *t = symbol_at(c, index, &sym) ? text_of_section(c, sym.st_shndx) : NULL;
	if (!t)
		return false;
	*addr = t->base + sym.st_value;
	return true;
}

static void add_function(struct cubin *c, const Elf64_Sym *sym, char *name)
{
	struct text *t = text_of_section(c, sym->st_shndx);
	if (!t || sym->st_size == 0)
		return;
	if (sym->st_value > t->shown.size || sym->st_size > t->shown.size - sym->st_value ||
	    c->functions.n >= CUBIN_MAX_FUNCTIONS || !symbol_name(c, sym, name)) {
		c->skipped++;
		return;
	}
	struct cached_name names = { t->shown.name, t->shown.linkage };
	bool own = strcmp(name, t->shown.linkage) == 0;
	if (!own && !make_name(c, device_function(name), &names)) {
		c->skipped++;
		return;
	}
	struct cubin_function f = { .start = sym->st_value, .size = sym->st_size };
	f.text = t - c->texts.v;
	f.linkage = names.linkage;
	f.name = names.name;
	t->shown.kernel |= own && (sym->st_other & STO_CUDA_ENTRY);
	vec_push(&c->functions, f);
}

/* If two start at the same place, the larger one contains the other. */
static int function_compare(const void *a, const void *b)
{
	const struct cubin_function *x = a, *y = b;
	if (x->text != y->text)
		return x->text < y->text ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return strcmp(x->linkage, y->linkage);
}

static void index_functions(struct cubin *c)
{
	if (c->functions.n)
		qsort(c->functions.v, c->functions.n, sizeof *c->functions.v, function_compare);
	for (uint32_t i = 0; i < c->functions.n; i++) {
		struct text *t = &c->texts.v[c->functions.v[i].text];
		if (t->n++ == 0)
			t->first = i;
	}
	c->shown = xcalloc(c->texts.n, sizeof *c->shown);
	for (uint32_t i = 0; i < c->texts.n; i++)
		c->shown[i] = c->texts.v[i].shown;
}

static void read_functions(struct cubin *c)
{
	if (elf_file_section(&c->file, NULL, SHT_SYMTAB, &c->symbols) &&
	    elf_file_section_at(&c->file, c->symbols.sh_link, &c->names)) {
		Elf64_Sym sym;
		char *name = xmalloc(CUBIN_MAX_NAME);
		uint64_t i = 0;
		for (; i < MAX_SYMBOLS && symbol_at(c, i, &sym); i++)
			if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC)
				add_function(c, &sym, name);
		c->skipped += i < c->symbols.sh_size / sizeof sym;
		free(name);
	}
	index_functions(c);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int cubin_read(struct cubin *c, struct err *err)
{
	const GElf_Ehdr *h = &c->file.header;
	if (h->e_machine != EM_CUDA || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ENOEXEC, "not a file of NVIDIA device code");
	if (c->file.size > CUBIN_MAX_BYTES)
		return err_set(err, E2BIG, "device code of more than %d MiB",
			       CUBIN_MAX_BYTES >> 20);
	int rc = read_texts(c, err);
	if (rc < 0)
		return rc;
	read_functions(c);
	cubin_lines_read(&c->lines, &c->file, &c->layout, symbol_address, c);
	return 0;
}

static int cubin_finish(struct cubin *c, int rc, struct cubin **out, struct err *err)
{
	if (rc == 0)
		rc = cubin_read(c, err);
	if (rc < 0)
		cubin_close(c);
	else
		*out = c;
	return rc;
}

int cubin_open(int fd, struct cubin **out, struct err *err)
{
	struct cubin *c = xcalloc(1, sizeof *c);
	return cubin_finish(c, elf_file_open(&c->file, fd, err), out, err);
}

int cubin_open_image(const void *image, size_t size, struct cubin **out, struct err *err)
{
	struct cubin *c = xcalloc(1, sizeof *c);
	return cubin_finish(c, elf_file_open_image(&c->file, image, size, err), out, err);
}

void cubin_close(struct cubin *c)
{
	if (!c)
		return;
	cubin_lines_done(&c->lines);
	elf_layout_done(&c->layout);
	elf_file_close(&c->file);
	vec_done(&c->texts);
	vec_done(&c->functions);
	free(c->shown);
	free(c->text_of);
	name_cache_done(&c->strings);
	free(c);
}

unsigned cubin_sm(const struct cubin *c)
{
	bool second = c->file.header.e_ident[EI_ABIVERSION] >= ABI_WITH_SM_IN_SECOND_BYTE;
	return c->file.header.e_flags >> (second ? 8 : 0) & 0xff;
}

uint64_t cubin_skipped(const struct cubin *c)
{
	return c->skipped + c->lines.skipped;
}

const struct cubin_text *cubin_texts(const struct cubin *c, uint32_t *n)
{
	*n = c->texts.n;
	return c->shown;
}

const struct cubin_function *cubin_functions(const struct cubin *c, uint32_t *n)
{
	*n = c->functions.n;
	return c->functions.v;
}

bool cubin_find(const struct cubin *c, const char *linkage, uint32_t *text)
{
	for (uint32_t i = 0; i < c->texts.n; i++)
		if (strcmp(c->shown[i].linkage, linkage) == 0) {
			*text = i;
			return true;
		}
	return false;
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* Returns the last function that starts at or before the offset and covers it: the innermost. The
 * compiler nests functions at most once; anything else is skipped. */
static const struct cubin_function *function_at(const struct cubin *c, const struct text *t,
						uint64_t offset)
{
	size_t at = search_first(i, t->first, t->first + t->n, c->functions.v[i].start > offset);
	for (uint32_t tries = 0; at > t->first && tries < CUBIN_MAX_DEPTH; tries++) {
		const struct cubin_function *f = &c->functions.v[--at];
		if (offset - f->start < f->size)
			return f;
	}
	return NULL;
}

static void name_inlined(struct cubin *c, struct cubin_frame *f, const char *linkage)
{
	f->inlined = true;
	if (!linkage)
		return;
	uint64_t key = (uintptr_t)linkage;
	const struct cached_name *known = name_cache_get(&c->strings, key);
	f->linkage = linkage;
	f->name = known ? known->name : name_cache_add(&c->strings, key, linkage, "").name;
}

/* Finds the lines of an address, innermost first. Returns at least one frame; the last has no name
 * yet. */
static uint32_t frames_of_lines(struct cubin *c, uint64_t addr, struct cubin_frame *out,
				uint32_t max)
{
	struct cubin_line_row at;
	uint32_t n = 0;
	out[0] = (struct cubin_frame){ 0 };
	if (!cubin_lines_find(&c->lines, addr, &at))
		return 1;
	for (bool more = true; more && n < max; n++) {
		struct cubin_place p;
		more = cubin_lines_step(&c->lines, &at, &p);
		out[n] = (struct cubin_frame){ .dir = p.dir, .file = p.file, .line = p.line };
		if (more)
			name_inlined(c, &out[n], p.name);
	}
	return n;
}

uint32_t cubin_lookup(struct cubin *c, uint32_t text, uint64_t offset, struct cubin_frame *out,
		      uint32_t max)
{
	if (text >= c->texts.n || offset >= c->shown[text].size || max == 0)
		return 0;
	const struct text *t = &c->texts.v[text];
	const struct cubin_function *f = function_at(c, t, offset);
	bool called = f && strcmp(f->linkage, c->shown[text].linkage) != 0;
	max = max < CUBIN_MAX_DEPTH ? max : CUBIN_MAX_DEPTH;
	uint32_t n = frames_of_lines(c, t->base + offset, out, max);
	if (!out[n - 1].inlined) {
		out[n - 1].linkage = f ? f->linkage : c->shown[text].linkage;
		out[n - 1].name = f ? f->name : c->shown[text].name;
	}
	if (called && n < max)
		out[n++] = (struct cubin_frame){ .linkage = c->shown[text].linkage,
						 .name = c->shown[text].name };
	return n;
}

bool cubin_instruction(const struct cubin *c, uint32_t text, uint64_t offset, uint64_t word[2])
{
	if (text >= c->texts.n || offset >= c->shown[text].size)
		return false;
	uint64_t at = c->texts.v[text].offset + offset / CUBIN_INSTRUCTION * CUBIN_INSTRUCTION;
	uint64_t read[2];
	if (!elf_file_read(&c->file, at, read, sizeof read))
		return false;
	word[0] = le64toh(read[0]);
	word[1] = le64toh(read[1]);
	return true;
}
