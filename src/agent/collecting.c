/* The collector process. */
#include "agent/attaching.h"
#include "agent/control.h"
#include "agent/outbox.h"
#include "agent/up.h"
#include "agent/wall.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/host_metrics.h"
#include "collect/missing.h"
#include "profile/profile.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	OUTBOX_MAX_BYTES = 4 << 20, /* of samples that wait: minutes of a busy machine */
	POLL_MS = 250,
	SEND_MS = 10,          /* while the other side is slow to read, or says too much */
	STOP_MS = 100,         /* at the end */
	SETTLE_MS = 200,       /* for names of code made at run time, before a new dictionary … */
	LAST_SETTLE_MS = 1000, /* … and at the end */
};
/* A dictionary is exchanged for an empty one when it is that large or old. */
#define DICTIONARY_BYTES  (2ull << 20)
#define DICTIONARY_AGE_NS 3600000000000ull
#define LOSSES_SAID_NS    60000000000ull
/* The whole stop is to take less than 5 s. */
#define STOP_NAMES_NS     1500000000ull
#define STOP_NS           3500000000ull

struct collecting {
	const struct up_opts *opts;
	int control;
	struct collector *collector;
	struct profile *profile;
	struct outbox outbox;
	struct host_metrics *host;
	struct attaching *attaching; /* NULL: nobody is attached to */
	uint64_t begun_ns, cut_ns;   /* of the dictionary; of the interval */
	struct wall wall;
	uint64_t lost[LOSS_REASONS], losses_said_ns; /* and not said yet */
	uint64_t lost_ever[LOSS_REASONS];
	uint64_t left_out; /* samples, since the start */
	enum gpu_state gpu_said;
	bool has_gpus;  /* which GPUs there are is known */
	bool gpu_hangs; /* and that was said */
	struct gpu_probes_stats gpu_probes;
	struct gpu_time_stats gpu_time;
	uint32_t gpu_files_said, gpu_programs_said, gpu_problems_said;
	size_t missing_said;
	bool full_said;
	bool is_over;
};

static struct profile *new_profile(struct collecting *c)
{
	c->begun_ns = clock_mono_ns();
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

/* What somebody asked for is no loss, and is said less often. */
static void say_left_out(struct collecting *c, uint64_t dropped)
{
	bool is_first = dropped && !c->left_out;

	c->left_out += dropped;
	if (is_first)
		log_info("samples are left out by --only, --exclude or relabel rules: %llu in the "
			 "first interval that had any",
			 (unsigned long long)dropped);
	else if (dropped)
		log_verbose("samples left out: %llu so far", (unsigned long long)c->left_out);
}

/* By the queue to the store, whose metrics say so an interval later. */
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
	c->lost[LOSS_LEFT_OUT] = 0; /* asked for */
	take_dropped(c, dropped);
	say_losses(c, c->cut_ns);
}

/* --- what is missing ---------------------------------------------------------------------------- */

/* Each once, also what turns out to be missing later: the log is not read again and again. */
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

/* --- an interval ------------------------------------------------------------------------------ */

/* Once for each change; a machine without GPUs is nothing to talk about. */
static void say_gpus(struct collecting *c)
{
	const struct gpu_status s = host_metrics_gpu(c->host);

	if (s.hangs_ns && !c->gpu_hangs)
		log_warn("the GPU driver does not answer: no metrics of GPUs until it does");
	else if (!s.hangs_ns && c->gpu_hangs)
		log_info("the GPU driver answers again");
	c->gpu_hangs = s.hangs_ns > 0;
	if (s.state == c->gpu_said)
		return;
	if (s.state == GPU_FAILED)
		log_warn("no metrics of GPUs: %s", s.words);
	else if (s.state == GPU_ABSENT)
		log_verbose("no GPUs: %s", s.words);
	else if (s.state == GPU_WORKS)
		log_verbose("metrics of GPUs, through %s", s.backend);
	c->gpu_said = s.state;
}

