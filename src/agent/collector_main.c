/* The collector process. */
#include "agent/attaching.h"
#include "agent/health.h"
#include "agent/outbox.h"
#include "agent/up.h"
#include "agent/wire.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own_args.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/host/host_metrics.h"
#include "collect/host/host_sources.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/missing.h"
#include "profile/copy.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	/* limit: samples waiting for the store process: minutes of a busy machine */
	OUTBOX_MAX_BYTES = 4 << 20,
	POLL_MS = 250,
	SEND_MS = 10,         /* while the other side reads slowly or sends too much */
	STOP_MS = 100,        /* at the end */
	SETTLE_MS = 200,      /* for names of generated code, before a new dictionary … */
	LAST_SETTLE_MS = 300, /* … and at the end */
};
/* A dictionary of this size or age is replaced by one that has only the stacks of memory in use.
 * Where those are many it may grow to twice their size. */
#define DICTIONARY_BYTES  (2ull << 20)
#define DICTIONARY_AGE_NS 3600000000000ull
#define LOSSES_SAID_NS    60000000000ull
#define FIRST_INTERVAL_NS 2000000000ull
/* The supervisor kills a collector that has not ended after 1.3 s. These start with the end. */
#define STOP_NAMES_NS     900000000ull
#define STOP_NS           1100000000ull

struct collecting {
	const struct up_opts *opts;
	struct health *health;
	int control;
	struct collector *collector;
	struct profile *profile;
	struct outbox outbox;
	struct host_metrics *host;
	struct attaching *attaching[UP_ATTACHES]; /* NULL: that is off */
	uint64_t begun_ns, cut_ns;                /* start of the dictionary; of the interval */
	uint64_t most_dictionary_bytes;
	struct wall wall;
	uint64_t lost[LOSS_REASONS], losses_said_ns; /* lost and not logged yet */
	uint64_t lost_ever[LOSS_REASONS];
	uint64_t left_out; /* samples, since the start */
	struct helper_stats workers_said;
	enum gpu_state gpu_said;
	bool has_gpus;  /* the list of GPUs is known */
	bool gpu_hangs; /* the driver does not answer; this was logged */
	bool gpu_late_said;
	struct gpu_probes_stats gpu_probes;
	struct gpu_time_stats gpu_time;
	uint32_t gpu_files_said, gpu_programs_said, gpu_problems_said;
	uint32_t go_programs_said, java_programs_said, heap_programs_said;
	bool heap_problem_said, lock_problem_said;
	size_t missing_said;
	bool full_said;
	bool has_batch;          /* one was made: it records */
	bool is_thin, thin_said; /* waits are recorded in windows: now; ever (logged) */
	bool turns_said;         /* pending waits were recorded in turns; this was logged */
	bool pauses_said;        /* page faults were not watched for a while; this was logged */
	bool is_over;
};

static struct profile *new_profile(struct collecting *c)
{
	c->begun_ns = clock_mono_ns();
	c->most_dictionary_bytes = DICTIONARY_BYTES;
	return profile_new();
}

/* --- losses ----------------------------------------------------------------------------------- */

static void say_losses(struct collecting *c, uint64_t now_ns)
{
	struct buf b = { 0 };

	if (c->losses_said_ns && now_ns < c->losses_said_ns + LOSSES_SAID_NS)
		return;
	for (int i = 0; i < LOSS_REASONS; i++)
		if (c->lost[i] && loss_reasons[i].is_sample)
			buf_addf(&b, "%s%s: %llu", b.len ? ", " : "", loss_reasons[i].text,
				 (unsigned long long)c->lost[i]);
	if (c->lost[LOSS_MAPPINGS_FULL] && !c->full_said)
		log_warn("%s: %llu", loss_reasons[LOSS_MAPPINGS_FULL].text,
			 (unsigned long long)c->lost[LOSS_MAPPINGS_FULL]);
	c->full_said |= c->lost[LOSS_MAPPINGS_FULL] > 0;
	if (b.len) {
		log_warn("samples lost: %s", buf_cstr(&b));
		c->losses_said_ns = now_ns;
		memset(c->lost, 0, sizeof c->lost);
	}
	buf_done(&b);
}

/* Samples left out on request are no loss, and are logged less often. */
static void say_left_out(struct collecting *c, uint64_t dropped)
{
	bool is_first = dropped && !c->left_out;

	c->left_out += dropped;
	if (is_first)
		log_info("samples excluded by --only, --exclude or relabel rules: %llu in the "
			 "first interval with any",
			 (unsigned long long)dropped);
	else if (dropped)
		log_verbose("samples excluded: %llu so far", (unsigned long long)c->left_out);
}

