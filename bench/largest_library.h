/* bench/largest_library.h: the file that benches of unwind tables take: the largest library here, often libLLVM. */
#ifndef CRESSET_BENCH_LARGEST_LIBRARY_H
#define CRESSET_BENCH_LARGEST_LIBRARY_H

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Its path, to be freed. */
static inline char *largest_library(void)
{
	const char *found = NULL;
	off_t most = 0;
	struct stat st;
	glob_t g;

	if (glob("/usr/lib/*/lib*.so*", 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++)
			if (stat(g.gl_pathv[i], &st) == 0 && st.st_size > most) {
				most = st.st_size;
				found = g.gl_pathv[i];
			}
	char *path = found ? realpath(found, NULL) : NULL;
	if (!path) {
		fprintf(stderr, "no library in /usr/lib\n");
		exit(1);
	}
	globfree(&g);
	return path;
}

#endif
