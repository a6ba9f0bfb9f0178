/* Sets the constants of the off-CPU programs, attaches them, and runs the iterators. */
#include "collect/kernel/off_cpu.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/kernel/target.h"
#include "sample.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- before loading --------------------------------------------------------------------------- */

/* In the order of attachment. */
struct off_cpu_program {
	struct bpf_program *prog;
	bool wanted;
	bool is_at_switches; /* runs so often that it is attached in windows only */
};
enum { OFF_CPU_PROGRAMS = 18 };

bool off_cpu_needs_wakers(const struct sampler_opts *opts)
{
	return opts->waits.wakers || opts->events & COLLECT_LOCK;
}

static void list_programs(const struct off_cpu *o, struct sample_bpf *bpf, bool wakers, bool waking,
			  struct off_cpu_program *out)
{
	bool on = o->on, irq = on && wakers && (o->has & FEATURE_IRQ_EVENTS);
	bool vectors = on && wakers && (o->has & FEATURE_X86_VECTORS);
	bool prev_state = o->has & FEATURE_PREV_STATE;
	const struct off_cpu_program all[OFF_CPU_PROGRAMS] = {
		{ bpf->progs.off_exec, on, false },
		{ bpf->progs.off_exit, on, false },
		{ bpf->progs.off_switched, on && !o->at_sys_exit, true },
		{ bpf->progs.off_sys_exit, on && o->at_sys_exit, true },
		{ bpf->progs.off_migrate, on && (o->has & FEATURE_SLEEPERS_MOVE), false },
		{ bpf->progs.off_switch, on && prev_state, true },
		{ bpf->progs.off_switch_before_5_18, on && !prev_state, true },
		{ bpf->progs.irq_handler_begins, irq, true },
		{ bpf->progs.irq_handler_ends, irq, true },
		{ bpf->progs.softirq_begins, irq, true },
		{ bpf->progs.softirq_ends, irq, true },
		{ bpf->progs.local_timer_begins, vectors, true },
		{ bpf->progs.local_timer_ends, vectors, true },
		{ bpf->progs.call_function_single_begins, vectors, true },
		{ bpf->progs.call_function_single_ends, vectors, true },
		{ bpf->progs.irq_work_begins, vectors, true },
		{ bpf->progs.irq_work_ends, vectors, true },
		{ bpf->progs.off_waking, on && waking, true },
	};

	memcpy(out, all, sizeof all);
}

static void create_maps(const struct off_cpu *o, struct sample_bpf *bpf, bool waking)
{
	bool storage = o->has & FEATURE_TASK_STORAGE, held = o->on && o->at_sys_exit;
	const struct {
		struct bpf_map *map;
		bool wanted;
	} maps[] = {
		{ bpf->maps.times_storage, o->on && storage },
		{ bpf->maps.times_hash, o->on && !storage },
		{ bpf->maps.held_storage, held && storage },
		{ bpf->maps.held_hash, held && !storage },
		{ bpf->maps.wait_rates, o->on },
		{ bpf->maps.open_scratch, o->on },
		{ bpf->maps.open_python, o->on },
		{ bpf->maps.interrupts, o->on && waking },
	};

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		bpf_map__set_autocreate(maps[i].map, maps[i].wanted);
}

/* Buffers to build stacks in, for each CPU: samples, waits (and page faults) and wakers have their
 * own. */
static void size_scratches(const struct off_cpu *o, struct sample_bpf *bpf,
			   const struct sampler_opts *opts)
{
	bool others = o->on || opts->events & COLLECT_FAULTS;
	bool wakers = o->on && (opts->waits.waker_stacks || opts->events & COLLECT_LOCK);
	int n = !others ? 1 : wakers ? 3 : 2;

	bpf_map__set_max_entries(bpf->maps.scratches, n);
	bpf_map__set_max_entries(bpf->maps.python_walks, n);
	bpf_map__set_max_entries(bpf->maps.hotspot_walks, n);
	bpf_map__set_max_entries(bpf->maps.v8_walks, n);
	bpf_map__set_max_entries(bpf->maps.php_walks, n);
	bpf_map__set_max_entries(bpf->maps.known, others ? 2 : 1);
}

static uint32_t wanted_parts(uint32_t events)
{
	uint32_t parts = 0;

	if (events & (COLLECT_OFF_CPU | COLLECT_WALL))
		parts |= WAIT_OFF_CPU;
	if (events & (COLLECT_SCHED_WAIT | COLLECT_WALL))
		parts |= WAIT_SCHED;
	if (events & COLLECT_WALL)
		parts |= WAIT_STOPPED_PART;
	return parts;
}

/* Returns the kernel's id of a cgroup. */
static uint64_t cgroup_number(const char *path)
{
	int fd = target_open_cgroup(path, NULL);
	struct stat st = { 0 };

	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		st.st_ino = 0;
	close(fd);
	return st.st_ino;
}