/* Counts samples dropped by the queue to the store. Metrics show them an interval later. */
static void take_dropped(struct collecting *c, uint64_t samples)
{
	c->lost[LOSS_QUEUE_FULL] += samples;
	c->lost_ever[LOSS_QUEUE_FULL] += samples;
}

static void take_losses(struct collecting *c, uint64_t dropped)
{
	uint64_t *loss = c->profile->meta.loss;

	say_left_out(c, loss[LOSS_LEFT_OUT]);
	for (int i = 0; i < LOSS_REASONS; i++) {
		c->lost[i] += loss[i];
		c->lost_ever[i] += loss[i];
		loss[i] = 0;
	}
	c->lost[LOSS_LEFT_OUT] = 0; /* left out on request */
	take_dropped(c, dropped);
	say_losses(c, c->cut_ns);
}

/* --- missing features ------------------------------------------------------------------------- */

/* Logs each missing feature once, including those found missing later. */
static void say_missing(struct collecting *c)
{
	const struct collect_missing *missing;
	size_t n = collect_get_missing(c->collector, &missing);

	for (; c->missing_said < n; c->missing_said++) {
		struct err words = { 0 };

		collect_missing_words(&missing[c->missing_said], &words);
		log_warning(&words);
	}
}

/* --- processes that read of others ------------------------------------------------------------ */

static void say_worker(const struct helper_stats *now, struct helper_stats *said, int work)
{
	const uint64_t *ends = now->ends[work];
	const char *name = helper_work_names[work];

	if (ends[HELPER_DIED] != said->ends[work][HELPER_DIED])
		log_warn("%s died and was replaced: %llu so far", name,
			 (unsigned long long)ends[HELPER_DIED]);
	if (ends[HELPER_STUCK] != said->ends[work][HELPER_STUCK])
		log_warn("%s hung while reading another process or its files: %llu so far, %u "
			 "still there%s",
			 name, (unsigned long long)ends[HELPER_STUCK], now->stuck[work],
			 now->stuck[work] == HELPER_MAX_STUCK ? "; not replaced" : "");
}

static void say_workers(struct collecting *c)
{
	struct collect_stats stats;

	collect_get_stats(c->collector, &stats);
	for (int work = 0; work < HELPER_WORKS; work++)
		say_worker(&stats.workers, &c->workers_said, work);
	c->workers_said = stats.workers;
}

/* --- an interval ------------------------------------------------------------------------------ */

/* Logs each change once. A machine without GPUs is not worth a message. */
static void say_gpus(struct collecting *c)
{
	const struct gpu_status s = host_metrics_gpu(c->host);

	if (s.hangs_ns && !c->gpu_hangs)
		log_warn("the GPU driver does not respond: no GPU metrics until it does");
	else if (!s.hangs_ns && c->gpu_hangs)
		log_info("the GPU driver responds again");
	c->gpu_hangs = s.hangs_ns > 0;
	if (s.state == c->gpu_said)
		return;
	if (s.state == GPU_FAILED)
		log_warn("no GPU metrics: %s", s.words);
	else if (s.state == GPU_ABSENT)
		log_verbose("no GPUs: %s", s.words);
	else if (s.state == GPU_WORKS)
		log_verbose("GPU metrics from %s", s.backend);
	c->gpu_said = s.state;
}

static void say_probes(struct collecting *c)
{
	bool is_late = c->gpu_probes.is_late;

	if (is_late && !c->gpu_late_said)
		log_warn("cresset-probe is placing a probe in a GPU library, and the kernel does "
			 "not return: a process that has it mapped holds its memory's lock, and "
			 "until it ends no process of this machine can start another one");
	else if (!is_late && c->gpu_late_said)
		log_info("the kernel places probes in GPU libraries again");
	c->gpu_late_said = is_late;
}

/* Logs new libraries and programs, and problems with programs, which the watcher reports once. */
static void say_gpu_programs(struct collecting *c)
{
	const struct gpu_time_stats *t = &c->gpu_time;

	if (c->gpu_probes.files != c->gpu_files_said)
		log_verbose("recording calls of %u GPU libraries", c->gpu_probes.files);
	if (t->programs != c->gpu_programs_said)
		log_verbose("recording GPU time of %u program%s", t->watching,
			    t->watching == 1 ? "" : "s");
	for (uint32_t i = c->gpu_problems_said; i < t->problems; i++)
		if (i + GPU_TIME_RECENT >= t->problems)
			log_warn("no GPU time of a program: %s", t->recent[i % GPU_TIME_RECENT]);
	c->gpu_files_said = c->gpu_probes.files;
	c->gpu_programs_said = t->programs;
	c->gpu_problems_said = t->problems;
}

