/* Converts addresses to frames, by the mappings at the sample's time. */
#include "format/perf_data/perf_data_frames.h"

#include "base/buf.h"
#include "base/mem.h"
#include "format/common/format.h"
#include "format/common/user_stack.h"
#include "format/perf_data/perf_data_event.h"
#include "format/perf_data/perf_data_space.h"
#include "profile/sink.h"

#include <linux/perf_event.h>
#include <string.h>

enum { DEFAULT_MAX_STACK = 127 }; /* sysctl kernel.perf_event_max_stack */

/* Register numbers of the program counter: PERF_REG_X86_IP, PERF_REG_ARM64_PC. */
enum { X86_IP = 8, ARM64_PC = 32 };
#define X86_64_REGS 0xff0fffull /* requested by perf there: without ds, es, fs, gs */

/* The link address of _text on x86-64; KASLR adds a multiple of 2 MiB. From X86_MODULES_START on
 * there are modules and compiled BPF programs. */
#define X86_LINKED_TEXT   0xffffffff81000000ull
#define X86_TEXT_ALIGN    (2ull << 20)
#define X86_MODULES_START 0xffffffffc0000000ull

/* perf's range of kernel code excludes code that is freed after boot, but the first frames of all
 * kernel threads and idle CPUs are there. No image is larger. */
#define KERNEL_IMAGE_MAX (64ull << 20)

/* Larger numbers in a chain are not addresses but name the side of the next ones. */
#define CONTEXT_FIRST ((uint64_t)-4095)

void pd_frames_init(struct pd_frames *f, struct sink *sink, const struct pd_info *info,
		    struct pd_world *world, const struct format_here *here)
{
	*f = (struct pd_frames){ .sink = sink, .info = info, .world = world, .here = here };
	pd_code_init(&f->code, here);
}

void pd_frames_done(struct pd_frames *f)
{
	vec_done(&f->objects);
	map_done(&f->object_index);
	map_done(&f->by_build_id);
	map_done(&f->replaced);
	arena_done(&f->paths);
	pd_code_done(&f->code);
	vec_done(&f->stack);
}

/* --- objects ---------------------------------------------------------------------------------- */

struct object_key {
	const struct pd_frames *frames;
	const struct pd_object *wanted;
};

static bool same_object(const void *ctx, uint32_t i)
{
	const struct object_key *key = ctx;
	const struct pd_object *a = &key->frames->objects.v[i], *b = key->wanted;
	return a->kind == b->kind && a->name == b->name && a->identity == b->identity &&
	       a->start == b->start && a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

static uint32_t object_intern(struct pd_frames *f, const struct pd_object *o)
{
	struct object_key key = { f, o };
	uint64_t hash = hash_mix(hash_mix(o->name, o->identity), o->start);
	hash = hash_mix(hash, hash_bytes(o->build_id, o->build_id_len));
	uint32_t known, fresh = f->objects.n;
	if (map_lookup(&f->object_index, hash, same_object, &key, &known))
		return known;
	if (fresh >= PD_MAX_OBJECTS)
		return UINT32_MAX;
	map_intern(&f->object_index, hash, fresh, same_object, &key);
	vec_push(&f->objects, *o);
	return fresh;
}

static bool text_is(const char *s, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(s, want, len) == 0;
}
static bool text_starts(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);
	return len >= n && memcmp(s, prefix, n) == 0;
}

/* Whether a name is the kernel's for anonymous memory, or of a file that only JIT compilers
 * create. */
static bool is_code(const char *name, size_t len)
{
	static const char *const whole[] = { "", "//anon", "[heap]", "/dev/zero",
					     "/anon_hugepage" };
	static const char *const starts[] = { "[stack", "[anon:",  "[anon_shmem:",
					      "/SYSV",  "/memfd:", "anon_inode:" };
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (text_is(name, len, whole[i]))
			return true;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (text_starts(name, len, starts[i]))
			return true;
	return false;
}

static bool is_of_this_host(const struct pd_frames *f)
{
	return f->here && f->info->host && strcmp(f->info->host, f->here->host) == 0;
}

