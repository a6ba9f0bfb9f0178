#include "collect/off_cpu.h"

#include "base/mem.h"
#include "collect/target.h"
#include "sample.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- before loading ---------------------------------------------------------------------------- */

/* In the order in which they are attached. */
struct off_cpu_program {
	struct bpf_program *prog;
	bool wanted;
};
enum { OFF_CPU_PROGRAMS = 18 };

static void list_programs(const struct off_cpu *o, struct sample_bpf *bpf, bool wakers,
			  struct off_cpu_program *out)
{
	bool on = o->on, irq = on && wakers && (o->has & FEATURE_IRQ_EVENTS);
	bool vectors = on && wakers && (o->has & FEATURE_X86_VECTORS);
	bool prev_state = o->has & FEATURE_PREV_STATE;
	const struct off_cpu_program all[OFF_CPU_PROGRAMS] = {
		{ bpf->progs.off_exec, on },
		{ bpf->progs.off_exit, on },
		{ bpf->progs.off_switched, on && !o->at_sys_exit },
		{ bpf->progs.off_sys_exit, on && o->at_sys_exit },
		{ bpf->progs.off_migrate, on && (o->has & FEATURE_SLEEPERS_MOVE) },
		{ bpf->progs.off_switch, on && prev_state },
		{ bpf->progs.off_switch_before_5_18, on && !prev_state },
		{ bpf->progs.irq_handler_begins, irq },
		{ bpf->progs.irq_handler_ends, irq },
		{ bpf->progs.softirq_begins, irq },
		{ bpf->progs.softirq_ends, irq },
		{ bpf->progs.local_timer_begins, vectors },
		{ bpf->progs.local_timer_ends, vectors },
		{ bpf->progs.call_function_single_begins, vectors },
		{ bpf->progs.call_function_single_ends, vectors },
		{ bpf->progs.irq_work_begins, vectors },
		{ bpf->progs.irq_work_ends, vectors },
		{ bpf->progs.off_waking, on && wakers },
	};

	memcpy(out, all, sizeof all);
}

static void create_maps(const struct off_cpu *o, struct sample_bpf *bpf, bool wakers)
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
		{ bpf->maps.interrupts, o->on && wakers },
	};

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		bpf_map__set_autocreate(maps[i].map, maps[i].wanted);
}

