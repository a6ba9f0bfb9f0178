/* cmd/cli/cmd.h: a command and its command line.
 *
 * Every command is one const struct cmd in one file, listed in main.c. Its option table is the only
 * source of parsing, -h and --help-all, manual pages and shell completion. A row states where in
 * the command's own options struct the value goes, so run() sees plain members:
 *
 *     struct sleep_opts { uint64_t time_ns; struct str_list names; };
 *     static const struct cmd_opt sleep_options[] = {
 *         { "d", "duration", "TIME", "how long", OPT_DURATION, "Time", offsetof(struct sleep_opts,
 *         time_ns), .def = "10s" },
 *         { "n", "name", "NAME", "whom to wake", OPT_COMMA, "Who", offsetof(struct sleep_opts,
 *         names), .basic = true },
 *         { 0 },
 *     };
 *
 * Options and arguments may be mixed; "--" ends the options. If an option is repeated, the last one
 * wins, except for lists, which grow. Options of all commands (-q, -v, --color, -h …) are in
 * struct cmd_line. */
#ifndef CRESSET_CMD_CLI_CMD_H
#define CRESSET_CMD_CLI_CMD_H

#include "base/arena.h"
#include "cmd/cli/term.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* Exit statuses: scripts depend on them. */
enum cmd_status {
	CMD_OK = 0,
	CMD_FAILED = 1,      /* runtime failure */
	CMD_USAGE = 2,       /* wrong option or argument */
	CMD_PERMISSION = 3,  /* a permission is missing */
	CMD_UNSUPPORTED = 4, /* the kernel or this version lacks a feature */
	CMD_NO_TARGET = 5,   /* the target was not found, or was gone before the start */
	CMD_BAD_INPUT = 6,   /* an input file cannot be read */
	CMD_NO_OUTPUT = 7,   /* an output cannot be written */
	CMD_NO_SAMPLE = 8,   /* ran, but recorded no sample */
	CMD_LOST = 9,        /* lost more than --max-lost */
	CMD_CONDITION = 10,  /* a condition of an option is met, like --fail-on */
};

enum opt_kind {
	OPT_FLAG,     /* bool */
	OPT_COUNT,    /* int: number of times given */
	OPT_STRING,   /* const char * */
	OPT_U64,      /* uint64_t */
	OPT_SIZE,     /* uint64_t bytes: 64K 16M 2G */
	OPT_DURATION, /* uint64_t ns */
	OPT_NUMBER,   /* struct opt_number, not negative */
	OPT_PERCENT,  /* struct opt_number, 0…100; may end in % */
	OPT_ENUM,     /* int: index in words */
	OPT_STRINGS,  /* struct str_list: repeatable, each argument is one entry */
	OPT_COMMA,    /* struct str_list: repeatable, entries separated by commas */
	OPT_CHOICES,  /* struct choice_list: like OPT_COMMA, each entry an index in words */
	OPT_CONFIG,   /* const char *: a file with these options (cmd/cli/config.h) */
	OPT_TREE,     /* const struct yaml *: only in such a file; bare is an example */
};

struct str_list {
	const char **v; /* v[n] is NULL once there is an entry */
	size_t n;
};
enum { CHOICES_MAX = 32 };
struct choice_list {
	int v[CHOICES_MAX], n;
};
struct opt_number {
	double v;
	bool set;
};

struct cmd_opt {
	const char *shorts; /* each letter is a short form, all are shown; NULL = none */
	const char *name;   /* without --; NULL ends the table */
	const char *arg;    /* the argument's name in help; NULL for flags; see completes_for */
	const char *help;   /* one line, no full stop; " (default …)" is added by help */
	enum opt_kind kind;
	const char *group; /* its heading in --help-all */
	size_t offset;     /* of the member in the command's options struct */
	const char *def;   /* default as a user would type it; NULL = the zero value */
	const char *bare;  /* optional argument (--opt[=ARG]): its value if absent; else NULL */
	const char *const *words; /* ENUM, CHOICES: NULL-terminated */
	uint64_t min, max;        /* U64, SIZE, DURATION; max 0 = no limit */
	uint64_t bare_unit_ns;    /* DURATION: the unit of a bare number; 0 = seconds */
	bool basic;               /* shown by -h */
};

/* The text of a default that another module defines as a macro: OPT_DEF(SAMPLER_UNWIND_MIB) "M". */
#define OPT_DEF(number)  OPT_DEF_(number)
#define OPT_DEF_(number) #number

struct cmd_globals {
	bool quiet, json, help, help_all, version;
	int verbose;
	int color; /* enum color_when */
};

/* The parsed command line. Strings point into argv or into the arena. */
struct cmd_line {
	const struct cmd *cmd;
	const struct cmd *const *all; /* every command, NULL-terminated */
	struct cmd_globals globals;
	struct term term;
	struct str_list args;    /* positional arguments */
	struct str_list command; /* after "--", for commands that run one */
	int argc;                /* the whole command line, with the program's name first */
	char **argv;
	int at; /* index in argv of the command's name */
	struct arena arena;
};

