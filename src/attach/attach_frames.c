/* Walks a stopped thread by unwind tables, and judges its frames. */
#include "attach/attach_frames.h"

#include "attach/attach.h"
#include "attach/attach_symbols.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/space.h"
#include "unwind/table.h"
#include "unwind/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	FRAMES_MAX = 512,      /* limit: frames of a thread that attach walks */
	STACK_COPY = 32 << 10, /* read by one call; the rest is read word by word */
	STACK_MAX = 1 << 20,   /* limit: stack whose return addresses are looked up beforehand */
	CALL_MAX = 7,          /* bytes of the longest call instruction */
	MAPS_MAX = 1 << 16,    /* limit: executable mappings that attach looks at */
	TABLES_MAX_BYTES = 64 << 20 /* limit: unwind tables that attach makes for one process */
};

struct frames_map {
	struct gpu_map map; /* its name is not retained */
	uint32_t table;     /* index + 1; 0: no file */
};
struct frames_table {
	uint32_t maj, min;
	uint64_t ino;
	bool is_wanted; /* a walk lacked it */
	bool is_seen;   /* the file is still mapped */
	struct space_table kernel;
	struct unwind_table table;
};

struct attach_frames {
	uint32_t pid;
	const struct gpu_attach_view *view;
	VEC(struct frames_map) maps; /* executable ones, in order */
	VEC(struct frames_table) tables;
	uint64_t table_bytes;
	bool lacks_map;
	const struct frames_table *current;
	uint64_t frames[FRAMES_MAX];
	uint64_t stack_from;
	size_t stack_bytes;
	uint8_t stack[STACK_COPY];
};

struct attach_frames *attach_frames_new(uint32_t pid, const struct gpu_attach_view *view)
{
	struct attach_frames *f = xcalloc(1, sizeof *f);

	f->pid = pid;
	f->view = view;
	f->lacks_map = true;
	return f;
}

void attach_frames_free(struct attach_frames *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->tables.n; i++)
		unwind_table_done(&f->tables.v[i].table);
	vec_done(&f->tables);
	vec_done(&f->maps);
	free(f);
}

static bool read_of(uint32_t pid, void *to, size_t size, uint64_t address)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* --- mappings and tables ---------------------------------------------------------------------- */

static uint32_t table_of(struct attach_frames *f, const struct gpu_map *m)
{
	for (size_t i = 0; i < f->tables.n; i++)
		if (f->tables.v[i].ino == m->ino && f->tables.v[i].maj == m->maj &&
		    f->tables.v[i].min == m->min) {
			f->tables.v[i].is_seen = true;
			return i + 1;
		}
	vec_push(&f->tables, (struct frames_table){ .maj = m->maj,
						    .min = m->min,
						    .ino = m->ino,
						    .is_seen = true,
						    .kernel.state = TABLE_WANTED });
	return f->tables.n;
}

static bool take_map(void *ctx, const struct gpu_map *m)
{
	struct attach_frames *f = ctx;

	if (!m->executable)
		return true;
	struct frames_map got = { *m, m->ino ? table_of(f, m) : 0 };
	got.map.name = "";
	vec_push(&f->maps, got);
	return f->maps.n < MAPS_MAX;
}

/* A file that is mapped no more may be another one when it is again. */
static void forget(struct frames_table *t)
{
	unwind_table_done(&t->table);
	t->table = (struct unwind_table){ 0 };
	t->kernel = (struct space_table){ .state = TABLE_WANTED };
}

static void read_maps(struct attach_frames *f)
{
	vec_clear(&f->maps);
	for (size_t i = 0; i < f->tables.n; i++)
		f->tables.v[i].is_seen = false;
	if (f->view->maps(f->pid, take_map, f) < 0)
		vec_clear(&f->maps);
	for (size_t i = 0; i < f->tables.n; i++)
		if (!f->tables.v[i].is_seen)
			forget(&f->tables.v[i]);
	f->lacks_map = false;
}

/* A file without rules gets a table without rules: its frames are not walked. */
static void build(struct attach_frames *f, struct frames_table *t, const struct gpu_map *m)
{
	int fd = f->table_bytes < TABLES_MAX_BYTES ? f->view->open(f->pid, m) : -1;

	t->is_wanted = false;
	t->kernel.state = TABLE_NONE;
	if (fd < 0)
		return;
	if (unwind_table_build(fd, &t->table, NULL) == 0) {
		t->kernel.state = TABLE_READY;
		t->kernel.ref = t->table.ref;
		f->table_bytes += t->table.image.len;
	}
	close(fd);
}

static bool build_wanted(struct attach_frames *f)
{
	bool is_more = false;

	for (size_t i = 0; i < f->maps.n; i++) {
		const struct frames_map *m = &f->maps.v[i];
		struct frames_table *t = m->table ? &f->tables.v[m->table - 1] : NULL;

		if (!t || !t->is_wanted || t->kernel.state != TABLE_WANTED)
			continue;
		struct gpu_map file = m->map;
		build(f, t, &file);
		is_more = true;
	}
	return is_more;
}

