/* Walks containers and entries, and decompresses images. */
#include "gpu/code/fatbin.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/elf/elf_file.h"

#include <endian.h>
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	MAGIC = 0xba55ed50,
	CONTAINER_BYTES = 16,
	ENTRY_BYTES = 64,
	KIND_PTX = 1,
	KIND_CUBIN = 2,
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000,
};
struct container {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
};
struct entry {
	uint16_t kind, version;
	uint32_t header;
	uint64_t size;
	uint32_t packed, options;
	uint16_t minor, major;
	uint32_t sm, name, name_size;
	uint64_t flags, reserved, unpacked;
};
_Static_assert(sizeof(struct container) == CONTAINER_BYTES && sizeof(struct entry) == ENTRY_BYTES,
	       "as they are in files");

struct fatbin {
	int fd;
	VEC(struct fatbin_image) images;
	uint32_t containers;
	uint64_t skipped;
};

static bool read_all(int fd, uint64_t at, void *to, size_t size)
{
	uint8_t *p = to;

	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, p + done, size - done, at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += n;
	}
	return true;
}

/* --- containers and entries ------------------------------------------------------------------- */

static bool read_entry(const struct fatbin *f, uint64_t at, uint64_t end, struct entry *e)
{
	if (end - at < sizeof *e || !read_all(f->fd, at, e, sizeof *e))
		return false;
	e->kind = le16toh(e->kind);
	e->header = le32toh(e->header);
	e->size = le64toh(e->size);
	e->packed = le32toh(e->packed);
	e->sm = le32toh(e->sm);
	e->flags = le64toh(e->flags);
	e->unpacked = le64toh(e->unpacked);
	return e->header >= ENTRY_BYTES && e->header <= end - at && e->size <= end - at - e->header;
}

static bool is_sound(const struct fatbin_image *i, const struct entry *e)
{
	if (i->packing == FATBIN_PLAIN)
		return i->size && i->size <= FATBIN_MAX_UNPACKED;
	return i->packed && i->packed <= e->size && i->packed <= FATBIN_MAX_UNPACKED && i->size &&
	       i->size <= FATBIN_MAX_UNPACKED && i->size / FATBIN_MAX_RATIO <= i->packed;
}

/* Skips entries that are neither PTX nor a cubin (code for the linker). */
static void add_entry(struct fatbin *f, uint64_t at, const struct entry *e)
{
	bool is_packed = e->flags & (FLAG_LZ4 | FLAG_ZSTD);
	struct fatbin_image i = {
		.at = at + e->header,
		.packed = is_packed ? e->packed : e->size,
		.size = is_packed ? e->unpacked : e->size,
		.container = f->containers,
		.sm = e->sm,
		.is_ptx = e->kind == KIND_PTX,
		.packing = e->flags & FLAG_ZSTD  ? FATBIN_ZSTD
			   : e->flags & FLAG_LZ4 ? FATBIN_LZ4
						 : FATBIN_PLAIN,
	};

	if (e->kind != KIND_PTX && e->kind != KIND_CUBIN)
		return;
	if (f->images.n >= FATBIN_MAX_IMAGES || !is_sound(&i, e))
		f->skipped++;
	else
		vec_push(&f->images, i);
}

static void read_container(struct fatbin *f, uint64_t at, uint64_t end)
{
	struct entry e;

	for (; at < end; at += e.header + e.size) {
		if (!read_entry(f, at, end, &e)) {
			f->skipped++;
			break;
		}
		add_entry(f, at, &e);
	}
	f->containers++;
}

static bool is_container(const struct fatbin *f, uint64_t at, uint64_t end, struct container *c)
{
	if (end - at < sizeof *c || !read_all(f->fd, at, c, sizeof *c))
		return false;
	c->magic = le32toh(c->magic);
	c->header = le16toh(c->header);
	c->size = le64toh(c->size);
	return c->magic == MAGIC && c->header >= CONTAINER_BYTES && c->header <= end - at &&
	       c->size <= end - at - c->header;
}

