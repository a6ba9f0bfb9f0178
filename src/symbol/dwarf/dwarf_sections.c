/* Reads sections of a file on demand. */
#include "symbol/dwarf/dwarf_sections.h"

#include "base/mem.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

enum {
	BLOCK_BITS = 14, /* 16 KiB per read */
	UNPACK_SLACK = 64 << 10,
	/* Address space after each section that reads as 0. */
	SLACK_BYTES = 4096,
	/* Deflate expands a byte to at most 1032 bytes. */
	ZLIB_MAX_RATIO = 1032,
	ZDEBUG_HEADER = 12, /* "ZLIB", size as 64 bits big endian */
};
#define BLOCK_BYTES (1ull << BLOCK_BITS)

static const char *const section_names[DWARF_SECTIONS] = {
	[DWARF_INFO] = "info",         [DWARF_ABBREV] = "abbrev",
	[DWARF_LINE] = "line",         [DWARF_STR] = "str",
	[DWARF_LINE_STR] = "line_str", [DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",         [DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists", [DWARF_ARANGES] = "aranges",
	[DWARF_CU_INDEX] = "cu_index",
};

/* --- finding ---------------------------------------------------------------------------------- */

/* Returns the section with this name, or DWARF_SECTIONS. The index of a .dwp has no suffix. */
static enum dwarf_section_id section_of(const char *name, bool split, bool *zdebug)
{
	*zdebug = strncmp(name, ".zdebug_", 8) == 0;
	if (!*zdebug && strncmp(name, ".debug_", 7) != 0)
		return DWARF_SECTIONS;
	name += *zdebug ? 8 : 7;
	for (unsigned id = 0; id < DWARF_SECTIONS; id++) {
		size_t len = strlen(section_names[id]);
		const char *suffix = split && id != DWARF_CU_INDEX ? ".dwo" : "";
		if (strncmp(name, section_names[id], len) == 0 && strcmp(name + len, suffix) == 0)
			return id;
	}
	return DWARF_SECTIONS;
}

/* Reads the header of a compressed section. */
static bool section_packing(struct dwarf_section *s, const struct elf_file *f, bool zdebug)
{
	union {
		Elf32_Chdr c32;
		Elf64_Chdr c64;
		uint8_t zdebug[ZDEBUG_HEADER];
	} h = { 0 };
	bool is_64 = f->header.e_ident[EI_CLASS] == ELFCLASS64;
	uint64_t header = zdebug ? ZDEBUG_HEADER : is_64 ? sizeof h.c64 : sizeof h.c32;
	uint32_t type = ELFCOMPRESS_ZLIB;
	if (s->file_size < header || !elf_file_read(f, s->offset, &h, header))
		return false;
	if (zdebug) {
		uint64_t size;
		memcpy(&size, h.zdebug + 4, sizeof size);
		s->size = __builtin_bswap64(size);
		if (memcmp(h.zdebug, "ZLIB", 4) != 0)
			return false;
	} else {
		type = is_64 ? h.c64.ch_type : h.c32.ch_type;
		s->size = is_64 ? h.c64.ch_size : h.c32.ch_size;
	}
	s->offset += header;
	s->file_size -= header;
	s->packing = type == ELFCOMPRESS_ZLIB ? DWARF_ZLIB : DWARF_ZSTD;
	return (type == ELFCOMPRESS_ZLIB && s->size / ZLIB_MAX_RATIO <= s->file_size) ||
	       type == 2; /* ELFCOMPRESS_ZSTD, missing in older headers */
}

static void section_add(struct dwarf_sections *s, const struct elf_file *f, const GElf_Shdr *shdr,
			enum dwarf_section_id id, bool zdebug)
{
	struct dwarf_section found = { .size = shdr->sh_size,
				       .offset = shdr->sh_offset,
				       .file_size = shdr->sh_size };
	if (s->s[id].size || shdr->sh_type == SHT_NOBITS || found.offset > f->size ||
	    found.file_size > f->size - found.offset || found.size > DWARF_MAX_SECTION)
		return;
	if ((zdebug || (shdr->sh_flags & SHF_COMPRESSED)) && !section_packing(&found, f, zdebug))
		return;
	s->s[id] = found;
}

bool sections_find(struct dwarf_sections *s, const struct elf_file *f, bool split)
{
	char name[32];
	size_t n;
	*s = (struct dwarf_sections){ .file = { .fd = f->fd, .image = f->image, .size = f->size } };
	if (f->header.e_ident[EI_DATA] != ELFDATA2LSB || elf_getshdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 1; i < n; i++) {
		GElf_Shdr shdr;
		bool zdebug;
		if (!elf_file_section_at(f, i, &shdr) ||
		    !elf_file_section_name(f, &shdr, name, sizeof name))
			continue;
		enum dwarf_section_id id = section_of(name, split, &zdebug);
		if (id < DWARF_SECTIONS)
			section_add(s, f, &shdr, id, zdebug);
	}
	return s->s[DWARF_INFO].size && s->s[DWARF_ABBREV].size;
}

void sections_done(struct dwarf_sections *s)
{
	for (unsigned id = 0; id < DWARF_SECTIONS; id++) {
		if (s->s[id].data)
			munmap(s->s[id].data, s->s[id].size + SLACK_BYTES);
		free(s->s[id].present);
	}
	section_cache_close(&s->cache);
	*s = (struct dwarf_sections){ 0 };
}

void sections_use_cache(struct dwarf_sections *s, const struct elf_file *f, int dir)
{
	section_cache_open(&s->cache, dir, f);
}

/* --- unpacking -------------------------------------------------------------------------------- */

/* libdeflate is faster than zlib, but needs all compressed bytes at the same time. The largest
 * section by far, .debug_info, is first, and the later sections together need more memory than
 * that. */
static bool unpack_zlib(const uint8_t *packed, size_t len, uint8_t *to, uint64_t size)
{
	struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
	bool ok = z &&
		  libdeflate_zlib_decompress(z, packed, len, to, size, NULL) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(z);
	return ok;
}

static bool section_decompress(const struct dwarf_sections *s, struct dwarf_section *sec)
{
	/* Incompressible data grow a little; further bytes are not part of the section. */
	uint64_t most = sec->size + sec->size / 8 + UNPACK_SLACK;
	size_t len = sec->file_size < most ? sec->file_size : most;
	uint8_t *packed = xmalloc(len ? len : 1);
	len = elf_file_read_some(&s->file, sec->offset, packed, len);
	bool ok = sec->packing == DWARF_ZLIB
			  ? unpack_zlib(packed, len, sec->data, sec->size)
			  : ZSTD_decompress(sec->data, sec->size, packed, len) == sec->size;
	free(packed);
	return ok;
}

static bool section_unpack(struct dwarf_sections *s, struct dwarf_section *sec)
{
	const struct section_place place = { sec->offset, sec->file_size, sec->size };

	if (sec->size > DWARF_MAX_UNPACKED - s->unpacked_bytes)
		return false;
	s->unpacked_bytes += sec->size;
	madvise(sec->data, sec->size, MADV_HUGEPAGE); /* all of it will be used: fewer faults */
	if (section_cache_load(&s->cache, &place, sec->data))
		return true;
	bool ok = section_decompress(s, sec);
	if (ok)
		section_cache_save(&s->cache, &place, s->file.fd, sec->data);
	return ok;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool section_begin(struct dwarf_sections *s, struct dwarf_section *sec)
{
	if (sec->data || sec->broken)
		return !sec->broken;
	uint64_t blocks = (sec->size >> BLOCK_BITS) + 1;
	void *space = mmap(NULL, sec->size + SLACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sec->broken = space == MAP_FAILED;
	if (sec->broken)
		return false;
	sec->data = space;
	if (sec->packing == DWARF_PLAIN)
		sec->present = xcalloc(blocks / 8 + 1, 1);
	else
		sec->broken = !section_unpack(s, sec);
	return !sec->broken;
}

static bool block_present(const struct dwarf_section *sec, uint64_t block)
{
	return sec->present[block / 8] >> block % 8 & 1;
}

/* Reads the missing blocks from first to last, adjacent ones at one time. */
static void section_fill(struct dwarf_sections *s, struct dwarf_section *sec, uint64_t first,
			 uint64_t last)
{
	for (uint64_t i = first, next; i <= last; i = next) {
		for (next = i; next <= last && !block_present(sec, next); next++)
			sec->present[next / 8] |= 1 << next % 8;
		uint64_t at = i << BLOCK_BITS, end = next << BLOCK_BITS;
		end = end < sec->size ? end : sec->size;
		if (next == i)
			next++;
		else
			s->read_bytes += elf_file_read_some(&s->file, sec->offset + at,
							    sec->data + at, end - at);
	}
}

const uint8_t *sections_load(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			     uint64_t len)
{
	struct dwarf_section *sec = &s->s[id];
	if (offset > sec->size || len > sec->size - offset || !section_begin(s, sec))
		return NULL;
	if (len && sec->present)
		section_fill(s, sec, offset >> BLOCK_BITS, (offset + len - 1) >> BLOCK_BITS);
	return sec->data + offset;
}

const uint8_t *sections_keep(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			     uint64_t len, uint8_t **copy)
{
	struct dwarf_section *sec = &s->s[id];
	*copy = NULL;
	if (sec->packing != DWARF_PLAIN)
		return sections_load(s, id, offset, len);
	if (offset > sec->size || len > sec->size - offset)
		return NULL;
	*copy = xmalloc(len ? len : 1);
	size_t got = elf_file_read_some(&s->file, sec->offset + offset, *copy, len);
	memset(*copy + got, 0, len - got);
	return *copy;
}

size_t sections_copy(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset, void *to,
		     size_t max)
{
	const struct dwarf_section *sec = &s->s[id];
	uint64_t left = offset < sec->size ? sec->size - offset : 0;
	size_t len = left < max ? left : max;
	if (sec->packing == DWARF_PLAIN) {
		size_t got = elf_file_read_some(&s->file, sec->offset + offset, to, len);
		memset((char *)to + got, 0, len - got);
		return len;
	}
	const uint8_t *from = len ? sections_load(s, id, offset, len) : NULL;
	if (from)
		memcpy(to, from, len);
	return from ? len : 0;
}

struct cur sections_cur(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			uint64_t max)
{
	uint64_t size = s->s[id].size, left = offset < size ? size - offset : 0;
	uint64_t len = left < max ? left : max;
	const uint8_t *p = len ? sections_load(s, id, offset, len) : NULL;
	struct cur c = cur_of(p, len);
	if (!p)
		cur_fail(&c);
	return c;
}

const char *sections_string(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			    size_t *len)
{
	for (uint64_t max = 256;; max *= 4) {
		max = max < DWARF_MAX_STRING ? max : DWARF_MAX_STRING;
		struct cur c = sections_cur(s, id, offset, max);
		if (c.bad)
			return NULL;
		*len = strnlen((const char *)c.p, cur_left(&c));
		if (*len < max || max == DWARF_MAX_STRING)
			return (const char *)c.p;
	}
}

uint8_t *sections_own(struct dwarf_sections *s, enum dwarf_section_id id)
{
	struct dwarf_section *sec = &s->s[id];
	if (!sec->size || sec->size > DWARF_MAX_UNPACKED || !sections_load(s, id, 0, sec->size))
		return NULL;
	free(sec->present);
	sec->present = NULL;
	sec->packing = sec->packing == DWARF_PLAIN ? DWARF_OWNED : sec->packing;
	return sec->data;
}

void sections_trim(struct dwarf_sections *s)
{
	if (s->read_bytes <= DWARF_KEEP_BYTES)
		return;
	for (unsigned id = 0; id < DWARF_SECTIONS; id++) {
		struct dwarf_section *sec = &s->s[id];
		if (!sec->present)
			continue;
		madvise(sec->data, sec->size, MADV_DONTNEED);
		memset(sec->present, 0, ((sec->size >> BLOCK_BITS) + 1) / 8 + 1);
	}
	s->read_bytes = 0;
}