bool attach_frames_update(struct attach_frames *f)
{
	bool lacked_map = f->lacks_map;

	read_maps(f);
	return build_wanted(f) || lacked_map;
}

static const struct frames_map *map_of(const struct attach_frames *f, uint64_t address)
{
	size_t from = 0, to = f->maps.n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (f->maps.v[middle].map.end <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from < f->maps.n && f->maps.v[from].map.start <= address ? &f->maps.v[from] : NULL;
}

bool attach_frames_is_behind_call(uint32_t pid, uint64_t addr)
{
	static const uint8_t indirect[] = { 2, 3, 4, 6, 7 }; /* lengths of ff /2 */
	uint8_t b[CALL_MAX];

	if (!read_of(pid, b, sizeof b, addr - CALL_MAX))
		return true;
	if (b[CALL_MAX - 5] == 0xe8)
		return true;
	for (size_t i = 0; i < sizeof indirect; i++)
		if (b[CALL_MAX - indirect[i]] == 0xff &&
		    (b[CALL_MAX - indirect[i] + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

/* Its table, if that is yet to be built. */
static struct frames_table *unbuilt_table_of(struct attach_frames *f, uint64_t address)
{
	const struct frames_map *m = map_of(f, address);
	struct frames_table *t = m && m->table ? &f->tables.v[m->table - 1] : NULL;

	return t && !t->is_wanted && t->kernel.state == TABLE_WANTED ? t : NULL;
}

static void want_callers(struct attach_frames *f, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct frames_table *t = unbuilt_table_of(f, words[i] - 1);

		if (t && attach_frames_is_behind_call(f->pid, words[i]))
			t->is_wanted = true;
	}
}

void attach_frames_prepare(struct attach_frames *f, uint64_t pc, uint64_t sp, uint64_t end)
{
	uint64_t *words = xmalloc(STACK_COPY), until = end - sp < STACK_MAX ? end : sp + STACK_MAX;

	read_maps(f);
	struct frames_table *leaf = unbuilt_table_of(f, pc);
	if (leaf)
		leaf->is_wanted = true;
	for (uint64_t at = sp; at < until; at += STACK_COPY) {
		size_t n = until - at < STACK_COPY ? until - at : STACK_COPY;
		if (!read_of(f->pid, words, n, at))
			break;
		want_callers(f, words, n / sizeof *words);
	}
	free(words);
	build_wanted(f);
}

/* --- callbacks of the walker ------------------------------------------------------------------ */

static bool read_there(const struct attach_frames *f, void *to, size_t size, uint64_t address)
{
	return read_of(f->pid, to, size, address);
}

static bool read_memory(void *ctx, void *to, size_t size, uint64_t address)
{
	const struct attach_frames *f = ctx;
	uint64_t at = address - f->stack_from;

	if (address < f->stack_from || at >= f->stack_bytes || size > f->stack_bytes - at)
		return read_there(f, to, size, address);
	memcpy(to, f->stack + at, size);
	return true;
}

/* Without an object's number a frame is an address. */
static bool find_map(void *ctx, uint64_t address, struct space_mapping *out)
{
	struct attach_frames *f = ctx;
	const struct frames_map *m = map_of(f, address);

	f->lacks_map |= !m;
	if (!m)
		return false;
	*out = (struct space_mapping){
		.start = m->map.start, .end = m->map.end, .pgoff = m->map.pgoff, .table = m->table
	};
	return true;
}

static struct space_table *get_table(void *ctx, uint32_t index)
{
	struct attach_frames *f = ctx;
	struct frames_table *t = &f->tables.v[index - 1];

	t->is_wanted |= t->kernel.state == TABLE_WANTED;
	f->current = t;
	return &t->kernel;
}

static const void *get_chunk(void *ctx, uint32_t chunk)
{
	const struct buf *image = &((struct attach_frames *)ctx)->current->table.image;

	return chunk < image->len / UNWIND_CHUNK ? image->data + (size_t)chunk * UNWIND_CHUNK
						 : NULL;
}

/* --- a walk ----------------------------------------------------------------------------------- */

static const struct unwind_rule *rule_of(const struct attach_frames *f, uint64_t pc)
{
	const struct frames_map *m = map_of(f, pc);
	const struct frames_table *t = m && m->table ? &f->tables.v[m->table - 1] : NULL;

	return t && t->kernel.state == TABLE_READY
		       ? unwind_table_find(&t->table, pc - m->map.start + m->map.pgoff)
		       : NULL;
}

static void copy_stack(struct attach_frames *f, uint64_t sp)
{
	struct iovec local = { f->stack, sizeof f->stack },
		     remote = { (void *)(uintptr_t)sp, sizeof f->stack };
	ssize_t n = process_vm_readv(f->pid, &local, 1, &remote, 1, 0);

	f->stack_from = sp;
	f->stack_bytes = n > 0 ? n : 0;
}

/* The rule of each frame, the last one included: code in a gap between rules ends a walk as well,
 * where a register happens to be 0. */
static void check_rules(struct attach_frames *f, struct attach_walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct unwind_rule *r = rule_of(f, w->pc[i]);

		w->is_whole &= r && UNWIND_KIND(r->cfa) != UNWIND_GAP;
		w->has_handler |= r && r->flags & UNWIND_SIGNAL;
	}
}

struct attach_walk attach_frames_walk(struct attach_frames *f, const uint64_t regs[PT_REGS_WORDS])
{
	const struct unwind_source source = { .ctx = f,
					      .read = read_memory,
					      .find = find_map,
					      .table = get_table,
					      .chunk = get_chunk };

	copy_stack(f, regs[PT_SP]);
	struct unwind_walk got = unwind_walk(&source, regs, f->frames, FRAMES_MAX);
	for (uint32_t i = 0; i < got.n; i++)
		f->frames[i] &= ~FRAME_ADDRESS;
	struct attach_walk w = {
		.pc = f->frames,
		.n = got.n,
		.is_whole = got.n && got.end == WALK_COMPLETE && !got.by_fp,
		.is_early = f->lacks_map || got.end == WALK_NOT_LOADED,
	};
	check_rules(f, &w);
	return w;
}

/* --- what the frames say ---------------------------------------------------------------------- */

static bool is_within(const struct attach_range *r, uint64_t pc)
{
	return pc >= r->start && pc < r->end;
}

/* A caller's frame has the last byte of its call; the call returns to the byte after it. */
static bool is_in(const struct attach_symbols *s, uint64_t pc, enum attach_range_kind kind)
{
	for (size_t i = 0; i < s->ranges.n; i++)
		if (s->ranges.v[i].kind == kind &&
		    (is_within(&s->ranges.v[i], pc) || is_within(&s->ranges.v[i], pc + 1)))
			return true;
	return false;
}

static bool is_in_libc(const struct attach_symbols *s, uint64_t pc)
{
	for (size_t i = 0; i < s->libc.n; i++)
		if (is_within(&s->libc.v[i], pc))
			return true;
	return false;
}

/* Follows a jump of a stub: `jmp *slot(%rip)`, after `endbr64` or not, with `bnd` or not. */
static uint64_t behind_stub(const struct attach_frames *f, uint64_t address)
{
	uint8_t code[16];
	uint64_t target;
	int32_t slot;
	size_t at = 0;

	if (!read_there(f, code, sizeof code, address))
		return address;
	if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
		at = 4;
	if (code[at] == 0xf2)
		at++;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return address;
	memcpy(&slot, code + at + 2, sizeof slot);
	return read_there(f, &target, sizeof target, address + at + 6 + slot) ? target : address;
}

/* Returns the function that the call with its last byte at pc called; 0: not known. */
static uint64_t callee_of(const struct attach_frames *f, uint64_t pc)
{
	uint64_t back = pc + 1, target;
	uint8_t code[6];
	int32_t offset;

	if (!read_there(f, code, sizeof code, back - sizeof code))
		return 0;
	memcpy(&offset, code + 2, sizeof offset);
	if (code[0] == 0xff && code[1] == 0x15)
		return read_there(f, &target, sizeof target, back + offset) ? target : 0;
	return code[1] == 0xe8 ? behind_stub(f, back + offset) : 0;
}

/* An allocator's function may jump to the one that does the work, and so have no frame. */
static bool calls_allocator(const struct attach_frames *f, const struct attach_symbols *s,
			    uint64_t pc)
{
	uint64_t callee = s->allocators.n ? callee_of(f, pc) : 0;

	for (size_t i = 0; callee && i < s->allocators.n; i++)
		if (s->allocators.v[i] == callee)
			return true;
	return false;
}

bool attach_frames_are_free(struct attach_frames *f, const struct attach_walk *w,
			    const struct attach_symbols *symbols)
{
	if (!w->is_whole || w->has_handler)
		return false;
	for (size_t i = 0; i < w->n; i++)
		if (is_in(symbols, w->pc[i], ATTACH_NO_CALL_FROM) ||
		    is_in(symbols, w->pc[i], ATTACH_NO_WORD) ||
		    (i && calls_allocator(f, symbols, w->pc[i])))
			return false;
	return true;
}

bool attach_frames_wait(const struct attach_walk *w, const struct attach_symbols *symbols)
{
	for (size_t i = 0; i < w->n; i++)
		if (is_in(symbols, w->pc[i], ATTACH_WAITS))
			return true;
	return false;
}

/* The C library starts the program and each thread: its frames are the first ones, with at most
 * the program's entry before them. */
bool attach_frames_are_outside(struct attach_frames *f, const struct attach_walk *w,
			       const struct attach_symbols *symbols)
{
	size_t own = 0, libc;

	while (own < w->n && !is_in_libc(symbols, w->pc[own]))
		own++;
	libc = own;
	while (libc < w->n && is_in_libc(symbols, w->pc[libc]))
		libc++;
	return own && libc > own && libc + 1 >= w->n && attach_frames_are_free(f, w, symbols);
}
