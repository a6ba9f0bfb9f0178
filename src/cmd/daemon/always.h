/* cmd/daemon/always.h: the common part of cresset up and cresset agent: the events to record, and
 * the directory of an unprivileged process. */
#ifndef CRESSET_CMD_DAEMON_ALWAYS_H
#define CRESSET_CMD_DAEMON_ALWAYS_H

#include "agent/up.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/config.h"
#include "cmd/files/data_dir.h"
#include "cmd/files/kernel.h"
#include "cmd/gpu/gpu_setup.h"

#include <stddef.h>

struct err;
struct relabel;
struct selector;
struct yaml;

/* --- the key "relabel" of a configuration file. */

/* A row for struct cmd's config_only; at: offset of a const struct yaml * in the options struct. */
#define RELABEL_ROW(title, at) \
	{ \
		NULL, "relabel", "RULES", \
			"rules that change labels or drop series, in this order, as Prometheus' " \
			"relabel_configs; actions: replace, keep, drop, " \
			"labelmap, labeldrop, labelkeep", \
			OPT_TREE, .group = title, .offset = (at), .bare = relabel_example \
	}
extern const char relabel_example[];

/* y: NULL for no rules, which gives NULL. file: for messages. Returns 0 and sets *out (free with
 * relabel_free), or -EINVAL with "file:line: words". */
int relabel_read(const struct yaml *y, const char *file, struct relabel **out, struct err *err);

/* --- recording options --- */

/* Which series are recorded: the ones that a selector of --only takes (all without --only), except
 * the ones that one of --exclude takes. Selectors see the labels that a query would see
 * (query/selector.h), so the selector of a query also excludes what it found. */
enum { CHOOSE_GPU, CHOOSE_MEM, CHOOSE_SWITCH, CHOOSES };
struct choose { /* zeroed = everything is recorded */
	VEC(struct selector *) only, exclude;
	struct choose_attach {
		const struct choose *choose;
		VEC(struct selector *) all;
	} attach[CHOOSES];
};

#define CHOOSE_OPTIONS(only_at, exclude_at) \
	{ NULL,        "only",  "SELECTOR",   "record only: 'unit=\"nginx.service\"'; repeatable", \
	  OPT_STRINGS, only_at, .basic = true }, \
	{ \
		NULL, "exclude", "SELECTOR", "do not record: 'comm=~\"kworker.*\"'; repeatable", \
			OPT_STRINGS, exclude_at, .basic = true \
	}

struct always_opts {
	struct choice_list events;
	struct str_list only, exclude, gpu_attach, mem_attach, mem_switch;
	struct choice_list gpu_force, mem_force;
	int gpu; /* enum gpu_level */
	struct opt_number gpu_budget_percent, wait_budget_percent;
	struct choice_list dir_force; /* data_dir_words */
	const char *config;           /* a file */
	const struct yaml *relabel;
	struct collect_opts collect; /* always_collect adds the options above to it */
};
extern const char *const always_event_words[], *const always_force_words[];