static void set_limits(struct sample_bpf *bpf, struct wait_limits limits)
{
	bpf->bss->quantum_ns = limits.quantum_ns;
	bpf->data->cpu_waits = limits.cpu_waits;
}

static void begin_pace(struct off_cpu *o, struct sample_bpf *bpf, uint64_t per_window)
{
	int n = libbpf_num_possible_cpus();

	off_cpu_done(o);
	o->pace.per_window = per_window;
	o->pace.n_cpus = n > 0 ? n : 1;
	o->pace.cpu_ns = xcalloc(o->pace.n_cpus, sizeof *o->pace.cpu_ns);
	o->rates = xcalloc(o->pace.n_cpus, sizeof *o->rates);
	set_limits(bpf, wait_pace_begin(&o->pace));
}

static void set_knobs(struct off_cpu *o, struct sample_bpf *bpf, const struct sampler_opts *opts)
{
	enum { WINDOWS_PER_SECOND = 10 };
	const struct wait_opts *waits = &opts->waits;
	struct sample_bpf__rodata *k = bpf->rodata;
	uint64_t rate = waits->max_rate ? waits->max_rate : WAIT_MAX_RATE;

	k->want_waits = wanted_parts(opts->events);
	k->min_block_ns = waits->min_block_ns;
	k->max_block_ns = waits->max_block_ns;
	k->want_kernel_threads = waits->kernel_threads;
	k->want_thread_times = !opts->is_always || (opts->events & COLLECT_WALL);
	k->want_wakers = waits->wakers;
	k->want_waker_stacks = waits->waker_stacks;
	k->want_locks = (opts->events & COLLECT_LOCK) != 0;
	k->at_sys_exit = o->at_sys_exit;
	k->use_task_storage = (o->has & FEATURE_TASK_STORAGE) != 0;
	o->has_windows = waits->budget > 0 && waits->cut_every_ns && !(opts->events & COLLECT_WALL);
	o->windows.opts =
		(struct switch_windows_opts){ waits->budget, waits->cut_every_ns, clock_mono_ns() };
	k->has_windows = o->has_windows;
	o->stacks_per_window = (rate + WINDOWS_PER_SECOND - 1) / WINDOWS_PER_SECOND;
	begin_pace(o, bpf, o->stacks_per_window);
	if (opts->target == TARGET_CGROUP)
		k->filter_cgroup_id = cgroup_number(opts->cgroup);
}

int off_cpu_prepare(struct off_cpu *o, struct sample_bpf *bpf, const struct sampler_opts *opts,
		    const struct kernel_features *kernel, struct err *err)
{
	struct off_cpu_program programs[OFF_CPU_PROGRAMS];
	bool has_sched_exit = kernel->has & FEATURE_SCHED_EXIT;
	bool copies, waking = off_cpu_needs_wakers(opts);

	o->report_fd = -1;
	o->turns = 1;
	o->in_turns = opts->is_always && !(opts->events & COLLECT_WALL);
	o->on = opts->events & COLLECT_WAITS;
	o->has = kernel->has;
	o->at_sys_exit = opts->waits.hook == WAIT_HOOK_SYS_EXIT ||
			 (opts->waits.hook == WAIT_HOOK_AUTO && !has_sched_exit);
	if (o->on && !o->at_sys_exit && !has_sched_exit) {
		err_set(err, EOPNOTSUPP, "cannot record waits: this kernel has no sched_exit_tp");
		return err_hint(err, "it needs Linux 6.16; use --wait-hook sys_exit");
	}
	list_programs(o, bpf, opts->waits.wakers, waking, programs);
	for (int i = 0; i < OFF_CPU_PROGRAMS; i++)
		bpf_program__set_autoload(programs[i].prog, programs[i].wanted);
	copies = o->has & FEATURE_COPY_FROM_TASK;
	bpf_program__set_autoload(bpf->progs.off_fork, o->on);
	bpf_program__set_autoload(bpf->progs.threads_begin, o->on);
	bpf_program__set_autoload(bpf->progs.threads_report, o->on && copies);
	bpf_program__set_autoload(bpf->progs.threads_report_before_5_18, o->on && !copies);
	create_maps(o, bpf, waking);
	size_scratches(o, bpf, opts);
	if (o->on)
		set_knobs(o, bpf, opts);
	return 0;
}

/* --- running ---------------------------------------------------------------------------------- */

static int attach(struct bpf_program *p, struct bpf_link **links, int *n, const char **refused)
{
	struct bpf_link *link = bpf_program__attach(p);

	if (!link) {
		*refused = bpf_program__name(p);
		return -errno;
	}
	links[(*n)++] = link;
	return 0;
}

