/* cresset doctor: what works on this host, and how to fix what does not. */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/doctor_data.h"
#include "cmd/doctor_gpu.h"
#include "cmd/doctor_pid.h"
#include "cmd/kernel.h"
#include "cmd/trial.h"
#include "collect/collect.h"
#include "collect/missing.h"

#include <errno.h>

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

/* What helps, line by line. A hint to this command, which others give, is of no use here. */
static void add_hint(struct buf *b, const char *indent, const char *hint)
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

/* Whole lines, cut at blanks: a remedy is a command to copy, so it starts on a line of its own. */
static void add_check(struct buf *b, const struct term *term, const struct check *c)
{
	enum { NAME_COLUMN = 26, TEXT_MAX = 1024 };
	buf_addc(b, ' ');
	term_check(b, term, c->state);
	buf_addc(b, ' ');
	size_t start = b->len;
	esc_term(b, c->name, strlen(c->name), TEXT_MAX);
	do
		buf_addc(b, ' ');
	while (b->len - start < NAME_COLUMN);
	esc_term(b, c->detail, strlen(c->detail), TEXT_MAX);
	buf_addc(b, '\n');
	add_hint(b, "       ", c->remedy);
}

static const char *walker_meaning(const char *walker)
{
	if (walker && strstr(walker, "tables"))
		return "The programs' own call frame information, so no frame pointers are\n"
		       "        needed; a stack that could not be finished says why at its root.";
	if (walker && strstr(walker, "helper"))
		return "The kernel's own walk: user code without frame pointers\n"
		       "        gives short stacks, and stacks may end without a reason.";
	return "User code that was built without frame pointers gives short stacks;\n"
	       "        a stack that could not be finished says why at its root.";
}

/* What the clock and the walker in use mean for what a profile shows. */
static void add_meaning(struct buf *b, const struct collect_stats *s)
{
	bool cpu_clock = s->clock && strcmp(s->clock, "cpu-clock") == 0;
	buf_addf(b, "\nclock:  %s. %s\n", s->clock ? s->clock : "unknown",
		 cpu_clock ? "A timer per CPU: code that runs with interrupts off is charged where "
			     "they\n        are enabled again; idle time is not sampled."
			   : "Hardware counter with NMI: also code that runs with interrupts off.");
	buf_addf(b, "walker: %s. %s\n", s->walker ? s->walker : "unknown",
		 walker_meaning(s->walker));
}

static void add_works(struct buf *b, const struct term *term, const struct trial *t)
{
	bool whole = trial_is_whole(t);
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

static void add_verdict(struct buf *b, const struct term *term, const struct trial *t)
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
	add_hint(b, "  ", t->err.hint);
}

static void add_json(struct buf *b, const struct check *checks, size_t n, const struct trial *t)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_bool(&j, "recording_works", trial_is_whole(t));
	json_key_bool(&j, "records_cpu", t->rc == 0);
	json_key_str(&j, "error", t->rc == 0 ? NULL : t->err.text);
	kernel_missing_json(&j, t->missing, t->n_missing);
	json_key_str(&j, "clock", t->stats.clock);
	json_key_str(&j, "walker", t->stats.walker);
	json_key(&j, "checks");
	json_arr(&j);
	for (size_t i = 0; i < n; i++) {
		json_obj(&j);
		json_key_str(&j, "name", checks[i].name);
		json_key_str(&j, "state", check_word(checks[i].state));
		json_key_str(&j, "detail", checks[i].detail);
		struct buf remedy = { 0 };
		add_hint(&remedy, "", checks[i].remedy);
		if (remedy.len)
			remedy.len--; /* the last end of line */
		json_key_str(&j, "remedy", buf_cstr(&remedy));
		buf_done(&remedy);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

struct doctor_opts {
	const char *data, *btf;
};

static int doctor_run(struct cmd_line *line, const void *opts)
{
	const struct doctor_opts *o = opts;
	struct check checks[CHECKS_MAX];
	struct collect_opts kernel = { 0 };
	struct trial trial;
	struct buf b = { 0 };
	if (line->args.n && o->data)
		return cmd_usage(line, "either a process or --data");
	if (o->data)
		return doctor_data(line, o->data);
	if (line->args.n)
		return doctor_pid(line, line->args.v[0]);
	int status = kernel_settle(o->btf, &kernel);
	if (status != CMD_OK)
		return status;
	struct collect_opts quiet = kernel; /* the recording below says what is refused, once */
	quiet.on_refused = NULL;
	size_t n = collect_checks(&quiet, checks, CHECKS_MAX);
	n += doctor_gpu(checks + n, CHECKS_MAX - n);
	trial_run(&kernel, &trial);
	if (line->globals.json) {
		add_json(&b, checks, n, &trial);
	} else {
		for (size_t i = 0; i < n; i++)
			add_check(&b, &line->term, &checks[i]);
		if (trial.stats.clock)
			add_meaning(&b, &trial.stats);
		add_verdict(&b, &line->term, &trial);
		term_fit(&line->term, &b);
	}
	status = cmd_print(&b);
	if (status == CMD_OK && trial.rc < 0)
		return collect_status(trial.rc);
	return status == CMD_OK && !trial_is_whole(&trial) ? CMD_UNSUPPORTED : status;
}

static const struct cmd_opt doctor_options[] = {
	{ NULL, "data", "DIR", "read all of a store instead: is it as it was written?", OPT_STRING,
	  "What", offsetof(struct doctor_opts, data), .basic = true },
	KERNEL_BTF_OPTION(doctor_opts, btf),
	{ 0 },
};

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "what works on this host, and how to fix what does not",
	.usage = "[PID] [OPTIONS]",
	.about = "Tries each thing that recording needs, and then a recording of what cresset up records: cpu and off-cpu. The exit status is 0 when "
		 "all of that works here, 3 when a permission is missing, 4 when the kernel lacks something.\n"
		 "With -v, a program that the kernel refuses comes with the last lines of the verifier's log, with -vv with all of it.\n"
		 "With a process, shows each file whose code it runs: where its names come from, what its stacks are walked by, "
		 "and the command that would give better names. The exit status is 5 when there is no such process.\n"
		 "With --data, reads every file of a store and compares it with the checksums in it, also while another process writes it; "
		 "nothing is changed. The exit status is 6 when something is damaged.",
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
