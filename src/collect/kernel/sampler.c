/* Opens perf events on each CPU, attaches the BPF programs, and reads their ring. */
#include "collect/kernel/sampler_state.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/vec.h"
#include "bpf/gpu_event.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/walker_maps.h"
#include "collect/proc/cpus.h"
#include "runtime/runtime.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- events ----------------------------------------------------------------------------------- */

static int open_event(uint32_t type, uint64_t config, uint64_t period_or_freq, bool freq,
		      uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof attr,
		.type = type,
		.config = config,
		.sample_period = period_or_freq,
		.freq = freq,
		.disabled = 1,
		.exclude_idle = 1,
		.exclude_guest = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* cpu-clock takes a fixed period: its timer then neither drifts nor adapts. For cycles the kernel
 * adapts the period to the clock rate, so samples come at the same rate however little a CPU does;
 * bpf/cycle_clock.h states what each stands for. */
int sampler_open_event(uint32_t cpu, uint32_t freq_hz, enum collect_clock which, const char **clock)
{
	int fd = which == CLOCK_CPU ? -ENOENT
				    : open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
						 freq_hz, true, cpu);

	*clock = "cycles";
	if (fd >= 0 || which == CLOCK_CYCLES)
		return fd;
	*clock = "cpu-clock";
	return open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000000000ull / freq_hz,
			  false, cpu);
}

uint64_t sampler_uncounted_ns(int event_fd)
{
	struct {
		uint64_t count, enabled_ns, running_ns;
	} v;

	return read(event_fd, &v, sizeof v) == sizeof v && v.enabled_ns > v.running_ns
		       ? v.enabled_ns - v.running_ns
		       : 0;
}

/* A CPU without the counter that others have uses the timer: its ticks are weighted in the same
 * way. */
static int start_cpu(struct sampler *s, uint32_t cpu, struct err *err)
{
	const char *clock;
	int fd = sampler_open_event(cpu, s->opts.freq_hz, s->by_cycles ? CLOCK_AUTO : CLOCK_CPU,
				    &clock);

	if (fd == -ENODEV)
		return 0; /* went offline in the meantime */
	if (fd < 0)
		return sampler_refused(s, REFUSED_PERF_EVENT, fd, NULL, err);
	struct bpf_link *link = bpf_program__attach_perf_event(s->program, fd); /* enables it */
	if (!link) {
		int rc = errno;

		close(fd);
		return err_set(err, rc, "cannot attach the sampler to CPU %u: %s", cpu,
			       strerror(rc));
	}
	vec_push(&s->events, (struct cpu_event){ cpu, link, fd });
	return 0;
}

static void close_event(struct sampler *s, struct cpu_event *e)
{
	if (s->by_cycles)
		s->uncounted_ns += sampler_uncounted_ns(e->event_fd);
	bpf_link__destroy(e->link);
}

/* Spreads the phases of all CPUs over one period, or over 50 ms if that is shorter. */
static void wait_phase(struct sampler *s, uint32_t n_cpus)
{
	uint64_t spread_ns = 1000000000ull / s->opts.freq_hz;
	struct timespec pause = { 0 };

	if (spread_ns > 50000000)
		spread_ns = 50000000;
	pause.tv_nsec = spread_ns / n_cpus;
	nanosleep(&pause, NULL);
}

int sampler_update_cpus(struct sampler *s, struct err *err)
{
	struct cpu_list online = { 0 };
	int rc = sampler_samples_cpus(s) ? cpu_list_online(s->opts.cpus_file, &online) : 0;

	if (rc)
		return err_set(err, -rc, "cannot read which CPUs are online: %s", strerror(-rc));
	size_t kept = 0;
	for (size_t i = 0; i < s->events.n; i++) {
		if (cpu_list_has(&online, s->events.v[i].cpu))
			s->events.v[kept++] = s->events.v[i];
		else
			close_event(s, &s->events.v[i]);
	}
	s->events.n = kept;
	for (size_t i = 0; !rc && i < online.ids.n; i++) {
		bool open = false;

		for (size_t k = 0; k < s->events.n; k++)
			open |= s->events.v[k].cpu == online.ids.v[i];
		if (open)
			continue;
		if (s->events.n)
			wait_phase(s, online.ids.n);
		rc = start_cpu(s, online.ids.v[i], err);
	}
	cpu_list_done(&online);
	return rc;
}

