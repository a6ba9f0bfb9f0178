/* Sums the time of each thread by state. */
#include "format/threads/thread_account.h"

#include "base/hash.h"
#include "base/mem.h"
#include "format/common/value.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "profile/sum.h"

#include <stdlib.h>
#include <string.h>

struct accountant {
	struct profile *p;
	struct thread_accounts *out;
	struct map index; /* of out->all */
	uint32_t *account_of_row;
	int64_t *factor_ns; /* by series: ns per unit of value; 0: ignored */
	enum thread_state *state_of_series;
	struct stack_state *states; /* by stack, if known */
	bool *is_state_known;
	VEC(struct thread_wait) waits; /* of the current thread */
	struct map wait_of_stack;
	struct map reason_index; /* string → index of the thread's reasons */
};

/* --- selection of samples -------------------------------------------------------------------- */

/* Returns ns per unit of value: the period for counts of samples, the unit for times; 0 if
 * unknown. */
static int64_t series_factor_ns(const struct profile *p, const struct series *s)
{
	const struct type *t = &p->series.types.v[s->type];
	struct value_unit unit = value_unit(profile_str(p, t->unit));
	struct value_unit period = value_unit(profile_str(p, t->period_unit));
	if (strcmp(unit.base, "ns") == 0)
		return unit.scale;
	return strcmp(period.base, "ns") == 0 && s->period > 0 ? sum_mul(s->period, period.scale)
							       : 0;
}

static const char *type_name(const struct profile *p, uint32_t series)
{
	const struct type *t = &p->series.types.v[p->series.series.v[series].type];
	return profile_str(p, t->name);
}

/* `wall` includes the other types, so either it or the others are used. */
static void choose_series(struct accountant *c)
{
	const struct profile *p = c->p;
	bool has_wall = false;
	for (uint32_t i = 0; i < p->series.series.n; i++)
		has_wall |= strcmp(type_name(p, i), "wall") == 0;
	for (uint32_t i = 0; i < p->series.series.n; i++) {
		bool is_wall = strcmp(type_name(p, i), "wall") == 0;
		c->state_of_series[i] = state_of_type_in(p, p->series.series.v[i].type);
		if (is_wall == has_wall && c->state_of_series[i])
			c->factor_ns[i] = series_factor_ns(p, &p->series.series.v[i]);
		if (c->factor_ns[i])
			c->out->is_known[c->state_of_series[i]] = true;
	}
	for (int s = STATE_ON_CPU; s <= STATE_SCHED_WAIT; s++)
		c->out->is_known[s] |= has_wall || p->threads.all.n;
}

static struct stack_state stack_state(struct accountant *c, uint32_t stack)
{
	if (!c->is_state_known[stack])
		c->states[stack] = state_of_stack(c->p, stack);
	c->is_state_known[stack] = true;
	return c->states[stack];
}

/* --- threads --------------------------------------------------------------------------------- */

struct thread_key {
	const struct thread_accounts *all;
	uint32_t pid, tid;
};

static bool is_thread(const void *ctx, uint32_t i)
{
	const struct thread_key *key = ctx;
	return key->all->all.v[i].pid == key->pid && key->all->all.v[i].tid == key->tid;
}

static uint32_t account_of(struct accountant *c, uint32_t pid, uint32_t tid)
{
	struct thread_key key = { c->out, pid, tid };
	uint32_t fresh = c->out->all.n;
	uint32_t i = map_intern(&c->index, hash_mix(pid, tid), fresh, is_thread, &key);
	if (i == fresh)
		vec_push(&c->out->all, (struct thread_account){ .pid = pid, .tid = tid });
	return i;
}

