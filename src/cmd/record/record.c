/* cresset record: records a profile and writes files. */
#include "cmd/record/record_state.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/cli/interrupt.h"
#include "cmd/doctor/doctor.h"
#include "cmd/files/filter.h"
#include "cmd/files/kernel.h"
#include "cmd/files/names_env.h"
#include "cmd/gpu/gpu_setup.h"
#include "collect/collect.h"
#include "collect/kernel/missing.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- busy time of all CPUs: the samples that a recording of the whole machine should have --- */

/* proc_stat(5); user and nice include the time of guests. */
static void cpu_time_read(struct cpu_time *out)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	double hz = sysconf(_SC_CLK_TCK);
	char line[256];

	*out = (struct cpu_time){ .busy_s = -1 };
	fs_read_line("/proc/stat", line, sizeof line);
	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &iowait, &irq, &softirq, &steal) != 8)
		return;
	out->busy_s = (user + nice + system + irq + softirq) / hz;
	out->steal_s = steal / hz;
}

/* In the order of enum wait_hook. */
static const char *const wait_hook_words[] = { "auto", "sched_exit", "sys_exit", NULL };
/* In the order of enum unwind_mode. */
static const char *const unwind_words[] = { "auto", "fp", "dwarf", NULL };

enum { MAX_RATE_MAX = 10000000 };

