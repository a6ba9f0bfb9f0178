/* collect/inspect/remedy.h: how to get better names for a file, as a command to copy: which package
 * has its debug symbols, from the package manager's files on disk (dpkg's lists of files, apt's
 * lists of packages, os-release). Runs no programs, uses no network. */
#ifndef CRESSET_COLLECT_INSPECT_REMEDY_H
#define CRESSET_COLLECT_INSPECT_REMEDY_H

#include <stdbool.h>
#include <stddef.h>

struct remedy_opts {
	int root; /* directory that the paths and the package manager's files are below */
	const char *debuginfod_urls; /* servers already in use; may be NULL */
};

struct remedy {
	const char *path; /* the file, absolute */
	char text[256];   /* result: "apt install libc6-dbg"; "" when nothing is known to help */
};

/* Fills all remedies at the same time: the lists are read once. */
void remedies_find(const struct remedy_opts *opts, struct remedy *v, size_t n);

/* Returns whether names from this origin are incomplete: mostly functions without names. NULL:
 * there were none. */
bool remedy_is_wanted(const char *origin);

#endif
