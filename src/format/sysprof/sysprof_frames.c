/* Addresses of a capture of sysprof to frames, by the maps at the sample's time. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/common/give.h"
#include "format/perf_data/perf_data_event.h"
#include "format/sysprof/sysprof.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <linux/perf_event.h>
#include <stdlib.h>

/* Larger numbers are not addresses but name the side of the next ones. */
#define SYSPROF_CONTEXT_FIRST ((uint64_t)-4095)

enum sysprof_side { SIDE_USER, SIDE_KERNEL, SIDE_GUEST };

/* --- maps ------------------------------------------------------------------------------------- */

static uint32_t object_add(struct sysprof_frames *f, struct wire w)
{
	size_t len = wire_left(&w);
	const char *name = cur_take(&w.c, 0);
	struct sysprof_object o = { .mapping = MAPPING_NONE };
	if (name && len) {
		o.at = name - f->bytes;
		o.len = len;
	}
	vec_push(&f->objects, o);
	return f->objects.n - 1;
}

/* Reads the fields before the file's name. */
static bool map_read(struct wire *w, struct pd_map *m)
{
	m->start = wire_u64(w);
	m->end = wire_u64(w);
	m->pgoff = wire_u64(w);
	wire_u64(w); /* inode */
	return !w->c.bad && m->end > m->start;
}

uint32_t sysprof_add_range(struct sysprof_frames *f, uint32_t pid, struct wire w)
{
	struct pd_map m;
	if (!map_read(&w, &m))
		return UINT32_MAX;
	struct sysprof_range r = { m.start, m.end, m.pgoff, pid, object_add(f, w) };
	vec_push(&f->ranges, r);
	return r.object;
}

