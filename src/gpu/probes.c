#include "gpu/probes.h"

#include "gpu/code_probe.h"
#include "gpu/prologue.h"
#include "symbol/elf_find.h"
#include "symbol/elf_layout.h"

#include <errno.h>
#include <string.h>

/* "libcuda.so", "libcuda.so.1", "libcuda.so.535.261.03", not "libcuda.so-old"; "memfd:libcresset-cuda.so (deleted)", as a late attach loads it. */
static bool is_named(const char *file, const char *name)
{
	static const char memfd[] = "memfd:";
	size_t len = strlen(name);

	if (strncmp(file, memfd, sizeof memfd - 1) == 0)
		file += sizeof memfd - 1;
	return strncmp(file, name, len) == 0 &&
	       (file[len] == 0 || file[len] == '.' || file[len] == ' ');
}

const struct gpu_library *gpu_library_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

	for (size_t i = 0; gpu_libraries[i]; i++)
		if (is_named(file, gpu_libraries[i]->name))
			return gpu_libraries[i];
	return NULL;
}

enum gpu_inside gpu_inside_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

	for (const struct gpu_inside_row *row = gpu_inside_rows; row->name; row++)
		if (is_named(file, row->name))
			return row->inside;
	return GPU_INSIDE_NONE;
}

/* The library's code, from its first executable byte to its last. */
static void code_range(const struct elf_layout *layout, uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < layout->segments.n; i++) {
		const struct elf_segment *s = &layout->segments.v[i];

		if (!s->executable)
			continue;
		*start = s->vaddr < *start ? s->vaddr : *start;
		*end = s->vaddr + s->size > *end ? s->vaddr + s->size : *end;
	}
}

static bool is_known(const struct gpu_places *p, uint64_t entry_offset)
{
	for (size_t i = 0; i < p->all.n; i++)
		if (p->all.v[i].entry_offset == entry_offset)
			return true;
	return false;
}

static void add_place(const struct elf_file *f, const struct elf_layout *layout,
		      const struct gpu_probe *probe, uint64_t address, struct gpu_places *out)
{
	struct gpu_place place = { .row = probe->row };
	uint8_t code[PROLOGUE_BYTES];
	uint64_t start, end;

	if (!elf_layout_offset(layout, address, &place.entry_offset) ||
	    is_known(out, place.entry_offset)) /* another name of the same function */
		return;
	size_t n = elf_file_read_some(f, place.entry_offset, code, sizeof code);
	int skipped = prologue_place(code, n);
	place.is_stepped = skipped < 0;
	if (place.is_stepped && (probe->row.what & GPU_LAUNCH)) {
		out->refused++;
		return;
	}
	code_range(layout, &start, &end);
	place.row.skipped = skipped < 0 ? 0 : skipped;
	place.offset = place.entry_offset + place.row.skipped;
	address += place.row.skipped;
	if (address < start || address >= end)
		return;
	place.row.below = address - start;
	place.row.beyond = end - address;
	vec_push(&out->all, place);
}

/* One in the code of the library, which it calls with the arguments that the row's functions have. */
static void add_code_probe(const struct elf_file *f, const struct elf_layout *layout,
			   const struct gpu_probe *probe, struct gpu_places *out)
{
	struct code_probe found;
	struct gpu_place place = { .row = probe->row };

	if (!code_probe_find(f, probe->symbol, &found))
		return;
	if (!elf_layout_offset(layout, found.address, &place.offset) ||
	    (found.counter && !elf_layout_offset(layout, found.counter, &place.counter))) {
		out->refused++;
		return;
	}
	place.entry_offset = place.offset;
	vec_push(&out->all, place);
}

/* Of what the function does, what is wanted. */
static void find_probe(const struct elf_file *f, const struct elf_layout *layout,
		       const struct gpu_probe *probe, uint32_t wanted, struct gpu_places *out)
{
	GElf_Sym sym;
	struct gpu_probe asked = *probe;

	asked.row.what &= wanted;
	if (strchr(probe->symbol, ':'))
		add_code_probe(f, layout, &asked, out);
	else if (elf_find_dynamic(f, probe->symbol, &sym) && sym.st_value)
		add_place(f, layout, &asked, sym.st_value, out);
}

int gpu_places_find(const struct elf_file *f, const struct gpu_library *library, uint32_t wanted,
		    struct gpu_places *out, struct err *err)
{
	struct elf_layout layout = { 0 };

	if (f->header.e_machine != EM_X86_64)
		return err_set(err, ENOTSUP, "%s is not for this kind of machine", library->name);
	int rc = elf_layout_read(&layout, f, err);
	for (size_t i = 0; !rc && i < library->n; i++)
		if (library->probes[i].row.what & wanted)
			find_probe(f, &layout, &library->probes[i], wanted, out);
	elf_layout_done(&layout);
	return rc;
}

void gpu_places_done(struct gpu_places *p)
{
	vec_done(&p->all);
}
