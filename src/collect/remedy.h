/* collect/remedy.h: how to get better names for a file, as a command to copy: which package has its debug symbols, from what
 * the package manager keeps on disk (dpkg's lists of files, apt's lists of packages, os-release). Runs nothing, asks no network. */
#ifndef CRESSET_COLLECT_REMEDY_H
#define CRESSET_COLLECT_REMEDY_H

#include <stdbool.h>
#include <stddef.h>

struct remedy_opts {
	int root; /* directory that the paths and the package manager's files are below */
	const char *debuginfod_urls; /* that are asked already; may be NULL */
};

struct remedy {
	const char *path; /* the file, absolute */
	char text[256];   /* set: "apt install libc6-dbg"; "" when nothing is known to help */
};

/* Answers all at once: the lists are read once. */
void remedies_find(const struct remedy_opts *opts, struct remedy *v, size_t n);

/* Whether names from there leave something to wish for: functions without names, most of all. NULL: there were none. */
bool remedy_is_wanted(const char *origin);

#endif
