/* Frames of a capture of sysprof, in the order of their times, to samples. */
#include "format/sysprof/sysprof.h"

#include "base/err.h"
#include "base/input.h"
#include "format/common/give.h"
#include "format/perf_data/perf_data_event.h"
#include "profile/series.h"
#include "profile/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
	SYSPROF_HEAD = 256,
	SYSPROF_TIME = 64,
	SYSPROF_FRAME = 24,
	SYSPROF_KEY = 40,
	SYSPROF_DOMAIN = 32,
	SYSPROF_CHUNK_NAME = 256,
	SYSPROF_ALIGN = 8,
	SYSPROF_NS_PER_S = 1000000000,
	SYSPROF_LAST_YEAR = 2262 - 1900 /* of 64 bits of nanoseconds */
};
static const unsigned char sysprof_magic[] = { 0x5e, 0x97, 0xca, 0xfd };

enum sysprof_type {
	SYSPROF_SAMPLE = 2,
	SYSPROF_MAP = 3,
	SYSPROF_PROCESS = 4,
	SYSPROF_FORK = 5,
	SYSPROF_EXIT = 6,
	SYSPROF_JITMAP = 7,
	SYSPROF_METADATA = 11,
	SYSPROF_LOG = 12,
	SYSPROF_FILE_CHUNK = 13,
	SYSPROF_ALLOCATION = 14
};

/* A frame to be applied at its time. */
struct sysprof_moment {
	int64_t time;
	uint32_t at;     /* its place in the file */
	uint32_t object; /* of a map */
};

/* The head of a frame. */
struct sysprof_head {
	uint16_t len;
	int16_t cpu;
	int32_t pid;
	int64_t time;
	uint8_t type;
	struct wire body;
};

struct sysprof_reader {
	struct sink *sink;
	struct wire file;
	struct sysprof_frames frames;
	VEC(struct sysprof_moment) moments;
	struct map series; /* of the label comm → of the sink */
	struct sysprof_live live;
	uint64_t start, samples, skipped;
};

/* Reads a frame that is whole. */
static bool sysprof_next(struct wire *w, struct sysprof_head *h)
{
	struct wire at = *w;
	h->len = wire_u16(&at);
	h->cpu = (int16_t)wire_u16(&at);
	h->pid = (int32_t)wire_u32(&at);
	h->time = (int64_t)wire_u64(&at);
	h->type = cur_u8(&at.c);
	cur_take(&at.c, 7);
	if (at.c.bad || h->len < SYSPROF_FRAME || h->len > wire_left(w) || h->len % SYSPROF_ALIGN)
		return false;
	h->body = wire_part(&at, h->len - SYSPROF_FRAME);
	cur_take(&w->c, h->len);
	return true;
}

/* Text in a field of a fixed size. */
static struct give_text sysprof_field(struct wire *w, size_t size)
{
	struct wire part = wire_part(w, size);
	struct give_text t;
	t.s = wire_text(&part, &t.len);
	return t;
}

static bool sysprof_is(struct give_text t, const char *want)
{
	return t.len == strlen(want) && memcmp(t.s, want, t.len) == 0;
}

/* --- the first pass --------------------------------------------------------------------------- */

static void sysprof_chunk(struct sysprof_reader *r, const struct sysprof_head *h)
{
	struct wire w = h->body;
	wire_u16(&w);
	uint16_t len = wire_u16(&w);
	struct give_text name = sysprof_field(&w, SYSPROF_CHUNK_NAME);
	sysprof_symbols_add(&r->frames.symbols, name.s, name.len, wire_part(&w, len));
}

