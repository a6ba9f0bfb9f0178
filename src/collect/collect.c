/* Opens the parts of the collector in order of their dependencies, and closes them in reverse. */
#include "collect/collect.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "collect/collect_state.h"
#include "collect/gpu/gpu_probes.h"
#include "collect/process/helper_end.h"
#include "collect/worker/helper.h"
#include "collect/worker/proc_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LARGE_BYTES = 128 << 10,       /* tables are built in buffers of this size */
	SIDE_RING_PAGES = 32,          /* two rings of 128 KiB per CPU: some 400 execs */
	SIDE_RING_PAGES_MANY_CPUS = 4, /* from 32 CPUs on */
	READ_EVERY_NS = 250000000,
	CPUS_EVERY_NS = 1000000000, /* how often CPUs are counted */
	/* A starting program maps its libraries one after the other. The reader, woken by the first
	 * mapping, opens its file and then waits for more: for a fraction of the sampling period,
	 * so that few samples are of unknown code. */
	SIDE_PAUSES_PER_PERIOD = 16,
	SIDE_PAUSE_MIN_NS = 200000, /* shorter ones, above 312 Hz, are not worth a timer */
	ANNOUNCE_NS = 20000000,     /* of processes, before sampling starts */
};

/* In always-on recordings the side band may use 1/300 of one CPU on average on machines of up to
 * SIDE_SMALL_CPUS, more on larger ones in proportion, and 2 s at once. Looking for places of probes
 * in a starting program counts, too. Records beyond that are dropped, which costs names and GPU
 * calls of programs that start just then. A recording with an end has no such limit. */
enum { SIDE_SHARE = 300, SIDE_SHARE_MOST = 10, SIDE_SMALL_CPUS = 16, SIDE_SAVED_NS = 2000000000 };

enum { TAG_SIDE = 1, TAG_RING = 2, TAG_TABLES = 3, TAG_OTHER = 4, TAG_PROGRAMS = 5 };

/* --- life ------------------------------------------------------------------------------------- */

/* Ids in the kernel's events are those of the first pid namespace; in another namespace they would
 * name other processes. */
static int check_pid_namespace(struct err *err)
{
	enum { FIRST_PID_NS_INO = 0xEFFFFFFC }; /* PROC_PID_INIT_INO of include/linux/proc_ns.h */
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || (uint32_t)st.st_ino == FIRST_PID_NS_INO)
		return 0;
	err_set(err, EOPNOTSUPP, "cannot watch this machine from inside a pid namespace");
	return err_hint(
		err, "run it in the host's pid namespace, for example:  docker run --pid=host …");
}

static int wait_for(struct collector *c, int fd, uint64_t tag, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = tag };

	if (fd >= 0 && epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return err_set(err, errno, "cannot wait for unwind tables: %s", strerror(errno));
	return 0;
}

/* Loads the programs; from then on opts.events are what the kernel accepted. */
static int open_sampler(struct collector *c, struct err *err)
{
	int rc = check_pid_namespace(err);

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0)
		return err_set(err, errno, "cannot create an epoll descriptor: %s",
			       strerror(errno));
	if (!rc)
		rc = sampler_open(&c->opts.sampler, c->epoll_fd, TAG_RING, &c->sampler, err);
	if (!rc)
		c->opts.sampler.events = sampler_events(c->sampler);
	return rc;
}

/* Each CPU takes some four descriptors, each watched file one; shells allow 1024. If the hard limit
 * is lower, takes what there is. */
