/* cmd/report_heatmap.h: report --heatmap: a matrix of time instead of a table of functions. */
#ifndef CRESSET_CMD_REPORT_HEATMAP_H
#define CRESSET_CMD_REPORT_HEATMAP_H

#include "cmd/cmd.h"
#include "profile/tree.h"

/* Into the file called output as SVG, with NULL onto standard output as text, CSV or JSON. Returns an exit status. */
int report_heatmap(const struct cmd_line *line, struct profile *p, const struct tree_opts *opts,
		   const char *output, bool csv);

#endif
