/* Compares addresses with the segments of mapped files. */
#include "collect/process/static_data.h"

#include "base/search.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "symbol/elf/elf_file.h"

#include <string.h>

/* Where its segments lie; nothing if code and data may be moved apart. */
static struct object_extent read_extent(int fd)
{
	struct object_extent x = { .from = UINT64_MAX };
	struct elf_file f = { 0 };
	bool has_code = false;
	size_t n = 0;
	GElf_Phdr p;

	if (fd < 0 || elf_file_open(&f, fd, NULL))
		return (struct object_extent){ 0 };
	elf_getphdrnum(f.elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f.elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    p.p_vaddr > UINT64_MAX - p.p_memsz)
			continue;
		if (p.p_vaddr < x.from)
			x.from = p.p_vaddr;
		if (p.p_vaddr + p.p_memsz > x.to)
			x.to = p.p_vaddr + p.p_memsz;
		if (!(p.p_flags & PF_X))
			continue;
		if (has_code && x.code_skew != p.p_vaddr - p.p_offset)
			n = 0; /* which part is mapped is not known */
		x.code_skew = p.p_vaddr - p.p_offset;
		has_code = true;
	}
	elf_file_close(&f);
	return has_code && n ? x : (struct object_extent){ 0 };
}

/* A file that is not open yet may be at the next lock. */
static void know_extent(struct object_table *t, struct object *o)
{
	if (o->extent_known)
		return;
	int fd = object_fd(t, o);
	if (fd >= 0)
		o->extent = read_extent(fd);
	o->extent_known = fd >= 0 || o->state == OBJECT_GONE;
}

/* The last mapping of a file before the address. Data follows the code of its file. */
static const struct image_map *nearest_file(const struct object_table *t, const struct image *image,
					    uint64_t address)
{
	enum { LOOK_AT = 16 }; /* limit: mappings without a file before that of a lock */
	size_t after = vec_upper(&image->maps, start, address);

	for (size_t i = 0; i < LOOK_AT && i < after; i++) {
		const struct image_map *m = &image->maps.v[after - 1 - i];

		if (t->all.v[m->object]->kind == OBJECT_FILE)
			return m;
	}
	return NULL;
}

bool static_data_find(struct object_table *t, uint32_t pid, const struct image *image,
		      uint64_t address, const struct object **object, uint64_t *vaddr)
{
	const struct image_map *m = image ? nearest_file(t, image, address) : NULL;

	if (!m)
		return false;
	const struct object_place place = { pid, m->start, m->end, m->pgoff };
	struct object *o = object_use(t, m->object, &place);
	know_extent(t, o);
	uint64_t at = address - m->start + m->pgoff + o->extent.code_skew;
	if (at < o->extent.from || at >= o->extent.to)
		return false;
	*object = o;
	*vaddr = at;
	return true;
}