#define ROW(title, member) .group = title, .offset = offsetof(struct record_opts, member)
#define TARGET(member)     ROW("Target (one of these, or -- COMMAND)", member)
#define WHAT(member)       ROW("What to record", member)
#define WAITS_TITLE        "Waits (off-cpu, sched-wait, wall, lock)"
#define WAITS(member)      ROW(WAITS_TITLE, collect.sampler.waits.member)
#define OUTPUT(member)     ROW("Output", member)
#define LIMITS(member)     ROW("Cost and limits", member)
static const struct cmd_opt record_options[] = {
	{ "a", "all", NULL, "whole machine (default if no target is given)", OPT_FLAG, TARGET(all),
	  .basic = true },
	{ "p", "pid", "PID,...", "these processes and their future children", OPT_COMMA,
	  TARGET(pids), .basic = true },
	{ "t", "tid", "TID,...", "these threads only", OPT_COMMA, TARGET(tids), .basic = true },
	{ NULL, "comm", "NAME", "threads of this name (may be a glob)", OPT_STRING,
	  TARGET(collect.sampler.comm), .basic = true },
	{ NULL, "cgroup", "PATH", "processes of a cgroup (v2) and those below it", OPT_STRING,
	  TARGET(collect.sampler.cgroup), .basic = true },
	{ "e", "event", "KIND,...", "kinds of events; see --list-events", OPT_CHOICES, WHAT(events),
	  .words = event_words, .def = "cpu", .basic = true },
	{ "Ff", "freq", "HZ", "samples per second and CPU", OPT_U64, WHAT(collect.sampler.freq_hz),
	  .def = OPT_DEF(SAMPLER_FREQ_HZ), .min = 1, .max = 10000, .basic = true },
	CLOCK_OPTION(record_opts, collect.sampler.clock, "What to record"),
	{ NULL, "gpu", "LEVEL",
	  "GPU events besides -e: 0 calls, 1 also time, 2 also stalls; auto: none", OPT_ENUM,
	  WHAT(gpu), .words = gpu_level_words, .bare = "1", .def = "auto", .basic = true },
	{ "d", "duration", "TIME", "stop after 500ms, 10s, 15m ...", OPT_DURATION,
	  WHAT(duration_ns), .min = 1, .basic = true },
	{ NULL, "no-kernel", NULL, "remove kernel frames", OPT_FLAG,
	  WHAT(collect.sampler.no_kernel) },
	{ NULL, "no-user", NULL, "remove user frames", OPT_FLAG, WHAT(collect.sampler.no_user) },
	{ NULL, "max-depth", "N", "maximum number of user frames in a stack", OPT_U64,
	  WHAT(collect.sampler.max_depth), .def = OPT_DEF(SAMPLER_MAX_DEPTH), .min = 1,
	  .max = SAMPLER_MAX_DEPTH },
	{ NULL, "unwind", "HOW",
	  "fp: frame pointers; auto: unwind tables, else frame pointers; dwarf: as auto, but fail "
	  "without tables",
	  OPT_ENUM, WHAT(collect.sampler.unwind), .words = unwind_words, .def = "auto" },
	{ NULL, "runtime-native", "HOW",
	  "a runtime's own frames between frames of Python or Java: fold, show", OPT_ENUM,
	  WHAT(collect.resolve.runtime_native), .words = runtime_native_words, .def = "fold" },
	{ NULL, "python-native", "HOW", "the former name of --runtime-native", OPT_ENUM,
	  WHAT(collect.resolve.runtime_native), .words = runtime_native_words, .def = "fold" },
	{ NULL, "jit-names", "HOW",
	  "names of code made at run time: function, or raw, with the marks of its compiler",
	  OPT_ENUM, WHAT(collect.resolve.jit_names), .words = jit_names_words, .def = "function" },
	{ NULL, "list-events", NULL, "list the kinds of events and whether they work here",
	  OPT_FLAG, WHAT(list_events) },
	{ "m", "min-block", "TIME", "no stacks for shorter waits (plain number: us)", OPT_DURATION,
	  WAITS(min_block_ns), .def = OPT_DEF(WAIT_MIN_BLOCK_MS) "ms", .bare_unit_ns = 1000,
	  .basic = true },
	{ NULL, "max-block", "TIME", "no stacks for longer waits", OPT_DURATION,
	  WAITS(max_block_ns), .def = OPT_DEF(WAIT_MAX_BLOCK_H) "h", .min = 1 },
	{ NULL, "kernel-threads", NULL, "record waits of kernel threads as well", OPT_FLAG,
	  WAITS(kernel_threads) },
	{ NULL, "wakers", NULL, "record the waker of each wait", OPT_FLAG, WAITS(wakers) },
	{ NULL, "waker-stacks", NULL, "record the waker and its stack", OPT_FLAG,
	  WAITS(waker_stacks) },
	{ NULL, "max-rate", "N", "stacks per second; above this, waits are sampled", OPT_U64,
	  WAITS(max_rate), .def = OPT_DEF(WAIT_MAX_RATE), .min = 1, .max = MAX_RATE_MAX },
	{ NULL, "wait-hook", "WHERE",
	  "probe that takes the stacks of waits: auto, sched_exit, sys_exit", OPT_ENUM, WAITS(hook),
	  .words = wait_hook_words, .def = "auto" },
	{ "o", "output", "FILE", "repeatable: .cresset .svg .pb.gz .folded; - = stdout",
	  OPT_STRINGS, OUTPUT(outputs), .basic = true },
	{ NULL, "format", "FORMAT", "output format (default: from the file name ending)",
	  OPT_STRING, OUTPUT(format), .basic = true },
	{ NULL, "by", "KEY,...",
	  "root frames of folded stacks and graphs: comm pid process unit pod user ... none",
	  OPT_CHOICES, OUTPUT(by), .words = tree_by_names, .def = "comm" },
	TEXT_OPTIONS(record_opts),
	{ NULL, "per-thread", "DIR",
	  "write a graph, folded stacks and a text for each thread into this directory", OPT_STRING,
	  OUTPUT(per_thread) },
	{ NULL, "no-progress", NULL, "no status line", OPT_FLAG, OUTPUT(no_progress) },
	{ NULL, "buffer", "SIZE",
	  "size of the ring buffer between kernel and cresset (default " OPT_DEF(
		  SAMPLER_BUFFER_MIB) "M to " OPT_DEF(SAMPLER_BUFFER_MOST_MIB) "M)",
	  OPT_SIZE, LIMITS(collect.sampler.buffer_bytes), .min = 4096, .max = 1 << 30 },
	{ NULL, "unwind-memory", "SIZE", "kernel memory for unwind tables", OPT_SIZE,
	  LIMITS(collect.sampler.unwind_bytes), .def = OPT_DEF(SAMPLER_UNWIND_MIB) "M",
	  .min = 1 << 20, .max = 1 << 30 },
	{ NULL, "max-lost", "PCT", "exit with status 9 if more than this share of samples is lost",
	  OPT_PERCENT, LIMITS(max_lost_percent) },
	KERNEL_BTF_OPTION(record_opts, collect.sampler.kernel.btf_file),
	{ 0 },
};

