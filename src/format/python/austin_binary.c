/* austin -b: "MOJ", a version (1 to 3), then events of a byte and what belongs to it. Numbers have
 * six bits and a sign in their first byte, seven in each further one, lowest first; texts end in
 * NUL. Keys of strings and frames belong to the process of the last stack.
 *
 *     1 key, value              settings: mode wall, cpu, memory, full
 *     2 pid, interpreter, tid   begins a sample; tid is hexadecimal text, interpreter since 3
 *     3 key, file, function, line, and since 2 its end and two columns: a frame
 *     4 invalid frame    5 key of a frame    6 a function of the kernel
 *     7 in the garbage collector    8 idle    9 time in µs    10 memory in bytes
 *     11 key, text: a string    12 key of a string */
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/vec.h"
#include "format/common/give.h"
#include "format/python/python.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

enum { MOJO_NS_PER_US = 1000, MOJO_VERSIONS = 3 };

enum mojo_type { MOJO_WALL, MOJO_CPU, MOJO_ALLOC, MOJO_FREE, MOJO_TYPES };

struct mojo_reader {
	struct sink *sink;
	struct cur c;
	uint8_t version;
	bool is_cpu, is_full;       /* the mode */
	struct map strings, frames; /* hash of process and key → of the sink */
	VEC(uint32_t) stack;        /* of the current sample, root first */
	bool is_open, is_idle, is_gc;
	int64_t time_us, bytes;
	uint32_t pid, tid;
	struct give_sums sums;
	uint32_t series[MOJO_TYPES];
	bool has_series[MOJO_TYPES];
	uint64_t given;
};

static int64_t mojo_number(struct mojo_reader *r)
{
	uint8_t byte = cur_u8(&r->c);
	bool negative = byte & 0x40;
	uint64_t v = byte & 0x3f;
	for (unsigned shift = 6; byte & 0x80; shift += shift < 63 ? 7 : 0) {
		byte = cur_u8(&r->c);
		if (shift < 63)
			v |= (uint64_t)(byte & 0x7f) << shift;
	}
	int64_t whole = v <= INT64_MAX ? (int64_t)v : INT64_MAX;
	return negative ? -whole : whole;
}

static struct give_text mojo_text(struct mojo_reader *r)
{
	size_t left = cur_left(&r->c);
	const char *s = (const char *)r->c.p, *nul = left ? memchr(s, '\0', left) : NULL;
	if (!nul) {
		cur_fail(&r->c);
		return (struct give_text){ 0 };
	}
	cur_take(&r->c, nul - s + 1);
	return (struct give_text){ s, nul - s };
}

