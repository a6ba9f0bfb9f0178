#include "symbol/dwarf_sections.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

enum {
	BLOCK_BITS = 14, /* 16 KiB a read */
	UNPACK_CHUNK = 64 << 10,
	/* Behind each section there is address space that reads as 0. */
	SLACK_BYTES = 4096,
	/* Deflate makes at most 1032 bytes of one. */
	ZLIB_MAX_RATIO = 1032,
	ZDEBUG_HEADER = 12, /* "ZLIB", size as 64 bits big endian */
};
#define BLOCK_BYTES (1ull << BLOCK_BITS)

static const char *const section_names[DWARF_SECTIONS] = {
	[DWARF_INFO] = "info",         [DWARF_ABBREV] = "abbrev",
	[DWARF_LINE] = "line",         [DWARF_STR] = "str",
	[DWARF_LINE_STR] = "line_str", [DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",         [DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists", [DWARF_CU_INDEX] = "cu_index",
};

/* --- finding --------------------------------------------------------------------------------------------------------- */

/* Which section a name stands for, or DWARF_SECTIONS. The index of a .dwp has no suffix. */
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
	       type == 2; /* ELFCOMPRESS_ZSTD, which older headers do not have */
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

static void section_done(struct dwarf_section *s)
{
	if (s->data)
		munmap(s->data, s->size + SLACK_BYTES);
	free(s->present);
}

void sections_done(struct dwarf_sections *s)
{
	for (unsigned id = 0; id < DWARF_SECTIONS; id++)
		section_done(&s->s[id]);
	*s = (struct dwarf_sections){ 0 };
}

/* --- unpacking ------------------------------------------------------------------------------------------------------- */

/* The packed bytes, chunk by chunk. */
struct packed {
	const struct elf_file *file;
	uint64_t at, left;
	uint8_t chunk[UNPACK_CHUNK];
};

static size_t packed_next(struct packed *p)
{
	size_t n = p->left < UNPACK_CHUNK ? p->left : UNPACK_CHUNK;
	n = elf_file_read_some(p->file, p->at, p->chunk, n);
	p->at += n;
	p->left -= n;
	return n;
}

static bool unpack_zlib(struct packed *p, uint8_t *to, uint64_t size)
{
	z_stream z = { .next_out = to, .avail_out = size };
	if (inflateInit(&z) != Z_OK)
		return false;
	int rc = Z_OK;
	while (rc == Z_OK && (z.avail_in = packed_next(p)) > 0) {
		z.next_in = p->chunk;
		while (rc == Z_OK && z.avail_in)
			rc = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END && z.avail_out == 0;
}

static bool unpack_zstd(struct packed *p, uint8_t *to, uint64_t size)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_outBuffer out = { to, size, 0 };
	ZSTD_inBuffer in = { p->chunk, 0, 0 };
	size_t rc = 1;
	while (z && rc && !ZSTD_isError(rc) && (in.size = packed_next(p)) > 0) {
		in.pos = 0;
		while (rc && !ZSTD_isError(rc) && in.pos < in.size) {
			size_t before = in.pos + out.pos;
			rc = ZSTD_decompressStream(z, &out, &in);
			if (in.pos + out.pos == before)
				rc = 0; /* full, and there is more */
		}
	}
	ZSTD_freeDStream(z);
	return out.pos == size;
}

static bool section_unpack(struct dwarf_sections *s, struct dwarf_section *sec)
{
	if (sec->size > DWARF_MAX_UNPACKED - s->unpacked_bytes)
		return false;
	struct packed *p = xmalloc(sizeof *p);
	p->file = &s->file;
	p->at = sec->offset;
	p->left = sec->file_size;
	bool ok = sec->packing == DWARF_ZLIB ? unpack_zlib(p, sec->data, sec->size)
					     : unpack_zstd(p, sec->data, sec->size);
	free(p);
	s->unpacked_bytes += sec->size;
	return ok;
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

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

/* Reads the blocks from first to last that are not there yet, neighbours at once. */
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

uint8_t *sections_copy(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
		       uint64_t len)
{
	struct dwarf_section *sec = &s->s[id];
	if (offset > sec->size || len > sec->size - offset ||
	    (sec->packing != DWARF_PLAIN && !section_begin(s, sec)))
		return NULL;
	uint8_t *to = xmalloc(len ? len : 1);
	if (sec->packing == DWARF_PLAIN) {
		size_t got = elf_file_read_some(&s->file, sec->offset + offset, to, len);
		memset(to + got, 0, len - got);
	} else {
		memcpy(to, sec->data + offset, len);
	}
	return to;
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
