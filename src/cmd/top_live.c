/* What this machine does now, from a collector in this process.
 *
 * The collector writes into a profile that keeps HISTORY_NS of samples: older ones are taken away once there are as many of them again.
 * Its dictionary grows meanwhile; when that is large the part that is still needed goes into a new one. While the feed is held, the
 * profile stays as it is, and another one takes what comes. */
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "cmd/kernel.h"
#include "cmd/names_env.h"
#include "cmd/top.h"
#include "cmd/top_cpus.h"
#include "cmd/top_gpus.h"
#include "cmd/top_names.h"
#include "cmd/top_rows.h"
#include "cmd/trial.h"
#include "collect/collect.h"
#include "collect/missing.h"
#include "profile/select.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#define HISTORY_NS        60000000000ull
#define DICTIONARY_BYTES  (32ull << 20)
#define NAMES_NS          150000000ull
#define CUT_WAIT_PER_COST 100
#define FIRST_NAMES_NS    2000000000ull
#define ONCE_NAMES_NS     30000000000ull
#define NOTE_NS           15000000000ull

struct live_feed {
	struct feed base;
	struct collect_opts collect;
	struct collector *collector;
	struct profile *profile; /* what samples go into */
	struct profile *held;    /* what is looked at, when that is another one; NULL */
	struct source *source;   /* of what is looked at; NULL: to be made */
	size_t source_rows;
	struct top_names names;
	struct top_cpus cpus;
	struct top_gpus gpus;
	struct collect_stats stats;
	uint64_t cut_due_ns; /* when all threads are asked again */
	bool is_once;        /* nothing comes after the picture: it waits for its names */
	uint64_t window_ns, last_take_ns, last_cpu_ns, last_bpf_ns;
	uint64_t opened_ns;
	uint64_t start_ns; /* of the profile at hand */
	int64_t shift_ns;  /* from CLOCK_MONOTONIC to Unix time, the same all the time */
	struct buf what;
};

static struct live_feed *of(struct feed *f)
{
	return (struct live_feed *)f;
}

/* --- the profile ------------------------------------------------------------------------------ */

static void describe(struct live_feed *f, struct profile *p)
{
	struct sink *sink = profile_sink(p);
	struct utsname u;
	p->meta.command = sink_string(sink, "cresset top");
	if (uname(&u) == 0) {
		p->meta.host = sink_string(sink, u.nodename);
		p->meta.kernel = sink_string(sink, u.release);
	}
	p->meta.clock = sink_string(sink, f->stats.clock ? f->stats.clock : "");
	p->meta.start_mono_ns = (int64_t)f->start_ns;
	p->meta.start_wall_ns = (int64_t)f->start_ns + f->shift_ns;
}

/* Samples go there from here on. */
static int set_profile(struct live_feed *f, struct profile *p, struct err *err)
{
	describe(f, p);
	f->profile = p;
	top_names_begin(&f->names);
	return collect_set_sink(f->collector, profile_sink(p), NULL, err);
}

/* Before the profile changes; that of one that is held is still good. */
static void drop_source(struct live_feed *f)
{
	if (f->held)
		return;
	source_close(f->source);
	f->source = NULL;
}

static int64_t row_end(const struct sample_columns *c, size_t row)
{
	return c->time_ns[row] + sample_length_ns(c, row);
}

static void drop_old(struct live_feed *f, int64_t keep_from_ns)
{
	const struct sample_columns *c = &f->profile->samples;
	size_t old = 0;
	bool *keep = xcalloc(c->n + 1, sizeof *keep);
	for (size_t i = 0; i < c->n; i++) {
		keep[i] = row_end(c, i) >= keep_from_ns;
		old += !keep[i];
	}
	if (old > c->n / 2)
		profile_keep_samples(f->profile, keep);
	free(keep);
}

/* What is still referred to, in a new dictionary. */
static int renew(struct live_feed *f, struct err *err)
{
	struct select_opts all = { 0 };
	struct profile *p;
	int rc = profile_select(f->profile, &all, &p, err);
	if (rc < 0)
		return rc;
	profile_free(f->profile);
	return set_profile(f, p, err);
}

static int trim(struct live_feed *f, uint64_t now_ns, struct err *err)
{
	struct sink *sink = profile_sink(f->profile);
	if (now_ns > f->start_ns + HISTORY_NS)
		drop_old(f, (int64_t)(now_ns - HISTORY_NS));
	return sink->ops->kept_bytes(sink) > DICTIONARY_BYTES ? renew(f, err) : 0;
}

