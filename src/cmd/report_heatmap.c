#include "cmd/report_heatmap.h"

#include "base/log.h"
#include "format/heatmap_svg.h"
#include "format/heatmap_table.h"
#include "profile/time_range.h"

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
		log_info("there is nothing to show%s",
			 h.tree->unfiltered_total ? ": no stack passes the filters" : "");
	int status = output ? write_picture(p, &h, output) : print_heatmap(line, p, &h, &text, csv);
	heatmap_done(&h);
	return status;
}