/* Whether the file was replaced while it was mapped. perf reads its table of build ids at the end
 * of a recording, by path: the id is then that of the new file. */
static bool is_replaced(struct pd_frames *f, const struct pd_mapped *m)
{
	if (!m->inode || !is_of_this_host(f) || !f->here->is_replaced)
		return false;
	const uint32_t *known = map_get(&f->replaced, m->identity);
	if (known)
		return *known;
	const char *path = arena_dup(&f->paths, m->name, m->name_len);
	bool is = f->here->is_replaced(path, m->dev_major, m->dev_minor, m->inode, m->generation);
	map_put(&f->replaced, m->identity, is);
	return is;
}

/* Whether the file was written again after the recording. Only needed without a build id. */
static bool is_changed(struct pd_frames *f, const struct pd_mapped *m)
{
	if (!m->inode || !is_of_this_host(f) || !f->here->written_ns || !f->here->is_newer)
		return false;
	uint64_t key = hash_mix(m->identity, 1);
	const uint32_t *known = map_get(&f->replaced, key);
	if (known)
		return *known;
	const char *path = arena_dup(&f->paths, m->name, m->name_len);
	bool is = f->here->is_newer(path, f->here->written_ns);
	map_put(&f->replaced, key, is);
	return is;
}

static void object_take_build_id(struct pd_frames *f, struct pd_object *o,
				 const struct pd_mapped *m, bool is_deleted)
{
	const struct pd_build_id *b =
		is_deleted ? NULL : pd_info_find_build_id(f->info, m->name, m->name_len);
	const uint8_t *id = m->build_id ? m->build_id : b ? b->id : NULL;
	o->build_id_len = m->build_id ? m->build_id_len : b ? b->len : 0;
	if (id && build_id_is_valid(id, o->build_id_len))
		memcpy(o->build_id, id, o->build_id_len);
	else
		o->build_id_len = 0;
	o->identity = o->build_id_len ? 0 : m->identity;
	o->inode = m->inode;
	o->generation = m->generation;
}

/* Finds out whether a new object is another file than the first one with its build id. */
static void tell_apart(struct pd_frames *f, uint32_t i)
{
	struct pd_object *o = &f->objects.v[i];
	uint64_t hash = hash_bytes(o->build_id, o->build_id_len);
	const uint32_t *first = map_get(&f->by_build_id, hash);
	if (!o->build_id_len || !is_of_this_host(f) || !f->here->are_two)
		return;
	if (!first) {
		map_put(&f->by_build_id, hash, i);
		return;
	}
	const char *other = f->objects.v[*first].path;
	o->shares_build_id = f->here->are_two(other, o->path, o->build_id, o->build_id_len);
	if (!o->shares_build_id)
		return;
	struct buf text = { 0 };
	buf_addf(&text, "%s has the build id of %s, another file: it is identified by path only",
		 o->path, other);
	vec_push(&f->sink->ops->meta(f->sink)->comments, sink_string(f->sink, buf_cstr(&text)));
	f->sink->ops->loss(f->sink, LOSS_BUILD_ID_SHARED, 1);
	buf_done(&text);
}

/* A deleted or replaced file is called "app (deleted)": nothing is looked up at its path. */
uint32_t pd_object_of_file(struct pd_frames *f, const struct pd_mapped *m)
{
	static const char deleted[] = " (deleted)";
	struct pd_object o = { .kind = PD_FILE, .mapping = MAPPING_NONE };
	size_t len = m->name_len, end = sizeof deleted - 1;
	bool is_marked = len > end && memcmp(m->name + len - end, deleted, end) == 0;
	bool is_deleted = is_marked || is_replaced(f, m);
	struct buf name = { 0 };
	len -= is_marked ? end : 0;
	object_take_build_id(f, &o, m, is_deleted);
	is_deleted |= !o.build_id_len && is_changed(f, m);
	if (!o.build_id_len && is_code(m->name, len)) {
		o.kind = PD_CODE;
		o.identity = 0;
	} else {
		buf_add(&name, m->name, len);
		buf_adds(&name, is_deleted ? deleted : "");
	}
	o.name = f->sink->ops->string(f->sink, buf_cstr(&name), name.len);
	size_t n = f->objects.n;
	uint32_t i = object_intern(f, &o);
	if (f->objects.n > n) {
		f->objects.v[i].path = arena_dup(&f->paths, name.len ? name.data : "", name.len);
		tell_apart(f, i);
	}
	buf_done(&name);
	return i;
}

