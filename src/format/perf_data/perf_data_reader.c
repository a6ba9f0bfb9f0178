/* Applies records: samples, mappings, names and losses. */
#include "format/perf_data/perf_data_reader.h"

#include "base/buf.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <linux/perf_event.h>
#include <string.h>

enum {
	/* Header flags that perf_event.h may not have. */
	MISC_FORK_EXEC = 1 << 13, /* a fork synthesized by perf: the maps follow */
	MISC_BUILD_ID = 1 << 14,
	BUILD_ID_BYTES = 20,
	KERNEL_PID = -1,
};

static void apply(void *ctx, const void *record, size_t len);

void pd_reader_init(struct pd_reader *r, struct sink *sink, const struct format_here *here,
		    bool big)
{
	*r = (struct pd_reader){
		.sink = sink, .big = big, .first_ns = UINT64_MAX, .oldest_ns = UINT64_MAX
	};
	pd_frames_init(&r->frames, sink, &r->info, &r->world, here);
	pd_queue_init(&r->queue, apply, r);
	r->comm_key = sink_string(sink, "comm");
	r->process_key = sink_string(sink, "process");
	struct pd_thread *idle = pd_thread_get(&r->world, 0, 0);
	idle->comm = pd_process_get(&r->world, 0)->name = sink_string(sink, "swapper");
}

void pd_reader_done(struct pd_reader *r)
{
	pd_events_done(&r->events);
	pd_info_done(&r->info);
	pd_world_done(&r->world);
	pd_frames_done(&r->frames);
	pd_queue_done(&r->queue);
	map_done(&r->labels);
	vec_done(&r->counts);
	map_done(&r->count_of_id);
	vec_done(&r->sums);
	map_done(&r->sum_index);
}

static void skip_unless(struct pd_reader *r, bool good)
{
	r->skipped += !good;
}

/* --- mappings --------------------------------------------------------------------------------- */

struct mmap_record {
	uint32_t pid;
	uint64_t start, len, pgoff;
	struct pd_mapped file;
};

/* Reads maj, min, inode and generation; with MISC_BUILD_ID, a build id in their place. */
static void read_file_id(struct wire *w, uint16_t misc, struct pd_mapped *m)
{
	enum { ID_BYTES = 24 };
	struct wire id = wire_part(w, ID_BYTES);
	const uint8_t *bytes = id.c.p;
	if (wire_left(&id) < ID_BYTES)
		return;
	if (misc & MISC_BUILD_ID) {
		m->build_id = bytes + 4;
		m->build_id_len = bytes[0] <= BUILD_ID_BYTES ? bytes[0] : BUILD_ID_BYTES;
		return;
	}
	uint64_t dev = wire_u64(&id), ino = wire_u64(&id), generation = wire_u64(&id);
	m->dev_major = (uint32_t)dev;
	m->dev_minor = dev >> 32;
	m->inode = ino;
	m->generation = generation;
	m->identity = ino ? hash_mix(hash_mix(dev, ino), generation) : 0;
}

static bool read_mmap(struct wire w, const struct pd_header *h, struct mmap_record *out)
{
	*out = (struct mmap_record){ .pid = wire_u32(&w) };
	wire_u32(&w); /* tid */
	out->start = wire_u64(&w);
	out->len = wire_u64(&w);
	out->pgoff = wire_u64(&w);
	if (h->type == PERF_RECORD_MMAP2) {
		read_file_id(&w, h->misc, &out->file);
		wire_u64(&w); /* protection, flags */
	}
	bool good = !w.c.bad;
	out->file.name = wire_text(&w, &out->file.name_len);
	return good;
}

static void apply_mmap(struct pd_reader *r, const struct pd_header *h, struct wire w)
{
	struct mmap_record m;
	uint64_t end;
	if (h->misc & PERF_RECORD_MISC_MMAP_DATA)
		return;
	if (!read_mmap(w, h, &m) || __builtin_add_overflow(m.start, m.len, &end)) {
		r->skipped++;
		return;
	}
	unsigned side = h->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (side == PERF_RECORD_MISC_KERNEL && m.pid == (uint32_t)KERNEL_PID) {
		skip_unless(r, pd_frames_add_kernel(&r->frames, &m.file, m.start, end, m.pgoff));
		return;
	}
	if (side == PERF_RECORD_MISC_GUEST_KERNEL || m.len == 0)
		return;
	struct pd_map map = { m.start, end, m.pgoff, pd_object_of_file(&r->frames, &m.file) };
	skip_unless(r, map.object != UINT32_MAX && pd_world_map(&r->world, m.pid, &map));
	if (map.object != UINT32_MAX && pd_frames_has_code(&r->frames, map.object))
		pd_code_mapped(&r->frames.code, m.pid);
}

