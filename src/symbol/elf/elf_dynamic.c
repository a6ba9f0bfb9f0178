/* Finds tables through the dynamic section, in files without section headers. */
#include "symbol/elf/elf_symbols.h"

#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <stddef.h>
#include <stdint.h>

/* Finds the dynamic symbol table as the loader does, for files without section headers: PT_DYNAMIC
 * has the start of symbols and names; only the hash table gives the number of symbols. */

enum { DYNAMIC_MAX_BYTES = 64 << 10 }; /* libraries have some 30 entries of 16 bytes */

struct dynamic {
	uint64_t symbols, names, names_size, hash, gnu_hash; /* addresses, 0 = absent */
};

static bool dynamic_read(const struct elf_file *f, struct dynamic *d)
{
	GElf_Phdr p;
	size_t n, i;
	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, i, &p) && p.p_type == PT_DYNAMIC)
			break;
	if (i == n || p.p_filesz > DYNAMIC_MAX_BYTES || p.p_offset > INT64_MAX)
		return false;
	Elf_Data *data = elf_getdata_rawchunk(f->elf, p.p_offset, p.p_filesz, ELF_T_DYN);
	GElf_Dyn dyn;
	for (int at = 0; data && gelf_getdyn(data, at, &dyn) && dyn.d_tag != DT_NULL; at++) {
		uint64_t value = dyn.d_un.d_val;
		switch (dyn.d_tag) {
		case DT_SYMTAB:
			d->symbols = value;
			break;
		case DT_STRTAB:
			d->names = value;
			break;
		case DT_STRSZ:
			d->names_size = value;
			break;
		case DT_HASH:
			d->hash = value;
			break;
		case DT_GNU_HASH:
			d->gnu_hash = value;
			break;
		}
	}
	return d->symbols && d->names && d->names_size;
}

/* Reads n 32-bit words at offset and converts them to this machine's byte order. */
static bool read_words(const struct elf_file *f, uint64_t offset, size_t n, uint32_t *words)
{
	if (!elf_file_read(f, offset, words, n * sizeof *words))
		return false;
	Elf_Data data = { .d_buf = words,
			  .d_type = ELF_T_WORD,
			  .d_version = EV_CURRENT,
			  .d_size = n * sizeof *words };
	return gelf_xlatetom(f->elf, &data, &data, f->header.e_ident[EI_DATA]);
}

/* DT_HASH: u32 buckets, u32 chains, …; there is one chain entry per symbol. */
static uint64_t count_by_hash(const struct elf_file *f, uint64_t offset)
{
	uint32_t head[2];
	return read_words(f, offset, 2, head) ? head[1] : 0;
}

/* DT_GNU_HASH: u32 buckets, first hashed symbol, bloom words, shift; bloom filter; buckets, each
 * the first symbol of its chain; one u32 per hashed symbol, odd at the end of a chain. The last
 * symbol is the end of the chain that starts last. */
static uint64_t count_by_gnu_hash(const struct elf_file *f, uint64_t offset)
{
	uint32_t head[4], bucket, word = 0;
	if (!read_words(f, offset, 4, head) || head[0] > ELF_MAX_SYMBOLS)
		return 0;
	uint64_t bloom_word = gelf_getclass(f->elf) == ELFCLASS64 ? 8 : 4;
	uint64_t buckets = offset + sizeof head + head[2] * bloom_word;
	uint64_t chains = buckets + head[0] * sizeof bucket;
	uint64_t last = 0;
	for (uint32_t i = 0; i < head[0]; i++) {
		if (!read_words(f, buckets + i * sizeof bucket, 1, &bucket))
			return 0;
		last = bucket > last ? bucket : last;
	}
	if (last < head[1])
		return head[1]; /* nothing is hashed: only imports */
	while (last < ELF_MAX_SYMBOLS && !(word & 1)) {
		if (!read_words(f, chains + (last - head[1]) * sizeof word, 1, &word))
			return 0;
		last++;
	}
	return last;
}

bool elf_table_of_dynamic(const struct elf_file *f, const struct elf_layout *layout,
			  struct elf_table *t)
{
	struct dynamic d = { 0 };
	struct elf_table found = { 0 };
	uint64_t hash;
	if (!dynamic_read(f, &d) || !elf_layout_offset(layout, d.symbols, &found.offset) ||
	    !elf_layout_offset(layout, d.names, &found.names_offset))
		return false;
	found.names_size = d.names_size;
	if (d.hash && elf_layout_offset(layout, d.hash, &hash))
		found.count = count_by_hash(f, hash);
	else if (d.gnu_hash && elf_layout_offset(layout, d.gnu_hash, &hash))
		found.count = count_by_gnu_hash(f, hash);
	if (found.count == 0)
		return false;
	*t = found;
	return true;
}

bool elf_dynamic_find(const struct elf_file *f, const struct elf_layout *layout,
		      struct elf_dynamic_tables *out)
{
	struct dynamic d = { 0 };
	struct elf_dynamic_tables found = { 0 };
	if (!dynamic_read(f, &d) || !elf_layout_offset(layout, d.symbols, &found.symbols) ||
	    !elf_layout_offset(layout, d.names, &found.names))
		return false;
	found.names_size = d.names_size;
	if (d.gnu_hash && !elf_layout_offset(layout, d.gnu_hash, &found.gnu_hash))
		return false;
	*out = found;
	return true;
}
