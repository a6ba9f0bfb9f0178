#include "collect/sampler_state.h"

#include "base/mem.h"
#include "collect/cpus.h"
#include "collect/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Loading: the object is opened, set up for what is asked for and for what this kernel has, and loaded. When the kernel refuses a program,
 * the group that it belongs to is given up, and all begins again without it. */

enum { RING_DEFAULT_BYTES = 1 << 20, RING_MAX_BYTES = 1 << 30 };
enum { SEGMENT_BYTES = UNWIND_SEGMENT_CHUNKS * UNWIND_CHUNK, UNWIND_DEFAULT_BYTES = 32 << 20 };

enum { WAITS = COLLECT_OFF_CPU | COLLECT_SCHED_WAIT | COLLECT_WALL };

bool sampler_samples_cpus(const struct sampler *s)
{
	return s->opts.events & (COLLECT_CPU | COLLECT_WALL);
}

/* --- what is missing -------------------------------------------------------------------------------------------------- */

int sampler_refused(const struct sampler *s, enum refusal_step step, int rc, const char *name,
		    struct err *err)
{
	return refusal_explain(&(struct refusal){ step, rc, name, NULL, s->opts.btf_file }, err);
}

static bool is_missing(const struct sampler *s, enum collect_group group)
{
	for (size_t i = 0; i < s->n_missing; i++)
		if (s->missing[i].group == group)
			return true;
	return false;
}

/* What is asked for is less from here on. */
static struct collect_missing *give_up(struct sampler *s, enum collect_group group)
{
	struct collect_missing *m = &s->missing[s->n_missing++];

	*m = (struct collect_missing){ .group = group };
	if (group == GROUP_WAITS)
		s->opts.events &= ~(uint32_t)WAITS;
	if (group == GROUP_WAITS || group == GROUP_WAKERS)
		s->opts.wakers = s->opts.waker_stacks = false;
	return m;
}

/* --- before loading --------------------------------------------------------------------------------------------------- */

/* Of both rings. Of as many waits as are asked for they hold what comes while the reader does not get a CPU. */
static uint64_t ring_size(const struct collect_opts *opts)
{
	enum { WAITS_LAST_MS = 200 };
	uint64_t size = sysconf(_SC_PAGESIZE), want = opts->buffer_bytes;
	uint64_t waits =
		(uint64_t)opts->max_rate * WAITS_LAST_MS / 1000 * sizeof(struct event_wait);

	if (!want)
		want = RING_DEFAULT_BYTES;
	if (opts->events & ~COLLECT_CPU && waits > want)
		want = waits;
	while (size < want && size < RING_MAX_BYTES)
		size *= 2;
	return size;
}

