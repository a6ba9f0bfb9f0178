/* tools/mkassets/embed.h: embeds files in the program: those it serves, and those that pictures
 * embed. A file is DIR/FILE; FILE is its path below web/. All return -1 on failure, with the reason
 * on standard error. */
#ifndef CRESSET_TOOLS_EMBED_H
#define CRESSET_TOOLS_EMBED_H

/* Writes TO/web.S, the table of src/base/asset.h, and the files TO/web/N.gz that it includes. */
int embed(const char *to, const char *dir, char *const *files, int n);

/* Prints `static const char asset_NAME[]` and its length `asset_NAME_len` for each file, in C. NAME
 * is FILE with '_' for everything but letters and digits. The arrays end in a NUL that the length
 * does not count. */
int print_header(const char *dir, char *const *files, int n);

#endif
