/* tests/unit/stepped.h: a program that runs one instruction at a time and can be walked by the walker: its memory, its mappings, and the tables of
 * its mapped files. */
#ifndef CRESSET_TESTS_STEPPED_H
#define CRESSET_TESTS_STEPPED_H

#include "shell.h"

#include "base/vec.h"
#include "bpf/space.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "symbol/symbol.h"
#include "unwind/table.h"
#include "unwind/walk.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

/* A mapped file; its table lies in the chunks from index << STEPPED_CHUNK_BITS on. */
enum { STEPPED_CHUNK_BITS = 16, STEPPED_WINDOW = 1 << 16, STEPPED_PIECE = 2048 };
struct stepped_object {
	char *path;
	int fd;
	const uint8_t *data;
	size_t size;
	struct unwind_table table;
	struct space_table kernel;
	struct symbol_source *symbols; /* NULL: has none */
};
struct stepped {
	pid_t pid;
	int status; /* of the last wait */
	bool ended;
	struct user_regs_struct regs;
	VEC(struct space_mapping) maps;     /* executable ones; table is the object's index */
	VEC(struct stepped_object) objects; /* [0] is none */
	struct known_frame *known;          /* while maps stay the same */
	uint8_t window[STEPPED_WINDOW];     /* memory from window_at on, at this step */
	uint64_t window_at;
	size_t window_len;
};

/* --- files --------------------------------------------------------------------------------------- */

static inline struct stepped_object stepped_open(const char *path)
{
	struct stepped_object o = { .path = strdup(path) };
	struct stat st;

	o.fd = strcmp(path, "[vdso]") == 0 ? vdso_open() : open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(o.fd >= 0, "%s", path);
	ck_assert_int_eq(fstat(o.fd, &st), 0);
	o.size = st.st_size;
	o.data = mmap(NULL, o.size, PROT_READ, MAP_PRIVATE, o.fd, 0);
	ck_assert_ptr_ne(o.data, MAP_FAILED);
	if (unwind_table_build(o.fd, &o.table, NULL) == 0) {
		o.kernel.ref = o.table.ref;
		o.kernel.state = TABLE_READY;
		ck_assert_uint_lt(o.table.image.len / UNWIND_CHUNK, 1u << STEPPED_CHUNK_BITS);
	}
	symbol_open_elf(o.fd, NULL, NULL, &o.symbols, NULL);
	return o;
}

static inline uint32_t stepped_object(struct stepped *s, const char *path)
{
	if (path[0] != '/' && strcmp(path, "[vdso]") != 0)
		return 0;
	for (uint32_t i = 1; i < s->objects.n; i++)
		if (strcmp(s->objects.v[i].path, path) == 0)
			return i;
	if (s->objects.n == 0)
		vec_push(&s->objects, (struct stepped_object){ .fd = -1 });
	vec_push(&s->objects, stepped_open(path));
	uint32_t i = s->objects.n - 1;
	s->objects.v[i].kernel.ref.chunk = i << STEPPED_CHUNK_BITS;
	return i;
}

static inline bool stepped_map(void *ctx, const struct proc_map *m)
{
	struct stepped *s = ctx;

	if (m->executable && strcmp(m->name, "[vsyscall]") != 0)
		vec_push(&s->maps, (struct space_mapping){ .start = m->start,
							   .end = m->end,
							   .pgoff = m->pgoff,
							   .table = stepped_object(s, m->name) });
	return true;
}

static inline void stepped_read_maps(struct stepped *s)
{
	s->maps.n = 0;
	free(s->known);
	s->known = unwind_known_new();
	ck_assert_int_eq(proc_maps_read(s->pid, stepped_map, s), 0);
}

static inline const struct space_mapping *stepped_mapping(const struct stepped *s, uint64_t address)
{
	for (size_t i = 0; i < s->maps.n; i++)
		if (address >= s->maps.v[i].start && address < s->maps.v[i].end)
			return &s->maps.v[i];
	return NULL;
}

/* --- memory -------------------------------------------------------------------------------------- */

static inline size_t stepped_copy(const struct stepped *s, void *to, size_t size, uint64_t address)
{
	struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };
	ssize_t n = process_vm_readv(s->pid, &here, 1, &there, 1, 0);

	return n < 0 ? 0 : n;
}

/* Most reads are near the stack pointer: one call reads that memory. */
static inline bool stepped_read(void *ctx, void *to, size_t size, uint64_t address)
{
	struct stepped *s = ctx;
	uint64_t at = address - s->window_at;

	if (at > STEPPED_WINDOW - STEPPED_PIECE)
		return stepped_copy(s, to, size, address) == size;
	while (at + size > s->window_len) {
		size_t n = stepped_copy(s, s->window + s->window_len, STEPPED_PIECE,
					s->window_at + s->window_len);
		if (n == 0)
			return false;
		s->window_len += n;
	}
	memcpy(to, s->window + at, size);
	return true;
}

/* The instruction at an address; returns how many of its bytes there are. */
static inline size_t stepped_code(const struct stepped *s, uint64_t address, uint8_t *code,
				  size_t size)
{
	const struct space_mapping *m = stepped_mapping(s, address);
	const struct stepped_object *o = m && m->table ? &s->objects.v[m->table] : NULL;
	uint64_t at = m ? address - m->start + m->pgoff : 0;

	if (!o || at >= o->size || size > o->size - at)
		return stepped_copy(s, code, size, address);
	memcpy(code, o->data + at, size);
	return size;
}

/* --- running ------------------------------------------------------------------------------------- */

