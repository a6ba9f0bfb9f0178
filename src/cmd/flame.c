/* cresset flame: a picture of one or several files. */
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/load.h"
#include "format/format.h"

#include <errno.h>

struct flame_opts {
	struct filter_opts filter;
	const char *output, *title;
	int palette;
	bool inverted, icicle, force;
	struct opt_number min_width_px;
};

static const char *const palettes[] = { "kind", "binary", "wall", "classic", "mono", NULL };

#define PICTURE(member) .group = "The picture", .offset = offsetof(struct flame_opts, member)
static const struct cmd_opt flame_options[] = {
	{ "o", "output", "FILE", "where to: OUT.svg, or - for standard output", OPT_STRING,
	  PICTURE(output), .basic = true },
	FILTER_OPTIONS(flame_opts),
	{ NULL, "inverted", NULL, "leaf functions at the root: who calls them", OPT_FLAG,
	  PICTURE(inverted), .basic = true },
	{ NULL, "icicle", NULL, "root on top", OPT_FLAG, PICTURE(icicle), .basic = true },
	{ NULL, "palette", "NAME", "colours: kind, binary, wall, classic or mono", OPT_ENUM,
	  PICTURE(palette), .words = palettes, .def = "kind" },
	{ NULL, "min-width", "PX", "leave narrower frames out, as one rest", OPT_NUMBER,
	  PICTURE(min_width_px), .def = "0.1" },
	{ NULL, "title", "TEXT", "heading of the picture", OPT_STRING, PICTURE(title) },
	{ NULL, "force", NULL, "even when it is too large for browsers", OPT_FLAG, PICTURE(force) },
	{ 0 },
};

/* The format of the picture, by the name of the output. */
static const struct format *picture_format(const struct cmd_line *line, const char *path,
					   int *status)
{
	const struct format *svg = format_by_name("svg");
	*status = CMD_OK;
	if (!path)
		*status = cmd_usage(line, "-o OUT.svg is missing");
	else if (strcmp(path, "-") != 0 && format_by_ending(path) != svg)
		*status = cmd_usage(line, "'%s' does not end in .svg", path);
	return svg;
}

static int write_picture(struct cmd_line *line, const struct flame_opts *o, struct profile *p,
			 const struct format *format)
{
	struct format_write_opts write = {
		.type = o->filter.type,
		.title = o->title,
		.palette = palettes[o->palette],
		.min_width_px = o->min_width_px.v > 0 ? o->min_width_px.v : -1, /* 0: the default */
		.icicle = o->icicle,
		.force = o->force,
		.tree.inverted = o->inverted,
	};
	struct err err = { 0 };
	uint32_t type;
	int status = filter_settle(line, &o->filter, p, &write.tree, &type);
	if (status != CMD_OK)
		return status;
	filter_default_by(&o->filter, p, &write.tree);
	note_other_types(p, type);
	int rc = format_write_file(format, p, &write, o->output, &err);
	if (rc == 0)
		return CMD_OK;
	return cmd_fail(rc == -EINVAL ? CMD_USAGE : CMD_NO_OUTPUT, &err);
}

static int flame_run(struct cmd_line *line, const void *opts)
{
	const struct flame_opts *o = opts;
	struct profile *p = NULL;
	int status;
	const struct format *format = picture_format(line, o->output, &status);
	if (status != CMD_OK)
		return status;
	status = load_profiles(line, o->filter.from, &p);
	if (status == CMD_OK)
		status = write_picture(line, o, p, format);
	profile_free(p);
	return status;
}

const struct cmd cmd_flame = {
	.name = "flame",
	.summary = "an interactive flame graph of a file",
	.usage = "FILE... -o OUT.svg [OPTIONS]",
	.about = "The width of a frame is its share of the samples; the order from left to right is the alphabet, not "
		 "time. The picture is one file for any browser: a click looks closer, Ctrl-F searches.",
	.examples = {
		"cresset flame cpu.cresset -o cpu.svg\tone picture",
		"cresset flame a.pb.gz b.pb.gz -o all.svg\tseveral files, merged",
		"cresset flame cpu.cresset -o io.svg --focus read\tonly stacks that read",
	},
	.options = flame_options,
	.opts_size = sizeof(struct flame_opts),
	.min_args = 1,
	.max_args = UINT32_MAX,
	.arg_name = "FILE",
	.run = flame_run,
};