static int attach_those(struct off_cpu *o, struct sample_bpf *bpf, bool at_switches,
			const char **refused)
{
	struct off_cpu_program programs[OFF_CPU_PROGRAMS];
	struct bpf_link **links = at_switches ? o->at_switches : o->links;
	int *n = at_switches ? &o->n_at_switches : &o->n_links, rc = 0;

	list_programs(o, bpf, true, true, programs);
	for (int i = 0; i < OFF_CPU_PROGRAMS && !rc; i++)
		if (bpf_program__autoload(programs[i].prog) &&
		    programs[i].is_at_switches == at_switches)
			rc = attach(programs[i].prog, links, n, refused);
	return rc;
}

int off_cpu_attach(struct off_cpu *o, struct sample_bpf *bpf, const char **refused)
{
	int rc = attach_those(o, bpf, false, refused);

	return rc ? rc : attach_those(o, bpf, true, refused);
}

/* Opens a task iterator. Returns its descriptor or -errno. */
static int open_iterator(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);

	if (!link)
		return -errno;
	int fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link); /* the descriptor keeps it alive */
	return fd < 0 ? -errno : fd;
}

int off_cpu_start(struct off_cpu *o, struct sample_bpf *bpf, const char **refused)
{
	char nothing[64];

	if (!o->on)
		return 0;
	switch_windows_begin(&o->windows, clock_mono_ns());
	int rc = attach(bpf->progs.off_fork, o->links, &o->n_links, refused);
	if (rc)
		return rc;
	*refused = bpf_program__name(bpf->progs.threads_begin);
	int fd = open_iterator(bpf->progs.threads_begin);
	if (fd < 0)
		return fd;
	while (read(fd, nothing, sizeof nothing) > 0)
		;
	close(fd);
	return 0;
}

static void detach_at_switches(struct off_cpu *o)
{
	while (o->n_at_switches)
		bpf_link__destroy(o->at_switches[--o->n_at_switches]);
}

void off_cpu_stop(struct off_cpu *o)
{
	detach_at_switches(o);
	while (o->n_links)
		bpf_link__destroy(o->links[--o->n_links]);
	if (o->report_fd >= 0)
		close(o->report_fd);
	o->report_fd = -1;
}

void off_cpu_done(struct off_cpu *o)
{
	free(o->pace.cpu_ns);
	free(o->rates);
	o->rates = NULL;
	o->pace = (struct wait_pace){ 0 };
}

/* Reads the rates of all CPUs; *held: what threads hold on all CPUs together. */
static bool read_rates(struct off_cpu *o, const struct sample_bpf *bpf, int64_t *held)
{
	uint32_t zero = 0;

	*held = 0;
	if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.wait_rates), &zero, o->rates))
		return false;
	for (size_t i = 0; i < o->pace.n_cpus; i++)
		*held += o->rates[i].held;
	return true;
}

/* Clears may_hold when nothing was held at two looks, so that no program needs to check. The second
 * read catches a thread that started in between. */
static void look_at_holders(struct off_cpu *o, struct sample_bpf *bpf, int64_t held)
{
	bool nothing = held == 0;

	if (nothing && o->held_nothing && bpf->bss->may_hold) {
		bpf->bss->may_hold = 0;
		nothing = read_rates(o, bpf, &held) && held == 0;
	}
	if (!nothing)
		bpf->bss->may_hold = 1;
	o->held_nothing = nothing;
}

static bool is_paused(const struct off_cpu *o)
{
	return o->has_windows && o->windows.now.is_paused;
}

void off_cpu_look(struct off_cpu *o, struct sample_bpf *bpf, uint64_t now_ns)
{
	int64_t held;

	if (!o->on || is_paused(o) || now_ns < o->pace.looked_ns + RATE_WINDOW_NS / 2 ||
	    !read_rates(o, bpf, &held))
		return;
	set_limits(bpf, wait_pace_look(&o->pace, o->rates, now_ns));
	if (o->at_sys_exit)
		look_at_holders(o, bpf, held);
}

/* In a window that stands for more than itself, the threads whose turn it is stand for the others,
 * too, because those cannot be reported later. Otherwise the others are reported in their turn, or
 * all of them now if this is the last report. */
static void choose_turn(struct off_cpu *o, struct sample_bpf *bpf, bool is_last)
{
	bool is_window = o->has_windows && !switch_windows_is_whole(&o->windows);

	o->turns = 1;
	if (o->in_turns && (is_window || !is_last))
		o->turns = wait_pace_turns(bpf->bss->pending_waits, o->windows.opts.period_ns,
					   WAIT_REPORTED_WITHIN_NS);
	o->n_reports++;
	bpf->bss->pending_waits = 0;
	bpf->data->report_turns = o->turns;
	bpf->bss->report_turn = o->n_reports % o->turns;
	bpf->data->report_weight = is_window ? o->turns : 1;
}

