/* The summary of a recording: samples, losses, truncation, unwinding, GPU data and cost. */
#include "attach/attach_library.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/files/kernel.h"
#include "cmd/record/record_state.h"
#include "collect/kernel/walk_end.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/tree/top.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { TOP_SHOWN = 3, NAME_MAX_BYTES = 120 };

struct summary {
	struct recording *r;
	struct tree *tree;
	struct top_table top;
	uint64_t lost;
	double own_percent, own_bpf_percent; /* of one CPU, while sampling */
};

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* VmHWM: ru_maxrss would include memory from before the exec. */
uint64_t own_peak_bytes(void)
{
	struct buf b = { 0 };
	uint64_t kib = 0;
	if (fs_read_at(AT_FDCWD, "/proc/self/status", 64 * 1024, &b, NULL) == 0) {
		const char *at = strstr(buf_cstr(&b), "\nVmHWM:");
		kib = at ? strtoull(at + strlen("\nVmHWM:"), NULL, 10) : 0;
	}
	buf_done(&b);
	return kib * 1024;
}

/* --- text ------------------------------------------------------------------------------------ */

static void add_result(struct buf *b, const struct summary *s)
{
	const struct recording *r = s->r;
	const char *dot = r->line->term.dot;
	term_paint(b, r->line->term.color_err, PAINT_BOLD, "done");
	buf_adds(b, ": ");
	fmt_duration(b, r->end_mono_ns - r->start_mono_ns);
	buf_adds(b, dot);
	if (r->collect.sampler.events & (COLLECT_CPU | COLLECT_WALL)) {
		fmt_count(b, r->stats.samples - r->stats.waits);
		buf_addf(b, " cpu samples%s", dot);
	}
	if (r->stats.wait_hook) {
		fmt_count(b, r->stats.waits);
		buf_addf(b, " waits%s", dot);
	}
	fmt_count(b, s->lost);
	buf_addf(b, " lost%s%.1f %% truncated%s%.1f %% unsymbolized\n", dot,
		 percent(r->stats.truncated, r->stats.samples), dot,
		 percent(r->stats.unsymbolized, r->stats.samples));
}

/* Blocked time of all threads without a stack. If blocked time was not requested, none of it has a
 * stack. */
static void add_short_waits(struct buf *b, const struct summary *s)
{
	const struct sampler_opts *asked = &s->r->collect.sampler;
	uint64_t min_ns = asked->waits.min_block_ns;
	uint64_t max_ns = wait_max_told_ns(&asked->waits);
	if (!collect_takes_blocked(asked->events) || (!min_ns && !max_ns))
		return;
	buf_adds(b, "  waits  ");
	fmt_duration(b, s->r->stats.short_off_ns);
	buf_adds(b, " of all threads went into waits ");
	if (min_ns) {
		buf_adds(b, "below ");
		fmt_duration(b, min_ns);
	}
	if (max_ns) {
		buf_adds(b, min_ns ? " or above " : "above ");
		fmt_duration(b, max_ns);
	}
	buf_adds(b, ", which have no stack\n");
}

/* Waits without a separate stack. */
static void add_waits(struct buf *b, const struct summary *s)
{
	const struct collect_stats *st = &s->r->stats;
	if (!st->wait_hook)
		return;
	add_short_waits(b, s);
	if (!st->waits_sampled)
		return;
	buf_adds(b, "  waits  more than --max-rate: ");
	fmt_count(b, st->waits_sampled);
	buf_adds(b, " shorter ones were skipped and others weigh more; thread times are exact\n");
}

static void add_gpu_count(struct buf *b, uint64_t n, const char *what)
{
	if (!n)
		return;
	buf_adds(b, ", ");
	fmt_count(b, n);
	buf_adds(b, what);
}

