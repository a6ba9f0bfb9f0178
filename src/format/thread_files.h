/* format/thread_files.h: a folder with a picture, folded stacks and a text for each thread of a profile, and a text about all of them.
 *
 *     DIR/thread_TID_ROLE.svg  .folded  _analysis.txt
 *     DIR/BASE_thread_analysis.txt              of a single thread: DIR/BASE_single_thread_analysis.txt
 *
 * ROLE is thread_role() in letters, digits, '.', '_' and '-', at most THREAD_ROLE_MAX of them. Where two threads would have one name (a tid that
 * was used again) the later one has its pid, too. Each file is written under another name and renamed. */
#ifndef CRESSET_FORMAT_THREAD_FILES_H
#define CRESSET_FORMAT_THREAD_FILES_H

#include "format/format.h"

/* More threads have no files: those that were on the CPU for longest have. */
enum { THREAD_FILES_MAX = 512, THREAD_ROLE_MAX = 64 };

struct thread_files {
	size_t threads, left_out; /* with files, without */
	char *summary;            /* path of the text about all; to be freed */
};

/* The folder for thread_files_write, with those above it; fine when it is there. */
int thread_files_make_dir(const char *dir, struct err *err);

/* Of the type that opts->type names, else of `wall`, else of the profile's default. p is changed only by interned strings. On failure what was
 * written so far stays. */
int thread_files_write(struct profile *p, const char *dir, const char *base,
		       const struct format_write_opts *opts, struct thread_files *out,
		       struct err *err);

#endif
