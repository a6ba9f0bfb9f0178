/* The slots in which loaded objects have the addresses of functions: their entries for calls
 * through the linkage table (JUMP_SLOT), for direct use (GLOB_DAT), and pointers in their data.
 *
 * The real function is that of the first object in the order of the link map that defines it.
 * (dlsym(RTLD_DEFAULT) may give a stub of the program, and RTLD_NEXT the C library's function in a
 * program that runs on another allocator.) Only slots that hold its address, or were never used and
 * so lead back into their own object, are changed. */
#include "mem/inject/library.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, NAME_MAX_LEN = 40 };

struct object {
	uint64_t base, start, end, relro, relro_end;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * tables[2]; /* all slots; slots for calls */
	size_t n[2];
	const uint32_t *hash; /* DT_GNU_HASH */
	const uint16_t *versions;
};

/* --- an object -------------------------------------------------------------------------------- */

/* glibc stores addresses in the dynamic section, others offsets. */
static uint64_t address_of(const struct object *o, uint64_t value)
{
	return value < o->base ? o->base + value : value;
}

static void take_entry(struct object *o, const ElfW(Dyn) * d)
{
	void *at = (void *)(uintptr_t)address_of(o, d->d_un.d_ptr);

	switch (d->d_tag) {
	case DT_SYMTAB:
		o->symbols = at;
		break;
	case DT_STRTAB:
		o->names = at;
		break;
	case DT_RELA:
		o->tables[0] = at;
		break;
	case DT_RELASZ:
		o->n[0] = d->d_un.d_val / sizeof(ElfW(Rela));
		break;
	case DT_JMPREL:
		o->tables[1] = at;
		break;
	case DT_PLTRELSZ:
		o->n[1] = d->d_un.d_val / sizeof(ElfW(Rela));
		break;
	case DT_GNU_HASH:
		o->hash = at;
		break;
	case DT_VERSYM:
		o->versions = at;
		break;
	default:
		break;
	}
}

static void take_segment(struct object *o, const ElfW(Phdr) * p)
{
	uint64_t start = o->base + p->p_vaddr;

	if (p->p_type == PT_LOAD) {
		o->start = start < o->start ? start : o->start;
		o->end = start + p->p_memsz > o->end ? start + p->p_memsz : o->end;
	} else if (p->p_type == PT_GNU_RELRO) {
		o->relro = start & ~(uint64_t)(PAGE - 1);
		o->relro_end = (start + p->p_memsz) & ~(uint64_t)(PAGE - 1);
	}
}

/* Returns false for an object without symbols. */
static bool read_object(const struct dl_phdr_info *info, struct object *o)
{
	*o = (struct object){ .base = info->dlpi_addr, .start = UINT64_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++)
		take_segment(o, &info->dlpi_phdr[i]);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_DYNAMIC)
			continue;
		for (const ElfW(Dyn) *d = (void *)(uintptr_t)(o->base + p->p_vaddr);
		     d->d_tag != DT_NULL; d++)
			take_entry(o, d);
	}
	return o->symbols && o->names;
}

static bool has(const struct object *o, const void *address)
{
	return (uintptr_t)address >= o->start && (uintptr_t)address < o->end;
}

/* This library, the loader, and the kernel's object. */
static bool is_left_out(const struct object *o)
{
	uint64_t loader = getauxval(AT_BASE), kernel = getauxval(AT_SYSINFO_EHDR);

	return has(o, &mem_library) || (loader && has(o, (void *)(uintptr_t)loader)) ||
	       (kernel && has(o, (void *)(uintptr_t)kernel));
}

/* --- the real functions ----------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool defines(const struct object *o, uint32_t index, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[index];

	return s->st_shndx != SHN_UNDEF && s->st_value && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
	       ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	       !(o->versions && o->versions[index] & 0x8000) && /* not the default version */
	       strcmp(o->names + s->st_name, name) == 0;
}

/* Returns the address of a function that the object defines; NULL: it does not. */
static void *find_in(const struct object *o, const char *name)
{
	const uint32_t *head = o->hash, h = hash_of(name);

	if (!head || !head[0])
		return NULL;
	const uint64_t *bloom = (const uint64_t *)(head + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + head[2]);
	const uint32_t *chain = buckets + head[0];
	uint64_t word = bloom[h / 64 % head[2]];
	if (!(word >> (h % 64) & 1) || !(word >> ((h >> head[3]) % 64) & 1))
		return NULL;
	uint32_t i = buckets[h % head[0]];
	if (i < head[1])
		return NULL;
	for (;; i++) {
		uint32_t got = chain[i - head[1]];
		if ((got | 1) == (h | 1) && defines(o, i, name))
			return (void *)(uintptr_t)(o->base + o->symbols[i].st_value);
		if (got & 1)
			return NULL;
	}
}

static int find_sanitizer(struct dl_phdr_info *info, size_t size, void *ctx)
{
	static const char *const marks[] = { "__asan_init", "__tsan_init", "__msan_init",
					     "__lsan_init", "__hwasan_init" };
	struct object o;

	(void)size, (void)ctx;
	if (!read_object(info, &o) || is_left_out(&o))
		return 0;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (find_in(&o, marks[i]))
			return 1;
	return 0;
}

bool slots_has_sanitizer(void)
{
	return dl_iterate_phdr(find_sanitizer, NULL);
}

static bool is_cpp_library(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0;
}

/* An operator that the C++ library defines first is found, and stays without a hook. */
struct search {
	uint64_t skipped; /* bits of functions that need no hook */
};