/* Applies u64 address, u32 length, u16 type, u16 flags, name. */
static void apply_ksymbol(struct pd_reader *r, struct wire w)
{
	uint64_t start = wire_u64(&w), end;
	uint32_t len = wire_u32(&w);
	wire_u16(&w);
	bool is_gone = wire_u16(&w) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	size_t name_len;
	const char *name = wire_text(&w, &name_len);
	if (is_gone || !len)
		return;
	if (w.c.bad || !name_len || __builtin_add_overflow(start, len, &end)) {
		r->skipped++;
		return;
	}
	struct pd_map map = { start, end, 0, pd_object_of_symbol(&r->frames, name, name_len) };
	skip_unless(r, map.object != UINT32_MAX && pd_world_map_kernel(&r->world, &map));
}

/* --- threads ---------------------------------------------------------------------------------- */

static uint64_t time_of(const struct pd_reader *r, struct wire w)
{
	uint64_t time = 0;
	pd_record_time(&r->events, w, &time);
	return time == UINT64_MAX ? 0 : time;
}

static void apply_comm(struct pd_reader *r, const struct pd_header *h, struct wire w)
{
	uint64_t time = time_of(r, w);
	uint32_t pid = wire_u32(&w), tid = wire_u32(&w);
	bool is_exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
	if (w.c.bad) {
		r->skipped++;
		return;
	}
	size_t len;
	const char *text = wire_text(&w, &len);
	uint32_t comm = r->sink->ops->string(r->sink, text, len);
	skip_unless(r, pd_world_comm(&r->world, pid, tid, comm, is_exec));
	if (is_exec)
		pd_code_begin(&r->frames.code, pid, time);
}

static void apply_fork(struct pd_reader *r, const struct pd_header *h, struct wire w)
{
	uint64_t time = time_of(r, w);
	uint32_t pid = wire_u32(&w), parent_pid = wire_u32(&w);
	uint32_t tid = wire_u32(&w), parent_tid = wire_u32(&w);
	skip_unless(r, !w.c.bad && pd_world_fork(&r->world, pid, tid, parent_pid, parent_tid,
						 !(h->misc & MISC_FORK_EXEC)));
	if (!w.c.bad && pid != parent_pid && pid == tid)
		pd_code_begin(&r->frames.code, pid, time);
}

static void apply_exit(struct pd_reader *r, struct wire w)
{
	uint64_t time = time_of(r, w);
	uint32_t pid = wire_u32(&w);
	wire_u32(&w); /* parent */
	uint32_t tid = wire_u32(&w);
	if (w.c.bad) {
		r->skipped++;
		return;
	}
	pd_world_exit(&r->world, pid, tid);
	const struct pd_process *p = pd_process_get(&r->world, pid);
	if (p && p->threads == 0)
		pd_code_end(&r->frames.code, pid, time);
}

/* --- samples ---------------------------------------------------------------------------------- */

static uint32_t new_type(struct pd_reader *r, struct pd_event *e)
{
	struct sink *s = r->sink;
	struct buf name = { 0 };
	pd_event_name(e, &name);
	struct type t = { .name = s->ops->string(s, name.data, name.len) };
	buf_done(&name);
	t.sample_type = t.name;
	t.unit = sink_string(s, "count");
	if (e->weight == PD_OFF_CPU) {
		t.name = t.sample_type = sink_string(s, "off-cpu");
		t.unit = sink_string(s, "nanoseconds");
	} else if (e->weight == PD_CLOCK) {
		/* A second clock event measures the same time; it must not be added to the
		 * first. */
		if (!r->has_cpu_type)
			t.name = sink_string(s, "cpu");
		r->has_cpu_type = true;
		t.sample_type = sink_string(s, "samples");
		t.period_type = sink_string(s, "cpu");
		t.period_unit = sink_string(s, "nanoseconds");
	}
	return s->ops->type(s, &t);
}

