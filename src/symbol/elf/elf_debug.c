/* Searches separate debug files by build id and debug link. */
#include "symbol/elf/elf_debug.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	DEBUG_MAX_ATTEMPTS = 16,
	DEBUGDATA_MAX_PACKED = 32 << 20, /* large libraries have a few MB */
	DEBUGDATA_MAX_BYTES = 128 << 20, /* limit: .gnu_debugdata, uncompressed */
};
/* The CRC covers the whole file, so this limits the reading to check it. */
#define DEBUG_MAX_CRC_BYTES (2ull << 30)

/* --- separate debug file ---------------------------------------------------------------------- */

/* .gnu_debuglink: file name, NUL, padding to 4 bytes, CRC-32 in the file's byte order. */
static bool debuglink_read(const struct elf_file *f, char *name, size_t size, uint32_t *crc)
{
	GElf_Shdr s;
	if (!elf_file_section(f, ".gnu_debuglink", SHT_PROGBITS, &s) || s.sh_size > size ||
	    !elf_file_read(f, s.sh_offset, name, s.sh_size))
		return false;
	size_t len = strnlen(name, s.sh_size), crc_at = (len + 4) & ~(size_t)3;
	if (len == 0 || crc_at + 4 > s.sh_size)
		return false;
	memcpy(crc, name + crc_at, 4);
	Elf_Data data = {
		.d_buf = crc, .d_type = ELF_T_WORD, .d_version = EV_CURRENT, .d_size = 4
	};
	return gelf_xlatetom(f->elf, &data, &data, f->header.e_ident[EI_DATA]);
}

static bool file_has_crc(const struct elf_file *f, uint32_t crc)
{
	unsigned char part[16 << 10];
	uLong sum = crc32(0, NULL, 0);
	if (f->size > DEBUG_MAX_CRC_BYTES)
		return false;
	for (uint64_t at = 0; at < f->size;) {
		size_t n = elf_file_read_some(f, at, part, sizeof part);
		if (n == 0)
			return false;
		sum = crc32(sum, part, n);
		at += n;
	}
	return sum == crc;
}

/* The build id decides if both have one: debug files can have gigabytes, which the CRC would have
 * to read. */
static bool debug_fits(const struct elf_file *main, const struct elf_file *debug,
		       const struct debug_request *req)
{
	uint8_t id[DEBUG_MAX_BUILD_ID];
	GElf_Shdr symtab;
	if (debug->header.e_machine != main->header.e_machine ||
	    gelf_getclass(debug->elf) != gelf_getclass(main->elf) ||
	    !elf_file_section(debug, NULL, SHT_SYMTAB, &symtab))
		return false;
	size_t len = elf_file_build_id(debug, id, sizeof id);
	if (len && req->build_id_len)
		return len == req->build_id_len && memcmp(id, req->build_id, len) == 0;
	return req->debuglink && file_has_crc(debug, req->debuglink_crc);
}

void elf_debug_want(const struct elf_file *main, struct debug_wanted *out)
{
	*out = (struct debug_wanted){ .req.build_id = out->build_id };
	out->req.build_id_len = elf_file_build_id(main, out->build_id, sizeof out->build_id);
	if (debuglink_read(main, out->link, sizeof out->link, &out->req.debuglink_crc))
		out->req.debuglink = out->link;
}

bool elf_debug_open(const struct elf_file *main, debug_locate_fn *locate, void *ctx,
		    struct elf_file *debug)
{
	struct debug_wanted want;
	elf_debug_want(main, &want);
	if (!locate || (!want.req.build_id_len && !want.req.debuglink))
		return false;
	for (unsigned attempt = 0; attempt < DEBUG_MAX_ATTEMPTS; attempt++) {
		int fd = locate(ctx, &want.req, attempt);
		if (fd < 0)
			return false;
		if (elf_file_open(debug, fd, NULL) == 0) {
			if (debug_fits(main, debug, &want.req))
				return true;
			elf_file_close(debug);
		}
		close(fd);
	}
	return false;
}

/* --- mini debug info -------------------------------------------------------------------------- */

bool elf_debugdata_unpack(const struct elf_file *main, struct buf *image, struct err *err)
{
	GElf_Shdr s;
	if (!elf_file_section(main, ".gnu_debugdata", SHT_PROGBITS, &s))
		return false;
	if (s.sh_size > DEBUGDATA_MAX_PACKED) {
		err_set(err, EBADMSG, ".gnu_debugdata is too large");
		return false;
	}
	buf_reserve(image, s.sh_size);
	if (!elf_file_read(main, s.sh_offset, image->data, s.sh_size)) {
		err_set(err, EBADMSG, ".gnu_debugdata lies outside the ELF file");
		return false;
	}
	image->len = s.sh_size;
	return fs_unpack(image, DEBUGDATA_MAX_BYTES, err) == 0;
}
