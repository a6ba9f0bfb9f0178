/* Prints the heatmap, the tree, the callers and the idle times of GPUs. */
#include "cmd/files/report_views.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/filter.h"
#include "format/picture/svg.h"
#include "format/table/table.h"
#include "profile/tree/heatmap.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"
#include "query/gpu/gpu_idle.h"

#include <errno.h>

/* --- --heatmap --- */

static int write_picture(const struct profile *p, const struct heatmap *h, const char *path)
{
	struct err err = { 0 };
	struct out out;
	int rc = out_open(&out, path, &err);
	if (rc == 0 && (rc = heatmap_svg_write(p, h, &out, &err)) < 0)
		out_abort(&out);
	else if (rc == 0)
		rc = out_commit(&out, &err);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}

static int print_heatmap(const struct cmd_line *line, const struct profile *p,
			 const struct heatmap *h, const struct table_opts *opts, bool csv)
{
	struct buf b = { 0 };
	if (line->globals.json)
		heatmap_json(h, &b);
	else if (csv)
		heatmap_csv(h, &b);
	else
		heatmap_text(p, h, opts, &b);
	return cmd_print(&b);
}

int report_heatmap(const struct cmd_line *line, struct profile *p, const struct tree_opts *opts,
		   const char *output, bool csv)
{
	struct table_opts text = { .width = line->term.width_out,
				   .utf8 = line->term.utf8,
				   .color = line->term.color_out };
	uint32_t columns = output                      ? HEATMAP_SVG_COLUMNS
			   : csv || line->globals.json ? HEATMAP_MAX_COLUMNS
						       : heatmap_text_columns(&text);
	struct heatmap h;
	struct err err = { 0 };
	if (!profile_has_times(p))
		return cmd_usage(line, "option --heatmap: the samples here have no times");
	if (heatmap_build(p, opts, columns, &h, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	if (!h.max)
		log_info("nothing to show%s",
			 h.tree->unfiltered_total ? ": no stack passes the filters" : "");
	int status = output ? write_picture(p, &h, output) : print_heatmap(line, p, &h, &text, csv);
	heatmap_done(&h);
	return status;
}

int report_gpu_print(const struct cmd_line *line, const struct report_gpu_opts *opts,
		     const struct gpu_idle *idle)
{
	const struct term *term = &line->term;
	const struct table_opts table = { opts->top_n, term->width_out, term->utf8,
					  term->color_out };
	struct buf b = { 0 };
	struct err err = { 0 };
	int rc = 0;
	if (line->globals.json)
		rc = gpu_idle_json(idle, opts->top_n, &b, &err);
	else if (opts->csv)
		gpu_idle_csv(idle, opts->top_n, &b);
	else
		rc = gpu_idle_text(idle, &table, &b, &err);
	if (rc == 0)
		return cmd_print(&b);
	buf_done(&b);
	return report_gpu_fail(rc, &err);
}

int report_gpu_check(const struct cmd_line *line, bool is_asked, const struct opt_number *threshold)
{
	if (threshold->set && !is_asked)
		return cmd_usage(line, "--gpu-idle-threshold goes with --gpu-idle");
	if (threshold->set && !(threshold->v > 0))
		return cmd_usage(line, "--gpu-idle-threshold: below 0 percent nothing is idle");
	return CMD_OK;
}

int report_gpu_fail(int rc, const struct err *err)
{
	return cmd_fail(rc == -ENODATA ? CMD_NO_SAMPLE : CMD_USAGE, err);
}

int report_gpu_idle(const struct cmd_line *line, const struct filter_opts *filter,
		    struct profile *p, const struct report_gpu_opts *opts)
{
	struct tree_opts tree = { 0 };
	struct gpu_idle idle = { 0 };
	struct err err = { 0 };
	int status = filter_finalize(line, filter, p, &tree);
	if (status != CMD_OK)
		return status;
	if (!filter->type)
		tree.type = gpu_idle_type(p);
	int rc = gpu_idle_of_file(p, &tree, opts->threshold, &idle, &err);
	status = rc ? report_gpu_fail(rc, &err) : report_gpu_print(line, opts, &idle);
	gpu_idle_done(&idle);
	return status;
}
