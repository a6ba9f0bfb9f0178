/* Looks up a symbol by DT_GNU_HASH or DT_HASH. */
#include "symbol/elf/elf_find.h"

#include "base/buf.h"
#include "base/mem.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

enum {
	SIZE_OF_SYM = 24,
	SYMBOLS_PER_READ = 512,
	MAX_PLACES = 16,     /* of a name in a string table: others may end with it, too */
	MAX_CHAIN = 1 << 16, /* symbols in one bucket of a hash table */
};

/* Offsets of the name in the string table. */
struct places {
	uint64_t at[MAX_PLACES];
	size_t n;
};

static bool find_places(const struct elf_file *f, const struct elf_table *t, const char *name,
			struct places *out)
{
	size_t len = strlen(name) + 1;

	if (t->names_size > ELF_FIND_MAX_NAMES)
		return false;
	char *names = xmalloc(t->names_size ? t->names_size : 1);
	size_t got = elf_file_read_some(f, t->names_offset, names, t->names_size);
	const char *p = names, *end = names + got;
	while (out->n < MAX_PLACES && (p = memmem(p, end - p, name, len)))
		out->at[out->n++] = p++ - names;
	free(names);
	return out->n > 0;
}

static bool is_at(const struct places *places, uint32_t name)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->at[i] == name)
			return true;
	return false;
}

static void take_symbol(const uint8_t *raw, GElf_Sym *out)
{
	struct cur c = cur_of(raw, SIZE_OF_SYM);

	out->st_name = cur_u32(&c);
	out->st_info = cur_u8(&c);
	out->st_other = cur_u8(&c);
	out->st_shndx = cur_u16(&c);
	out->st_value = cur_u64(&c);
	out->st_size = cur_u64(&c);
}

static bool find_by_reading(const struct elf_file *f, const struct elf_table *t, const char *name,
			    GElf_Sym *out)
{
	uint8_t raw[SYMBOLS_PER_READ * SIZE_OF_SYM];
	struct places places = { .n = 0 };
	GElf_Sym sym;

	if (t->count > ELF_MAX_SYMBOLS || !find_places(f, t, name, &places))
		return false;
	for (uint64_t i = 0; i < t->count;) {
		uint64_t max = t->count - i < SYMBOLS_PER_READ ? t->count - i : SYMBOLS_PER_READ;
		size_t got =
			elf_file_read_some(f, t->offset + i * SIZE_OF_SYM, raw, max * SIZE_OF_SYM) /
			SIZE_OF_SYM;

		for (size_t k = 0; k < got; k++) {
			take_symbol(raw + k * SIZE_OF_SYM, &sym);
			if (sym.st_shndx == SHN_UNDEF || !is_at(&places, sym.st_name))
				continue;
			*out = sym;
			return true;
		}
		if (got < max)
			return false;
		i += got;
	}
	return false;
}

/* --- DT_GNU_HASH ------------------------------------------------------------------------------ */

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		h = h * 33 + *p;
	return h;
}

static bool is_symbol(const struct elf_file *f, const struct elf_dynamic_tables *d, uint64_t index,
		      const char *name, GElf_Sym *out)
{
	uint8_t raw[SIZE_OF_SYM];
	char text[ELF_FIND_MAX_NAME];
	size_t len = strlen(name) + 1;
	GElf_Sym sym;

	if (len > sizeof text ||
	    !elf_file_read(f, d->symbols + index * SIZE_OF_SYM, raw, sizeof raw))
		return false;
	take_symbol(raw, &sym);
	if (sym.st_shndx == SHN_UNDEF || sym.st_name >= d->names_size ||
	    !elf_file_read(f, d->names + sym.st_name, text, len) || memcmp(text, name, len) != 0)
		return false;
	*out = sym;
	return true;
}

/* Layout: number of buckets, first hashed symbol, words of the bloom filter, its shift; the filter;
 * buckets; a hash for each symbol, odd at the end of a chain. */
static bool find_by_hash(const struct elf_file *f, const struct elf_dynamic_tables *d,
			 const char *name, GElf_Sym *out)
{
	uint32_t head[4], index, hash = gnu_hash(name), word = 0;
	uint64_t bloom;

	if (!elf_file_read(f, d->gnu_hash, head, sizeof head) || !head[0] || !head[2])
		return false;
	uint64_t filter = d->gnu_hash + sizeof head;
	uint64_t buckets = filter + (uint64_t)head[2] * sizeof bloom;
	uint64_t chains = buckets + (uint64_t)head[0] * sizeof index;
	if (!elf_file_read(f, filter + hash / 64 % head[2] * sizeof bloom, &bloom, sizeof bloom))
		return false;
	if (!(bloom >> hash % 64 & 1) || !(bloom >> (hash >> (head[3] & 31)) % 64 & 1))
		return false;
	if (!elf_file_read(f, buckets + hash % head[0] * sizeof index, &index, sizeof index) ||
	    index < head[1])
		return false;
	for (int i = 0; i < MAX_CHAIN && !(word & 1); i++, index++) {
		uint64_t at = chains + (uint64_t)(index - head[1]) * sizeof word;

		if (!elf_file_read(f, at, &word, sizeof word))
			return false;
		if ((word | 1) == (hash | 1) && is_symbol(f, d, index, name, out))
			return true;
	}
	return false;
}

static bool is_for_us(const struct elf_file *f)
{
	return f->header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       f->header.e_ident[EI_DATA] == ELFDATA2LSB;
}

bool elf_find_dynamic(const struct elf_file *f, const char *name, GElf_Sym *out)
{
	struct elf_dynamic_tables d;
	struct elf_layout layout = { 0 };
	struct elf_table t;
	bool found = false;

	if (!is_for_us(f) || elf_layout_read(&layout, f, NULL) < 0)
		return false;
	if (elf_dynamic_find(f, &layout, &d) && d.gnu_hash)
		found = find_by_hash(f, &d, name, out);
	else if (elf_table_of_section(f, SHT_DYNSYM, &t) || elf_table_of_dynamic(f, &layout, &t))
		found = find_by_reading(f, &t, name, out);
	elf_layout_done(&layout);
	return found;
}

bool elf_find_static(const struct elf_file *f, const char *name, GElf_Sym *out)
{
	struct elf_table t;

	return is_for_us(f) && elf_table_of_section(f, SHT_SYMTAB, &t) &&
	       find_by_reading(f, &t, name, out);
}