enum { HELP_EXAMPLES = 3 };
struct cmd {
	const char *name;
	const char *summary; /* shown after the name in the list of commands */
	const char *usage;   /* shown after "cresset NAME " */
	const char *about;   /* a paragraph or two of the manual, with \n between; may be NULL */
	/* For -h: "COMMAND LINE\tWHAT IT DOES"; fewer end with NULL. tests/cli/examples.sh runs
	 * each. */
	const char *examples[HELP_EXAMPLES];
	const struct cmd_opt *options;     /* ends with a row without a name */
	const struct cmd_opt *config_only; /* keys of its file that are no options; may be NULL */
	size_t opts_size;                  /* of the options struct */
	uint32_t min_args, max_args; /* positional arguments; a missing one is called arg_name */
	const char *arg_name;
	bool runs_command; /* the words after "--" are a command line */
	bool has_json;     /* its output can be JSON, with --json */
	int (*run)(struct cmd_line *line, const void *opts); /* returns an exit status */
};

/* The row to list after o (NULL: the first) of a table, or NULL at its end: group by group, in the
 * order in which the groups first appear. table may be NULL. */
const struct cmd_opt *opt_next_by_group(const struct cmd_opt *table, const struct cmd_opt *o);

/* Parses argv[1] … (argv[0] is the command's name) for line->cmd into *line and opts (opts_size
 * zeroed bytes). Returns -EINVAL with err set. With -h or --version, missing arguments are no
 * error. */
int options_parse(struct cmd_line *line, int argc, char **argv, void *opts, struct err *err);

/* Parses the options before the command's name. Returns the index of that name in argv (argc if
 * there is none), or -EINVAL. */
int options_parse_globals(struct cmd_line *line, int argc, char **argv, struct err *err);

extern const struct cmd_opt global_options[];

/* Appends s, which is not copied, to a list in the arena. */
void str_list_add(struct str_list *list, struct arena *a, const char *s);

/* Returns the command with this name, or NULL with err set, which suggests the nearest one. */
const struct cmd *cmd_find(const struct cmd *const *all, const char *name, struct err *err);

/* Help texts, plain ASCII, at most HELP_WIDTH columns. */
enum { HELP_WIDTH = 80, HELP_BASIC_LINES = 24 };
extern const char *const help_examples[HELP_EXAMPLES]; /* of the whole program; as in struct cmd */
void help_program(struct buf *b, const struct cmd *const *all);
void help_basic(struct buf *b, const struct cmd *cmd);
void help_all(struct buf *b, const struct cmd *cmd);
#define HELP_TOPIC "formats" /* a topic of `help` besides commands */

/* Manual pages (man(7)): cresset(1), cresset-NAME(1), cresset-formats(5). */
void man_program(struct buf *b, const struct cmd *const *all);
void man_command(struct buf *b, const struct cmd *const *all, const struct cmd *cmd);
void man_formats(struct buf *b);

/* What --version prints: "cresset VERSION", then lines of "name: value": the commit, the build id
 * and how this program was built. A line whose value is not known is left out. */
void version_text(struct buf *b);
/* Appends the GNU build id of this program in hexadecimal; nothing if it lacks one. */
void version_build_id(struct buf *b);

/* Prints the error and returns status, so that `return cmd_fail(CMD_USAGE, &err)` reads well. */
int cmd_fail(enum cmd_status status, const struct err *err);
/* The same for a usage error detected by the command. */
int cmd_usage(const struct cmd_line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- subcommand.c: commands of a command, such as `gpu attach`; its first argument names one. */

enum { SUB_SOME = UINT32_MAX, SUB_MAYBE = UINT32_MAX - 1 };
struct subcommand {
	const char *name;  /* NULL ends a table */
	const char *takes; /* its argument, in words */
	uint32_t args;     /* SUB_SOME: one or more; SUB_MAYBE: one or none */
	int (*run)(const struct cmd_line *line, const void *opts);
};
int subcommand_run(const struct cmd_line *line, const struct subcommand *table, const void *opts);

/* Parses an argument that is the id of a process. Returns CMD_OK, or CMD_USAGE with the error
 * printed. */
int cmd_pid(const struct cmd_line *line, const char *arg, uint32_t *pid);

/* Writes b to standard output and frees it. Returns CMD_OK, or CMD_NO_OUTPUT with the error
 * printed. */
int cmd_print(struct buf *b);

extern const struct cmd cmd_up, cmd_agent, cmd_top, cmd_record, cmd_report, cmd_flame, cmd_diff,
	cmd_convert, cmd_query, cmd_sql, cmd_serve, cmd_token, cmd_doctor, cmd_gpu, cmd_mem,
	cmd_completion, cmd_help;

/* --- format_name.c: names of formats on the command line. */

enum format_use { FORMAT_READS = 1, FORMAT_WRITES = 2 };

/* Returns the format with this name if it supports use, else NULL with err set, which suggests the
 * nearest name. */
const struct format *format_asked(const char *name, enum format_use use, struct err *err);

/* Appends the names of all formats with any of these uses, with separator between them. */
void format_names(struct buf *b, unsigned uses, const char *separator);

#endif