/* After a malformed container nothing can be trusted. */
static void read_containers(struct fatbin *f, uint64_t start, uint64_t size)
{
	uint64_t at = start, end = start + size;
	struct container c;

	while (end - at >= sizeof c && f->images.n < FATBIN_MAX_IMAGES) {
		if (!is_container(f, at, end, &c)) {
			f->skipped++;
			return;
		}
		at += c.header;
		read_container(f, at, at + c.size);
		at += c.size;
		at += -(at - start) & 7;
		if (at > end)
			return;
	}
	f->skipped += end - at >= sizeof c;
}

static int read_elf(struct fatbin *f, struct err *err)
{
	struct elf_file elf;
	GElf_Shdr s;
	int rc = elf_file_open(&elf, f->fd, err);

	if (rc < 0)
		return rc;
	if (!elf_file_section(&elf, ".nv_fatbin", SHT_PROGBITS, &s))
		rc = err_set(err, ENODATA, "no device code in it");
	else if (s.sh_offset > elf.size || s.sh_size > elf.size - s.sh_offset)
		rc = err_set(err, ENOEXEC, ".nv_fatbin does not lie in the file");
	else
		read_containers(f, s.sh_offset, s.sh_size);
	elf_file_close(&elf);
	return rc;
}

int fatbin_open(int fd, struct fatbin **out, struct err *err)
{
	struct fatbin *f = xcalloc(1, sizeof *f);
	uint32_t magic;
	struct stat st;
	int rc = 0;

	f->fd = fd;
	if (read_all(fd, 0, &magic, sizeof magic) && le32toh(magic) == MAGIC && !fstat(fd, &st))
		read_containers(f, 0, st.st_size);
	else
		rc = read_elf(f, err);
	if (rc < 0)
		fatbin_close(f);
	else
		*out = f;
	return rc;
}

void fatbin_close(struct fatbin *f)
{
	if (!f)
		return;
	vec_done(&f->images);
	free(f);
}

const struct fatbin_image *fatbin_images(const struct fatbin *f, uint32_t *n)
{
	*n = f->images.n;
	return f->images.v;
}

uint64_t fatbin_skipped(const struct fatbin *f)
{
	return f->skipped;
}

/* --- choosing images -------------------------------------------------------------------------- */

static bool runs_on(const struct fatbin_image *i, uint32_t sm)
{
	return !i->is_ptx && (!sm || (i->sm / 10 == sm / 10 && i->sm <= sm));
}

uint32_t *fatbin_choose(const struct fatbin *f, uint32_t sm, uint32_t *n)
{
	const struct fatbin_image *v = f->images.v;
	uint32_t *out = xcalloc(f->images.n + 1, sizeof *out), best;

	*n = 0;
	for (uint32_t i = 0, end; i < f->images.n; i = end) {
		best = 0;
		for (end = i; end < f->images.n && v[end].container == v[i].container; end++)
			if (runs_on(&v[end], sm) && v[end].sm > best)
				best = v[end].sm;
		for (uint32_t k = i; k < end; k++)
			if (runs_on(&v[k], sm) && (!sm || v[k].sm == best))
				out[(*n)++] = k;
	}
	return out;
}

/* --- unpacking -------------------------------------------------------------------------------- */

static bool unpack(const struct fatbin_image *i, const void *packed, void *out)
{
	if (i->packing == FATBIN_ZSTD)
		return ZSTD_decompress(out, i->size, packed, i->packed) == i->size;
	return LZ4_decompress_safe(packed, out, i->packed, i->size) == (int)i->size;
}

int fatbin_unpack(const struct fatbin *f, uint32_t image, void **out, struct err *err)
{
	if (image >= f->images.n)
		return err_set(err, EINVAL, "no such image");
	const struct fatbin_image *i = &f->images.v[image];
	void *bytes = xmalloc(i->size), *packed = NULL;
	bool is_good;

	if (i->packing == FATBIN_PLAIN) {
		is_good = read_all(f->fd, i->at, bytes, i->size);
	} else {
		packed = xmalloc(i->packed);
		is_good = read_all(f->fd, i->at, packed, i->packed) && unpack(i, packed, bytes);
		free(packed);
	}
	if (!is_good) {
		free(bytes);
		return err_set(err, EBADMSG, "device code that cannot be unpacked");
	}
	*out = bytes;
	return 0;
}
