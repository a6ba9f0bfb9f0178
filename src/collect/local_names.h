/* collect/local_names.h: names for the frames of a profile that was recorded by another program, from
 * the files of this machine.
 *
 * A file gives names only when it is the one that was running: its build id must be the recorded
 * one. Where the recording has none the file at the recorded path is believed, and counted
 * (unverified). Files are looked for at that path, then in perf's own cache (below HOME/.debug); separate debug
 * files where distributions put them (symbol/locate.h). Kernel frames take the running kernel's symbols, or those that
 * perf kept, again of that very build. */
#ifndef CRESSET_COLLECT_LOCAL_NAMES_H
#define CRESSET_COLLECT_LOCAL_NAMES_H

#include "collect/elf_names.h"
#include "profile/profile.h"

#include <stdint.h>

enum local_problem {
	LOCAL_UNVERIFIED, /* named, but nothing says that it is the same file */
	LOCAL_MISSING,    /* no such file here */
	LOCAL_DIFFERS,    /* there is one, with another build id */
	LOCAL_UNREADABLE, /* not allowed to read it, or kernel addresses are hidden */
	LOCAL_NO_SYMBOLS, /* no ELF file, or one without symbols */
	LOCAL_PROBLEMS
};
extern const char *const local_problems[LOCAL_PROBLEMS]; /* in words, after "n mappings" */

enum { LOCAL_EXAMPLES = 3 };
struct local_report {
	struct {
		uint32_t n; /* mappings */
		uint32_t examples
			[LOCAL_EXAMPLES]; /* names of the first of them: strings of the profile */
	} problems[LOCAL_PROBLEMS];
	struct name_failures not_fetched;
};

/* Names every frame of p that has a mapping but no name. home: where .debug may be; NULL: not
 * looked at. */
void local_names(struct profile *p, const char *home, const struct name_files_opts *files,
		 struct local_report *report);

#endif
