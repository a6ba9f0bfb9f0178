/* cresset doctor: shows what works on this host, and how to fix what does not. */
#include "cmd/doctor/doctor.h"
#include "attach/attach_library.h"
#include "attach/attach_refuse.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/installed.h"
#include "cmd/cli/term.h"
#include "cmd/files/kernel.h"
#include "cmd/gpu/gpu_setup.h"
#include "collect/collect.h"
#include "collect/gpu/gpu_survey.h"
#include "collect/inspect/inspect.h"
#include "collect/kernel/check.h"
#include "collect/kernel/missing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- output of checks ------------------------------------------------------------------------- */

static const struct {
	const char *json, *utf8, *ascii;
	enum paint paint;
} states[] = {
	[CHECK_OK] = { "ok", "✓", "ok", PAINT_GREEN },
	[CHECK_LIMITED] = { "limited", "–", "-", PAINT_YELLOW },
	[CHECK_MISSING] = { "missing", "✗", "X", PAINT_RED },
};

const char *check_word(enum check_state state)
{
	return states[state].json;
}

void term_check(struct buf *b, const struct term *term, enum check_state state)
{
	term_paint(b, term->color_out, states[state].paint,
		   term->utf8 ? states[state].utf8 : states[state].ascii);
	buf_adds(b, state == CHECK_OK && !term->utf8 ? "" : " ");
}

void hint_text(struct buf *b, const char *indent, const char *hint)
{
	enum { LINE_MAX_BYTES = 1024 };
	struct cur lines = cur_of(hint, strlen(hint));
	const char *line;
	size_t len;
	while (cur_line(&lines, &line, &len)) {
		if (memmem(line, len, "cresset doctor", strlen("cresset doctor")))
			continue;
		buf_adds(b, indent);
		esc_term(b, line, len, LINE_MAX_BYTES);
		buf_addc(b, '\n');
	}
}

void check_row(struct buf *b, const struct term *term, enum check_state state, const char *name,
	       const char *detail)
{
	enum { NAME_COLUMN = 26, TEXT_MAX = 1024 };
	buf_addc(b, ' ');
	term_check(b, term, state);
	buf_addc(b, ' ');
	size_t start = b->len;
	esc_term(b, name, strlen(name), TEXT_MAX);
	do
		buf_addc(b, ' ');
	while (b->len - start < NAME_COLUMN);
	esc_term(b, detail, strlen(detail), TEXT_MAX);
	buf_addc(b, '\n');
}

/* Whole lines, split at blanks: a remedy is a command to copy, so it starts on a line of its
 * own. */
void checks_text(struct buf *b, const struct term *term, const struct check *checks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_row(b, term, checks[i].state, checks[i].name, checks[i].detail);
		hint_text(b, "       ", checks[i].remedy);
	}
}

void checks_json(struct json *j, const struct check *checks, size_t n)
{
	json_key(j, "checks");
	json_arr(j);
	for (size_t i = 0; i < n; i++) {
		struct buf remedy = { 0 };
		json_obj(j);
		json_key_str(j, "name", checks[i].name);
		json_key_str(j, "state", check_word(checks[i].state));
		json_key_str(j, "detail", checks[i].detail);
		hint_text(&remedy, "", checks[i].remedy);
		if (remedy.len)
			remedy.len--; /* the last newline */
		json_key_str(j, "remedy", buf_cstr(&remedy));
		buf_done(&remedy);
		json_end(j);
	}
	json_end(j);
}

/* --- the command ------------------------------------------------------------------------------ */

/* --- GPUs --- */

enum { DOCTOR_GPU_CHECKS = 4 };

