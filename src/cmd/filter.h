/* cmd/filter.h: which part of a profile a command looks at: the options of all that read files. */
#ifndef CRESSET_CMD_FILTER_H
#define CRESSET_CMD_FILTER_H

#include "cmd/cmd.h"
#include "profile/tree.h"

struct filter_opts {
	const char *type, *match, *time, *focus, *ignore, *hide, *from;
	struct choice_list by;
	bool no_kernel, no_user;
};

/* Rows for the option table of a command whose options struct T has a member `filter`. */
#define FILTER_ROW(T, member) \
	.group = "What to look at", .offset = offsetof(struct T, filter.member)
/* clang-format off: one row a line */
/* Which stacks, and which of their frames. */
#define FILTER_STACKS(T) \
	{ NULL,         "focus", \
	  "RE",         "only stacks with a frame that matches RE", \
	  OPT_STRING,   FILTER_ROW(T, focus), \
	  .basic = true }, \
		{ NULL,         "ignore", \
		  "RE",         "only stacks without such a frame", \
		  OPT_STRING,   FILTER_ROW(T, ignore), \
		  .basic = true }, \
	{ \
		NULL, "hide", "RE", "leave matching frames out of their stacks", OPT_STRING, \
			FILTER_ROW(T, hide), .basic = true \
	}
#define FILTER_SIDES(T) \
	{ \
		NULL,     "no-kernel", \
		NULL,     "leave kernel frames out", \
		OPT_FLAG, FILTER_ROW(T, no_kernel) \
	}, \
	{ \
		NULL, "no-user", NULL, "leave user frames out", OPT_FLAG, FILTER_ROW(T, no_user) \
	}
#define FILTER_OPTIONS(T) \
	FILTER_OPTIONS_BY(T, tree_by_names, "root frames: comm pid process unit pod user ... none")
/* The same where --by knows other words, too. */
#define FILTER_OPTIONS_BY(T, by_words, by_help) \
	{ NULL,         "type", \
	  "T",          "profile type, when the file has several", \
	  OPT_STRING,   FILTER_ROW(T, type), \
	  .basic = true }, \
		{ NULL,         "match", \
		  "SELECTOR",   "by type and labels: 'cpu{comm=~\"redis.*\"}'", \
		  OPT_STRING,   FILTER_ROW(T, match), \
		  .basic = true }, \
		{ NULL,         "time", \
		  "A-B",        "only this part, from the start: 3s-7s, 10s-, -2m", \
		  OPT_STRING,   FILTER_ROW(T, time), \
		  .basic = true }, \
		FILTER_STACKS(T), { NULL, \
				    "by", \
				    "KEY,...", \
				    by_help, \
				    OPT_CHOICES, \
				    FILTER_ROW(T, by), \
				    .words = by_words, \
				    .basic = true }, \
		FILTER_SIDES(T), \
	{ \
		NULL, "from", "FORMAT", "read as this, whatever the content looks like", \
			OPT_STRING, FILTER_ROW(T, from) \
	}
/* clang-format on */

/* --by as tree options. "none" beside others means nothing, and so do words that are no keys of trees. */
void filter_by(const struct choice_list *by, struct tree_opts *out);

/* What a picture or folded stacks have in front when --by was not given: the thread's name, where names are known. */
void filter_default_by(const struct filter_opts *f, const struct profile *p, struct tree_opts *out);

/* For what looks at one type. Takes away the samples that --match does not select and fills out with the other filters and the type.
 * Returns CMD_OK, or CMD_USAGE with the error printed: no such type, a --time or --match that is none; CMD_BAD_INPUT when the
 * profile has no type at all. */
int filter_settle(const struct cmd_line *line, const struct filter_opts *f, struct profile *p,
		  struct tree_opts *out);

/* The same for a profile and the older one it is compared with: of the older one the type that is like the newer's. CMD_USAGE
 * when it has none such. */
int filter_settle_pair(const struct cmd_line *line, const struct filter_opts *f,
		       struct profile *newer, struct profile *older, struct tree_opts *newer_opts,
		       struct tree_opts *older_opts);

/* The filters by frame alone, for what has no file: focus, ignore, hide, no_kernel, no_user. CMD_OK, or CMD_USAGE with the error
 * printed. */
int filter_stacks(const struct cmd_line *line, const struct filter_opts *f, struct tree_opts *out);

/* Seconds that were recorded in the asked range of time; 0 = unknown. */
double filter_seconds(const struct tree_opts *opts, const struct profile *p);

/* For what writes whole profiles: *p becomes the part of it that passes everything. Status as above. */
int filter_profile(const struct cmd_line *line, const struct filter_opts *f, struct profile **p);

/* Says on standard error that other types than this were left out. */
void note_other_types(const struct profile *p, uint32_t type);

#endif
