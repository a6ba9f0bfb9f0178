#include "base/buf.h"
#include "base/err.h"
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

enum python_mode { PYTHON_SAMPLES, PYTHON_WALL, PYTHON_CPU, PYTHON_MEMORY, PYTHON_FULL };

enum { PYTHON_NS_PER_US = 1000, PYTHON_MAX_SERIES = 4 };

struct python_text {
	struct sink *sink;
	enum python_mode mode;
	uint32_t series[PYTHON_MAX_SERIES]; /* valid once has_series */
	bool has_series;
	VEC(uint32_t) frames;
	struct give_sums sums;
	uint64_t good, skipped;
};

/* --- types ------------------------------------------------------------------------------------ */

static const struct give_type python_samples = { .name = "samples",
						 .sample_type = "samples",
						 .unit = "count" };
/* Whether a thread ran is not said: the period is wall time, too (profile/state.h). */
static const struct give_type python_wall = { .name = "wall",
					      .sample_type = "wall",
					      .unit = "nanoseconds",
					      .period_type = "wall",
					      .period_unit = "nanoseconds" };
static const struct give_type python_cpu = { .name = "cpu",
					     .sample_type = "cpu",
					     .unit = "nanoseconds" };
static const struct give_type python_alloc = { .name = "alloc_space",
					       .sample_type = "alloc_space",
					       .unit = "bytes" };
static const struct give_type python_free = { .name = "free_space",
					      .sample_type = "free_space",
					      .unit = "bytes" };

static void python_types(struct python_text *t)
{
	static const struct give_type *const types[][PYTHON_MAX_SERIES] = {
		[PYTHON_SAMPLES] = { &python_samples },
		[PYTHON_WALL] = { &python_wall },
		[PYTHON_CPU] = { &python_cpu },
		[PYTHON_MEMORY] = { &python_alloc, &python_free },
		[PYTHON_FULL] = { &python_wall, &python_cpu, &python_alloc, &python_free },
	};
	for (int i = 0; i < PYTHON_MAX_SERIES && types[t->mode][i]; i++)
		t->series[i] = give_series(t->sink, types[t->mode][i]);
	t->has_series = true;
}

/* --- a line ----------------------------------------------------------------------------------- */

static bool python_number(const char **s, const char *end, int64_t *out)
{
	bool negative = *s < end && **s == '-';
	int64_t v = 0;
	*s += negative;
	const char *from = *s;
	for (; *s < end && **s >= '0' && **s <= '9'; (*s)++)
		v = sum_add(sum_mul(v, 10), **s - '0');
	*out = negative ? -v : v;
	return *s > from;
}

/* Splits "file:function:line". */
static struct give_frame python_frame(const char *s, size_t len)
{
	bool is_native = len == strlen(PYTHON_NATIVE) && memcmp(s, PYTHON_NATIVE, len) == 0;
	struct give_frame f = { .kind = is_native ? FRAME_NATIVE : FRAME_PYTHON,
				.name = { s, len } };
	const char *colon = memrchr(s, ':', len), *digits = colon ? colon + 1 : NULL;
	int64_t line;
	if (!colon || !python_number(&digits, s + len, &line) || digits != s + len)
		return f;
	const char *function = colon > s ? memrchr(s, ':', colon - s) : NULL;
	if (!function || colon - function < 2)
		return f;
	f.name = (struct give_text){ function + 1, colon - function - 1 };
	f.file = (struct give_text){ s, function - s };
	f.line = line > 0 && line <= INT32_MAX ? line : 0;
	return f;
}

struct python_owner {
	uint32_t pid, tid;
};

/* Takes "P12", "T0:13", "T13" or "tid:13". Returns false for a frame. */
static bool python_take_owner(struct python_owner *o, const char *s, size_t len)
{
	static const char tid[] = "tid:";
	const char *end = s + len, *colon = memchr(s, ':', len);
	uint32_t *to = &o->tid;
	int64_t id;
	if (len > strlen(tid) && memcmp(s, tid, strlen(tid)) == 0)
		s += strlen(tid);
	else if (len > 1 && *s == 'P')
		to = &o->pid, s++;
	else if (len > 1 && *s == 'T')
		s = colon ? colon + 1 : s + 1;
	else
		return false;
	if (!python_number(&s, end, &id) || s != end)
		return false;
	*to = id >= 0 && id < SAMPLE_NO_ID ? id : SAMPLE_NO_ID;
	return true;
}

static uint32_t python_stack(struct python_text *t, const char *s, size_t len,
			     struct python_owner *owner)
{
	bool is_head = true;
	vec_clear(&t->frames);
	for (size_t at = 0; at <= len;) {
		const char *semicolon = memchr(s + at, ';', len - at);
		size_t n = semicolon ? (size_t)(semicolon - s) - at : len - at;
		is_head = is_head && t->frames.n == 0 && python_take_owner(owner, s + at, n);
		if (!is_head && n) {
			struct give_frame f = python_frame(s + at, n);
			vec_push(&t->frames, give_frame(t->sink, &f));
		}
		at += n + 1;
	}
	return t->sink->ops->stack(t->sink, t->frames.v, t->frames.n);
}

