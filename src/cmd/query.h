/* cmd/query.h: cresset query: what its views share. Each prints to standard output and returns an exit status. */
#ifndef CRESSET_CMD_QUERY_H
#define CRESSET_CMD_QUERY_H

#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/outputs.h"
#include "cmd/remote.h"
#include "query/ask.h"
#include "query/metrics.h"

struct query_opts {
	struct filter_opts filter; /* the filters by frame only */
	const char *data, *from, *to, *format, *callers, *values, *diff, *diff_from, *diff_to;
	struct str_list by, outputs;
	struct text_opts text;
	struct remote_opts remote;
	struct opt_number gpu_idle_threshold; /* in percent */
	uint64_t range_ns, top_n, timeout_ns, memory_bytes;
	bool tree, csv, heatmap, gpu_idle, types, labels, series;
	int norm, reduce;
};

struct query_cmd {
	struct cmd_line *line;
	const struct query_opts *opts;
	struct profile *file; /* NULL: a store */
	struct source *source;
	const struct profile *catalog;
	struct query_span span;
	struct selector *selector; /* NULL: none was given */
	struct query q;
};

/* --types, --labels, --values, --series. */
bool query_asks_list(const struct query_opts *o);
int query_list(const struct query_cmd *c);

/* --server: all of it. */
int query_remote(const struct query_cmd *c);

/* --range */
int query_show_range(const struct query_cmd *c);

/* A metric. */
bool query_asks_metric(const struct query_cmd *c);
int query_show_metric(const struct query_cmd *c);

/* --diff, --diff-from, --diff-to: c's query is the newer side. */
bool query_asks_diff(const struct query_opts *o);
int query_show_diff(const struct query_cmd *c);

/* -o, --format, --heatmap: the answer as a profile. */
int query_write(const struct query_cmd *c);
int query_heatmap(const struct query_cmd *c);

/* --gpu-idle */
int query_gpu_idle(const struct query_cmd *c);

/* Says so where ids decide that the samples do not all have (query_tree.ids_missing). */
void query_note_ids(bool missing);

/* What a query ended with, printed: CMD_USAGE for what was asked, CMD_FAILED else. */
int query_fail(const struct err *err);

#endif
