/* The table of event kinds, the check of combinations, and --list-events. */
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "cmd/doctor/doctor.h"
#include "cmd/gpu/gpu_setup.h"
#include "cmd/record/record_state.h"

#include <errno.h>

/* The name, the description, and the collector's bit. */
#define EVENT_KINDS(ROW) \
	ROW("cpu", "where CPU time goes", COLLECT_CPU) \
	ROW("off-cpu", "where threads wait, and how long", COLLECT_OFF_CPU) \
	ROW("sched-wait", "runnable but not running", COLLECT_SCHED_WAIT) \
	ROW("wall", "all time: running, waiting, and waiting for a GPU", COLLECT_WALL) \
	ROW("page-fault", "memory that is touched first", COLLECT_PAGE_FAULT) \
	ROW("rss", "memory that processes have, at the end", COLLECT_RSS) \
	ROW("alloc", "memory that malloc and its family, or Go, allocate", COLLECT_ALLOC) \
	ROW("inuse", "memory in use at the end, of the same", COLLECT_INUSE) \
	ROW("lock", "waits for locks, and who held them", COLLECT_LOCK) \
	ROW("gpu-time", "GPU time by the CPU stack that launched it", COLLECT_GPU_TIME) \
	ROW("gpu-wait", "CPU waiting for the GPU", COLLECT_GPU_WAIT) \
	ROW("gpu-launch", "GPU kernel launches", COLLECT_GPU_LAUNCH) \
	ROW("gpu-copy", "copies to and from the GPU", COLLECT_GPU_COPY) \
	ROW("gpu-stall", "why GPU instructions stall", COLLECT_GPU_STALL) \
	ROW("hbm-alloc", "GPU memory allocations", COLLECT_HBM_ALLOC) \
	ROW("hbm-inuse", "GPU memory in use", COLLECT_HBM_INUSE) \
	ROW("nccl", "communication between GPUs", COLLECT_NCCL)

/* Other names, accepted after those. */
#define EVENT_ALIASES(ROW) \
	ROW("mem-alloc", "alloc", COLLECT_ALLOC) \
	ROW("mem-inuse", "inuse", COLLECT_INUSE)

#define WORD(name, what, bit) name,
#define KIND(name, what, bit) { name, what, bit },
#define ALIAS(name, of, bit)  { of, NULL, bit },
const char *const event_words[] = { EVENT_KINDS(WORD) EVENT_ALIASES(WORD) NULL };
static const struct event_kind {
	const char *name, *what;
	uint32_t bit; /* enum collect_event */
} kinds[] = { EVENT_KINDS(KIND) EVENT_ALIASES(ALIAS) };
enum { ALL_KINDS = sizeof kinds / sizeof *kinds, ALIASES = 2, KINDS = ALL_KINDS - ALIASES };

/* Their waits have a waker, and may be of kernel threads. */
enum { WAKER_EVENTS = COLLECT_WAITS & ~COLLECT_LOCK };

/* Returns why a kind does not work here, or NULL if it does. */
static const char *kind_obstacle(const struct event_kind *k, const struct probe_recording *t)
{
	const struct collect_missing *m =
		probe_recording_missing(t, k->bit & COLLECT_FAULTS ? GROUP_FAULTS : GROUP_WAITS);
	if (!m && k->bit & COLLECT_LOCK)
		m = probe_recording_missing(t, GROUP_WAKERS);
	if (t->rc < 0)
		return t->err.text;
	return m && k->bit & (COLLECT_WAITS | COLLECT_FAULTS) ? m->why : NULL;
}

static void list_json(struct buf *b, const struct probe_recording *t)
{
	struct json j = json_to(b);
	json_arr(&j);
	for (size_t i = 0; i < KINDS; i++) {
		const char *obstacle = kind_obstacle(&kinds[i], t);
		json_obj(&j);
		json_key_str(&j, "name", kinds[i].name);
		json_key_bool(&j, "works", !obstacle);
		json_key_str(&j, "why_not", obstacle);
		json_key_str(&j, "what", kinds[i].what);
		json_end(&j);
	}
	json_end(&j);
	buf_addc(b, '\n');
}

static void list_text(struct buf *b, const struct probe_recording *t)
{
	for (size_t i = 0; i < KINDS; i++) {
		const char *obstacle = kind_obstacle(&kinds[i], t);
		buf_addf(b, "%-12s %-46s %s\n", kinds[i].name, kinds[i].what,
			 obstacle ? obstacle : "works here");
	}
}

int events_list(const struct cmd_line *line, const struct kernel_opts *kernel)
{
	struct probe_recording trial;
	struct buf b = { 0 };
	probe_recording_run(kernel, &trial);
	if (line->globals.json)
		list_json(&b, &trial);
	else
		list_text(&b, &trial);
	return cmd_print(&b);
}