/* --- the feed --------------------------------------------------------------------------------- */

static int live_wait(struct feed *base, int timeout_ms, struct err *err)
{
	return collect_run(of(base)->collector, timeout_ms, err);
}

static int live_watch(struct feed *base, int fd, struct err *err)
{
	return collect_watch(of(base)->collector, fd, err);
}

static void take_costs(struct live_feed *f, uint64_t now_ns, struct feed_take *out)
{
	uint64_t cpu_ns = clock_cpu_ns();
	double span = (double)(now_ns - f->last_take_ns);
	out->own_cpu = f->last_take_ns && span > 0 ? (double)(cpu_ns - f->last_cpu_ns) / span : -1;
	/* Only counted while kernel.bpf_stats_enabled is set. */
	out->bpf_cpu = f->last_bpf_ns && f->stats.bpf_ns > f->last_bpf_ns
			       ? (double)(f->stats.bpf_ns - f->last_bpf_ns) / span
			       : -1;
	f->last_cpu_ns = cpu_ns;
	f->last_bpf_ns = f->stats.bpf_ns;
	f->last_take_ns = now_ns;
}

/* To ask all threads how long they have waited may take long: then it is done less often, so that it costs 1 % of a CPU. */
static int catch_up(struct live_feed *f, bool with_waits, struct err *err)
{
	uint64_t begin_cpu_ns = clock_cpu_ns();
	if (!with_waits || clock_mono_ns() < f->cut_due_ns)
		return collect_catch_up(f->collector, err);
	int rc = collect_cut(f->collector, err);
	uint64_t wait_ns = (clock_cpu_ns() - begin_cpu_ns) * CUT_WAIT_PER_COST;
	f->cut_due_ns = clock_mono_ns() + (wait_ns < f->window_ns / 2 ? wait_ns : f->window_ns / 2);
	return rc;
}

/* At first only: the line has other uses. */
static void note_missing(const struct live_feed *f, struct feed_take *out)
{
	const struct collect_missing *missing;
	struct err words = { 0 };
	if (f->last_take_ns > f->opened_ns + NOTE_NS ||
	    !collect_get_missing(f->collector, &missing))
		return;
	collect_missing_words(&missing[0], &words);
	snprintf(out->note, sizeof out->note, "%.*s", (int)sizeof out->note - 1, words.text);
}

static int live_take(struct feed *base, bool with_waits, struct feed_take *out, struct err *err)
{
	struct live_feed *f = of(base);
	bool is_first = !f->last_take_ns;
	drop_source(f);
	int rc = catch_up(f, with_waits, err);
	if (rc < 0)
		return rc;
	uint64_t now_ns = clock_mono_ns();
	rc = trim(f, now_ns, err);
	collect_name_kernel(f->collector);
	top_names_run(&f->names, f->collector, f->profile,
		      now_ns + (f->is_once ? ONCE_NAMES_NS
				: is_first ? FIRST_NAMES_NS
					   : NAMES_NS));
	collect_get_stats(f->collector, &f->stats);
	top_cpus_look(&f->cpus);
	uint64_t from_ns =
		now_ns > f->start_ns + f->window_ns ? now_ns - f->window_ns : f->start_ns;
	uint64_t old_ns = now_ns > f->start_ns + HISTORY_NS ? now_ns - HISTORY_NS : f->start_ns;
	*out = (struct feed_take){ .from_ns = (int64_t)from_ns + f->shift_ns,
				   .to_ns = (int64_t)now_ns + f->shift_ns,
				   .history_ns = (int64_t)old_ns + f->shift_ns,
				   .cpu = f->cpus.shares.v,
				   .n_cpus = (uint32_t)f->cpus.shares.n,
				   .rate_hz = f->collect.freq_hz,
				   .samples = f->stats.samples,
				   .lost = f->stats.lost };
	top_gpus_look(&f->gpus, out->gpus, sizeof out->gpus);
	if (collect_targets_gone(f->collector))
		snprintf(out->note, sizeof out->note, "All that was watched has ended.");
	else
		note_missing(f, out);
	take_costs(f, now_ns, out);
	return rc;
}

