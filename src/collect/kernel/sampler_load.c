/* Settles the options of the sampler, and loads its BPF object.
 *
 * Features are passed as constants, so the verifier skips unused branches. Programs load in
 * groups: base, walker, runtimes, waits, wakers; GPU probes when a library is first seen. If the
 * verifier refuses a program, it is loaded alone for its message, once without the runtimes, then
 * the cheapest group is dropped. */
#include "collect/kernel/sampler_state.h"

#include "base/err.h"
#include "base/mem.h"
#include "bpf/unwind_table.h"
#include "collect/kernel/load.h"
#include "collect/kernel/sampler.h"
#include "collect/proc/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Loading: opens the object, configures it for the requested events and this kernel's features, and
 * loads it. If the kernel refuses a program, its group is given up, and loading starts again
 * without it. */

enum { RING_MAX_BYTES = 1 << 30 };
enum { SEGMENT_BYTES = UNWIND_SEGMENT_CHUNKS * UNWIND_CHUNK };

bool sampler_samples_cpus(const struct sampler *s)
{
	return s->opts.events & (COLLECT_CPU | COLLECT_WALL);
}

/* --- what is missing -------------------------------------------------------------------------- */

int sampler_refused(const struct sampler *s, enum refusal_step step, int rc, const char *name,
		    struct err *err)
{
	return refusal_explain(&(struct refusal){ step, rc, name, NULL, s->opts.kernel.btf_file },
			       err);
}

static bool is_missing(const struct sampler *s, enum collect_group group)
{
	for (size_t i = 0; i < s->n_missing; i++)
		if (s->missing[i].group == group)
			return true;
	return false;
}

/* Gives up a group: its events are no longer requested. */
static struct collect_missing *give_up(struct sampler *s, enum collect_group group)
{
	struct collect_missing *m = &s->missing[s->n_missing++];

	*m = (struct collect_missing){ .group = group };
	if (group == GROUP_WAITS)
		s->opts.events &= ~(uint32_t)COLLECT_WAITS;
	if (group == GROUP_FAULTS)
		s->opts.events &= ~(uint32_t)COLLECT_FAULTS;
	if (group == GROUP_WAITS || group == GROUP_WAKERS) {
		s->opts.events &= ~(uint32_t)COLLECT_LOCK;
		s->opts.waits.wakers = s->opts.waits.waker_stacks = false;
	}
	return m;
}

/* --- before loading --------------------------------------------------------------------------- */

/* Returns the size of both rings together. They hold the requested rate of waits for the time that
 * the reader may not get a CPU. */
static uint64_t ring_size(const struct sampler_opts *opts)
{
	enum { WAITS_LAST_MS = 200 };
	uint64_t size = sysconf(_SC_PAGESIZE), want = opts->buffer_bytes;
	uint64_t waits = opts->waits.max_rate * WAITS_LAST_MS / 1000 * sizeof(struct event_wait);

	if (opts->events & ~COLLECT_CPU && waits > want)
		want = waits;
	while (size < want && size < RING_MAX_BYTES)
		size *= 2;
	return size;
}

/* Samples have a separate ring (bpf/maps.h), with half of the bytes where others send as well.
 * Unused rings are not created. */
static void size_rings(struct sampler *s)
{
	struct sample_bpf__rodata *k = s->bpf->rodata;
	const uint64_t least = sysconf(_SC_PAGESIZE);
	bool samples = sampler_samples_cpus(s);
	bool others = s->opts.events & (COLLECT_WAITS | COLLECT_FAULTS) ||
		      collect_probes_libraries(s->opts.events);
	uint64_t bytes = samples && others ? s->ring_bytes / 2 : s->ring_bytes;

	if (bytes < least)
		bytes = least;
	k->wake_bytes = k->sample_wake_bytes = bytes / 2;
	bpf_map__set_max_entries(s->bpf->maps.ring, bytes);
	bpf_map__set_max_entries(s->bpf->maps.sample_ring, bytes);
	bpf_map__set_autocreate(s->bpf->maps.ring, others);
	bpf_map__set_autocreate(s->bpf->maps.sample_ring, samples);
}

static const enum sample_filter filters[] = {
	[TARGET_ALL] = FILTER_ALL,   [TARGET_PID] = FILTER_TGID,      [TARGET_TID] = FILTER_TID,
	[TARGET_COMM] = FILTER_COMM, [TARGET_CGROUP] = FILTER_CGROUP,
};

