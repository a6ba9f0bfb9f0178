/* What this machine does now, from a collector in this process.
 *
 * The collector writes into a profile that retains HISTORY_NS of samples: older ones are removed
 * once they are as many as the others. In the meantime its dictionary grows; when it is large, the
 * part still needed goes into a new one. While the feed is held, the profile does not change, and
 * another one takes new samples. */
#include "agent/name_requests.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/vec.h"
#include "cmd/doctor/doctor.h"
#include "cmd/files/kernel.h"
#include "cmd/files/names_env.h"
#include "cmd/gpu/gpu_setup.h"
#include "cmd/top/top.h"
#include "collect/collect.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/process/elf_names.h"
#include "collect/process/symbolize.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/tree/select.h"
#include "query/source.h"
#include "tui/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* --- CPU use, from /proc/stat (proc(5)) --- */

struct cpu_ticks {
	uint64_t user, sys, wait, idle;
};
struct top_cpus {
	VEC(struct cpu_ticks) last;  /* by CPU */
	VEC(struct feed_cpu) shares; /* since the previous look */
	struct buf text;
};

enum { STAT_MAX_BYTES = 1 << 20, CPUS_MAX = 8192 };

static void top_cpus_done(struct top_cpus *c)
{
	vec_done(&c->last);
	vec_done(&c->shares);
	buf_done(&c->text);
}

static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0; /* the kernel's idle times may decrease */
}

static void put_cpu(struct top_cpus *c, uint32_t cpu, const struct cpu_ticks *now)
{
	while (c->last.n <= cpu) {
		vec_push(&c->last, (struct cpu_ticks){ 0 });
		vec_push(&c->shares, (struct feed_cpu){ 0 });
	}
	struct cpu_ticks *last = &c->last.v[cpu];
	uint64_t user = growth(now->user, last->user), sys = growth(now->sys, last->sys);
	uint64_t wait = growth(now->wait, last->wait), idle = growth(now->idle, last->idle);
	float all = (float)(user + sys + wait + idle);
	bool is_first = !last->user && !last->sys && !last->idle;
	c->shares.v[cpu] = (struct feed_cpu){ 0 };
	if (all > 0 && !is_first)
		c->shares.v[cpu] =
			(struct feed_cpu){ (float)user / all, (float)sys / all, (float)wait / all };
	*last = *now;
}

/* stat: the file's text */
static void top_cpus_put(struct top_cpus *c, const char *stat)
{
	for (const char *line = stat; line && *line; line = strchr(line, '\n')) {
		unsigned cpu;
		unsigned long long user, nice, sys, idle, wait, irq, soft, steal;
		line += *line == '\n';
		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user,
			   &nice, &sys, &idle, &wait, &irq, &soft, &steal) == 9 &&
		    cpu < CPUS_MAX)
			put_cpu(c, cpu,
				&(struct cpu_ticks){ user + nice, sys + irq + soft, wait,
						     idle + steal });
		else if (strncmp(line, "intr", 4) == 0)
			return; /* the rest is long and not needed */
	}
}

/* Computes the use since the previous look; all 0 for a new CPU. The lines of CPUs are first, so
 * the start of a long file is enough. */
static void top_cpus_look(struct top_cpus *c)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	if (fd < 0)
		return;
	buf_clear(&c->text);
	do {
		buf_reserve(&c->text, 16 << 10);
		n = read(fd, c->text.data + c->text.len, 16 << 10);
		c->text.len += n > 0 ? (size_t)n : 0;
		buf_cstr(&c->text);
	} while (n > 0 && c->text.len < STAT_MAX_BYTES && !strstr(c->text.data, "\nintr"));
	close(fd);
	top_cpus_put(c, buf_cstr(&c->text));
}

/* --- the line about GPUs, if the machine has any --- */

struct top_gpus {
	struct gpu_watch *watch; /* NULL: none */
	struct gpu_now now;
};

static void top_gpus_init(struct top_gpus *g)
{
	g->watch = gpu_watch_start(&(struct gpu_watch_opts){ .source = gpu_env() });
}

static void top_gpus_done(struct top_gpus *g)
{
	gpu_watch_stop(g->watch);
	gpu_now_done(&g->now);
}

/* Sets out to "" if none exists. */
static void top_gpus_look(struct top_gpus *g, char *out, size_t size)
{
	struct buf b = { 0 };

	if (g->watch)
		gpu_now_take(&g->now, g->watch);
	for (uint32_t i = 0; i < g->now.machine.devices.n; i++) {
		if (g->now.machine.devices.v[i].is_instance)
			continue;
		buf_addf(&b, "%sGPU %s: ", b.len ? "   " : "", g->now.machine.devices.v[i].label);
		gpu_now_words(&g->now, i, &b);
	}
	if (g->now.status.hangs_ns)
		buf_adds(&b, b.len ? "   (the driver does not respond)" : "");
	snprintf(out, size, "%s", buf_cstr(&b));
	buf_done(&b);
}