static struct source *live_source(struct feed *base)
{
	struct live_feed *f = of(base);
	struct profile *p = f->held ? f->held : f->profile;
	if (f->source && p->samples.n == f->source_rows)
		return f->source;
	source_close(f->source);
	f->source_rows = p->samples.n;
	f->source = top_rows_open(p);
	return f->source;
}

/* Goes on with another profile, so that what is looked at stays. */
static void live_hold(struct feed *base, bool held)
{
	struct live_feed *f = of(base);
	struct err err = { 0 };
	if (held == (f->held != NULL))
		return;
	if (held) {
		f->held = f->profile;
		f->start_ns = clock_mono_ns();
		set_profile(f, profile_new(), &err);
		return;
	}
	source_close(f->source);
	f->source = NULL;
	profile_free(f->held);
	f->held = NULL;
}

static void live_close(struct feed *base)
{
	struct live_feed *f = of(base);
	source_close(f->source);
	top_names_done(&f->names);
	collect_free(f->collector);
	top_cpus_done(&f->cpus);
	top_gpus_done(&f->gpus);
	profile_free(f->profile);
	profile_free(f->held);
	buf_done(&f->what);
	free(f);
}

static const struct feed_ops live_ops = {
	.wait = live_wait,
	.watch = live_watch,
	.take = live_take,
	.source = live_source,
	.hold = live_hold,
	.close = live_close,
};

/* --- opening ---------------------------------------------------------------------------------- */

static int settle_pids(struct cmd_line *line, const struct top_opts *o, struct live_feed *f)
{
	uint32_t *ids = arena_alloc(&line->arena, (o->pids.n + 1) * sizeof *ids);
	if (!o->pids.n) {
		buf_adds(&f->what, "the whole machine");
		return CMD_OK;
	}
	if (o->pids.n > COLLECT_MAX_TARGETS)
		return cmd_usage(line, "option --pid: more than %d ids", COLLECT_MAX_TARGETS);
	for (size_t i = 0; i < o->pids.n; i++) {
		uint64_t id;
		if (parse_u64(o->pids.v[i], &id) < 0 || id == 0 || id > INT32_MAX)
			return cmd_usage(line, "option --pid: '%s' is not a process id",
					 o->pids.v[i]);
		ids[i] = (uint32_t)id;
		buf_addf(&f->what, "%s%u", i ? "," : "pid ", ids[i]);
	}
	f->collect.target = TARGET_PID;
	f->collect.ids = ids;
	f->collect.n_ids = o->pids.n;
	return CMD_OK;
}

static int start(struct live_feed *f)
{
	struct err err = { 0 };
	f->profile = profile_new();
	int rc = collect_open(&f->collect, profile_sink(f->profile), &f->collector, &err);
	f->opened_ns = f->start_ns = clock_mono_ns();
	f->shift_ns = clock_wall_offset_ns();
	describe(f, f->profile);
	if (rc == 0)
		kernel_warn(f->collector);
	if (rc == 0)
		rc = collect_start(f->collector, &err);
	return rc < 0 ? cmd_fail(collect_status(rc), &err) : CMD_OK;
}

int top_live(struct cmd_line *line, const struct top_opts *o, struct feed **out)
{
	struct live_feed *f = xcalloc(1, sizeof *f);
	f->collect =
		(struct collect_opts){ .freq_hz = (uint32_t)o->freq_hz,
				       .clock = o->clock,
				       .events = COLLECT_CPU | (o->no_waits ? 0 : COLLECT_OFF_CPU),
				       .wakers = !o->no_waits,
				       .keep_kernel_names = true };
	f->window_ns = o->window_ns;
	f->is_once = o->once;
	names_env(&line->arena, &f->collect.names);
	f->collect.names.debuginfod_urls = NULL;
	top_names_init(&f->names, &f->collect.names);
	int status = kernel_settle(o->btf, &f->collect);
	if (status == CMD_OK)
		status = settle_pids(line, o, f);
	if (status == CMD_OK)
		status = start(f);
	if (status != CMD_OK) {
		live_close(&f->base);
		return status;
	}
	top_cpus_look(&f->cpus);
	top_gpus_init(&f->gpus);
	f->base = (struct feed){ .ops = &live_ops, .goes_on = true, .is_live = true };
	f->base.what = buf_cstr(&f->what);
	*out = &f->base;
	return CMD_OK;
}