static void say_works(const struct gpu_now *now, struct check *c)
{
	const struct gpu_machine *m = &now->machine;
	uint32_t gpus = 0, lost = 0;

	for (size_t i = 0; i < m->devices.n; i++) {
		gpus += !m->devices.v[i].is_instance;
		lost += m->devices.v[i].is_lost;
	}
	snprintf(c->detail, sizeof c->detail,
		 "%u, %.60s, driver %.40s; processes that use them: %zu", gpus,
		 m->devices.n ? m->devices.v[0].name : "", m->driver, now->reading.processes.n);
	if (!lost && !m->left_out)
		return;
	c->state = CHECK_LIMITED;
	snprintf(c->remedy, sizeof c->remedy,
		 "%u of them lost, %u do not respond: see the kernel log: dmesg | tail", lost,
		 m->left_out);
}

static void say_gpus(const struct gpu_now *now, struct check *c)
{
	*c = (struct check){ .name = "GPUs", .state = CHECK_OK };
	if (now->status.hangs_ns || now->status.state == GPU_STARTING) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail, sizeof c->detail,
			 "the driver does not respond: no GPU metrics");
		snprintf(c->remedy, sizeof c->remedy,
			 "everything else works; see the kernel log: dmesg | tail");
	} else if (now->status.state == GPU_WORKS) {
		say_works(now, c);
	} else if (now->status.state == GPU_FAILED) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail, sizeof c->detail, "no metrics: %.140s", now->status.words);
	} else {
		snprintf(c->detail, sizeof c->detail, "none (%.140s)", now->status.words);
	}
}

static void say_profiling(const struct gpu_now *now, struct check *c)
{
	const struct gpu_backend *backend = gpu_backend_of(now->status.backend);
	enum gpu_profiling who =
		backend && backend->profiling ? backend->profiling() : GPU_PROFILING_UNKNOWN;

	*c = (struct check){ .name = "GPU profiling", .state = CHECK_OK };
	if (who == GPU_PROFILING_ALL) {
		snprintf(c->detail, sizeof c->detail, "the driver lets every user take samples");
		return;
	}
	c->state = CHECK_LIMITED;
	if (who == GPU_PROFILING_ADMIN)
		snprintf(c->detail, sizeof c->detail,
			 "the driver lets only root sample instructions; GPU time needs no "
			 "permission");
	else
		snprintf(c->detail, sizeof c->detail,
			 "the driver does not report who may sample instructions");
	snprintf(c->remedy, sizeof c->remedy,
		 "for programs of other users, then load the driver again: echo options nvidia "
		 "NVreg_RestrictProfilingToAdminUsers=0 >/etc/modprobe.d/profiling.conf");
}

static void say_library(const struct gpu_survey *s, struct check *c)
{
	char path[INSTALLED_PATH_MAX];
	struct err err = { 0 };
	uint32_t uses = 0, has = 0;

	for (size_t i = 0; i < s->all.n; i++) {
		uses += s->all.v[i].is_user;
		has += s->all.v[i].has_library;
	}
	*c = (struct check){ .name = "GPU time", .state = CHECK_OK };
	int n = snprintf(c->detail, sizeof c->detail,
			 "programs that use a GPU: %u, with the library: %u", uses, has);

	if (installed_library(cuda_attach_library.name, path, &err) < 0) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail + n, sizeof c->detail - n, "; none can get it: %.60s", err.text);
		snprintf(c->remedy, sizeof c->remedy,
			 "install %s in the directory of cresset, or in ../lib/cresset from there",
			 cuda_attach_library.name);
	} else if (s->unreadable) {
		snprintf(c->detail + n, sizeof c->detail - n, "; %u not readable", s->unreadable);
	}
}

static void say_attach(struct check *c)
{
	enum gpu_attach_refusal why = attach_refused_always();

	*c = (struct check){ .name = "GPU attach", .state = CHECK_OK };
	if (why == GPU_ATTACH_NOT_REFUSED) {
		snprintf(c->detail, sizeof c->detail,
			 "to load the library into running programs: gpu attach, up --gpu-attach");
		return;
	}
	c->state = CHECK_LIMITED;
	snprintf(c->detail, sizeof c->detail,
		 why == GPU_ATTACH_PTRACE_SCOPE
			 ? "running programs cannot get the library: kernel.yama.ptrace_scope is 3"
			 : "running programs of other users cannot get the library");
	snprintf(c->remedy, sizeof c->remedy,
		 why == GPU_ATTACH_PTRACE_SCOPE
			 ? "set it for new programs: " CUDA_INJECTION_VARIABLE
			 : "run as root, or with CAP_SYS_PTRACE");
}