/* Logs the first problem with a program's heap. */
static void say_heaps(struct collecting *c, const struct heap_stats *h)
{
	if (h->go_programs != c->go_programs_said)
		log_verbose("heaps of %u Go programs are read: %u stacks", h->go_programs,
			    h->go_stacks);
	if (h->java_programs != c->java_programs_said)
		log_verbose("allocations of %u Java programs are sampled by their runtimes",
			    h->java_programs);
	if (h->programs != c->heap_programs_said)
		log_verbose("allocations of %u programs with the memory library are sampled",
			    h->programs);
	if (*h->problem && !c->heap_problem_said)
		log_info("memory is missing of a program, or more: %s", h->problem);
	if (*h->lock_problem && !c->lock_problem_said)
		log_info("waits for mutexes are missing of a program, or more: %s",
			 h->lock_problem);
	c->lock_problem_said |= *h->lock_problem != '\0';
	c->go_programs_said = h->go_programs;
	c->java_programs_said = h->java_programs;
	c->heap_programs_said = h->programs;
	c->heap_problem_said |= *h->problem != '\0';
}

/* Call before the samples are taken out: they show which threads were busy. */
static void take_host(struct collecting *c, const struct wire_batch *head)
{
	uint64_t lost[LOSS_REASONS];
	struct host_interval interval = {
		.start_wall_ns = head->start_wall_ns,
		.duration_ns = head->duration_ns,
		.now_wall_ns = (int64_t)clock_mono_ns() + c->wall.ahead_ns,
		.samples = c->profile,
		.lost = lost,
		.gpu_probes = &c->gpu_probes,
		.gpu_time = &c->gpu_time,
		.gpu_attach = attaching_counts(c->attaching[UP_ATTACH_GPU]),
		.mem_attach = attaching_counts(c->attaching[UP_ATTACH_MEM])
	};
	struct buf otlp = { 0 };

	struct collect_stats stats;

	interval.n_missing = collect_get_missing(c->collector, &interval.missing);
	collect_get_stats(c->collector, &stats);
	interval.workers = &stats.workers;
	interval.reads = &stats.reads;
	interval.kernel_ring_bytes = stats.ring_bytes;
	const struct host_cut_stacks cut = { stats.ends, stats.raw_no_room, stats.raw_no_time };
	interval.cut_stacks = &cut;
	interval.wait_share = stats.wait_hook ? stats.wait_share : 0;
	interval.kernel_map_bytes = stats.kernel_map_bytes > stats.ring_bytes
					    ? stats.kernel_map_bytes - stats.ring_bytes
					    : 0;
	for (int i = 0; i < LOSS_REASONS; i++)
		lost[i] = c->lost_ever[i] + c->profile->meta.loss[i];
	collect_get_gpu_stats(c->collector, &c->gpu_probes, &c->gpu_time);
	host_metrics_take(c->host, &interval, &otlp);
	outbox_set_metrics(&c->outbox, &otlp);
	say_gpus(c);
	say_probes(c);
	say_gpu_programs(c);
	say_heaps(c, &stats.heap);
}

static void make_batch(struct collecting *c, uint64_t now_ns, bool is_last)
{
	struct wire_batch head = {
		.start_mono_ns = c->cut_ns,
		.start_wall_ns = (int64_t)c->cut_ns + c->wall.ahead_ns,
		.duration_ns = now_ns - c->cut_ns,
		.is_last = is_last,
	};

	c->cut_ns = now_ns;
	c->has_batch = true;
	take_host(c, &head);
	take_losses(c, outbox_add(&c->outbox, &head));
}

static int file_of(void *ctx, uint32_t mapping)
{
	struct collecting *c = ctx;

	return collect_file(c->collector, mapping);
}

static uint64_t dictionary_bytes(const struct collecting *c)
{
	return c->profile->sink.ops->kept_bytes(&c->profile->sink);
}

/* Call right after a batch was made. */
static int renew_dictionary(struct collecting *c, struct err *err)
{
	log_verbose("a new dictionary, after %llu KiB",
		    (unsigned long long)dictionary_bytes(c) >> 10);
	struct profile *old = c->profile;
	struct profile_copy copy;

	c->profile = new_profile(c);
	profile_copy_init(&copy, old, c->profile);
	int rc = collect_set_sink(c->collector, profile_sink(c->profile), &copy, err);
	profile_copy_done(&copy);
	take_dropped(c, outbox_set_profile(&c->outbox, c->profile));
	if (2 * dictionary_bytes(c) > DICTIONARY_BYTES)
		c->most_dictionary_bytes = 2 * dictionary_bytes(c);
	return rc;
}