static void sysprof_metadata(struct sysprof_reader *r, const struct sysprof_head *h)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	struct wire w = h->body;
	struct give_text key = sysprof_field(&w, SYSPROF_KEY), value;
	value.s = wire_text(&w, &value.len);
	uint32_t cpus = 0;
	if (!value.len)
		return;
	if (sysprof_is(key, "hostname"))
		meta->host = r->sink->ops->string(r->sink, value.s, value.len);
	else if (sysprof_is(key, "uname.release"))
		meta->kernel = r->sink->ops->string(r->sink, value.s, value.len);
	for (size_t i = 0; i < value.len && i < 6 && value.s[i] >= '0' && value.s[i] <= '9'; i++)
		cpus = cpus * 10 + value.s[i] - '0';
	if (sysprof_is(key, "n-cpu"))
		meta->cpus = cpus;
}

/* "Lost 7 samples". */
static void sysprof_log(struct sysprof_reader *r, const struct sysprof_head *h)
{
	static const char begin[] = "Lost ";
	struct wire w = h->body;
	cur_take(&w.c, 8);
	struct give_text domain = sysprof_field(&w, SYSPROF_DOMAIN), text;
	text.s = wire_text(&w, &text.len);
	uint64_t n = 0;
	if (!sysprof_is(domain, "Sampler") || !cur_starts(cur_of(text.s, text.len), begin))
		return;
	for (size_t i = strlen(begin); i < text.len && text.s[i] >= '0' && text.s[i] <= '9'; i++)
		n = n < UINT32_MAX ? n * 10 + text.s[i] - '0' : n;
	r->sink->ops->loss(r->sink, LOSS_RING_FULL, n);
}

static void sysprof_scan_frame(struct sysprof_reader *r, const struct sysprof_head *h, uint32_t at)
{
	struct sysprof_moment m = { .time = h->time, .at = at };
	switch (h->type) {
	case SYSPROF_MAP:
		m.object = sysprof_add_range(&r->frames, h->pid, h->body);
		if (m.object == UINT32_MAX)
			return;
		break;
	case SYSPROF_SAMPLE:
	case SYSPROF_PROCESS:
	case SYSPROF_FORK:
	case SYSPROF_EXIT:
	case SYSPROF_ALLOCATION:
		break;
	case SYSPROF_JITMAP:
		r->skipped += !sysprof_symbols_add_jits(&r->frames.symbols, h->body);
		return;
	case SYSPROF_METADATA:
		sysprof_metadata(r, h);
		return;
	case SYSPROF_LOG:
		sysprof_log(r, h);
		return;
	case SYSPROF_FILE_CHUNK:
		sysprof_chunk(r, h);
		return;
	default:
		return;
	}
	vec_push(&r->moments, m);
}

