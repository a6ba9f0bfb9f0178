/* Detects and reads folded stacks, with suffixes and marks of profilers. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/decimal.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/vec.h"
#include "format/common/guess.h"
#include "format/folded/folded.h"
#include "profile/change/signed.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/state.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

enum { FOLDED_CACHED_NAME = 4096 }; /* bytes; longer names are looked up in the sink each time */

/* A frame as written in the file, including its suffix. */
struct folded_token {
	const char *text;
	uint32_t len;
	uint32_t frame;
	uint8_t state; /* enum thread_state, for a marker */
};
struct folded_row {
	uint32_t stack;
	int64_t value;
};

struct folded_reader {
	struct sink *sink;
	struct arena texts;
	VEC(struct folded_token) tokens;
	struct map token_index;
	/* The stack of the previous line: most lines share their first frames with it. ends[i] is
	 * the end of the text of frame i. */
	struct buf before;
	VEC(uint32_t) frames;
	VEC(uint32_t) ends;
	uint32_t row;
	/* One per distinct stack, in order of first use; of a difference two: the newer side, then
	 * the older one. */
	VEC(struct folded_row) rows;
	/* Behind the point of the rows' values, in 10^-18, 0 <= part < 1; those of the last rows
	 * are missing if they are 0: most files have none. */
	VEC(int64_t) parts;
	struct map row_of_stack;
	VEC(uint8_t) states;              /* of the frames, enum thread_state */
	uint64_t in_state[THREAD_STATES]; /* distinct stacks */
	uint64_t lines, skipped;
	bool is_async_profiler, is_diff, is_wall_us, is_heaptrack;
};

enum { FOLDED_SUFFIX = 4 }; /* bytes of "_[x]" */

static const struct {
	char letter;
	enum frame_kind kind, by_async_profiler;
} folded_suffixes[] = {
	{ 'k', FRAME_KERNEL, FRAME_KERNEL },
	{ 'j', FRAME_JIT, FRAME_JIT },
	{ 'i', FRAME_INTERPRETED, FRAME_JIT }, /* there: inlined into the compiled caller */
	{ '0', FRAME_INTERPRETED, FRAME_INTERPRETED },
	{ '1', FRAME_JIT, FRAME_JIT }, /* compiled by C1 */
	{ 'G', FRAME_GPU_SOURCE, FRAME_GPU_SOURCE },
	{ 'g', FRAME_GPU_INSTRUCTION, FRAME_GPU_INSTRUCTION },
};

/* Returns the letter of "_[x]" at the end of a name that is longer than that, else 0. */
static char folded_suffix(const char *name, size_t len)
{
	const char *end = name + len;
	bool is_suffix = len > FOLDED_SUFFIX && end[-4] == '_' && end[-3] == '[' && end[-1] == ']';
	return is_suffix ? end[-2] : 0;
}

/* Returns the kind given by a name's suffix, and removes the suffix from *len. */
static enum frame_kind folded_kind(const struct folded_reader *r, const char *name, size_t *len)
{
	char letter = folded_suffix(name, *len);
	for (size_t i = 0; letter && i < sizeof folded_suffixes / sizeof *folded_suffixes; i++) {
		if (letter != folded_suffixes[i].letter)
			continue;
		*len -= FOLDED_SUFFIX;
		return r->is_async_profiler ? folded_suffixes[i].by_async_profiler
					    : folded_suffixes[i].kind;
	}
	return guess_kind(name, *len, NULL, 0);
}

/* Whether a frame is in async-profiler's spelling. Only it writes _[0] and _[1], and its compiled
 * frames are Java methods ("java/util/List.add_[j]"). */
static bool folded_is_async_frame(const char *name, size_t len)
{
	char letter = folded_suffix(name, len);
	return letter == '0' || letter == '1' || (letter == 'j' && memchr(name, '.', len));
}

static bool folded_is_async_profiler(const char *head, size_t len)
{
	static const char ends[] = "; \n";
	for (size_t at = 0; at < len;) {
		size_t n = 0;
		while (at + n < len && !memchr(ends, head[at + n], sizeof ends - 1))
			n++;
		if (folded_is_async_frame(head + at, n))
			return true;
		at += n + 1;
	}
	return false;
}

