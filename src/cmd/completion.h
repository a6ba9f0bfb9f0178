/* cmd/completion.h: what a shell can offer for each word of a command line; one writer per shell. */
#ifndef CRESSET_CMD_COMPLETION_H
#define CRESSET_CMD_COMPLETION_H

#include "cmd/cmd.h"

enum completes {
	COMPLETES_NOTHING, /* an argument that only the user knows */
	COMPLETES_WORDS,   /* see complete_words */
	COMPLETES_FILES,
	COMPLETES_FOLDERS,
	COMPLETES_PIDS,
	COMPLETES_TIDS,
};

/* What the argument of an option completes to, by its words, or by what its argument is called. */
enum completes completes_for(const struct cmd_opt *o);
/* Appends the words, separated by blanks. */
void complete_words(struct buf *b, const struct cmd_opt *o);
/* Whether the argument is a list with commas; whether the option may be given again. */
bool completes_list(const struct cmd_opt *o);
bool completes_again(const struct cmd_opt *o);

/* What positional arguments complete to: files to be read, or words. */
enum completes completes_args(const struct cmd *cmd);
void complete_args_words(struct buf *b, const struct cmd *cmd, const struct cmd *const *all);

/* Appends the endings of files that can be read, and what they may be packed as, each with before and after around it. */
void complete_endings(struct buf *b, const char *before, const char *after);

/* The shells: each appends its script. */
void completion_bash(struct buf *b, const struct cmd *const *all);
void completion_zsh(struct buf *b, const struct cmd *const *all);
void completion_fish(struct buf *b, const struct cmd *const *all);

#endif
