/* CPU time by state from /proc/stat, run queue from /proc/schedstat, and load. */
#include "collect/host/host_sources.h"

#include "base/buf.h"
#include "base/vec.h"
#include "collect/host/host_points.h"
#include "collect/proc/cpus.h"
#include "format/otlp/otlp_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct host_metric cpu_time = { "system_cpu_time", "s", OTLP_COUNTER };
static const struct host_metric cpu_busy = { "system_cpu_busy", "s", OTLP_COUNTER };
static const struct host_metric cpu_count = { "system_cpu_logical_count", "{cpu}", OTLP_GAUGE };
static const struct host_metric cpu_wait = { "system_cpu_wait", "s", OTLP_COUNTER };
static const struct host_metric run_queue = { "system_cpu_run_queue", "{thread}", OTLP_GAUGE };
static const struct host_metric load = { "system_cpu_load_average_1m", "{thread}", OTLP_GAUGE };

/* In the order of /proc/stat. The guest fields after these are part of user and nice. */
static const char *const mode_names[HOST_CPU_MODES] = {
	[HOST_USER] = "user",       [HOST_NICE] = "nice",     [HOST_SYSTEM] = "system",
	[HOST_IDLE] = "idle",       [HOST_IOWAIT] = "iowait", [HOST_IRQ] = "irq",
	[HOST_SOFTIRQ] = "softirq", [HOST_STEAL] = "steal",
};

void host_cpu_init(struct host_cpu *c)
{
	long hz = sysconf(_SC_CLK_TCK);

	*c = (struct host_cpu){ .ticks_per_s = hz > 0 ? hz : 100 };
}

void host_cpu_done(struct host_cpu *c)
{
	vec_done(&c->busy);
}

/* --- /proc/stat ------------------------------------------------------------------------------- */

static uint64_t steady(const struct host_cpu *c, uint64_t *last, uint64_t now)
{
	if (now >= *last || *last - now > c->ticks_per_s)
		*last = now;
	return *last;
}

/* Kernels before 2.6.11 had fewer modes; otherwise the line is damaged. */
static bool read_modes(struct cur *line, uint64_t ticks[HOST_CPU_MODES])
{
	for (int i = 0; i < HOST_CPU_MODES; i++)
		if (!host_number(line, &ticks[i]))
			return false;
	return true;
}

static double seconds(const struct host_cpu *c, uint64_t ticks)
{
	return (double)ticks / (double)c->ticks_per_s;
}

static void put_all(struct host_cpu *c, const uint64_t ticks[HOST_CPU_MODES], struct host_points *w)
{
	for (int i = 0; i < HOST_CPU_MODES; i++) {
		const struct label_text labels[HOST_MAX_LABELS] = { { "mode", mode_names[i] } };
		host_put(w, &cpu_time, labels, seconds(c, steady(c, &c->all[i], ticks[i])));
	}
}

static uint64_t *busy_of(struct host_cpu *c, uint32_t cpu)
{
	while (c->busy.n <= cpu)
		vec_push(&c->busy, 0);
	return &c->busy.v[cpu];
}

static void put_cpu(const struct host_metric *metric, uint32_t cpu, double value,
		    struct host_points *w)
{
	char name[16];
	const struct label_text labels[HOST_MAX_LABELS] = { { "cpu", name } };

	snprintf(name, sizeof name, "%" PRIu32, cpu);
	host_put(w, metric, labels, value);
}

static void put_busy(struct host_cpu *c, uint32_t cpu, const uint64_t ticks[HOST_CPU_MODES],
		     struct host_points *w)
{
	uint64_t busy = ticks[HOST_USER] + ticks[HOST_NICE] + ticks[HOST_SYSTEM] + ticks[HOST_IRQ] +
			ticks[HOST_SOFTIRQ];

	put_cpu(&cpu_busy, cpu, seconds(c, steady(c, busy_of(c, cpu), busy)), w);
}

/* Parses "cpu" (-1) or "cpu17". Returns false for other lines. */
static bool read_cpu(struct cur *line, int64_t *cpu)
{
	uint64_t n;

	if (!host_skip(line, "cpu") || !cur_left(line))
		return false;
	*cpu = -1;
	if (*line->p == ' ')
		return true;
	if (!host_number(line, &n) || n >= CPUS_MAX)
		return false;
	*cpu = (int64_t)n;
	return true;
}

void host_cpu_put_stat(struct host_cpu *c, struct cur text, struct host_points *w)
{
	uint64_t ticks[HOST_CPU_MODES];
	struct cur line;
	int64_t cpu;
	uint32_t n = 0;

	while (host_line(&text, &line)) {
		if (!read_cpu(&line, &cpu) || !read_modes(&line, ticks))
			continue;
		if (cpu < 0) {
			put_all(c, ticks, w);
			continue;
		}
		put_busy(c, cpu, ticks, w);
		n++;
	}
	if (n)
		host_put(w, &cpu_count, (struct label_text[HOST_MAX_LABELS]){ { 0 } }, n);
}

/* --- /proc/schedstat -------------------------------------------------------------------------- */

/* The eighth number of a CPU since version 15, ns. */
void host_cpu_put_schedstat(struct cur text, struct host_points *w)
{
	enum { VERSION_MIN = 15, RUN_DELAY = 8 };
	uint64_t version, v = 0;
	struct cur line;
	int64_t cpu;

	if (!host_line(&text, &line) || !host_skip(&line, "version") ||
	    !host_number(&line, &version) || version < VERSION_MIN)
		return;
	while (host_line(&text, &line)) {
		int n = 0;
		if (!read_cpu(&line, &cpu) || cpu < 0)
			continue;
		while (n < RUN_DELAY && host_number(&line, &v))
			n++;
		if (n == RUN_DELAY)
			put_cpu(&cpu_wait, cpu, (double)v / 1e9, w);
	}
}

/* --- /proc/loadavg ---------------------------------------------------------------------------- */

/* 0.20 0.18 0.12 3/80 11206 */
void host_cpu_put_load(struct cur text, struct host_points *w)
{
	uint64_t whole, cents;
	struct cur part;

	if (!host_word(&text, '.', &part) || cur_left(&text) < 3 || text.p[2] != ' ' ||
	    !host_number(&part, &whole) || !host_number(&text, &cents))
		return;
	host_put(w, &load, (struct label_text[HOST_MAX_LABELS]){ { 0 } },
		 (double)whole + (double)cents / 100);
}

void host_cpu_look(struct host_cpu *c, struct cur loadavg)
{
	struct cur word;
	uint64_t n;

	for (int i = 0; i < 3; i++)
		host_word(&loadavg, ' ', &word);
	if (!host_word(&loadavg, '/', &word) || !host_number(&word, &n) || n > UINT32_MAX)
		return;
	c->queued += n ? n - 1 : 0; /* the reader itself runs */
	c->looks++;
}

void host_cpu_put_run_queue(struct host_cpu *c, struct host_points *w)
{
	if (c->looks)
		host_put(w, &run_queue, (struct label_text[HOST_MAX_LABELS]){ { 0 } },
			 (double)c->queued / (double)c->looks);
	c->queued = c->looks = 0;
}
