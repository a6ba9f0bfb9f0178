/* Calls each source of host metrics once per interval, and collects their points. */
#include "collect/host/host_metrics.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/host/host_points.h"
#include "collect/host/host_processes.h"
#include "collect/host/host_sources.h"
#include "collect/kernel/check.h"
#include "collect/kernel/missing.h"
#include "format/otlp/otlp_metrics.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_BYTES = 4 << 20, /* of a file: 8192 CPUs and as many interrupts */
	PROCESS_MAX_BYTES = 4096,
};
#define LOOK_EVERY_NS 500000000ull

struct host_metrics {
	const struct series_opts *opts;
	struct host_cpu cpu;
	struct host_processes processes;
	struct host_device_facts facts;
	struct host_losses losses;
	struct host_stacks stacks;
	struct host_gpu_time gpu_time;
	struct gpu_watch *gpus; /* NULL: the thread could not be started */
	struct gpu_machine gpu_machine;
	struct gpu_reading gpu_told; /* not in a message yet */
	struct buf text;
	uint64_t looked_ns, page_bytes;
};

/* --- files ------------------------------------------------------------------------------------ */

/* Returns an empty text if no file exists. */
static struct cur read_text(struct host_metrics *h, const char *path, size_t max)
{
	buf_clear(&h->text);
	if (fs_read_at(AT_FDCWD, path, max, &h->text, NULL))
		buf_clear(&h->text);
	return cur_of(h->text.data ? h->text.data : "", h->text.len);
}

static bool read_process(void *ctx, uint32_t pid, struct host_process_facts *out)
{
	struct host_metrics *h = ctx;
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	return host_process_parse(read_text(h, path, PROCESS_MAX_BYTES), h->cpu.ticks_per_s,
				  h->page_bytes, out) == 0;
}

struct host_metrics *host_metrics_new(const struct series_opts *opts, const char *gpu_script)
{
	struct host_metrics *h = xcalloc(1, sizeof *h);

	h->opts = opts;
	h->facts = host_device_facts();
	h->page_bytes = sysconf(_SC_PAGESIZE);
	host_cpu_init(&h->cpu);
	host_processes_init(&h->processes, read_process, h);
	h->gpus = gpu_watch_start(&(struct gpu_watch_opts){ .source = { .script = gpu_script } });
	return h;
}

void host_metrics_free(struct host_metrics *h)
{
	if (!h)
		return;
	host_cpu_done(&h->cpu);
	host_processes_done(&h->processes);
	gpu_watch_stop(h->gpus);
	vec_done(&h->gpu_machine.devices);
	gpu_reading_done(&h->gpu_told);
	buf_done(&h->text);
	free(h);
}

/* --- sources ---------------------------------------------------------------------------------- */

static void put_pressure(struct host_metrics *h, struct host_points *w)
{
	static const char *const resources[] = { "cpu", "memory", "io", "irq" };

	for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
		char path[32];
		snprintf(path, sizeof path, "/proc/pressure/%s", resources[i]);
		host_pressure_put(resources[i], read_text(h, path, MAX_BYTES), w);
	}
}

/* /proc/net is the view of this process, which may be in another network namespace. */
static struct cur read_networks(struct host_metrics *h)
{
	struct cur text = read_text(h, "/proc/1/net/dev", MAX_BYTES);

	return cur_left(&text) ? text : read_text(h, "/proc/net/dev", MAX_BYTES);
}

static void put_files(struct host_metrics *h, struct host_points *w)
{
	host_cpu_put_stat(&h->cpu, read_text(h, "/proc/stat", MAX_BYTES), w);
	host_cpu_put_schedstat(read_text(h, "/proc/schedstat", MAX_BYTES), w);
	host_cpu_put_load(read_text(h, "/proc/loadavg", MAX_BYTES), w);
	host_cpu_put_run_queue(&h->cpu, w);
	host_memory_put(read_text(h, "/proc/meminfo", MAX_BYTES), w);
	put_pressure(h, w);
	host_disks_put(read_text(h, "/proc/diskstats", MAX_BYTES), &h->facts, w);
	host_networks_put(read_networks(h), &h->facts, w);
}

/* --- processes -------------------------------------------------------------------------------- */

/* Returns the CPU time that a sample of the series stands for; 0: it is no on-CPU sample. */
static uint64_t period_ns(const struct profile *p, const struct series *s)
{
	const struct type *t = &p->series.types.v[s->type];
	bool is_cpu = strcmp(profile_str(p, t->name), "cpu") == 0 && s->period > 0;

	return is_cpu ? (uint64_t)s->period : 0;
}

static void count_samples(struct host_processes *h, const struct profile *p)
{
	const struct sample_columns *c = &p->samples;
	uint32_t key = strtab_find(&p->strings, "process");

	for (size_t i = 0; key != UINT32_MAX && i < c->n; i++) {
		const struct series *s = &p->series.series.v[c->series[i]];
		uint64_t ns = period_ns(p, s);
		const struct label *l = ns ? label_find(&p->series, s->labels, key) : NULL;
		if (l && !l->is_num && c->value[i] > 0)
			host_processes_sample(h, c->pid[i], profile_str(p, l->str),
					      ns * (uint64_t)c->value[i]);
	}
}

static uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t start_boot_ns(const struct host_interval *i)
{
	uint64_t now_ns = boot_ns(), back_ns = (uint64_t)i->duration_ns;

	return now_ns > back_ns ? now_ns - back_ns : 0;
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void put_gpus(struct host_metrics *h, struct host_points *w)
{
	if (!h->gpus)
		return;
	const struct gpu_status status = gpu_watch_state(h->gpus);
	host_gpu_put(&h->gpu_machine, &h->gpu_told, &status, w);
	gpu_reading_done(&h->gpu_told);
	h->gpu_told = (struct gpu_reading){ 0 };
}

/* Reads only once per message: the devices may differ next time. */
const struct gpu_reading *host_metrics_update(struct host_metrics *h)
{
	if (h->gpus && !h->gpu_told.points.n && !h->gpu_told.processes.n)
		gpu_watch_take(h->gpus, &h->gpu_machine, &h->gpu_told);
	return &h->gpu_told;
}

bool host_metrics_gpus(struct host_metrics *h, struct gpu_machine *out)
{
	return !h->gpus || gpu_watch_machine(h->gpus, out);
}

struct gpu_status host_metrics_gpu(struct host_metrics *h)
{
	return h->gpus ? gpu_watch_state(h->gpus) : (struct gpu_status){ .state = GPU_ABSENT };
}

/* --- what is not recorded --------------------------------------------------------------------- */

/* A metric makes the reason known in the store of this host, and in that of any server that an
 * agent sends to. */
static void put_missing(const struct host_interval *i, struct host_points *w)
{
	static const struct host_metric metric = { "cresset_missing", "{feature}", OTLP_GAUGE };

	for (size_t k = 0; k < i->n_missing; k++) {
		const struct label_text labels[HOST_MAX_LABELS] = {
			{ "feature", collect_features[i->missing[k].group].name },
			{ "why", i->missing[k].why },
		};

		host_put(w, &metric, labels, 1);
	}
}

/* --- what the collector has of the kernel's memory -------------------------------------------- */

static void put_kernel_memory(const struct host_interval *i, struct host_points *w)
{
	static const struct host_metric metric = { "cresset_kernel_memory", "By", OTLP_GAUGE };
	const struct label_text maps[HOST_MAX_LABELS] = { { "kind", "maps" } },
				rings[HOST_MAX_LABELS] = { { "kind", "rings" } };

	if (!i->kernel_map_bytes)
		return;
	host_put(w, &metric, maps, (double)i->kernel_map_bytes);
	host_put(w, &metric, rings, (double)i->kernel_ring_bytes);
}

/* --- how much of the time waits are recorded -------------------------------------------------- */

static void put_wait_share(const struct host_interval *i, struct host_points *w)
{
	static const struct host_metric metric = { "cresset_wait_coverage", "1", OTLP_GAUGE };
	const struct label_text none[HOST_MAX_LABELS] = { 0 };

	if (i->wait_share > 0)
		host_put(w, &metric, none, i->wait_share);
}

/* --- an interval ------------------------------------------------------------------------------ */

void host_metrics_look(struct host_metrics *h, uint64_t now_mono_ns)
{
	if (h->looked_ns && now_mono_ns < h->looked_ns + LOOK_EVERY_NS)
		return;
	h->looked_ns = now_mono_ns;
	host_cpu_look(&h->cpu, read_text(h, "/proc/loadavg", MAX_BYTES));
}

void host_metrics_take(struct host_metrics *h, const struct host_interval *i, struct buf *out)
{
	struct host_points w;

	host_points_init(&w, h->opts->host);
	w.fixed = h->opts->labels;
	w.n_fixed = h->opts->n_labels;
	w.time_ns = i->now_wall_ns;
	put_files(h, &w);
	count_samples(&h->processes, i->samples);
	host_processes_put(&h->processes, start_boot_ns(i), i->start_wall_ns, &w);
	host_metrics_update(h);
	put_gpus(h, &w);
	if (i->gpu_probes && i->gpu_time)
		host_gpu_time_put(&h->gpu_time, i->gpu_probes, i->gpu_time, &w);
	host_attach_put(i->gpu_attach, i->mem_attach, &w);
	if (i->lost)
		host_losses_put(&h->losses, i->lost, i->start_wall_ns, &w);
	if (i->workers)
		host_workers_put(i->workers, i->reads, &w);
	if (i->cut_stacks)
		host_stacks_put(&h->stacks, i->cut_stacks, i->start_wall_ns, &w);
	put_missing(i, &w);
	put_kernel_memory(i, &w);
	put_wait_share(i, &w);
	otlp_metrics_encode(&w.m, w.p, out);
	host_points_done(&w);
}

/* --- doctor ----------------------------------------------------------------------------------- */

void host_metrics_check(struct check *c)
{
	static const char *const files[] = { "/proc/stat", "/proc/loadavg", "/proc/meminfo",
					     "/proc/diskstats", "/proc/net/dev" };
	struct buf missing = { 0 };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (access(files[i], R_OK))
			buf_addf(&missing, "%s%s", missing.len ? ", " : "no ", files[i]);
	bool pressure = access("/proc/pressure/cpu", R_OK) == 0;
	c->state = missing.len || !pressure ? CHECK_LIMITED : CHECK_OK;
	if (missing.len)
		snprintf(c->detail, sizeof c->detail, "%.150s", buf_cstr(&missing));
	else
		snprintf(c->detail, sizeof c->detail,
			 "CPU, memory, %sdisks, networks, busiest processes%s",
			 pressure ? "pressure, " : "",
			 access("/proc/schedstat", R_OK) ? "; no waits by CPU: no /proc/schedstat"
							 : "");
	if (!pressure)
		snprintf(c->remedy, sizeof c->remedy,
			 "pressure needs a kernel with CONFIG_PSI=y, booted with psi=1");
	buf_done(&missing);
}