static void raise_descriptor_limit(void)
{
	enum { FOR_A_CPU = 8, FOR_THE_REST = 4096 };
	rlim_t wanted = FOR_A_CPU * (rlim_t)sysconf(_SC_NPROCESSORS_CONF) + FOR_THE_REST;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_runtime(void *ctx, uint32_t pid)
{
	struct collector *c = ctx;

	program_news_urgent(c->programs, pid);
}

static int open_parts(struct collector *c, struct err *err)
{
	const struct sampler_opts *opts = &c->opts.sampler;
	int rc = open_sampler(c, err);

	if (rc)
		return rc;
	struct resolve_links resolve = {
		.sink = c->sink,
		.cache_root = c->opts.cache_root,
		.helper = c->helper,
		.reader = c->reader,
		.types = collect_types(opts, c->sink),
		.traced = sampler_traced_maps(c->sampler),
		.helper_frames = helper_max_frames(),
		.copy_again = sampler_copy_again,
		.copy_ctx = c->sampler,
		.choose_pages = sampler_choose_pages,
		.choose_ctx = c->sampler,
		.page_bits = sampler_page_bits(c->sampler),
		.on_runtime = on_runtime,
		.runtime_ctx = c,
	};
	struct space_maps maps;
	struct runtime_maps runtimes;
	uint32_t pages =
		sysconf(_SC_NPROCESSORS_ONLN) >= 32 ? SIDE_RING_PAGES_MANY_CPUS : SIDE_RING_PAGES;

	if (sampler_space_maps(c->sampler, &maps))
		resolve.space = &maps;
	if (resolve.space) {
		runtimes = sampler_runtime_maps(c->sampler);
		resolve.runtimes = &runtimes;
	}
	c->gpu = (struct collect_gpu){ .asked = opts,
				       .opts = &c->opts.gpu,
				       .helper = c->helper,
				       .reader = c->reader,
				       .sampler = c->sampler,
				       .order = &c->order };
	collect_gpu_hooks(&c->gpu, &resolve);
	collect_heap_hooks(&c->heap, &resolve, opts);
	c->resolver = c->gpu.resolver = resolver_new(&c->opts.resolve, opts, &resolve);
	rc = collect_gpu_open(&c->gpu, c->sink, &resolve.types.gpu, err);
	c->heap = (struct collect_heap){ .asked = opts,
					 .opts = &c->opts.heap,
					 .sampler = c->sampler,
					 .resolver = c->resolver,
					 .reader = c->reader,
					 .probes = c->gpu.probes };
	collect_heap_open(&c->heap);
	if (!rc)
		rc = wait_for(c, resolve_fd(c->resolver), TAG_TABLES, err);
	if (!rc)
		rc = sampler_watch_programs(c->sampler, c->epoll_fd, TAG_PROGRAMS, &c->programs,
					    err);
	if (!rc)
		rc = side_band_open(c->epoll_fd, TAG_SIDE, pages, &c->side, err);
	if (!rc && opts->target == TARGET_PID && !opts->wait_exec)
		for (size_t i = 0; i < opts->n_ids; i++)
			resolve_expect(c->resolver, opts->ids[i]);
	return rc;
}

static int64_t side_pause_ns(int64_t period_ns)
{
	int64_t pause_ns = period_ns / SIDE_PAUSES_PER_PERIOD;

	if (pause_ns < SIDE_PAUSE_MIN_NS)
		return 0;
	return pause_ns < COLLECT_PAUSE_MAX_NS ? pause_ns : COLLECT_PAUSE_MAX_NS;
}

static uint32_t side_share(const struct sampler_opts *opts)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!opts->is_always)
		return 1;
	if (cpus <= SIDE_SMALL_CPUS)
		return SIDE_SHARE;
	long share = SIDE_SHARE * SIDE_SMALL_CPUS / cpus;
	return share > SIDE_SHARE_MOST ? share : SIDE_SHARE_MOST;
}

/* Call before there is anything to inherit. */
static int start_helper(struct collector *c, struct err *err)
{
	int rc = helper_new(&c->helper);

	if (rc)
		return err_set(err, -rc, "cannot start the process that reads other processes: %s",
			       strerror(-rc));
	c->reader = proc_reader_new(c->helper);
	return 0;
}