/* Adds measured times. If a tid was reused in the same process, its threads share one account. */
static void add_measured(struct accountant *c, const struct thread_times *t)
{
	uint32_t i = account_of(c, t->pid, t->tid); /* may move all accounts */
	struct thread_account *a = &c->out->all.v[i];
	a->is_exact = true;
	a->name = t->name;
	a->life_ns = sum_add(a->life_ns, sum_sub(t->last_ns, t->first_ns));
	a->ns[STATE_ON_CPU] = sum_add(a->ns[STATE_ON_CPU], t->on_ns);
	a->ns[STATE_OFF_CPU] = sum_add(a->ns[STATE_OFF_CPU], t->off_ns);
	a->ns[STATE_SCHED_WAIT] = sum_add(a->ns[STATE_SCHED_WAIT], t->wait_ns);
	a->stopped_ns = sum_add(a->stopped_ns, t->stopped_ns);
}

static void find_threads(struct accountant *c)
{
	const struct profile *p = c->p;
	uint32_t comm = strtab_find(&p->strings, "comm");
	for (size_t i = 0; i < p->threads.all.n; i++)
		add_measured(c, &p->threads.all.v[i]);
	for (size_t row = 0; row < p->samples.n; row++) {
		uint32_t i = account_of(c, p->samples.pid[row], p->samples.tid[row]);
		struct thread_account *a = &c->out->all.v[i];
		const struct series *s = &p->series.series.v[p->samples.series[row]];
		const struct label *l = a->name ? NULL : label_find(&p->series, s->labels, comm);
		if (l && !l->is_num)
			a->name = l->str;
		c->account_of_row[row] = i;
		a->n_rows++;
	}
}