/* Shrinks unused maps to one entry. */
static void shrink_space(struct sampler *s)
{
	struct bpf_map *maps[] = { s->bpf->maps.processes,
				   s->bpf->maps.blocks,
				   s->bpf->maps.tables,
				   s->bpf->maps.cpython_processes,
				   s->bpf->maps.cpython_layouts,
				   s->bpf->maps.python_threads,
				   s->bpf->maps.hotspot_processes,
				   s->bpf->maps.hotspot_layouts,
				   s->bpf->maps.v8_processes,
				   s->bpf->maps.php_processes };

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		bpf_map__set_max_entries(maps[i], 1);
}

/* Returns space for the number of threads to expect, from the current number. */
static uint32_t room_for_threads(void)
{
	enum { LEAST = 8192, MOST = 1 << 18 };
	uint32_t room = LEAST, threads = 0;
	FILE *f = fopen("/proc/loadavg", "re");

	if (!f || fscanf(f, "%*s %*s %*s %*u/%u", &threads) != 1)
		threads = LEAST;
	if (f)
		fclose(f);
	while (room < 2 * threads && room < MOST)
		room *= 2;
	return room;
}

/* Preallocates tables if they cannot grow, with space for fewer entries. */
static void fix_tables(struct sampler *s)
{
	enum { PROCESSES = 8192, BLOCKS = 8192, RUNTIMES = 512, GPU_THREADS = 8192 };
	const struct {
		struct bpf_map *map;
		uint32_t most;
	} rooms[] = {
		{ s->bpf->maps.processes, PROCESSES },
		{ s->bpf->maps.blocks, BLOCKS },
		{ s->bpf->maps.cpython_processes, RUNTIMES },
		{ s->bpf->maps.hotspot_processes, RUNTIMES },
		{ s->bpf->maps.v8_processes, RUNTIMES },
		{ s->bpf->maps.php_processes, RUNTIMES },
		{ s->bpf->maps.recipes, RUNTIMES },
		{ s->bpf->maps.gpu_threads, GPU_THREADS },
		{ s->bpf->maps.times_hash, room_for_threads() },
		{ s->bpf->maps.held_hash, room_for_threads() },
	};
	struct bpf_map *map;

	bpf_object__for_each_map(map, s->bpf->obj)
	{
		if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
			bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~BPF_F_NO_PREALLOC);
	}
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
		if (bpf_map__max_entries(rooms[i].map) > rooms[i].most)
			bpf_map__set_max_entries(rooms[i].map, rooms[i].most);
}

/* Of the programs that sample, one is loaded. */
static void choose_sampler(struct sampler *s, bool plain)
{
	struct bpf_program *const all[] = { s->bpf->progs.sample_walk,
					    s->bpf->progs.sample_walk_before_5_17,
					    s->bpf->progs.sample_plain };

	s->program = plain                          ? s->bpf->progs.sample_plain
		     : s->kernel.has & FEATURE_LOOP ? s->bpf->progs.sample_walk
						    : s->bpf->progs.sample_walk_before_5_17;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		bpf_program__set_autoload(all[i], sampler_samples_cpus(s) && all[i] == s->program);
}

static void set_knobs(struct sampler *s, bool plain)
{
	struct sample_bpf__rodata *k = s->bpf->rodata;
	bool follow = s->opts.target == TARGET_PID || s->opts.target == TARGET_TID;

	k->filter = filters[s->opts.target];
	k->want_kernel = !s->opts.no_kernel;
	k->want_user = !s->opts.no_user;
	k->max_user = s->opts.max_depth;
	k->has_current_task_btf = (s->kernel.has & FEATURE_CURRENT_TASK) != 0;
	k->has_task_pt_regs = (s->kernel.has & FEATURE_TASK_REGS) != 0;
	k->use_runtimes = !s->opts.no_runtimes && !is_missing(s, GROUP_RUNTIMES);
	k->by_cycles = s->by_cycles;
	k->sample_period_ns = 1000000000ull / s->opts.freq_hz;
	size_rings(s);
	bpf_map__set_max_entries(s->bpf->maps.targets, s->opts.max_targets);
	k->has_gpu = collect_probes_gpu(s->opts.events);
	if (!k->has_gpu)
		bpf_map__set_max_entries(s->bpf->maps.gpu_threads, 1);
	sampler_prepare_faults(s);
	k->use_tables = s->use_tables;
	bpf_map__set_max_entries(s->bpf->maps.segments, s->max_segments);
	if (s->opts.max_processes)
		bpf_map__set_max_entries(s->bpf->maps.processes, s->opts.max_processes);
	if (s->opts.max_blocks)
		bpf_map__set_max_entries(s->bpf->maps.blocks, s->opts.max_blocks);
	if (s->opts.max_walk_ns)
		k->max_walk_ns = s->opts.max_walk_ns;
	if (!s->use_tables)
		shrink_space(s);
	bpf_program__set_autoload(s->bpf->progs.space_fork, s->use_tables);
	bpf_program__set_autoload(s->bpf->progs.follow_fork, s->opts.target == TARGET_PID);
	bpf_program__set_autoload(s->bpf->progs.follow_exec, follow && s->opts.wait_exec);
	bpf_program__set_autoload(s->bpf->progs.follow_exit, follow);
	choose_sampler(s, plain);
}