/* An always-on collector starts again as a whole. */
static int check_helper(struct collector *c, struct err *err)
{
	if (helper_check(c->helper))
		return 0;
	if (c->opts.sampler.is_always)
		return err_set(err, ECHILD,
			       "cresset-nursery, which starts the reader processes, was killed; "
			       "restarting the collector");
	helper_renew(c->helper); /* if that fails, it is tried again */
	return 0;
}

int collect_open(const struct collect_opts *opts, struct sink *sink, struct collector **out,
		 struct err *err)
{
	struct collector *c = xcalloc(1, sizeof *c);
	int rc;

	if (opts->sampler.is_always)
		mem_give_back(LARGE_BYTES);
	else
		mem_retain();
	raise_descriptor_limit();
	c->sink = sink;
	c->opts = *opts;
	c->opts.sampler.kernel.types_cache = opts->cache_root;
	sampler_opts_settle(&c->opts.sampler);
	c->epoll_fd = -1;
	c->side_time = (struct allowance){ .share = side_share(&c->opts.sampler),
					   .most_ns = SIDE_SAVED_NS };
	c->side_pause_ns = side_pause_ns(1000000000ll / (int64_t)c->opts.sampler.freq_hz);
	rc = start_helper(c, err);
	if (!rc)
		rc = open_parts(c, err);
	if (rc)
		collect_free(c);
	else
		*out = c;
	return rc;
}

size_t collect_get_missing(struct collector *c, const struct collect_missing **out)
{
	const struct collect_missing *sampler;
	size_t n = sampler_get_missing(c->sampler, &sampler);
	const struct {
		enum collect_group group;
		const char *why; /* NULL: nothing */
	} later[] = {
		{ GROUP_GPU, c->gpu.probes ? gpu_probes_refused(c->gpu.probes) : NULL },
		{ GROUP_PYTHONS, resolve_runtime_refused(c->resolver) },
	};

	for (size_t i = 0; i < n; i++)
		c->missing[i] = sampler[i];
	for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
		if (!later[i].why)
			continue;
		c->missing[n].group = later[i].group;
		snprintf(c->missing[n].why, sizeof c->missing[n].why, "%s", later[i].why);
		n++;
	}
	*out = c->missing;
	return n;
}

uint32_t collect_events(const struct collector *c)
{
	return c->opts.sampler.events;
}

/* Sampling starts without waiting for the snapshot, which takes long on a busy machine; samples are
 * pending until it is there. The rings are read at the same time: they have space for few copies of
 * stacks, and once a process is announced, its samples need none. Running interpreters are
 * announced before, so that their first samples have their frames. On a busy machine each waits for
 * another process to read it: that takes a limited time. */
int collect_start(struct collector *c, struct err *err)
{
	uint64_t until_ns = clock_mono_ns() + ANNOUNCE_NS;

	if (c->opts.sampler.target == TARGET_ALL)
		resolve_expect_interpreters(c->resolver, until_ns);
	resolve_send(c->resolver, until_ns);
	c->started_ns = clock_mono_ns();
	int rc = sampler_start(c->sampler, err);
	if (rc)
		return rc;
	resolve_snapshot(c->resolver, collector_read_early, c);
	collect_gpu_start(&c->gpu);
	collect_heap_start(&c->heap);
	resolve_sync(c->resolver);
	return 0;
}

uint64_t collect_started_ns(const struct collector *c)
{
	return c->started_ns;
}

uint64_t collect_stopped_ns(const struct collector *c)
{
	return c->stopped_ns;
}

static int read_when_due(struct collector *c, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();
	int rc = 0;

	if (now_ns >= c->next_read_ns) {
		rc = check_helper(c, err);
		if (!rc)
			rc = collector_read(c, false, err);
		if (!rc)
			rc = collector_relieve(c, err);
		c->next_read_ns = clock_mono_ns() + READ_EVERY_NS;
	}
	if (!rc)
		collector_look_at_resident(c);
	if (!rc && now_ns >= c->next_cpus_ns) {
		c->next_cpus_ns = now_ns + CPUS_EVERY_NS;
		rc = side_band_update_cpus(c->side, err);
		if (!rc)
			rc = sampler_update_cpus(c->sampler, err);
	}
	return rc;
}