static int moment_cmp(const void *a, const void *b)
{
	const struct sysprof_moment *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void sysprof_scan(struct sysprof_reader *r)
{
	struct wire w = r->file;
	struct sysprof_head h;
	while (wire_left(&w)) {
		uint32_t at = w.c.p - r->file.c.p;
		if (!sysprof_next(&w, &h)) {
			r->skipped++; /* cut */
			break;
		}
		sysprof_scan_frame(r, &h, at);
	}
	r->skipped += !sysprof_symbols_ready(&r->frames.symbols, r->file.big);
	sysprof_maps_ready(&r->frames);
	if (r->moments.n)
		qsort(r->moments.v, r->moments.n, sizeof *r->moments.v, moment_cmp);
}

/* --- the second pass -------------------------------------------------------------------------- */

static uint32_t sysprof_id(int32_t id)
{
	return id >= 0 ? (uint32_t)id : SAMPLE_NO_ID;
}

static uint32_t sysprof_labels(struct sysprof_reader *r, uint32_t comm)
{
	struct label label = { .key = sink_string(r->sink, "comm"), .str = comm };
	return comm ? r->sink->ops->labels(r->sink, &label, 1) : 0;
}

static uint32_t sysprof_series(struct sysprof_reader *r, int32_t pid)
{
	static const struct give_type cpu = { .name = "cpu",
					      .sample_type = "samples",
					      .unit = "count" };
	const uint32_t *process = map_get(&r->frames.now.by_pid, (uint32_t)pid);
	uint32_t comm = process ? r->frames.now.processes.v[*process].name : 0;
	const uint32_t *known = map_get(&r->series, comm);
	if (known)
		return *known;
	uint32_t series = give_series_of(r->sink, &cpu, sysprof_labels(r, comm));
	map_put(&r->series, comm, series);
	return series;
}

/* Returns the addresses. n: their number by the frame. */
static struct wire sysprof_addresses(struct sysprof_reader *r, struct wire *w, uint16_t n)
{
	size_t bytes = (size_t)n * sizeof(uint64_t);
	r->skipped += bytes > wire_left(w);
	return wire_part(w, bytes < wire_left(w) ? bytes : wire_left(w) & ~(size_t)7);
}

static void sysprof_sample(struct sysprof_reader *r, const struct sysprof_head *h)
{
	struct wire w = h->body;
	uint16_t n = wire_u16(&w);
	wire_u16(&w);
	uint32_t tid = wire_u32(&w);
	if (w.c.bad) {
		r->skipped++;
		return;
	}
	struct wire addresses = sysprof_addresses(r, &w, n);
	if ((int32_t)tid > 0 && tid != (uint32_t)h->pid && h->pid > 0)
		map_put(&r->frames.threads, tid, h->pid);
	struct sample s = { .time_ns = h->time,
			    .value = 1,
			    .series = sysprof_series(r, h->pid),
			    .pid = sysprof_id(h->pid),
			    .tid = sysprof_id((int32_t)tid),
			    .cpu = sysprof_id(h->cpu) };
	s.stack = sysprof_stack(&r->frames, h->pid, addresses, true);
	r->sink->ops->sample(r->sink, &s);
	r->samples++;
}

static void sysprof_allocation(struct sysprof_reader *r, const struct sysprof_head *h)
{
	struct wire w = h->body;
	uint64_t address = wire_u64(&w);
	int64_t size = (int64_t)wire_u64(&w);
	uint32_t tid = wire_u32(&w);
	uint16_t n = wire_u16(&w);
	wire_u16(&w);
	if (w.c.bad) {
		r->skipped++;
		return;
	}
	struct give_row row = { .pid = sysprof_id(h->pid), .tid = sysprof_id((int32_t)tid) };
	sysprof_live_free(&r->live, row.pid, address);
	if (size <= 0)
		return;
	row.stack = sysprof_stack(&r->frames, h->pid, sysprof_addresses(r, &w, n), false);
	row.value = size;
	sysprof_live_add(&r->live, &row, address);
}

static void sysprof_apply(struct sysprof_reader *r, const struct sysprof_moment *m)
{
	struct wire w = r->file, body;
	struct sysprof_head h;
	uint32_t child;
	cur_take(&w.c, m->at);
	if (!sysprof_next(&w, &h))
		return;
	body = h.body;
	switch (h.type) {
	case SYSPROF_SAMPLE:
		sysprof_sample(r, &h);
		break;
	case SYSPROF_MAP:
		r->skipped += !sysprof_map(&r->frames, h.pid, m->object, body);
		break;
	case SYSPROF_PROCESS:
		sysprof_process(&r->frames, h.pid, body);
		break;
	case SYSPROF_FORK:
		child = wire_u32(&body);
		r->skipped += body.c.bad;
		if (!body.c.bad)
			sysprof_fork(&r->frames, h.pid, child);
		break;
	case SYSPROF_EXIT:
		pd_world_exit(&r->frames.now, h.pid, h.pid);
		break;
	case SYSPROF_ALLOCATION:
		sysprof_allocation(r, &h);
		break;
	}
}

/* --- the file --------------------------------------------------------------------------------- */

/* "2026-11-28T22:14:00.123456Z", or with "+01:00" or "+01". Returns 0 if it is another text. */
static int64_t wall_time(struct give_text text)
{
	char s[SYSPROF_TIME + 1] = "", sign = 'Z';
	struct tm tm = { 0 };
	int n = 0, hours = 0, minutes = 0;
	memcpy(s, text.s, text.len < SYSPROF_TIME ? text.len : SYSPROF_TIME);
	const char *rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return 0;
	int64_t ns = 0, digit = SYSPROF_NS_PER_S / 10;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, digit /= 10)
			ns += (*rest - '0') * digit;
	n = sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes);
	if (n == 2)
		sscanf(rest, "%c%2d%2d", &sign, &hours, &minutes);
	int64_t east = (sign == '-' ? -60 : 60) * (hours * 60 + minutes);
	time_t at = timegm(&tm);
	if (tm.tm_year < 70 || tm.tm_year >= SYSPROF_LAST_YEAR)
		return 0;
	return (at - east) * SYSPROF_NS_PER_S + ns;
}