/* What the probes on GPU libraries counted, also without a stack. */
static void add_gpu(struct buf *b, const struct summary *s)
{
	const struct gpu_probes_stats *g = &s->r->stats.gpu;
	const uint64_t *n = g->counters;
	if (!(s->r->collect.sampler.events & COLLECT_GPU))
		return;
	if (!(s->r->collect.sampler.events & ~(uint32_t)COLLECT_GPU_INSIDE) &&
	    !s->r->stats.gpu_time.programs)
		return;
	if (!g->files)
		buf_adds(b, "  gpu   no GPU library found to probe");
	else
		buf_addf(b, "  gpu   %u probes in %u files by %s", g->probes, g->files, g->how);
	add_gpu_count(b, n[GPU_COUNT_LAUNCHES], " launches");
	add_gpu_count(b, n[GPU_COUNT_COPIES], " copies");
	add_gpu_count(b, n[GPU_COUNT_SHORT_WAITS], " short waits without a stack");
	add_gpu_count(b, n[GPU_COUNT_FREES_UNKNOWN], " frees of earlier allocations");
	add_gpu_count(b, g->refused_launches, " launch functions refused: a probe would be slow");
	if (g->problem[0])
		buf_addf(b, "; %s", g->problem);
	buf_addc(b, '\n');
	log_verbose("probes: %u files attached in %.1f ms, detached in %.1f ms", g->files,
		    g->attach_ns / 1e6, g->detach_ns / 1e6);
}

/* GPU time, and how certain its attribution is. */
static void add_gpu_time(struct buf *b, const struct summary *s)
{
	const struct gpu_time_stats *t = &s->r->stats.gpu_time;
	if (!(s->r->collect.sampler.events & COLLECT_GPU_INSIDE))
		return;
	buf_adds(b, "  gpu time  ");
	if (t->programs) {
		fmt_duration(b, t->exact_ns + t->estimated_ns + t->unknown_ns);
		buf_addf(b, " in %" PRIu64 " kernels and copies of %u program%s: ", t->records,
			 t->programs, t->programs == 1 ? "" : "s");
		fmt_duration(b, t->exact_ns);
		buf_adds(b, " by exact stack, ");
		fmt_duration(b, t->estimated_ns);
		buf_adds(b, " by estimate, ");
		fmt_duration(b, t->unknown_ns);
		buf_adds(b, " without a stack");
	} else {
		buf_adds(b, "no program has the GPU library: start it "
			    "with " CUDA_INJECTION_VARIABLE "=…/libcresset-cuda.so, or cresset gpu "
			    "attach PID");
	}
	if (t->problem[0]) {
		buf_adds(b, "; ");
		esc_term(b, t->problem, strlen(t->problem), sizeof t->problem);
	}
	buf_addc(b, '\n');
}

/* Programs of Go with waits for mutexes. */
static void add_go_locks(struct buf *b, const struct summary *s)
{
	const struct heap_stats *t = &s->r->stats.heap;
	if (t->go_lock_stacks)
		buf_addf(b,
			 "  lock  Go's own profile of mutexes of %u program%s: %u stacks that "
			 "unlock them\n",
			 t->go_lock_programs, t->go_lock_programs == 1 ? "" : "s",
			 t->go_lock_stacks);
	if (t->lock_problem[0]) {
		buf_adds(b, "  lock  ");
		esc_term(b, t->lock_problem, strlen(t->lock_problem), sizeof t->lock_problem);
		buf_addc(b, '\n');
	}
}

/* Programs with sampled allocations. */
static void add_heap(struct buf *b, const struct summary *s)
{
	const struct heap_stats *t = &s->r->stats.heap;
	if (!(s->r->collect.sampler.events & COLLECT_HEAP))
		return;
	if (t->go_programs)
		buf_addf(b,
			 "  heap  Go's own profile of %u program%s: %u stacks, in use as of the "
			 "last garbage collection\n",
			 t->go_programs, t->go_programs == 1 ? "" : "s", t->go_stacks);
	if (t->java_programs)
		buf_addf(b, "  heap  Java's own samples of %u program%s: %" PRIu64 "\n",
			 t->java_programs, t->java_programs == 1 ? "" : "s", t->java_samples);
	if (t->programs)
		buf_addf(b, "  heap  %" PRIu64 " of the allocations of %u program%s were sampled",
			 t->samples, t->programs, t->programs == 1 ? "" : "s");
	else if (t->go_programs || t->java_programs) {
		if (!t->dropped && !t->wrong && !t->problem[0])
			return;
		buf_adds(b, "  heap  not all of it");
	} else if (t->problem[0])
		buf_adds(b, "  heap  no program was sampled by this recording");
	else
		buf_adds(b, "  heap  no program has loaded the library; statically linked and "
			    "privileged programs cannot");
	if (t->mean_bytes) {
		buf_adds(b, ", one in ");
		fmt_bytes(b, t->mean_bytes);
	}
	add_gpu_count(b, t->dropped, " without space in the table of memory in use");
	add_gpu_count(b, t->wrong, " impossible ones left out");
	if (t->problem[0]) {
		buf_adds(b, "; ");
		esc_term(b, t->problem, strlen(t->problem), sizeof t->problem);
	}
	buf_addc(b, '\n');
}

