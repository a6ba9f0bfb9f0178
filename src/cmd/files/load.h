/* cmd/files/load.h: reads the files of a command line into one profile, or imports them into a
 * store. */
#ifndef CRESSET_CMD_FILES_LOAD_H
#define CRESSET_CMD_FILES_LOAD_H

#include "cmd/cli/cmd.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct format;
struct profile;

struct load_opts {
	const char *from; /* --from; NULL: the format is detected by content */
	bool all_frames;  /* also the ones that the file says to leave out (profile/prune.h) */
};

/* as: the format; NULL: detected by content. Frames that could not be named are reported on
 * standard error, with the reason. Errors are those of format_read_file. */
int load_file(const char *path, const struct format *as, struct profile *p, struct err *err);

/* Reads and merges all files of line->args ("-" is standard input), each in its own format, or all
 * in the format opts->from. opts may be NULL. Unreadable parts of an otherwise readable file are
 * counted in a warning. Returns CMD_OK and sets *out (free with profile_free), else the exit status
 * with the error printed. */
int load_profiles(const struct cmd_line *line, const struct load_opts *opts, struct profile **out);

/* Leaves out the frames that the profile says to leave out. An invalid expression is a warning. */
void load_prune(const char *name, struct profile *p);

/* Prints what the reader of a file left out, cut or scaled: a line for each reason, with the time
 * it stands for. */
void load_say_losses(const char *name, const struct profile *p);

/* The same for one file. */
int load_profile(const char *path, const struct load_opts *opts, struct profile **out);

/* Reads the files of line->args and, if `older` is not NULL, the profile they are compared with.
 * Only one of all may be `-`. */
int load_sides(const struct cmd_line *line, const struct load_opts *opts, const char *older,
	       struct profile **out, struct profile **out_older);

/* --- import.c: files of any format into a directory of the store: cresset convert --data. */

struct import_opts {
	const char *data;
	const char *from;              /* format; NULL: detected by content */
	const char *at;                /* time of files that have none; NULL: not given */
	struct str_list labels;        /* K=V */
	struct choice_list data_force; /* data_dir_words */
};

/* Imports line->args: files, and directories with all their content, in order of names. A file that
 * cannot be read is reported and skipped. Earlier imports are not repeated: a file is identified by
 * its content, its labels and its time. Returns the exit status: CMD_BAD_INPUT if a file was
 * skipped. */
int import_files(struct cmd_line *line, const struct import_opts *opts);

/* --- name_time.c: the time in a file's name, in UTC.
 *
 *     cpu-2026-11-21T10:15:00Z.pprof   2026-11-21_10-15-00.5.folded 20261121-101500
 *                                      20261121T101500Z 20261121101500
 *     heap.1763717400.pb.gz            Unix time: 10 digits are seconds, 13 ms, 16 us, 19 ns
 *
 * A date with a time of day, else Unix time; the first one in the name. A date alone is not
 * enough. */

/* Looks only at the part of path after the last /. */
bool name_time(const char *path, int64_t *out_ns);

#endif
