/* Executable segments of an ELF file. */
#include "runtime/mapped_code.h"

#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

void mapped_code_read(const struct elf_file *f, struct mapped_code *out)
{
	struct elf_layout layout = { 0 };

	*out = (struct mapped_code){ .n = 0 };
	if (elf_layout_read(&layout, f, NULL) == 0)
		for (size_t i = 0; i < layout.segments.n; i++) {
			const struct elf_segment *s = &layout.segments.v[i];

			if (s->executable && out->n < MAPPED_CODE_MAX)
				out->segments[out->n++] =
					(struct mapped_code_segment){ s->offset, s->size,
								      s->vaddr - s->offset };
		}
	elf_layout_done(&layout);
}

bool mapped_code_bias(const struct mapped_code *code, uint64_t start, uint64_t pgoff,
		      uint64_t *bias)
{
	enum { PAGE = 4096 };

	for (uint32_t i = 0; i < code->n; i++) {
		const struct mapped_code_segment *s = &code->segments[i];

		/* Whole pages are mapped. */
		if (pgoff + PAGE <= s->offset ||
		    (pgoff >= s->offset && pgoff - s->offset >= s->size))
			continue;
		*bias = start - pgoff - s->skew;
		return true;
	}
	return false;
}
