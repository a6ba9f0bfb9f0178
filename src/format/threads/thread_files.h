/* format/threads/thread_files.h: a directory with a graph, folded stacks and a text for each
 * thread of a profile, and a summary of all threads.
 *
 *     DIR/thread_TID_ROLE.svg  .folded  _analysis.txt
 *     DIR/BASE_thread_analysis.txt              for a single thread:
 *                                               DIR/BASE_single_thread_analysis.txt
 *
 * ROLE is thread_role() in letters, digits, '.', '_' and '-', at most THREAD_ROLE_MAX of them. If
 * two threads would have the same name (a tid was reused), the later one also has its pid. Each
 * file is written under another name and renamed. */
#ifndef CRESSET_FORMAT_THREADS_THREAD_FILES_H
#define CRESSET_FORMAT_THREADS_THREAD_FILES_H

#include <stddef.h>

struct err;
struct format_write_opts;
struct profile;

/* The threads that were on the CPU longest get files; the rest have none. */
enum { THREAD_FILES_MAX = 512, THREAD_ROLE_MAX = 64 };

struct thread_files {
	size_t threads, left_out; /* with files, without */
	char *summary;            /* path of the summary; to be freed */
};

/* Creates the directory for thread_files_write and its parents. An existing directory is fine. */
int thread_files_make_dir(const char *dir, struct err *err);

/* Uses the type opts->type, else `wall`, else the profile's default. Only adds interned strings to
 * p. On failure files already written stay. */
int thread_files_write(struct profile *p, const char *dir, const char *base,
		       const struct format_write_opts *opts, struct thread_files *out,
		       struct err *err);

#endif
