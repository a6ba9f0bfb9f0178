/* Decodes attributes of events, and samples by their sample_type. */
#include "format/perf_data/perf_data_event.h"

#include <linux/perf_event.h>

enum {
	ATTR_MIN = 64, /* PERF_ATTR_SIZE_VER0 */
	NAME_MAX_BYTES = 256,
	READ_LOST = 1 << 4,        /* PERF_FORMAT_LOST, Linux 6.0 */
	BRANCH_COUNTERS = 1 << 19, /* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8 */
};

/* Bits of the flags after read_format, from the least significant. */
enum { FLAG_FREQ = 10, FLAG_SAMPLE_ID_ALL = 18 };

/* Fields at the end of records other than samples, 8 bytes each, in this order. */
static const uint64_t id_fields[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
				      PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
				      PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };
enum { ID_FIELDS = sizeof id_fields / sizeof *id_fields };

void pd_events_done(struct pd_events *e)
{
	vec_done(&e->v);
	map_done(&e->by_id);
	arena_done(&e->names);
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Bit fields start at the other end on big-endian machines. */
static bool attr_flag(uint64_t flags, unsigned bit, bool big)
{
	return flags >> (big ? 63 - bit : bit) & 1;
}

bool pd_events_add(struct pd_events *e, struct wire attr)
{
	if (e->v.n >= PD_MAX_EVENTS || wire_left(&attr) < ATTR_MIN)
		return false;
	struct pd_event ev = { .type = wire_u32(&attr), .sink_type = UINT32_MAX };
	wire_u32(&attr); /* size */
	ev.config = wire_u64(&attr);
	uint64_t period = wire_u64(&attr);
	ev.sample_type = wire_u64(&attr);
	ev.read_format = wire_u64(&attr);
	uint64_t flags = wire_u64(&attr);
	wire_skip_u64(&attr, 3); /* wakeup and breakpoint, config1, config2 */
	/* Missing fields of older, shorter attributes read as zero. */
	ev.branch_type = wire_u64(&attr);
	ev.user_regs = wire_u64(&attr);
	wire_skip_u64(&attr, 2); /* user stack size and clock id, interrupt registers */
	wire_u32(&attr);         /* aux watermark */
	ev.max_stack = wire_u16(&attr);
	ev.period = attr_flag(flags, FLAG_FREQ, attr.big) ? 0 : period;
	ev.sample_id_all = attr_flag(flags, FLAG_SAMPLE_ID_ALL, attr.big);
	bool is_clock = ev.type == PERF_TYPE_SOFTWARE && (ev.config == PERF_COUNT_SW_CPU_CLOCK ||
							  ev.config == PERF_COUNT_SW_TASK_CLOCK);
	ev.weight = is_clock ? PD_CLOCK : PD_OCCURRENCE;
	if (!ev.period && is_clock && period)
		ev.period = 1000000000 / period;
	vec_push(&e->v, ev);
	return true;
}

void pd_events_add_ids(struct pd_events *e, struct wire ids)
{
	for (; e->v.n && wire_left(&ids) >= 8 && e->ids < PD_MAX_EVENT_IDS; e->ids++)
		map_put(&e->by_id, wire_u64(&ids), e->v.n - 1);
}

static void event_set_name(struct pd_events *e, struct pd_event *ev, const char *name, size_t len)
{
	static const char off_cpu[] = "offcpu-time";
	if (ev->name || !len)
		return;
	ev->name = arena_dup(&e->names, name, len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES);
	if (strncmp(ev->name, off_cpu, sizeof off_cpu - 1) == 0)
		ev->weight = PD_OFF_CPU;
}

void pd_events_name(struct pd_events *e, struct wire ids, const char *name, size_t len)
{
	while (wire_left(&ids) >= 8) {
		const uint32_t *i = map_get(&e->by_id, wire_u64(&ids));
		if (i)
			event_set_name(e, &e->v.v[*i], name, len);
	}
}

/* --- default names ---------------------------------------------------------------------------- */

static const char *const hardware_names[] = {
	[PERF_COUNT_HW_CPU_CYCLES] = "cycles",
	[PERF_COUNT_HW_INSTRUCTIONS] = "instructions",
	[PERF_COUNT_HW_CACHE_REFERENCES] = "cache-references",
	[PERF_COUNT_HW_CACHE_MISSES] = "cache-misses",
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = "branches",
	[PERF_COUNT_HW_BRANCH_MISSES] = "branch-misses",
	[PERF_COUNT_HW_BUS_CYCLES] = "bus-cycles",
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND] = "stalled-cycles-frontend",
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND] = "stalled-cycles-backend",
	[PERF_COUNT_HW_REF_CPU_CYCLES] = "ref-cycles",
};
static const char *const software_names[] = {
	[PERF_COUNT_SW_CPU_CLOCK] = "cpu-clock",
	[PERF_COUNT_SW_TASK_CLOCK] = "task-clock",
	[PERF_COUNT_SW_PAGE_FAULTS] = "page-faults",
	[PERF_COUNT_SW_CONTEXT_SWITCHES] = "context-switches",
	[PERF_COUNT_SW_CPU_MIGRATIONS] = "cpu-migrations",
	[PERF_COUNT_SW_PAGE_FAULTS_MIN] = "minor-faults",
	[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = "major-faults",
	[PERF_COUNT_SW_ALIGNMENT_FAULTS] = "alignment-faults",
	[PERF_COUNT_SW_EMULATION_FAULTS] = "emulation-faults",
	[PERF_COUNT_SW_DUMMY] = "dummy",
	[PERF_COUNT_SW_BPF_OUTPUT] = "bpf-output",
	[PERF_COUNT_SW_CGROUP_SWITCHES] = "cgroup-switches",
};

static const char *usual_name(const struct pd_event *e)
{
	if (e->type == PERF_TYPE_HARDWARE &&
	    e->config < sizeof hardware_names / sizeof *hardware_names)
		return hardware_names[e->config];
	if (e->type == PERF_TYPE_SOFTWARE &&
	    e->config < sizeof software_names / sizeof *software_names)
		return software_names[e->config];
	return NULL;
}

void pd_event_name(const struct pd_event *e, struct buf *b)
{
	const char *name = e->name ? e->name : usual_name(e);
	if (name)
		buf_adds(b, name);
	else if (e->type == PERF_TYPE_TRACEPOINT)
		buf_addf(b, "tracepoint %llu", (unsigned long long)e->config);
	else
		buf_addf(b, "event type %u config 0x%llx", e->type, (unsigned long long)e->config);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Returns the position of the event's id in a sample, in 8-byte numbers; the same for all events of
 * a file. -1: no id. */
static int sample_id_at(uint64_t type)
{
	const uint64_t before =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	return type & PERF_SAMPLE_ID ? __builtin_popcountll(type & before) : -1;
}

static const struct pd_event *event_of(const struct pd_events *e, uint64_t id)
{
	const uint32_t *i = map_get(&e->by_id, id);
	return &e->v.v[i ? *i : 0]; /* records synthesized by perf have no id */
}

static const struct pd_event *event_of_sample(const struct pd_events *e, struct wire record)
{
	int at = sample_id_at(e->v.v[0].sample_type);
	if (e->v.n == 1 || at < 0)
		return &e->v.v[0];
	wire_skip_u64(&record, at);
	return event_of(e, wire_u64(&record));
}

/* Reads counts: groups are {n, times, {count, id, lost} …}, others {count, times, id, lost}. */
static void read_counts(struct wire *w, uint64_t format, struct pd_sample *out)
{
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned per_count = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	bool is_group = format & PERF_FORMAT_GROUP;
	uint64_t n = is_group ? wire_count(w) : 1;
	wire_skip_u64(w, times);
	struct wire counts = *w;
	wire_skip_u64(w, n * per_count);
	if (is_group && format & PERF_FORMAT_ID && !w->c.bad)
		out->counts = wire_of(counts.c.p, w->c.p - counts.c.p, w->big);
}

bool pd_sample_count(const struct pd_events *e, struct pd_sample *s, uint64_t *id, uint64_t *count,
		     const struct pd_event **event)
{
	if (!wire_left(&s->counts))
		return false;
	*count = wire_u64(&s->counts);
	*id = wire_u64(&s->counts);
	if (s->event->read_format & READ_LOST)
		wire_u64(&s->counts);
	*event = event_of(e, *id);
	return true;
}

static void read_user_regs(struct wire *w, const struct pd_event *e, struct pd_sample *out)
{
	uint64_t abi = wire_u64(w);
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	out->user_abi = abi == PERF_SAMPLE_REGS_ABI_32 ? PD_USER_32 : PD_USER_64;
	out->user_regs = wire_part(w, __builtin_popcountll(e->user_regs) * 8);
}

/* Reads the requested size, that many bytes, and how many of them are stack. */
static void read_user_stack(struct wire *w, struct pd_sample *out)
{
	uint64_t size = wire_u64(w);
	if (!size)
		return;
	struct wire all = wire_part(w, size < SIZE_MAX ? size : SIZE_MAX);
	uint64_t used = wire_u64(w);
	out->user_stack_is_whole = used < size;
	out->user_stack = wire_part(&all, used < size ? used : size);
}

/* Reads the fields up to the user stack; those after it are not needed. */
static void read_late_fields(struct wire *w, const struct pd_event *e, struct pd_sample *out)
{
	uint64_t type = e->sample_type;
	if (type & PERF_SAMPLE_READ)
		read_counts(w, e->read_format, out);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t n = wire_u64(w), there = wire_left(w) / 8;
		out->chain = wire_part(w, n <= there ? n * 8 : SIZE_MAX);
	}
	if (type & PERF_SAMPLE_RAW)
		cur_take(&w->c, wire_u32(w));
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		out->has_branch_stack = e->branch_type & PERF_SAMPLE_BRANCH_CALL_STACK;
		uint64_t n = wire_count(w);
		unsigned per_branch = 3 + !!(e->branch_type & BRANCH_COUNTERS);
		wire_skip_u64(w, n * per_branch + !!(e->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX));
	}
	if (type & PERF_SAMPLE_REGS_USER)
		read_user_regs(w, e, out);
	if (type & PERF_SAMPLE_STACK_USER)
		read_user_stack(w, out);
}