/* What comes new, and what is wrong with a program: that is said once by who watches it. */
static void say_gpu_programs(struct collecting *c)
{
	const struct gpu_time_stats *t = &c->gpu_time;

	if (c->gpu_probes.files != c->gpu_files_said)
		log_verbose("calls of %u libraries of GPUs are seen", c->gpu_probes.files);
	if (t->programs != c->gpu_programs_said)
		log_verbose("GPU time of %u program%s is watched", t->watching,
			    t->watching == 1 ? "" : "s");
	for (uint32_t i = c->gpu_problems_said; i < t->problems; i++)
		if (i + GPU_TIME_RECENT >= t->problems)
			log_warn("no GPU time of a program: %s", t->recent[i % GPU_TIME_RECENT]);
	c->gpu_files_said = c->gpu_probes.files;
	c->gpu_programs_said = t->programs;
	c->gpu_problems_said = t->problems;
}

/* Before the samples are taken out: they say who was busy. */
static void take_host(struct collecting *c, const struct wire_batch *head)
{
	uint64_t lost[LOSS_REASONS];
	struct host_interval interval = { .start_wall_ns = head->start_wall_ns,
					  .duration_ns = head->duration_ns,
					  .now_wall_ns =
						  (int64_t)clock_mono_ns() + c->wall.ahead_ns,
					  .samples = c->profile,
					  .lost = lost,
					  .gpu_probes = &c->gpu_probes,
					  .gpu_time = &c->gpu_time,
					  .gpu_attach = attaching_counts(c->attaching) };
	struct buf otlp = { 0 };

	struct collect_stats stats;

	interval.n_missing = collect_get_missing(c->collector, &interval.missing);
	collect_get_stats(c->collector, &stats);
	interval.kernel_ring_bytes = stats.ring_bytes;
	interval.kernel_map_bytes = stats.kernel_map_bytes > stats.ring_bytes
					    ? stats.kernel_map_bytes - stats.ring_bytes
					    : 0;
	for (int i = 0; i < LOSS_REASONS; i++)
		lost[i] = c->lost_ever[i] + c->profile->meta.loss[i];
	collect_get_gpu_stats(c->collector, &c->gpu_probes, &c->gpu_time);
	host_metrics_take(c->host, &interval, &otlp);
	outbox_set_metrics(&c->outbox, &otlp);
	say_gpus(c);
	say_gpu_programs(c);
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

/* Right after a batch was made. */
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
	return rc;
}

/* Which GPUs there are. */
static void name_gpus(struct collecting *c)
{
	struct gpu_machine machine = { 0 };

	c->has_gpus = host_metrics_gpus(c->host, &machine);
	if (c->has_gpus)
		collect_gpu_named(c->collector, &machine);
	vec_done(&machine.devices);
}