int sampler_report(struct sampler *s, bool is_last)
{
	return off_cpu_report(&s->off_cpu, s->bpf, is_last);
}

enum switch_step sampler_window_step(struct sampler *s, uint64_t now_ns)
{
	return off_cpu_window_step(&s->off_cpu, s->bpf, now_ns);
}

uint64_t sampler_window_due_ns(const struct sampler *s)
{
	return off_cpu_window_due_ns(&s->off_cpu);
}

int sampler_open_window(struct sampler *s, struct err *err)
{
	const char *refused = NULL;
	int rc = off_cpu_open(&s->off_cpu, s->bpf, &refused);

	return rc ? sampler_refused(s, REFUSED_ATTACH, rc, refused, err) : 0;
}

void sampler_close_window(struct sampler *s)
{
	off_cpu_close(&s->off_cpu, s->bpf);
}

const struct switch_windows *sampler_windows(const struct sampler *s)
{
	return s->off_cpu.on && s->off_cpu.has_windows ? &s->off_cpu.windows : NULL;
}

void sampler_cut_windows(struct sampler *s, uint64_t now_ns)
{
	off_cpu_cut(&s->off_cpu, now_ns);
}

void sampler_stop(struct sampler *s)
{
	off_cpu_stop(&s->off_cpu);
	sampler_detach_faults(s);
	for (size_t i = 0; i < s->events.n; i++)
		close_event(s, &s->events.v[i]);
	vec_clear(&s->events);
}

/* --- attaching -------------------------------------------------------------------------------- */

static int attach_follow(struct sampler *s, struct err *err)
{
	struct bpf_program *progs[SAMPLER_FOLLOW_PROGRAMS] = {
		s->bpf->progs.follow_fork,    s->bpf->progs.follow_exec, s->bpf->progs.follow_exit,
		s->bpf->progs.space_fork,     s->bpf->progs.space_exec,  s->bpf->progs.space_exit,
		s->bpf->progs.program_begins,
	};

	for (int i = 0; i < SAMPLER_FOLLOW_PROGRAMS; i++) {
		if (!bpf_program__autoload(progs[i]))
			continue;
		s->follow[i] = bpf_program__attach(progs[i]);
		if (!s->follow[i])
			return sampler_refused(s, REFUSED_ATTACH, errno,
					       bpf_program__name(progs[i]), err);
	}
	return 0;
}

int sampler_start(struct sampler *s, struct err *err)
{
	const char *refused = NULL;
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	s->n_cpus = n_cpus > 0 ? n_cpus : 1;
	int rc = off_cpu_start(&s->off_cpu, s->bpf, &refused);

	if (!rc)
		rc = sampler_attach_faults(s, &refused);
	return rc ? sampler_refused(s, REFUSED_ATTACH, rc, refused, err)
		  : sampler_update_cpus(s, err);
}

/* --- ring ------------------------------------------------------------------------------------- */

static bool stack_fits(const struct event_stack *st, size_t size)
{
	return size >= sizeof *st && st->n_python <= st->n_user &&
	       size == sizeof *st + ((size_t)st->n_kernel + st->n_user) * sizeof st->addr[0];
}

static bool raw_fits(const struct event_raw *raw, size_t size)
{
	return size >= sizeof *raw && raw->stack_bytes <= size - sizeof *raw;
}

