#include "cmd/report_gpu.h"

#include <errno.h>

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
	int status = filter_settle(line, filter, p, &tree);
	if (status != CMD_OK)
		return status;
	if (!filter->type)
		tree.type = gpu_idle_type(p);
	int rc = gpu_idle_of_file(p, &tree, opts->threshold, &idle, &err);
	status = rc ? report_gpu_fail(rc, &err) : report_gpu_print(line, opts, &idle);
	gpu_idle_done(&idle);
	return status;
}