static void close_object(struct sampler *s)
{
	sample_bpf__destroy(s->bpf);
	s->bpf = NULL;
}

/* NULL: libbpf reads all types of this kernel. */
static const char *types_file(const struct sampler *s)
{
	if (s->opts.kernel.btf_file)
		return s->opts.kernel.btf_file;
	return *s->types.path ? s->types.path : NULL;
}

/* Opens the object and configures it without what is missing. */
static int prepare(struct sampler *s, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types_file(s));
	bool plain = s->opts.plain_walk || is_missing(s, GROUP_WALKER);

	s->bpf = sample_bpf__open_opts(&opts);
	if (!s->bpf)
		return sampler_refused(s, REFUSED_TYPES, errno, NULL, err);
	s->use_tables = !plain && !s->opts.no_user && s->opts.unwind != UNWIND_FP;
	s->max_segments = s->opts.unwind_bytes / SEGMENT_BYTES;
	set_knobs(s, plain);
	int rc = off_cpu_prepare(&s->off_cpu, s->bpf, &s->opts, &s->kernel, err);
	if (rc)
		close_object(s);
	else if (!(s->kernel.has & FEATURE_GROWING_TABLES))
		fix_tables(s);
	return rc;
}

/* --- when the kernel refuses ------------------------------------------------------------------ */

/* Groups of programs by name prefix; other programs are always needed. */
static const struct {
	const char *begins;
	enum collect_group group;
} groups[] = {
	{ "sample_walk", GROUP_WALKER },  { "off_waking", GROUP_WAKERS },
	{ "irq_", GROUP_WAKERS },         { "softirq_", GROUP_WAKERS },
	{ "local_timer_", GROUP_WAKERS }, { "call_function_single_", GROUP_WAKERS },
	{ "off_", GROUP_WAITS },          { "threads_", GROUP_WAITS },
	{ "fault_", GROUP_FAULTS },
};

static enum collect_group group_of(const char *program)
{
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (strncmp(program, groups[i].begins, strlen(groups[i].begins)) == 0)
			return groups[i].group;
	return COLLECT_GROUPS;
}

/* Loads that program again, alone, without what is missing now. */
static int try_alone(struct sampler *s, const char *program, char **log)
{
	int rc = prepare(s, NULL);

	*log = NULL;
	if (rc)
		return rc;
	rc = load_alone(s->bpf->obj, program, log);
	close_object(s);
	return rc;
}

/* Every program that walks a stack includes the walk of interpreters. Returns whether that is what
 * the kernel refuses. */
static bool is_by_runtimes(struct sampler *s, const char *program)
{
	char *log;

	if (is_missing(s, GROUP_RUNTIMES))
		return false;
	give_up(s, GROUP_RUNTIMES);
	bool is_it = try_alone(s, program, &log) == 0;
	free(log);
	s->n_missing--;
	return is_it;
}

/* Returns whether anything that was requested can be recorded without the group. */
static bool is_left_without(const struct sampler *s, enum collect_group group)
{
	if (group == GROUP_WAITS)
		return s->opts.events & ~(uint32_t)COLLECT_WAITS;
	if (group == GROUP_FAULTS)
		return s->opts.events & ~(uint32_t)COLLECT_FAULTS;
	if (group == GROUP_WAKERS)
		return s->opts.events & ~(uint32_t)COLLECT_LOCK;
	return group != GROUP_WALKER || s->opts.unwind != UNWIND_TABLES;
}

/* Returns the group that a refused program costs; COLLECT_GROUPS: nothing can be recorded without
 * it. */
static enum collect_group cost_of(struct sampler *s, const struct refusal *r)
{
	enum collect_group group = group_of(r->name);