int off_cpu_report(struct off_cpu *o, struct sample_bpf *bpf, bool is_last)
{
	enum { A_TURN = 64 }; /* bytes; bpf/off_cpu.h writes one per thread */
	char pace[A_TURN];

	if (!o->on)
		return 0;
	if (o->report_fd < 0)
		choose_turn(o, bpf, is_last);
	if (o->report_fd < 0)
		o->report_fd = open_iterator(o->has & FEATURE_COPY_FROM_TASK
						     ? bpf->progs.threads_report
						     : bpf->progs.threads_report_before_5_18);
	if (o->report_fd < 0)
		return o->report_fd;
	long n = read(o->report_fd, pace, sizeof pace);
	if (n > 0)
		return 1;
	int rc = n < 0 ? -errno : 0;
	close(o->report_fd);
	o->report_fd = -1;
	return rc;
}

/* --- windows ---------------------------------------------------------------------------------- */

static struct switch_counts count_switches(struct off_cpu *o, const struct sample_bpf *bpf)
{
	struct switch_counts sum = { 0 };
	int64_t held;

	if (!read_rates(o, bpf, &held))
		return o->windows.counts;
	for (size_t i = 0; i < o->pace.n_cpus; i++) {
		sum.switches += o->rates[i].switches;
		sum.timed += o->rates[i].timed;
		sum.timed_ns += o->rates[i].timed_ns;
	}
	return sum;
}

uint64_t off_cpu_run_ns(struct off_cpu *o, const struct sample_bpf *bpf)
{
	if (!o->on || !o->rates)
		return o->run_ns;
	struct switch_counts c = count_switches(o, bpf);
	if (c.timed)
		o->run_ns = (double)c.timed_ns / c.timed * c.switches;
	return o->run_ns;
}

enum switch_step off_cpu_window_step(struct off_cpu *o, const struct sample_bpf *bpf,
				     uint64_t now_ns)
{
	if (!o->on || !o->has_windows || now_ns < switch_windows_due_ns(&o->windows))
		return SWITCH_STAY;
	struct switch_counts counts = count_switches(o, bpf);

	return switch_windows_step(&o->windows, &counts, now_ns);
}

uint64_t off_cpu_window_due_ns(const struct off_cpu *o)
{
	return o->on && o->has_windows ? switch_windows_due_ns(&o->windows) : UINT64_MAX;
}

/* Programs see the whole new window before they record switches. */
static void tell_window(const struct off_cpu *o, struct sample_bpf *bpf)
{
	volatile struct switch_window *there = &bpf->data->window;

	there->open_ns = o->windows.now.open_ns;
	there->close_ns = o->windows.now.close_ns;
	there->weight = o->windows.now.weight;
	there->number = o->windows.now.number;
	__atomic_store_n(&there->is_paused, 0, __ATOMIC_RELEASE);
}

int off_cpu_open(struct off_cpu *o, struct sample_bpf *bpf, const char **refused)
{
	int rc = attach_those(o, bpf, true, refused);

	if (rc)
		return rc;
	struct switch_counts counts = count_switches(o, bpf);
	switch_windows_opened(&o->windows, &counts, clock_mono_ns());
	tell_window(o, bpf);
	/* As many stacks on average as without windows. */
	o->pace.per_window = o->stacks_per_window * o->windows.now.weight / WINDOW_WEIGHT_ONE;
	o->pace.looked_ns = 0;
	set_limits(bpf, wait_pace_begin(&o->pace));
	bpf->bss->may_hold = 1;
	return 0;
}

/* Waits that have ended get their stacks when their system calls end, which is soon. */
static void wait_for_held(struct off_cpu *o, const struct sample_bpf *bpf)
{
	enum { TRIES = 20, TRY_NS = 1000000 };
	int64_t held = 1;

	for (int i = 0; i < TRIES && o->at_sys_exit && read_rates(o, bpf, &held) && held > 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
}

void off_cpu_close(struct off_cpu *o, struct sample_bpf *bpf)
{
	struct switch_counts counts = count_switches(o, bpf);

	switch_windows_closed(&o->windows, &counts, clock_mono_ns());
	__atomic_store_n(&bpf->data->window.is_paused, 1, __ATOMIC_RELEASE);
	wait_for_held(o, bpf);
	detach_at_switches(o);
}

void off_cpu_cut(struct off_cpu *o, uint64_t now_ns)
{
	if (o->on && o->has_windows)
		switch_windows_cut(&o->windows, now_ns);
}

const char *off_cpu_hook(const struct off_cpu *o)
{
	if (!o->on)
		return NULL;
	return o->at_sys_exit ? "sys_exit" : "sched_exit_tp";
}
