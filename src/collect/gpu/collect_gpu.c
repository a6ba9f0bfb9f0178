/* Opens, reads and closes the GPU parts of the collector: probes, memory, time and stalls. */
#include "collect/gpu/collect_gpu.h"

#include "attach/attach_library.h"
#include "attach/attach_refuse.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "bpf/event.h"
#include "bpf/gpu_event.h"
#include "collect/gpu/gpu_beats.h"
#include "collect/gpu/gpu_before.h"
#include "collect/gpu/gpu_probes.h"
#include "collect/gpu/gpu_stall.h"
#include "collect/gpu/gpu_time.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/kernel/side_band.h"
#include "collect/proc/mapped_file.h"
#include "collect/resolve/gpu_live.h"
#include "collect/resolve/gpu_names.h"
#include "collect/resolve/gpu_origins.h"
#include "collect/resolve/order.h"
#include "collect/resolve/resolve.h"
#include "collect/worker/far_device.h"
#include "collect/worker/proc_reader.h"
#include "profile/sink.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Limits of an always-on collector. */
/* limit MAX_LIVE_ALWAYS: GPU allocations in use, always on */
/* limit MAX_ORIGINS_ALWAYS: stacks of launches and allocations, always on */
enum { MAX_LIVE_ALWAYS = 1 << 16, MAX_ORIGINS_ALWAYS = 1 << 14 };

/* How long a recording waits for its first probes, and the end of one until they are gone. */
#define FIRST_PROBES_NS  10000000000ull
#define DETACH_NS        3000000000ull
#define DETACH_ALWAYS_NS 100000000ull

/* --- allocations ------------------------------------------------------------------------------ */

static bool is_allocated(void *ctx, uint32_t pid, uint64_t address, uint32_t flags)
{
	const struct gpu_block_key key = { address, pid, flags };
	struct gpu_block block;

	return gpu_probes_has_block(ctx, &key, &block);
}

/* Drops an allocation that ended with its context or process, unless another one has its address by
 * now. */
static void forget_block(void *ctx, const struct gpu_allocation *a)
{
	const struct collect_gpu *g = ctx;
	const struct gpu_block_key key = { a->address, a->pid, a->flags };
	struct gpu_block block;

	if (g->probes && gpu_probes_has_block(g->probes, &key, &block) &&
	    block.time_ns == a->time_ns)
		gpu_probes_drop_block(g->probes, &key);
}

/* Passes new numbers of origins on to those who keep some. */
static void on_renamed(void *ctx, gpu_origin_move *to, void *to_ctx)
{
	struct collect_gpu *g = ctx;

	if (g->time)
		gpu_time_rename(g->time, to, to_ctx);
}

/* --- life ------------------------------------------------------------------------------------- */

/* The resolver is created before g->time, which needs its launches. */
static void on_launch(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
		      uint32_t weight, uint64_t time_ns)
{
	struct collect_gpu *g = ctx;

	gpu_time_launch(g->time, pid, correlation, origin, weight, time_ns);
}

void collect_gpu_hooks(struct collect_gpu *g, struct resolve_links *resolve)
{
	resolve->gpu_stack = g->opts->stack;
	resolve->gpu_stack_ctx = g->opts->stack_ctx;
	resolve->gpu_launch = g->asked->events & COLLECT_GPU_INSIDE ? on_launch : NULL;
	resolve->gpu_launch_ctx = g;
	resolve->gpu_gone = forget_block;
	resolve->gpu_renamed = on_renamed;
	resolve->gpu_max_live = g->opts->budget > 0 ? MAX_LIVE_ALWAYS : 0;
	resolve->gpu_max_origins = g->opts->budget > 0 ? MAX_ORIGINS_ALWAYS : 0;
	resolve->gpu_ctx = g;
}

static int fits_agent(void *ctx, pid_t pid)
{
	return proc_reader_agent_fits(ctx, (uint32_t)pid);
}