/* --- names for frames ------------------------------------------------------------------------- */

/* Names frames as soon as they are seen. A recording is named once, at its end; here new frames
 * come all the time, each a few addresses of files seen before. So files stay open, and a name
 * costs a look-up. */

enum { TOP_NAMES_OPEN = 64 }; /* open files; the least recently used one is closed */

struct top_names_file {
	uint64_t key; /* the same in every profile */
	int fd;       /* -1: it has no names */
	struct elf_names *names;
	uint64_t used; /* turn of its last use */
};
struct top_names_want { /* frames of a mapping to name */
	uint32_t mapping;
	struct map frames; /* offset → frame */
};
struct top_names {
	struct name_files files;
	VEC(struct top_names_file) open;
	VEC(struct top_names_want) wants;
	uint32_t seen_frames; /* of the current profile */
	uint64_t turn;
};

/* Only files of this machine are used: no server is queried, as nobody waits for one. */
static void top_names_init(struct top_names *n, const struct name_files_opts *opts)
{
	struct name_files_opts local = *opts;
	*n = (struct top_names){ 0 };
	local.debuginfod.urls = NULL;
	name_files_open(&n->files, &local);
}

/* Starts with another profile. */
static void top_names_begin(struct top_names *n)
{
	for (size_t i = 0; i < n->wants.n; i++)
		map_done(&n->wants.v[i].frames);
	vec_clear(&n->wants);
	n->seen_frames = 0;
}

static void close_file(struct top_names_file *f)
{
	if (f->names) {
		elf_names_close(f->names);
		free(f->names);
	}
	if (f->fd >= 0)
		close(f->fd);
}

static void top_names_done(struct top_names *n)
{
	top_names_begin(n);
	for (size_t i = 0; i < n->open.n; i++)
		close_file(&n->open.v[i]);
	vec_done(&n->open);
	vec_done(&n->wants);
	name_files_close(&n->files);
}

static struct top_names_want *want_of(struct top_names *n, uint32_t mapping)
{
	for (size_t i = 0; i < n->wants.n; i++)
		if (n->wants.v[i].mapping == mapping)
			return &n->wants.v[i];
	vec_push(&n->wants, (struct top_names_want){ .mapping = mapping });
	return &n->wants.v[n->wants.n - 1];
}

static struct top_names_file *oldest(struct top_names *n)
{
	struct top_names_file *oldest = &n->open.v[0];
	for (size_t i = 1; i < n->open.n; i++)
		if (n->open.v[i].used < oldest->used)
			oldest = &n->open.v[i];
	return oldest;
}

static struct top_names_file open_file(struct top_names *n, struct collector *c,
				       const struct profile *p, uint32_t mapping)
{
	struct top_names_file f = { .key = name_mapping_key(p, mapping), .fd = -1 };
	int fd = collect_file(c, mapping);
	const char *path = profile_str(p, p->frames.mappings.v[mapping].name);
	/* A copy: the collector closes its own when it has too many. */
	f.fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (f.fd < 0)
		return f;
	f.names = xcalloc(1, sizeof *f.names);
	if (elf_names_open(f.names, &n->files, f.fd, path, 0) != 0) {
		free(f.names);
		f.names = NULL;
	}
	return f;
}

static struct top_names_file *file_of(struct top_names *n, struct collector *c,
				      const struct profile *p, uint32_t mapping)
{
	uint64_t key = name_mapping_key(p, mapping);
	for (size_t i = 0; i < n->open.n; i++)
		if (n->open.v[i].key == key)
			return &n->open.v[i];
	struct top_names_file f = open_file(n, c, p, mapping);
	if (n->open.n < TOP_NAMES_OPEN) {
		vec_push(&n->open, f);
		return &n->open.v[n->open.n - 1];
	}
	struct top_names_file *place = oldest(n);
	close_file(place);
	*place = f;
	return place;
}

/* Symbolizes new frames of p until the deadline (CLOCK_MONOTONIC); the next call does the rest. */
static void top_names_run(struct top_names *n, struct collector *c, struct profile *p,
			  uint64_t until_ns)
{
	struct map nothing = { 0 };
	struct symbolize s = { .sink = profile_sink(p), .leaf_samples = &nothing };
	const struct line *lines;
	for (; n->seen_frames < p->frames.frames.n; n->seen_frames++) {
		const struct frame *f = &p->frames.frames.v[n->seen_frames];
		if (f->kind == FRAME_NATIVE && f->mapping != MAPPING_NONE &&
		    !names_get(&p->names, n->seen_frames, &lines))
			map_put(&want_of(n, f->mapping)->frames, f->offset, n->seen_frames);
	}
	for (size_t i = 0; i < n->wants.n; i++) {
		struct top_names_want *w = &n->wants.v[i];
		if (!w->frames.n)
			continue;
		if (clock_mono_ns() >= until_ns)
			return;
		struct top_names_file *f = file_of(n, c, p, w->mapping);
		f->used = ++n->turn;
		if (f->names)
			symbolize_frames(&s, f->names->source, w->mapping, &w->frames);
		map_done(&w->frames);
	}
}

