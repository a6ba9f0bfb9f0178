/* cmd/cli/completion.h: completions for each word of a command line; one writer per shell. */
#ifndef CRESSET_CMD_CLI_COMPLETION_H
#define CRESSET_CMD_CLI_COMPLETION_H

#include <stdbool.h>

struct buf;
struct cmd;
struct cmd_opt;

enum completes {
	COMPLETES_NOTHING, /* free text */
	COMPLETES_WORDS,   /* see complete_words */
	COMPLETES_FILES,
	COMPLETES_DIRECTORIES,
	COMPLETES_PIDS,
	COMPLETES_TIDS,
};

/* Returns the completion of an option's argument, from its words or the argument's name. */
enum completes completes_for(const struct cmd_opt *o);
/* Appends the words, separated by blanks. */
void complete_words(struct buf *b, const struct cmd_opt *o);
/* Whether the argument is a list with commas; whether the option may be repeated. */
bool completes_list(const struct cmd_opt *o);
bool completes_again(const struct cmd_opt *o);

/* The completion of positional arguments: readable files, or words. */
enum completes completes_args(const struct cmd *cmd);
void complete_args_words(struct buf *b, const struct cmd *cmd, const struct cmd *const *all);

/* Appends the suffixes of readable files and of their compressed forms, each between before and
 * after. */
void complete_endings(struct buf *b, const char *before, const char *after);

/* Each appends the script of a shell. */
void completion_bash(struct buf *b, const struct cmd *const *all);
void completion_zsh(struct buf *b, const struct cmd *const *all);
void completion_fish(struct buf *b, const struct cmd *const *all);

#endif