/* --- options --------------------------------------------------------------------------------- */

static int settle(struct recording *r)
{
	const struct record_opts *o = r->opts;
	struct sampler_opts *asked = &r->collect.sampler;
	int status = events_finalize(r->line, o, asked);
	if (status == CMD_OK)
		status = target_finalize(r->line, o, asked);
	if (status == CMD_OK)
		status = outputs_finalize(r->line, &o->outputs, o->format, &r->outputs);
	r->outputs.need_samples |= o->per_thread != NULL;
	if (status == CMD_OK && r->line->globals.json && outputs_use_stdout(&r->outputs))
		status = cmd_usage(r->line, "--json and -o - cannot both have standard output");
	if (status == CMD_OK && asked->no_kernel && asked->no_user)
		status = cmd_usage(r->line, "--no-kernel and --no-user together leave nothing");
	machine_init(&r->machine);
	r->collect.resolve.series = (struct series_opts){ .host = r->machine.name.nodename,
							  .labels = r->machine.labels,
							  .n_labels = MACHINE_LABELS };
	r->collect.gpu.script = gpu_env().script;
	names_env(&r->line->arena, &r->collect.resolve.names);
	r->collect.cache_root = r->collect.resolve.names.cache_dir;
	if (status == CMD_OK)
		cache_root_say(r->collect.cache_root);
	return status;
}

static struct format_write_opts write_opts(const struct record_opts *o)
{
	struct format_write_opts w = text_write_opts(&o->text);
	filter_by(&o->by, &w.tree);
	return w;
}

/* --- --per-thread --- */

/* Creates the directory before anything is recorded. Returns CMD_OK, or the exit status with the
 * error printed, like per_thread_write. */
static int per_thread_open(const struct recording *r)
{
	struct err err = { 0 };
	if (!r->opts->per_thread || thread_files_make_dir(r->opts->per_thread, &err) == 0)
		return CMD_OK;
	return cmd_fail(CMD_NO_OUTPUT, &err);
}

/* Returns the name of the first output without directory and ending: "wall" of "out/wall.pb.gz". */
static char *base_name(const struct recording *r)
{
	const char *path = r->outputs.v[0].path;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const struct format *f = format_by_ending(name);
	size_t len = strlen(name), cut = 0;
	for (const char *const *e = f ? f->endings : NULL; e && *e; e++)
		if (str_ends(name, *e) && strlen(*e) > cut)
			cut = strlen(*e);
	const char *dot = strrchr(name, '.');
	if (!cut && dot)
		cut = strlen(dot);
	if (strcmp(path, "-") == 0 || len == cut)
		return xstrndup("cresset", strlen("cresset"));
	return xstrndup(name, len - cut);
}

static int per_thread_write(struct recording *r, const struct format_write_opts *opts)
{
	struct err err = { 0 };
	if (!r->opts->per_thread)
		return CMD_OK;
	char *base = base_name(r);
	int rc = thread_files_write(r->profile, r->opts->per_thread, base, opts, &r->per_thread,
				    &err);
	free(base);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}

/* --- before and after sampling --------------------------------------------------------------- */

static int open_outputs(struct recording *r)
{
	struct err err = { 0 };
	int rc = outputs_open(r->line, &r->outputs, &err);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : per_thread_open(r);
}

static int inject_library(struct recording *r)
{
	struct err err = { 0 };
	if (!(r->collect.sampler.events & COLLECT_GPU_INSIDE) || gpu_library_inject(&err) == 0)
		return CMD_OK;
	if (events_need_library(r->opts))
		return cmd_fail(CMD_UNSUPPORTED, &err);
	log_warn("no GPU time is recorded: %s", err.text);
	r->collect.sampler.events &= ~(uint32_t)COLLECT_GPU_INSIDE;
	return CMD_OK;
}

static void target_child(struct recording *r)
{
	struct sampler_opts *asked = &r->collect.sampler;
	r->child_id = r->child.pid;
	asked->target = TARGET_PID;
	asked->ids = &r->child_id;
	asked->n_ids = 1;
	asked->wait_exec = true;
}

