/* Repeats the steps of the kernel's helper at the end of a stack, to find why its walk ended. */
#include "collect/process/helper_end.h"

#include "base/fs.h"
#include "base/parse.h"
#include "bpf/event.h"
#include "collect/process/object.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"

uint32_t helper_max_frames(void)
{
	uint64_t max = WALK_MAX_KERNEL; /* size of the buffer (bpf/stack.h) */
	char line[32];

	if (fs_read_line("/proc/sys/kernel/perf_event_max_stack", line, sizeof line) ||
	    parse_u64(line, &max) || max > WALK_MAX_KERNEL)
		return WALK_MAX_KERNEL;
	return (uint32_t)max;
}

/* Returns the file offset of an address; false if none exists. */
static bool offset_of(const struct elf_file *f, uint64_t address, uint64_t *out)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(f->elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f->elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		*out = address - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

static void add_start(struct object *o, const struct elf_file *f, uint64_t address, uint64_t size)
{
	uint64_t offset;

	if (o->n_starts == OBJECT_STARTS || !offset_of(f, address, &offset))
		return;
	o->starts[o->n_starts++] = (struct object_start){ offset, offset + size };
}

static void add_main(struct object *o, const struct elf_file *f, const GElf_Sym *sym)
{
	uint64_t offset;

	if (offset_of(f, sym->st_value, &offset))
		o->main = (struct object_start){ offset, offset + sym->st_size };
}

/* The entry point is that of the program, or of the dynamic linker; the names are from glibc and
 * Go. */
static void find_starts(struct object *o, int fd)
{
	enum { ENTRY_BYTES = 64 }; /* _start calls main's caller, and ends */
	static const char *const names[] = { "start_thread", "__libc_start_call_main",
					     "runtime.goexit.abi0" };
	struct elf_file f = { 0 };
	GElf_Sym sym;

	if (fd < 0 || elf_file_open(&f, fd, NULL))
		return;
	if (f.header.e_entry)
		add_start(o, &f, f.header.e_entry, ENTRY_BYTES);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (elf_find_static(&f, names[i], &sym))
			add_start(o, &f, sym.st_value, sym.st_size);
	if (elf_find_static(&f, "main", &sym) || elf_find_dynamic(&f, "main", &sym))
		add_main(o, &f, &sym);
	elf_file_close(&f);
}

static void know_starts(struct object_table *t, struct object *o)
{
	if (!o->starts_known)
		find_starts(o, object_fd(t, o));
	o->starts_known = true;
}

bool helper_begins_in(struct object_table *t, struct object *o, uint64_t offset)
{
	if (o->kind != OBJECT_FILE)
		return false;
	know_starts(t, o);
	for (uint32_t i = 0; i < o->n_starts; i++)
		if (offset >= o->starts[i].from && offset < o->starts[i].to)
			return true;
	return false;
}

bool helper_is_main(struct object_table *t, struct object *o, uint64_t offset)
{
	if (o->kind != OBJECT_FILE)
		return false;
	know_starts(t, o);
	return offset >= o->main.from && offset < o->main.to;
}
