/* tools/mkassets/embed.h: what the program serves, and where pictures take their scripts from, made a part of it. */
#ifndef CRESSET_TOOLS_EMBED_H
#define CRESSET_TOOLS_EMBED_H

/* DIR/web.S, the table of src/base/asset.h, and DIR/web/N.gz, what it includes. A file is FILE, whose path is what follows web/, or PATH=FILE. -1: what
 * is wrong is on standard error. */
int embed(const char *dir, char *const *files, int n);

/* On standard output: of each file `static const char asset_NAME[]` and its length `asset_NAME_len`, in C. The name is what follows web/,
 * with everything but letters and digits as '_'. The arrays end in a NUL that the length does not count. */
int print_header(char *const *files, int n);

#endif
