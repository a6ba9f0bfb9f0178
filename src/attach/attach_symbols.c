/* Reads the symbols of the C library from the file that the process has mapped, and lists code
 * ranges that are not safe to interrupt. */
#include "attach/attach_symbols.h"

#include "attach/attach.h"
#include "base/err.h"
#include "base/mem.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/elf_symbols.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BEFORE_MALLOC = 16 << 10,
	OBJECTS_MAX = 4096, /* limit: files of a process that attach searches for an allocator */
	TEXT_PIECE = 64 << 10,
	TEXT_MAX = 16 << 20,
	CODE_BYTES = 9 /* of the longest code pattern */
};

enum role { ROLE_LIBC, ROLE_LOADER, ROLE_MALLOC, ROLE_OTHER };
struct object {
	struct gpu_map first; /* with offset 0; its name is not retained */
	enum role role;
	uint64_t code_start, code_end;
};
struct objects {
	VEC(struct object) v;
};

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* musl is its own loader. */
static enum role role_of(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (begins(name, "libc.so") || begins(name, "libc-") || begins(name, "libpthread") ||
	    begins(name, "libdl.so") || begins(name, "libdl-") || begins(name, "ld-musl-"))
		return ROLE_LIBC;
	if (begins(name, "ld-linux") || begins(name, "ld-2.") || begins(name, "ld.so"))
		return ROLE_LOADER;
	return strstr(name, "malloc") && strstr(name, ".so") ? ROLE_MALLOC : ROLE_OTHER;
}

static bool is_of(const struct object *o, const struct gpu_map *m)
{
	return o && o->first.ino == m->ino && o->first.maj == m->maj && o->first.min == m->min;
}

static bool visit(void *ctx, const struct gpu_map *m)
{
	struct objects *all = ctx;
	struct object *o = all->v.n ? &all->v.v[all->v.n - 1] : NULL;

	if (*m->name != '/')
		return true;
	if (m->pgoff == 0 && !is_of(o, m)) {
		vec_push(&all->v, (struct object){ .first = *m, .role = role_of(m->name) });
		o = &all->v.v[all->v.n - 1];
		o->first.name = "";
	}
	if (is_of(o, m) && m->executable) {
		o->code_start = o->code_start ? o->code_start : m->start;
		o->code_end = m->end;
	}
	return all->v.n < OBJECTS_MAX;
}

static void add_range(struct attach_symbols *s, uint64_t start, uint64_t end,
		      enum attach_range_kind kind)
{
	struct attach_range r = { start, end, kind };
	vec_push(&s->ranges, r);
}

struct opened {
	struct elf_file elf;
	uint64_t bias;
};

static uint64_t find(const struct opened *o, const char *name)
{
	GElf_Sym sym;
	return elf_find_dynamic(&o->elf, name, &sym) && GELF_ST_TYPE(sym.st_info) == STT_FUNC
		       ? o->bias + sym.st_value
		       : 0;
}

static void take_functions(const struct opened *o, struct attach_symbols *s)
{
	const struct {
		uint64_t *to;
		const char *name;
	} wanted[] = {
		{ &s->pthread_create, "pthread_create" },
		{ &s->pthread_detach, "pthread_detach" },
		{ &s->dlopen, "dlopen" },
		{ &s->dlopen, "__libc_dlopen_mode" }, /* glibc before 2.34 without libdl */
		{ &s->dlerror, "dlerror" },
		{ &s->munmap, "munmap" },
		{ &s->errno_location, "__errno_location" },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!*wanted[i].to)
			*wanted[i].to = find(o, wanted[i].name);
}

/* Functions in all their versions, of which the loader's look-up gives only one. */
struct named {
	const char *name;
	enum attach_range_kind kind;
	uint32_t before; /* bytes before it: static functions of the same source */
};
static const struct named named[] = {
	{ "pthread_cond_wait", ATTACH_WAITS, 0 },
	{ "pthread_cond_timedwait", ATTACH_WAITS, 0 },
	{ "pthread_cond_clockwait", ATTACH_WAITS, 0 },
	{ "sem_wait", ATTACH_WAITS, 512 },
	{ "sem_timedwait", ATTACH_WAITS, 512 },
	{ "sem_clockwait", ATTACH_WAITS, 512 },
	/* Constructors run below it. For musl, which has no other loader; elsewhere it adds one
	 * frame. */
	{ "dlopen", ATTACH_NO_CALL_FROM, 0 },
	{ "dlclose", ATTACH_NO_CALL_FROM, 0 },
	{ "dl_iterate_phdr", ATTACH_NO_CALL_FROM, 0 },
	/* _int_malloc and similar functions are before, and between, the named ones. */
	{ "malloc", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "free", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "calloc", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "realloc", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "memalign", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "aligned_alloc", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "posix_memalign", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "malloc_trim", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
	{ "malloc_info", ATTACH_NO_CALL_FROM, BEFORE_MALLOC },
};

static void take_range(const struct opened *o, const struct elf_symbol *sym, const char *name,
		       struct attach_symbols *s)
{
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strcmp(name, named[i].name) == 0)
			add_range(s, o->bias + sym->addr - named[i].before,
				  o->bias + sym->addr + sym->size, named[i].kind);
}