/* Forks the command first: its pid is the target, except with -a. */
static int open_collector(struct recording *r)
{
	struct err err = { 0 };
	int status = record_heap_prepare(r);
	if (status != CMD_OK)
		return status;
	if (r->line->command.n) {
		if (inject_library(r) != CMD_OK)
			return CMD_UNSUPPORTED;
		record_heap_inject(r);
		int started = child_start(&r->child, r->line->command.v, &err);
		record_heap_restore(r);
		if (started < 0)
			return cmd_fail(CMD_FAILED, &err);
		if (!r->opts->all)
			target_child(r);
	}
	record_gpu_start(r);
	int rc = collect_open(&r->collect, profile_sink(r->profile), &r->collector, &err);
	if (rc < 0)
		return cmd_fail(collect_status(rc), &err);
	r->n_missing = kernel_warn(r->collector);
	return CMD_OK;
}

static void join_words(struct buf *b, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		buf_addf(b, "%s%s", i ? " " : "", argv[i]);
}

/* Sets the metadata known before the first sample. */
static void describe_start(struct recording *r)
{
	struct sink *sink = profile_sink(r->profile);
	struct profile_meta *m = sink->ops->meta(sink);
	struct buf command = { 0 };
	join_words(&command, r->line->argc, r->line->argv);
	m->command = sink_string(sink, buf_cstr(&command));
	m->host = sink_string(sink, r->machine.name.nodename);
	m->kernel = sink_string(sink, r->machine.name.release);
	m->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	m->start_mono_ns = r->start_mono_ns;
	m->start_wall_ns = r->start_mono_ns + clock_wall_offset_ns();
	buf_done(&command);
}

/* Adds missing features to the recording, for its readers. Those that were found missing meanwhile
 * are said, too. */
static void describe_missing(struct collector *c, size_t said, struct sink *sink)
{
	const struct collect_missing *missing;
	size_t n = collect_get_missing(c, &missing);
	for (size_t i = 0; i < n; i++) {
		struct err words = { 0 };
		collect_missing_words(&missing[i], &words);
		if (i >= said)
			log_warning(&words);
		vec_push(&sink->ops->meta(sink)->comments, sink_string(sink, words.text));
	}
}

/* What the collector has to say, by name. */
static void say_comments(const struct profile *p)
{
	for (size_t i = 0; i < p->meta.comments.n; i++)
		log_warn("%s", profile_str(p, p->meta.comments.v[i]));
}

static void describe_end(struct recording *r)
{
	struct sink *sink = profile_sink(r->profile);
	struct profile_meta *m = sink->ops->meta(sink);
	m->duration_ns = r->end_mono_ns - r->start_mono_ns;
	m->clock = sink_string(sink, r->stats.clock);
	if (r->stats.cpus)
		m->cpus = r->stats.cpus;
	say_comments(r->profile);
	describe_missing(r->collector, r->n_missing, sink);
	m->own_cpu_ns = collect_cpu_ns(r->collector) + r->stats.bpf_ns;
	m->own_peak_bytes = own_peak_bytes();
}

static void say_start(const struct recording *r)
{
	const char *dot = r->line->term.dot;
	struct buf b = { 0 };
	target_describe(&b, r->line, r->opts);
	buf_adds(&b, dot);
	events_describe(&b, dot, r->opts, collect_events(r->collector));
	if (!r->opts->duration_ns && !r->child.pid)
		buf_addf(&b, "%sCtrl-C ends it", dot);
	log_info("recording %s", buf_cstr(&b));
	buf_done(&b);
}

static int start(struct recording *r)
{
	struct err err = { 0 };
	record_gpu_name(r);
	int rc = collect_start(r->collector, &err);
	r->all_on_ns = clock_mono_ns();
	r->start_cpu_ns = collect_cpu_ns(r->collector);
	cpu_time_read(&r->start_cpus);
	if (rc < 0)
		return cmd_fail(collect_status(rc), &err);
	r->start_mono_ns = collect_started_ns(r->collector);
	describe_start(r);
	progress_init(&r->progress, &r->line->term, r->opts->no_progress, r->start_mono_ns,
		      r->opts->duration_ns, r->start_cpu_ns);
	if (r->child.pid) {
		interrupt_set_child(r->child.pid);
		if (child_release(&r->child, &err) < 0) {
			interrupt_set_child(0);
			err_prefix(&err, "cannot run '%s'", r->line->command.v[0]);
			return cmd_fail(CMD_NO_TARGET, &err);
		}
	}
	say_start(r);
	return CMD_OK;
}