/* --- options --------------------------------------------------------------------------------- */

static uint32_t event_bits(const struct choice_list *events)
{
	uint32_t bits = 0;
	for (int i = 0; i < events->n; i++)
		bits |= kinds[events->v[i]].bit;
	return bits;
}

/* Refuses options that have no effect, as there is no wait to apply them to. Options with a default
 * cannot be told from it. */
static int check_waits(const struct cmd_line *line, const struct record_opts *o)
{
	const struct wait_opts *waits = &o->collect.sampler.waits;
	const char *option = waits->wakers           ? "wakers"
			     : waits->waker_stacks   ? "waker-stacks"
			     : waits->kernel_threads ? "kernel-threads"
						     : NULL;
	if (waits->min_block_ns > waits->max_block_ns)
		return cmd_usage(line, "--min-block is more than --max-block");
	if (option && !(event_bits(&o->events) & WAKER_EVENTS))
		return cmd_usage(line, "--%s needs -e off-cpu, sched-wait or wall", option);
	return CMD_OK;
}

/* GPU time is recorded for processes, or for all. */
static bool can_have_gpu_time(const struct record_opts *o)
{
	return !o->tids.n && !o->collect.sampler.comm && !o->collect.sampler.cgroup;
}

/* The programs to watch must be known before they show a stack. */
static int check_gpu_time(const struct cmd_line *line, const struct record_opts *o)
{
	uint32_t inside = event_bits(&o->events) & COLLECT_GPU_INSIDE;
	if (inside && !can_have_gpu_time(o))
		return cmd_usage(line, "-e %s needs -p, -a or -- COMMAND",
				 inside & COLLECT_GPU_TIME ? "gpu-time" : "gpu-stall");
	return CMD_OK;
}

/* Programs load the library at their start, or get it by an attach. */
static int check_heap(const struct cmd_line *line, const struct record_opts *o)
{
	uint32_t heap = event_bits(&o->events) & COLLECT_HEAP;
	if (heap && !line->command.n && !o->pids.n)
		return cmd_usage(line, "-e %s needs -p or -- COMMAND",
				 heap & COLLECT_ALLOC ? "alloc" : "inuse");
	return CMD_OK;
}

/* Refuses events that --gpu leaves out. */
static int check_gpu_level(const struct cmd_line *line, const struct record_opts *o)
{
	uint32_t out = o->gpu == GPU_LEVEL_AUTO ? 0 : COLLECT_GPU & ~gpu_level_events(o->gpu);
	for (int i = 0; i < o->events.n; i++)
		if (kinds[o->events.v[i]].bit & out)
			return cmd_usage(line, "--gpu=%s does not record -e %s",
					 gpu_level_words[o->gpu], kinds[o->events.v[i]].name);
	return CMD_OK;
}

/* Returns the events that --gpu adds to -e. */
static uint32_t gpu_bits(const struct record_opts *o)
{
	if (o->gpu == GPU_LEVEL_AUTO)
		return 0;
	return gpu_level_events(o->gpu) &
	       ~(can_have_gpu_time(o) ? 0u : (uint32_t)COLLECT_GPU_INSIDE);
}

int events_finalize(const struct cmd_line *line, const struct record_opts *o,
		    struct sampler_opts *asked)
{
	struct err err = { 0 };
	int status = check_waits(line, o);
	if (status == CMD_OK)
		status = check_gpu_time(line, o);
	if (status == CMD_OK)
		status = check_heap(line, o);
	if (status == CMD_OK)
		status = check_gpu_level(line, o);
	if (status == CMD_OK && gpu_level_check(o->gpu, &err))
		status = cmd_fail(CMD_UNSUPPORTED, &err);
	asked->events = event_bits(&o->events) | gpu_bits(o);
	asked->waits.wakers |= asked->waits.waker_stacks;
	return status;
}

bool events_need_library(const struct record_opts *o)
{
	return event_bits(&o->events) & COLLECT_GPU_INSIDE || o->gpu == GPU_LEVEL_REQUIRE;
}

void events_describe(struct buf *b, const char *dot, const struct record_opts *o, uint32_t recorded)
{
	const char *between = "";
	for (int i = 0; i < o->events.n; i++) {
		const struct event_kind *k = &kinds[o->events.v[i]];
		if (!(k->bit & recorded))
			continue;
		buf_addf(b, "%s%s", between, k->name);
		between = dot;
		if (k->bit & (COLLECT_CPU | COLLECT_WALL))
			buf_addf(b, " %llu Hz", (unsigned long long)o->collect.sampler.freq_hz);
	}
	if (gpu_bits(o))
		buf_addf(b, "%sGPU calls%s%s", dot,
			 gpu_bits(o) & COLLECT_GPU_TIME ? " and time" : "",
			 gpu_bits(o) & COLLECT_GPU_STALL ? " and stalls" : "");
}
