/* Reads samples: values, labels, links. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_meta.h"
#include "format/pprof/pprof_tables.h"
#include "profile/link.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/sum.h"

#include <string.h>

enum { PPROF_MAX_LABELS = 256 }; /* limit: labels of a sample; more are skipped */

/* Labels repeat from sample to sample, byte by byte; so do lists of locations if labels or times
 * distinguish the samples. Their results are cached by content. Newer entries replace older
 * ones. */
enum { PPROF_LABEL_MEMOS = 256, PPROF_MAX_LIST_MEMOS = 1 << 16 };
struct label_memo {
	struct cur bytes; /* length 0: unused */
	struct label label;
};
struct list_memo {
	const uint8_t *bytes;
	uint32_t len; /* 0: unused */
	uint32_t stack;
};

/* A sample of a batch: the sink finds many stacks at the same time faster than one by one. */
struct pending {
	struct sample sample; /* without series, stack and value */
	size_t series;        /* index in pprof_samples.series */
	/* Its locations if they are one list. If empty, they are already frames. */
	struct cur list;
	struct list_memo *memo; /* of the list */
	size_t first, n;        /* in pprof_samples.frames, root first */
	bool is_bad;
};

struct pprof_samples {
	struct sink *sink;
	struct pprof_tables *tables;
	const struct pprof_column *columns;
	size_t n_columns;
	uint32_t key_pid, key_tid, key_cpu;
	uint32_t key_state, key_reason, key_stack_id; /* UINT32_MAX: kept as labels */
	uint32_t key_trace, key_span, key_profile, key_datadog;

	VEC(uint32_t) series; /* runs of n_columns, one per label set */
	struct map series_of_labels;

	struct pending pending[STACK_BATCH];
	uint32_t n_pending;
	VEC(uint32_t) frames; /* of all pending samples */
	VEC(int64_t) values;  /* of all pending samples, n_columns each */

	/* Of the current and the previous sample. */
	VEC(struct label) labels, labels_before;
	struct trace_link link; /* of the current sample */
	bool has_trace, has_span;
	size_t series_before; /* index in series; SIZE_MAX: no previous sample */
	bool bad;

	struct label_memo label_memos[PPROF_LABEL_MEMOS];
	struct list_memo *list_memos;
	uint32_t n_list_memos; /* a power of two */
	uint64_t n_given, n_values;
};

struct pprof_samples *pprof_samples_new(struct sink *sink, struct pprof_tables *tables,
					const struct pprof_column *columns, size_t n_columns,
					uint64_t n_samples)
{
	struct pprof_samples *s = xcalloc(1, sizeof *s);
	s->sink = sink;
	s->tables = tables;
	s->columns = columns;
	s->n_columns = n_columns;
	s->key_pid = sink_string(sink, "pid");
	s->key_tid = sink_string(sink, "tid");
	s->key_cpu = sink_string(sink, "cpu");
	s->key_trace = sink_string(sink, "trace_id");
	s->key_span = sink_string(sink, "span_id");
	s->key_profile = sink_string(sink, "profile_id");
	s->key_datadog = sink_string(sink, "span id");
	s->key_state = s->key_reason = s->key_stack_id = UINT32_MAX;
	s->series_before = SIZE_MAX;
	s->n_list_memos = 1;
	while (s->n_list_memos < n_samples && s->n_list_memos < PPROF_MAX_LIST_MEMOS)
		s->n_list_memos *= 2;
	s->list_memos = xcalloc(s->n_list_memos, sizeof *s->list_memos);
	vec_reserve(&s->frames, 1); /* positions are offsets from a non-NULL pointer */
	vec_reserve(&s->values, 1);
	vec_reserve(&s->series, 1);
	return s;
}

void pprof_samples_drop_states(struct pprof_samples *s)
{
	s->key_state = sink_string(s->sink, "state");
	s->key_reason = sink_string(s->sink, "reason");
}

void pprof_samples_drop_stack_ids(struct pprof_samples *s)
{
	s->key_stack_id = sink_string(s->sink, "stack_id");
}

/* --- locations -------------------------------------------------------------------------------- */

static uint32_t frame_of(struct pprof_samples *s, uint64_t location)
{
	uint32_t frame = pprof_find_frame(s->tables, location);
	s->bad |= frame == UINT32_MAX;
	return frame;
}

/* Makes space for n more frames of the current sample, up to one frame above STACK_MAX_DEPTH in
 * total: that one makes the sink truncate. Returns the end of the space. */
static const uint32_t *room_for_frames(struct pprof_samples *s, const struct pending *p, size_t n)
{
	size_t most = p->first + STACK_MAX_DEPTH + 1;
	n = n < most - s->frames.n ? n : most - s->frames.n;
	vec_reserve(&s->frames, s->frames.n + n);
	return s->frames.v + s->frames.n + n;
}

