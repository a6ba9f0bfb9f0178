/* Decides which program of a pid wrote its perf map. */
#include "format/perf_data/perf_data_frames.h"

#include "format/common/format.h"
#include "format/perf_data/perf_data_info.h"

enum {
	STAMP_NS = 20000000, /* files have the time of the last tick */
	SECOND_NS = 1000000000,
	COPY_BYTES_PER_US = 50,       /* a copy is not written more slowly */
	CLOCKS_APART_NS = 2000000000, /* perf's clock and CLOCK_MONOTONIC, at boot */
	CLOCKS_APART_PER = 5000,      /* … and one in this many since */
};

void pd_code_init(struct pd_code *c, const struct format_here *here)
{
	*c = (struct pd_code){ .here = here };
	stack_table_init(&c->stacks);
}

void pd_code_done(struct pd_code *c)
{
	vec_done(&c->programs);
	vec_done(&c->places);
	vec_done(&c->held);
	map_done(&c->by_pid);
	map_done(&c->by_place);
	stack_table_done(&c->stacks);
}

/* --- programs --------------------------------------------------------------------------------- */

static struct pd_program *last_program(struct pd_code *c, uint32_t pid)
{
	const uint32_t *i = map_get(&c->by_pid, pid);
	return i ? &c->programs.v[*i] : NULL;
}

static struct pd_program *add_program(struct pd_code *c, uint32_t pid, uint64_t begun_ns)
{
	const uint32_t *before = map_get(&c->by_pid, pid);
	uint32_t fresh = c->programs.n;
	struct pd_program p = { .pid = pid, .begun_ns = begun_ns };
	if (!c->here || fresh >= PD_MAX_PROGRAMS)
		return NULL;
	if (before) {
		p.before = *before + 1;
		c->programs.v[*before].after = fresh + 1;
	}
	map_put(&c->by_pid, pid, fresh);
	vec_push(&c->programs, p);
	return &c->programs.v[fresh];
}

static struct pd_program *program_of(struct pd_code *c, uint32_t pid)
{
	struct pd_program *p = last_program(c, pid);
	return p ? p : add_program(c, pid, 0);
}

void pd_code_end(struct pd_code *c, uint32_t pid, uint64_t time_ns)
{
	struct pd_program *p = c->here ? program_of(c, pid) : NULL;
	if (p && !p->ended_ns)
		p->ended_ns = time_ns;
}

void pd_code_begin(struct pd_code *c, uint32_t pid, uint64_t time_ns)
{
	if (last_program(c, pid))
		pd_code_end(c, pid, time_ns);
	add_program(c, pid, time_ns);
}

void pd_code_mapped(struct pd_code *c, uint32_t pid)
{
	struct pd_program *p = c->here ? program_of(c, pid) : NULL;
	if (p)
		p->has_code = true;
}

/* --- frames, stacks and samples that wait ----------------------------------------------------- */

struct place_key {
	const struct pd_code *code;
	struct pd_place place;
};

static bool same_place(const void *ctx, uint32_t i)
{
	const struct place_key *key = ctx;
	const struct pd_place *p = &key->code->places.v[i];
	return p->program == key->place.program && p->addr == key->place.addr;
}

static uint32_t place_intern(struct pd_code *c, uint32_t program, uint64_t addr)
{
	struct place_key key = { c, { program, addr } };
	uint32_t fresh = c->places.n;
	uint32_t i = map_intern(&c->by_place, hash_mix(program, addr), fresh, same_place, &key);
	if (i == fresh)
		vec_push(&c->places, key.place);
	return i;
}

uint32_t pd_code_frame(struct pd_code *c, uint32_t pid, bool is_before, uint64_t addr)
{
	struct format_code_times times;
	const struct format_here *h = c->here;
	if (!h->code_name || (h->code_times && !h->code_times(h->ctx, pid, &times)))
		return UINT32_MAX;
	struct pd_program *p = program_of(c, pid);
	if (p && is_before && p->before)
		p = &c->programs.v[p->before - 1];
	if (!p || c->places.n >= PD_LATER - 1)
		return UINT32_MAX;
	p->has_code = true;
	return place_intern(c, p - c->programs.v, addr) | PD_LATER;
}

uint32_t pd_code_stack(struct pd_code *c, const uint32_t *frames, uint32_t n)
{
	return stack_intern(&c->stacks, frames, n) | PD_LATER;
}

void pd_code_hold(struct pd_code *c, const struct sample *s)
{
	vec_push(&c->held, *s);
}

/* --- the clocks ------------------------------------------------------------------------------- */

/* How much later than its time a file may have been written. Archives store whole seconds. */
static int64_t stamp_ns(int64_t written_ns)
{
	return written_ns % SECOND_NS ? STAMP_NS : 2ll * SECOND_NS;
}