	if (group == COLLECT_GROUPS || is_missing(s, group))
		return COLLECT_GROUPS;
	if (r->step == REFUSED_PROGRAM && is_by_runtimes(s, r->name))
		return GROUP_RUNTIMES;
	return is_left_without(s, group) ? group : COLLECT_GROUPS;
}

/* Returns 0 if something is left to record without what was refused. */
static int do_without(struct sampler *s, struct refusal *r, struct err *err)
{
	enum collect_group group = COLLECT_GROUPS;
	char *log = NULL;
	int rc = 0;

	if (r->step == REFUSED_PROGRAM) {
		int again = try_alone(s, r->name, &log);
		r->error = again ? again : r->error;
		r->log = log;
		if (log && s->opts.kernel.on_refused)
			s->opts.kernel.on_refused(s->opts.kernel.on_refused_ctx, r->name, log);
	}
	if (r->step != REFUSED_MAP)
		group = cost_of(s, r);
	if (group == COLLECT_GROUPS) {
		rc = refusal_explain(r, err);
	} else {
		struct collect_missing *m = give_up(s, group);

		refusal_why(r, m->why, sizeof m->why);
	}
	free(log);
	return rc;
}

/* Returns whether a recording would use the group. */
static bool is_asked_for(const struct sampler *s, enum collect_group group)
{
	bool waits = s->opts.events & COLLECT_WAITS, faults = s->opts.events & COLLECT_FAULTS;

	return group == GROUP_WAITS    ? waits
	       : group == GROUP_FAULTS ? faults
	       : group == GROUP_WAKERS ? waits && off_cpu_needs_wakers(&s->opts)
	       : group == GROUP_WALKER
		       ? waits || faults || (sampler_samples_cpus(s) && !s->opts.plain_walk)
	       : group == GROUP_RUNTIMES ? !s->opts.no_user
					 : false;
}

/* Gives up groups that the kernel's types do not support, before the verifier refuses them in its
 * own words. */
static int look_at_types(struct sampler *s, struct err *err)
{
	const char(*why_not)[200] = s->kernel.why_not;

	if (why_not[COLLECT_GROUPS][0]) {
		/* Damaged types have separate messages. */
		if (refusal_check_btf(s->opts.kernel.btf_file, err)) {
			err_prefix(err, "cannot load the BPF programs");
			return -EOPNOTSUPP;
		}
		err_set(err, EOPNOTSUPP, "cannot load the BPF programs: %s",
			why_not[COLLECT_GROUPS]);
		return err_hint(err, "needs a kernel built with CONFIG_DEBUG_INFO_BTF=y, or --btf "
				     "with the types of this kernel");
	}
	for (int g = 0; g < COLLECT_GROUPS; g++) {
		if (!why_not[g][0] || !is_asked_for(s, g))
			continue;
		if (!is_left_without(s, g)) {
			err_set(err, EOPNOTSUPP, "cannot record that: %s", why_not[g]);
			return -EOPNOTSUPP;
		}
		struct collect_missing *m = give_up(s, g);
		snprintf(m->why, sizeof m->why, "%s", why_not[g]);
	}
	return 0;
}

/* Loads all programs, and attaches the ones that a recording can do without. Returns 0, or r states
 * what was refused. */
static int load_and_attach(struct sampler *s, char *program, size_t size, struct refusal *r)
{
	const char *unattached = NULL;
	int rc = load_object(s->bpf->obj, s->bpf->skeleton, program, size);

	mem_trim(); /* frees some 10 MB of heap used by the kernel's BTF */
	if (rc) {
		*r = (struct refusal){ *program ? REFUSED_PROGRAM : REFUSED_MAP, rc, program, NULL,
				       s->opts.kernel.btf_file };
		return rc;
	}
	rc = off_cpu_attach(&s->off_cpu, s->bpf, &unattached);
	if (rc) {
		off_cpu_stop(&s->off_cpu);
		snprintf(program, size, "%s", unattached);
		*r = (struct refusal){ REFUSED_ATTACH, rc, program, NULL, s->opts.kernel.btf_file };
	}
	return rc;
}

/* --- all -------------------------------------------------------------------------------------- */

static uint64_t settled(uint64_t value, uint64_t default_value)
{
	return value ? value : default_value;
}

/* The rings hold the copies of stacks for the time that the reader may not get a CPU, if each
 * sample needs one. */