static int wait_ms(const struct collector *c, int timeout_ms)
{
	uint64_t sync_ns = resolve_sync_ns(c->resolver);
	uint64_t next_ns = sync_ns < c->next_read_ns ? sync_ns : c->next_read_ns;
	uint64_t gpu_ns = collect_gpu_due_ns(&c->gpu), heap_ns = collect_heap_due_ns(&c->heap);
	uint64_t window_ns = sampler_window_due_ns(c->sampler);
	uint64_t look_ns = collector_look_due_ns(c);

	if (look_ns < next_ns)
		next_ns = look_ns;
	if (gpu_ns < next_ns)
		next_ns = gpu_ns;
	if (heap_ns < next_ns)
		next_ns = heap_ns;
	if (window_ns < next_ns)
		next_ns = window_ns;
	int64_t left_ms = ((int64_t)(next_ns - clock_mono_ns()) + 999999) / 1000000;

	if (left_ms < 0)
		left_ms = 0;
	return timeout_ms >= 0 && timeout_ms < left_ms ? timeout_ms : left_ms;
}

int collect_run(struct collector *c, int timeout_ms, struct err *err)
{
	struct epoll_event events[8];

	collector_begin_wait(c);
	int n = epoll_wait(c->epoll_fd, events, 8, wait_ms(c, timeout_ms));
	bool side = false, tables = false, programs = false;

	if (n < 0 && errno != EINTR)
		return err_set(err, errno, "cannot wait for events: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == TAG_RING)
			c->next_read_ns = 0;
		else if (events[i].data.u64 == TAG_TABLES)
			tables = true;
		else if (events[i].data.u64 == TAG_SIDE)
			side = true;
		else if (events[i].data.u64 == TAG_PROGRAMS)
			programs = true;
	}
	if (programs) {
		collector_read_programs(c, timeout_ms);
		collector_charge_wake(c);
	} else if (side && side_band_is_urgent(c->side)) {
		collector_read_side(c);
		collector_charge_wake(c);
	} else if (clock_mono_ns() >= collector_look_due_ns(c)) {
		collector_look(c);
		collector_charge_wake(c);
	} else if (tables || clock_mono_ns() >= resolve_sync_ns(c->resolver))
		resolve_sync(c->resolver);
	collect_gpu_run(&c->gpu, clock_mono_ns());
	collect_heap_run(&c->heap, clock_mono_ns());
	int rc = collector_turn_window(c, err);
	return rc ? rc : read_when_due(c, err);
}