/* Adds a time of the samples' clock. Unknown stays unknown. */
static int64_t wall_at(int64_t offset, uint64_t time_ns)
{
	int64_t at;
	if (offset == INT64_MIN || offset == INT64_MAX)
		return offset;
	if (time_ns > INT64_MAX || __builtin_add_overflow(offset, (int64_t)time_ns, &at))
		return INT64_MAX;
	return at;
}

static bool is_original(const struct format_here *h, uint64_t length_ns)
{
	int64_t took_ns = h->written_ns - h->created_ns;
	return h->created_ns && took_ns > 0 && (uint64_t)took_ns >= length_ns &&
	       (uint64_t)took_ns / 1000 > h->bytes / COPY_BYTES_PER_US;
}

/* Narrows *w by what the clocks of this boot say, unless that contradicts it. */
static void use_this_boot(struct pd_wall *w, const struct format_here *h, uint64_t last_ns)
{
	int64_t apart = CLOCKS_APART_NS + h->up_ns / CLOCKS_APART_PER;
	int64_t lo = h->mono_offset_ns - apart, hi = h->mono_offset_ns + apart;
	if (!h->mono_offset_ns || last_ns > h->up_ns + apart || lo > w->hi || hi < w->lo)
		return;
	w->lo = lo > w->lo ? lo : w->lo;
	w->hi = hi < w->hi ? hi : w->hi;
}

struct pd_wall pd_wall_of(const struct pd_info *info, const struct format_here *h,
			  uint64_t first_ns, uint64_t last_ns)
{
	struct pd_wall w = { INT64_MIN, INT64_MAX };
	if (info->wall_ns) {
		w.lo = w.hi = (int64_t)(info->wall_ns - info->clock_ns);
		return w;
	}
	if (!h || first_ns > last_ns || last_ns > INT64_MAX)
		return w;
	if (h->written_ns)
		w.hi = h->written_ns + stamp_ns(h->written_ns) - (int64_t)last_ns;
	if (is_original(h, last_ns - first_ns))
		w.lo = h->created_ns - (int64_t)first_ns;
	use_this_boot(&w, h, last_ns);
	return w;
}

/* --- the program of a map --------------------------------------------------------------------- */

/* A time of the wall clock against one of the samples'. */
static bool is_before(const struct pd_wall *w, int64_t wall_ns, uint64_t time_ns)
{
	int64_t at = wall_at(w->lo, time_ns);
	return at != INT64_MIN && wall_ns < at - stamp_ns(wall_ns);
}
static bool is_after(const struct pd_wall *w, int64_t wall_ns, uint64_t time_ns)
{
	int64_t at = wall_at(w->hi, time_ns);
	return at != INT64_MAX && wall_ns >= at;
}

/* The nearest program of the pid that generated code too, in either direction. */
static const struct pd_program *other(const struct pd_code *c, const struct pd_program *p,
				      bool is_later)
{
	do {
		uint32_t next = is_later ? p->after : p->before;
		p = next ? &c->programs.v[next - 1] : NULL;
	} while (p && !p->has_code);
	return p;
}

/* A process that ran before the first record started after the boot, which is 0 on the samples'
 * clock. If it still runs, its start is known. */
static bool is_older(const struct pd_program *p, const struct pd_wall *w,
		     const struct format_code_times *t)
{
	if (is_before(w, t->written_ns, p->begun_ns))
		return true;
	return !p->begun_ns && !p->ended_ns && t->begun_ns &&
	       t->written_ns < t->begun_ns - stamp_ns(t->written_ns);
}

/* The pid is used again, by a process that wrote the map. */
static bool is_of_later_process(const struct pd_program *p, const struct pd_wall *w,
				const struct format_code_times *t)
{
	return p->ended_ns && t->begun_ns && t->written_ns >= t->begun_ns &&
	       is_after(w, t->begun_ns, p->ended_ns);
}

static bool is_map_of(const struct pd_code *c, const struct pd_program *p, const struct pd_wall *w,
		      const struct format_code_times *t)
{
	const struct pd_program *earlier = other(c, p, false), *later = other(c, p, true);
	bool is_afterwards = p->ended_ns && is_after(w, t->written_ns, p->ended_ns + STAMP_NS);
	if (is_older(p, w, t) || is_of_later_process(p, w, t))
		return false;
	if (earlier && (!p->begun_ns || !is_after(w, t->written_ns, p->begun_ns) || is_afterwards))
		return false;
	return !later || (later->begun_ns && is_before(w, t->written_ns, later->begun_ns));
}

const char *pd_code_name(struct pd_code *c, const struct pd_wall *w, uint32_t place)
{
	const struct pd_place *at = &c->places.v[place];
	const struct pd_program *p = &c->programs.v[at->program];
	struct format_code_times times;
	if (c->here->code_times && c->here->code_times(c->here->ctx, p->pid, &times) &&
	    !is_map_of(c, p, w, &times)) {
		c->unnamed++;
		return NULL;
	}
	return c->here->code_name(c->here->ctx, p->pid, at->addr);
}