/* Tells the collector which GPUs exist. */
static void name_gpus(struct collecting *c)
{
	struct gpu_machine machine = { 0 };

	c->has_gpus = host_metrics_gpus(c->host, &machine);
	if (c->has_gpus)
		collect_gpu_named(c->collector, &machine);
	vec_done(&machine.devices);
}

/* Logs the first time at info level; a machine may switch all day. */
static void say_windows(struct collecting *c)
{
	struct collect_stats stats;

	collect_get_stats(c->collector, &stats);
	bool is_thin = stats.wait_share < 1;
	if (is_thin && !c->is_thin && !c->thin_said)
		log_info("tracing each switch would take %.1f %% of a CPU: waits are recorded in "
			 "windows, %.1f %% of the time now, and are estimates (--wait-budget)",
			 100 * stats.wait_load, 100 * stats.wait_share);
	else if (is_thin != c->is_thin)
		log_verbose("waits are recorded %.1f %% of the time", 100 * stats.wait_share);
	c->is_thin = is_thin;
	c->thin_said |= is_thin;
	if (stats.wait_turns > 1 && !c->turns_said)
		log_info("too many waiting threads: a pending wait is recorded in one of %" PRIu32
			 " intervals",
			 stats.wait_turns);
	c->turns_said |= stats.wait_turns > 1;
	if (stats.fault_pauses && !c->pauses_said)
		log_info("watching all page faults would cost too much: they are watched a part of "
			 "the time, the rest is [not watched]");
	c->pauses_said |= stats.fault_pauses > 0;
}