bool pd_sample_read(const struct pd_events *events, struct wire record, struct pd_sample *out)
{
	struct wire *w = &record;
	const struct pd_event *e = event_of_sample(events, record);
	uint64_t type = e->sample_type;
	*out = (struct pd_sample){ .event = e,
				   .pid = UINT32_MAX,
				   .tid = UINT32_MAX,
				   .cpu = UINT32_MAX,
				   .period = e->period ? e->period : 1 };
	if (type & PERF_SAMPLE_IDENTIFIER)
		wire_u64(w);
	if (type & PERF_SAMPLE_IP)
		out->ip = wire_u64(w);
	if (type & PERF_SAMPLE_TID) {
		out->pid = wire_u32(w);
		out->tid = wire_u32(w);
	}
	out->has_time = type & PERF_SAMPLE_TIME;
	if (out->has_time)
		out->time = wire_u64(w);
	wire_skip_u64(w, __builtin_popcountll(type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
						      PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU) {
		out->cpu = wire_u32(w);
		wire_u32(w);
	}
	if (type & PERF_SAMPLE_PERIOD)
		out->period = wire_u64(w);
	read_late_fields(w, e, out);
	return !w->c.bad;
}

/* --- other records ---------------------------------------------------------------------------- */

/* Finds the id from the end: the number of fields after it is the same for all events. */
static const struct pd_event *event_of_record(const struct pd_events *e, struct wire record)
{
	uint64_t type = e->v.v[0].sample_type;
	size_t behind = 1;
	if (!(type & PERF_SAMPLE_IDENTIFIER)) {
		if (!(type & PERF_SAMPLE_ID))
			return &e->v.v[0];
		behind += !!(type & PERF_SAMPLE_STREAM_ID) + !!(type & PERF_SAMPLE_CPU);
	}
	if (wire_left(&record) < behind * 8)
		return &e->v.v[0];
	cur_take(&record.c, wire_left(&record) - behind * 8);
	return event_of(e, wire_u64(&record));
}

bool pd_record_time(const struct pd_events *events, struct wire record, uint64_t *time)
{
	const struct pd_event *e = event_of_record(events, record);
	uint64_t all = 0;
	for (size_t i = 0; i < ID_FIELDS; i++)
		all |= id_fields[i];
	size_t n = __builtin_popcountll(e->sample_type & all);
	if (!e->sample_id_all || !(e->sample_type & PERF_SAMPLE_TIME) || wire_left(&record) < n * 8)
		return false;
	cur_take(&record.c, wire_left(&record) - n * 8);
	if (e->sample_type & PERF_SAMPLE_TID)
		wire_u64(&record);
	*time = wire_u64(&record);
	return true;
}
