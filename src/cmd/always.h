/* cmd/always.h: what cresset up and cresset agent have in common: what is recorded, and the folder of an unprivileged process. */
#ifndef CRESSET_CMD_ALWAYS_H
#define CRESSET_CMD_ALWAYS_H

#include "agent/up.h"
#include "cmd/choose.h"
#include "cmd/clock_option.h"
#include "cmd/cmd.h"
#include "cmd/config.h"
#include "cmd/gpu_level.h"
#include "cmd/kernel.h"
#include "cmd/python_native.h"
#include "cmd/relabel_rules.h"

struct always_opts {
	struct choice_list events;
	struct str_list only, exclude, gpu_attach;
	struct choice_list gpu_force;
	uint64_t freq_hz, min_block_ns, max_rate, buffer_bytes;
	int gpu;   /* enum gpu_level */
	int clock; /* enum collect_clock */
	struct opt_number gpu_budget_percent;
	const char *config, *btf; /* files */
	const struct yaml *relabel;
	int python_native; /* 1: show */
};
extern const char *const always_event_words[], *const always_force_words[];

/* Rows for the option table of a command whose options struct T has a member `always`. */
#define ALWAYS_ROW(T, member) .group = "What to record", .offset = offsetof(struct T, always.member)
/* clang-format off: one row a paragraph */
#define ALWAYS_OPTIONS(T) \
	{ "e", \
	  "events", \
	  "KIND,...", \
	  "what is recorded: cpu, off-cpu, sched-wait", \
	  OPT_CHOICES, \
	  ALWAYS_ROW(T, events), \
	  .words = always_event_words, \
	  .def = "cpu,off-cpu", \
	  .basic = true }, \
		{ "Ff",        "freq", \
		  "HZ",        "samples per second and CPU", \
		  OPT_U64,     ALWAYS_ROW(T, freq_hz), \
		  .def = "19", .min = 1, \
		  .max = 1000, .basic = true }, \
		CLOCK_OPTION(T, always.clock, "What to record"), \
		{ "m",          "min-block", \
		  "TIME",       "no stack of shorter waits; a bare number is us", \
		  OPT_DURATION, ALWAYS_ROW(T, min_block_ns), \
		  .def = "1ms", .bare_unit_ns = 1000 }, \
		{ NULL, \
		  "gpu", \
		  "LEVEL", \
		  "what programs ask of GPUs: auto (0 and 1), off, require; 0: calls, 1: GPU " \
		  "time, 2: stalls", \
		  OPT_ENUM, \
		  ALWAYS_ROW(T, gpu), \
		  .bare = "auto", \
		  .def = "auto", \
		  .words = gpu_level_words }, \
		{ NULL, \
		  "gpu-attach", \
		  "SELECTOR", \
		  "put the GPU library into these programs by itself: 'comm=\"train\"'; " \
		  "repeatable", \
		  OPT_STRINGS, \
		  ALWAYS_ROW(T, gpu_attach) }, \
		{ NULL, \
		  "gpu-attach-force", \
		  "WHY,...", \
		  "with --gpu-attach, also into those it refuses else: seccomp, user-namespace", \
		  OPT_CHOICES, \
		  ALWAYS_ROW(T, gpu_force), \
		  .words = always_force_words }, \
		CHOOSE_OPTIONS(ALWAYS_ROW(T, only), ALWAYS_ROW(T, exclude)), \
		{ NULL,          "max-rate", \
		  "N",           "stacks of waits per second; of more a weighted sample is taken", \
		  OPT_U64,       ALWAYS_ROW(T, max_rate), \
		  .def = "100",  .min = 1, \
		  .max = 1000000 }, \
		{ NULL, \
		  "python-native", \
		  "HOW", \
		  "the interpreter's own frames between Python's: fold, show", \
		  OPT_ENUM, \
		  ALWAYS_ROW(T, python_native), \
		  .words = python_native_words, \
		  .def = "fold" }, \
		{ NULL, \
		  "gpu-budget", \
		  "PCT", \
		  "of a program's time, what windows of GPU time may cost; 100: no window ends", \
		  OPT_PERCENT, \
		  .group = "Cost and limits", \
		  .offset = offsetof(struct T, always.gpu_budget_percent), \
		  .def = "0.1" }, \
		{ NULL, \
		  "buffer", \
		  "SIZE", \
		  "ring buffer between kernel and cresset", \
		  OPT_SIZE, \
		  .group = "Cost and limits", \
		  .offset = offsetof(struct T, always.buffer_bytes), \
		  .def = "512K", \
		  .min = 4096, \
		  .max = 1 << 30 }, \
		KERNEL_BTF_OPTION(T, always.btf)
/* clang-format on */

#define ALWAYS_CONFIG(T) \
	{ \
		NULL, "config", "FILE", "these options, and rules for labels, as YAML", \
			OPT_CONFIG, .group = "Configuration", \
				    .offset = offsetof(struct T, always.config), .basic = true \
	}
/* Rows for config_only. */
#define ALWAYS_CONFIG_ONLY(T) RELABEL_ROW("Labels", offsetof(struct T, always.relabel))

/* What the options of a collector point to. */
struct always;
/* Status, with what is wrong printed. Labels: host, kernel and arch of this machine. */
int always_new(struct cmd_line *line, const struct always_opts *o, struct always **out);
void always_free(struct always *a); /* NULL is fine */
/* Of every series, as host another name of this machine; both stay the caller's. False: there are too many. */
bool always_add_label(struct always *a, const char *key, const char *value);
struct collect_opts always_collect(const struct always_opts *o, const struct always *a);
struct up_attach always_attach(const struct always_opts *o, const struct always *a);

int always_check_permissions(struct err *err);
/* Status, with what is missing printed: --gpu=require, and a file that --btf names. */
int always_check_machine(const struct always_opts *o);
/* Makes up->data_dir where it is not there, and finds who the process is to be: the folder's owner; where that is root and the folder is
 * empty, or nobody, the user of cmd/store_user.h, whose it becomes. It must be able to get there. process: what it is called. */
int always_settle_folder(struct up_opts *up, const char *process, struct err *err);

#endif