static uint64_t default_buffer(const struct sampler_opts *o)
{
	enum { COPIES_LAST_MS = 200, COPY_BYTES = RAW_MAX_STACK / 2 };
	const uint64_t least = SAMPLER_BUFFER_MIB << 20, most = SAMPLER_BUFFER_MOST_MIB << 20;
	uint64_t want = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * o->freq_hz * COPIES_LAST_MS /
			1000 * COPY_BYTES;

	return want < least ? least : want < most ? want : most;
}

void sampler_opts_settle(struct sampler_opts *o)
{
	_Static_assert(SAMPLER_MAX_DEPTH == WALK_MAX_USER, "the walker's limit is the default");
	o->max_targets = settled(o->max_targets, COLLECT_MAX_TARGETS);
	o->events = settled(o->events, COLLECT_CPU);
	o->waits.max_block_ns = settled(o->waits.max_block_ns, WAIT_MAX_BLOCK_NS);
	o->freq_hz = settled(o->freq_hz, SAMPLER_FREQ_HZ);
	o->max_depth = settled(o->max_depth, SAMPLER_MAX_DEPTH);
	o->unwind_bytes = settled(o->unwind_bytes, SAMPLER_UNWIND_MIB << 20);
	o->buffer_bytes = settled(o->buffer_bytes, default_buffer(o));
}

static uint32_t first_cpu(const struct sampler *s)
{
	struct cpu_list online = { 0 };
	uint32_t cpu = 0;

	if (!cpu_list_online(s->opts.cpus_file, &online) && online.ids.n)
		cpu = online.ids.v[0];
	cpu_list_done(&online);
	return cpu;
}

/* Opens an event as a trial, and closes it. Cycles can be converted to time only if the kernel
 * shows how long CPUs were busy. */
static int choose_clock(struct sampler *s, struct err *err)
{
	bool can_weigh = s->kernel.has & FEATURE_BUSY_TIME;
	int fd = -ENOENT;

	s->clock = "cpu-clock";
	if (s->opts.clock == CLOCK_CPU || !sampler_samples_cpus(s))
		return 0;
	if (can_weigh)
		fd = sampler_open_event(first_cpu(s), s->opts.freq_hz, CLOCK_CYCLES, &s->clock);
	s->by_cycles = fd >= 0;
	if (s->by_cycles) {
		close(fd);
		return 0;
	}
	s->clock = "cpu-clock";
	if (s->opts.clock == CLOCK_AUTO)
		return 0;
	if (can_weigh)
		err_set(err, EOPNOTSUPP, "cannot sample by cycles: %s", strerror(-fd));
	else
		err_set(err, EOPNOTSUPP,
			"cannot sample by cycles: the kernel does not report the busy time of CPUs "
			"(CONFIG_SCHEDSTATS)");
	return err_hint(err, "try:  --clock cpu-clock");
}

static void find_features(struct sampler *s)
{
	kernel_features_find(types_file(s), s->opts.kernel.without, &s->kernel);
}

static bool is_any_lost(const struct sampler *s)
{
	bool is_lost = s->kernel.why_not[COLLECT_GROUPS][0];

	for (int g = 0; g < COLLECT_GROUPS; g++)
		is_lost |= s->kernel.why_not[g][0] && is_asked_for(s, g);
	return is_lost;
}

/* Reads all types before a group is lost by the stored part of them. */
static int look_at_kernel(struct sampler *s, struct err *err)
{
	find_features(s);
	if (*s->types.path && is_any_lost(s)) {
		types_part_close(&s->types);
		find_features(s);
	}
	int rc = look_at_types(s, err);
	return rc ? rc : choose_clock(s, err);
}

int sampler_load(struct sampler *s, struct err *err)
{
	struct refusal refusal;
	char program[64];

	s->ring_bytes = ring_size(&s->opts);
	if (s->opts.kernel.btf_file) {
		int rc = refusal_check_btf(s->opts.kernel.btf_file, err);
		if (rc)
			return rc;
	} else {
		types_part_open(&s->types, s->opts.kernel.types_cache);
	}
	int rc = look_at_kernel(s, err);
	while (!rc) {
		rc = prepare(s, err);
		if (rc)
			break;
		rc = load_and_attach(s, program, sizeof program, &refusal);
		if (!rc)
			break;
		close_object(s);
		if (*s->types.path) { /* again with all types, so that they are not the cause */
			types_part_close(&s->types);
			rc = look_at_kernel(s, err);
		} else {
			rc = do_without(s, &refusal, err);
		}
	}
	types_part_close(&s->types);
	return rc;
}
