/* Reads the rings, orders their records, and passes each to the resolver. */
#include "base/clock.h"
#include "base/err.h"
#include "collect/collect_state.h"

#include <string.h>
#include <time.h>

enum {
	/* A record's time is taken before the record is visible in its ring; the longest delay seen
	 * was 0.06 ms idle, 5.6 ms with four busy loops on two CPUs. */
	BARRIER_NS = 20000000,
	/* If the reader gets its CPU back later than this, it does not yield for a second: files of
	 * short-lived programs would be gone. */
	SIDE_PAUSE_LATE_NS = 300000,
	SIDE_PAUSE_AGAIN_NS = 1000000000,
	SIDE_WAKE_NS = 20000000, /* must be saved before records wake the reader again */
};

/* A program has mapped its libraries some ms after it began; what it opens later is known, or read
 * with the samples. */
enum { LOOK_FIRST_NS = 2000000, LOOK_LAST_NS = 60000000, LOOK_GROWS = 3 };

/* Half a ring has space for the copies of some 30 large stacks, at the default rate 0.3 s. */
enum { EARLY_EVERY_NS = 20000000 };

/* How long, and how many bytes of, samples with stack copies wait for tables. */
#define RAW_WAIT_NS 10000000000ull
enum { RAW_WAIT_BYTES = 8 << 20 };

static void note_sample(struct collector *c, uint64_t time_ns)
{
	if (!c->first_sample_ns || time_ns < c->first_sample_ns) /* there are several rings */
		c->first_sample_ns = time_ns;
	c->samples++;
}

static void on_sample(void *ctx, const struct event_sample *ev)
{
	struct collector *c = ctx;

	note_sample(c, ev->time_ns);
	order_add_sample(&c->order, ev);
}

static void on_raw(void *ctx, const struct event_raw *raw)
{
	struct collector *c = ctx;

	note_sample(c, raw->ev.sample.time_ns);
	c->waits += raw->ev.wait.parts && !(raw->ev.wait.parts & (PART_GPU | PART_FAULT));
	order_add_raw(&c->order, raw);
}

static void on_wait(void *ctx, const struct event_wait *w)
{
	struct collector *c = ctx;

	note_sample(c, w->sample.time_ns);
	c->waits++;
	order_add_wait(&c->order, w);
}

static void on_thread(void *ctx, const struct event_thread *t)
{
	struct collector *c = ctx;

	order_add_thread(&c->order, t);
}

static void on_gpu(void *ctx, const struct event_gpu *g)
{
	struct collector *c = ctx;

	note_sample(c, g->sample.time_ns);
	order_add_gpu(&c->order, g);
}

static void on_fault(void *ctx, const struct event_fault *f)
{
	struct collector *c = ctx;

	note_sample(c, f->sample.time_ns);
	order_add_fault(&c->order, f);
}

static void on_stack(void *ctx, const struct event_stack *st)
{
	struct collector *c = ctx;

	resolve_stack_contents(c->resolver, st);
}

static void on_function(void *ctx, const struct event_function *f)
{
	struct collector *c = ctx;

	resolve_function(c->resolver, f);
}

static void on_side(void *ctx, const struct side_record *r)
{
	struct collector *c = ctx;
	struct side_record seen = *r;

	bool is_gpu = collect_gpu_seen(&c->gpu, r), is_heap = collect_heap_seen(&c->heap, r);
	if (is_gpu || is_heap)
		program_news_urgent(c->programs, r->pid);
	if (brief_has(&c->brief, r)) {
		resolve_skip(c->resolver, r);
		return;
	}
	resolve_seen(c->resolver, &seen);
	order_add_side(&c->order, &seen);
}

static const struct sampler_reader reader = { on_sample, on_stack, on_raw,   on_wait,
					      on_thread, on_gpu,   on_fault, on_function };

/* What the samples miss is looked for once the records before them are read. */
static void tell_samples(struct collector *c)
{
	for (; c->n_told < c->order.samples.n; c->n_told++) {
		const struct order_sample *s = &c->order.samples.v[c->n_told];

		if (s->raw)
			resolve_missed(c->resolver, s->raw);
		else if (s->ev.sample.kind == EVENT_WAIT || s->ev.sample.kind == EVENT_FAULT)
			resolve_waited(c->resolver, s->ev.sample.tgid);
	}
}

static int read_samples(struct collector *c)
{
	int rc = sampler_read(c->sampler, &reader, c);

	tell_samples(c);
	return rc;
}

static void add_brief(void *ctx, const struct side_record *r)
{
	brief_add(ctx, r);
}

static void need_brief(void *ctx, uint32_t pid)
{
	brief_need(ctx, pid);
}

/* A process with unread records has no samples older than the last reading, less the time until
 * records are visible. It may have ended an older wait of another process. */
static bool may_need(const struct order_sample *s, uint64_t since_ns)
{
	return s->ev.sample.time_ns >= since_ns || s->ev.sample.kind != EVENT_SAMPLE;
}