/* Returns their number, or 0 if there is no space for all. */
static size_t doctor_gpu(struct check *out, size_t max)
{
	struct gpu_survey survey = { 0 };
	struct gpu_now now = { 0 };
	size_t n = 0;

	if (max < DOCTOR_GPU_CHECKS)
		return 0;
	gpu_now_read(&now);
	gpu_survey(&survey_cuda, &survey);
	say_gpus(&now, &out[n++]);
	bool is_here = now.status.state == GPU_WORKS;

	if (is_here)
		say_profiling(&now, &out[n++]);
	if (is_here || survey.all.n)
		say_library(&survey, &out[n++]);
	if (is_here || survey.all.n)
		say_attach(&out[n++]);
	gpu_survey_done(&survey);
	gpu_now_done(&now);
	return n;
}

static const char *walker_meaning(const char *walker)
{
	if (walker && strstr(walker, "tables"))
		return "The programs' own call frame information, so no frame pointers are\n"
		       "        needed; an incomplete stack has the reason at its root.";
	if (walker && strstr(walker, "helper"))
		return "The kernel's own walk: user code without frame pointers\n"
		       "        gives short stacks, and stacks may end without a reason.";
	return "User code that was built without frame pointers gives short stacks;\n"
	       "        an incomplete stack has the reason at its root.";
}

/* What the current clock and walker mean for the content of a profile. */
static void add_meaning(struct buf *b, const struct collect_stats *s)
{
	bool cpu_clock = s->clock && strcmp(s->clock, "cpu-clock") == 0;
	buf_addf(b, "\nclock:  %s. %s\n", s->clock ? s->clock : "unknown",
		 cpu_clock ? "A timer per CPU: code that runs with interrupts off is attributed to "
			     "where "
			     "they\n        are enabled again; idle time is not sampled."
			   : "Hardware counter with NMI: also code that runs with interrupts off.");
	buf_addf(b, "walker: %s. %s\n", s->walker ? s->walker : "unknown",
		 walker_meaning(s->walker));
}

static void add_works(struct buf *b, const struct term *term, const struct probe_recording *t)
{
	bool whole = probe_recording_is_whole(t);
	term_paint(b, term->color_out, PAINT_BOLD,
		   whole ? "recording works" : "recording works in part");
	buf_adds(b, ": cresset record -a -d 10 -o cpu.svg\n");
	for (size_t i = 0; i < t->n_missing; i++) {
		struct err words = { 0 };
		collect_missing_words(&t->missing[i], &words);
		buf_adds(b, "  ");
		esc_term(b, words.text, strlen(words.text), sizeof words.text);
		buf_addc(b, '\n');
	}
}

static void add_verdict(struct buf *b, const struct term *term, const struct probe_recording *t)
{
	buf_addc(b, '\n');
	if (t->rc == 0) {
		add_works(b, term, t);
		return;
	}
	term_paint(b, term->color_out, PAINT_BOLD, "recording does not work here");
	buf_adds(b, ": ");
	esc_term(b, t->err.text, strlen(t->err.text), sizeof t->err.text);
	buf_addc(b, '\n');
	hint_text(b, "  ", t->err.hint);
}

static void add_json(struct buf *b, const struct check *checks, size_t n,
		     const struct probe_recording *t)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_bool(&j, "recording_works", probe_recording_is_whole(t));
	json_key_bool(&j, "records_cpu", t->rc == 0);
	json_key_str(&j, "error", t->rc == 0 ? NULL : t->err.text);
	kernel_missing_json(&j, t->missing, t->n_missing);
	json_key_str(&j, "clock", t->stats.clock);
	json_key_str(&j, "walker", t->stats.walker);
	checks_json(&j, checks, n);
	json_end(&j);
	buf_addc(b, '\n');
}