static int end_interval(struct collecting *c, uint64_t now_ns, int64_t offset_ns, struct err *err)
{
	name_gpus(c);
	collect_gpu_update(c->collector, host_metrics_update(c->host));
	int rc = collect_cut(c->collector, err);

	if (rc)
		return rc;
	say_missing(c);
	say_windows(c);
	say_workers(c);
	bool renew = dictionary_bytes(c) >= c->most_dictionary_bytes ||
		     now_ns >= c->begun_ns + DICTIONARY_AGE_NS;
	if (renew) /* pending events cannot move to the new dictionary */
		collect_settle(c->collector, SETTLE_MS);
	collect_name_kernel(c->collector);
	make_batch(c, now_ns, false);
	wall_follow(&c->wall, offset_ns);
	return renew ? renew_dictionary(c, err) : 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int hear(struct collecting *c, struct err *err)
{
	enum control what;
	int fd, rc = 0;

	while (!rc && (what = control_receive(c->control, &fd)) != CONTROL_NOTHING) {
		if (what == CONTROL_STREAM) {
			outbox_connect(&c->outbox, fd);
			rc = collect_watch_news(c->collector, fd, err);
		} else if (what == CONTROL_TOKEN) {
			close(fd);
		} else if (what == CONTROL_STOP || what == CONTROL_GONE) {
			c->is_over = true;
		}
		if (what == CONTROL_GONE)
			break;
	}
	outbox_run(&c->outbox, clock_mono_ns(), file_of, c);
	return rc;
}

static bool waits_for_turn(const struct collecting *c)
{
	return stream_has_more(&c->outbox.stream) || outbox_is_behind(&c->outbox);
}

/* The first interval is short, so that there is something to see soon. */
static uint64_t interval_end_ns(const struct collecting *c)
{
	uint64_t length_ns = c->opts->interval_ns;

	if (!c->has_batch && length_ns > FIRST_INTERVAL_NS)
		length_ns = FIRST_INTERVAL_NS;
	return c->cut_ns + length_ns;
}

/* Time to wait, at most until the interval ends. */
static int wait_ms(const struct collecting *c)
{
	int64_t left_ns = (int64_t)(interval_end_ns(c) - clock_mono_ns());
	int most_ms = waits_for_turn(c) ? SEND_MS : POLL_MS;

	return left_ns <= 0                    ? 0
	       : left_ns < most_ms * 1000000ll ? (int)(left_ns / 1000000) + 1
					       : most_ms;
}

static int collect(struct collecting *c, struct err *err)
{
	int rc = 0;

	while (!rc && !c->is_over) {
		rc = collect_run(c->collector, wait_ms(c), err);
		uint64_t now_ns = clock_mono_ns();
		int64_t offset_ns = clock_wall_offset_ns();
		if (c->has_batch)
			health_note(c->health, now_ns);
		host_metrics_look(c->host, now_ns);
		if (!c->has_gpus)
			name_gpus(c);
		for (int i = 0; i < UP_ATTACHES; i++)
			attaching_run(c->attaching[i], c->collector, now_ns);
		bool is_over = now_ns >= interval_end_ns(c);
		if (!rc && (is_over || wall_jumps(&c->wall, offset_ns)))
			rc = end_interval(c, now_ns, offset_ns, err);
		if (!rc)
			rc = hear(c, err);
	}
	return rc;
}

static void wait_for_answers(struct collecting *c)
{
	struct stream *s = &c->outbox.stream;
	bool is_behind = outbox_is_behind(&c->outbox);
	struct pollfd stream = {
		.fd = s->fd, .events = (is_behind ? 0 : POLLIN) | (stream_has_more(s) ? POLLOUT : 0)
	};

	poll(&stream, 1, is_behind ? SEND_MS : STOP_MS);
	outbox_run(&c->outbox, clock_mono_ns(), file_of, c);
}

/* Makes the last batch and waits until it is stored and its new frames are named. */
static int finish(struct collecting *c, struct err *err)
{
	uint64_t stop_ns = clock_mono_ns();

	collect_gpu_update(c->collector, host_metrics_update(c->host));
	int rc = collect_stop(c->collector, err);
	collect_settle(c->collector, LAST_SETTLE_MS);
	uint64_t now_ns = clock_mono_ns();
	struct collect_stats stats;

	collect_name_kernel(c->collector);
	make_batch(c, now_ns, true);
	while (now_ns < stop_ns + STOP_NS && stream_is_open(&c->outbox.stream) &&
	       (!outbox_is_empty(&c->outbox) ||
		(!outbox_is_idle(&c->outbox) && now_ns < stop_ns + STOP_NAMES_NS))) {
		wait_for_answers(c);
		now_ns = clock_mono_ns();
	}
	collect_get_stats(c->collector, &stats);
	log_verbose("kernel symbols took %llu ms of CPU time and were read %llu times",
		    (unsigned long long)stats.kernel_names_ns / 1000000,
		    (unsigned long long)stats.kernel_symbols_read);
	log_verbose("unwind tables from disk: %" PRIu64 "; damaged, and built again: %" PRIu64,
		    stats.tables_loaded, stats.tables_damaged);
	uint64_t lost = outbox_drop(&c->outbox);
	if (lost && c->outbox.next_sequence > 1) /* else none was ever connected */
		log_warn("%llu samples not stored: not acknowledged by the store process",
			 (unsigned long long)lost);
	return rc;
}

static int start(struct collecting *c, struct err *err)
{
	struct collect_opts opts = c->opts->collect;

	opts.resolve.keep_kernel_names = true; /* a batch contains its kernel names */
	opts.sampler.waits.cut_every_ns = c->opts->interval_ns;
	for (int i = 0; i < UP_ATTACHES; i++)
		attaching_hook(c->attaching[i], &opts);
	int rc = collect_open(&opts, profile_sink(c->profile), &c->collector, err);

	if (!rc)
		say_missing(c);
	if (!rc)
		rc = collect_start(c->collector, err);
	if (!rc)
		rc = collect_watch(c->collector, c->control, err);
	for (int i = 0; i < UP_ATTACHES && !rc; i++)
		rc = attaching_watch(c->attaching[i], c->collector, err);
	if (!rc)
		control_send(c->control, CONTROL_READY, -1);
	c->cut_ns = clock_mono_ns();
	c->wall.ahead_ns = clock_wall_offset_ns();
	return rc;
}

int collector_main(const struct up_opts *opts, const struct up_shared *shared, int control)
{
	struct collecting c = { .opts = opts, .control = control, .health = shared->health };
	struct err err = { 0 };

	int rc = own_args_hide();
	if (rc)
		log_verbose("others can see the collector's command line: %s", strerror(-rc));
	for (int i = 0; i < UP_ATTACHES; i++)
		c.attaching[i] = attaching_new(&opts->attach[i]);
	c.profile = new_profile(&c);
	c.host = host_metrics_new(&opts->collect.resolve.series, opts->collect.gpu.script);
	outbox_init(&c.outbox, c.profile, OUTBOX_MAX_BYTES);
	rc = start(&c, &err);
	if (!rc)
		rc = collect(&c, &err);
	if (rc)
		log_error(&err);
	if (!rc || rc == -ECHILD) /* what was collected is good */
		finish(&c, &err);
	collect_free(c.collector);
	for (int i = 0; i < UP_ATTACHES; i++)
		attaching_free(c.attaching[i]);
	host_metrics_free(c.host);
	outbox_done(&c.outbox);
	return rc;
}