/* All samples of processes that have ended are in their rings by now. Programs seen for the first
 * time are not skipped: their files are opened. An error is met again by the next reading. */
static void find_brief(struct collector *c)
{
	uint64_t since_ns = c->looked_ns > BARRIER_NS ? c->looked_ns - BARRIER_NS : 0;

	c->looked_ns = clock_mono_ns();
	brief_clear(&c->brief);
	side_band_peek(c->side, add_brief, &c->brief);
	sampler_read(c->sampler, &reader, c);
	for (size_t i = 0; i < c->order.samples.n; i++)
		if (may_need(&c->order.samples.v[i], since_ns))
			order_needs(&c->order, i, need_brief, &c->brief);
	program_news_each(c->programs, need_brief, &c->brief);
	brief_find(&c->brief);
}

static void take_records(struct collector *c)
{
	size_t first = c->order.sides.n;

	find_brief(c);
	resolve_begin_reading(c->resolver);
	side_band_drain(c->side, on_side, c);
	resolve_follow(c->resolver, c->order.sides.v + first, c->order.sides.n - first);
	tell_samples(c);
}

/* Only that records were lost is read. */
static void drop_records(struct collector *c)
{
	size_t first = c->order.sides.n;

	brief_clear(&c->brief);
	side_band_skip(c->side, on_side, c);
	resolve_follow(c->resolver, c->order.sides.v + first, c->order.sides.n - first);
}

static void take_sample(void *ctx, const union order_event *ev, const struct event_raw *raw)
{
	struct collector *c = ctx;

	resolve_event(c->resolver, ev, raw);
}

static void take_side(void *ctx, const struct side_record *r)
{
	struct collector *c = ctx;

	resolve_apply(c->resolver, r);
	collect_gpu_applied(&c->gpu, r);
	collect_heap_applied(&c->heap, r);
}

static void pass_side(void *ctx, const struct side_record *r)
{
	struct collector *c = ctx;

	resolve_pass(c->resolver, r);
	collect_gpu_applied(&c->gpu, r);
	collect_heap_applied(&c->heap, r);
}

/* Processing a record later, in its turn, takes as long again. */
static void begin_side(struct collector *c)
{
	c->side_begun_ns = clock_thread_ns();
}

static void end_side(struct collector *c)
{
	uint64_t taken_ns = clock_thread_ns() - c->side_begun_ns;

	c->side_taken_ns += taken_ns;
	allowance_spend(&c->side_time, 2 * taken_ns);
}

void collector_begin_wait(struct collector *c)
{
	c->waits_since_ns = clock_thread_ns();
	c->side_taken_ns = 0;
}

void collector_charge_wake(struct collector *c)
{
	uint64_t all_ns = clock_thread_ns() - c->waits_since_ns;

	if (all_ns > c->side_taken_ns)
		allowance_spend(&c->side_time, all_ns - c->side_taken_ns);
}

static void set_quiet(struct collector *c, bool quiet)
{
	side_band_quiet(c->side, quiet);
	program_news_quiet(c->programs, quiet);
}

/* A process that maps and forks without end must not take more of our time than others: records
 * beyond the budget are dropped. Their processes are looked up in /proc when a sample meets
 * them. */
static void read_side(struct collector *c)
{
	int64_t left_ns = allowance_left(&c->side_time, clock_mono_ns());

	if (left_ns <= 0)
		set_quiet(c, true);
	else if (left_ns > SIDE_WAKE_NS)
		set_quiet(c, false);
	begin_side(c);
	if (left_ns > 0)
		take_records(c);
	else
		drop_records(c);
	resolve_sync(c->resolver);
	end_side(c);
}

static void pause_ns(struct collector *c, int64_t ns)
{
	uint64_t begin_ns = clock_mono_ns();

	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL); /* a signal ends it */
	uint64_t now_ns = clock_mono_ns();
	if (now_ns > begin_ns + ns + SIDE_PAUSE_LATE_NS)
		c->next_pause_ns = now_ns + SIDE_PAUSE_AGAIN_NS;
}

/* Reports the mappings of a burst to the walker at one time. */
static void read_burst(struct collector *c, int timeout_ms)
{
	int64_t ns = c->side_pause_ns;

	if (timeout_ms >= 0 && ns > timeout_ms * 1000000ll)
		ns = timeout_ms * 1000000ll;
	if (ns && clock_mono_ns() >= c->next_pause_ns) {
		begin_side(c);
		take_records(c);
		end_side(c);
		pause_ns(c, ns);
	}
	read_side(c);
}

void collector_read_side(struct collector *c)
{
	read_side(c);
}

void collector_read_programs(struct collector *c, int timeout_ms)
{
	program_news_take(c->programs);
	read_burst(c, timeout_ms);
	program_news_learn(c->programs);
	c->look_wait_ns = LOOK_FIRST_NS;
	c->look_ns = clock_mono_ns() + c->look_wait_ns;
}