static bool is_fault(uint16_t kind, const void *data, size_t size)
{
	const struct event_fault *f = data; /* also the start of an event_raw */
	bool is_raw = kind == EVENT_RAW && size >= sizeof(struct event_raw);

	return (kind == EVENT_FAULT || (is_raw && f->fault.parts == PART_FAULT)) &&
	       f->fault.flags & FAULT_CHANCE;
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;
	uint16_t kind = size >= sizeof kind ? *(uint16_t *)data : 0;
	uint64_t in_ring = ((uint64_t)size + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;

	s->read_bytes += in_ring;
	if (kind == EVENT_RAW)
		s->raw_bytes += in_ring;
	s->faults_seen += is_fault(kind, data, size);

	if (kind == EVENT_SAMPLE && size == sizeof(struct event_sample))
		s->reader->sample(s->reader_ctx, data);
	else if (kind == EVENT_STACK && stack_fits(data, size))
		s->reader->stack(s->reader_ctx, data);
	else if (kind == EVENT_RAW && raw_fits(data, size))
		s->reader->raw(s->reader_ctx, data);
	else if (kind == EVENT_WAIT && size == sizeof(struct event_wait))
		s->reader->wait(s->reader_ctx, data);
	else if (kind == EVENT_THREAD && size == sizeof(struct event_thread))
		s->reader->thread(s->reader_ctx, data);
	else if (kind == EVENT_GPU && size == sizeof(struct event_gpu))
		s->reader->gpu(s->reader_ctx, data);
	else if (kind == EVENT_FAULT && size == sizeof(struct event_fault))
		s->reader->fault(s->reader_ctx, data);
	else if (kind == EVENT_FUNCTION && size == sizeof(struct event_function))
		s->reader->function(s->reader_ctx, data);
	return 0;
}

int sampler_read(struct sampler *s, const struct sampler_reader *reader, void *ctx)
{
	s->reader = reader;
	s->reader_ctx = ctx;
	int n = ring_buffer__consume(s->ring);
	s->reader = NULL;
	off_cpu_look(&s->off_cpu, s->bpf, clock_mono_ns());
	sampler_pace_faults(s, clock_mono_ns());
	return n < 0 ? n : 0;
}

/* One reader reads all rings: data in any of them wakes it, and it empties all. */
static int add_ring(struct sampler *s, int fd)
{
	if (s->ring)
		return ring_buffer__add(s->ring, fd, on_event, s);
	s->ring = ring_buffer__new(fd, on_event, s, NULL);
	return s->ring ? 0 : -errno;
}

static int open_rings(struct sampler *s, int epoll_fd, uint64_t tag, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.u64 = tag };

	const int rings[] = { bpf_map__fd(s->bpf->maps.sample_ring),
			      bpf_map__fd(s->bpf->maps.ring) };
	for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
		int rc = rings[i] < 0 ? 0 : add_ring(s, rings[i]);
		if (rc)
			return err_set(err, -rc, "cannot map the ring buffer: %s", strerror(-rc));
	}
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(s->ring), &ev))
		return err_set(err, errno, "cannot wait for the ring buffer: %s", strerror(errno));
	return 0;
}

bool sampler_space_maps(const struct sampler *s, struct space_maps *out)
{
	*out = (struct space_maps){
		.processes = bpf_map__fd(s->bpf->maps.processes),
		.blocks = bpf_map__fd(s->bpf->maps.blocks),
		.hotspot_processes = bpf_map__fd(s->bpf->maps.hotspot_processes),
		.hotspot_layouts = bpf_map__fd(s->bpf->maps.hotspot_layouts),
		.v8_processes = bpf_map__fd(s->bpf->maps.v8_processes),
		.php_processes = bpf_map__fd(s->bpf->maps.php_processes),
		.tables = bpf_map__fd(s->bpf->maps.tables),
		.segments = bpf_map__fd(s->bpf->maps.segments),
		.processes_full = &s->bpf->bss->processes_full,
		.max_segments = s->max_segments,
		.all_processes = s->opts.target == TARGET_ALL,
	};
	return s->use_tables;
}

int sampler_watch_programs(const struct sampler *s, int epoll_fd, uint64_t tag,
			   struct program_news **out, struct err *err)
{
	return program_news_open(bpf_map__fd(s->bpf->maps.programs),
				 bpf_map__fd(s->bpf->maps.program_ring), epoll_fd, tag, out, err);
}