/* Stalls of kernels, and how certain their attribution is. */
static void add_gpu_stalls(struct buf *b, const struct summary *s)
{
	const struct gpu_stall_stats *t = &s->r->stats.gpu_stall;
	if (!(s->r->collect.sampler.events & COLLECT_GPU_STALL) || !s->r->stats.gpu_time.programs)
		return;
	buf_addf(b,
		 "  gpu stalls  %" PRIu64 " samples at %" PRIu64 " places of %" PRIu64
		 " functions: %" PRIu64 " by exact stack, %" PRIu64 " by estimate",
		 t->samples, t->places, t->functions, t->exact, t->estimated);
	if (t->estimated)
		buf_addf(b, " (\302\261%.1f %%)", 100 * t->estimate_error);
	buf_addf(b, ", %" PRIu64 " without a stack", t->no_stack);
	if (t->shortest_period)
		buf_addf(b, "; one in %llu", 1ull << t->shortest_period);
	if (t->longest_period > t->shortest_period)
		buf_addf(b, " to %llu", 1ull << t->longest_period);
	if (t->shortest_period)
		buf_adds(b, " cycles of a multiprocessor");
	if (t->other)
		buf_addf(b, "; %" PRIu64 " more in kernels of the driver", t->other);
	if (t->in_files)
		buf_addf(b, "; code of %" PRIu64 " modules from files", t->in_files);
	if (t->unclear)
		buf_addf(b, "; %" PRIu64 " in functions that differ between files", t->unclear);
	buf_addc(b, '\n');
}

static void add_cost(struct buf *b, const struct summary *s)
{
	const struct profile_meta *m = &s->r->profile->meta;
	buf_adds(b, "  self  ");
	fmt_duration(b, m->own_cpu_ns);
	buf_addf(b, " of CPU time, %.1f %% of a CPU while recording, and %.1f %% in BPF programs",
		 s->own_percent, s->own_bpf_percent);
	if (s->r->stats.gpu.probes)
		buf_adds(b, ", probes not counted");
	buf_adds(b, "; peak memory ");
	fmt_bytes(b, m->own_peak_bytes);
	buf_addc(b, '\n');
}

static void add_losses(struct buf *b, const struct summary *s)
{
	const struct profile_meta *m = &s->r->profile->meta;
	for (int i = 0; i < LOSS_REASONS; i++) {
		const struct loss_info *info = &loss_reasons[i];
		if (!m->loss[i])
			continue;
		buf_adds(b, "  ");
		term_paint(b, s->r->line->term.color_err, PAINT_YELLOW,
			   info->is_sample ? "lost" : "note");
		buf_adds(b, "  ");
		fmt_count(b, m->loss[i]);
		buf_addf(b, ": %s", info->text);
		loss_time_text(b, m, i);
		buf_addf(b, "%s%s\n", *info->remedy ? ": " : "", info->remedy);
	}
}

static void add_name(struct buf *b, const struct tree *t, uint32_t name)
{
	esc_term(b, strtab_get(&t->strings, name), strtab_len(&t->strings, name), NAME_MAX_BYTES);
}

static void add_top(struct buf *b, const struct summary *s)
{
	const struct tree *t = s->tree;
	for (size_t i = 0; i < s->top.rows.n && i < TOP_SHOWN; i++) {
		const struct top_row *row = &s->top.rows.v[i];
		const struct tree_func *f = &t->funcs.v[row->func];
		if (row->self <= 0)
			break;
		buf_addf(b, "  %s %5.1f %%  ", i ? "   " : "top", percent(row->self, s->top.total));
		add_name(b, t, f->name);
		if (f->binary) {
			buf_adds(b, "  (");
			add_name(b, t, f->binary);
			buf_addc(b, ')');
		}
		buf_addc(b, '\n');
	}
}

