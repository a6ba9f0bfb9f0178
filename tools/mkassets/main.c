/* mkassets: embeds the files that browsers get in the program. It runs during the build, after
 * esbuild.
 *
 *     mkassets header DIR FILE…      C arrays of DIR/FILE…, on standard output
 *     mkassets embed TO DIR FILE…    a table of DIR/FILE…, compressed, in TO/web.S */
#include "embed.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	int rc = -1;
	if (strcmp(what, "header") == 0)
		rc = print_header(argv[2], argv + 3, argc - 3);
	else if (strcmp(what, "embed") == 0)
		rc = embed(argv[2], argv[3], argv + 4, argc - 4);
	else
		fputs("mkassets header DIR FILE… | embed TO DIR FILE…\n", stderr);
	return rc ? 1 : 0;
}