static int compare_accounts(const void *a, const void *b)
{
	const struct thread_account *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if ((x->pid == x->tid) != (y->pid == y->tid))
		return x->pid == x->tid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Sorts accounts, and rows by account. */
static void sort_threads(struct accountant *c)
{
	struct thread_accounts *out = c->out;
	uint32_t *moved = xcalloc(out->all.n, sizeof *moved);
	size_t at = 0;
	for (size_t i = 0; i < out->all.n; i++)
		out->all.v[i].n_waits = i; /* previous position */
	if (out->all.n)
		qsort(out->all.v, out->all.n, sizeof *out->all.v, compare_accounts);
	for (size_t i = 0; i < out->all.n; i++) {
		struct thread_account *a = &out->all.v[i];
		moved[a->n_waits] = i;
		a->n_waits = 0;
		a->first_row = at;
		at += a->n_rows;
		a->n_rows = 0;
	}
	for (size_t row = 0; row < c->p->samples.n; row++) {
		struct thread_account *a = &out->all.v[moved[c->account_of_row[row]]];
		out->rows[a->first_row + a->n_rows++] = row;
	}
	free(moved);
}

/* --- one thread ------------------------------------------------------------------------------ */

/* Returns the text in brackets of the leaf's marker, if it has no reason. */
static uint32_t marker_words(struct accountant *c, uint32_t stack)
{
	uint32_t leaf = stack_leaf(&c->p->stacks, stack);
	const struct frame *f = leaf == UINT32_MAX ? NULL : &c->p->frames.frames.v[leaf];
	if (!f || f->kind != FRAME_MARKER || f->mapping != MAPPING_NONE)
		return 0;
	const char *name = profile_str(c->p, f->function);
	size_t len = strlen(name);
	if (len < 2 || state_of_marker(name, len) != STATE_OFF_CPU)
		return 0;
	return strtab_putn(&c->p->strings, name + 1, len - 2);
}

static void add_reason(struct accountant *c, struct thread_account *a, uint32_t name, int64_t ns)
{
	const uint32_t *known = map_get(&c->reason_index, name);
	uint32_t i = known ? *known : a->reasons.n;
	if (!known) {
		map_put(&c->reason_index, name, i);
		vec_push(&a->reasons, (struct thread_reason){ .name = name });
	}
	a->reasons.v[i].ns = sum_add(a->reasons.v[i].ns, ns);
}

/* Adds a wait. Sums of many short waits have only a marker and no stack, and are skipped. */
static void add_wait(struct accountant *c, uint32_t stack, int64_t ns)
{
	if (stack_depth(&c->p->stacks, stack) < 2)
		return;
	const uint32_t *known = map_get(&c->wait_of_stack, stack);
	uint32_t i = known ? *known : c->waits.n;
	if (!known) {
		map_put(&c->wait_of_stack, stack, i);
		vec_push(&c->waits, (struct thread_wait){ .stack = stack });
	}
	c->waits.v[i].ns = sum_add(c->waits.v[i].ns, ns);
	c->waits.v[i].n++;
}

/* Measured times do not include GPU waits: the thread waits on the CPU or off it. */
static void add_gpu_wait(struct accountant *c, struct thread_account *a, uint32_t series,
			 int64_t ns)
{
	const struct series *s = &c->p->series.series.v[series];
	const struct label *how =
		label_find(&c->p->series, s->labels, strtab_find(&c->p->strings, "how"));
	bool is_on_cpu = how && !how->is_num && strcmp(profile_str(c->p, how->str), "spin") == 0;
	int64_t *other = &a->ns[is_on_cpu ? STATE_ON_CPU : STATE_OFF_CPU];
	c->out->is_known[STATE_GPU_WAIT] = true;
	if (!a->is_exact)
		return;
	a->ns[STATE_GPU_WAIT] = sum_add(a->ns[STATE_GPU_WAIT], ns);
	*other = sum_sub(*other, ns);
}

static void add_row(struct accountant *c, struct thread_account *a, size_t row, int64_t *sums,
		    int64_t *stopped_ns)
{
	const struct sample_columns *s = &c->p->samples;
	uint32_t series = s->series[row], stack = s->stack[row];
	struct stack_state state = stack_state(c, stack);
	int64_t ns = sum_mul(s->value[row], c->factor_ns[series]);
	const char *stopped = wait_reason_names[WAIT_STOPPED];
	if (!state.state)
		state.state = c->state_of_series[series];
	if (state.reason && strcmp(profile_str(c->p, state.reason), stopped) == 0) {
		*stopped_ns = sum_add(*stopped_ns, ns);
		return;
	}
	sums[state.state] = sum_add(sums[state.state], ns);
	if (state.state == STATE_GPU_WAIT)
		add_gpu_wait(c, a, series, ns);
	if (state.state == STATE_OFF_CPU)
		add_reason(c, a, state.reason ? state.reason : marker_words(c, stack), ns);
	if (state.state != STATE_ON_CPU)
		add_wait(c, stack, ns);
}

static int compare_reasons(const void *a, const void *b)
{
	const struct thread_reason *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int compare_waits(const void *a, const void *b)
{
	const struct thread_wait *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Estimates a thread that was not measured from its samples. */
static void estimate(struct accountant *c, struct thread_account *a, const int64_t *sums,
		     int64_t stopped_ns)
{
	const struct sample_columns *s = &c->p->samples;
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (size_t i = 0; i < a->n_rows; i++) {
		size_t row = c->out->rows[a->first_row + i];
		int64_t end = sum_add(s->time_ns[row], sample_length_ns(s, row));
		first = s->time_ns[row] < first ? s->time_ns[row] : first;
		last = end > last ? end : last;
	}
	memcpy(a->ns, sums, sizeof a->ns);
	a->stopped_ns = stopped_ns;
	a->life_ns = last > first ? sum_sub(last, first) : 0;
}

/* Adds a row for the blocked time that is in no sample. */
static void finish_reasons(struct thread_account *a)
{
	int64_t rest = a->ns[STATE_OFF_CPU];
	for (size_t i = 0; i < a->reasons.n; i++)
		rest = sum_sub(rest, a->reasons.v[i].ns);
	if (a->reasons.n)
		qsort(a->reasons.v, a->reasons.n, sizeof *a->reasons.v, compare_reasons);
	if (rest > 0)
		vec_push(&a->reasons, (struct thread_reason){ .ns = rest });
}

static void add_up(struct accountant *c, struct thread_account *a)
{
	int64_t sums[THREAD_STATES] = { 0 }, stopped_ns = 0;
	map_clear(&c->wait_of_stack);
	map_clear(&c->reason_index);
	vec_clear(&c->waits);
	for (size_t i = 0; i < a->n_rows; i++) {
		size_t row = c->out->rows[a->first_row + i];
		if (c->factor_ns[c->p->samples.series[row]])
			add_row(c, a, row, sums, &stopped_ns);
	}
	if (!a->is_exact)
		estimate(c, a, sums, stopped_ns);
	finish_reasons(a);
	if (c->waits.n)
		qsort(c->waits.v, c->waits.n, sizeof *c->waits.v, compare_waits);
	while (a->n_waits < c->waits.n && a->n_waits < THREAD_WAITS_SHOWN) {
		a->waits[a->n_waits] = c->waits.v[a->n_waits];
		a->n_waits++;
	}
}

/* --- all threads ----------------------------------------------------------------------------- */

/* Returns the recorded duration, or else the time from the first sample to the last. */
static int64_t recording_ns(const struct profile *p)
{
	const struct sample_columns *s = &p->samples;
	int64_t first = INT64_MAX, last = INT64_MIN;
	if (p->meta.duration_ns > 0)
		return p->meta.duration_ns;
	for (size_t row = 0; row < s->n; row++) {
		int64_t end = sum_add(s->time_ns[row], sample_length_ns(s, row));
		first = s->time_ns[row] < first ? s->time_ns[row] : first;
		last = end > last ? end : last;
	}
	for (size_t i = 0; i < p->threads.all.n; i++) {
		const struct thread_times *t = &p->threads.all.v[i];
		first = t->first_ns < first ? t->first_ns : first;
		last = t->last_ns > last ? t->last_ns : last;
	}
	return last > first ? sum_sub(last, first) : 0;
}

static void accountant_done(struct accountant *c)
{
	map_done(&c->index);
	map_done(&c->wait_of_stack);
	map_done(&c->reason_index);
	vec_done(&c->waits);
	free(c->account_of_row);
	free(c->factor_ns);
	free(c->state_of_series);
	free(c->states);
	free(c->is_state_known);
}

void thread_accounts_make(struct profile *p, struct thread_accounts *out)
{
	struct accountant c = { .p = p, .out = out };
	c.account_of_row = xcalloc(p->samples.n + 1, sizeof *c.account_of_row);
	c.factor_ns = xcalloc(p->series.series.n + 1, sizeof *c.factor_ns);
	c.state_of_series = xcalloc(p->series.series.n + 1, sizeof *c.state_of_series);
	c.states = xcalloc(p->stacks.stacks.n, sizeof *c.states);
	c.is_state_known = xcalloc(p->stacks.stacks.n, 1);
	out->rows = xcalloc(p->samples.n + 1, sizeof *out->rows);
	out->recording_ns = recording_ns(p);
	choose_series(&c);
	find_threads(&c);
	sort_threads(&c);
	for (size_t i = 0; i < out->all.n; i++)
		add_up(&c, &out->all.v[i]);
	accountant_done(&c);
}

void thread_accounts_done(struct thread_accounts *a)
{
	for (size_t i = 0; i < a->all.n; i++)
		vec_done(&a->all.v[i].reasons);
	vec_done(&a->all);
	free(a->rows);
	*a = (struct thread_accounts){ 0 };
}

size_t thread_accounts_sum(const struct thread_accounts *a, size_t first,
			   struct thread_account *out)
{
	uint32_t pid = a->all.v[first].pid;
	size_t n = 0;
	*out = (struct thread_account){ .pid = pid, .tid = pid, .is_exact = true };
	for (; first + n < a->all.n && a->all.v[first + n].pid == pid; n++) {
		const struct thread_account *t = &a->all.v[first + n];
		out->is_exact &= t->is_exact;
		out->life_ns = sum_add(out->life_ns, t->life_ns);
		out->stopped_ns = sum_add(out->stopped_ns, t->stopped_ns);
		for (int s = 0; s < THREAD_STATES; s++)
			out->ns[s] = sum_add(out->ns[s], t->ns[s]);
	}
	return n;
}