/* Printed only if it changes the meaning of the numbers. */
static void add_clock_note(struct buf *b, const struct summary *s)
{
	if (s->r->stats.clock && strcmp(s->r->stats.clock, "cpu-clock") == 0)
		buf_adds(b, "  clock cpu-clock: code with interrupts off is attributed to where "
			    "they are enabled again; idle time is not sampled\n");
}

/* The next command for a file of a format; %s is the file. */
static const struct {
	const char *format, *hint;
} hints[] = {
	{ "cresset", "cresset report %s" },
	{ "svg", "open it in a browser" },
	{ "html", "open it in a browser; it needs nothing else" },
	{ "pprof", "go tool pprof %s" },
	{ "folded", "cresset report %s" },
};

static void add_hint(struct buf *b, const struct output *o)
{
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
		if (strcmp(hints[i].format, o->format->name) != 0)
			continue;
		const char *at = strstr(hints[i].hint, "%s");
		buf_adds(b, ": ");
		buf_add(b, hints[i].hint,
			at ? (size_t)(at - hints[i].hint) : strlen(hints[i].hint));
		if (at)
			esc_term(b, o->path, strlen(o->path), sizeof((struct err *)0)->text);
	}
}

static void add_outputs(struct buf *b, const struct recording *r)
{
	for (size_t i = 0; i < r->outputs.n; i++) {
		const struct output *o = &r->outputs.v[i];
		if (!o->written || strcmp(o->path, "-") == 0)
			continue;
		buf_adds(b, "wrote ");
		esc_term(b, o->path, strlen(o->path), 4096);
		buf_adds(b, " (");
		fmt_bytes(b, o->size_bytes);
		buf_addc(b, ')');
		add_hint(b, o);
		buf_addc(b, '\n');
	}
}

static void add_per_thread(struct buf *b, const struct recording *r)
{
	const struct thread_files *t = &r->per_thread;
	if (!t->summary)
		return;
	buf_adds(b, "wrote ");
	esc_term(b, t->summary, strlen(t->summary), 4096);
	buf_adds(b, " and files of ");
	fmt_count(b, t->threads);
	buf_adds(b, t->threads == 1 ? " thread" : " threads");
	if (t->left_out) {
		buf_adds(b, ", those with the most CPU time; ");
		fmt_count(b, t->left_out);
		buf_adds(b, " more have no file");
	}
	buf_addc(b, '\n');
}

static void add_unwinding(struct buf *b, const struct collect_stats *st)
{
	uint64_t steps = st->frames_by_table + st->frames_by_fp;
	const char *before = "\n  truncated  ";

	if (steps) {
		buf_addf(b, "  unwind  %u tables, ", st->tables);
		fmt_bytes(b, st->table_bytes);
		buf_addf(b, "; %.1f %% of frames by them, the rest by frame pointers",
			 percent(st->frames_by_table, steps));
		if (st->tables_loaded + st->tables_damaged)
			buf_addf(b, "; %" PRIu64 " tables from disk", st->tables_loaded);
		if (st->tables_damaged)
			buf_addf(b, ", %" PRIu64 " damaged ones were built again",
				 st->tables_damaged);
	}
	if (st->tables_evicted || st->tables_refused)
		buf_addf(b,
			 "; %" PRIu64 " tables evicted, %" PRIu64
			 " rejected for lack of memory: see --unwind-memory",
			 st->tables_evicted, st->tables_refused);
	if (st->raw_no_room + st->raw_no_time)
		buf_addf(b,
			 "; %" PRIu64 " samples came too early for their tables, without a copy "
			 "of their stack: the ring was full for %" PRIu64
			 ", copying took too long for %" PRIu64,
			 st->raw_no_room + st->raw_no_time, st->raw_no_room, st->raw_no_time);
	for (uint32_t end = 0; end < WALK_ENDS; end++) {
		if (!walk_end_reason(end) || !st->ends[end])
			continue;
		buf_addf(b, "%s%s: %" PRIu64, before, walk_end_reason(end), st->ends[end]);
		before = ", ";
	}
	if (st->below_main)
		buf_addf(b,
			 "\n  whole  %" PRIu64 " stacks end where a C library without unwind rows "
			 "calls main",
			 st->below_main);
	buf_addc(b, '\n');
}

/* If a timer is late because others had the CPU, also on this machine's host, ticks are missing and
 * not counted: CPU time shows it. */
