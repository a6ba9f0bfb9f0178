/* Writes samples in time order, with frames as perf prints them. */
#include "format/perf_script/perf_script.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/vec.h"
#include "format/common/value.h"
#include "format/perf_script/perf_script_line.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <inttypes.h>
#include <string.h>

struct perf_span {
	size_t start, len; /* len 0: not created yet */
};
struct perf_writer {
	struct profile *p;
	struct out *out;
	uint32_t type;
	struct type shown; /* content of the '#' line, with the period, 0 = none */
	int64_t period;
	bool is_scaled,
		periods_differ; /* is_scaled: values are multiplied by their series' period */
	struct buf event;
	struct buf texts; /* lines of frames, created when first needed */
	VEC(struct perf_span) span_of_frame;
	VEC(uint32_t) rows, frames;
	struct buf line;
};

/* Maximum bytes written of comms and events. */
enum { WRITE_COMM_MAX = 64, WRITE_EVENT_MAX = 128 };

static void perf_add_text(struct buf *b, const struct profile *p, uint32_t id, size_t max)
{
	esc_term(b, profile_str(p, id), strtab_len(&p->strings, id), max);
}

static void perf_add_string(struct buf *b, const struct profile *p, uint32_t id)
{
	perf_add_text(b, p, id, SIZE_MAX);
}