static int range_cmp(const void *a, const void *b)
{
	const struct sysprof_range *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

void sysprof_maps_ready(struct sysprof_frames *f)
{
	if (f->ranges.n)
		qsort(f->ranges.v, f->ranges.n, sizeof *f->ranges.v, range_cmp);
}

/* Of several the one with the highest start. */
static const struct sysprof_range *range_at(const struct sysprof_frames *f, uint32_t pid,
					    uint64_t address)
{
	size_t low = 0, high = f->ranges.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sysprof_range *r = &f->ranges.v[middle];
		if (r->pid < pid || (r->pid == pid && r->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	const struct sysprof_range *r = low ? &f->ranges.v[low - 1] : NULL;
	return r && r->pid == pid && address < r->end ? r : NULL;
}

bool sysprof_map(struct sysprof_frames *f, uint32_t pid, uint32_t object, struct wire w)
{
	struct pd_map m = { .object = object };
	return !map_read(&w, &m) || pd_world_map(&f->now, pid, &m);
}

static struct give_text object_name(const struct sysprof_frames *f, const struct sysprof_object *o)
{
	const char *name = f->bytes + o->at;
	return (struct give_text){ name, strnlen(name, o->len) };
}

static unsigned hex_digit(char c)
{
	char lower = c | 0x20;
	return c >= '0' && c <= '9'           ? c - '0'
	       : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
					      : 16;
}

static void object_build_id(const struct sysprof_frames *f, const struct sysprof_object *o,
			    struct mapping *m)
{
	const char *s = f->bytes + o->at, *end = s + o->len;
	s += strnlen(s, o->len) + 1;
	if (s >= end || *s++ != '@')
		return;
	for (; m->build_id_len < BUILD_ID_MAX && end - s >= 2; s += 2) {
		unsigned high = hex_digit(s[0]), low = hex_digit(s[1]);
		if (high > 15 || low > 15)
			break;
		m->build_id[m->build_id_len++] = high << 4 | low;
	}
}

static uint32_t object_mapping(struct sysprof_frames *f, struct sysprof_object *o)
{
	if (o->mapping != MAPPING_NONE)
		return o->mapping;
	struct give_text name = object_name(f, o);
	struct mapping m = { .name = f->sink->ops->string(f->sink, name.s, name.len) };
	object_build_id(f, o, &m);
	return o->mapping = f->sink->ops->mapping(f->sink, &m);
}

/* Whether frames of it are known by their offset: not the memory of code made at run time. */
static bool is_file(struct give_text name)
{
	static const char *const others[] = { "//anon", "/dev/zero", "/anon_hugepage", "/SYSV",
					      "/memfd:" };
	struct cur c = cur_of(name.s, name.len);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (cur_starts(c, others[i]))
			return false;
	return cur_starts(c, "/") || cur_is(c, "[vdso]");
}

static struct give_text base_name(struct give_text path)
{
	const char *slash = path.len ? memrchr(path.s, '/', path.len) : NULL;
	size_t skip = slash ? slash + 1 - path.s : 0;
	return (struct give_text){ path.s + skip, path.len - skip };
}

/* --- processes -------------------------------------------------------------------------------- */

/* Of a command line the base name of its first word. */
void sysprof_process(struct sysprof_frames *f, uint32_t pid, struct wire w)
{
	struct give_text name;
	name.s = wire_text(&w, &name.len);
	const char *blank = name.len && *name.s == '/' ? memchr(name.s, ' ', name.len) : NULL;
	if (blank)
		name.len = blank - name.s;
	if (name.len && *name.s == '/')
		name = base_name(name);
	uint32_t comm = f->sink->ops->string(f->sink, name.s, name.len);
	pd_world_comm(&f->now, pid, pid, comm, false);
}

void sysprof_fork(struct sysprof_frames *f, uint32_t parent_tid, uint32_t child)
{
	const uint32_t *pid = map_get(&f->threads, parent_tid);
	uint32_t parent = pid ? *pid : parent_tid;
	pd_world_fork(&f->now, child, child, parent, parent, true);
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t named(struct sysprof_frames *f, enum frame_kind kind, struct give_text name,
		      struct give_text binary)
{
	struct give_frame frame = { .kind = kind, .name = name, .binary = binary };
	return give_frame(f->sink, &frame);
}

/* Looks for the name at the address before a return address first: that is where the call was. */
static struct give_text symbol_at(const struct sysprof_frames *f, uint32_t pid, uint64_t address,
				  bool is_caller)
{
	struct give_text name = { 0 };
	name.s = sysprof_symbols_find(&f->symbols, pid, address - is_caller, &name.len);
	if (!name.s && is_caller)
		name.s = sysprof_symbols_find(&f->symbols, pid, address, &name.len);
	return name;
}

static uint32_t kernel_frame(struct sysprof_frames *f, uint32_t pid, uint64_t address,
			     bool is_caller)
{
	struct give_text name = symbol_at(f, pid, address, is_caller);
	if (!name.s && pid)
		name = symbol_at(f, 0, address, is_caller);
	return named(f, FRAME_KERNEL, name, (struct give_text){ "[kernel]", 8 });
}

/* Finds the map at an address, at the time of the sample or else at any other. */
static bool map_at(const struct sysprof_frames *f, uint32_t pid, uint64_t address,
		   struct pd_map *out)
{
	const uint32_t *i = map_get(&f->now.by_pid, pid);
	const struct pd_map *m = i ? pd_space_find(f->now.processes.v[*i].space, address) : NULL;
	const struct sysprof_range *r = m ? NULL : range_at(f, pid, address);
	if (m)
		*out = *m;
	else if (r)
		*out = (struct pd_map){ r->start, r->end, r->pgoff, r->object };
	return m || r;
}

static uint32_t user_frame(struct sysprof_frames *f, uint32_t pid, uint64_t address, bool is_caller)
{
	uint64_t at = address - (is_caller && address);
	struct pd_map m = { 0 };
	struct sysprof_object *o = map_at(f, pid, at, &m) ? &f->objects.v[m.object] : NULL;
	struct give_text file = o ? object_name(f, o) : (struct give_text){ 0 };
	const struct sysprof_jit *jit = sysprof_symbols_jit(&f->symbols, address);
	if (jit)
		return named(f, FRAME_JIT, (struct give_text){ jit->name, jit->len },
			     (struct give_text){ 0 });
	struct give_text name = symbol_at(f, pid, address, is_caller);
	if (name.s)
		return named(f, FRAME_NATIVE, name, base_name(file));
	if (!o)
		return named(f, FRAME_NATIVE, name, file);
	if (!is_file(file))
		return named(f, FRAME_JIT, name, (struct give_text){ "[anon]", 6 });
	struct frame frame = { .kind = FRAME_NATIVE,
			       .mapping = object_mapping(f, o),
			       .offset = at - m.start + m.pgoff };
	return f->sink->ops->frame(f->sink, &frame);
}

static enum sysprof_side side_of(uint64_t context)
{
	return context == PERF_CONTEXT_KERNEL ? SIDE_KERNEL
	       : context == PERF_CONTEXT_USER ? SIDE_USER
					      : SIDE_GUEST;
}

uint32_t sysprof_stack(struct sysprof_frames *f, uint32_t pid, struct wire addresses, bool is_exact)
{
	static const struct give_text guest = { "[guest]", 7 };
	enum sysprof_side side = SIDE_USER;
	bool is_caller = !is_exact;
	vec_clear(&f->stack);
	while (wire_left(&addresses) >= 8) {
		uint64_t address = wire_u64(&addresses);
		if (address >= SYSPROF_CONTEXT_FIRST) {
			side = side_of(address);
			is_caller = !is_exact;
			continue;
		}
		vec_push(&f->stack, side == SIDE_USER     ? user_frame(f, pid, address, is_caller)
				    : side == SIDE_KERNEL ? kernel_frame(f, pid, address, is_caller)
							  : named(f, FRAME_NATIVE,
								  (struct give_text){ 0 }, guest));
		is_caller = true;
	}
	for (size_t i = 0; i < f->stack.n / 2; i++) {
		uint32_t *a = &f->stack.v[i], *b = &f->stack.v[f->stack.n - 1 - i], swap = *a;
		*a = *b;
		*b = swap;
	}
	return f->sink->ops->stack(f->sink, f->stack.v, f->stack.n);
}

void sysprof_frames_done(struct sysprof_frames *f)
{
	sysprof_symbols_done(&f->symbols);
	vec_done(&f->objects);
	pd_world_done(&f->now);
	vec_done(&f->ranges);
	map_done(&f->threads);
	vec_done(&f->stack);
}