/* Most of a file is ids of known locations: the loop keeps what it needs for these in registers. */
static void add_list(struct pprof_samples *s, const struct pending *p, struct cur c)
{
	const uint32_t *end = room_for_frames(s, p, cur_left(&c));
	const uint32_t *known = s->tables->locations.ids.v;
	const uint64_t dense = s->tables->locations.dense;
	uint32_t *out = s->frames.v + s->frames.n;
	while (cur_left(&c)) {
		uint64_t location = cur_varint(&c);
		uint32_t frame = location - 1 < dense ? known[location - 1] : UINT32_MAX;
		if (frame == UINT32_MAX && (frame = frame_of(s, location)) == PPROF_NO_FRAME)
			continue;
		if (out < end)
			*out++ = frame;
	}
	s->frames.n = out - s->frames.v;
	s->bad |= c.bad;
}

/* If a sample has a single list, only stores it for a later lookup. */
static void add_locations(struct pprof_samples *s, struct pending *p, const struct pb_field *f)
{
	if (f->wire == PB_LEN && !cur_left(&p->list) && s->frames.n == p->first) {
		p->list = f->len;
		return;
	}
	add_list(s, p, p->list);
	p->list = (struct cur){ 0 };
	if (f->wire == PB_LEN)
		add_list(s, p, f->len);
	uint32_t frame = f->wire == PB_VARINT ? frame_of(s, f->u) : PPROF_NO_FRAME;
	if (frame != PPROF_NO_FRAME && room_for_frames(s, p, 1) > s->frames.v + s->frames.n)
		s->frames.v[s->frames.n++] = frame;
}

/* Finds the cache entry of the sample's list, and prefetches it well before its use. */
static void find_memo(struct pprof_samples *s, struct pending *p)
{
	size_t len = cur_left(&p->list);
	p->memo = NULL;
	if (len)
		p->memo = &s->list_memos[hash_bytes(p->list.p, len) & (s->n_list_memos - 1)];
	__builtin_prefetch(p->memo);
}

/* Returns whether the sample's list is cached, and sets its stack. */
static bool stack_is_known(struct pending *p)
{
	size_t len = cur_left(&p->list);
	if (p->memo->len != len || memcmp(p->memo->bytes, p->list.p, len) != 0)
		return false;
	p->sample.stack = p->memo->stack;
	return true;
}

static void turn_round(uint32_t *frames, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t leaf = frames[i];
		frames[i] = frames[--n];
		frames[n] = leaf;
	}
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Returns the column for a numeric label of that name, or NULL. */
static uint32_t *id_column(const struct pprof_samples *s, struct sample *sample,
			   const struct label *l)
{
	if (!l->is_num || l->unit || l->num < 0 || l->num >= SAMPLE_NO_ID)
		return NULL;
	uint32_t *id = l->key == s->key_pid   ? &sample->pid
		       : l->key == s->key_tid ? &sample->tid
		       : l->key == s->key_cpu ? &sample->cpu
					      : NULL;
	return id && *id == SAMPLE_NO_ID ? id : NULL;
}

/* Reads a label. A text value is not looked up: *str is its index, 0 for none. Returns false if the
 * label is damaged. */
static bool parse_label(struct pprof_tables *t, struct cur c, struct label *out, uint64_t *str)
{
	struct label l = { 0 };
	struct pb_field f;
	*str = 0;
	while (pb_next(&c, &f)) {
		if (f.num == LABEL_KEY)
			l.key = pprof_string(t, f.u);
		else if (f.num == LABEL_STR)
			*str = f.u;
		else if (f.num == LABEL_NUM)
			l.num = f.u;
		else if (f.num == LABEL_NUM_UNIT)
			l.unit = pprof_string(t, f.u);
	}
	l.is_num = *str == 0;
	if (*str)
		l.num = l.unit = 0;
	*out = l;
	return !c.bad;
}

/* Big endian. */
static bool span_of_number(uint64_t number, uint8_t *span)
{
	for (int i = 0; i < LINK_SPAN_BYTES; i++)
		span[i] = number >> 8 * (LINK_SPAN_BYTES - 1 - i);
	return number != 0;
}

static bool span_of_digits(struct cur text, uint8_t *span)
{
	char digits[24] = "";
	uint64_t number;
	if (cur_left(&text) < sizeof digits)
		memcpy(digits, text.p, cur_left(&text));
	return parse_u64(digits, &number) == 0 && span_of_number(number, span);
}

static bool hex_of_text(struct cur text, uint8_t *bytes, size_t n)
{
	return link_parse((const char *)text.p, cur_left(&text), bytes, n);
}

/* Takes a label with the trace or the span of a sample (docs/formats.md, pprof), which is stored in
 * a column of ours. The first of each counts. */