typedef void take_fn(const struct opened *o, const struct elf_symbol *sym, const char *name,
		     struct attach_symbols *s);

static void take_ranges(const struct opened *o, const struct elf_layout *layout, take_fn *take,
			struct attach_symbols *s)
{
	struct elf_symbols all = { 0 };
	struct elf_table table;
	char name[256];

	if ((elf_table_of_section(&o->elf, SHT_DYNSYM, &table) ||
	     elf_table_of_dynamic(&o->elf, layout, &table)) &&
	    elf_symbols_add_table(&all, &o->elf, &table, layout, NULL) > 0) {
		elf_symbols_hold_names(&all);
		elf_symbols_finish(&all, layout);
	}
	for (size_t i = 0; i < all.v.n; i++)
		if (elf_symbols_name(&all, elf_symbols_best_name(&all, &all.v.v[i]), name,
				     sizeof name))
			take(o, &all.v.v[i], name, s);
	elf_symbols_done(&all);
}

/* --- an allocator elsewhere ------------------------------------------------------------------- */

static bool is_allocator(const char *name)
{
	static const char *const functions[] = { "malloc",       "free",          "calloc",
						 "realloc",      "memalign",      "aligned_alloc",
						 "reallocarray", "posix_memalign" };
	static const char *const operators[] = { "_Znw", "_Zna", "_Zdl", "_Zda" };

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(name, functions[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (begins(name, operators[i]))
			return true;
	return false;
}

static void take_allocator(const struct opened *o, const struct elf_symbol *sym, const char *name,
			   struct attach_symbols *s)
{
	if (!is_allocator(name))
		return;
	add_range(s, o->bias + sym->addr, o->bias + sym->addr + sym->size, ATTACH_NO_CALL_FROM);
	vec_push(&s->allocators, o->bias + sym->addr);
}

/* --- code without a name ---------------------------------------------------------------------- */

struct code_search {
	struct attach_symbols *out;
	struct attach_range within; /* executable range */
};
struct code_wanted {
	const uint8_t *bytes;
	size_t len;
	/* Returns whether more of them are wanted. addr 0: takes none. */
	bool (*take)(struct code_search *c, uint64_t addr);
};

static bool take_restorer(struct code_search *c, uint64_t addr)
{
	if (addr)
		add_range(c->out, addr, addr + 1, ATTACH_NO_WORD);
	return true;
}

static bool take_first(uint64_t *to, uint64_t addr)
{
	*to = *to ? *to : addr;
	return !*to;
}
static bool take_system_call(struct code_search *c, uint64_t addr)
{
	return take_first(&c->out->shelter.system_call, addr);
}
static bool take_loop(struct code_search *c, uint64_t addr)
{
	return take_first(&c->out->shelter.loop, addr);
}

static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
		     system_call[] = { 0x0f, 0x05, 0xc3 }, loop[] = { 0x5c, 0xc3 };
static const struct code_wanted code_wanted[] = {
	{ restorer, sizeof restorer,
	  take_restorer }, /* mov $15, %rax; syscall: handlers return to it */
	{ system_call, sizeof system_call,
	  take_system_call },             /* syscall; ret: the end of getppid */
	{ loop, sizeof loop, take_loop }, /* pop %rsp; ret: in each pop %r12; ret */
};

static void look_for_code(struct code_search *c, uint64_t addr, const uint8_t *piece, size_t n)
{
	for (size_t i = 0; i < sizeof code_wanted / sizeof *code_wanted; i++) {
		const struct code_wanted *w = &code_wanted[i];
		bool is_wanted = w->take(c, 0);
		const uint8_t *p = piece;
		for (; is_wanted && (p = memmem(p, piece + n - p, w->bytes, w->len)); p++)
			if (addr + (p - piece) >= c->within.start &&
			    addr + (p - piece) + w->len <= c->within.end)
				is_wanted = w->take(c, addr + (p - piece));
	}
}

/* Text is the same in memory as in the file. Pieces overlap; finding code twice does no harm. */
static void take_code(const struct opened *o, const struct object *at, struct attach_symbols *s)
{
	struct code_search c = { s, { at->code_start, at->code_end, 0 } };
	uint64_t size = at->code_end - at->first.start;
	uint8_t *piece = xmalloc(TEXT_PIECE);

	for (uint64_t from = 0; from < size && from < TEXT_MAX; from += TEXT_PIECE - CODE_BYTES) {
		size_t n = elf_file_read_some(&o->elf, from, piece, TEXT_PIECE);
		look_for_code(&c, at->first.start + from, piece, n);
		if (n < TEXT_PIECE)
			break;
	}
	free(piece);
}

/* --- the loader's lock ------------------------------------------------------------------------ */

/* pthread_mutex_t of glibc: lock, count, owner, users, kind, spins, list. Matches recursive mutexes
 * whose spins and list are 0. */
static bool is_recursive_mutex(const uint32_t *m)
{
	enum { RECURSIVE = 1, WORDS = 10 };

	for (int i = 5; i < WORDS; i++)
		if (m[i])
			return false;
	return m[0] <= 2 && m[1] < 1000 && m[4] == RECURSIVE;
}

/* The loader's state, _rtld_global, has three of them in a row: for loading, for its list, for
 * thread-local storage. pthread_create takes the last one, since glibc 2.34. */
static uint64_t find_lock(uint32_t pid, uint64_t addr, uint64_t size)
{
	enum { STATE_MAX = 16 << 10, MUTEX = 10, MUTEXES = 3 };
	uint32_t *words = xcalloc(STATE_MAX / sizeof *words, sizeof *words);
	uint64_t found = 0;
	size_t n = (size < STATE_MAX ? size : STATE_MAX) / sizeof *words;
	struct iovec to = { words, n * sizeof *words },
		     from = { (void *)(uintptr_t)addr, n * sizeof *words };

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)to.iov_len)
		for (size_t i = 0; i + MUTEXES * MUTEX <= n && !found; i += 2)
			if (is_recursive_mutex(words + i) &&
			    is_recursive_mutex(words + i + MUTEX) &&
			    is_recursive_mutex(words + i + 2 * MUTEX))
				found = addr + (i + 2 * MUTEX) * sizeof *words;
	free(words);
	return found;
}

