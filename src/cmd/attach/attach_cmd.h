/* cmd/attach/attach_cmd.h: late attach (attach/attach.h) from the command line, of the library of
 * `gpu attach` and of the one of `mem attach`. */
#ifndef CRESSET_CMD_ATTACH_ATTACH_CMD_H
#define CRESSET_CMD_ATTACH_ATTACH_CMD_H

#include "attach/attach_library.h"
#include "cmd/cli/cmd.h"

struct err;

struct attach_options {
	bool dry_run;
	struct choice_list forced; /* attach_force_words */
	const char *library;       /* NULL: the installed one */
	uint64_t wait_ns;
};
extern const char *const attach_force_words[];

/* Rows of a command's table; T has a member `attach` of struct attach_options. */
#define ATTACH_ROW(T, member) .group = "Attaching", .offset = offsetof(struct T, attach.member)
#define ATTACH_OPTIONS(T) \
	{ "n",          "dry-run", \
	  NULL,         "only print the steps and the thread that would be stopped", \
	  OPT_FLAG,     ATTACH_ROW(T, dry_run), \
	  .basic = true }, \
		{ NULL, \
		  "force", \
		  "WHY,...", \
		  "attach despite: young, no-library, seccomp, user-namespace", \
		  OPT_CHOICES, \
		  ATTACH_ROW(T, forced), \
		  .words = attach_force_words, \
		  .basic = true }, \
		{ NULL,       "library", \
		  "FILE",     "library to load instead of the installed one", \
		  OPT_STRING, ATTACH_ROW(T, library) }, \
	{ \
		NULL, "wait", "TIME", "time limit for finding a thread to stop", OPT_DURATION, \
			ATTACH_ROW(T, wait_ns), .def = "5s" \
	}

struct attach_kind {
	const struct gpu_attach_library *library;
	/* Called once the library is loaded, or was before; not for a dry run, nor for a library of
	 * another name. Sets *is_back when it was detached, and is active again. Returns 0, or why
	 * it cannot be used. */
	int (*after)(uint32_t pid, const struct gpu_attach_report *r, bool *is_back,
		     struct err *err);
	const char *already; /* what holds for a library that was there, a clause */
	const char *next;    /* when it works, a clause; NULL: immediately */
};

/* Attaches to the process that the second argument names, and prints the result, with --json as an
 * object: pid, result (reattached, already, loaded, possible, refused or failed), refusal, error,
 * tid, thread, syscall, at_entry, running, restarted, by_file, stop_us, load_us, given_back,
 * rounds, pages_left. Returns an exit status. */
int attach_cmd_run(const struct cmd_line *line, const struct attach_options *o,
		   const struct attach_kind *kind);

struct buf;
/* Appends a line: "  agent     process 42 (cresset)", "none", or an unknown one. */
void attach_cmd_put_agent(struct buf *b, bool has_agent, uint32_t pid);
/* Prints that the process is detached, or was already; command: "gpu" or "mem". */
int attach_cmd_detached(const struct cmd_line *line, const char *command, uint32_t pid,
			bool already);

/* CMD_PERMISSION, CMD_NO_TARGET or CMD_FAILED for the -errno of reading a library's memory. */
int attach_cmd_status(int rc);
/* Whether the process exists: prints why not, or that it is not accessible, and returns that
 * status; CMD_OK: it can be read. */
int attach_cmd_check(uint32_t pid);

#endif