uint32_t pd_object_of_symbol(struct pd_frames *f, const char *name, size_t len)
{
	struct pd_object o = { .kind = PD_BPF_SYMBOL, .mapping = MAPPING_NONE };
	o.name = f->sink->ops->string(f->sink, name, len);
	return object_intern(f, &o);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* Returns whether the machine is x86-64. A killed recording does not report this, but the kernel's
 * address does. text: address of its code; 0: unknown. */
static bool is_x86(const struct pd_frames *f, uint64_t text)
{
	if (f->info->arch)
		return strcmp(f->info->arch, "x86_64") == 0;
	return text >= X86_LINKED_TEXT && text < X86_MODULES_START;
}

/* Returns a module's name as in the kernel: "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz" is
 * [ext4], "nf-nat.ko" is [nf_nat]. */
static uint32_t module_name(struct pd_frames *f, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len), *base = slash ? slash + 1 : path;
	const char *ending = memmem(base, path + len - base, ".ko", 3);
	const char *end = ending ? ending : path + len;
	struct buf b = { 0 };
	if (text_starts(base, end - base, "["))
		return f->sink->ops->string(f->sink, path, len);
	buf_addc(&b, '[');
	for (; base < end; base++)
		buf_addc(&b, *base == '-' ? '_' : *base);
	buf_addc(&b, ']');
	uint32_t name = f->sink->ops->string(f->sink, b.data, b.len);
	buf_done(&b);
	return name;
}

static bool add_module(struct pd_frames *f, const struct pd_mapped *m, uint64_t start, uint64_t end)
{
	struct pd_object o = { .kind = PD_MODULE, .start = start, .mapping = MAPPING_NONE };
	object_take_build_id(f, &o, m, false);
	o.name = module_name(f, m->name, m->name_len);
	struct pd_map map = { start, end, 0, object_intern(f, &o) };
	return map.object != UINT32_MAX && pd_world_map_kernel(f->world, &map);
}

/* Adds the kernel's code. Without the address of _text (kptr_restrict) kernel addresses cannot be
 * resolved. */
static bool add_text(struct pd_frames *f, const struct pd_mapped *m, uint64_t start, uint64_t end,
		     uint64_t text)
{
	struct pd_mapped plain = *m;
	struct pd_object o = { .kind = PD_KERNEL, .start = text, .mapping = MAPPING_NONE };
	const char *close = memchr(m->name, ']', m->name_len);
	if (!text || end <= start)
		return true;
	plain.name_len = close ? close + 1 - m->name : (ptrdiff_t)m->name_len;
	object_take_build_id(f, &o, &plain, false);
	o.name = sink_string(f->sink, "[kernel]");
	f->text_object = object_intern(f, &o);
	f->text_start = start;
	f->text_end = start > UINT64_MAX - KERNEL_IMAGE_MAX ? end : start + KERNEL_IMAGE_MAX;
	if (is_x86(f, text) && f->text_end > X86_MODULES_START)
		f->text_end = X86_MODULES_START;
	f->text_shift = is_x86(f, text) ? (text & ~(X86_TEXT_ALIGN - 1)) - X86_LINKED_TEXT : text;
	return f->text_object != UINT32_MAX;
}

