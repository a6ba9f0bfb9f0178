/* --per-thread DIR: files of each thread beside the outputs. */
#include "base/str.h"
#include "cmd/record.h"

#include <string.h>

int per_thread_open(const struct recording *r)
{
	struct err err = { 0 };
	if (!r->opts->per_thread || thread_files_make_dir(r->opts->per_thread, &err) == 0)
		return CMD_OK;
	return cmd_fail(CMD_NO_OUTPUT, &err);
}

/* The name of the first output without folder and ending: "wall" of "out/wall.pb.gz". */
static char *base_name(const struct recording *r)
{
	const char *path = r->outputs.v[0].path;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const struct format *f = format_by_ending(name);
	size_t len = strlen(name), cut = 0;
	for (const char *const *e = f ? f->endings : NULL; e && *e; e++)
		if (str_ends(name, *e) && strlen(*e) > cut)
			cut = strlen(*e);
	const char *dot = strrchr(name, '.');
	if (!cut && dot)
		cut = strlen(dot);
	if (strcmp(path, "-") == 0 || len == cut)
		return xstrndup("cresset", strlen("cresset"));
	return xstrndup(name, len - cut);
}

int per_thread_write(struct recording *r, const struct format_write_opts *opts)
{
	struct err err = { 0 };
	if (!r->opts->per_thread)
		return CMD_OK;
	char *base = base_name(r);
	int rc = thread_files_write(r->profile, r->opts->per_thread, base, opts, &r->per_thread,
				    &err);
	free(base);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}