static int64_t as_value(uint64_t v)
{
	return v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

static uint32_t labels_of(struct pd_reader *r, uint32_t pid, uint32_t tid)
{
	const struct pd_thread *t = pd_thread_get(&r->world, pid, tid);
	uint32_t comm = t ? t->comm : 0;
	const struct pd_process *p = pd_process_get(&r->world, pid);
	uint32_t process = p ? p->name : 0;
	uint64_t key = (uint64_t)comm << 32 | process;
	const uint32_t *known = map_get(&r->labels, key);
	if (known)
		return *known;
	struct label labels[2];
	uint32_t n = 0;
	if (comm)
		labels[n++] = (struct label){ .key = r->comm_key, .str = comm };
	if (process)
		labels[n++] = (struct label){ .key = r->process_key, .str = process };
	uint32_t set = r->sink->ops->labels(r->sink, labels, n);
	map_put(&r->labels, key, set);
	return set;
}

struct sum_key {
	const struct pd_reader *reader;
	const struct sample *sample;
};

static bool same_sum(const void *ctx, uint32_t i)
{
	const struct sum_key *key = ctx;
	const struct sample *a = &key->reader->sums.v[i], *b = key->sample;
	return a->series == b->series && a->stack == b->stack && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu;
}

static void add_to_sum(struct pd_reader *r, const struct sample *s)
{
	struct sum_key key = { r, s };
	uint64_t hash = hash_mix((uint64_t)s->series << 32 | s->stack,
				 hash_mix((uint64_t)s->pid << 32 | s->tid, s->cpu));
	uint32_t fresh = r->sums.n;
	uint32_t i = map_intern(&r->sum_index, hash, fresh, same_sum, &key);
	if (i == fresh)
		vec_push(&r->sums, *s);
	else
		r->sums.v[i].value = sum_add(r->sums.v[i].value, s->value);
}

static uint32_t series_of(struct pd_reader *r, struct pd_event *e, uint64_t period, uint32_t labels)
{
	if (e->sink_type == UINT32_MAX)
		e->sink_type = new_type(r, e);
	struct series series = { .type = e->sink_type, .labels = labels };
	if (e->weight == PD_CLOCK)
		series.period = as_value(period);
	return r->sink->ops->series(r->sink, &series);
}

static void give_sample(struct pd_reader *r, const struct sample *s)
{
	if (s->stack & PD_LATER)
		pd_code_hold(&r->frames.code, s);
	else
		r->sink->ops->sample(r->sink, s);
}

/* Gives a sample of one event with the other fields of s. */
static void give_event(struct pd_reader *r, const struct pd_sample *s, const struct pd_event *event,
		       uint64_t period, struct sample *out)
{
	struct pd_event *e = &r->events.v.v[event - r->events.v.v];
	out->series = series_of(r, e, period, labels_of(r, s->pid, s->tid));
	out->value = e->weight == PD_CLOCK ? 1 : as_value(period);
	r->samples++;
	if (!s->has_time) {
		add_to_sum(r, out);
		return;
	}
	r->first_ns = s->time < r->first_ns ? s->time : r->first_ns;
	r->last_ns = s->time > r->last_ns ? s->time : r->last_ns;
	give_sample(r, out);
}

/* Returns the growth of an event's count since the last sample with it. */
static uint64_t count_since(struct pd_reader *r, uint64_t id, uint64_t count)
{
	uint32_t fresh = r->counts.n, *known = map_get(&r->count_of_id, id);
	if (!known && fresh >= PD_MAX_EVENT_IDS)
		return 0;
	if (!known) {
		map_put(&r->count_of_id, id, fresh);
		vec_push(&r->counts, 0);
	}
	uint64_t *last = &r->counts.v[known ? *known : fresh];
	uint64_t since = count - *last;
	*last = count;
	return since;
}

static void apply_sample(struct pd_reader *r, const struct pd_header *h, struct wire w)
{
	struct pd_sample s;
	const struct pd_event *event;
	bool is_group = false;
	uint64_t id, count;
	if (!pd_sample_read(&r->events, w, &s)) {
		r->skipped++;
		return;
	}
	struct sample out = {
		.time_ns = as_value(s.time), .pid = s.pid, .tid = s.tid, .cpu = s.cpu
	};
	out.stack = pd_frames_stack(&r->frames, &s, h->misc & PERF_RECORD_MISC_CPUMODE_MASK);
	for (; pd_sample_count(&r->events, &s, &id, &count, &event); is_group = true) {
		uint64_t since = count_since(r, id, count);
		if (since)
			give_event(r, &s, event, since, &out);
	}
	if (!is_group)
		give_event(r, &s, s.event, s.period, &out);
}

/* --- all records ------------------------------------------------------------------------------ */

static void apply_lost(struct pd_reader *r, const struct pd_header *h, struct wire w)
{
	if (h->type == PERF_RECORD_LOST_SAMPLES) {
		r->lost_samples += wire_u64(&w);
		return;
	}
	wire_u64(&w); /* id */
	r->lost_records += wire_u64(&w);
}

/* Applies a record in order of time. */
static void apply(void *ctx, const void *record, size_t len)
{
	struct pd_reader *r = ctx;
	struct wire w = wire_of(record, len, r->big);
	struct pd_header h = pd_header_read(&w);
	switch (h.type) {
	case PERF_RECORD_SAMPLE:
		apply_sample(r, &h, w);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		apply_mmap(r, &h, w);
		break;
	case PERF_RECORD_KSYMBOL:
		apply_ksymbol(r, w);
		break;
	case PERF_RECORD_COMM:
		apply_comm(r, &h, w);
		break;
	case PERF_RECORD_FORK:
		apply_fork(r, &h, w);
		break;
	case PERF_RECORD_EXIT:
		apply_exit(r, w);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		apply_lost(r, &h, w);
		break;
	}
}

void pd_reader_record(struct pd_reader *r, const void *record, size_t len)
{
	struct wire w = wire_of(record, len, r->big);
	struct pd_header h = pd_header_read(&w);
	struct pd_sample s;
	uint64_t time = 0;
	if (!r->events.v.n) {
		r->skipped++;
		return;
	}
	if (h.type != PERF_RECORD_SAMPLE)
		pd_record_time(&r->events, w, &time);
	else if (pd_sample_read(&r->events, w, &s))
		time = s.time;
	if (!time || time == UINT64_MAX) {
		apply(r, record, len);
		return;
	}
	r->oldest_ns = time < r->oldest_ns ? time : r->oldest_ns;
	r->newest_ns = time > r->newest_ns ? time : r->newest_ns;
	pd_queue_add(&r->queue, time, record, len);
}

static void give_meta(struct pd_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	meta->host = sink_string(r->sink, r->info.host);
	meta->kernel = sink_string(r->sink, r->info.kernel);
	meta->command = sink_string(r->sink, r->info.command);
	meta->cpus = r->info.cpus;
	if (r->first_ns <= r->last_ns) {
		meta->start_mono_ns = as_value(r->first_ns);
		meta->duration_ns = as_value(r->last_ns - r->first_ns);
		if (r->info.wall_ns)
			meta->start_wall_ns =
				as_value(r->info.wall_ns + (r->first_ns - r->info.clock_ns));
	}
	for (size_t i = 0; i < r->events.v.n; i++) {
		if (r->events.v.v[i].sink_type == UINT32_MAX)
			continue;
		struct buf name = { 0 };
		pd_event_name(&r->events.v.v[i], &name);
		meta->clock = r->sink->ops->string(r->sink, name.data, name.len);
		meta->default_type = r->events.v.v[i].sink_type;
		buf_done(&name);
		break;
	}
}

/* Newer perf counts lost samples per event, separately from the kernel's records of losses. Both
 * describe the same losses. */
static void give_losses(struct pd_reader *r)
{
	const struct sink_ops *ops = r->sink->ops;
	uint64_t lost = r->lost_samples > r->lost_records ? r->lost_samples : r->lost_records;
	if (lost)
		ops->loss(r->sink, LOSS_RING_FULL, lost);
	if (r->queue.late)
		ops->loss(r->sink, LOSS_LATE, r->queue.late);
	if (r->skipped)
		ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
}

void pd_reader_finish(struct pd_reader *r)
{
	pd_queue_flush(&r->queue);
	for (size_t i = 0; i < r->sums.n; i++)
		give_sample(r, &r->sums.v[i]);
	struct pd_wall wall = pd_wall_of(&r->info, r->frames.here, r->oldest_ns, r->newest_ns);
	pd_frames_give_held(&r->frames, &wall);
	give_meta(r);
	give_losses(r);
}