static inline void stepped_wait(struct stepped *s)
{
	ck_assert_int_eq(waitpid(s->pid, &s->status, 0), s->pid);
	s->ended = WIFEXITED(s->status) || WIFSIGNALED(s->status);
	if (s->ended)
		return;
	ck_assert_int_eq(ptrace(PTRACE_GETREGS, s->pid, NULL, &s->regs), 0);
	s->window_at = s->regs.rsp - 128;
	s->window_len = 0;
}

/* Executes one instruction, or delivers a signal. */
static inline void stepped_step(struct stepped *s, int sig)
{
	ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, (void *)(intptr_t)sig), 0);
	stepped_wait(s);
}

/* Starts a program; it stops at its (or its dynamic linker's) first instruction. */
static inline void stepped_start(struct stepped *s, char *const argv[])
{
	s->pid = fork();
	ck_assert_int_ge(s->pid, 0);
	if (s->pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	stepped_wait(s);
	ck_assert_msg(!s->ended, "%s does not start", argv[0]);
	ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)PTRACE_O_EXITKILL);
	stepped_read_maps(s);
}

/* The program's own entry point. */
static inline uint64_t stepped_entry(const struct stepped *s)
{
	char path[64];
	uint64_t pair[2], entry = 0;

	snprintf(path, sizeof path, "/proc/%d/auxv", s->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (read(fd, pair, sizeof pair) == sizeof pair)
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	close(fd);
	return entry;
}

/* Lets it run to an address. */
static inline void stepped_run_to(struct stepped *s, uint64_t address)
{
	void *at = (void *)(uintptr_t)address;

	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, s->pid, at, NULL);
	ck_assert_int_eq(errno, 0);
	ptrace(PTRACE_POKETEXT, s->pid, at, (void *)((word & ~0xffl) | 0xcc));
	ck_assert_int_eq(ptrace(PTRACE_CONT, s->pid, NULL, NULL), 0);
	stepped_wait(s);
	ck_assert_uint_eq(s->regs.rip, address + 1);
	ptrace(PTRACE_POKETEXT, s->pid, at, (void *)word);
	s->regs.rip = address;
	ck_assert_int_eq(ptrace(PTRACE_SETREGS, s->pid, NULL, &s->regs), 0);
	stepped_read_maps(s);
}

static inline void stepped_kill(struct stepped *s)
{
	if (s->ended)
		return;
	kill(s->pid, SIGKILL);
	waitpid(s->pid, &s->status, 0);
	s->ended = true;
}

static inline void stepped_done(struct stepped *s)
{
	for (size_t i = 1; i < s->objects.n; i++) {
		struct stepped_object *o = &s->objects.v[i];

		symbol_close(o->symbols);
		unwind_table_done(&o->table);
		munmap((void *)o->data, o->size);
		close(o->fd);
		free(o->path);
	}
	vec_done(&s->objects);
	vec_done(&s->maps);
	free(s->known);
}

/* --- walking ------------------------------------------------------------------------------------- */

/* In memory without an object, frames are addresses: so all of them are here. */
static inline bool stepped_find(void *ctx, uint64_t address, struct space_mapping *out)
{
	const struct space_mapping *m = stepped_mapping(ctx, address);

	if (m)
		*out = *m;
	return m != NULL;
}

static inline struct space_table *stepped_table(void *ctx, uint32_t index)
{
	struct stepped *s = ctx;

	return index < s->objects.n ? &s->objects.v[index].kernel : NULL;
}

static inline const void *stepped_chunk(void *ctx, uint32_t chunk)
{
	struct stepped *s = ctx;
	const struct buf *image = &s->objects.v[chunk >> STEPPED_CHUNK_BITS].table.image;
	size_t at = (size_t)(chunk & ((1u << STEPPED_CHUNK_BITS) - 1)) * UNWIND_CHUNK;

	return at < image->len ? image->data + at : NULL;
}

/* Addresses of frames, leaf first; a caller's is that of its call's last byte. */
static inline struct unwind_walk stepped_walk(struct stepped *s, uint64_t *frames, uint32_t max)
{
	struct unwind_source source = { .ctx = s,
					.read = stepped_read,
					.find = stepped_find,
					.table = stepped_table,
					.chunk = stepped_chunk,
					.known = s->known };
	uint64_t regs[PT_REGS_WORDS];

	_Static_assert(sizeof s->regs >= sizeof regs, "user_regs_struct begins with pt_regs");
	memcpy(regs, &s->regs, sizeof regs);
	struct unwind_walk w = unwind_walk(&source, regs, frames, max);
	for (uint32_t i = 0; i < w.n; i++)
		frames[i] &= ~FRAME_ADDRESS;
	return w;
}

/* "function+0x12 (file)" */
static inline void stepped_name(const struct stepped *s, uint64_t address, bool with_offset,
				char *out, size_t size)
{
	const struct space_mapping *m = stepped_mapping(s, address);
	const struct stepped_object *o = m && m->table ? &s->objects.v[m->table] : NULL;
	const char *file = o && strrchr(o->path, '/') ? strrchr(o->path, '/') + 1
			   : o                        ? o->path
						      : "no file";
	uint64_t at = m ? address - m->start + m->pgoff : address;
	struct symbol sym;

	if (!o || !o->symbols || !symbol_lookup(o->symbols, at, &sym))
		snprintf(out, size, "0x%lx (%s)", at, file);
	else if (with_offset)
		snprintf(out, size, "%s+0x%lx (%s)", sym.name, at - sym.start, file);
	else
		snprintf(out, size, "%s (%s)", sym.name, file);
}

#endif