/* Places to build stacks in, for each CPU: samples, waits and wakers have their own. */
static void size_scratches(const struct off_cpu *o, struct sample_bpf *bpf, bool waker_stacks)
{
	bpf_map__set_max_entries(bpf->maps.scratches, !o->on ? 1 : waker_stacks ? 3 : 2);
	bpf_map__set_max_entries(bpf->maps.python_walks, !o->on ? 1 : waker_stacks ? 3 : 2);
	bpf_map__set_max_entries(bpf->maps.known, o->on ? 2 : 1);
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

/* The number that the kernel knows a cgroup by. */
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

static void set_knobs(struct off_cpu *o, struct sample_bpf *bpf, const struct collect_opts *opts)
{
	enum { DEFAULT_RATE = 20000, WINDOWS_PER_SECOND = 10 };
	struct sample_bpf__rodata *k = bpf->rodata;
	uint64_t rate = opts->max_rate ? opts->max_rate : DEFAULT_RATE;

	k->want_waits = wanted_parts(opts->events);
	k->min_block_ns = collect_min_block_ns(opts);
	if (opts->max_block_ns)
		k->max_block_ns = opts->max_block_ns;
	k->want_kernel_threads = opts->kernel_threads;
	k->want_wakers = opts->wakers;
	k->want_waker_stacks = opts->waker_stacks;
	k->at_sys_exit = o->at_sys_exit;
	k->use_task_storage = (o->has & FEATURE_TASK_STORAGE) != 0;
	begin_pace(o, bpf, (rate + WINDOWS_PER_SECOND - 1) / WINDOWS_PER_SECOND);
	if (opts->target == TARGET_CGROUP)
		k->filter_cgroup_id = cgroup_number(opts->cgroup);
}

int off_cpu_prepare(struct off_cpu *o, struct sample_bpf *bpf, const struct collect_opts *opts,
		    const struct kernel_features *kernel, struct err *err)
{
	struct off_cpu_program programs[OFF_CPU_PROGRAMS];
	bool has_sched_exit = kernel->has & FEATURE_SCHED_EXIT;
	bool copies;

	o->report_fd = -1;
	o->on = wanted_parts(opts->events);
	o->has = kernel->has;
	o->at_sys_exit = opts->wait_hook == WAIT_HOOK_SYS_EXIT ||
			 (opts->wait_hook == WAIT_HOOK_AUTO && !has_sched_exit);
	if (o->on && !o->at_sys_exit && !has_sched_exit) {
		err_set(err, EOPNOTSUPP, "cannot record waits: this kernel has no sched_exit_tp");
		return err_hint(err, "it is of Linux 6.16; every kernel has --wait-hook sys_exit");
	}
	list_programs(o, bpf, opts->wakers, programs);
	for (int i = 0; i < OFF_CPU_PROGRAMS; i++)
		bpf_program__set_autoload(programs[i].prog, programs[i].wanted);
	copies = o->has & FEATURE_COPY_FROM_TASK;
	bpf_program__set_autoload(bpf->progs.off_fork, o->on);
	bpf_program__set_autoload(bpf->progs.threads_begin, o->on);
	bpf_program__set_autoload(bpf->progs.threads_report, o->on && copies);
	bpf_program__set_autoload(bpf->progs.threads_report_before_5_18, o->on && !copies);
	create_maps(o, bpf, opts->wakers);
	size_scratches(o, bpf, opts->waker_stacks);
	if (o->on)
		set_knobs(o, bpf, opts);
	return 0;
}

/* --- running ----------------------------------------------------------------------------------- */

static int attach(struct off_cpu *o, struct bpf_program *p, const char **refused)
{
	struct bpf_link *link = bpf_program__attach(p);

	if (!link) {
		*refused = bpf_program__name(p);
		return -errno;
	}
	o->links[o->n_links++] = link;
	return 0;
}

int off_cpu_attach(struct off_cpu *o, struct sample_bpf *bpf, const char **refused)
{
	struct off_cpu_program programs[OFF_CPU_PROGRAMS];
	int rc = 0;

	list_programs(o, bpf, true, programs);
	for (int i = 0; i < OFF_CPU_PROGRAMS && !rc; i++)
		if (bpf_program__autoload(programs[i].prog))
			rc = attach(o, programs[i].prog, refused);
	return rc;
}

/* Opens a task iterator; *link is to be destroyed after the descriptor is closed. */
static int open_iterator(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);

	if (!link)
		return -errno;
	int fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link); /* the descriptor keeps it */
	return fd < 0 ? -errno : fd;
}

int off_cpu_start(struct off_cpu *o, struct sample_bpf *bpf, const char **refused)
{
	char nothing[64];

	if (!o->on)
		return 0;
	int rc = attach(o, bpf->progs.off_fork, refused);
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

void off_cpu_stop(struct off_cpu *o)
{
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

/* What threads hold on all CPUs together. */
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

/* Where none has been held for two looks nobody has to look; who begins meanwhile is seen at once. */
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

void off_cpu_look(struct off_cpu *o, struct sample_bpf *bpf, uint64_t now_ns)
{
	int64_t held;

	if (!o->on || now_ns < o->pace.looked_ns + RATE_WINDOW_NS / 2 || !read_rates(o, bpf, &held))
		return;
	set_limits(bpf, wait_pace_look(&o->pace, o->rates, now_ns));
	if (o->at_sys_exit)
		look_at_holders(o, bpf, held);
}

int off_cpu_report(struct off_cpu *o, struct sample_bpf *bpf)
{
	enum { A_TURN = 64 }; /* bytes; bpf/off_cpu.h writes one for each thread */
	char pace[A_TURN];

	if (!o->on)
		return 0;
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

const char *off_cpu_hook(const struct off_cpu *o)
{
	if (!o->on)
		return NULL;
	return o->at_sys_exit ? "sys_exit" : "sched_exit_tp";
}