static bool mojo_is(struct give_text t, const char *text)
{
	return t.len == strlen(text) && memcmp(t.s, text, t.len) == 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void mojo_declare(struct mojo_reader *r, enum mojo_type type)
{
	static const struct give_type types[MOJO_TYPES] = {
		[MOJO_WALL] = { .name = "wall",
				.sample_type = "wall",
				.unit = "nanoseconds",
				.period_type = "wall",
				.period_unit = "nanoseconds" },
		[MOJO_CPU] = { .name = "cpu", .sample_type = "cpu", .unit = "nanoseconds" },
		[MOJO_ALLOC] = { .name = "alloc_space",
				 .sample_type = "alloc_space",
				 .unit = "bytes" },
		[MOJO_FREE] = { .name = "free_space",
				.sample_type = "free_space",
				.unit = "bytes" },
	};
	if (!r->has_series[type])
		r->series[type] = give_series(r->sink, &types[type]);
	r->has_series[type] = true;
}

/* The first type is shown: it is the same one whatever the first sample has. */
static uint32_t mojo_series(struct mojo_reader *r, enum mojo_type type)
{
	if (r->is_full)
		mojo_declare(r, MOJO_WALL);
	if (type == MOJO_FREE)
		mojo_declare(r, MOJO_ALLOC);
	mojo_declare(r, type);
	return r->series[type];
}

static void mojo_add(struct mojo_reader *r, struct give_row row, enum mojo_type type, int64_t value)
{
	row.series = mojo_series(r, type);
	row.value = value;
	if (value)
		give_sums_add(&r->sums, &row);
}

/* The sample that is open ends where another begins. */
static void mojo_end_sample(struct mojo_reader *r)
{
	static const struct give_frame gc = { .kind = FRAME_PYTHON, .name = { ":GC:", 4 } };
	struct give_row row = { .pid = r->pid, .tid = r->tid };
	int64_t ns = sum_mul(r->time_us, MOJO_NS_PER_US);
	if (!r->is_open)
		return;
	if (r->is_gc)
		vec_push(&r->stack, give_frame(r->sink, &gc));
	row.stack = r->sink->ops->stack(r->sink, r->stack.v, r->stack.n);
	if (r->time_us)
		mojo_add(r, row, r->is_cpu ? MOJO_CPU : MOJO_WALL, ns);
	if (r->time_us && r->is_full && !r->is_idle)
		mojo_add(r, row, MOJO_CPU, ns);
	if (r->bytes)
		mojo_add(r, row, r->bytes < 0 ? MOJO_FREE : MOJO_ALLOC,
			 r->bytes < 0 ? sum_sub(0, r->bytes) : r->bytes);
	r->given++;
	r->is_open = false;
}

static uint32_t mojo_id(int64_t id)
{
	return id >= 0 && id < SAMPLE_NO_ID ? (uint32_t)id : SAMPLE_NO_ID;
}

static void mojo_stack(struct mojo_reader *r)
{
	mojo_end_sample(r);
	r->pid = mojo_id(mojo_number(r));
	if (r->version >= 3)
		mojo_number(r);
	struct give_text tid = mojo_text(r);
	uint64_t v = 0;
	for (size_t i = 0; i < tid.len && i < 16; i++) {
		unsigned c = (unsigned char)tid.s[i];
		v = v << 4 | (c >= '0' && c <= '9' ? c - '0' : ((c | 0x20) - 'a' + 10) & 15);
	}
	r->tid = v < SAMPLE_NO_ID ? (uint32_t)v : SAMPLE_NO_ID;
	vec_clear(&r->stack);
	r->is_open = true;
	r->is_idle = r->is_gc = false;
	r->time_us = r->bytes = 0;
}

static void mojo_push(struct mojo_reader *r, uint32_t frame)
{
	vec_push(&r->stack, frame);
}

static void mojo_push_name(struct mojo_reader *r, struct give_text name, enum frame_kind kind)
{
	struct give_frame f = { .kind = kind, .name = name };
	mojo_push(r, give_frame(r->sink, &f));
}

/* --- tables ----------------------------------------------------------------------------------- */

static uint64_t mojo_key(const struct mojo_reader *r, int64_t key)
{
	return hash_mix(r->pid, (uint64_t)key);
}

static uint32_t mojo_string(struct mojo_reader *r, int64_t key)
{
	const uint32_t *id = map_get(&r->strings, mojo_key(r, key));
	return id ? *id : 0;
}

static void mojo_frame(struct mojo_reader *r)
{
	int64_t key = mojo_number(r), file = mojo_number(r), function = mojo_number(r);
	int64_t line = mojo_number(r);
	for (int i = 0; i < 3 && r->version >= 2; i++)
		mojo_number(r);
	struct frame f = { .kind = FRAME_PYTHON,
			   .mapping = MAPPING_NONE,
			   .function = mojo_string(r, function),
			   .file = mojo_string(r, file),
			   .line = line > 0 && line <= INT32_MAX ? line : 0 };
	if (!f.function)
		f.function = sink_string(r->sink, "[unknown]");
	if (!r->c.bad)
		map_put(&r->frames, mojo_key(r, key), r->sink->ops->frame(r->sink, &f));
}

static void mojo_setting(struct mojo_reader *r)
{
	struct give_text key = mojo_text(r), value = mojo_text(r);
	if (!mojo_is(key, "mode"))
		return;
	r->is_cpu = mojo_is(value, "cpu");
	r->is_full = mojo_is(value, "full");
}

static void mojo_frame_ref(struct mojo_reader *r)
{
	const uint32_t *frame = map_get(&r->frames, mojo_key(r, mojo_number(r)));
	if (frame)
		mojo_push(r, *frame);
	else
		mojo_push_name(r, (struct give_text){ 0 }, FRAME_PYTHON);
}

static void mojo_new_string(struct mojo_reader *r)
{
	int64_t key = mojo_number(r);
	struct give_text t = mojo_text(r);
	if (!r->c.bad)
		map_put(&r->strings, mojo_key(r, key), r->sink->ops->string(r->sink, t.s, t.len));
}

static void mojo_invalid(struct mojo_reader *r)
{
	mojo_push_name(r, (struct give_text){ ":INVALID:", 9 }, FRAME_PYTHON);
}

static void mojo_kernel(struct mojo_reader *r)
{
	mojo_push_name(r, mojo_text(r), FRAME_KERNEL);
}

static void mojo_gc(struct mojo_reader *r)
{
	r->is_gc = true;
}

static void mojo_idle(struct mojo_reader *r)
{
	r->is_idle = true;
}

static void mojo_time(struct mojo_reader *r)
{
	r->time_us = sum_add(r->time_us, mojo_number(r));
}

static void mojo_memory(struct mojo_reader *r)
{
	r->bytes = sum_add(r->bytes, mojo_number(r));
}

static void mojo_string_ref(struct mojo_reader *r)
{
	mojo_number(r);
}

static void (*const mojo_events[])(struct mojo_reader *r) = {
	[1] = mojo_setting,   [2] = mojo_stack,   [3] = mojo_frame,       [4] = mojo_invalid,
	[5] = mojo_frame_ref, [6] = mojo_kernel,  [7] = mojo_gc,          [8] = mojo_idle,
	[9] = mojo_time,      [10] = mojo_memory, [11] = mojo_new_string, [12] = mojo_string_ref,
};

static int mojo_read_events(struct mojo_reader *r, const char *name, struct err *err)
{
	uint64_t bad = 0;
	cur_take(&r->c, strlen("MOJ"));
	r->version = cur_u8(&r->c);
	if (r->c.bad || r->version == 0 || r->version > MOJO_VERSIONS)
		return err_set(err, EBADMSG, "%s: version %u of austin's binary files is unknown",
			       name, r->version);
	while (cur_left(&r->c) && !bad) {
		uint8_t event = cur_u8(&r->c);
		bad = event == 0 || event >= sizeof mojo_events / sizeof *mojo_events;
		if (!bad)
			mojo_events[event](r);
	}
	r->is_open &= !r->c.bad; /* a sample that was cut */
	mojo_end_sample(r);
	if (!r->given)
		return err_set(err, EBADMSG, "%s: no sample of austin", name);
	bad += r->c.bad;
	if (bad)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, bad);
	return 0;
}

static int austin_binary_read(struct input *in, struct sink *sink, struct err *err)
{
	struct mojo_reader r = { .sink = sink, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID };
	struct buf bytes = { 0 };
	int rc = input_all(in, PYTHON_MAX_BYTES, &bytes, err);
	r.c = cur_of(bytes.data ? bytes.data : "", bytes.len);
	if (rc == 0)
		rc = mojo_read_events(&r, input_name(in), err);
	if (rc == 0)
		give_sums_end(&r.sums, sink);
	give_sums_done(&r.sums);
	vec_done(&r.stack);
	map_done(&r.strings);
	map_done(&r.frames);
	buf_done(&bytes);
	return rc;
}

static bool austin_binary_detect(const char *head, size_t len)
{
	/* Later versions are refused by their number. */
	return len >= 4 && memcmp(head, "MOJ", 3) == 0 && head[3] >= 1 && head[3] < ' ';
}

const struct format format_austin_binary = {
	.name = "austin-binary",
	.summary = "austin -b: samples of Python",
	.detect = austin_binary_detect,
	.read = austin_binary_read,
};