/* heaptrack_print -F ends each stack with a ';', and names "function (file)". */
static bool folded_is_heaptrack(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	const char *line;
	size_t line_len, stacks = 0;
	while (cur_line(&c, &line, &line_len)) {
		const char *blank = memrchr(line, ' ', line_len);
		bool is_whole = cur_left(&c) || len < INPUT_PEEK;
		if (line_len == 0 || !is_whole)
			continue;
		if (!blank || blank == line || blank[-1] != ';')
			return false;
		stacks++;
	}
	return stacks > 0;
}

/* Splits "function (file)". */
static size_t folded_file(const char *text, size_t *len)
{
	const char *open = *len && text[*len - 1] == ')' ? memrchr(text, '(', *len) : NULL;
	if (!open || open - text < 2 || open[-1] != ' ')
		return 0;
	size_t file_len = text + *len - 1 - (open + 1);
	*len = open - 1 - text;
	return file_len;
}

/* Creates a frame and reads its state if it is a marker; text is not set. */
static struct folded_token folded_new_frame(struct folded_reader *r, const char *text, size_t len)
{
	struct folded_token t = { 0 };
	struct frame f = { .mapping = MAPPING_NONE };
	size_t file_len = r->is_heaptrack ? folded_file(text, &len) : 0;
	if (file_len)
		f.file = r->sink->ops->string(r->sink, text + len + 2, file_len);
	f.kind = folded_kind(r, text, &len);
	if (len == 0) {
		text = "[unknown]";
		len = strlen(text);
	}
	f.function = r->sink->ops->string(r->sink, text, len);
	t.frame = r->sink->ops->frame(r->sink, &f);
	t.state = f.kind == FRAME_MARKER ? state_of_marker(text, len) : STATE_UNSAID;
	return t;
}

struct folded_token_key {
	const struct folded_reader *r;
	const char *text;
	size_t len;
};

static bool folded_same_token(const void *ctx, uint32_t id)
{
	const struct folded_token_key *key = ctx;
	const struct folded_token *t = &key->r->tokens.v[id];
	return t->len == key->len && memcmp(t->text, key->text, key->len) == 0;
}

static struct folded_token folded_frame(struct folded_reader *r, const char *text, size_t len)
{
	if (len > FOLDED_CACHED_NAME)
		return folded_new_frame(r, text, len);
	struct folded_token_key key = { r, text, len };
	uint32_t fresh = r->tokens.n;
	uint32_t id =
		map_intern(&r->token_index, hash_bytes(text, len), fresh, folded_same_token, &key);
	if (id == fresh) {
		struct folded_token t = folded_new_frame(r, text, len);
		t.text = arena_dup(&r->texts, text, len);
		t.len = len;
		vec_push(&r->tokens, t);
	}
	return r->tokens.v[id];
}