struct doctor_opts {
	const char *data;
	bool self;
	struct kernel_opts kernel;
};

static int doctor_run(struct cmd_line *line, const void *opts)
{
	const struct doctor_opts *o = opts;
	struct check checks[CHECKS_MAX];
	struct kernel_opts kernel = o->kernel;
	struct probe_recording trial;
	struct buf b = { 0 };
	if (!!line->args.n + !!o->data + o->self > 1)
		return cmd_usage(line, "either a process, --data or --self");
	if (o->self)
		return doctor_self(line);
	if (o->data)
		return doctor_data(line, o->data);
	if (line->args.n)
		return doctor_pid(line, line->args.v[0]);
	int status = kernel_finalize(&kernel);
	if (status != CMD_OK)
		return status;
	struct kernel_opts quiet = kernel; /* the trial recording below reports refusals, once */
	quiet.on_refused = NULL;
	size_t n = collect_checks(&quiet, checks, CHECKS_MAX);
	n += doctor_gpu(checks + n, CHECKS_MAX - n);
	probe_recording_run(&kernel, &trial);
	if (line->globals.json) {
		add_json(&b, checks, n, &trial);
	} else {
		checks_text(&b, &line->term, checks, n);
		if (trial.stats.clock)
			add_meaning(&b, &trial.stats);
		add_verdict(&b, &line->term, &trial);
		term_fit(&line->term, &b);
	}
	status = cmd_print(&b);
	if (status == CMD_OK && trial.rc < 0)
		return collect_status(trial.rc);
	return status == CMD_OK && !probe_recording_is_whole(&trial) ? CMD_UNSUPPORTED : status;
}

static const struct cmd_opt doctor_options[] = {
	{ NULL, "data", "DIR", "verify all files of a store", OPT_STRING, "What",
	  offsetof(struct doctor_opts, data), .basic = true },
	{ NULL, "self", NULL, "verify the files of this program instead", OPT_FLAG, "What",
	  offsetof(struct doctor_opts, self), .basic = true },
	KERNEL_BTF_OPTION(doctor_opts, kernel.btf_file),
	{ 0 },
};

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "check this host, and show how to fix what does not work",
	.usage = "[PID] [OPTIONS]",
	.about = "Tests every feature that recording needs, and then a recording of the default "
		"events of cresset up: cpu and off-cpu. The exit status is 0 if all of them "
		"work, 3 if a permission is missing, 4 if the kernel lacks a feature.\n"
		 "If the kernel rejects a BPF program, -v shows the last lines of the verifier "
		 "log, -vv all of it.\n"
		 "With a PID, shows each file that the process runs code of, the source of its "
		 "symbols, its unwinding method, and a command for better symbols. The exit "
		 "status is 5 if the process does not exist.\n"
		 "With --data, reads every file of a store and verifies its checksums; another "
		 "process may write to the store at the same time. Only modes of files that "
		 "other users can read are changed. The exit status is 6 if a file is damaged.\n"
		 "With --self, compares the files of this program with SHA256SUMS of its "
		 "release, in the directory of the program or in ../lib/cresset from there, and "
		 "loads the libraries that it opens by name. -v shows every file. The exit "
		 "status is 6 if a file is changed, missing or of another version, 3 if one is "
		 "not readable, 4 if up and serve lack a library.",
	.examples = {
		"sudo cresset doctor\tone line per capability",
		"sudo cresset doctor 4242\tthe files of a process and their names",
		"cresset doctor --json\tfor scripts",
	},
	.options = doctor_options,
	.opts_size = sizeof(struct doctor_opts),
	.max_args = 1,
	.arg_name = "PID",
	.has_json = true,
	.run = doctor_run,
};
