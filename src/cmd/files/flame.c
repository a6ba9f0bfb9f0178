/* cresset flame: draws a graph of one or several files. */
#include "base/err.h"
#include "base/fs.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/filter.h"
#include "cmd/files/load.h"
#include "format/formats.h"
#include "format/html/html.h"
#include "format/picture/svg.h"
#include "profile/profile.h"
#include "profile/tree/time_range.h"
#include "query/gpu/gpu_beside.h"

#include <errno.h>

struct flame_opts {
	struct filter_opts filter;
	const char *output, *title, *diff;
	int palette, widths;
	bool inverted, icicle, chart, force;
	struct opt_number min_width_px;
};

static const char *const widths[] = { "new", "old", NULL };
static const char *const palettes[] = { "auto", "kind", "binary", "wall", "classic", "mono", NULL };

#define PICTURE(member) .group = "The picture", .offset = offsetof(struct flame_opts, member)
static const struct cmd_opt flame_options[] = {
	{ "o", "output", "FILE", "OUT.svg or OUT.html; - is standard output", OPT_STRING,
	  PICTURE(output), .basic = true },
	FILTER_OPTIONS(flame_opts),
	{ NULL, "inverted", NULL, "leaf functions at the root, callers above them", OPT_FLAG,
	  PICTURE(inverted), .basic = true },
	{ NULL, "icicle", NULL, "root at the top", OPT_FLAG, PICTURE(icicle), .basic = true },
	{ NULL, "flamechart", NULL, "time on x, a lane per thread", OPT_FLAG, PICTURE(chart),
	  .basic = true },
	{ NULL, "diff", "OLD", "colour by the change since this file: red grew, blue shrank",
	  OPT_STRING, PICTURE(diff), .basic = true },
	{ NULL, "strict", NULL, "with several files: match functions by name, file and binary",
	  OPT_FLAG, PICTURE(filter.strict) },
	{ NULL, "widths", "SIDE", "frame widths of a difference: new or old", OPT_ENUM,
	  PICTURE(widths), .words = widths, .def = "new" },
	{ NULL, "palette", "NAME",
	  "colours: kind, binary, wall, classic or mono; auto: depends on the type", OPT_ENUM,
	  PICTURE(palette), .words = palettes, .def = "auto" },
	{ NULL, "min-width", "PX", "merge narrower frames into one", OPT_NUMBER,
	  PICTURE(min_width_px), .def = "0.1" },
	{ NULL, "title", "TEXT", "heading of the graph", OPT_STRING, PICTURE(title) },
	{ NULL, "force", NULL, "write graphs that are too large for browsers", OPT_FLAG,
	  PICTURE(force) },
	{ 0 },
};

/* Returns the format of the graph, from the output's name. */
static const struct format *picture_format(const struct cmd_line *line, const char *path,
					   int *status)
{
	const struct format *by_ending = path ? format_by_ending(path) : NULL;
	*status = CMD_OK;
	if (!path)
		*status = cmd_usage(line, "-o OUT.svg is missing");
	else if (strcmp(path, "-") == 0)
		by_ending = &format_svg;
	else if (by_ending != &format_svg && by_ending != &format_html)
		*status = cmd_usage(line, "'%s' does not end in .svg or .html", path);
	return by_ending;
}

/* The content of a graph: a profile, and with --diff the older one. */
struct scene {
	struct profile *p, *older;
	const struct format *format;
	struct tree_opts older_tree;
	struct format_write_opts write;
};

/* Sets the same root frames on both sides: none if one side has no thread names. */
static void settle_root_frames(const struct flame_opts *o, struct scene *s)
{
	struct tree_opts *newer = &s->write.tree, *older = &s->older_tree;
	filter_default_by(&o->filter, s->p, newer);
	if (!s->older)
		return;
	filter_default_by(&o->filter, s->older, older);
	if (newer->n_by != older->n_by)
		newer->n_by = older->n_by = 0;
}

