/* Finds the probed functions of a file by symbol, and chooses their offsets. */
#include "gpu/code/probes.h"

#include "attach/prologue.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"
#include "symbol/elf/elf_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- a probe in the code, by its note --------------------------------------------------------- */

/* A probe that a library has in its code, described by a note (SystemTap's format, version 3,
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation):
 *
 *     .note.stapsdt    { u64 address, base, counter; char provider[], name[], arguments[] }
 *
 * Addresses assume that .stapsdt.base is at base. Only arguments in the registers of a call's first
 * arguments are accepted ("4@%edi 4@%esi 4@%edx"). */

struct code_probe {
	uint64_t address, counter; /* counter: a u16 with the number of attached tracers; 0: none */
};

enum { CODE_PROBE_MAX_NOTES = 64 << 10 }; /* bytes of notes that are searched */

enum { NOTE_TYPE = 3, WORDS = 3, WORD = 8 };

/* Splits three consecutive strings that must end within n bytes. */
static bool texts_of(const char *at, size_t n, const char *texts[3])
{
	for (int i = 0; i < 3; i++) {
		const char *end = n ? memchr(at, 0, n) : NULL;

		if (!end)
			return false;
		texts[i] = at;
		n -= end + 1 - at;
		at = end + 1;
	}
	return true;
}

/* Whether the probe's arguments are in the registers of a call's first arguments. */
static bool are_call_registers(const char *arguments)
{
	static const char *const first[] = { "4@%edi", "4@%edi 4@%esi", "4@%edi 4@%esi 4@%edx",
					     "8@%rdi 8@%rsi 8@%rdx" };

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (strcmp(arguments, first[i]) == 0)
			return true;
	return false;
}

static bool has_name(const char *const texts[3], const char *name)
{
	size_t provider = strlen(texts[0]);

	return strncmp(name, texts[0], provider) == 0 && name[provider] == ':' &&
	       strcmp(name + provider + 1, texts[1]) == 0;
}

static uint64_t word_at(const uint8_t *p)
{
	struct cur c = cur_of(p, WORD);

	return cur_u64(&c);
}

static bool take_note(const uint8_t *note, size_t n, const char *name, uint64_t moved_from,
		      struct code_probe *out)
{
	const char *texts[3];

	if (n < WORDS * WORD ||
	    !texts_of((const char *)note + WORDS * WORD, n - WORDS * WORD, texts) ||
	    !has_name(texts, name) || !are_call_registers(texts[2]))
		return false;
	uint64_t base = word_at(note + WORD), counter = word_at(note + 2 * WORD);
	uint64_t moved = moved_from ? moved_from - base : 0;
	out->address = word_at(note) + moved;
	out->counter = counter ? counter + moved : 0;
	return true;
}

static bool find_in(const uint8_t *notes, size_t n, const char *name, uint64_t moved_from,
		    struct code_probe *out)
{
	enum { HEAD = 12 };
	struct cur c;

	while (n >= HEAD) {
		c = cur_of(notes, HEAD);
		uint64_t owner = ((uint64_t)cur_u32(&c) + 3) & ~3ull, len = cur_u32(&c);
		uint32_t type = cur_u32(&c);
		uint64_t whole = HEAD + owner + ((len + 3) & ~3ull);

		if (HEAD + owner + len > n)
			return false;
		if (type == NOTE_TYPE && owner == 8 && !memcmp(notes + HEAD, "stapsdt", 8) &&
		    take_note(notes + HEAD + owner, len, name, moved_from, out))
			return true;
		if (whole > n)
			return false;
		notes += whole;
		n -= whole;
	}
	return false;
}

/* name: "provider:name". Returns false if none exists, or its arguments are elsewhere. */
static bool code_probe_find(const struct elf_file *f, const char *name, struct code_probe *out)
{
	GElf_Shdr notes, base;

	if (!elf_file_section(f, ".note.stapsdt", SHT_NOTE, &notes))
		return false;
	uint64_t moved_from =
		elf_file_section(f, ".stapsdt.base", SHT_NULL, &base) ? base.sh_addr : 0;
	size_t n = notes.sh_size < CODE_PROBE_MAX_NOTES ? notes.sh_size : CODE_PROBE_MAX_NOTES;
	uint8_t *copy = xmalloc(n ? n : 1);
	n = elf_file_read_some(f, notes.sh_offset, copy, n);
	bool found = find_in(copy, n, name, moved_from, out);
	free(copy);
	return found;
}

/* --- probes of a library ---------------------------------------------------------------------- */

/* "libcuda.so", "libcuda.so.1", "libcuda.so.535.261.03", not "libcuda.so-old";
 * "memfd:libcresset-cuda.so (deleted)", as loaded by a late attach. */
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

/* Adds a probe in the library's code, whose arguments are those of the row. */
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

/* Finds the probe, reduced to the wanted actions of its function. */
static void find_probe(const struct elf_file *f, const struct elf_layout *layout,
		       const struct gpu_library *library, const struct gpu_probe *probe,
		       uint32_t wanted, struct gpu_places *out)
{
	bool (*find)(const struct elf_file *, const char *, GElf_Sym *) =
		library->is_static ? elf_find_static : elf_find_dynamic;

	GElf_Sym sym;
	struct gpu_probe asked = *probe;

	asked.row.what &= wanted;
	if (strchr(probe->symbol, ':'))
		add_code_probe(f, layout, &asked, out);
	else if (find(f, probe->symbol, &sym) && sym.st_value)
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
			find_probe(f, &layout, library, &library->probes[i], wanted, out);
	elf_layout_done(&layout);
	return rc;
}

void gpu_places_done(struct gpu_places *p)
{
	vec_done(&p->all);
}