static size_t folded_common(const char *a, const char *b, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t x, y;
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return i + __builtin_ctzll(x ^ y) / 8;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static void folded_cut_frames(struct folded_reader *r, size_t n)
{
	r->frames.n = r->ends.n = r->states.n = n;
}

static void folded_push_frame(struct folded_reader *r, const char *text, size_t len, size_t end)
{
	struct folded_token t = folded_frame(r, text, len);
	vec_push(&r->frames, t.frame);
	vec_push(&r->states, t.state);
	vec_push(&r->ends, end);
}

/* Keeps the frames that text shares with the previous line. Returns the start of the next frame. */
static size_t folded_keep_frames(struct folded_reader *r, size_t common)
{
	size_t n = r->frames.n;
	while (n && r->ends.v[n - 1] >= common)
		n--;
	folded_cut_frames(r, n);
	return n ? r->ends.v[n - 1] + 1 : 0;
}

/* Returns the state of the marker nearest to the leaf. */
static uint8_t folded_stack_state(const struct folded_reader *r)
{
	for (size_t i = r->states.n; i-- > 0;)
		if (r->states.v[i])
			return r->states.v[i];
	return STATE_UNSAID;
}

/* Adds the leaf, which ends at `end`, without its mark. Adds a marker to a waiting stack that has
 * none. */
static enum thread_state folded_push_leaf(struct folded_reader *r, const char *text, size_t len,
					  size_t end)
{
	char mark = folded_suffix(text, len);
	bool is_marked = mark == 'c' || mark == 'o';
	folded_push_frame(r, text, len - (is_marked ? FOLDED_SUFFIX : 0), end);
	enum thread_state state = folded_stack_state(r);
	if (mark == 'c')
		return STATE_ON_CPU;
	if (mark != 'o' || state == STATE_OFF_CPU)
		return state;
	folded_push_frame(r, STATE_OFF_CPU_MARKER, strlen(STATE_OFF_CPU_MARKER), end);
	return STATE_OFF_CPU;
}

static uint32_t folded_row_of_stack(struct folded_reader *r, enum thread_state state)
{
	uint32_t stack = r->sink->ops->stack(r->sink, r->frames.v, r->frames.n);
	uint32_t *known = map_get(&r->row_of_stack, stack);
	if (known)
		return *known;
	uint32_t row = r->rows.n;
	map_put(&r->row_of_stack, stack, row);
	for (int sides = r->is_diff ? 2 : 1; sides > 0; sides--)
		vec_push(&r->rows, (struct folded_row){ .stack = stack });
	r->in_state[state]++;
	return row;
}

/* Returns the row of this stack. text is the line without its value. */
static uint32_t folded_row_of(struct folded_reader *r, const char *text, size_t len)
{
	size_t shorter = len < r->before.len ? len : r->before.len;
	size_t common = folded_common(text, r->before.data, shorter);
	if (r->rows.n && common == len && len == r->before.len)
		return r->row;
	size_t at = folded_keep_frames(r, common);
	const char *semicolon;
	while ((semicolon = memchr(text + at, ';', len - at))) {
		size_t end = semicolon - text;
		folded_push_frame(r, text + at, end - at, end);
		at = end + 1;
	}
	size_t above = r->frames.n;
	bool no_leaf = at == len && above; /* a ';' at the end */
	enum thread_state state =
		no_leaf ? folded_stack_state(r) : folded_push_leaf(r, text + at, len - at, len);
	r->row = folded_row_of_stack(r, state);
	folded_cut_frames(r, above); /* in another line it may not be a leaf */
	buf_clear(&r->before);
	buf_add(&r->before, text, len);
	return r->row;
}

static void folded_add_part(struct folded_reader *r, uint32_t row, int64_t part)
{
	if (r->parts.n <= row) {
		size_t n = row + 1 - r->parts.n;
		vec_reserve(&r->parts, row + 1);
		memset(r->parts.v + r->parts.n, 0, n * sizeof *r->parts.v);
		r->parts.n = row + 1;
	}
	int64_t sum = r->parts.v[row] + part; /* below 2 * 10^18 */
	if (sum >= DECIMAL_ONE)
		r->rows.v[row].value = sum_add(r->rows.v[row].value, 1);
	r->parts.v[row] = sum % DECIMAL_ONE;
}

static bool folded_is_comment(const char *line, size_t len)
{
	return len == 0 || line[0] == '#';
}

static void folded_add(struct folded_reader *r, uint32_t row, const struct folded_value *value)
{
	r->rows.v[row].value = sum_add(r->rows.v[row].value, value->whole);
	if (value->part)
		folded_add_part(r, row, value->part);
}

static void folded_line(struct folded_reader *r, const char *line, size_t len, bool cut)
{
	size_t stack_len;
	struct folded_value value, older;
	if (folded_is_comment(line, len))
		return;
	r->lines++;
	if (cut || memchr(line, '\0', len) ||
	    !(r->is_diff ? folded_split_diff(line, len, &stack_len, &older, &value)
			 : folded_split(line, len, &stack_len, &value))) {
		r->skipped++;
		return;
	}
	uint32_t row = folded_row_of(r, line, stack_len);
	folded_add(r, row, &value);
	if (r->is_diff)
		folded_add(r, row + 1, &older);
}

/* --- output ----------------------------------------------------------------------------------- */

enum { FOLDED_MILLION = 1000000, FOLDED_NS_PER_US = 1000 };

static struct decimal folded_sum(const struct folded_reader *r, size_t row)
{
	struct decimal d = decimal_of(r->rows.v[row].value);
	d.atto += row < r->parts.n ? r->parts.v[row] : 0;
	return d;
}

/* Sums with a fraction. Sums within half a millionth of a whole number have none: many
 * writers have passed doubles on. */
struct folded_fractions {
	uint64_t n;
	struct decimal smallest, all; /* without their signs */
};

static struct folded_fractions folded_fractions(const struct folded_reader *r)
{
	struct folded_fractions f = { .smallest = decimal_of(1) };
	for (size_t i = 0; i < r->parts.n; i++) {
		struct decimal sum = folded_sum(r, i);
		int64_t millionths = decimal_times(sum, FOLDED_MILLION);
		struct decimal size = { sum.atto < 0 ? -sum.atto : sum.atto };
		f.all = decimal_add(f.all, size);
		if (millionths % FOLDED_MILLION == 0 && (millionths || sum.atto == 0))
			continue;
		f.n++;
		f.smallest = size.atto < f.smallest.atto ? size : f.smallest;
	}
	return f;
}

/* The type of the stacks, and the factor by which their sums are multiplied to become values. */
struct folded_form {
	const char *name, *sample_type, *unit;
	int64_t scale;
	bool is_unsaid; /* whether threads ran or waited (profile/state.h) */
};

/* Profilers that record waits mark whether threads ran or waited, and count in microseconds. Marks
 * of running threads alone imply CPU time but say nothing about its unit. */
static struct folded_form folded_form(const struct folded_reader *r)
{
	const uint64_t *n = r->in_state;
	struct folded_form f = { "samples", "samples", "count", 1, false };
	if (r->is_wall_us)
		return (struct folded_form){ "wall", "wall", "microseconds", 1, true };
	if (2 * n[STATE_UNSAID] > r->rows.n / (r->is_diff ? 2 : 1))
		return f;
	bool off = n[STATE_OFF_CPU], ready = n[STATE_SCHED_WAIT], on = n[STATE_ON_CPU];
	bool gpu = n[STATE_GPU_WAIT];

	f.name = gpu || on + off + ready > 1 ? "wall"
		 : off                       ? "off-cpu"
		 : ready                     ? "sched-wait"
					     : "cpu";
	f.sample_type = off || ready || gpu ? f.name : f.sample_type;
	f.unit = off || ready || gpu ? "microseconds" : f.unit;
	return f;
}

/* Sums with a fraction: times become nanoseconds, counts as folded_scale_of. */
static struct folded_form folded_scaled_form(struct folded_reader *r)
{
	struct folded_form f = folded_form(r);
	struct folded_fractions fractions = folded_fractions(r);
	bool is_time = strcmp(f.unit, "microseconds") == 0;
	if (!fractions.n)
		return f;
	if (is_time) {
		f.unit = "nanoseconds";
		f.scale = FOLDED_NS_PER_US;
		return f;
	}
	const struct folded_scale *scale = folded_scale_of(fractions.smallest, fractions.all);
	f.unit = scale->factor > 1 ? scale->unit : f.unit;
	f.scale = scale->factor;
	r->sink->ops->loss(r->sink, f.scale > 1 ? LOSS_INPUT_SCALED : LOSS_INPUT_ROUNDED,
			   fractions.n);
	return f;
}

/* Returns the series of the older side of a difference. */
static uint32_t folded_older_series(struct sink *s, struct series series)
{
	struct label label = { .key = sink_string(s, BASE_LABEL), .str = sink_string(s, "true") };
	series.labels = s->ops->labels(s, &label, 1);
	return s->ops->series(s, &series);
}

/* Emits one sample per distinct stack; of a difference one for each side. */
static void folded_give(struct folded_reader *r)
{
	struct sink *s = r->sink;
	struct folded_form form = folded_scaled_form(r);
	struct type type = { .name = sink_string(s, form.name),
			     .sample_type = sink_string(s, form.sample_type),
			     .unit = sink_string(s, form.unit) };
	if (form.is_unsaid) {
		type.period_type = type.name;
		type.period_unit = sink_string(s, "nanoseconds");
	}
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t newer = s->ops->series(s, &series);
	uint32_t older = r->is_diff ? folded_older_series(s, series) : newer;
	struct sample sample = { .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .cpu = SAMPLE_NO_ID };
	for (size_t i = 0; i < r->rows.n; i++) {
		bool is_older = r->is_diff && i % 2;
		sample.stack = r->rows.v[i].stack;
		sample.value = r->parts.n ? decimal_times(folded_sum(r, i), form.scale)
					  : r->rows.v[i].value;
		sample.value = is_older ? sum_sub(0, sample.value) : sample.value;
		sample.series = is_older ? older : newer;
		if (sample.value || !r->is_diff)
			s->ops->sample(s, &sample);
	}
	if (r->skipped)
		s->ops->loss(s, LOSS_INPUT_SKIPPED, r->skipped);
}

static void folded_reader_done(struct folded_reader *r)
{
	arena_done(&r->texts);
	vec_done(&r->tokens);
	map_done(&r->token_index);
	buf_done(&r->before);
	vec_done(&r->frames);
	vec_done(&r->ends);
	vec_done(&r->states);
	vec_done(&r->rows);
	vec_done(&r->parts);
	map_done(&r->row_of_stack);
}

/* Whether each line of the head has two values, as a difference has. A single one may be of a frame
 * whose name ends in a number. */
static bool folded_is_diff(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	struct folded_value older, newer;
	const char *line;
	size_t line_len, stack_len, n = 0;
	while (cur_line(&c, &line, &line_len)) {
		if (folded_is_comment(line, line_len))
			continue;
		if (!cur_left(&c) && len == INPUT_PEEK)
			break; /* may be cut */
		if (!folded_split_diff(line, line_len, &stack_len, &older, &newer))
			return false;
		n++;
	}
	return n > 1;
}

static int folded_read_as(struct input *in, struct sink *sink, bool is_wall_us, struct err *err)
{
	struct folded_reader r = { .sink = sink, .is_wall_us = is_wall_us };
	const char *line;
	size_t len;
	bool cut;
	int rc = input_peek(in, &line, &len, err);
	if (rc)
		return rc;
	r.is_async_profiler = folded_is_async_profiler(line, len);
	r.is_diff = folded_is_diff(line, len);
	r.is_heaptrack = folded_is_heaptrack(line, len);
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0)
		folded_line(&r, line, len, cut);
	if (rc == 0 && r.rows.n == 0)
		rc = err_set(err, EBADMSG,
			     "%s: none of %llu lines is a folded stack (\"main;work 12\")",
			     input_name(in), (unsigned long long)r.lines);
	if (rc == 0)
		folded_give(&r);
	folded_reader_done(&r);
	return rc;
}

