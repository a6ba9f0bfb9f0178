/* Converts offsets and addresses by program headers. */
#include "symbol/elf/elf_layout.h"

#include "base/err.h"
#include "base/search.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>

void elf_layout_done(struct elf_layout *l)
{
	vec_done(&l->segments);
	vec_done(&l->code);
}

static bool wraps(uint64_t start, uint64_t size)
{
	return start > UINT64_MAX - size;
}

static void layout_add_segments(struct elf_layout *l, const struct elf_file *f)
{
	GElf_Phdr p;
	size_t n;
	if (elf_getphdrnum(f->elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f->elf, i, &p) || p.p_type != PT_LOAD)
			continue;
		if (wraps(p.p_offset, p.p_filesz) || wraps(p.p_vaddr, p.p_filesz))
			continue;
		vec_push(&l->segments, (struct elf_segment){ p.p_offset, p.p_vaddr, p.p_filesz,
							     p.p_flags & PF_X });
	}
}

static void layout_add_code_sections(struct elf_layout *l, const struct elf_file *f)
{
	const uint64_t executable = SHF_ALLOC | SHF_EXECINSTR;
	GElf_Shdr s;
	size_t n;
	if (elf_getshdrnum(f->elf, &n) < 0)
		return;
	for (size_t i = 1; i < n; i++)
		if (elf_file_section_at(f, i, &s) && (s.sh_flags & executable) == executable &&
		    s.sh_size && !wraps(s.sh_addr, s.sh_size))
			vec_push(&l->code, (struct elf_code){ s.sh_addr, s.sh_addr + s.sh_size });
}

static int code_compare(const void *a, const void *b)
{
	const struct elf_code *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

int elf_layout_read(struct elf_layout *l, const struct elf_file *f, struct err *err)
{
	layout_add_segments(l, f);
	if (l->segments.n == 0)
		return err_set(err, ENODATA, "the ELF file has no loadable segment");
	layout_add_code_sections(l, f);
	if (l->code.n == 0)
		for (size_t i = 0; i < l->segments.n; i++) {
			const struct elf_segment *s = &l->segments.v[i];
			if (s->executable)
				vec_push(&l->code,
					 (struct elf_code){ s->vaddr, s->vaddr + s->size });
		}
	if (l->code.n)
		qsort(l->code.v, l->code.n, sizeof *l->code.v, code_compare);
	return 0;
}

bool elf_layout_vaddr(const struct elf_layout *l, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < l->segments.n; i++) {
		const struct elf_segment *s = &l->segments.v[i];
		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		*vaddr = s->vaddr + (offset - s->offset);
		return true;
	}
	return false;
}

bool elf_layout_offset(const struct elf_layout *l, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < l->segments.n; i++) {
		const struct elf_segment *s = &l->segments.v[i];
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		*offset = s->offset + (vaddr - s->vaddr);
		return true;
	}
	return false;
}

uint64_t elf_layout_code_end(const struct elf_layout *l, uint64_t vaddr)
{
	size_t after = vec_upper(&l->code, start, vaddr);
	return after && vaddr < l->code.v[after - 1].end ? l->code.v[after - 1].end : 0;
}