/* Tells the sink what was lost since the last call. */
static void hand_over_losses(struct collector *c, const struct sampler_stats *stats)
{
	const uint64_t *n = stats->counters;
	struct resolve_stats resolved;
	struct gpu_probes_stats gpu = { 0 };
	struct gpu_time_stats ran = { 0 };
	struct gpu_stall_stats stall = { 0 };
	const uint64_t *g = gpu.counters;
	const uint64_t period_ns = 1000000000ull / c->opts.sampler.freq_hz;

	collect_gpu_stats(&c->gpu, &gpu, &ran, &stall);
	resolve_get_stats(c->resolver, &resolved);
	const struct {
		enum loss reason;
		uint64_t n;
	} losses[] = {
		{ LOSS_RING_FULL, n[COUNT_RING_FULL] + n[COUNT_WAITS_LOST] + n[COUNT_FAULTS_LOST] +
					  g[GPU_COUNT_HEAP_LOST] + resolved.heap_refused },
		{ LOSS_RING_BUSY, n[COUNT_RING_BUSY] },
		{ LOSS_STACK_RING_FULL, n[COUNT_STACK_RING_FULL] },
		{ LOSS_UNCOUNTED, stats->uncounted_ns / period_ns },
		{ LOSS_CYCLES_GONE, n[COUNT_CYCLES_GONE_NS] / period_ns },
		{ LOSS_MAPPINGS_FULL, resolved.mappings_refused },
		{ LOSS_TARGETS_FULL, n[COUNT_TARGETS_FULL] },
		{ LOSS_WAITS_UNSEEN, n[COUNT_WAITS_UNSEEN] },
		{ LOSS_THREADS_UNKNOWN, n[COUNT_TASKS_UNKNOWN] },
		{ LOSS_SAMPLER_BUSY, stats->busy },
		{ LOSS_LATE, c->order.late },
		{ LOSS_TRACES_UNREAD, n[COUNT_TRACES_UNREAD] },
		{ LOSS_TRACED_FULL, resolved.traced_refused },
		{ LOSS_PYTHON_UNREAD, n[COUNT_PYTHON_UNREAD] + resolved.python_unplaced },
		{ LOSS_PYTHON_UNNAMED, resolved.python_unnamed },
		{ LOSS_PYTHONS_FULL, resolved.pythons_refused },
		{ LOSS_GPU_RING_FULL, g[GPU_COUNT_LOST] },
		{ LOSS_GPU_UNSEEN, g[GPU_COUNT_BUSY] + g[GPU_COUNT_THREADS_FULL] },
		{ LOSS_GPU_UNREADABLE, g[GPU_COUNT_UNREADABLE] },
		{ LOSS_GPU_MEMORY_FULL, g[GPU_COUNT_BLOCKS_FULL] + resolved.gpu_memory_refused },
		{ LOSS_GPU_FREES_UNKNOWN, g[GPU_COUNT_FREES_UNKNOWN] },
		{ LOSS_GPU_RECORDS, ran.dropped },
		{ LOSS_GPU_UNWATCHED, ran.closed_ns / 1000000 },
		{ LOSS_GPU_NAMES, ran.names_lost },
		{ LOSS_GPU_RING_BAD, ran.bad },
		{ LOSS_GPU_STALLS, stall.dropped + stall.refused },
		{ LOSS_GPU_CODE, stall.no_code },
		{ LOSS_GPU_CODE_UNREAD, stall.unread },
		{ LOSS_GPU_UNPROBED, gpu.refused_launches + gpu.refused_files },
	};

	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		uint64_t *given = &c->given[losses[i].reason];

		if (losses[i].n > *given)
			c->sink->ops->loss(c->sink, losses[i].reason, losses[i].n - *given);
		*given = losses[i].n;
	}
}

/* Asks all threads, unless that was done when their window ended. */
static int report_for_cut(struct collector *c, bool has_waits, bool is_last, struct err *err)
{
	const struct switch_windows *w = sampler_windows(c->sampler);

	if (!has_waits || (w && w->now.is_paused))
		return collector_read(c, false, err);
	if (!w || switch_windows_is_whole(w))
		return collector_report(c, is_last, err);
	return collector_close_window(c, err);
}

int collect_stop(struct collector *c, struct err *err)
{
	struct sampler_stats before;

	sampler_get_stats(c->sampler, &before);
	int rc = before.wait_hook ? report_for_cut(c, true, true, err) : 0;
	collect_gpu_stop_time(&c->gpu);
	collect_heap_stop(&c->heap, clock_mono_ns());
	sampler_stop(c->sampler);
	c->stopped_ns = clock_mono_ns();
	collect_gpu_stop_probes(&c->gpu);
	if (!rc)
		rc = collector_read(c, true, err);
	collect_gpu_finish(&c->gpu);
	collector_end_resident(c);
	collect_heap_cut(&c->heap, c->stopped_ns);
	sampler_get_stats(c->sampler, &c->last);
	c->last.cpus = before.cpus;
	hand_over_losses(c, &c->last);
	return rc;
}