int folded_read(struct input *in, struct sink *sink, struct err *err)
{
	return folded_read_as(in, sink, false, err);
}

int folded_read_wall_us(struct input *in, struct sink *sink, struct err *err)
{
	return folded_read_as(in, sink, true, err);
}

/* The lines of a text that are not comments; the last one may be incomplete. */
struct folded_lines {
	size_t stacks, with_callers, others;
};

/* Whether there is a ';' between frames, not one at the end of a sentence: "took 5; left 3",
 * "SELECT 1; 3". */
static bool folded_has_callers(const char *stack, size_t len)
{
	const char *end = stack + len, *at = stack;
	while ((at = memchr(at, ';', end - at)) && ++at < end)
		if (*at != ' ')
			return true;
	return false;
}

static struct folded_lines folded_lines(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	struct folded_lines n = { 0 };
	const char *line;
	size_t line_len, stack_len;
	struct folded_value value;
	while (cur_line(&c, &line, &line_len)) {
		if (folded_is_comment(line, line_len))
			continue;
		if (folded_split(line, line_len, &stack_len, &value)) {
			n.stacks++;
			n.with_callers += folded_has_callers(line, stack_len);
		} else if (cur_left(&c) || len < INPUT_PEEK) {
			n.others++;
		} else if (n.stacks + n.others == 0 && memchr(line, ';', line_len)) {
			n.stacks = n.with_callers = 1; /* one line longer than the head */
		}
	}
	return n;
}

static bool folded_is_text(const char *head, size_t len)
{
	return len && !memchr(head, '\0', len);
}

/* Detects text of which at least half the lines are folded stacks of several frames: logs and
 * tables have lines that end in numbers as well. */
bool folded_detect(const char *head, size_t len)
{
	struct folded_lines n = { 0 };
	if (folded_is_text(head, len))
		n = folded_lines(head, len);
	return n.with_callers && n.with_callers >= n.stacks - n.with_callers + n.others;
}

bool folded_detect_maybe(const char *head, size_t len)
{
	struct folded_lines n = { 0 };
	if (folded_is_text(head, len))
		n = folded_lines(head, len);
	return n.stacks && n.stacks >= n.others;
}
