/* cmd/files/report_views.h: views of report and query other than the table of functions.
 *
 *     --gpu-idle   how long GPUs were idle, what ended that, and what their processes did
 *                  in the meantime
 *     --heatmap    a matrix of time */
#ifndef CRESSET_CMD_FILES_REPORT_VIEWS_H
#define CRESSET_CMD_FILES_REPORT_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

struct cmd_line;
struct err;
struct filter_opts;
struct gpu_idle;
struct opt_number;
struct profile;
struct tree_opts;

/* Prints to standard output as text, CSV (gaps only) or JSON, at most top_n rows of each table.
 * Returns an exit status. */
struct report_gpu_opts {
	uint32_t top_n;
	bool csv;
	double threshold; /* for readings of a file: a share; 0: GPU_IDLE_THRESHOLD */
};
int report_gpu_print(const struct cmd_line *line, const struct report_gpu_opts *opts,
		     const struct gpu_idle *idle);
/* Checks --gpu-idle and --gpu-idle-threshold, in percent. Returns an exit status. */
int report_gpu_check(const struct cmd_line *line, bool is_asked,
		     const struct opt_number *threshold);
/* Reports an error of gpu_idle_build or gpu_idle_query. Returns an exit status. */
int report_gpu_fail(int rc, const struct err *err);

/* For a file. */
int report_gpu_idle(const struct cmd_line *line, const struct filter_opts *filter,
		    struct profile *p, const struct report_gpu_opts *opts);

/* Writes the heatmap to the file called output as SVG; NULL: to standard output as text, CSV or
 * JSON. Returns an exit status. */
int report_heatmap(const struct cmd_line *line, struct profile *p, const struct tree_opts *opts,
		   const char *output, bool csv);

#endif
