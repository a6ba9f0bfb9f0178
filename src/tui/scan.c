/* Reads samples once, and sums by key. */
#include "tui/scan.h"

#include "base/mem.h"
#include "format/common/value.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/state.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/weight.h"
#include "query/source.h"
#include "tui/look.h"

#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 8192 };

/* Labels of a series. */
struct series_names {
	const char *comm, *process;
	int64_t factor;
};

struct scanning {
	struct scan *out;
	const struct look *l;
	const struct profile *catalog;
	struct stack_words_table facts;
	bool *wanted; /* by series */
	struct series_names *names;
	double scale;
	source_row_fn row; /* called for each row in scope */
	enum scan_by by;
	struct map index;   /* of tasks and waits */
	struct map threads; /* seen so far */
	struct map hot;     /* task and function → index in hot_sums */
	VEC(int64_t) hot_sums;
	int64_t *steps; /* of a heatmap: the increase at a cell, valid for all later cells */
};

/* --- shared by all scans --------------------------------------------------------------------- */

static const char *label_text(const struct profile *p, uint32_t set, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *label = label_find(&p->series, set, id);
	return label && !label->is_num ? profile_str(p, label->str) : "";
}

static void read_series(struct scanning *s)
{
	const struct profile *p = s->catalog;
	size_t n = p->series.series.n;
	struct value_scale scale = value_scale_of(p, s->l->type, NULL);
	s->wanted = xcalloc(n + 1, sizeof *s->wanted);
	s->names = xcalloc(n + 1, sizeof *s->names);
	for (size_t i = 0; i < n; i++) {
		const struct series *series = &p->series.series.v[i];
		s->wanted[i] = series->type == s->l->type && !series_is_free(&p->series, i);
		if (s->wanted[i])
			s->names[i] = (struct series_names){
				label_text(p, series->labels, "comm"),
				label_text(p, series->labels, "process"),
				value_factor(&scale, series),
			};
	}
	s->scale = scale.scale > 0 ? scale.scale : 1;
	s->out->unit = scale.scale > 0 ? scale.scaled_unit : scale.unit;
}

/* Returns a row's value in the scan's unit. */
static int64_t value_of(const struct scanning *s, const struct source_row *r)
{
	return value_clamp((double)sum_mul(r->value, s->names[r->series].factor) * s->scale);
}

static bool is_asked(const struct scanning *s, const struct source_row *r)
{
	return (s->l->pid == SAMPLE_NO_ID || r->pid == s->l->pid) &&
	       (s->l->tid == SAMPLE_NO_ID || r->tid == s->l->tid);
}

static int scan_row(void *ctx, const struct source_row *r)
{
	struct scanning *s = ctx;
	if (!is_asked(s, r))
		return 0;
	if (s->l->function && !stack_words_get(&s->facts, r->dict, r->stack)->has_function)
		return 0;
	s->out->total = sum_add(s->out->total, value_of(s, r));
	return s->row(s, r);
}

static int scan_run(struct scanning *s, int64_t from_ns, struct err *err)
{
	struct source *source = s->l->source;
	s->catalog = source->ops->catalog(source);
	s->facts.arena = &s->out->arena;
	s->facts.function = s->l->function;
	read_series(s);
	int rc = source->ops->rows(source, s->wanted, from_ns, s->l->to_ns, scan_row, s, err);
	stack_words_done(&s->facts);
	map_done(&s->index);
	map_done(&s->threads);
	map_done(&s->hot);
	vec_done(&s->hot_sums);
	free(s->wanted);
	free(s->names);
	return rc;
}

void scan_done(struct scan *s)
{
	vec_done(&s->tasks);
	vec_done(&s->waits);
	vec_done(&s->cpus);
	free(s->heat.cells);
	arena_done(&s->arena);
	*s = (struct scan){ 0 };
}

/* --- processes and threads ------------------------------------------------------------------- */

/* Tasks with unknown ids are distinguished by name. */
static uint64_t task_key(const struct scanning *s, const struct source_row *r)
{
	const struct series_names *n = &s->names[r->series];
	uint32_t id = s->by == SCAN_THREAD ? r->tid : r->pid;
	const char *name = s->by == SCAN_THREAD || !*n->process ? n->comm : n->process;
	return id == SAMPLE_NO_ID ? hash_mix(hash_bytes(name, strlen(name)), id) : id;
}