/* --- sampling -------------------------------------------------------------------------------- */

/* How soon the end of a command or of the last target is noticed; a signal and the end of the time
 * are noticed immediately. */
enum { POLL_TARGET_MS = 100, POLL_MS = 250 };
#define KEEP_UP_EVERY_NS 3000000000ull

static bool is_over(struct recording *r, uint64_t now_ns)
{
	if (interrupt_count())
		return true;
	if (r->opts->duration_ns && now_ns - r->all_on_ns >= r->opts->duration_ns)
		return true;
	if (!r->child.pid)
		return collect_targets_gone(r->collector);
	if (!child_poll(&r->child))
		return false;
	interrupt_set_child(0); /* from here on Ctrl-C is for us */
	return true;
}

static int wait_ms(const struct recording *r, uint64_t now_ns)
{
	uint64_t end_ns = r->all_on_ns + r->opts->duration_ns;
	bool ends_itself =
		r->collect.sampler.target == TARGET_PID || r->collect.sampler.target == TARGET_TID;
	int poll_ms = ends_itself ? POLL_TARGET_MS : POLL_MS;
	if (!r->opts->duration_ns || end_ns - now_ns > poll_ms * 1000000ull)
		return poll_ms;
	return (end_ns - now_ns) / 1000000 + 1;
}

/* Work between reads: the status line, readings of GPUs, outputs written during the recording. */
static int between_reads(struct recording *r, uint64_t now_ns, uint64_t *next_keep_up_ns,
			 struct err *err)
{
	if (progress_due(&r->progress, now_ns)) {
		collect_get_stats(r->collector, &r->stats);
		progress_show(&r->progress, now_ns, collect_cpu_ns(r->collector), &r->stats);
	}
	if (now_ns < *next_keep_up_ns)
		return CMD_OK;
	*next_keep_up_ns = now_ns + KEEP_UP_EVERY_NS;
	record_gpu_take(r);
	return outputs_keep_up(&r->outputs, r->profile, err) < 0 ? CMD_NO_OUTPUT : CMD_OK;
}

/* Runs until the end or a failure; after a failure, what was recorded so far is still good. */
static int sample(struct recording *r)
{
	struct err err = { 0 };
	uint64_t now_ns = clock_mono_ns(), next_keep_up_ns = now_ns + KEEP_UP_EVERY_NS;
	int status = CMD_OK;
	while (status == CMD_OK && !is_over(r, now_ns)) {
		if (collect_run(r->collector, wait_ms(r, now_ns), &err) < 0)
			status = CMD_FAILED;
		now_ns = clock_mono_ns();
		if (status == CMD_OK)
			status = between_reads(r, now_ns, &next_keep_up_ns, &err);
	}
	progress_clear(&r->progress);
	return status == CMD_OK ? CMD_OK : cmd_fail(status, &err);
}

static int stop(struct recording *r)
{
	struct err err = { 0 };
	progress_say(&r->progress, "finding names");
	cpu_time_read(&r->end_cpus);
	int rc = collect_stop(r->collector, &err);
	r->end_mono_ns = collect_stopped_ns(r->collector);
	record_gpu_take(r);
	record_gpu_stop(r);
	r->end_cpu_ns = collect_cpu_ns(r->collector);
	collect_symbolize(r->collector);
	collect_get_stats(r->collector, &r->stats);
	describe_end(r);
	progress_clear(&r->progress);
	names_say_failures(&r->stats.names);
	return rc < 0 ? cmd_fail(CMD_FAILED, &err) : CMD_OK;
}

/* --- the end --------------------------------------------------------------------------------- */

static int worse(int a, int b)
{
	return a > b ? a : b;
}

