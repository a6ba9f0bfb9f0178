#include "agent/attaching.h"

#include "agent/attach_list.h"
#include "agent/attacher.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/attach_view.h"
#include "gpu/attach_status.h"
#include "gpu/cuda_attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct attaching {
	const struct up_attach *opts;
	struct attacher_opts how;
	struct attacher attacher;
	struct attach_list list;
	struct collector *collector; /* while it is asked */
	struct host_gpu_attach counts;
};

/* --- life ------------------------------------------------------------------------------------- */

static bool takes(void *ctx, uint32_t pid)
{
	struct attaching *a = ctx;

	return collect_ask_labels(a->collector, pid, &a->opts->takes);
}

static uint64_t start_of(void *ctx, uint32_t pid)
{
	(void)ctx;
	return attach_start_of(pid);
}

struct attaching *attaching_new(const struct up_attach *opts)
{
	if (!opts->takes.apply)
		return NULL;
	struct attaching *a = xcalloc(1, sizeof *a);
	const struct attach_list_opts list = { takes, start_of, a };
	struct err err;

	a->opts = opts;
	a->how = (struct attacher_opts){ &attach_view, &cuda_attach_library, opts->library,
					 opts->forced };
	attach_list_init(&a->list, &list);
	if (!attacher_start(&a->how, &a->attacher, &err))
		return a;
	log_warn("the GPU library is put into no program: %s", err.text);
	attach_list_done(&a->list);
	free(a);
	return NULL;
}

void attaching_free(struct attaching *a)
{
	if (!a)
		return;
	attacher_stop(&a->attacher);
	attach_list_done(&a->list);
	free(a);
}

static void on_program(void *ctx, enum gpu_program_news what, uint32_t pid, uint32_t parent)
{
	struct attaching *a = ctx;
	uint64_t now_ns = clock_mono_ns();

	switch (what) {
	case GPU_PROGRAM_MAPPED:
		attach_list_mapped(&a->list, pid, now_ns);
		break;
	case GPU_PROGRAM_FORKED:
		attach_list_forked(&a->list, parent, pid, now_ns);
		break;
	case GPU_PROGRAM_EXEC:
		attach_list_exec(&a->list, pid, now_ns);
		break;
	case GPU_PROGRAM_ENDED:
		attach_list_ended(&a->list, pid);
		break;
	}
}

void attaching_hook(struct attaching *a, struct collect_opts *collect)
{
	if (!a)
		return;
	collect->gpu_program = on_program;
	collect->gpu_program_ctx = a;
}

int attaching_watch(struct attaching *a, struct collector *c, struct err *err)
{
	return a ? collect_watch(c, a->attacher.fd, err) : 0;
}

const struct host_gpu_attach *attaching_counts(const struct attaching *a)
{
	return a ? &a->counts : NULL;
}

/* --- what came of it -------------------------------------------------------------------------- */

static void say_loaded(const struct attacher_answer *r)
{
	char path[32], name[16] = "";

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", r->pid);
	fs_read_line(path, name, sizeof name);
	log_info("process %" PRIu32 " (%s) has the GPU library now: its thread %" PRIu32
		 " was stopped in %s for %" PRIu64 " us; it was loaded %" PRIu64 " us later",
		 r->pid, name, r->report.tid, *r->call ? r->call : "a system call",
		 r->report.held_ns / 1000, r->report.load_ns / 1000);
}

static void say_later(const struct attacher_answer *r, const struct attach_told *told)
{
	unsigned s = told->pause_ns / 1000000000;

	if (told->is_news)
		log_info("not yet attached to: %s; it is tried again in %u s", r->err.text, s);
	else
		log_verbose("not yet attached to: %s; in %u s again", r->err.text, s);
}

static void say(const struct attacher_answer *r, const struct attach_told *told)
{
	switch (told->end) {
	case ATTACH_END_GONE:
		log_verbose("nothing to attach to: %s", r->err.text);
		break;
	case ATTACH_END_THERE:
		log_verbose("process %" PRIu32 " had the GPU library before", r->pid);
		break;
	case ATTACH_END_LOADED:
		say_loaded(r);
		break;
	case ATTACH_END_LATER:
		say_later(r, told);
		break;
	case ATTACH_END_GIVEN_UP:
		log_warn("not attached to, after %d tries: %s", ATTACH_TRIES, r->err.text);
		break;
	case ATTACH_END_REFUSED:
		log_warn("not attached to: %s", r->err.text);
		break;
	case ATTACH_END_FAILED:
		log_warn("attaching has failed: %s", r->err.text);
		break;
	}
	if (r->report.pages_left)
		log_warn("%" PRIu32 " pages of ours stay mapped in process %" PRIu32,
			 r->report.pages_left, r->pid);
}

static void count(struct host_gpu_attach *n, enum attach_end end)
{
	n->attached += end == ATTACH_END_LOADED;
	n->refused += end == ATTACH_END_REFUSED || end == ATTACH_END_GIVEN_UP;
	n->failed += end == ATTACH_END_FAILED;
}

/* --- running ---------------------------------------------------------------------------------- */

static void take_answers(struct attaching *a, uint64_t now_ns)
{
	struct attacher_answer answer;
	int rc;

	while ((rc = attacher_receive(&a->attacher, &answer)) > 0) {
		const struct attach_told told =
			attach_list_told(&a->list, answer.rc, &answer.report, now_ns);

		count(&a->counts, told.end);
		say(&answer, &told);
	}
	if (rc == 0)
		return;
	log_warn("the process that attaches has ended: the GPU library gets into no further "
		 "program");
	attacher_stop(&a->attacher);
}

static void ask(struct attaching *a, uint64_t now_ns)
{
	uint64_t start;
	uint32_t pid = attach_list_next(&a->list, now_ns, &start);

	if (pid && attacher_send(&a->attacher, pid, start))
		attach_list_told(&a->list, -EBUSY, &(struct gpu_attach_report){ 0 }, now_ns);
}

static void say_left_out(struct attaching *a)
{
	if (a->list.left_out && !a->counts.left_out)
		log_warn("more than %d processes have the GPU driver's library: some are not "
			 "attached to",
			 ATTACH_LIST_MAX);
	a->counts.left_out = a->list.left_out;
}

void attaching_run(struct attaching *a, struct collector *c, uint64_t now_ns)
{
	if (!a || a->attacher.fd < 0)
		return;
	a->collector = c;
	take_answers(a, now_ns);
	if (a->attacher.fd >= 0)
		ask(a, now_ns);
	say_left_out(a);
	a->collector = NULL;
}