static int settle_scene(struct cmd_line *line, const struct flame_opts *o, struct scene *s)
{
	s->write = (struct format_write_opts){
		.type = o->filter.type,
		.title = o->title,
		.palette = o->palette ? palettes[o->palette] : NULL,
		.min_width_px = o->min_width_px.v > 0 ? o->min_width_px.v : -1, /* 0: default */
		.icicle = o->icicle,
		.older_widths = o->widths,
		.force = o->force,
		.beside = query_gpu_beside,
	};
	struct tree_opts *tree = &s->write.tree;
	int status = s->older ? filter_finalize_pair(line, &o->filter, s->p, s->older, tree,
						     &s->older_tree)
			      : filter_finalize(line, &o->filter, s->p, tree);
	if (status != CMD_OK)
		return status;
	tree->inverted = s->older_tree.inverted = o->inverted;
	/* The page shows how certain a difference is, from the numbers of samples. */
	tree->with_spread = s->older && s->format == &format_html && !o->inverted;
	s->older_tree.with_spread = tree->with_spread;
	if (o->chart && !profile_has_times(s->p))
		return cmd_usage(line, "option --flamechart: the samples here have no times");
	if (!o->chart) /* lanes have names */
		settle_root_frames(o, s);
	if (s->format->one_type || s->older)
		note_other_types(s->p, tree->type);
	return CMD_OK;
}

/* Draws both sides of a difference. */
static int draw_diff(const struct scene *s, struct out *out, struct err *err)
{
	struct tree *t = NULL;
	int rc = tree_build_diff(s->p, &s->write.tree, s->older, &s->older_tree, &t, err);
	if (rc == 0 && s->format == &format_html)
		rc = html_write_diff(s->p, s->write.tree.type, t, s->older, &s->write, out, err);
	else if (rc == 0)
		rc = svg_write_tree(s->p, t, &s->write, out, err);
	tree_free(t);
	return rc;
}

static int write_drawn(const struct scene *s, const char *path, struct err *err)
{
	struct out out;
	int rc = out_open(&out, path, err);
	if (rc == 0 && (rc = s->older ? draw_diff(s, &out, err)
				      : chart_svg_write(s->p, &s->write, &out, err)) < 0)
		out_abort(&out);
	else if (rc == 0)
		rc = out_commit(&out, err);
	return rc;
}

static int write_picture(struct cmd_line *line, const struct flame_opts *o, struct scene *s)
{
	struct err err = { 0 };
	int status = settle_scene(line, o, s);
	if (status != CMD_OK)
		return status;
	int rc = s->older || o->chart
			 ? write_drawn(s, o->output, &err)
			 : format_write_file(s->format, s->p, &s->write, o->output, &err);
	if (rc == 0)
		return CMD_OK;
	return cmd_fail(rc == -EINVAL ? CMD_USAGE : CMD_NO_OUTPUT, &err);
}

static int flame_run(struct cmd_line *line, const void *opts)
{
	const struct flame_opts *o = opts;
	struct scene scene = { 0 };
	int status;
	scene.format = picture_format(line, o->output, &status);
	if (status == CMD_OK && o->chart && (o->diff || o->inverted))
		status = cmd_usage(line, "choose one of --flamechart and --%s",
				   o->diff ? "diff" : "inverted");
	if (status == CMD_OK && o->chart && scene.format == &format_html)
		status = cmd_usage(line, "a page has its timeline: --flamechart is for .svg");
	if (status != CMD_OK)
		return status;
	const struct load_opts load = filter_load(&o->filter);
	status = load_sides(line, &load, o->diff, &scene.p, &scene.older);
	if (status == CMD_OK)
		status = write_picture(line, o, &scene);
	profile_free(scene.p);
	profile_free(scene.older);
	return status;
}

const struct cmd cmd_flame = {
	.name = "flame",
	.summary = "an interactive flame graph of a file",
	.usage = "FILE... -o OUT.svg|OUT.html [OPTIONS]",
	.about = "The width of a frame is its share of the samples; the order from left to "
		"right is alphabetical, not time. With --flamechart the x axis is time: each "
		"thread has a lane, waits are drawn from start to end, and a sample stands for "
		"the period around it. OUT.svg is one file for any browser: a click zooms, "
		"Ctrl-F searches. OUT.html is a page in one file: all types, a timeline with "
		"threads, a table.",
	.examples = {
		"cresset flame cpu.cresset -o cpu.svg\tone SVG file",
		"cresset flame cpu.cresset -o cpu.html\ta page, with a timeline",
		"cresset flame cpu.cresset -o io.svg --focus read\tonly stacks that read",
	},
	.options = flame_options,
	.opts_size = sizeof(struct flame_opts),
	.min_args = 1,
	.max_args = UINT32_MAX,
	.arg_name = "FILE",
	.run = flame_run,
};
