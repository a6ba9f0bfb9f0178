#include "base/json.h"
#include "base/log.h"
#include "cmd/gpu_level.h"
#include "cmd/record.h"
#include "cmd/trial.h"

#include <errno.h>

/* name, what it shows, the collector's bit for it (0: this version does not record it). Names are reserved for good, so that a script that asks for one is told
 * the truth by every version. */
#define EVENT_KINDS(ROW) \
	ROW("cpu", "where CPU time goes", COLLECT_CPU) \
	ROW("off-cpu", "where threads wait, and how long", COLLECT_OFF_CPU) \
	ROW("sched-wait", "runnable but not running", COLLECT_SCHED_WAIT) \
	ROW("wall", "running and waiting together, for a GPU too", COLLECT_WALL) \
	ROW("page-fault", "who grows a process", 0) \
	ROW("alloc", "memory allocations", 0) \
	ROW("inuse", "memory in use", 0) \
	ROW("lock", "waits for locks", 0) \
	ROW("gpu-time", "GPU time by the CPU stack that asked for it", COLLECT_GPU_TIME) \
	ROW("gpu-wait", "CPU waiting for the GPU", COLLECT_GPU_WAIT) \
	ROW("gpu-launch", "GPU kernel launches", COLLECT_GPU_LAUNCH) \
	ROW("gpu-copy", "copies to and from the GPU", COLLECT_GPU_COPY) \
	ROW("gpu-stall", "why GPU instructions stall", COLLECT_GPU_STALL) \
	ROW("hbm-alloc", "GPU memory allocations", COLLECT_HBM_ALLOC) \
	ROW("hbm-inuse", "GPU memory in use", COLLECT_HBM_INUSE) \
	ROW("nccl", "communication between GPUs", COLLECT_NCCL)

#define WORD(name, what, bit) name,
#define KIND(name, what, bit) { name, what, bit },
const char *const event_words[] = { EVENT_KINDS(WORD) NULL };
static const struct event_kind {
	const char *name, *what;
	uint32_t bit; /* enum collect_event, 0: not in this version */
} kinds[] = { EVENT_KINDS(KIND) };
enum { KINDS = sizeof kinds / sizeof *kinds };

enum { WAIT_EVENTS = COLLECT_OFF_CPU | COLLECT_SCHED_WAIT | COLLECT_WALL };

/* Why a kind does not work here, NULL when it does. */
static const char *kind_obstacle(const struct event_kind *k, const struct trial *t)
{
	const struct collect_missing *waits = trial_missing(t, GROUP_WAITS);
	if (!k->bit)
		return "not in this version";
	if (t->rc < 0)
		return t->err.text;
	return waits && k->bit & WAIT_EVENTS ? waits->why : NULL;
}

static void list_json(struct buf *b, const struct trial *t)
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

static void list_text(struct buf *b, const struct trial *t)
{
	for (size_t i = 0; i < KINDS; i++) {
		const char *obstacle = kind_obstacle(&kinds[i], t);
		buf_addf(b, "%-12s %-46s %s\n", kinds[i].name, kinds[i].what,
			 obstacle ? obstacle : "works here");
	}
}

int events_list(const struct cmd_line *line, const struct collect_opts *kernel)
{
	struct trial trial;
	struct buf b = { 0 };
	trial_run(kernel, &trial);
	if (line->globals.json)
		list_json(&b, &trial);
	else
		list_text(&b, &trial);
	return cmd_print(&b);
}

/* --- what was asked for ---------------------------------------------------------------------- */

static uint32_t event_bits(const struct choice_list *events)
{
	uint32_t bits = 0;
	for (int i = 0; i < events->n; i++)
		bits |= kinds[events->v[i]].bit;
	return bits;
}