/* --- collected data --------------------------------------------------------------------------- */

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
	struct profile *profile; /* that samples go into */
	struct profile *held;    /* the one on display, if it is another one; NULL */
	struct source *source;   /* of the one on display; NULL: not made yet */
	size_t source_rows;
	struct top_names names;
	struct top_cpus cpus;
	struct top_gpus gpus;
	struct collect_stats stats;
	uint64_t cut_due_ns; /* when to query all threads again */
	bool is_once;        /* there is only one graph: it waits for its names */
	uint64_t window_ns, last_take_ns, last_cpu_ns, last_bpf_ns;
	uint64_t opened_ns;
	uint64_t start_ns; /* of the current profile */
	int64_t shift_ns;  /* from CLOCK_MONOTONIC to Unix time; constant */
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

/* Collects samples into p from here on. */
static int set_profile(struct live_feed *f, struct profile *p, struct err *err)
{
	describe(f, p);
	f->profile = p;
	top_names_begin(&f->names);
	return collect_set_sink(f->collector, profile_sink(p), NULL, err);
}

static void drop_old(struct live_feed *f, int64_t keep_from_ns)
{
	const struct sample_columns *c = &f->profile->samples;
	size_t old = 0;
	bool *keep = xcalloc(c->n + 1, sizeof *keep);
	for (size_t i = 0; i < c->n; i++) {
		keep[i] = c->time_ns[i] + sample_length_ns(c, i) >= keep_from_ns;
		old += !keep[i];
	}
	if (old > c->n / 2)
		profile_keep_samples(f->profile, keep);
	free(keep);
}

/* Copies the part still in use into a new dictionary. */
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
	uint64_t cpu_ns = collect_cpu_ns(f->collector);
	double span = (double)(now_ns - f->last_take_ns);
	out->own_cpu = f->last_take_ns && span > 0 ? (double)(cpu_ns - f->last_cpu_ns) / span : -1;
	/* Counted only while kernel.bpf_stats_enabled is set. */
	out->bpf_cpu = f->last_bpf_ns && f->stats.bpf_ns > f->last_bpf_ns
			       ? (double)(f->stats.bpf_ns - f->last_bpf_ns) / span
			       : -1;
	f->last_cpu_ns = cpu_ns;
	f->last_bpf_ns = f->stats.bpf_ns;
	f->last_take_ns = now_ns;
}

/* Asking all threads how long they have waited may take long. Then it is done less often, so that
 * it costs 1 % of a CPU. */
static int catch_up(struct live_feed *f, bool with_waits, struct err *err)
{
	uint64_t begin_cpu_ns = collect_cpu_ns(f->collector);
	if (!with_waits || clock_mono_ns() < f->cut_due_ns)
		return collect_catch_up(f->collector, err);
	int rc = collect_cut(f->collector, err);
	uint64_t wait_ns = (collect_cpu_ns(f->collector) - begin_cpu_ns) * CUT_WAIT_PER_COST;
	f->cut_due_ns = clock_mono_ns() + (wait_ns < f->window_ns / 2 ? wait_ns : f->window_ns / 2);
	return rc;
}

/* Only at first: the line has other uses. */
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
	if (!f->held) { /* the profile changes now; a held one stays valid */
		source_close(f->source);
		f->source = NULL;
	}
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
				   .rate_hz = f->collect.sampler.freq_hz,
				   .samples = f->stats.samples,
				   .lost = f->stats.lost };
	top_gpus_look(&f->gpus, out->gpus, sizeof out->gpus);
	if (collect_targets_gone(f->collector))
		snprintf(out->note, sizeof out->note, "All recorded processes have ended.");
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

/* Continues with another profile, so that the one on display does not change. */
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
	f->collect.sampler.target = TARGET_PID;
	f->collect.sampler.ids = ids;
	f->collect.sampler.n_ids = o->pids.n;
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
	f->collect = o->collect;
	f->collect.sampler.events = COLLECT_CPU | (o->no_waits ? 0 : COLLECT_OFF_CPU);
	f->collect.sampler.waits =
		(struct wait_opts){ .min_block_ns = WAIT_MIN_BLOCK_NS, .wakers = !o->no_waits };
	f->collect.resolve.keep_kernel_names = true;
	f->window_ns = o->window_ns;
	f->is_once = o->once;
	names_env(&line->arena, &f->collect.resolve.names);
	f->collect.resolve.names.debuginfod.urls = NULL;
	f->collect.cache_root = f->collect.resolve.names.cache_dir;
	top_names_init(&f->names, &f->collect.resolve.names);
	int status = kernel_finalize(&f->collect.sampler.kernel);
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
