/* Sums the time of each thread by state, and releases `wall` samples when the time is known. */
#include "collect/walker/account.h"

#include "base/buf.h"
#include "base/mem.h"
#include "profile/frame.h"
#include "profile/state.h"
#include "profile/thread.h"

#include <stdlib.h>
#include <string.h>

enum { ENDED_KEPT = 256 };

void accounts_init(struct accounts *a, const struct account_opts *opts)
{
	*a = (struct accounts){ .opts = *opts };
}

void accounts_done(struct accounts *a)
{
	map_done(&a->by_tid);
	vec_done(&a->all);
	vec_done(&a->held);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Returns the account of a thread at this time: a late sample may belong to a thread that has
 * ended. */
static uint32_t account_of(struct accounts *a, uint32_t tid, int64_t time_ns)
{
	const uint32_t *known = map_get(&a->by_tid, tid);
	const struct account *acc = known ? &a->all.v[*known] : NULL;

	if (acc && (!acc->over || time_ns <= (int64_t)acc->exact.sample.time_ns))
		return *known;
	map_put(&a->by_tid, tid, a->all.n);
	vec_push(&a->all, (struct account){ .tid = tid });
	return a->all.n - 1;
}

static void put_row(struct accounts *a, const struct event_thread *t)
{
	struct sink *s = a->opts.sink;
	struct thread_times row = {
		.pid = t->sample.tgid,
		.tid = t->sample.tid,
		.first_ns = t->first_ns,
		.last_ns = t->sample.time_ns,
		.on_ns = t->on_ns,
		.off_ns = t->off_ns,
		.wait_ns = t->run_ns,
		.stopped_ns = t->stopped_ns,
	};

	row.name = s->ops->string(s, t->sample.comm, strnlen(t->sample.comm, EVENT_COMM_LEN));
	s->ops->thread(s, &row);
}

/* Removes accounts of ended threads. */
static void forget_ended(struct accounts *a)
{
	size_t n = 0;

	map_clear(&a->by_tid);
	for (size_t i = 0; i < a->all.n; i++) {
		if (a->all.v[i].over)
			continue;
		map_put(&a->by_tid, a->all.v[i].tid, n);
		a->all.v[n++] = a->all.v[i];
	}
	a->all.n = n;
}

void account_thread(struct accounts *a, const struct event_thread *t,
		    const struct account_series *series)
{
	uint32_t i = account_of(a, t->sample.tid, t->first_ns);
	struct account *acc = &a->all.v[i];

	a->short_off_ns -= acc->exact.off_ns - acc->exact.long_off_ns;
	a->short_off_ns += t->off_ns - t->long_off_ns;
	acc->exact = *t;
	acc->series = *series;
	acc->known = true;
	acc->over = t->ended;
	put_row(a, t);
	if (!a->opts.wall && a->all.n >= 2 * a->alive + ENDED_KEPT) {
		forget_ended(a);
		a->alive = a->all.n;
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

void account_sample(struct accounts *a, const struct sample *s, enum account_part part)
{
	if (part == ACCOUNT_NONE) {
		a->opts.sink->ops->sample(a->opts.sink, s);
		return;
	}
	struct held_sample held = { *s, account_of(a, s->tid, s->time_ns), part };
	vec_push(&a->held, held);
}

static uint32_t marker_stack(struct sink *s, const char *name)
{
	struct frame f = {
		.kind = FRAME_MARKER,
		.mapping = MAPPING_NONE,
		.function = sink_string(s, name),
	};
	uint32_t frame = s->ops->frame(s, &f);

	return s->ops->stack(s, &frame, 1);
}

static uint32_t series_of_part(const struct account *acc, enum account_part part)
{
	return part == ACCOUNT_GPU_SPIN    ? acc->series.spin
	       : part == ACCOUNT_GPU_SLEEP ? acc->series.sleep
					   : acc->series.rest;
}

/* Puts a leaf for the time since the last call that a thread has no samples of. */
static void put_leaf(struct accounts *a, const struct account *acc, enum account_part part,
		     const char *marker, int64_t ns)
{
	struct sink *s = a->opts.sink;
	int64_t from_ns = acc->until_ns ? acc->until_ns : (int64_t)acc->exact.first_ns;
	struct sample sample = {
		.time_ns = from_ns,
		.length_ns = acc->exact.sample.time_ns - from_ns,
		.value = ns,
		.series = series_of_part(acc, part),
		.stack = marker_stack(s, marker),
		.pid = acc->exact.sample.tgid,
		.tid = acc->tid,
		.cpu = SAMPLE_NO_ID,
	};

	s->ops->sample(s, &sample);
}

/* --- the end of an interval ------------------------------------------------------------------- */

/* For one account and part: the sum of held samples, and the time that they are scaled to. */
struct scale {
	int64_t held, want, seen, put;
};
struct scales {
	struct scale part[ACCOUNT_PARTS];
};

/* Rounds so that the sum is exact. */
static int64_t scaled(struct scale *s, int64_t value)
{
	s->seen += value;
	int64_t until = (int64_t)((__int128)s->seen * s->want / s->held), part = until - s->put;
	s->put = until;
	return part;
}

struct exact_part {
	int64_t all, of_long; /* of_long: time with samples */
};

static struct exact_part exact_of(const struct event_thread *t, enum account_part part)
{
	const struct exact_part parts[ACCOUNT_PARTS] = {
		[ACCOUNT_ON_CPU] = { t->on_ns - t->gpu_on_ns, t->on_ns - t->gpu_on_ns },
		[ACCOUNT_OFF_CPU] = { t->off_ns - t->gpu_off_ns,
				      t->long_off_ns - t->long_gpu_off_ns },
		[ACCOUNT_SCHED_WAIT] = { t->run_ns, t->long_run_ns },
		[ACCOUNT_STOPPED] = { t->stopped_ns, t->long_stopped_ns },
		[ACCOUNT_GPU_SPIN] = { t->gpu_on_ns, t->gpu_on_ns },
		[ACCOUNT_GPU_SLEEP] = { t->gpu_off_ns, t->long_gpu_off_ns },
	};

	return parts[part];
}

static const char *const not_sampled[ACCOUNT_PARTS] = {
	[ACCOUNT_ON_CPU] = STATE_ON_MARKER,
	[ACCOUNT_OFF_CPU] = STATE_OFF_MARKER,
	[ACCOUNT_SCHED_WAIT] = STATE_SCHED_WAIT_MARKER,
	[ACCOUNT_STOPPED] = "[blocked: stopped]",
	[ACCOUNT_GPU_SPIN] = STATE_GPU_WAIT_MARKER,
	[ACCOUNT_GPU_SLEEP] = STATE_GPU_WAIT_MARKER,
};

/* "1ms" */
static void add_time(struct buf *b, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	buf_addf(b, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].unit);
}

/* "[off-CPU below 1ms]", or, if a limit was requested, "[off-CPU below 1ms or above 50ms]" */
static void name_of_short(struct buf *b, const struct account_opts *opts, enum account_part part)
{
	buf_adds(b, part == ACCOUNT_GPU_SLEEP ? "[waiting for GPU below " : "[off-CPU below ");
	add_time(b, opts->min_block_ns);
	if (opts->max_block_ns) {
		buf_adds(b, " or above ");
		add_time(b, opts->max_block_ns);
	}
	buf_addc(b, ']');
}

static void put_short(struct accounts *a, const struct account *acc, enum account_part part,
		      int64_t ns)
{
	struct buf name = { 0 };

	if (part == ACCOUNT_OFF_CPU || part == ACCOUNT_GPU_SLEEP)
		name_of_short(&name, &a->opts, part);
	else
		buf_adds(&name, not_sampled[part]);
	put_leaf(a, acc, part, buf_cstr(&name), ns);
	buf_done(&name);
}

/* Puts leaves for time without samples. */
static void put_missing(struct accounts *a, struct account *acc, const struct scales *scales)
{
	for (int part = ACCOUNT_ON_CPU; part < ACCOUNT_PARTS; part++) {
		struct exact_part exact = exact_of(&acc->exact, part);
		int64_t missing = exact.all - exact.of_long - acc->given_short[part];
		const struct scale *s = &scales->part[part];

		if (missing > 0)
			put_short(a, acc, part, missing);
		if (!s->held && s->want > 0)
			put_leaf(a, acc, part, not_sampled[part], s->want);
		acc->given_short[part] += missing;
		acc->given_long[part] += s->want;
	}
	acc->until_ns = acc->exact.sample.time_ns;
}

static struct scales *wanted_scales(const struct accounts *a)
{
	struct scales *all = xcalloc(a->all.n + 1, sizeof *all);

	for (size_t i = 0; i < a->held.n; i++)
		all[a->held.v[i].account].part[a->held.v[i].part].held += a->held.v[i].sample.value;
	for (size_t i = 0; i < a->all.n; i++) {
		const struct account *acc = &a->all.v[i];

		for (int part = ACCOUNT_ON_CPU; part < ACCOUNT_PARTS; part++) {
			struct scale *s = &all[i].part[part];

			/* If a thread's end was lost, its samples are all there is. */
			s->want = acc->known ? exact_of(&acc->exact, part).of_long -
						       acc->given_long[part]
					     : s->held;
			if (s->want < 0) /* a call was recorded too short while its thread ran */
				s->want = 0;
		}
	}
	return all;
}

void accounts_flush(struct accounts *a)
{
	struct sink *sink = a->opts.sink;

	if (!a->opts.wall)
		return;
	struct scales *scales = wanted_scales(a);
	for (size_t i = 0; i < a->held.n; i++) {
		struct held_sample *h = &a->held.v[i];
		struct scale *s = &scales[h->account].part[h->part];

		h->sample.value = s->held ? scaled(s, h->sample.value) : 0;
		if (h->sample.value > 0)
			sink->ops->sample(sink, &h->sample);
	}
	for (size_t i = 0; i < a->all.n; i++)
		if (a->all.v[i].known)
			put_missing(a, &a->all.v[i], &scales[i]);
	free(scales);
	vec_clear(&a->held);
	forget_ended(a);
}