static struct scan_task *task_of(struct scanning *s, const struct source_row *r)
{
	const struct series_names *n = &s->names[r->series];
	uint32_t fresh = s->out->tasks.n;
	uint32_t i = map_intern(&s->index, task_key(s, r), fresh, NULL, NULL);
	if (i == fresh) {
		const char *process = stack_words_text(&s->facts, n->process, strlen(n->process));
		const char *comm = stack_words_text(&s->facts, n->comm, strlen(n->comm));
		bool is_thread = s->by == SCAN_THREAD;
		vec_push(&s->out->tasks,
			 (struct scan_task){ .pid = r->pid,
					     .tid = is_thread ? r->tid : SAMPLE_NO_ID,
					     .name = is_thread || !*process ? comm : process,
					     .process = process,
					     .hottest = "" });
	}
	return &s->out->tasks.v[i];
}

/* Finds the function a task is in most: keeps the sum of each function and the greatest so far. */
static void heat_up(struct scanning *s, struct scan_task *t, const char *leaf, int64_t value)
{
	uint64_t key = hash_mix((uint64_t)(t - s->out->tasks.v), (uint64_t)(uintptr_t)leaf);
	uint32_t fresh = s->hot_sums.n, i = map_intern(&s->hot, key, fresh, NULL, NULL);
	if (i == fresh)
		vec_push(&s->hot_sums, 0);
	s->hot_sums.v[i] = sum_add(s->hot_sums.v[i], value);
	if (s->hot_sums.v[i] > t->hottest_value) {
		t->hottest = leaf;
		t->hottest_value = s->hot_sums.v[i];
	}
}

static int task_row(void *ctx, const struct source_row *r)
{
	struct scanning *s = ctx;
	struct scan_task *t = task_of(s, r);
	const struct stack_words *facts = stack_words_get(&s->facts, r->dict, r->stack);
	int64_t value = value_of(s, r);
	t->value = sum_add(t->value, value);
	if (facts->in_kernel)
		t->kernel = sum_add(t->kernel, value);
	if (*facts->leaf)
		heat_up(s, t, facts->leaf, value);
	uint32_t seen = s->threads.n;
	if (r->tid != SAMPLE_NO_ID)
		map_put(&s->threads, (uint64_t)r->pid << 32 | r->tid, 1);
	t->threads += s->threads.n - seen;
	return 0;
}

int scan_tasks(struct scan *out, const struct look *l, enum scan_by by, struct err *err)
{
	struct scanning s = { .out = out, .l = l, .by = by, .row = task_row };
	return scan_run(&s, l->from_ns, err);
}

/* --- waits ------------------------------------------------------------------------------------ */

static int wait_row(void *ctx, const struct source_row *r)
{
	struct scanning *s = ctx;
	const struct series_names *n = &s->names[r->series];
	const struct stack_words *f = stack_words_get(&s->facts, r->dict, r->stack);
	const char *reason = f->reason, *waker = f->waker;
	if (!*reason)
		return 0;
	const char *name = *n->process ? n->process : n->comm;
	uint64_t key = hash_mix(hash_mix((uintptr_t)reason, (uintptr_t)waker),
				r->pid == SAMPLE_NO_ID ? hash_bytes(name, strlen(name)) : r->pid);
	uint32_t fresh = s->out->waits.n, i = map_intern(&s->index, key, fresh, NULL, NULL);
	if (i == fresh)
		vec_push(&s->out->waits, (struct scan_wait){ .reason = reason,
							     .waker = waker,
							     .process = stack_words_text(
								     &s->facts, name, strlen(name)),
							     .pid = r->pid });
	struct scan_wait *w = &s->out->waits.v[i];
	int64_t value = value_of(s, r);
	w->value = sum_add(w->value, value);
	w->longest = value > w->longest ? value : w->longest;
	w->n++;
	return 0;
}