/* --- always on -------------------------------------------------------------------------------- */

static int watch(struct collector *c, int fd, uint32_t events, struct err *err)
{
	struct epoll_event ev = { .events = events, .data.u64 = TAG_OTHER };

	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return err_set(err, errno, "cannot wait for a descriptor: %s", strerror(errno));
	return 0;
}

int collect_watch(struct collector *c, int fd, struct err *err)
{
	return watch(c, fd, EPOLLIN, err);
}

int collect_watch_news(struct collector *c, int fd, struct err *err)
{
	return watch(c, fd, EPOLLIN | EPOLLET, err);
}

void collect_gpu_named(struct collector *c, const struct gpu_machine *m)
{
	collect_gpu_take_names(&c->gpu, m);
}

void collect_gpu_update(struct collector *c, const struct gpu_reading *told)
{
	collect_gpu_take_told(&c->gpu, told);
}

bool collect_ask_labels(struct collector *c, uint32_t pid, uint32_t events,
			const struct series_hook *hook)
{
	return resolve_ask_labels(c->resolver, pid, events, hook);
}

int collect_cut(struct collector *c, struct err *err)
{
	struct sampler_stats stats;

	sampler_get_stats(c->sampler, &stats);
	bool awaits_launches = collect_gpu_begin_cut(&c->gpu, clock_mono_ns());
	collect_heap_begin_cut(&c->heap, clock_mono_ns());
	int rc = report_for_cut(c, stats.wait_hook, false, err);
	sampler_cut_windows(c->sampler, clock_mono_ns());
	if (!rc && (stats.wait_hook || awaits_launches))
		rc = collector_take_report(c, err);
	if (!(c->opts.sampler.events & COLLECT_WALL)) /* nothing waits for the times */
		c->reported_ns = 0;
	resolve_give_held(c->resolver);
	resolve_sweep(c->resolver, c->order.taken_ns);
	collect_gpu_cut(&c->gpu, clock_mono_ns(), c->order.taken_ns >= c->cut_ns);
	collector_cut_resident(c);
	collect_heap_cut(&c->heap, clock_mono_ns());
	hand_over_losses(c, &stats);
	return rc;
}

int collect_catch_up(struct collector *c, struct err *err)
{
	struct sampler_stats stats;

	sampler_get_stats(c->sampler, &stats);
	int rc = collector_read(c, false, err);
	resolve_give_held(c->resolver);
	resolve_sweep(c->resolver, c->order.taken_ns);
	hand_over_losses(c, &stats);
	return rc;
}

void collect_settle(struct collector *c, uint32_t wait_ms)
{
	resolve_settle(c->resolver, wait_ms);
}

bool collect_name_kernel(struct collector *c)
{
	return resolve_name_kernel(c->resolver);
}

int collect_set_sink(struct collector *c, struct sink *sink, struct profile_copy *copy,
		     struct err *err)
{
	if (c->opts.sampler.events & COLLECT_WALL)
		return err_set(err, EINVAL, "samples are held: their sink stays");
	const struct resolve_types types = collect_types(&c->opts.sampler, sink);
	collect_gpu_set_sink(&c->gpu, sink, &types.gpu);
	resolve_set_sink(c->resolver, sink, &types, copy);
	c->sink = sink;
	return 0;
}

int collect_file(struct collector *c, uint32_t mapping)
{
	return resolve_file(c->resolver, mapping);
}

void collect_symbolize(struct collector *c)
{
	resolve_symbolize(c->resolver);
}

bool collect_targets_gone(struct collector *c)
{
	return sampler_targets_gone(c->sampler);
}