static int check_built(const struct choice_list *events)
{
	struct err err = { 0 };
	for (int i = 0; i < events->n; i++) {
		if (kinds[events->v[i]].bit)
			continue;
		err_set(&err, EOPNOTSUPP, "cannot record %s: this version does not have it yet",
			kinds[events->v[i]].name);
		err_hint(&err, "cresset record --list-events says what works here");
		return cmd_fail(CMD_UNSUPPORTED, &err);
	}
	return CMD_OK;
}

/* What would change nothing without a wait to apply it to is a mistake. Those with a default cannot be told from it. */
static int check_waits(const struct cmd_line *line, const struct record_opts *o)
{
	const char *option = o->wakers           ? "wakers"
			     : o->waker_stacks   ? "waker-stacks"
			     : o->kernel_threads ? "kernel-threads"
						 : NULL;
	if (o->min_block_ns > o->max_block_ns)
		return cmd_usage(line, "--min-block is more than --max-block");
	if (option && !(event_bits(&o->events) & WAIT_EVENTS))
		return cmd_usage(line, "--%s needs -e off-cpu, sched-wait or wall", option);
	return CMD_OK;
}

/* Whose programs are to be watched has to be known before they show a stack. */
static int check_gpu_time(const struct cmd_line *line, const struct record_opts *o)
{
	uint32_t inside = event_bits(&o->events) & COLLECT_GPU_INSIDE;
	if (inside && (o->tids.n || o->comm || o->cgroup))
		return cmd_usage(line, "-e %s needs -p, -a or -- COMMAND",
				 inside & COLLECT_GPU_TIME ? "gpu-time" : "gpu-stall");
	return CMD_OK;
}

/* One that --gpu leaves out is not to be asked for. */
static int check_gpu_level(const struct cmd_line *line, const struct record_opts *o)
{
	uint32_t out = o->gpu == GPU_LEVEL_AUTO ? 0 : COLLECT_GPU & ~gpu_level_events(o->gpu);
	for (int i = 0; i < o->events.n; i++)
		if (kinds[o->events.v[i]].bit & out)
			return cmd_usage(line, "--gpu=%s leaves out what -e %s asks for",
					 gpu_level_words[o->gpu], kinds[o->events.v[i]].name);
	return CMD_OK;
}

/* What --gpu adds to -e. */
static uint32_t gpu_bits(const struct record_opts *o)
{
	bool can_have_time = !o->tids.n && !o->comm && !o->cgroup;
	if (o->gpu == GPU_LEVEL_AUTO)
		return 0;
	return gpu_level_events(o->gpu) & ~(can_have_time ? 0u : (uint32_t)COLLECT_GPU_INSIDE);
}

int events_settle(const struct cmd_line *line, const struct record_opts *o,
		  struct collect_opts *collect)
{
	struct err err = { 0 };
	int status = check_built(&o->events);
	if (status == CMD_OK)
		status = check_waits(line, o);
	if (status == CMD_OK)
		status = check_gpu_time(line, o);
	if (status == CMD_OK)
		status = check_gpu_level(line, o);
	if (status == CMD_OK && gpu_level_check(o->gpu, &err))
		status = cmd_fail(CMD_UNSUPPORTED, &err);
	collect->events = event_bits(&o->events) | gpu_bits(o);
	collect->min_block_ns = o->min_block_ns;
	collect->min_block_set = true;
	collect->max_block_ns = o->max_block_ns;
	collect->kernel_threads = o->kernel_threads;
	collect->wakers = o->wakers || o->waker_stacks;
	collect->waker_stacks = o->waker_stacks;
	collect->max_rate = o->max_rate;
	collect->gpu_stacks_per_s = o->max_rate;
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
			buf_addf(b, " %llu Hz", (unsigned long long)o->freq_hz);
	}
	if (gpu_bits(o))
		buf_addf(b, "%sGPU calls%s%s", dot,
			 gpu_bits(o) & COLLECT_GPU_TIME ? " and time" : "",
			 gpu_bits(o) & COLLECT_GPU_STALL ? " and stalls" : "");
}