static int open_ring(void *ctx, pid_t pid, const char *name, int flags, uint32_t nth)
{
	return proc_reader_ring(ctx, (uint32_t)pid, name, flags, nth);
}

/* Checks the target: it must be known whose window to open before anything of the program is
 * seen. */
static int open_time(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types,
		     struct err *err)
{
	struct gpu_time_opts opts = { .sink = sink,
				      .resolver = g->resolver,
				      .time_type = types->time,
				      .window_type = types->window,
				      .queue_type = types->queue,
				      .stacks_per_s = g->asked->waits.max_rate,
				      .budget = g->opts->budget };
	struct gpu_stall_opts stall = { sink, g->resolver, types->stall, types->not_issued,
					g->opts->budget > 0 };

	if (g->asked->target != TARGET_ALL && g->asked->target != TARGET_PID)
		return err_set(err, EOPNOTSUPP,
			       "GPU time is recorded of processes or the whole machine only");
	if (g->asked->events & COLLECT_GPU_STALL)
		opts.stall = g->stall = gpu_stall_new(&stall);
	if (g->reader)
		opts.rings = (struct ring_finder){ fits_agent, open_ring, g->reader };
	opts.beats = g->beats = gpu_beats_new();
	g->time = gpu_time_new(&opts, clock_mono_ns());
	return 0;
}

int collect_gpu_open(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types,
		     struct err *err)
{
	if (collect_probes_libraries(g->asked->events))
		g->probes = gpu_probes_new(g->sampler, g->asked, g->helper);
	if (g->probes && g->asked->wait_exec) { /* its first calls precede news of its mappings */
		gpu_probes_expect(g->probes);
		gpu_probes_wait(g->probes, FIRST_PROBES_NS);
	}
	return g->asked->events & COLLECT_GPU_INSIDE ? open_time(g, sink, types, err) : 0;
}

void collect_gpu_done(struct collect_gpu *g)
{
	gpu_time_free(g->time);
	gpu_beats_free(g->beats);
	gpu_stall_free(g->stall);
	gpu_probes_free(g->probes);
	gpu_before_done(&g->before);
}

/* --- programs --------------------------------------------------------------------------------- */

/* Targets that are threads or groups are known only at their calls. */
static bool may_be_target(const struct collect_gpu *g, uint32_t pid)
{
	return g->asked->target != TARGET_PID || sampler_is_target(g->sampler, pid);
}

/* The machine's agent places no probes for a program that is reserved for another agent, nor for
 * one that does not let itself be read: a probe takes the same lock of every process that maps the
 * file. A recording does: it was requested. */
static bool is_kept_for_other(const struct collect_gpu *g, uint32_t pid)
{
	return g->asked->is_always && proc_reader_agent_fits(g->reader, pid) != 1;
}

/* A process has mapped the library. */
static void found_program(void *ctx, uint32_t pid)
{
	struct collect_gpu *g = ctx;

	if (!may_be_target(g, pid))
		return;
	resolve_expect(g->resolver, pid);
	gpu_time_expect(g->time, pid, clock_mono_ns());
}

static bool has_ended(uint32_t pid)
{
	char path[32], target[1];

	snprintf(path, sizeof path, "/proc/%u/exe", pid);
	return readlink(path, target, sizeof target) < 0 && errno == ENOENT;
}

static void add_file(struct collect_gpu *g, const struct mapped_file *f)
{
	struct stat st;
	int fd = proc_reader_open(g->reader, f, &st);

	if (fd < 0)
		return;
	gpu_probes_add(g->probes, f->pid, f->path, fd);
	close(fd);
}

/* After lost records, processes that have ended may still be known. Nothing states any more whom
 * they were reserved for. */
static void found_file(void *ctx, const struct mapped_file *f, int fd)
{
	struct collect_gpu *g = ctx;

	if (!may_be_target(g, f->pid) || has_ended(f->pid) || is_kept_for_other(g, f->pid))
		return;
	if (fd >= 0)
		gpu_probes_add(g->probes, f->pid, f->path, fd);
	else if (!device_is_far(f->pid, f->maj, f->min))
		add_file(g, f);
}

