/* cmd/files/filter.h: the part of a profile that a command uses: options of all commands that read
 * files. */
#ifndef CRESSET_CMD_FILES_FILTER_H
#define CRESSET_CMD_FILES_FILTER_H

#include "cmd/cli/cmd.h"
#include "cmd/files/load.h"
#include "profile/tree/tree.h"

struct profile;
struct selector;

struct filter_opts {
	const char *type, *match, *time, *focus, *ignore, *hide, *from;
	struct choice_list by;
	bool no_kernel, no_user, all_frames;
	bool strict; /* with an older side: tree_opts.is_strict */
};

/* How files are read. */
static inline struct load_opts filter_load(const struct filter_opts *f)
{
	return (struct load_opts){ f->from, f->all_frames };
}

/* Rows for the option table of a command whose options struct T has a member `filter`. */
#define FILTER_ROW(T, member) \
	.group = "What to look at", .offset = offsetof(struct T, filter.member)
/* clang-format would break up the rows. */
/* clang-format off */
/* Options that choose stacks and their frames. */
#define FILTER_STACKS(T) \
	{ NULL, "focus", "RE", "only stacks with a frame that matches RE", OPT_STRING, \
	  FILTER_ROW(T, focus), .basic = true }, \
	{ NULL, "ignore", "RE", "only stacks without a frame that matches RE", OPT_STRING, \
	  FILTER_ROW(T, ignore), .basic = true }, \
	{ NULL, "hide", "RE", "remove matching frames from stacks", OPT_STRING, \
	  FILTER_ROW(T, hide), .basic = true }
#define FILTER_SIDES(T) \
	{ NULL, "no-kernel", NULL, "remove kernel frames", OPT_FLAG, \
	  FILTER_ROW(T, no_kernel) }, \
	{ NULL, "no-user", NULL, "remove user frames", OPT_FLAG, FILTER_ROW(T, no_user) }
#define FILTER_OPTIONS(T) \
	FILTER_OPTIONS_BY(T, tree_by_names, "root frames: comm pid process unit pod user ... none")
/* The same for commands with other words for --by. */
#define FILTER_OPTIONS_BY(T, by_words, by_help) \
	{ NULL, "type", "T", "profile type, if the file has several", OPT_STRING, \
	  FILTER_ROW(T, type), .basic = true }, \
	{ NULL, "match", "SELECTOR", "filter by type and labels: 'cpu{comm=~\"redis.*\"}'", \
	  OPT_STRING, FILTER_ROW(T, match), .basic = true }, \
	{ NULL, "time", "A-B", "time range since the start: 3s-7s, 10s-, -2m", OPT_STRING, \
	  FILTER_ROW(T, time), .basic = true }, \
	FILTER_STACKS(T), \
	{ NULL, "by", "KEY,...", by_help, OPT_CHOICES, FILTER_ROW(T, by), .words = by_words, \
	  .basic = true }, \
	FILTER_SIDES(T), \
	{ NULL, "all-frames", NULL, "include frames that a pprof file marks as dropped", OPT_FLAG, \
	  FILTER_ROW(T, all_frames) }, \
	{ NULL, "from", "FORMAT", "input format (default: detected from the content)", OPT_STRING, \
	  FILTER_ROW(T, from) }
/* clang-format on */

/* --by as tree options. "none" next to others is ignored, and so are words that are no keys of
 * trees. */
void filter_by(const struct choice_list *by, struct tree_opts *out);

/* The root frames of graphs and folded stacks without --by: the thread's name, if names are
 * known. */
void filter_default_by(const struct filter_opts *f, const struct profile *p, struct tree_opts *out);

/* For commands that show one type. Removes the samples that --match does not select, and fills out
 * with the other filters and the type. Returns CMD_OK; CMD_USAGE with the error printed for an
 * unknown type or an invalid --time or --match; CMD_BAD_INPUT if the profile has no type. */
int filter_finalize(const struct cmd_line *line, const struct filter_opts *f, struct profile *p,
		    struct tree_opts *out);

/* The same for a profile and the older one it is compared with, in which it picks the most similar
 * type. Returns CMD_USAGE if none exists. */
int filter_finalize_pair(const struct cmd_line *line, const struct filter_opts *f,
			 struct profile *newer, struct profile *older, struct tree_opts *newer_opts,
			 struct tree_opts *older_opts);

/* Only the filters by frame, for data without a file: focus, ignore, hide, no_kernel, no_user.
 * Returns CMD_OK, or CMD_USAGE with the error printed. */
int filter_stacks(const struct cmd_line *line, const struct filter_opts *f, struct tree_opts *out);

/* Returns the seconds recorded in the requested range of time, or 0 if unknown. */
double filter_seconds(const struct tree_opts *opts, const struct profile *p);

/* For commands that write whole profiles: reduces *p to the part that passes all filters. Returns a
 * status as above. */
int filter_profile(const struct cmd_line *line, const struct filter_opts *f, struct profile **p);

/* Notes on standard error that types other than this one are left out. */
void note_other_types(const struct profile *p, uint32_t type);

/* --- why --match SELECTOR may select nothing --- */

/* Prints that no series has this label, and which labels there are. */
void match_explain(const char *unknown, const struct profile *p);

#endif