static void take_lock(uint32_t pid, const struct opened *o, struct attach_symbols *s)
{
	GElf_Sym sym;

	if (elf_find_dynamic(&o->elf, "_rtld_global", &sym))
		s->loader_lock = find_lock(pid, o->bias + sym.st_value, sym.st_size);
}

static void take_object(const struct opened *o, const struct elf_layout *layout,
			const struct object *at, struct attach_symbols *s)
{
	GElf_Sym sym;

	switch (at->role) {
	case ROLE_LIBC:
		take_functions(o, s);
		take_ranges(o, layout, take_range, s);
		take_code(o, at, s);
		vec_push(&s->libc, (struct attach_range){ at->code_start, at->code_end, 0 });
		break;
	case ROLE_LOADER:
	case ROLE_MALLOC:
		add_range(s, at->code_start, at->code_end, ATTACH_NO_CALL_FROM);
		break;
	case ROLE_OTHER:
		if (elf_find_dynamic(&o->elf, "malloc", &sym))
			take_ranges(o, layout, take_allocator, s);
		break;
	}
}

static void read_object(uint32_t pid, const struct gpu_attach_view *view, const struct object *at,
			struct attach_symbols *s)
{
	struct opened o = { 0 };
	struct elf_layout layout = { 0 };
	uint64_t vaddr;
	int fd = view->open(pid, &at->first);

	if (fd < 0)
		return;
	if (elf_file_open(&o.elf, fd, NULL) == 0) {
		if (elf_layout_read(&layout, &o.elf, NULL) == 0 &&
		    elf_layout_vaddr(&layout, 0, &vaddr)) {
			o.bias = at->first.start - vaddr;
			take_object(&o, &layout, at, s);
			if (at->role == ROLE_LOADER)
				take_lock(pid, &o, s);
		}
		elf_layout_done(&layout);
		elf_file_close(&o.elf);
	}
	close(fd);
}

int attach_symbols_find(uint32_t pid, const struct gpu_attach_view *view,
			struct attach_symbols *out, struct err *err)
{
	struct objects all = { 0 };
	struct attach_symbols got = { 0 };
	int rc = view->maps(pid, visit, &all);

	for (size_t i = 0; rc == 0 && i < all.v.n; i++)
		if (all.v.v[i].code_end)
			read_object(pid, view, &all.v.v[i], &got);
	vec_done(&all.v);
	if (rc < 0)
		return err_set(err, -rc, "cannot read the mappings of process %u: %s", pid,
			       strerror(-rc));
	if (!got.pthread_create || !got.pthread_detach || !got.dlopen || !got.munmap ||
	    !got.errno_location || !got.shelter.system_call || !got.shelter.loop) {
		attach_symbols_done(&got);
		return err_set(err, ENOTSUP, "process %u has no supported C library", pid);
	}
	*out = got;
	return 0;
}

void attach_symbols_done(struct attach_symbols *s)
{
	vec_done(&s->ranges);
	vec_done(&s->libc);
	vec_done(&s->allocators);
}
