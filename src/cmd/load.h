/* cmd/load.h: the files a command line names, read into one profile. */
#ifndef CRESSET_CMD_LOAD_H
#define CRESSET_CMD_LOAD_H

#include "cmd/cmd.h"
#include "profile/profile.h"

/* Reads and merges every file of line->args ("-" is standard input), each in the format it is in, or all in the format called
 * `from` (--from; may be NULL). What could not be read in a file that is otherwise
 * fine is counted in a warning. Returns CMD_OK and *out (profile_free), else the exit status with the error printed. */
int load_profiles(const struct cmd_line *line, const char *from, struct profile **out);

/* The same for one file. */
int load_profile(const char *path, const char *from, struct profile **out);

/* The files of line->args and, when `older` is not NULL, the profile they are compared with. Of `-` all together may have one. */
int load_sides(const struct cmd_line *line, const char *from, const char *older,
	       struct profile **out, struct profile **out_older);

#endif