/* The sampler has a ring of its own (bpf/maps.h): a half where others send, too, and what is not used is not made. */
static void size_rings(struct sampler *s)
{
	struct sample_bpf__rodata *k = s->bpf->rodata;
	const uint64_t least = sysconf(_SC_PAGESIZE);
	bool samples = sampler_samples_cpus(s);
	bool others = s->opts.events & WAITS || collect_probes_gpu(&s->opts);
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

/* What is not used takes no room. */
static void shrink_space(struct sampler *s)
{
	struct bpf_map *maps[] = { s->bpf->maps.processes,       s->bpf->maps.blocks,
				   s->bpf->maps.tables,          s->bpf->maps.cpython_processes,
				   s->bpf->maps.cpython_layouts, s->bpf->maps.python_threads };

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		bpf_map__set_max_entries(maps[i], 1);
}

/* Threads that there may be, from those that there are. */
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

/* Where tables cannot grow they are allocated beforehand, and have room for less. */
static void fix_tables(struct sampler *s)
{
	enum { PROCESSES = 8192, BLOCKS = 8192, PYTHONS = 512, GPU_THREADS = 8192 };
	const struct {
		struct bpf_map *map;
		uint32_t most;
	} rooms[] = {
		{ s->bpf->maps.processes, PROCESSES },
		{ s->bpf->maps.blocks, BLOCKS },
		{ s->bpf->maps.cpython_processes, PYTHONS },
		{ s->bpf->maps.recipes, PYTHONS },
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

static void set_knobs(struct sampler *s, bool plain)
{
	struct sample_bpf__rodata *k = s->bpf->rodata;
	bool follow = s->opts.target == TARGET_PID || s->opts.target == TARGET_TID;

	k->filter = filters[s->opts.target];
	k->want_kernel = !s->opts.no_kernel;
	k->want_user = !s->opts.no_user;
	if (s->opts.max_depth && s->opts.max_depth < WALK_MAX_USER)
		k->max_user = s->opts.max_depth;
	k->has_current_task_btf = (s->kernel.has & FEATURE_CURRENT_TASK) != 0;
	k->has_task_pt_regs = (s->kernel.has & FEATURE_TASK_REGS) != 0;
	k->use_python = !is_missing(s, GROUP_RUNTIMES);
	k->by_cycles = s->by_cycles;
	k->sample_period_ns = 1000000000ull / s->opts.freq_hz;
	size_rings(s);
	bpf_map__set_max_entries(s->bpf->maps.targets, s->opts.max_targets);
	k->has_gpu = collect_probes_gpu(&s->opts);
	if (!k->has_gpu)
		bpf_map__set_max_entries(s->bpf->maps.gpu_threads, 1);
	bpf_program__set_autoload(s->bpf->progs.sample_walk, sampler_samples_cpus(s) && !plain);
	bpf_program__set_autoload(s->bpf->progs.sample_plain, sampler_samples_cpus(s) && plain);
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
	s->program = plain ? s->bpf->progs.sample_plain : s->bpf->progs.sample_walk;
}

static void close_object(struct sampler *s)
{
	sample_bpf__destroy(s->bpf);
	s->bpf = NULL;
}

/* Opens the object, with all that is not missing. */
static int prepare(struct sampler *s, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = s->opts.btf_file);
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

/* --- when the kernel refuses ------------------------------------------------------------------------------------------ */

/* Programs by how their names begin; others are needed whatever is recorded. */
static const struct {
	const char *begins;
	enum collect_group group;
} groups[] = {
	{ "sample_walk", GROUP_WALKER },  { "off_waking", GROUP_WAKERS },
	{ "irq_", GROUP_WAKERS },         { "softirq_", GROUP_WAKERS },
	{ "local_timer_", GROUP_WAKERS }, { "call_function_single_", GROUP_WAKERS },
	{ "off_", GROUP_WAITS },          { "threads_", GROUP_WAITS },
};

static enum collect_group group_of(const char *program)
{
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (strncmp(program, groups[i].begins, strlen(groups[i].begins)) == 0)
			return groups[i].group;
	return COLLECT_GROUPS;
}

/* Loads that one again, alone, with what is missing now. */
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

/* Every program that walks a stack has the walk of interpreters in it: is it that which the kernel refuses? */
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

/* Whether anything that was asked for can be recorded without the group. */
static bool is_left_without(const struct sampler *s, enum collect_group group)
{
	if (group == GROUP_WAITS)
		return s->opts.events & ~(uint32_t)WAITS;
	return group != GROUP_WALKER || s->opts.unwind != UNWIND_TABLES;
}

/* What a refused program costs; COLLECT_GROUPS: nothing can be recorded without it. */
static enum collect_group cost_of(struct sampler *s, const struct refusal *r)
{
	enum collect_group group = group_of(r->name);

	if (group == COLLECT_GROUPS || is_missing(s, group))
		return COLLECT_GROUPS;
	if (r->step == REFUSED_PROGRAM && is_by_runtimes(s, r->name))
		return GROUP_RUNTIMES;
	return is_left_without(s, group) ? group : COLLECT_GROUPS;
}

/* 0: without what is refused there is something left to record. */
static int do_without(struct sampler *s, struct refusal *r, struct err *err)
{
	enum collect_group group = COLLECT_GROUPS;
	char *log = NULL;
	int rc = 0;

	if (r->step == REFUSED_PROGRAM) {
		int again = try_alone(s, r->name, &log);
		r->error = again ? again : r->error;
		r->log = log;
		if (log && s->opts.on_refused)
			s->opts.on_refused(s->opts.on_refused_ctx, r->name, log);
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

/* Whether what is left when the group is given up is worth recording. */
static bool is_asked_for(const struct sampler *s, enum collect_group group)
{
	bool waits = s->opts.events & WAITS;

	return group == GROUP_WAITS      ? waits
	       : group == GROUP_WAKERS   ? waits && s->opts.wakers
	       : group == GROUP_WALKER   ? waits || (sampler_samples_cpus(s) && !s->opts.plain_walk)
	       : group == GROUP_RUNTIMES ? !s->opts.no_user
					 : false;
}

/* What the kernel's types have nothing for is given up before the verifier says so in its own words. */
static int look_at_types(struct sampler *s, struct err *err)
{
	const char(*why_not)[200] = s->kernel.why_not;

	if (why_not[COLLECT_GROUPS][0]) {
		/* Damaged types have words of their own. */
		if (refusal_check_btf(s->opts.btf_file, err)) {
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

/* Loads all, and attaches what can be done without: 0, or r says what is refused. */
static int load_and_attach(struct sampler *s, char *program, size_t size, struct refusal *r)
{
	const char *unattached = NULL;
	int rc = load_object(s->bpf->obj, s->bpf->skeleton, program, size);

	mem_trim(); /* the kernel's BTF was some 10 MB of heap */
	if (rc) {
		*r = (struct refusal){ *program ? REFUSED_PROGRAM : REFUSED_MAP, rc, program, NULL,
				       s->opts.btf_file };
		return rc;
	}
	rc = off_cpu_attach(&s->off_cpu, s->bpf, &unattached);
	if (rc) {
		off_cpu_stop(&s->off_cpu);
		snprintf(program, size, "%s", unattached);
		*r = (struct refusal){ REFUSED_ATTACH, rc, program, NULL, s->opts.btf_file };
	}
	return rc;
}

/* --- all -------------------------------------------------------------------------------------------------------------- */

static void settle_opts(struct sampler *s)
{
	if (!s->opts.events)
		s->opts.events = COLLECT_CPU;
	if (!s->opts.unwind_bytes)
		s->opts.unwind_bytes = UNWIND_DEFAULT_BYTES;
	if (s->opts.unwind_bytes < SEGMENT_BYTES)
		s->opts.unwind_bytes = SEGMENT_BYTES;
	s->ring_bytes = ring_size(&s->opts);
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

/* By a first event, which is closed again. Cycles are worth time only where the kernel tells how long CPUs were busy. */
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
			"cannot sample by cycles: the kernel does not say how long CPUs were busy "
			"(CONFIG_SCHEDSTATS)");
	return err_hint(err, "try:  --clock cpu-clock");
}

int sampler_load(struct sampler *s, struct err *err)
{
	struct refusal refusal;
	char program[64];

	settle_opts(s);
	if (s->opts.btf_file) {
		int rc = refusal_check_btf(s->opts.btf_file, err);
		if (rc)
			return rc;
	}
	kernel_features_find(s->opts.btf_file, s->opts.without, &s->kernel);
	int rc = look_at_types(s, err);
	if (!rc)
		rc = choose_clock(s, err);
	while (!rc) {
		rc = prepare(s, err);
		if (rc)
			break;
		rc = load_and_attach(s, program, sizeof program, &refusal);
		if (!rc)
			return 0;
		close_object(s);
		rc = do_without(s, &refusal, err);
	}
	return rc;
}