static int runtime_map(const struct sampler *s, const char *name)
{
	return bpf_object__find_map_fd_by_name(s->bpf->obj, name);
}

static int put_runtime_row(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	int fd = runtime_map(ctx, map);

	(void)size;
	return fd < 0 ? fd : bpf_map_update_elem(fd, &key, value, BPF_ANY);
}

static int drop_runtime_row(void *ctx, const char *map, uint32_t key)
{
	int fd = runtime_map(ctx, map);

	return fd < 0 ? fd : bpf_map_delete_elem(fd, &key);
}

struct runtime_maps sampler_runtime_maps(struct sampler *s)
{
	return (struct runtime_maps){ put_runtime_row, drop_runtime_row, s };
}

struct traced_maps sampler_traced_maps(const struct sampler *s)
{
	return (struct traced_maps){ bpf_map__fd(s->bpf->maps.recipes), &s->bpf->bss->traced };
}

void sampler_copy_again(void *ctx, uint32_t tid, bool again)
{
	const struct sampler *s = ctx;
	int map = bpf_map__fd(s->bpf->maps.copied_again);
	uint8_t value = 1;

	if (again)
		bpf_map_update_elem(map, &tid, &value, BPF_ANY);
	else
		bpf_map_delete_elem(map, &tid);
}

struct sampler_knobs sampler_get_knobs(const struct sampler *s)
{
	const struct sample_bpf__rodata *k = s->bpf->rodata;

	return (struct sampler_knobs){
		.filter = k->filter,
		.filter_cgroup_id = k->filter_cgroup_id,
		.max_user = k->max_user,
		.wake_bytes = k->wake_bytes,
		.epoch = s->bpf->data->seen_epoch,
		.want_user = k->want_user,
		.use_tables = k->use_tables,
		.use_runtimes = k->use_runtimes,
	};
}

const struct kernel_features *sampler_kernel(const struct sampler *s)
{
	return &s->kernel;
}

struct bpf_object *sampler_object(const struct sampler *s)
{
	return s->bpf->obj;
}

uint32_t sampler_events(const struct sampler *s)
{
	return s->opts.events;
}

size_t sampler_get_missing(const struct sampler *s, const struct collect_missing **out)
{
	*out = s->missing;
	return s->n_missing;
}

void sampler_new_epoch(struct sampler *s)
{
	s->bpf->data->seen_epoch++;
}

/* --- life ------------------------------------------------------------------------------------- */

static int check_rate(uint32_t freq_hz, struct err *err)
{
	char line[32];
	uint64_t max;

	if (fs_read_line("/proc/sys/kernel/perf_event_max_sample_rate", line, sizeof line) ||
	    parse_u64(line, &max) || freq_hz <= max)
		return 0;
	err_set(err, EOPNOTSUPP, "cannot sample at %u Hz: the kernel allows %llu", freq_hz,
		(unsigned long long)max);
	return err_hint(err, "try:  sysctl kernel.perf_event_max_sample_rate=%u", freq_hz);
}

int sampler_open(const struct sampler_opts *opts, int epoll_fd, uint64_t tag, struct sampler **out,
		 struct err *err)
{
	struct sampler *s = xcalloc(1, sizeof *s);
	int rc;

	s->off_cpu.report_fd = -1;
	s->opts = *opts;
	rc = check_rate(s->opts.freq_hz, err);
	if (!rc)
		rc = sampler_load(s, err);
	if (!rc)
		rc = open_rings(s, epoll_fd, tag, err);
	if (!rc)
		rc = attach_follow(s, err);
	if (!rc)
		rc = sampler_add_targets(s, err);
	if (rc)
		sampler_close(s);
	else
		*out = s;
	return rc;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	vec_done(&s->events);
	off_cpu_done(&s->off_cpu);
	for (int i = 0; i < SAMPLER_FOLLOW_PROGRAMS; i++)
		bpf_link__destroy(s->follow[i]);
	ring_buffer__free(s->ring);
	sample_bpf__destroy(s->bpf);
	free(s);
}
