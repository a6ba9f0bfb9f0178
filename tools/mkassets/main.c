/* mkassets: what browsers get, made a part of the program. It runs while the program is built, and needs nothing but C.
 *
 *     mkassets strip FILE                 FILE without comments, on standard output
 *     mkassets names FILE                 a script with short names of variables, on standard output
 *     mkassets bundle ENTRY               a module and those that it imports as one script, on standard output
 *     mkassets pack WEB DIR GROUP…        the modules of a page in few files below DIR
 *
 * bundle and pack shorten names, too; bundle-as-named and pack-as-named leave them as they are.
 *
 *     mkassets header FILE…               C arrays, on standard output
 *     mkassets embed DIR [PATH=]FILE…     a table in DIR/web.S */
#include "base/mem.h"
#include "bundle.h"
#include "embed.h"
#include "names.h"
#include "pack.h"
#include "read.h"
#include "strip.h"

#include <stdio.h>
#include <string.h>

static int print(struct buf *out, int rc)
{
	if (rc == 0 && fwrite(out->data, 1, out->len, stdout) != out->len)
		rc = -1;
	buf_done(out);
	return rc;
}

static int print_stripped(const char *file)
{
	struct buf text = { 0 }, out = { 0 };
	int rc = read_file(file, &text);
	const char *trouble = rc == 0 ? strip(file, text.data, text.len, &out) : NULL;
	if (trouble)
		fprintf(stderr, "%s: %s\n", file, trouble);
	buf_done(&text);
	return print(&out, trouble ? -1 : rc);
}

static int print_named(const char *file)
{
	struct buf text = { 0 }, out = { 0 };
	int rc = read_file(file, &text);
	const char *trouble = rc == 0 ? names_shorten(text.data, text.len, 0, &out) : NULL;
	if (trouble)
		fprintf(stderr, "%s: %s\n", file, trouble);
	buf_done(&text);
	return print(&out, trouble ? -1 : rc);
}

static int print_bundle(const char *entry, bool keep_names)
{
	struct buf out = { 0 };
	int rc = bundle(entry, keep_names, &out);
	return print(&out, rc);
}

static bool is_as_named(const char *ending)
{
	return strcmp(ending, "-as-named") == 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int rc = -1;
	if (strcmp(what, "strip") == 0 && argc == 3)
		rc = print_stripped(argv[2]);
	else if (strcmp(what, "names") == 0 && argc == 3)
		rc = print_named(argv[2]);
	else if (strncmp(what, "bundle", 6) == 0 && argc == 3)
		rc = print_bundle(argv[2], is_as_named(what + 6));
	else if (strncmp(what, "pack", 4) == 0 && argc > 4)
		rc = pack(argv[2], argv[3], argv + 4, argc - 4, is_as_named(what + 4));
	else if (strcmp(what, "header") == 0)
		rc = print_header(argv + 2, argc - 2);
	else if (strcmp(what, "embed") == 0)
		rc = embed(argv[2], argv + 3, argc - 3);
	else
		fputs("mkassets strip FILE | names FILE | bundle[-as-named] ENTRY | "
		      "pack[-as-named] WEB DIR GROUP… | "
		      "header FILE… | embed DIR [PATH=]FILE…\n",
		      stderr);
	return rc ? 1 : 0;
}
