/* Finds the sections with call frame information. */
#include "unwind/cfi.h"

#include "base/buf.h"
#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { COMPRESSED_BY_ZSTD = 2 }; /* ELFCOMPRESS_ZSTD, missing in older elf.h */

/* Copies [offset, offset + size) of the file. */
static int copy_bytes(const struct elf_file *f, uint64_t offset, uint64_t size, struct buf *data,
		      struct err *err)
{
	if (size > CFI_MAX_SECTION)
		return err_set(err, E2BIG, "%" PRIu64 " bytes of call frame information", size);
	buf_clear(data);
	buf_reserve(data, size);
	if (size && !elf_file_read(f, offset, data->data, size))
		return err_set(err, ENOEXEC, "the file ends inside its call frame information");
	data->len = size;
	return 0;
}

static bool find_segment(const struct elf_file *f, uint32_t type, GElf_Phdr *out)
{
	size_t n;
	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, i, out) && out->p_type == type)
			return true;
	return false;
}

/* .eh_frame_hdr: version 1, three encodings, then the address of .eh_frame, which all linkers write
 * relative to itself in 4 bytes. */
static bool header_points_to(const struct elf_file *f, const GElf_Phdr *header, uint64_t *addr)
{
	enum { VERSION = 1, PCREL_SDATA4 = 0x1b, POINTER_AT = 4 };
	uint8_t bytes[8];
	if (!elf_file_read(f, header->p_offset, bytes, sizeof bytes))
		return false;
	struct cur c = cur_of(bytes + POINTER_AT, 4);
	if (bytes[0] != VERSION || bytes[1] != PCREL_SDATA4)
		return false;
	*addr = header->p_vaddr + POINTER_AT + (int32_t)cur_u32(&c);
	return true;
}

/* Without sections its size is unknown: it extends at most to the end of its segment, and ends with
 * a length of 0. */
static bool locate_by_header(const struct elf_file *f, uint64_t *offset, uint64_t *size,
			     uint64_t *addr)
{
	GElf_Phdr header;
	struct elf_layout layout = { 0 };
	bool found = false;
	if (!find_segment(f, PT_GNU_EH_FRAME, &header) || !header_points_to(f, &header, addr) ||
	    elf_layout_read(&layout, f, NULL) < 0)
		return false;
	for (size_t i = 0; i < layout.segments.n && !found; i++) {
		const struct elf_segment *s = &layout.segments.v[i];
		found = *addr >= s->vaddr && *addr - s->vaddr < s->size;
		if (!found)
			continue;
		*offset = s->offset + (*addr - s->vaddr);
		*size = s->size - (*addr - s->vaddr);
	}
	elf_layout_done(&layout);
	return found;
}

static int unpack(uint32_t type, const void *packed, size_t packed_size, struct buf *data,
		  uint64_t size, struct err *err)
{
	uLongf got = size;
	if (size > CFI_MAX_SECTION)
		return err_set(err, E2BIG, "%" PRIu64 " bytes of call frame information", size);
	buf_reserve(data, size);
	if (type == ELFCOMPRESS_ZLIB) {
		if (uncompress((Bytef *)data->data, &got, packed, packed_size) != Z_OK)
			got = 0;
	} else if (type == COMPRESSED_BY_ZSTD) {
		got = ZSTD_decompress(data->data, size, packed, packed_size);
	} else {
		return err_set(err, ENOTSUP, "call frame information in compression %u", type);
	}
	if (got != size)
		return err_set(err, EBADMSG, "damaged compressed call frame information");
	data->len = size;
	return 0;
}

/* Copies a section with a compression header: the ELF one if flagged, else the older "ZLIB" with
 * its size in big endian. */
static int copy_packed(const struct elf_file *f, const GElf_Shdr *shdr, struct buf *data,
		       struct err *err)
{
	struct buf packed = { 0 };
	int rc = copy_bytes(f, shdr->sh_offset, shdr->sh_size, &packed, err);
	struct cur c = cur_of(packed.data, packed.len);
	uint32_t type = ELFCOMPRESS_ZLIB;
	uint64_t size;
	if (rc == 0 && shdr->sh_flags & SHF_COMPRESSED) {
		Elf64_Chdr header = { 0 };
		const void *p = cur_take(&c, sizeof header);
		if (p)
			memcpy(&header, p, sizeof header);
		type = header.ch_type;
		size = header.ch_size;
	} else {
		const void *magic = cur_take(&c, 4);
		c.bad = c.bad || memcmp(magic, "ZLIB", 4) != 0;
		size = be64toh(cur_u64(&c));
	}
	if (rc == 0 && c.bad)
		rc = err_set(err, EBADMSG, "damaged compressed call frame information");
	if (rc == 0)
		rc = unpack(type, c.p, cur_left(&c), data, size, err);
	buf_done(&packed);
	return rc;
}

static int copy_debug_frame(const struct elf_file *f, struct buf *data, struct cfi_section *out,
			    struct err *err)
{
	GElf_Shdr shdr;
	bool is_packed = !elf_file_section(f, ".debug_frame", SHT_NULL, &shdr);
	out->is_debug_frame = true;
	if (is_packed && !elf_file_section(f, ".zdebug_frame", SHT_NULL, &shdr))
		return err_set(err, ENODATA, "no call frame information");
	if (shdr.sh_type == SHT_NOBITS)
		return err_set(err, ENODATA, "its call frame information is in another file");
	if (is_packed || shdr.sh_flags & SHF_COMPRESSED)
		return copy_packed(f, &shdr, data, err);
	return copy_bytes(f, shdr.sh_offset, shdr.sh_size, data, err);
}