static void tell(const struct collect_gpu *g, enum gpu_program_news what, uint32_t pid,
		 uint32_t parent)
{
	g->opts->program(g->opts->program_ctx, what, pid, parent);
}

static bool is_driver(const char *path)
{
	return attach_is_library(path, cuda_attach_library.needs);
}

static void has_driver(void *ctx, uint32_t pid)
{
	tell(ctx, GPU_PROGRAM_MAPPED, pid, 0);
}

void collect_gpu_start(struct collect_gpu *g)
{
	gpu_before_begin(&g->before);
	collect_gpu_scanned(g);
	if (g->probes && !g->asked->is_always)
		gpu_probes_wait(g->probes, FIRST_PROBES_NS);
}

static void find_files(struct collect_gpu *g)
{
	if (g->probes)
		resolve_find_files(g->resolver, gpu_probes_want, found_file, g);
}

void collect_gpu_scanned(struct collect_gpu *g)
{
	if (g->opts->program)
		resolve_find_processes(g->resolver, is_driver, has_driver, g);
	find_files(g);
	if (g->time)
		resolve_find_processes(g->resolver, gpu_time_wants, found_program, g);
}

/* A process has mapped a library. */
static void add_mapped(struct collect_gpu *g, const struct side_record *r)
{
	const struct mapped_file f = side_file(r);

	add_file(g, &f);
}

bool collect_gpu_seen(struct collect_gpu *g, const struct side_record *r)
{
	if (!g->probes && !g->time)
		return false;
	bool is_wanted = r->kind == SIDE_MMAP && r->name && gpu_probes_want(r->name);

	if (is_wanted && device_is_far(r->pid, r->maj, r->min))
		return false; /* placing a probe would wait for its file system */
	if (g->probes && is_wanted && may_be_target(g, r->pid) && !is_kept_for_other(g, r->pid))
		add_mapped(g, r);
	if (g->time && r->kind == SIDE_MMAP && gpu_time_wants(r->name))
		found_program(g, r->pid);
	if (g->time && r->kind == SIDE_COMM && r->exec)
		gpu_time_exec(g->time, r->pid, clock_mono_ns());
	return g->probes && is_wanted;
}

void collect_gpu_applied(struct collect_gpu *g, const struct side_record *r)
{
	if (!g->opts->program)
		return;
	if (r->kind == SIDE_MMAP && is_driver(r->name))
		tell(g, GPU_PROGRAM_MAPPED, r->pid, 0);
	else if (r->kind == SIDE_COMM && r->exec)
		tell(g, GPU_PROGRAM_EXEC, r->pid, 0);
	else if (r->kind == SIDE_FORK && r->pid != r->ppid)
		tell(g, GPU_PROGRAM_FORKED, r->pid, r->ppid);
	else if (r->kind == SIDE_EXIT && r->pid == r->tid)
		tell(g, GPU_PROGRAM_ENDED, r->pid, 0);
}

uint64_t collect_gpu_due_ns(const struct collect_gpu *g)
{
	return g->time ? gpu_time_due_ns(g->time) : UINT64_MAX;
}

void collect_gpu_run(struct collect_gpu *g, uint64_t now_ns)
{
	if (g->probes && gpu_probes_run(g->probes))
		find_files(g);
	if (g->time)
		gpu_time_run(g->time, now_ns);
}

void collect_gpu_new_epoch(struct collect_gpu *g)
{
	if (g->probes)
		gpu_probes_new_epoch(g->probes);
}

/* --- intervals -------------------------------------------------------------------------------- */

bool collect_gpu_begin_cut(struct collect_gpu *g, uint64_t now_ns)
{
	if (!g->time)
		return false;
	gpu_time_read(g->time, now_ns);
	return gpu_time_waits(g->time);
}

void collect_gpu_take_names(struct collect_gpu *g, const struct gpu_machine *m)
{
	gpu_names_update(resolve_gpu_names(g->resolver), m);
}