/* Adds one word: blanks and brackets would end it. */
static void perf_add_word(struct buf *b, const struct profile *p, uint32_t id, size_t max)
{
	size_t start = b->len;
	perf_add_text(b, p, id, max);
	for (size_t i = start; i < b->len; i++)
		if (strchr(" ()", b->data[i]))
			b->data[i] = '_';
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool perf_reads_as(struct perf_text dso, struct perf_text name, enum frame_kind kind)
{
	struct perf_symbol s = { .name = name, .dso = dso, .has_dso = true };
	return perf_symbol_kind(&s, false) == kind;
}

/* Adds the text in brackets: the binary if it implies the kind, else a text that does. */
static void perf_add_dso(struct buf *b, struct profile *p, uint32_t frame, struct perf_text name)
{
	const struct frame *f = &p->frames.frames.v[frame];
	bool is_kernel = f->kind == FRAME_KERNEL;
	size_t start = b->len;
	uint32_t path =
		f->mapping == MAPPING_NONE ? f->binary : p->frames.mappings.v[f->mapping].name;
	if (is_kernel && (!path || strcmp(profile_str(p, path), "[kernel]") == 0)) {
		buf_adds(b, "[kernel.kallsyms]");
		return;
	}
	perf_add_word(b, p, path, SIZE_MAX);
	bool fits =
		perf_reads_as((struct perf_text){ b->data + start, b->len - start }, name, f->kind);
	if (fits && b->len > start)
		return;
	b->len = start;
	if (fits) {
		buf_adds(b, "[unknown]");
	} else if (is_kernel) {
		buf_addc(b, '[');
		perf_add_word(b, p, path, SIZE_MAX);
		buf_addc(b, ']');
	} else if (f->kind == FRAME_JIT) {
		buf_adds(b, "/tmp/perf-0.map");
	} else {
		buf_addf(b, "//%s", frame_kinds[f->kind].name);
	}
}

/* Adds a frame. "+0x0" protects a name that itself ends in an offset. */
static void perf_add_line(struct buf *b, const struct profile *p, uint64_t address, uint32_t name)
{
	buf_addf(b, "\t%16" PRIx64 " ", address);
	size_t start = b->len;
	perf_add_string(b, p, name);
	if (b->len == start)
		buf_adds(b, "[unknown]");
	buf_adds(b, "+0x0 (");
}

static void perf_make_frame(struct perf_writer *w, uint32_t frame)
{
	struct shown_line lines[NAMES_MAX_INLINE];
	struct profile *p = w->p;
	uint32_t n = profile_frame_lines(p, frame, lines, NAMES_MAX_INLINE);
	const struct frame *f = &p->frames.frames.v[frame];
	uint64_t address = f->mapping == MAPPING_NONE ? 0 : f->offset;
	struct perf_span *span = &w->span_of_frame.v[frame];
	span->start = w->texts.len;
	for (uint32_t i = 0; i < n; i++) {
		perf_add_line(&w->texts, p, address, lines[i].name);
		if (i + 1 < n) {
			buf_adds(&w->texts, "inlined)\n");
			continue;
		}
		struct perf_text name = { profile_str(p, lines[i].name),
					  strtab_len(&p->strings, lines[i].name) };
		perf_add_dso(&w->texts, p, frame, name);
		buf_adds(&w->texts, ")\n");
	}
	span->len = w->texts.len - span->start;
}

static int perf_write_stack(struct perf_writer *w, uint32_t stack, struct err *err)
{
	uint32_t depth = stack_depth(&w->p->stacks, stack);
	int rc = 0;
	vec_reserve(&w->frames, depth);
	stack_frames(&w->p->stacks, stack, w->frames.v);
	for (uint32_t i = depth; rc == 0 && i-- > 0;) {
		uint32_t frame = w->frames.v[i];
		if (w->span_of_frame.v[frame].len == 0)
			perf_make_frame(w, frame);
		struct perf_span span = w->span_of_frame.v[frame];
		rc = out_write(w->out, w->texts.data + span.start, span.len, err);
	}
	return rc;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Adds the comm. It must not start with '#', which starts a comment. */
static void perf_add_comm(struct buf *b, const struct profile *p, uint32_t labels)
{
	const struct label *l = label_find(&p->series, labels, strtab_find(&p->strings, "comm"));
	if (l && !l->is_num)
		perf_add_text(b, p, l->str, WRITE_COMM_MAX);
	if (b->len == 0)
		buf_addc(b, '?');
	if (b->data[0] == '#')
		b->data[0] = '?';
}

/* Replaces characters of a comm that parses as other columns ("a 1 [2] 3.4:"); letters stay. */
static void perf_settle_comm(struct buf *line, size_t comm_len)
{
	struct perf_header h;
	perf_header_parse(line->data, line->len, &h);
	if (h.comm.s == line->data && h.comm.len == comm_len)
		return;
	for (size_t i = 0; i < comm_len; i++) {
		char lower = line->data[i] | 0x20;
		if (lower < 'a' || lower > 'z')
			line->data[i] = '_';
	}
}

static int64_t perf_value(const struct perf_writer *w, size_t row)
{
	const struct sample_columns *c = &w->p->samples;
	int64_t period = w->p->series.series.v[c->series[row]].period;
	return w->is_scaled && period > 0 ? sum_mul(c->value[row], period) : c->value[row];
}

static int perf_write_sample(struct perf_writer *w, size_t row, struct err *err)
{
	const struct sample_columns *c = &w->p->samples;
	int64_t time_ns = c->time_ns[row] < 0 ? 0 : c->time_ns[row];
	struct buf *b = &w->line;
	buf_clear(b);
	perf_add_comm(b, w->p, w->p->series.series.v[c->series[row]].labels);
	size_t comm_len = b->len;
	if (c->pid[row] == SAMPLE_NO_ID && c->tid[row] != SAMPLE_NO_ID)
		buf_addf(b, " %7u ", c->tid[row]);
	else
		buf_addf(b, " %7u/%-7u ", c->pid[row], c->tid[row]);
	if (c->cpu[row] != SAMPLE_NO_ID)
		buf_addf(b, "[%03u] ", c->cpu[row]);
	buf_addf(b, "%5" PRId64 ".%09" PRId64 ": %10" PRId64 " %s: \n", time_ns / 1000000000,
		 time_ns % 1000000000, perf_value(w, row), buf_cstr(&w->event));
	perf_settle_comm(b, comm_len);
	int rc = out_write(w->out, b->data, b->len, err);
	if (rc == 0)
		rc = perf_write_stack(w, c->stack[row], err);
	return rc ? rc : out_write(w->out, "\n", 1, err);
}

static int perf_row_cmp(const void *a, const void *b, void *ctx)
{
	const int64_t *time_ns = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (time_ns[x] != time_ns[y])
		return time_ns[x] < time_ns[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Selects the rows of the type in chronological order; a period must be above 0. */
static void perf_choose_rows(struct perf_writer *w)
{
	const struct profile *p = w->p;
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->series.series.v[p->samples.series[i]].type == w->type &&
		    perf_value(w, i) > 0)
			vec_push(&w->rows, i);
	if (w->rows.n)
		qsort_r(w->rows.v, w->rows.n, sizeof *w->rows.v, perf_row_cmp, p->samples.time_ns);
}

/* --- head ------------------------------------------------------------------------------------- */

/* Writes counts of samples whose period is a time as times, as perf does. If periods of series
 * differ, the period's unit is the only common one, whatever it is. */
static void perf_choose_values(struct perf_writer *w)
{
	const struct profile *p = w->p;
	const struct type *t = &p->series.types.v[w->type];
	bool is_time = strcmp(value_unit(profile_str(p, t->period_unit)).base, "ns") == 0;
	int64_t period = 0;
	for (size_t i = 0; i < p->series.series.n; i++) {
		const struct series *s = &p->series.series.v[i];
		if (s->type != w->type)
			continue;
		w->periods_differ |= period && s->period != period;
		period = s->period;
	}
	w->shown = *t;
	w->period = period > 0 ? period : 0;
	w->is_scaled = w->periods_differ || (is_time && w->period);
	if (!w->periods_differ)
		return;
	w->shown.unit = t->period_unit;
	w->shown.period_type = w->shown.period_unit = 0;
	w->period = 0;
}

/* Uses perf's own name if there is one. */
static void perf_choose_event(struct perf_writer *w)
{
	const struct profile *p = w->p;
	const struct type *t = &p->series.types.v[w->type];
	bool is_cpu = strcmp(profile_str(p, t->name), "cpu") == 0 &&
		      strcmp(profile_str(p, t->sample_type), "samples") == 0;
	if (is_cpu)
		buf_adds(&w->event, "cpu-clock");
	else
		perf_add_word(&w->event, p, t->sample_type ? t->sample_type : t->name,
			      WRITE_EVENT_MAX);
	if (w->event.len == 0)
		buf_adds(&w->event, "samples");
}

static void perf_add_meta(struct buf *b, const struct profile *p, const char *key, uint32_t value)
{
	if (!value)
		return;
	buf_addf(b, "# %s : ", key);
	perf_add_string(b, p, value);
	buf_addc(b, '\n');
}

static void perf_add_head(struct perf_writer *w, struct buf *b)
{
	const struct profile *p = w->p;
	const struct type *t = &w->shown;
	const uint32_t fields[] = { t->name, t->sample_type, t->unit, t->period_type,
				    t->period_unit };
	buf_adds(b, "# ========\n");
	perf_add_meta(b, p, "hostname", p->meta.host);
	perf_add_meta(b, p, "os release", p->meta.kernel);
	if (p->meta.cpus)
		buf_addf(b, "# nrcpus online : %u\n", p->meta.cpus);
	perf_add_meta(b, p, "cmdline", p->meta.command);
	buf_addf(b, PERF_SCRIPT_TYPE "%s\t", buf_cstr(&w->event));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		perf_add_string(b, p, fields[i]);
		buf_addc(b, '\t');
	}
	buf_addf(b, "%" PRId64 "\t%d\n# ========\n#\n", w->period, w->is_scaled && w->period);
}

int perf_script_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		      struct err *err)
{
	struct perf_writer w = { .p = p, .out = out };
	int rc = format_pick_type(p, opts->type, &w.type, err);
	if (rc)
		return rc;
	perf_choose_values(&w);
	perf_choose_event(&w);
	perf_choose_rows(&w);
	for (size_t i = 0; i < p->frames.frames.n; i++)
		vec_push(&w.span_of_frame, (struct perf_span){ 0 });
	perf_add_head(&w, &w.line);
	rc = out_write(out, w.line.data, w.line.len, err);
	for (size_t i = 0; rc == 0 && i < w.rows.n; i++)
		rc = perf_write_sample(&w, w.rows.v[i], err);
	buf_done(&w.event);
	buf_done(&w.texts);
	vec_done(&w.span_of_frame);
	vec_done(&w.rows);
	vec_done(&w.frames);
	buf_done(&w.line);
	return rc;
}