static int resolve(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;
	struct object o;

	(void)size;
	if (!read_object(info, &o) || is_left_out(&o))
		return 0;
	for (size_t i = 0; i < mem_functions_n; i++) {
		const struct mem_function *f = &mem_functions[i];
		void *at = *f->real || s->skipped >> i & 1 ? NULL : find_in(&o, f->name);

		if (at && f->is_operator && is_cpp_library(info->dlpi_name))
			s->skipped |= 1ull << i;
		else if (at && has(&o, at))
			*f->real = at;
	}
	return 0;
}

bool slots_resolve(void)
{
	struct search s = { 0 };

	if (!*mem_functions[0].real)
		dl_iterate_phdr(resolve, &s);
	return *mem_functions[0].real && *mem_functions[1].real;
}

/* --- protection of pages ---------------------------------------------------------------------- */

/* Whether the loader has finished with an object: that protects its pages last. Read from
 * /proc/self/maps, as mprotect reports nothing. */
static bool is_read_only(uint64_t address)
{
	static char text[8192]; /* used by one thread */
	size_t kept = 0;
	ssize_t n;
	bool is = false, found = false;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && !found && (n = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
		char *line = text, *end;
		kept += n;
		text[kept] = '\0';
		for (; !found && (end = memchr(line, '\n', text + kept - line)); line = end + 1) {
			uint64_t v[2] = { 0 };
			const char *p = line;
			for (int i = 0; i < 2; i++, p++)
				for (; *p != '-' && *p != ' '; p++)
					v[i] = v[i] << 4 |
					       (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
			found = address >= v[0] && address < v[1];
			is = found && p[0] == 'r' && p[1] == '-';
		}
		kept -= line - text;
		memmove(text, line, kept);
	}
	if (fd >= 0)
		close(fd);
	return is;
}

/* --- slots ------------------------------------------------------------------------------------ */

struct patch {
	bool on, has_later;
	uint32_t slots, foreign, objects;
};

static const struct mem_function *function_of(const char *name)
{
	for (size_t i = 0; i < mem_functions_n; i++)
		if (*mem_functions[i].real && strcmp(name, mem_functions[i].name) == 0)
			return &mem_functions[i];
	return NULL;
}

static bool may_be_ours(const char *name)
{
	switch (*name) {
	case 'm':
	case 'f':
	case 'c':
	case 'r':
	case 'a':
	case 'p':
	case 'v':
		return true;
	default:
		return name[0] == '_' && name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd');
	}
}

/* Slots in pages that the loader protects are changed only when it has done so. */
static bool store(const struct object *o, void **slot, void *value, bool *knows, bool *is_ready)
{
	uint64_t page = (uintptr_t)slot & ~(uint64_t)(PAGE - 1);

	if (page < o->relro || page >= o->relro_end) {
		__atomic_store_n(slot, value, __ATOMIC_RELEASE);
		return true;
	}
	if (!*knows)
		*is_ready = is_read_only(o->relro);
	*knows = true;
	if (!*is_ready || mprotect((void *)(uintptr_t)page, PAGE, PROT_READ | PROT_WRITE) < 0)
		return false;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	mprotect((void *)(uintptr_t)page, PAGE, PROT_READ);
	return true;
}

/* Returns the new value of a slot; NULL: it stays. */
static void *value_for(const struct object *o, struct patch *p, const struct mem_function *f,
		       uint32_t type, void *now)
{
	if (!p->on)
		return now == f->hook ? *f->real : NULL;
	if (now == f->hook) {
		p->slots++;
		return NULL;
	}
	if (now == *f->real || (type == R_X86_64_JUMP_SLOT && has(o, now)))
		return f->hook;
	if (now && type != R_X86_64_64)
		p->foreign++;
	return NULL;
}

static void patch_table(const struct object *o, struct patch *p, const ElfW(Rela) * r, size_t n,
			bool *knows, bool *is_ready)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t type = ELF64_R_TYPE(r[i].r_info), symbol = ELF64_R_SYM(r[i].r_info);

		if (!symbol || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
				(type != R_X86_64_64 || r[i].r_addend)))
			continue;
		const char *name = o->names + o->symbols[symbol].st_name;
		const struct mem_function *f = may_be_ours(name) ? function_of(name) : NULL;
		if (!f)
			continue;
		void **slot = (void **)(uintptr_t)(o->base + r[i].r_offset);
		void *value = value_for(o, p, f, type, __atomic_load_n(slot, __ATOMIC_ACQUIRE));
		if (!value)
			continue;
		if (store(o, slot, value, knows, is_ready))
			p->slots++;
		else
			p->has_later = true;
	}
}

/* The loader lets no object be unloaded during the call. */
static int patch_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct patch *p = ctx;
	struct object o;
	bool knows = false, is_ready = false;

	(void)size;
	if (!read_object(info, &o) || is_left_out(&o))
		return 0;
	p->objects++;
	for (int i = 0; i < 2; i++)
		if (o.tables[i])
			patch_table(&o, p, o.tables[i], o.n[i], &knows, &is_ready);
	return 0;
}

bool slots_patch(bool on)
{
	struct patch p = { .on = on };

	dl_iterate_phdr(patch_object, &p);
	mem_library.live->slots = on ? p.slots : 0;
	mem_library.live->slots_foreign = p.foreign;
	mem_library.live->objects = p.objects;
	return !p.has_later;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

uint64_t slots_loads(void)
{
	uint64_t n = 0;

	dl_iterate_phdr(count_loads, &n);
	return n;
}