static void add_due(struct buf *b, const struct recording *r)
{
	double busy_s = r->end_cpus.busy_s - r->start_cpus.busy_s;
	double steal_s = r->end_cpus.steal_s - r->start_cpus.steal_s;
	bool samples_all = r->collect.sampler.target == TARGET_ALL &&
			   r->collect.sampler.events & (COLLECT_CPU | COLLECT_WALL);
	if (!samples_all || r->start_cpus.busy_s < 0 || r->end_cpus.busy_s < 0)
		return;
	buf_adds(b, "  due   ");
	fmt_count(b, r->stats.samples - r->stats.waits);
	buf_adds(b, " of some ");
	fmt_count(b, (uint64_t)(busy_s * r->collect.sampler.freq_hz + 0.5));
	buf_addf(b, " samples, by the CPUs' %.1f s of work", busy_s);
	if (steal_s >= 0.05)
		buf_addf(b, "; the host took %.1f s (steal)", steal_s);
	buf_addc(b, '\n');
}

/* Before 6.4 the kernel reports the size of a map with all entries, whether they exist or not. */
static bool kernel_counts_maps(const struct machine *m)
{
	unsigned major = 0, minor = 0;
	sscanf(m->name.release, "%u.%u", &major, &minor);
	return major > 6 || (major == 6 && minor >= 4);
}

/* With -v: the cost of the recording. */
static void add_details(struct buf *b, const struct recording *r)
{
	const struct collect_stats *st = &r->stats;
	if (log_level() < LOG_VERBOSE)
		return;
	buf_addf(b, "  seen  %u processes, %u files, on %u CPUs; stacks by %s\n", st->processes,
		 st->objects, st->cpus, st->walker);
	if (st->wait_hook)
		buf_addf(b, "  stacks of waits are taken at %s\n", st->wait_hook);
	buf_adds(b, "  kernel ");
	fmt_bytes(b, st->ring_bytes);
	buf_adds(b, " ring buffer");
	if (st->kernel_map_bytes) {
		buf_adds(b, ", ");
		fmt_bytes(b, st->kernel_map_bytes);
		buf_adds(b, kernel_counts_maps(&r->machine) ? " tables" : " tables at most");
	}
	if (st->bpf_ns) {
		buf_adds(b, ", ");
		fmt_duration(b, st->bpf_ns);
		buf_adds(b, " in BPF programs");
	}
	buf_addc(b, '\n');
	add_unwinding(b, st);
	add_due(b, r);
}