/* Rows for the option table of a command whose options struct T has a member `always`. */
#define ALWAYS_ROW(T, member) .group = "What to record", .offset = offsetof(struct T, always.member)
/* clang-format would break up the rows. */
/* clang-format off */
#define ALWAYS_SAMPLER(T, member) ALWAYS_ROW(T, collect.sampler.member)
#define ALWAYS_OPTIONS(T) \
	{ "e", "events", "KIND,...", \
	  "events to record: cpu, off-cpu, sched-wait, lock, page-fault, rss, alloc, inuse", \
	  OPT_CHOICES, \
	  ALWAYS_ROW(T, events), .words = always_event_words, \
	  .def = "cpu,off-cpu", .basic = true }, \
	{ "Ff", "freq", "HZ", "samples per second and CPU", OPT_U64, ALWAYS_SAMPLER(T, freq_hz), \
	  .def = "19", .min = 1, .max = 1000, .basic = true }, \
	CLOCK_OPTION(T, always.collect.sampler.clock, "What to record"), \
	{ "m", "min-block", "TIME", "no stacks for shorter waits (plain number: us)", \
	  OPT_DURATION, ALWAYS_SAMPLER(T, waits.min_block_ns), \
	  .def = OPT_DEF(WAIT_MIN_BLOCK_MS) "ms", .bare_unit_ns = 1000 }, \
	{ NULL, "gpu", "LEVEL", \
	  "GPU levels: 0 calls, 1 GPU time, 2 stalls; auto: 0 and 1 if possible; off; require", \
	    OPT_ENUM, ALWAYS_ROW(T, gpu), .bare = \
	  	"auto", .def = "auto", \
	  .words = gpu_level_words }, \
	{ NULL, "gpu-attach", "SELECTOR", \
	  "load the GPU library into matching running programs: 'comm=\"train\"'; repeatable", \
	  OPT_STRINGS, ALWAYS_ROW(T, gpu_attach) }, \
	{ NULL, "gpu-attach-force", "WHY,...", \
	  "let --gpu-attach load into programs that it would refuse for: seccomp, user-namespace", \
	  OPT_CHOICES, ALWAYS_ROW(T, gpu_force), .words = always_force_words }, \
	{ NULL, "mem-attach", "SELECTOR", \
	  "load the memory library into matching running programs: 'comm=\"redis\"'; repeatable", \
	  OPT_STRINGS, ALWAYS_ROW(T, mem_attach) }, \
	{ NULL, "mem-attach-force", "WHY,...", \
	  "let --mem-attach load into programs that it would refuse for: seccomp, user-namespace", \
	  OPT_CHOICES, ALWAYS_ROW(T, mem_force), .words = always_force_words }, \
	{ NULL, "mem-switch", "SELECTOR", \
	  "turn on profiles of heaps (Go, Java), mutexes (Go) in matching programs; repeatable", \
	  OPT_STRINGS, ALWAYS_ROW(T, mem_switch) }, \
	CHOOSE_OPTIONS(ALWAYS_ROW(T, only), ALWAYS_ROW(T, exclude)), \
	{ NULL, "max-rate", "N", \
	  "wait stacks per second; above this, waits are sampled", OPT_U64, \
	  ALWAYS_SAMPLER(T, waits.max_rate), .def = "100", .min = 1, .max = 1000000 }, \
	{ NULL, "runtime-native", "HOW", \
	  "a runtime's own frames between frames of Python or Java: fold, show", OPT_ENUM, \
	  ALWAYS_ROW(T, collect.resolve.runtime_native), .words = runtime_native_words, \
	  .def = "fold" }, \
	{ NULL, "python-native", "HOW", "the former name of --runtime-native", OPT_ENUM, \
	  ALWAYS_ROW(T, collect.resolve.runtime_native), .words = runtime_native_words, \
	  .def = "fold" }, \
	{ NULL, "jit-names", "HOW", \
	  "names of code made at run time: function, or raw, with the marks of its compiler", \
	  OPT_ENUM, ALWAYS_ROW(T, collect.resolve.jit_names), .words = jit_names_words, \
	  .def = "function" }, \
	{ NULL, "gpu-budget", "PCT", \
	  "GPU timing overhead limit in % of run time; 100: always on", \
	  OPT_PERCENT, .group = "Cost and limits", \
	  .offset = offsetof(struct T, always.gpu_budget_percent), .def = "0.1" }, \
	{ NULL, "wait-budget", "PCT", \
	  "limit on tracing switches in % of one CPU; above it, waits are estimated; " \
	  "0: none", OPT_PERCENT, .group = "Cost and limits", \
	  .offset = offsetof(struct T, always.wait_budget_percent), .def = "0.3" }, \
	{ NULL, "buffer", "SIZE", "size of the ring buffer between kernel and cresset", OPT_SIZE, \
	  .group = "Cost and limits", \
	  .offset = offsetof(struct T, always.collect.sampler.buffer_bytes), .def = "512K", \
	  .min = 4096, .max = 1 << 30 }, \
	KERNEL_BTF_OPTION(T, always.collect.sampler.kernel.btf_file)
#define ALWAYS_DIR_FORCE(T, name, title) \
	DATA_DIR_FORCE(name, title, offsetof(struct T, always.dir_force))