static int copy_eh_frame(const struct elf_file *f, struct buf *data, struct cfi_section *out,
			 struct err *err)
{
	GElf_Shdr shdr;
	uint64_t offset, size;
	if (elf_file_section(f, ".eh_frame", SHT_NULL, &shdr) && shdr.sh_type != SHT_NOBITS) {
		out->addr = shdr.sh_addr;
		return copy_bytes(f, shdr.sh_offset, shdr.sh_size, data, err);
	}
	out->ends_itself = true;
	if (locate_by_header(f, &offset, &size, &out->addr))
		return copy_bytes(f, offset, size < CFI_MAX_SECTION ? size : CFI_MAX_SECTION, data,
				  err);
	return err_set(err, ENODATA, "no call frame information");
}

int cfi_file_section(const struct elf_file *f, enum cfi_file_kind kind, struct buf *data,
		     struct cfi_section *out, struct err *err)
{
	*out = (struct cfi_section){ .arch = cfi_arch_of(f->header.e_machine) };
	if (!out->arch || f->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    f->header.e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(err, ENOTSUP, "made for another machine");
	buf_clear(data);
	int rc = kind == CFI_DEBUG_FRAME ? copy_debug_frame(f, data, out, err)
					 : copy_eh_frame(f, data, out, err);
	out->data = data->data;
	out->size = data->len;
	return rc;
}

/* --- code without functions ------------------------------------------------------------------- */

/* A row of the header's search table: relative to the header, ascending. */
struct search_row {
	int32_t start, fde;
};

/* The end of the function that a row is of, from its FDE: length, distance to the CIE, start, size,
 * with the encoding that all x86-64 and arm64 compilers use (PCREL_SDATA4). */
static bool read_function_end(const struct elf_file *f, const struct elf_layout *layout,
			      const GElf_Phdr *header, struct search_row row, uint64_t *end)
{
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t bytes;
	} fde;
	uint64_t addr = header->p_vaddr + row.fde, start = header->p_vaddr + row.start, offset;

	if (!elf_layout_offset(layout, addr, &offset) ||
	    !elf_file_read(f, offset, &fde, sizeof fde) ||
	    addr + offsetof(typeof(fde), start) + fde.start != start)
		return false;
	*end = start + fde.bytes;
	return true;
}

enum { GAP_LEAST = 4096 };

/* Code between the functions of two rows that follow each other. Returns false if malformed, or
 * after too many looks. */
static bool find_gap(const struct elf_file *f, const struct elf_layout *layout,
		     const GElf_Phdr *header, const struct search_row rows[2], uint32_t *looks,
		     struct cfi_gap *out)
{
	uint64_t end, next = header->p_vaddr + rows[1].start;
	int64_t distance = (int64_t)rows[1].start - rows[0].start;

	if (distance < GAP_LEAST)
		return distance >= 0;
	if (!*looks || !(*looks)-- || !read_function_end(f, layout, header, rows[0], &end))
		return false;
	uint64_t bytes = end < next ? next - end : 0, most = out->end - out->start;
	if (bytes > most)
		*out = (struct cfi_gap){ end, next, most };
	else if (bytes > out->next_bytes)
		out->next_bytes = bytes;
	return true;
}

int cfi_file_gap(const struct elf_file *f, const struct elf_layout *layout, struct cfi_gap *out)
{
	enum { COUNT_UDATA4 = 0x03, TABLE_DATAREL_SDATA4 = 0x3b, COUNT_AT = 8, ROWS = 512 };
	enum { MOST_GAPS = 16384 };
	GElf_Phdr header;
	uint8_t bytes[COUNT_AT + 4];
	struct search_row rows[1 + ROWS]; /* the first: the last that was read before */
	struct cfi_gap gap = { 0 };
	uint64_t addr;

	if (!find_segment(f, PT_GNU_EH_FRAME, &header) || !header_points_to(f, &header, &addr) ||
	    !elf_file_read(f, header.p_offset, bytes, sizeof bytes) || bytes[2] != COUNT_UDATA4 ||
	    bytes[3] != TABLE_DATAREL_SDATA4)
		return -ENODATA;
	struct cur c = cur_of(bytes + COUNT_AT, 4);
	uint32_t count = cur_u32(&c), looks = MOST_GAPS;
	if (count > CFI_MAX_SEARCHED)
		return -E2BIG;
	uint64_t at = header.p_offset + sizeof bytes;
	for (uint32_t left = count, n; left; left -= n, at += n * sizeof *rows) {
		n = left < ROWS ? left : ROWS;
		if (!elf_file_read(f, at, rows + 1, n * sizeof *rows))
			return -EBADMSG;
		for (uint32_t i = at == header.p_offset + sizeof bytes; i < n; i++)
			if (!find_gap(f, layout, &header, rows + i, &looks, &gap))
				return -EBADMSG;
		rows[0] = rows[n];
	}
	if (gap.start == gap.end)
		return -ENODATA;
	*out = gap;
	return 0;
}