static int print_text(const struct summary *s)
{
	struct buf b = { 0 };
	add_result(&b, s);
	add_top(&b, s);
	add_waits(&b, s);
	add_gpu(&b, s);
	add_gpu_time(&b, s);
	add_gpu_stalls(&b, s);
	add_heap(&b, s);
	add_go_locks(&b, s);
	add_cost(&b, s);
	add_losses(&b, s);
	add_clock_note(&b, s);
	add_details(&b, s->r);
	add_outputs(&b, s->r);
	add_per_thread(&b, s->r);
	term_fit(&s->r->line->term, &b);
	if (log_level() > LOG_QUIET && write(STDERR_FILENO, b.data, b.len) < 0)
		b.len = 0; /* no one can be notified */
	buf_done(&b);
	return CMD_OK;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_numbers(struct json *j, const struct summary *s)
{
	const struct recording *r = s->r;
	const struct collect_stats *st = &r->stats;
	json_key_u64(j, "duration_ns", r->end_mono_ns - r->start_mono_ns);
	json_key_u64(j, "samples", st->samples);
	json_key_u64(j, "lost", s->lost);
	json_key_u64(j, "truncated", st->truncated);
	json_key_u64(j, "unsymbolized", st->unsymbolized);
	json_key_u64(j, "own_cpu_ns", r->profile->meta.own_cpu_ns);
	json_key_u64(j, "own_sampling_cpu_ns", r->end_cpu_ns - r->start_cpu_ns);
	json_key_u64(j, "own_bpf_ns", st->bpf_ns);
	json_key_u64(j, "own_peak_bytes", r->profile->meta.own_peak_bytes);
	json_key_u64(j, "ring_bytes", st->ring_bytes);
	json_key_u64(j, "kernel_map_bytes", st->kernel_map_bytes);
	json_key_u64(j, "read_bytes", st->read_bytes);
	json_key_u64(j, "first_sample_after_ns",
		     st->first_sample_ns > r->start_mono_ns ? st->first_sample_ns - r->start_mono_ns
							    : 0);
	json_key_u64(j, "cpus", st->cpus);
	json_key_u64(j, "processes", st->processes);
	json_key_u64(j, "objects", st->objects);
	json_key_str(j, "clock", st->clock);
	json_key_str(j, "walker", st->walker);
	if (r->collect.sampler.events & COLLECT_HEAP) {
		json_key_u64(j, "heap_programs", st->heap.programs);
		json_key_u64(j, "heap_samples", st->heap.samples);
		json_key_u64(j, "heap_without_row", st->heap.dropped);
		json_key_u64(j, "heap_slots_foreign", st->heap.slots_foreign);
		json_key_u64(j, "heap_mean_bytes", st->heap.mean_bytes);
		json_key_u64(j, "heap_go_programs", st->heap.go_programs);
		json_key_u64(j, "heap_go_stacks", st->heap.go_stacks);
		json_key_u64(j, "heap_java_programs", st->heap.java_programs);
		json_key_u64(j, "heap_java_samples", st->heap.java_samples);
		json_key_text(j, "heap_problem", st->heap.problem[0] ? st->heap.problem : NULL);
	}
	if (r->collect.sampler.events & COLLECT_LOCK) {
		json_key_u64(j, "lock_go_programs", st->heap.go_lock_programs);
		json_key_u64(j, "lock_go_stacks", st->heap.go_lock_stacks);
		json_key_text(j, "lock_problem",
			      st->heap.lock_problem[0] ? st->heap.lock_problem : NULL);
	}
	if (r->collect.sampler.events & COLLECT_GPU_INSIDE) {
		json_key_u64(j, "gpu_programs", st->gpu_time.programs);
		json_key_u64(j, "gpu_records", st->gpu_time.records);
		json_key_u64(j, "gpu_exact_ns", st->gpu_time.exact_ns);
		json_key_u64(j, "gpu_estimated_ns", st->gpu_time.estimated_ns);
		json_key_u64(j, "gpu_unknown_ns", st->gpu_time.unknown_ns);
	}
	if (r->collect.sampler.events & COLLECT_GPU_STALL) {
		json_key_u64(j, "gpu_stalls", st->gpu_stall.samples);
		json_key_u64(j, "gpu_stalls_not_issued", st->gpu_stall.not_issued);
		json_key_u64(j, "gpu_stalls_exact", st->gpu_stall.exact);
		json_key_u64(j, "gpu_stalls_estimated", st->gpu_stall.estimated);
		json_key_num(j, "gpu_stalls_estimate_error", st->gpu_stall.estimate_error);
		json_key_u64(j, "gpu_stalls_without_stack", st->gpu_stall.no_stack);
		json_key_u64(j, "gpu_stalls_without_code", st->gpu_stall.no_code);
		json_key_u64(j, "gpu_stalls_unclear_code", st->gpu_stall.unclear);
		json_key_u64(j, "gpu_stalls_modules_in_files", st->gpu_stall.in_files);
		json_key_u64(j, "gpu_stalls_of_others", st->gpu_stall.other);
		json_key_u64(j, "gpu_stall_period_cycles",
			     st->gpu_stall.shortest_period ? 1ull << st->gpu_stall.shortest_period
							   : 0);
	}
	if (!st->wait_hook)
		return;
	json_key_str(j, "wait_hook", st->wait_hook);
	json_key_u64(j, "waits", st->waits);
	json_key_u64(j, "waits_not_sent", st->waits_sampled);
	if (collect_takes_blocked(r->collect.sampler.events))
		json_key_u64(j, "short_waits_ns", st->short_off_ns);
}

/* How stacks were walked. */
static void put_unwinding(struct json *j, const struct collect_stats *st)
{
	json_key(j, "truncated_by");
	json_obj(j);
	for (uint32_t end = 0; end < WALK_ENDS; end++)
		if (walk_end_reason(end) && st->ends[end])
			json_key_u64(j, walk_end_reason(end), st->ends[end]);
	json_end(j);
	json_key_u64(j, "frames_by_table", st->frames_by_table);
	json_key_u64(j, "frames_by_frame_pointer", st->frames_by_fp);
	json_key_u64(j, "walked_in_user_space", st->raw);
	json_key_u64(j, "walked_in_user_space_bytes", st->raw_bytes);
	json_key_u64(j, "not_walked_in_user_space", st->raw_no_room + st->raw_no_time);
	json_key_u64(j, "unwind_tables", st->tables);
	json_key_u64(j, "unwind_table_bytes", st->table_bytes);
	json_key_u64(j, "unwind_tables_evicted", st->tables_evicted);
	json_key_u64(j, "unwind_tables_refused", st->tables_refused);
	json_key_u64(j, "unwind_tables_from_disk", st->tables_loaded);
	json_key_u64(j, "unwind_tables_damaged_on_disk", st->tables_damaged);
}

static void put_losses(struct json *j, const struct profile *p)
{
	json_key(j, "losses");
	json_obj(j);
	for (int i = 0; i < LOSS_REASONS; i++)
		if (p->meta.loss[i])
			json_key_u64(j, loss_reasons[i].name, p->meta.loss[i]);
	json_end(j);
	json_key(j, "losses_ns");
	json_obj(j);
	for (int i = 0; i < LOSS_REASONS; i++)
		if (p->meta.loss_ns[i])
			json_key_i64(j, loss_reasons[i].name, p->meta.loss_ns[i]);
	json_end(j);
}

static void put_top(struct json *j, const struct summary *s)
{
	const struct tree *t = s->tree;
	json_key(j, "top");
	json_arr(j);
	for (size_t i = 0; i < s->top.rows.n && i < TOP_SHOWN; i++) {
		const struct top_row *row = &s->top.rows.v[i];
		const struct tree_func *f = &t->funcs.v[row->func];
		json_obj(j);
		json_key_str(j, "function", strtab_get(&t->strings, f->name));
		json_key_str(j, "binary", strtab_get(&t->strings, f->binary));
		json_key_num(j, "self_percent", percent(row->self, s->top.total));
		json_end(j);
	}
	json_end(j);
}

static void put_outputs(struct json *j, const struct recording *r)
{
	json_key(j, "written");
	json_arr(j);
	for (size_t i = 0; i < r->outputs.n; i++) {
		if (!r->outputs.v[i].written)
			continue;
		json_obj(j);
		json_key_str(j, "file", r->outputs.v[i].path);
		json_key_str(j, "format", r->outputs.v[i].format->name);
		json_key_u64(j, "bytes", r->outputs.v[i].size_bytes);
		json_end(j);
	}
	json_end(j);
}

static void put_per_thread(struct json *j, const struct thread_files *t)
{
	if (!t->summary)
		return;
	json_key(j, "per_thread");
	json_obj(j);
	json_key_str(j, "file", t->summary);
	json_key_u64(j, "threads", t->threads);
	json_key_u64(j, "threads_without_files", t->left_out);
	json_end(j);
}

static int print_json(const struct summary *s)
{
	const struct collect_missing *missing;
	size_t n_missing = collect_get_missing(s->r->collector, &missing);
	struct buf b = { 0 };
	struct json j = json_to(&b);
	json_obj(&j);
	put_numbers(&j, s);
	kernel_missing_json(&j, missing, n_missing);
	put_unwinding(&j, &s->r->stats);
	put_losses(&j, s->r->profile);
	put_top(&j, s);
	put_outputs(&j, s->r);
	put_per_thread(&j, &s->r->per_thread);
	json_end(&j);
	buf_addc(&b, '\n');
	return cmd_print(&b);
}

int summary_print(struct recording *r)
{
	struct summary s = {
		.r = r,
		.lost = profile_lost_samples(r->profile),
		.own_percent =
			percent(r->end_cpu_ns - r->start_cpu_ns, r->end_mono_ns - r->start_mono_ns),
		.own_bpf_percent = percent(r->stats.bpf_ns, r->end_mono_ns - r->start_mono_ns),
	};
	struct tree_opts opts = { .type = profile_pick_type(r->profile, NULL) };
	if (opts.type == UINT32_MAX || tree_build(r->profile, &opts, &s.tree, NULL) < 0)
		s.tree = tree_new();
	top_build(s.tree, &s.top);
	int status = r->line->globals.json ? print_json(&s) : print_text(&s);
	top_done(&s.top);
	tree_free(s.tree);
	return status;
}