void collect_gpu_take_told(struct collect_gpu *g, const struct gpu_reading *told)
{
	if (g->asked->events & COLLECT_HBM_INUSE)
		gpu_before_update(&g->before, told, clock_mono_ns());
}

/* An always-on collector also uses what the driver reported since. */
static void put_snapshot(struct collect_gpu *g, uint64_t now_ns, bool asks)
{
	resolve_gpu_snapshot(g->resolver, now_ns, asks ? is_allocated : NULL, g->probes);
	if (g->asked->events & COLLECT_HBM_INUSE && g->opts->budget > 0)
		gpu_before_snapshot(&g->before, g->resolver, now_ns);
}

/* If an event was lost that may have been a free, checks the kernel's table. */
static void put_in_use(struct collect_gpu *g, uint64_t now_ns)
{
	struct gpu_probes_stats stats;

	gpu_probes_get_stats(g->probes, &stats);
	bool has_lost = stats.counters[GPU_COUNT_LOST] != g->calls_lost;
	g->calls_lost = stats.counters[GPU_COUNT_LOST];
	put_snapshot(g, now_ns, has_lost);
}

void collect_gpu_cut(struct collect_gpu *g, uint64_t now_ns, bool has_stacks)
{
	if (g->time)
		gpu_time_cut(g->time, now_ns, has_stacks);
	if (g->stall)
		gpu_stall_flush(g->stall);
	if (g->probes)
		put_in_use(g, now_ns);
	resolve_gpu_trim(g->resolver);
}

void collect_gpu_set_sink(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types)
{
	if (g->time)
		gpu_time_set_sink(g->time, sink, types);
	if (g->stall)
		gpu_stall_set_sink(g->stall, sink, types);
}

/* --- the end ---------------------------------------------------------------------------------- */

void collect_gpu_stop_time(struct collect_gpu *g)
{
	if (g->time)
		gpu_time_stop(g->time);
}

static void take_rest(void *ctx, uint32_t tid, const struct gpu_thread *t)
{
	struct collect_gpu *g = ctx;
	char path[32];
	struct event_gpu ev = {
		.sample = { .kind = EVENT_GPU,
			    .tgid = t->tgid,
			    .tid = tid,
			    .time_ns = clock_mono_ns(),
			    .stack_hash = t->last_hash,
			    .uid = EVENT_NO_UID,
			    .cpu = EVENT_NO_CPU },
		.gpu = { .parts = PART_GPU,
			 .what = GPU_LAUNCH,
			 .weight = t->rates[GPU_RATE_LAUNCH].skipped },
	};

	snprintf(path, sizeof path, "/proc/%u/comm", tid);
	fs_read_line(path, ev.sample.comm, sizeof ev.sample.comm);
	order_add_gpu(g->order, &ev);
}

void collect_gpu_stop_probes(struct collect_gpu *g)
{
	if (!g->probes)
		return;
	gpu_probes_detach(g->probes, g->asked->is_always ? DETACH_ALWAYS_NS : DETACH_NS);
	gpu_probes_rest(g->probes, take_rest, g);
}

void collect_gpu_finish(struct collect_gpu *g)
{
	if (g->time)
		gpu_time_flush(g->time);
	if (g->stall)
		gpu_stall_flush(g->stall);
	if (g->probes)
		put_snapshot(g, clock_mono_ns(), true);
	if (g->asked->events & COLLECT_HBM_INUSE && !(g->opts->budget > 0))
		gpu_before_put(g->resolver, g->asked, g->opts->script, clock_mono_ns());
}

void collect_gpu_stats(const struct collect_gpu *g, struct gpu_probes_stats *probes,
		       struct gpu_time_stats *time, struct gpu_stall_stats *stall)
{
	if (g->probes)
		gpu_probes_get_stats(g->probes, probes);
	if (g->time)
		gpu_time_get_stats(g->time, time);
	if (g->stall)
		gpu_stall_get_stats(g->stall, stall);
}
