/* cmd/filter.h: which part of a profile a command looks at: the options that report and flame share. */
#ifndef CRESSET_CMD_FILTER_H
#define CRESSET_CMD_FILTER_H

#include "cmd/cmd.h"
#include "profile/tree.h"

struct filter_opts {
	const char *type, *time, *focus, *ignore, *hide;
	struct choice_list by;
};

/* Rows for the option table of a command whose options struct T has a member `filter`. */
#define FILTER_ROW(T, member) \
	.group = "What to look at", .offset = offsetof(struct T, filter.member)
#define FILTER_OPTIONS(T) \
	{ NULL, \
	  "type", \
	  "T", \
	  "profile type, when the file has several", \
	  OPT_STRING, \
	  .basic = true, \
	  FILTER_ROW(T, type) }, \
		{ NULL, \
		  "time", \
		  "A-B", \
		  "only this part, from the start: 3s-7s, 10s-, -2m", \
		  OPT_STRING, \
		  .basic = true, \
		  FILTER_ROW(T, time) }, \
		{ NULL, \
		  "focus", \
		  "RE", \
		  "only stacks with a frame that matches RE", \
		  OPT_STRING, \
		  .basic = true, \
		  FILTER_ROW(T, focus) }, \
		{ NULL, \
		  "ignore", \
		  "RE", \
		  "only stacks without such a frame", \
		  OPT_STRING, \
		  .basic = true, \
		  FILTER_ROW(T, ignore) }, \
		{ NULL, \
		  "hide", \
		  "RE", \
		  "leave matching frames out of their stacks", \
		  OPT_STRING, \
		  .basic = true, \
		  FILTER_ROW(T, hide) }, \
	{ \
		NULL, "by", "KEY,...", "root frames: comm pid tid process cpu container none", \
			OPT_CHOICES, .words = tree_by_words, .basic = true, FILTER_ROW(T, by) \
	}

/* tree_by_names with a NULL behind the last, as option tables want it. */
extern const char *const tree_by_words[];

/* --by as tree options. "none" beside others means nothing. */
void filter_by(const struct choice_list *by, struct tree_opts *out);

/* Fills out for the profile, the type's index included. Returns CMD_OK, or CMD_USAGE with the error printed: no such type,
 * or a --time that is none; CMD_BAD_INPUT when the profile has no type at all. */
int filter_settle(const struct cmd_line *line, const struct filter_opts *f, const struct profile *p,
		  struct tree_opts *out);

/* The same for a profile and the older one it is compared with: of the older one the type that is like the newer's. CMD_USAGE
 * when it has none such. */
int filter_settle_pair(const struct cmd_line *line, const struct filter_opts *f,
		       const struct profile *newer, const struct profile *older,
		       struct tree_opts *newer_opts, struct tree_opts *older_opts);

/* Seconds that were recorded in the asked range of time; 0 = unknown. */
double filter_seconds(const struct tree_opts *opts, const struct profile *p);

/* What to call a type in --type so that profile_pick_type finds it: its name, or its sample type when types share the name. */
const char *type_word(const struct profile *p, uint32_t type);

/* Says on standard error that other types than this were left out. */
void note_other_types(const struct profile *p, uint32_t type);

#endif