static int judge_samples(const struct recording *r)
{
	const struct opt_number *max = &r->opts->max_lost_percent;
	double lost = profile_lost_samples(r->profile), all = lost + r->stats.samples;
	if (max->set && lost > 0 && 100 * lost / all > max->v) {
		log_warn("%.1f %% of the samples were lost, more than --max-lost %g",
			 100 * lost / all, max->v);
		return CMD_LOST;
	}
	if (r->stats.samples || r->stats.heap.go_stacks || r->stats.heap.go_lock_stacks)
		return CMD_OK;
	uint32_t events = r->collect.sampler.events;
	bool only_gpu = events && !(events & ~(uint32_t)COLLECT_GPU);
	bool only_heap = events && !(events & ~(uint32_t)(COLLECT_HEAP | COLLECT_LOCK));
	const struct heap_stats *heap = &r->stats.heap;
	log_warn("no sample was recorded: %s", only_gpu     ? "the target did not use a GPU"
					       : !only_heap ? "the target did not run on a CPU"
					       : heap->problem[0]      ? heap->problem
					       : heap->lock_problem[0] ? heap->lock_problem
					       : events & COLLECT_HEAP
						       ? "the target allocated too little memory"
						       : "the target did not wait for a mutex");
	return r->child.pid ? CMD_OK : CMD_NO_SAMPLE;
}

/* Returns the command's own status, unless the recording's is 3 to 7, or 9. */
static int join_status(const struct recording *r, int status)
{
	bool ours = (status >= CMD_PERMISSION && status <= CMD_NO_OUTPUT) || status == CMD_LOST;
	return r->child.pid && !ours ? r->child.status : status;
}

/* For a recording that ended before the command. */
static void wait_for_command(struct recording *r)
{
	if (!r->child.pid || child_poll(&r->child))
		return;
	log_info("everything is written; waiting for %s to end", r->line->command.v[0]);
	child_wait(&r->child);
}

static int finish(struct recording *r, int status)
{
	struct format_write_opts w = write_opts(r->opts);
	status = worse(status, stop(r));
	status = worse(status, outputs_finish(&r->outputs, r->profile, &w));
	status = worse(status, per_thread_write(r, &w));
	status = worse(status, summary_print(r));
	status = worse(status, judge_samples(r));
	wait_for_command(r);
	return join_status(r, status);
}

static int record(struct recording *r)
{
	int status = open_outputs(r);
	if (status == CMD_OK)
		status = open_collector(r);
	if (status == CMD_OK)
		status = start(r);
	if (status != CMD_OK)
		return status;
	return finish(r, sample(r));
}

static int record_run(struct cmd_line *line, const void *opts)
{
	const struct record_opts *o = opts;
	struct recording r = { .line = line, .opts = o, .collect = o->collect };
	struct kernel_opts *kernel = &r.collect.sampler.kernel;
	int status = kernel_finalize(kernel);
	if (status == CMD_OK && o->list_events)
		return events_list(line, kernel);
	if (status == CMD_OK)
		status = settle(&r);
	if (status != CMD_OK)
		return status;
	interrupt_install();
	r.profile = profile_new();
	status = record(&r);
	record_gpu_stop(&r);
	outputs_abort(&r.outputs);
	free(r.per_thread.summary);
	collect_free(r.collector);
	profile_free(r.profile);
	child_done(&r.child);
	return status;
}

const struct cmd cmd_record = {
	.name = "record",
	.summary = "profile now and write files",
	.usage = "[TARGET] [OPTIONS] [-- COMMAND ARG...]",
	.about = "Samples the stacks of running threads on each CPU, of the whole machine or of "
		"some processes and their children. It needs root, or the capabilities that "
		"cresset doctor lists.\n"
		 "The file name ending of each -o selects its format: see cresset help formats. "
		 "Without -o the output is a recording named cresset-YYYYMMDD-HHMMSS.cresset. "
		 "Ctrl-C ends a recording and saves it. A summary lists losses and their "
		 "reasons. With -- "
		 "COMMAND the exit status is the command's own.",
	.examples = {
		"cresset record -a -d 10 -o cpu.svg\twhole machine, 10 s, a flame graph",
		"cresset record -p 4242 -o cpu.pb.gz\tone process until Ctrl-C, for pprof",
		"cresset record -- ./prog --arg\ta program from its start to its end",
	},
	.options = record_options,
	.opts_size = sizeof(struct record_opts),
	.runs_command = true,
	.has_json = true,
	.run = record_run,
};