static bool take_link(struct pprof_samples *s, const struct label *l, uint64_t str)
{
	bool is_trace = l->key == s->key_trace, is_datadog = l->key == s->key_datadog;
	if (!is_trace && !is_datadog && l->key != s->key_span && l->key != s->key_profile)
		return false;
	struct trace_link said = { 0 };
	struct cur text = pprof_text(s->tables, str);
	bool good = l->is_num    ? !is_trace && span_of_number(l->num, said.span)
		    : is_trace   ? hex_of_text(text, said.trace, sizeof said.trace)
		    : is_datadog ? span_of_digits(text, said.span)
				 : hex_of_text(text, said.span, sizeof said.span);
	if (good && is_trace && !s->has_trace)
		memcpy(s->link.trace, said.trace, sizeof said.trace);
	if (good && !is_trace && !s->has_span)
		memcpy(s->link.span, said.span, sizeof said.span);
	s->has_trace |= good && is_trace;
	s->has_span |= good && !is_trace;
	return good;
}

enum label_kind { LABEL_DAMAGED, LABEL_PLAIN, LABEL_TAKEN };

/* Reads a label, using the cache. Skipped labels are not cached, so that each is counted. Ids of
 * traces and stacks do not repeat: they are not cached, and their text is not added to the sink. */
static enum label_kind label_of(struct pprof_samples *s, struct cur c, struct label *out)
{
	size_t len = cur_left(&c);
	struct label_memo *memo = &s->label_memos[hash_bytes(c.p, len) % PPROF_LABEL_MEMOS];
	if (len && cur_left(&memo->bytes) == len && memcmp(memo->bytes.p, c.p, len) == 0) {
		*out = memo->label;
		return LABEL_PLAIN;
	}
	uint64_t skipped = s->tables->skipped, str;
	if (!parse_label(s->tables, c, out, &str))
		return LABEL_DAMAGED;
	if (out->key == s->key_stack_id || take_link(s, out, str))
		return LABEL_TAKEN;
	out->str = pprof_string(s->tables, str);
	if (s->tables->skipped == skipped)
		*memo = (struct label_memo){ c, *out };
	return LABEL_PLAIN;
}

static void add_label(struct pprof_samples *s, struct sample *sample, struct cur c)
{
	struct label l;
	enum label_kind kind = label_of(s, c, &l);
	if (kind == LABEL_TAKEN)
		return;
	bool good = kind == LABEL_PLAIN;
	uint32_t *id = good ? id_column(s, sample, &l) : NULL;
	if (id)
		*id = l.num;
	else if (good && !l.is_num && (l.key == s->key_state || l.key == s->key_reason))
		return;
	else if (!good || s->labels.n == PPROF_MAX_LABELS)
		s->tables->skipped++;
	else
		vec_push(&s->labels, l);
}

/* Returns the index in series of a label set's run of series, one per column. */
static size_t series_of_set(struct pprof_samples *s, uint32_t labels)
{
	uint32_t *known = map_get(&s->series_of_labels, labels);
	if (known)
		return *known;
	size_t at = s->series.n;
	map_put(&s->series_of_labels, labels, at);
	for (size_t i = 0; i < s->n_columns; i++) {
		struct series series = { s->columns[i].id, s->columns[i].period, labels };
		vec_push(&s->series, s->sink->ops->series(s->sink, &series));
	}
	return at;
}

static bool labels_are_those_before(const struct pprof_samples *s)
{
	return s->series_before != SIZE_MAX && s->labels.n == s->labels_before.n &&
	       (s->labels.n == 0 ||
		memcmp(s->labels.v, s->labels_before.v, s->labels.n * sizeof *s->labels.v) == 0);
}