int scan_waits(struct scan *out, const struct look *l, struct err *err)
{
	struct scanning s = { .out = out, .l = l, .row = wait_row };
	return scan_run(&s, l->from_ns, err);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static int cpu_row(void *ctx, const struct source_row *r)
{
	struct scanning *s = ctx;
	if (r->cpu >= CPUS_MAX) /* also SAMPLE_NO_ID */
		return 0;
	while (s->out->cpus.n <= r->cpu)
		vec_push(&s->out->cpus, (struct scan_cpu){ 0 });
	struct scan_cpu *c = &s->out->cpus.v[r->cpu];
	bool in_kernel = stack_words_get(&s->facts, r->dict, r->stack)->in_kernel;
	int64_t *to = in_kernel ? &c->sys : &c->user;
	*to = sum_add(*to, value_of(s, r));
	return 0;
}

int scan_cpus(struct scan *out, const struct look *l, struct err *err)
{
	struct scanning s = { .out = out, .l = l, .row = cpu_row };
	return scan_run(&s, l->from_ns, err);
}

/* --- heatmap ---------------------------------------------------------------------------------- */

/* Returns the position of a time on the axis, in cells. */
static double place(const struct scan_heat *h, int64_t ns)
{
	double cells = (double)h->columns * h->rows;
	double at = (double)(ns - h->start_ns) / (double)h->column_ns * h->rows;
	return at < 0 ? 0 : at > cells ? cells : at;
}

/* Spreads a value over the cells it covers: the first and last cell directly, those between by one
 * step up and one step down. */
static int heat_row(void *ctx, const struct source_row *r)
{
	struct scanning *s = ctx;
	struct scan_heat *h = &s->out->heat;
	size_t n = (size_t)h->columns * h->rows;
	double from = place(h, r->time_ns), to = place(h, sum_add(r->time_ns, r->length_ns));
	size_t first = (size_t)from, last = (size_t)to;
	int64_t value = value_of(s, r);
	if (first >= n)
		return 0;
	if (first == last || to <= from) {
		h->cells[first] = sum_add(h->cells[first], value);
		return 0;
	}
	double each = (double)value / (to - from);
	h->cells[first] = sum_add(h->cells[first], value_clamp(each * ((double)first + 1 - from)));
	if (last < n)
		h->cells[last] = sum_add(h->cells[last], value_clamp(each * (to - (double)last)));
	int64_t *end = &s->steps[last < n ? last : n];
	s->steps[first + 1] = sum_add(s->steps[first + 1], value_clamp(each));
	*end = sum_sub(*end, value_clamp(each));
	return 0;
}

/* Returns the smallest of 1, 2, 5, 10 … s that needs no more than this many columns. */
static int64_t column_width(int64_t span_ns, uint32_t columns)
{
	static const int factors[] = { 2, 5, 10 };
	int64_t base = 1000000000, width = base;
	for (int i = 0; span_ns / width >= columns && base < INT64_MAX / 100; i++) {
		width = base * factors[i % 3];
		base = i % 3 == 2 ? width : base;
	}
	return width;
}

static void heat_axis(struct scan_heat *h, const struct look *l, uint32_t columns, uint32_t rows)
{
	int64_t span = l->to_ns - l->history_ns;
	h->column_ns = column_width(span, columns);
	h->start_ns = l->history_ns - l->history_ns % h->column_ns;
	h->columns = (uint32_t)((l->to_ns - 1 - h->start_ns) / h->column_ns) + 1;
	h->rows = rows;
	/* An axis that starts within a column needs one column more. */
	if (h->columns > columns) {
		h->start_ns += h->column_ns * (h->columns - columns);
		h->columns = columns;
	}
	h->cells = xcalloc((size_t)h->columns * rows + 1, sizeof *h->cells);
}

int scan_heat(struct scan *out, const struct look *l, uint32_t columns, uint32_t rows,
	      struct err *err)
{
	struct scanning s = { .out = out, .l = l, .row = heat_row };
	struct scan_heat *h = &out->heat;
	heat_axis(h, l, columns, rows);
	size_t n = (size_t)h->columns * rows;
	s.steps = xcalloc(n + 1, sizeof *s.steps);
	int rc = scan_run(&s, h->start_ns, err);
	int64_t run = 0;
	for (size_t i = 0; i < n; i++) {
		run = sum_add(run, s.steps[i]);
		h->cells[i] = sum_add(h->cells[i], run);
		h->max = h->cells[i] > h->max ? h->cells[i] : h->max;
	}
	free(s.steps);
	return rc;
}

/* --- facts about a stack ---------------------------------------------------------------------- */

enum { LINES_MAX = 16 }; /* inlined functions examined per frame */

void stack_words_done(struct stack_words_table *t)
{
	vec_done(&t->all);
	map_done(&t->by_stack);
	vec_done(&t->texts);
	map_done(&t->by_text);
	vec_done(&t->frames);
}

struct same_text {
	const struct stack_words_table *t;
	const char *text;
	size_t len;
};

static bool is_same(const void *ctx, uint32_t value)
{
	const struct same_text *s = ctx;
	const char *known = s->t->texts.v[value];
	return strlen(known) == s->len && memcmp(known, s->text, s->len) == 0;
}

const char *stack_words_text(struct stack_words_table *t, const char *text, size_t len)
{
	const struct same_text same = { t, text, len };
	uint32_t fresh = t->texts.n;
	uint32_t i = map_intern(&t->by_text, hash_bytes(text, len), fresh, is_same, &same);
	if (i == fresh) {
		char *copy = arena_alloc(t->arena, len + 1);
		memcpy(copy, text, len);
		copy[len] = '\0';
		vec_push(&t->texts, copy);
	}
	return t->texts.v[i];
}

static const char *text_of(struct stack_words_table *t, const char *text)
{
	return stack_words_text(t, text, strlen(text));
}

static bool is_marker(const struct frame *f)
{
	return f->kind == FRAME_MARKER && f->mapping == MAPPING_NONE;
}

/* Reads "bash (12)" from "[woken by: bash (12)]". */
static void read_marker(struct stack_words_table *t, struct stack_words *s, const char *name)
{
	size_t len = strlen(name), reason_len, skip = strlen(STATE_WOKEN_BY);
	const char *reason = state_reason(name, len, &reason_len);
	if (reason)
		s->reason = stack_words_text(t, reason, reason_len);
	else if (state_of_marker(name, len) != STATE_UNSAID && !*s->reason)
		s->reason = text_of(t, name);
	else if (len > skip && strncmp(name, STATE_WOKEN_BY, skip) == 0)
		s->waker = stack_words_text(t, name + skip, len - skip - (name[len - 1] == ']'));
}

static void read_frame(struct stack_words_table *t, struct stack_words *s, struct profile *dict,
		       uint32_t frame)
{
	const struct frame *f = &dict->frames.frames.v[frame];
	struct shown_line lines[LINES_MAX];
	uint32_t n = profile_frame_lines(dict, frame, lines, LINES_MAX);
	const char *name = profile_str(dict, lines[0].name);
	if (is_marker(f)) {
		read_marker(t, s, name);
	} else if (!*s->leaf) {
		s->leaf = text_of(t, name);
		s->in_kernel = f->kind == FRAME_KERNEL;
	}
	for (uint32_t i = 0; t->function && i < n && !s->has_function; i++)
		s->has_function = strcmp(profile_str(dict, lines[i].name), t->function) == 0;
}

static struct stack_words find_facts(struct stack_words_table *t, struct profile *dict,
				     uint32_t stack)
{
	struct stack_words s = { "", "", "", false, !t->function };
	uint32_t depth = stack_depth(&dict->stacks, stack);
	vec_clear(&t->frames);
	vec_reserve(&t->frames, depth);
	stack_frames(&dict->stacks, stack, t->frames.v);
	for (uint32_t i = depth; i-- > 0 && (!*s.leaf || !s.has_function);)
		read_frame(t, &s, dict, t->frames.v[i]);
	return s;
}

const struct stack_words *stack_words_get(struct stack_words_table *t, struct profile *dict,
					  uint32_t stack)
{
	uint64_t key = hash_mix((uint64_t)(uintptr_t)dict, stack);
	const uint32_t *known = map_get(&t->by_stack, key);
	if (known)
		return &t->all.v[*known];
	map_put(&t->by_stack, key, t->all.n);
	vec_push(&t->all, find_facts(t, dict, stack));
	return &t->all.v[t->all.n - 1];
}