bool pd_frames_add_kernel(struct pd_frames *f, const struct pd_mapped *m, uint64_t start,
			  uint64_t end, uint64_t text)
{
	if (text_starts(m->name, m->name_len, "[kernel.kallsyms]"))
		return add_text(f, m, start, end, text);
	return add_module(f, m, start, end);
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t named_frame(struct pd_frames *f, enum frame_kind kind, uint32_t name,
			    const char *binary)
{
	struct frame fr = { .kind = kind, .mapping = MAPPING_NONE, .function = name };
	fr.binary = sink_string(f->sink, binary);
	return f->sink->ops->frame(f->sink, &fr);
}

static uint32_t unknown_frame(struct pd_frames *f, enum frame_kind kind, const char *binary)
{
	return named_frame(f, kind, sink_string(f->sink, "[unknown]"), binary);
}

static uint32_t offset_frame(struct pd_frames *f, enum frame_kind kind, struct pd_object *o,
			     uint64_t offset)
{
	if (o->mapping == MAPPING_NONE) {
		struct mapping m = { .name = o->name,
				     .build_id_len = o->shares_build_id ? 0 : o->build_id_len,
				     .identity = o->identity };
		memcpy(m.build_id, o->build_id, m.build_id_len);
		if (o->kind == PD_KERNEL)
			m.start = o->start;
		o->mapping = f->sink->ops->mapping(f->sink, &m);
	}
	struct frame fr = { .kind = kind, .mapping = o->mapping, .offset = offset };
	return f->sink->ops->frame(f->sink, &fr);
}

static uint32_t kernel_frame(struct pd_frames *f, uint64_t addr)
{
	const struct pd_map *m = pd_space_find(&f->world->kernel, addr);
	struct pd_object *o = m ? &f->objects.v[m->object] : NULL;
	if (o && o->kind == PD_BPF_SYMBOL)
		return named_frame(f, FRAME_KERNEL, o->name, "[bpf]");
	if (o)
		return offset_frame(f, FRAME_KERNEL, o, addr - o->start);
	if (addr >= f->text_start && addr < f->text_end)
		return offset_frame(f, FRAME_KERNEL, &f->objects.v[f->text_object],
				    addr - f->text_shift);
	return unknown_frame(f, FRAME_KERNEL, "[kernel]");
}

bool pd_frames_has_code(const struct pd_frames *f, uint32_t object)
{
	return f->objects.v[object].kind == PD_CODE && is_of_this_host(f);
}

static uint32_t code_frame(struct pd_frames *f, uint32_t pid, bool is_before, uint64_t addr)
{
	uint32_t frame =
		is_of_this_host(f) ? pd_code_frame(&f->code, pid, is_before, addr) : UINT32_MAX;
	if (frame == UINT32_MAX)
		return unknown_frame(f, FRAME_JIT, "[anon]");
	f->has_later = true;
	return frame;
}

static const struct pd_map *user_map(const struct pd_process *p, uint64_t addr, bool *is_before)
{
	const struct pd_map *m = p ? pd_space_find(p->space, addr) : NULL;
	*is_before = p && !m;
	return m || !p ? m : pd_space_find(p->before_exec, addr);
}

static uint32_t user_frame(struct pd_frames *f, const struct pd_process *p, uint32_t pid,
			   uint64_t addr)
{
	bool is_before;
	const struct pd_map *m = user_map(p, addr, &is_before);
	if (!m)
		return unknown_frame(f, FRAME_NATIVE, "");
	struct pd_object *o = &f->objects.v[m->object];
	if (o->kind == PD_CODE)
		return code_frame(f, pid, is_before, addr);
	return offset_frame(f, FRAME_NATIVE, o, addr - m->start + m->pgoff);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* A call chain being walked. */
struct chain {
	struct pd_frames *f;
	const struct pd_process *process;
	uint32_t pid;
	unsigned side; /* PERF_RECORD_MISC_KERNEL … */
	bool is_caller;
	uint32_t n_user, n;
};

static void chain_add(struct chain *c, uint64_t addr)
{
	struct pd_frames *f = c->f;
	uint32_t frame;
	addr -= c->is_caller;
	if (c->side == PERF_RECORD_MISC_KERNEL)
		frame = kernel_frame(f, addr);
	else if (c->side == PERF_RECORD_MISC_USER)
		frame = user_frame(f, c->process, c->pid, addr);
	else
		frame = unknown_frame(f, FRAME_NATIVE, "[guest]");
	vec_push(&f->stack, frame);
	c->is_caller = true;
	c->n++;
	c->n_user += c->side == PERF_RECORD_MISC_USER;
}

/* Switches the side. Returns false if the following addresses are unknown. */
static bool chain_context(struct chain *c, uint64_t context)
{
	c->is_caller = false;
	switch (context) {
	case PERF_CONTEXT_KERNEL:
		c->side = PERF_RECORD_MISC_KERNEL;
		return true;
	case PERF_CONTEXT_USER:
		c->side = PERF_RECORD_MISC_USER;
		return true;
	case PERF_CONTEXT_HV:
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_KERNEL:
	case PERF_CONTEXT_GUEST_USER:
		c->side = PERF_RECORD_MISC_GUEST_KERNEL;
		return true;
	}
	return false;
}

/* Adds a chain. Returns why it is truncated, or NULL if it is complete. */
static const char *chain_walk(struct chain *c, struct wire addresses)
{
	while (wire_left(&addresses) >= 8) {
		uint64_t addr = wire_u64(&addresses);
		if (addr < CONTEXT_FIRST)
			chain_add(c, addr);
		else if (!chain_context(c, addr))
			return "[truncated: unknown part of the stack]";
	}
	return NULL;
}

/* Adds the leaf of a user stack that is not in the chain. */
static void chain_user_leaf(struct chain *c, uint64_t ip)
{
	if (c->n_user || !ip)
		return;
	c->side = PERF_RECORD_MISC_USER;
	c->is_caller = false;
	chain_add(c, ip);
}

static bool find_user_map(const void *space, uint64_t addr, struct user_map *out)
{
	const struct chain *c = space;
	bool is_before;
	const struct pd_map *m = user_map(c->process, addr, &is_before);
	if (!m)
		return false;
	const struct pd_object *o = &c->f->objects.v[m->object];
	*out = (struct user_map){ m->start, m->end, m->pgoff, { .id = m->object } };
	if (o->kind == PD_FILE) {
		out->file.path = o->path;
		out->file.build_id = o->build_id;
		out->file.build_id_len = o->build_id_len;
		out->file.inode = o->inode;
		out->file.generation = o->generation;
	}
	return true;
}

/* If the recording was killed and the kernel is unknown, the set of registers shows the machine. */
static enum user_machine user_machine(const struct pd_frames *f, const struct pd_sample *s)
{
	bool is_known = f->info->arch || f->text_start;
	if (is_known ? !is_x86(f, f->text_start) : s->event->user_regs != X86_64_REGS)
		return USER_MACHINE_OTHER;
	return s->user_abi == PD_USER_64 ? USER_MACHINE_X86_64 : USER_MACHINE_X86;
}

static struct user_stack user_stack(const struct chain *c, const struct pd_sample *s)
{
	struct user_stack u = {
		.machine = user_machine(c->f, s),
		.has_regs = s->event->user_regs,
		.stack = s->user_stack.c.p,
		.stack_bytes = wire_left(&s->user_stack),
		.is_whole = s->user_stack_is_whole,
		.find = find_user_map,
		.space = c,
	};
	struct wire regs = s->user_regs;
	for (unsigned i = 0; i < USER_REGS; i++)
		u.regs[i] = u.has_regs >> i & 1 ? wire_u64(&regs) : 0;
	return u;
}

/* Unwinds a user stack that the kernel saved. */
static const char *chain_unwind(struct chain *c, const struct pd_sample *s)
{
	const struct format_here *here = c->f->here;
	struct user_stack u = user_stack(c, s);
	struct user_walk walk = { .marker = USER_STACK_NOT_WALKED };
	if (here && here->walk_stack)
		walk = here->walk_stack(here->stacks, &u);
	if (walk.n && c->n_user)
		c->f->stack.n--; /* the leaf is already there */
	for (uint32_t i = 0; i < walk.n; i++)
		vec_push(&c->f->stack, user_frame(c->f, c->process, c->pid, walk.addr[i]));
	c->n_user += walk.n;
	chain_user_leaf(c, u.regs[u.machine == USER_MACHINE_OTHER ? ARM64_PC : X86_IP]);
	return walk.marker;
}

/* Adds the part of the user stack that is not in the chain. */
static const char *chain_user_side(struct chain *c, const struct pd_sample *s, unsigned cpumode)
{
	if (c->n_user > 1 || !(s->user_abi || s->has_branch_stack))
		return NULL;
	const char *why = s->user_abi ? chain_unwind(c, s) : "[truncated: branch stack not read]";
	if (cpumode == PERF_RECORD_MISC_USER)
		chain_user_leaf(c, s->ip);
	return why;
}

static void reverse(uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t swap = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = swap;
	}
}

uint32_t pd_frames_stack(struct pd_frames *f, const struct pd_sample *s, unsigned cpumode)
{
	if (cpumode == PERF_RECORD_MISC_USER)
		pd_world_runs(f->world, s->pid);
	struct chain c = {
		.f = f, .process = pd_process_get(f->world, s->pid), .pid = s->pid, .side = cpumode
	};
	vec_clear(&f->stack);
	f->has_later = false;
	const char *why = chain_walk(&c, s->chain);
	if (!why)
		why = chain_user_side(&c, s, cpumode);
	if (f->stack.n == 0) {
		c.side = cpumode;
		chain_add(&c, s->ip);
	}
	unsigned max = s->event->max_stack ? s->event->max_stack : DEFAULT_MAX_STACK;
	if (!why && c.n == max)
		why = "[truncated: depth]";
	if (why)
		vec_push(&f->stack, named_frame(f, FRAME_MARKER, sink_string(f->sink, why), ""));
	reverse(f->stack.v, f->stack.n);
	if (f->has_later)
		return pd_code_stack(&f->code, f->stack.v, f->stack.n);
	return f->sink->ops->stack(f->sink, f->stack.v, f->stack.n);
}

/* --- samples that wait -------------------------------------------------------------- */

static void name_places(struct pd_frames *f, const struct pd_wall *w, uint32_t *frames)
{
	for (uint32_t i = 0; i < f->code.places.n; i++) {
		const char *name = pd_code_name(&f->code, w, i);
		frames[i] = name ? named_frame(f, FRAME_JIT, sink_string(f->sink, name), "")
				 : unknown_frame(f, FRAME_JIT, "[anon]");
	}
}

static uint32_t give_stack(struct pd_frames *f, uint32_t id, const uint32_t *frames)
{
	const struct stack_table *t = &f->code.stacks;
	uint32_t n = stack_depth(t, id);
	vec_clear(&f->stack);
	vec_reserve(&f->stack, n);
	stack_frames(t, id, f->stack.v);
	for (uint32_t i = 0; i < n; i++)
		if (f->stack.v[i] & PD_LATER)
			f->stack.v[i] = frames[f->stack.v[i] & ~PD_LATER];
	return f->sink->ops->stack(f->sink, f->stack.v, n);
}

void pd_frames_give_held(struct pd_frames *f, const struct pd_wall *w)
{
	struct pd_code *c = &f->code;
	uint32_t *frames = xcalloc(c->places.n + 1, sizeof *frames);
	uint32_t *stacks = xcalloc(c->stacks.stacks.n + 1, sizeof *stacks);
	name_places(f, w, frames);
	for (uint32_t i = 1; i < c->stacks.stacks.n; i++)
		stacks[i] = give_stack(f, i, frames);
	for (size_t i = 0; i < c->held.n; i++) {
		c->held.v[i].stack = stacks[c->held.v[i].stack & ~PD_LATER];
		f->sink->ops->sample(f->sink, &c->held.v[i]);
	}
	if (c->unnamed)
		f->sink->ops->loss(f->sink, LOSS_CODE_UNREAD, c->unnamed);
	free(frames);
	free(stacks);
}