static int end_interval(struct collecting *c, uint64_t now_ns, int64_t offset_ns, struct err *err)
{
	name_gpus(c);
	collect_gpu_told(c->collector, host_metrics_told(c->host));
	int rc = collect_cut(c->collector, err);

	if (rc)
		return rc;
	say_missing(c);
	bool renew = dictionary_bytes(c) >= DICTIONARY_BYTES ||
		     now_ns >= c->begun_ns + DICTIONARY_AGE_NS;
	if (renew) /* nothing that is held can go along */
		collect_settle(c->collector, SETTLE_MS);
	collect_name_kernel(c->collector);
	make_batch(c, now_ns, false);
	wall_follow(&c->wall, offset_ns);
	return renew ? renew_dictionary(c, err) : 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int connect_to(struct collecting *c, int fd, struct err *err)
{
	outbox_connect(&c->outbox, fd);
	return collect_watch_news(c->collector, fd, err);
}

static int hear(struct collecting *c, struct err *err)
{
	enum control what;
	int fd, rc = 0;

	while (!rc && (what = control_receive(c->control, &fd)) != CONTROL_NOTHING) {
		if (what == CONTROL_STREAM)
			rc = connect_to(c, fd, err);
		else if (what == CONTROL_TOKEN)
			close(fd);
		else if (what == CONTROL_STOP || what == CONTROL_GONE)
			c->is_over = true;
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

static int collect(struct collecting *c, struct err *err)
{
	int rc = 0;

	while (!rc && !c->is_over) {
		rc = collect_run(c->collector, waits_for_turn(c) ? SEND_MS : POLL_MS, err);
		uint64_t now_ns = clock_mono_ns();
		int64_t offset_ns = clock_wall_offset_ns();
		host_metrics_look(c->host, now_ns);
		if (!c->has_gpus)
			name_gpus(c);
		attaching_run(c->attaching, c->collector, now_ns);
		bool is_over = now_ns >= c->cut_ns + c->opts->interval_ns;
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

static void say_names(struct collecting *c)
{
	struct collect_stats stats;

	collect_get_stats(c->collector, &stats);
	log_verbose(
		"names of the kernel took %llu ms of CPU time; its symbols were read %llu times",
		(unsigned long long)stats.kernel_names_ns / 1000000,
		(unsigned long long)stats.kernel_symbols_read);
}

/* The last batch is taken, and what is new in it is named. */
static int finish(struct collecting *c, struct err *err)
{
	collect_gpu_told(c->collector, host_metrics_told(c->host));
	int rc = collect_stop(c->collector, err);
	collect_settle(c->collector, LAST_SETTLE_MS);
	uint64_t now_ns = clock_mono_ns(), stop_ns = now_ns;

	collect_name_kernel(c->collector);
	make_batch(c, now_ns, true);
	while (now_ns < stop_ns + STOP_NS && stream_is_open(&c->outbox.stream) &&
	       (!outbox_is_empty(&c->outbox) ||
		(!outbox_is_idle(&c->outbox) && now_ns < stop_ns + STOP_NAMES_NS))) {
		wait_for_answers(c);
		now_ns = clock_mono_ns();
	}
	say_names(c);
	uint64_t lost = outbox_drop(&c->outbox);
	if (lost && c->outbox.next_sequence > 1) /* else there never was one */
		log_warn("%llu samples were not stored: the store process did not take them",
			 (unsigned long long)lost);
	return rc;
}

static int start(struct collecting *c, struct err *err)
{
	struct collect_opts opts = c->opts->collect;

	opts.keep_kernel_names = true; /* a batch goes with its kernel names */
	attaching_hook(c->attaching, &opts);
	int rc = collect_open(&opts, profile_sink(c->profile), &c->collector, err);

	if (!rc)
		say_missing(c);
	if (!rc)
		rc = collect_start(c->collector, err);
	if (!rc)
		rc = collect_watch(c->collector, c->control, err);
	if (!rc)
		rc = attaching_watch(c->attaching, c->collector, err);
	if (!rc)
		control_send(c->control, CONTROL_READY, -1);
	c->cut_ns = clock_mono_ns();
	c->wall.ahead_ns = clock_wall_offset_ns();
	return rc;
}

int collecting_run(const struct up_opts *opts, struct name_guard *guard, int control)
{
	(void)guard; /* it names nothing */
	struct collecting c = { .opts = opts, .control = control };
	struct err err = { 0 };

	c.attaching = attaching_new(&opts->attach);
	c.profile = new_profile(&c);
	c.host = host_metrics_new(&opts->collect);
	outbox_init(&c.outbox, c.profile, OUTBOX_MAX_BYTES);
	int rc = start(&c, &err);
	if (!rc)
		rc = collect(&c, &err);
	if (rc)
		log_error(&err);
	else
		finish(&c, &err);
	collect_free(c.collector);
	attaching_free(c.attaching);
	host_metrics_free(c.host);
	outbox_done(&c.outbox);
	return rc;
}