/* Returns the run of series of the current sample. */
static size_t find_series(struct pprof_samples *s)
{
	if (!labels_are_those_before(s)) {
		uint32_t set = s->sink->ops->labels(s->sink, s->labels.v, s->labels.n);
		s->series_before = series_of_set(s, set);
		vec_clear(&s->labels_before);
		vec_append(&s->labels_before, s->labels.v, s->labels.n);
	}
	return s->series_before;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void add_value(void *ctx, uint64_t v)
{
	struct pprof_samples *s = ctx;
	if (s->values.n < (s->n_pending + 1) * s->n_columns)
		vec_push(&s->values, (int64_t)v);
	else
		s->bad = true;
}

/* Reads one sample. Returns false if nothing of it is usable. */
static bool read_sample(struct pprof_samples *s, struct pending *p, struct cur c)
{
	struct pb_field f;
	p->sample.pid = p->sample.tid = p->sample.cpu = SAMPLE_NO_ID;
	p->list = cur_of(NULL, 0);
	p->first = s->frames.n;
	p->is_bad = false;
	s->bad = s->has_trace = s->has_span = false;
	s->link = (struct trace_link){ 0 };
	vec_clear(&s->labels);
	while (!s->bad && pb_next(&c, &f)) {
		if (f.num == SAMPLE_LOCATION_ID)
			add_locations(s, p, &f);
		else if (f.num == SAMPLE_VALUE)
			s->bad |= !pb_each_varint(&f, add_value, s);
		else if (f.num == SAMPLE_LABEL)
			add_label(s, &p->sample, f.len);
	}
	find_memo(s, p);
	p->n = s->frames.n - p->first;
	turn_round(s->frames.v + p->first, p->n);
	return !s->bad && !c.bad && s->values.n == (s->n_pending + 1) * s->n_columns;
}

static void give_value(struct pprof_samples *s, struct sample *sample, uint32_t series,
		       int64_t value)
{
	sample->series = series;
	sample->value = value;
	s->sink->ops->sample(s->sink, sample);
	s->n_values++;
}

/* Gives a sample to the sink. A sample of zeros only retains its first. */
static void give_sample(struct pprof_samples *s, struct pending *p, const int64_t *values)
{
	const uint32_t *series = s->series.v + p->series;
	bool any = false;
	for (size_t i = 0; i < s->n_columns; i++) {
		if (s->columns[i].derived || !values[i])
			continue;
		give_value(s, &p->sample, series[i], values[i]);
		any = true;
	}
	if (!any)
		give_value(s, &p->sample, series[0], 0);
	s->n_given++;
}

/* Reads the frames of a list that is not cached. */
static void read_list(struct pprof_samples *s, struct pending *p)
{
	s->bad = false;
	p->first = s->frames.n;
	add_list(s, p, p->list);
	p->n = s->frames.n - p->first;
	turn_round(s->frames.v + p->first, p->n);
	p->is_bad = s->bad;
	s->tables->skipped += s->bad;
}

static void find_stacks(struct pprof_samples *s)
{
	struct stack_list lists[STACK_BATCH] = { 0 };
	struct pending *of_list[STACK_BATCH];
	uint32_t ids[STACK_BATCH], n = 0;
	for (uint32_t i = 0; i < s->n_pending; i++) {
		struct pending *p = &s->pending[i];
		if (p->memo && stack_is_known(p))
			continue;
		if (p->memo)
			read_list(s, p);
		if (!p->is_bad)
			of_list[n++] = p;
	}
	for (uint32_t i = 0; i < n; i++)
		lists[i] = (struct stack_list){ .frames = s->frames.v + of_list[i]->first,
						.n = of_list[i]->n };
	s->sink->ops->stacks(s->sink, lists, n, ids);
	for (uint32_t i = 0; i < n; i++) {
		struct pending *p = of_list[i];
		p->sample.stack = ids[i];
		if (p->memo)
			*p->memo = (struct list_memo){ p->list.p, cur_left(&p->list), ids[i] };
	}
}

/* The time that a skipped sample stands for: that of its first column of times. */
static void count_skipped(struct pprof_samples *s, const int64_t *values)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		if (!s->columns[i].unit_ns)
			continue;
		s->sink->ops->loss_time(s->sink, LOSS_INPUT_SKIPPED,
					sum_mul(values[i], s->columns[i].unit_ns));
		return;
	}
}

static void give_pending(struct pprof_samples *s)
{
	find_stacks(s);
	for (uint32_t i = 0; i < s->n_pending; i++) {
		const int64_t *values = s->values.v + i * s->n_columns;
		if (s->pending[i].is_bad)
			count_skipped(s, values);
		else
			give_sample(s, &s->pending[i], values);
	}
	s->n_pending = 0;
	vec_clear(&s->frames);
	vec_clear(&s->values);
}

bool pprof_samples_add(struct pprof_samples *s, struct cur message)
{
	struct pending *p = &s->pending[s->n_pending];
	if (!read_sample(s, p, message)) {
		s->tables->skipped++;
		s->frames.n = p->first;
		s->values.n = s->n_pending * s->n_columns;
		return true;
	}
	p->series = find_series(s);
	p->sample.link = s->has_trace || s->has_span ? s->sink->ops->link(s->sink, &s->link) : 0;
	s->n_pending++;
	if (s->n_values + s->values.n > PPROF_MAX_SAMPLES)
		return false;
	if (s->n_pending == STACK_BATCH)
		give_pending(s);
	return true;
}

uint64_t pprof_samples_free(struct pprof_samples *s)
{
	give_pending(s);
	uint64_t n_given = s->n_given;
	vec_done(&s->series);
	map_done(&s->series_of_labels);
	vec_done(&s->frames);
	vec_done(&s->values);
	vec_done(&s->labels);
	vec_done(&s->labels_before);
	free(s->list_memos);
	free(s);
	return n_given;
}