void collect_get_stats(struct collector *c, struct collect_stats *out)
{
	struct sampler_stats s;
	struct resolve_stats r;

	const struct switch_windows *w = sampler_windows(c->sampler);

	sampler_get_stats(c->sampler, &s);
	resolve_get_stats(c->resolver, &r);
	*out = (struct collect_stats){
		.samples = c->samples,
		.lost = s.counters[COUNT_RING_FULL] + s.counters[COUNT_RING_BUSY] +
			s.counters[COUNT_WAITS_LOST] + s.counters[COUNT_WAITS_UNSEEN] +
			s.counters[COUNT_FAULTS_LOST] + s.busy,
		.truncated = r.truncated,
		.unsymbolized = r.unsymbolized,
		.below_main = r.below_main,
		.names = r.names,
		.kernel_names_ns = r.kernel_names_ns,
		.kernel_symbols_read = r.kernel_symbols_read,
		.ring_bytes = s.ring_bytes,
		.read_bytes = s.read_bytes,
		.kernel_map_bytes = s.kernel_map_bytes,
		.bpf_ns = s.run_ns,
		.bpf_runs = s.runs,
		.cpus = s.cpus ? s.cpus : c->last.cpus,
		.processes = r.processes,
		.objects = r.objects,
		.first_sample_ns = c->first_sample_ns,
		.cut_is_held = c->order.taken_ns < c->cut_ns,
		.clock = s.clock,
		.uncounted_ns = s.uncounted_ns,
		.walker = s.walker,
		.frames_by_table = s.counters[COUNT_BY_TABLE],
		.frames_by_fp = s.counters[COUNT_BY_FP],
		.raw = s.counters[COUNT_RAW],
		.raw_bytes = s.raw_bytes,
		.raw_no_room = s.counters[COUNT_RAW_NO_ROOM],
		.raw_no_time = s.counters[COUNT_RAW_NO_TIME],
		.tables = r.tables.tables,
		.table_bytes = r.tables.bytes,
		.tables_evicted = r.tables.evicted,
		.tables_refused = r.tables.refused,
		.tables_loaded = r.tables.cached.loaded,
		.tables_damaged = r.tables.cached.damaged,
		.wait_hook = s.wait_hook,
		.waits = c->waits,
		.waits_sampled = s.counters[COUNT_WAITS_SAMPLED],
		.wait_share = w ? w->share : 1,
		.wait_load = w ? w->load : 0,
		.wait_turns = s.wait_turns,
		.fault_pauses = s.fault_pauses,
		.short_off_ns = r.short_off_ns,
		.heap = c->heap.stats,
	};
	memcpy(out->ends, r.ends, sizeof out->ends);
	collect_gpu_stats(&c->gpu, &out->gpu, &out->gpu_time, &out->gpu_stall);
	if (!out->wait_hook)
		out->wait_hook = c->last.wait_hook;
	out->kernel_map_bytes += (uint64_t)r.tables.segments << 20;
	helper_get_stats(c->helper, &out->workers);
	proc_reader_get_stats(c->reader, &out->reads);
}

uint64_t collect_cpu_ns(const struct collector *c)
{
	return clock_cpu_ns() + helper_cpu_ns(c->helper);
}

void collect_get_gpu_stats(struct collector *c, struct gpu_probes_stats *probes,
			   struct gpu_time_stats *time)
{
	struct gpu_stall_stats stall;

	*probes = (struct gpu_probes_stats){ 0 };
	*time = (struct gpu_time_stats){ 0 };
	collect_gpu_stats(&c->gpu, probes, time, &stall);
}

void collect_free(struct collector *c)
{
	if (!c)
		return;
	collect_heap_done(&c->heap);
	collect_gpu_done(&c->gpu);
	resolver_free(c->resolver); /* has rows in the sampler's maps */
	program_news_close(c->programs);
	sampler_close(c->sampler);
	side_band_close(c->side);
	order_done(&c->order);
	brief_done(&c->brief);
	proc_reader_free(c->reader);
	helper_free(c->helper);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c);
}