static void sysprof_file_times(struct sysprof_reader *r, struct wire head)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	cur_take(&head.c, 8);
	struct give_text start = sysprof_field(&head, SYSPROF_TIME);
	int64_t from = (int64_t)wire_u64(&head), to = (int64_t)wire_u64(&head);
	if (!to && r->moments.n)
		to = r->moments.v[r->moments.n - 1].time;
	meta->start_mono_ns = from;
	meta->start_wall_ns = wall_time(start);
	if (from > 0 && to > from)
		meta->duration_ns = to - from;
}

static int sysprof_read_file(struct sysprof_reader *r, const char *name, struct err *err)
{
	struct wire head = wire_part(&r->file, SYSPROF_HEAD);
	if (r->file.c.bad)
		return err_set(err, EBADMSG, "%s: capture of sysprof: truncated header", name);
	sysprof_scan(r);
	sysprof_file_times(r, head);
	for (size_t i = 0; i < r->moments.n; i++)
		sysprof_apply(r, &r->moments.v[i]);
	return 0;
}

/* No longer needs the file. */
static int sysprof_give(struct sysprof_reader *r, const char *name, struct err *err)
{
	uint64_t allocations = sysprof_live_give(&r->live, r->sink, r->samples == 0);
	if (r->skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
	if (r->samples + allocations == 0)
		return err_set(err, EBADMSG, "%s: a capture of sysprof without samples", name);
	return 0;
}

static bool sysprof_detect(const char *head, size_t len)
{
	return len >= 6 && memcmp(head, sysprof_magic, sizeof sysprof_magic) == 0 && head[4] == 1;
}

static int sysprof_read(struct input *in, struct sink *sink, struct err *err)
{
	struct sysprof_reader r = { .sink = sink, .frames = { .sink = sink } };
	struct buf bytes = { 0 };
	int rc = input_all(in, SYSPROF_MAX_BYTES, &bytes, err);
	if (rc == 0 && !sysprof_detect(bytes.data, bytes.len))
		rc = err_set(err, EBADMSG, "%s: not a capture of sysprof, version 1",
			     input_name(in));
	if (rc == 0) {
		r.file = wire_of(bytes.data, bytes.len, !(bytes.data[5] & 1));
		r.frames.bytes = bytes.data;
		rc = sysprof_read_file(&r, input_name(in), err);
	}
	sysprof_frames_done(&r.frames);
	vec_done(&r.moments);
	map_done(&r.series);
	buf_done(&bytes);
	if (rc == 0)
		rc = sysprof_give(&r, input_name(in), err);
	sysprof_live_done(&r.live);
	return rc;
}

static int sysprof_read_here(struct input *in, struct sink *sink, const struct format_here *here,
			     struct err *err)
{
	(void)here;
	return sysprof_read(in, sink, err);
}

static const char *const sysprof_endings[] = { ".syscap", NULL };

const struct format format_sysprof = {
	.name = "sysprof",
	.summary = "captures of sysprof",
	.endings = sysprof_endings,
	.detect = sysprof_detect,
	.read = sysprof_read,
	.read_here = sysprof_read_here,
};