uint64_t collector_look_due_ns(const struct collector *c)
{
	return c->look_ns ? c->look_ns : UINT64_MAX;
}

void collector_look(struct collector *c)
{
	c->look_wait_ns *= LOOK_GROWS;
	c->look_ns = c->look_wait_ns <= LOOK_LAST_NS ? clock_mono_ns() + c->look_wait_ns : 0;
	read_side(c);
}

/* Samples with stack copies are pending until the tables they need are built, and so is everything
 * after them. */
static uint64_t before_waiting_raw(const struct collector *c, uint64_t barrier_ns)
{
	uint64_t oldest_ns = order_oldest_raw_ns(&c->order);
	bool waits = oldest_ns <= barrier_ns && resolve_is_busy(c->resolver) &&
		     c->order.raw_bytes < RAW_WAIT_BYTES &&
		     clock_mono_ns() - oldest_ns < RAW_WAIT_NS;

	return waits ? oldest_ns - 1 : barrier_ns;
}

static void wait_for_tables(struct collector *c)
{
	uint64_t end_ns = clock_mono_ns() + RAW_WAIT_NS;
	struct timespec pause = { .tv_nsec = 1000000 };

	while (order_oldest_raw_ns(&c->order) != UINT64_MAX && resolve_is_busy(c->resolver) &&
	       clock_mono_ns() < end_ns) {
		nanosleep(&pause, NULL);
		resolve_sync(c->resolver);
	}
}

/* An error is met again by the next reading. */
void collector_read_early(void *ctx)
{
	struct collector *c = ctx;

	if (clock_mono_ns() < c->next_early_ns)
		return;
	read_side(c);
	read_samples(c);
	resolve_sync(c->resolver);
	c->next_early_ns = clock_mono_ns() + EARLY_EVERY_NS;
}

int collector_read(struct collector *c, bool everything, struct err *err)
{
	static const struct order_ops ops = { take_sample, take_side, pass_side };
	uint64_t barrier_ns = clock_mono_ns() - BARRIER_NS;

	read_side(c);
	if (resolve_run(c->resolver)) {
		collect_gpu_scanned(&c->gpu);
		collect_heap_scanned(&c->heap);
	}
	int rc = read_samples(c);
	if (everything) /* processes that mapped while the samples were read */
		take_records(c);
	resolve_sync(c->resolver);
	if (everything)
		wait_for_tables(c);
	barrier_ns = before_waiting_raw(c, barrier_ns);
	order_take(&c->order, everything ? UINT64_MAX : barrier_ns, &ops, c);
	c->n_told = c->order.samples.n;
	if (resolve_take_epoch_over(c->resolver)) {
		sampler_new_epoch(c->sampler);
		collect_gpu_new_epoch(&c->gpu);
	}
	return rc ? err_set(err, -rc, "cannot read the ring buffer: %s", strerror(-rc)) : 0;
}

int collector_report(struct collector *c, bool is_last, struct err *err)
{
	int rc, more;

	do {
		more = sampler_report(c->sampler, is_last);
		rc = collector_read(c, false, err);
	} while (more > 0 && !rc);
	c->reported_ns = clock_mono_ns();
	if (more < 0)
		rc = err_set(err, -more, "cannot read the times of threads: %s", strerror(-more));
	return rc;
}

int collector_close_window(struct collector *c, struct err *err)
{
	int rc = collector_report(c, true, err);

	c->reported_ns = 0; /* thread times are awaited only for `wall`, which has no windows */
	sampler_close_window(c->sampler);
	return rc;
}

int collector_turn_window(struct collector *c, struct err *err)
{
	switch (sampler_window_step(c->sampler, clock_mono_ns())) {
	case SWITCH_OPEN:
		return sampler_open_window(c->sampler, err);
	case SWITCH_CLOSE:
		return collector_close_window(c, err);
	case SWITCH_STAY:
		break;
	}
	return 0;
}

int collector_take_report(struct collector *c, struct err *err)
{
	uint64_t now_ns, end_ns;

	c->cut_ns = clock_mono_ns();
	end_ns = c->cut_ns + BARRIER_NS;
	while ((now_ns = clock_mono_ns()) <= end_ns) { /* other rings may have older records */
		uint64_t left_ns = end_ns + 1 - now_ns;

		pause_ns(c, left_ns < COLLECT_PAUSE_MAX_NS ? left_ns : COLLECT_PAUSE_MAX_NS);
		read_side(c);
	}
	return collector_read(c, false, err);
}

int collector_relieve(struct collector *c, struct err *err)
{
	if (!c->reported_ns)
		return resolve_is_full(c->resolver) ? collector_report(c, true, err) : 0;
	if (c->order.taken_ns <= c->reported_ns)
		return 0;
	resolve_flush(c->resolver);
	c->reported_ns = 0;
	return 0;
}
