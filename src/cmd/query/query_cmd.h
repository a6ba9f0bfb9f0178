/* cmd/query/query_cmd.h: one run of cresset query, and its views. Each view prints to standard
 * output and returns an exit status. */
#ifndef CRESSET_CMD_QUERY_QUERY_CMD_H
#define CRESSET_CMD_QUERY_QUERY_CMD_H

#include "cmd/cli/cmd.h"
#include "cmd/files/filter.h"
#include "cmd/files/outputs.h"
#include "cmd/query/remote.h"
#include "query/query.h"
#include "query/query_parse.h"

struct err;

struct query_opts {
	struct filter_opts filter; /* only the filters by frame */
	const char *data, *from, *to, *format, *callers, *values, *diff, *diff_from, *diff_to;
	struct str_list by, outputs;
	struct text_opts text;
	struct remote_opts remote;
	struct opt_number gpu_idle_threshold; /* in percent */
	uint64_t range_ns, top_n, timeout_ns, memory_bytes;
	bool tree, csv, heatmap, gpu_idle, leaks, types, labels, series;
	int norm, reduce, older;
};

struct query_cmd {
	struct cmd_line *line;
	const struct query_opts *opts;
	struct profile *file; /* NULL: a store */
	struct source *source;
	const struct profile *catalog;
	struct query_span span;
	struct selector *selector; /* NULL: not given */
	struct query q;
};

/* --types, --labels, --values, --series. */
bool query_asks_list(const struct query_opts *o);
int query_list(const struct query_cmd *c);

/* --server: the whole command. */
int query_remote(const struct query_cmd *c);

/* --leaks, --older */
int query_show_leaks(const struct query_cmd *c);

/* --range */
int query_show_range(const struct query_cmd *c);

/* A metric. */
bool query_asks_metric(const struct query_cmd *c);
int query_show_metric(const struct query_cmd *c);

/* --diff, --diff-from, --diff-to: c's query is the newer side. */
bool query_asks_diff(const struct query_opts *o);
int query_show_diff(const struct query_cmd *c);

/* -o, --format, --heatmap: the result as a profile. */
int query_write(const struct query_cmd *c);
int query_heatmap(const struct query_cmd *c);

/* Prints a note if some samples lack the ids that the result depends on
 * (query_tree.ids_missing). */
void query_note_ids(bool missing);

/* Prints the error of a query. Returns CMD_USAGE if the query was wrong, else CMD_FAILED. */
int query_fail(const struct err *err);

#endif