static void python_add(struct python_text *t, struct give_row row, int i, int64_t value)
{
	row.series = t->series[i];
	row.value = value;
	if (value)
		give_sums_add(&t->sums, &row);
}

/* Reads "100" or "100,1,-4096". */
static bool python_values(const struct python_text *t, const char *s, const char *end, int64_t v[3])
{
	int n = t->mode == PYTHON_FULL ? 3 : 1;
	for (int i = 0; i < n; i++) {
		if (i && (s == end || *s++ != ','))
			return false;
		if (!python_number(&s, end, &v[i]))
			return false;
	}
	return s == end;
}

static void python_add_all(struct python_text *t, struct give_row row, const int64_t v[3])
{
	int64_t ns = sum_mul(v[0], PYTHON_NS_PER_US);
	int64_t bytes = t->mode == PYTHON_FULL ? v[2] : v[0];
	int memory = t->mode == PYTHON_FULL ? 2 : 0;
	if (t->mode == PYTHON_SAMPLES)
		python_add(t, row, 0, v[0]);
	if (t->mode == PYTHON_WALL || t->mode == PYTHON_CPU || t->mode == PYTHON_FULL)
		python_add(t, row, 0, ns);
	if (t->mode == PYTHON_FULL && !v[1])
		python_add(t, row, 1, ns);
	if (t->mode == PYTHON_FULL || t->mode == PYTHON_MEMORY)
		python_add(t, row, memory + (bytes < 0), bytes < 0 ? sum_sub(0, bytes) : bytes);
}

static bool python_line(struct python_text *t, const char *line, size_t len)
{
	const char *blank = memrchr(line, ' ', len);
	struct python_owner owner = { SAMPLE_NO_ID, SAMPLE_NO_ID };
	int64_t v[3];
	if (!blank || !python_values(t, blank + 1, line + len, v))
		return false;
	if (!t->has_series)
		python_types(t);
	struct give_row row = { .stack = python_stack(t, line, blank - line, &owner) };
	row.pid = owner.pid;
	row.tid = owner.tid;
	python_add_all(t, row, v);
	t->good++;
	return true;
}

/* "# mode: wall" */
static void python_setting(struct python_text *t, const char *line, size_t len)
{
	static const struct {
		const char *text;
		enum python_mode mode;
	} settings[] = { { "# austin:", PYTHON_WALL },
			 { "# mode: wall", PYTHON_WALL },
			 { "# mode: cpu", PYTHON_CPU },
			 { "# mode: memory", PYTHON_MEMORY },
			 { "# mode: full", PYTHON_FULL } };
	for (size_t i = 0; i < sizeof settings / sizeof *settings && !t->has_series; i++) {
		size_t n = strlen(settings[i].text);
		if (len >= n && memcmp(line, settings[i].text, n) == 0)
			t->mode = settings[i].mode;
	}
}

static int python_text_lines(struct python_text *t, struct input *in, struct err *err)
{
	const char *line;
	size_t len;
	bool cut, first = true;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0) {
		if (len == 0)
			continue;
		/* Older versions of austin have no settings. */
		if (first && line[0] == 'P')
			t->mode = PYTHON_WALL;
		first = false;
		if (*line == '#')
			python_setting(t, line, len);
		else
			t->skipped += cut || !python_line(t, line, len);
	}
	if (rc == 0 && !t->good)
		rc = err_set(err, EBADMSG, "%s: no line of a sampler of Python", input_name(in));
	return rc;
}

static int python_text_read(struct input *in, struct sink *sink, struct err *err)
{
	struct python_text t = { .sink = sink };
	int rc = python_text_lines(&t, in, err);
	if (rc == 0)
		give_sums_end(&t.sums, sink);
	if (rc == 0 && t.skipped)
		sink->ops->loss(sink, LOSS_INPUT_SKIPPED, t.skipped);
	give_sums_done(&t.sums);
	vec_done(&t.frames);
	return rc;
}

/* "# austin: …", or a first line that begins with "P12;T" or "tid:12;". */
static bool python_text_detect(const char *head, size_t len)
{
	static const char austin[] = "# austin:", tid[] = "tid:";
	struct python_owner o = { SAMPLE_NO_ID, SAMPLE_NO_ID };
	struct cur c = cur_of(head, len);
	const char *line;
	size_t line_len;
	if (cur_starts(c, austin))
		return true;
	if (!cur_line(&c, &line, &line_len))
		return false;
	const char *semicolon = memchr(line, ';', line_len);
	if (!semicolon || !python_take_owner(&o, line, semicolon - line))
		return false;
	bool is_austin = semicolon + 1 < line + line_len && semicolon[1] == 'T';
	return cur_starts(cur_of(line, line_len), tid) || (o.pid != SAMPLE_NO_ID && is_austin);
}

const struct format format_python_text = {
	.name = "python-text",
	.summary = "lines of austin, and of Python's profiling.sampling --collapsed",
	.detect = python_text_detect,
	.read = python_text_read,
};