#define ALWAYS_CONFIG(T) \
	{ NULL, "config", "FILE", "these options, and rules for labels, as YAML", OPT_CONFIG, \
	  .group = "Configuration", .offset = offsetof(struct T, always.config), .basic = true }
/* clang-format on */

/* Rows for config_only. */
#define ALWAYS_CONFIG_ONLY(T) RELABEL_ROW("Labels", offsetof(struct T, always.relabel))

/* The data that a collector's options point to. */
struct always;
/* Returns an exit status, with the error printed. Sets labels of this machine: host, kernel and
 * arch. */
int always_new(struct cmd_line *line, const struct always_opts *o, struct always **out);
void always_free(struct always *a); /* NULL is fine */
/* Adds a label to every series; key "host" sets another name of this machine. Both stay the
 * caller's. Returns false if there are too many. */
bool always_add_label(struct always *a, const char *key, const char *value);
struct collect_opts always_collect(const struct always_opts *o, const struct always *a);
void always_attach(const struct always_opts *o, const struct always *a,
		   struct up_attach out[UP_ATTACHES]);

int always_check_permissions(struct err *err);
/* Returns an exit status, with what is missing printed: --gpu=require, and a file that --btf
 * names. */
int always_check_machine(const struct always_opts *o);
/* Creates up->data_dir if needed, and finds the user for the process: the directory's owner; if
 * that is root and the directory is empty, or if it is nobody, the user of store_user.c, who
 * becomes the owner. The user must be able to reach the directory. -EACCES if others may enter it,
 * or if it is another user's, unless forced. */
struct always_dir {
	struct data_dir_rule rule;
	const char *process; /* its name, for messages */
};
int always_prepare_directory(struct up_opts *up, const struct always_dir *how, struct err *err);

/* --- always_run.c: runs cresset up and cresset agent, and applies changes of their configuration
 * file on SIGHUP. */

/* The process to restart when the option of this name has changed; other options need a restart of
 * the whole. */
struct always_key {
	const char *name;
	unsigned part; /* UP_COLLECTOR, UP_KEEPER */
};
/* Rows for the options in ALWAYS_OPTIONS. */
#define ALWAYS_KEYS \
	{ "events", UP_COLLECTOR }, { "freq", UP_COLLECTOR }, { "only", UP_COLLECTOR }, \
		{ "exclude", UP_COLLECTOR }, { "min-block", UP_COLLECTOR }, \
		{ "max-rate", UP_COLLECTOR }, { "buffer", UP_COLLECTOR }, { "gpu", UP_COLLECTOR }, \
		{ "gpu-budget", UP_COLLECTOR }, { "wait-budget", UP_COLLECTOR }, \
		{ "gpu-attach", UP_COLLECTOR }, { "gpu-attach-force", UP_COLLECTOR }, \
		{ "mem-attach", UP_COLLECTOR }, { "mem-attach-force", UP_COLLECTOR }, \
		{ "mem-switch", UP_COLLECTOR }, { "btf", UP_COLLECTOR }, \
	{ \
		"relabel", UP_COLLECTOR \
	}

struct always_run {
	struct cmd_line *line;
	const void *typed;             /* options at the start */
	const struct always_key *keys; /* ends with a row without a name */
	struct always_dir dir;
	/* Makes both from these options. Returns an exit status, with the error printed; on success
	 * *always is the caller's. */
	int (*fill)(void *ctx, struct cmd_line *line, const void *opts, struct up_opts *up,
		    struct always **always);
	/* Called once, when this user may record and before the directory is touched: completes up.
	 * Returns an exit status, with the error printed. May be NULL. */
	int (*begin)(void *ctx, struct up_opts *up);
	/* Called when all is well and it records; may be NULL. */
	void (*say)(void *ctx);
	/* As in struct up_reload. May be NULL. */
	int (*later_fd)(void *ctx);
	unsigned (*later)(void *ctx);
	void *ctx;
	/* Used by always_run only; zeroed before. */
	const void *now;           /* options since the last reload */
	struct config_again again; /* holds now; zeroed: now is typed */
	struct always *always;
	struct up_opts up;
};

/* Runs until SIGINT or SIGTERM. Returns an exit status. */
int always_run(struct always_run *r);

#endif
