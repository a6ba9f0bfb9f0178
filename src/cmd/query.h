/* cmd/query.h: cresset query: what its views share. Each prints to standard output and returns an exit status. */
#ifndef CRESSET_CMD_QUERY_H
#define CRESSET_CMD_QUERY_H

#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/outputs.h"
#include "query/plan.h"

struct query_opts {
	struct filter_opts filter; /* the filters by frame only */
	const char *data, *from, *to, *format, *callers, *values, *diff, *diff_from, *diff_to;
	struct str_list by, outputs;
	struct text_opts text;
	uint64_t range_ns, top_n, timeout_ns, memory_bytes;
	bool tree, csv, heatmap, types, labels, series;
	int norm;
};

struct query_cmd {
	struct cmd_line *line;
	const struct query_opts *opts;
	struct profile *file; /* NULL: a store */
	struct source *source;
	const struct profile *catalog;
	struct selector *selector; /* NULL: none was given */
	struct query q;
};

/* --types, --labels, --values, --series. */
bool query_asks_list(const struct query_opts *o);
int query_list(const struct query_cmd *c);

/* --range */
int query_show_range(const struct query_cmd *c);

/* --diff, --diff-from, --diff-to: c's query is the newer side. */
bool query_asks_diff(const struct query_opts *o);
int query_show_diff(const struct query_cmd *c);

/* -o, --format, --heatmap: the answer as a profile. */
int query_write(const struct query_cmd *c);
int query_heatmap(const struct query_cmd *c);

/* The moment that an option names; text NULL: otherwise. CMD_OK or CMD_USAGE. */
int query_moment(const struct query_cmd *c, const char *option, const char *text,
		 int64_t otherwise_ns, int64_t *out_ns);

/* What a query ended with, printed: CMD_USAGE for what was asked, CMD_FAILED else. */
int query_fail(const struct err *err);

#endif
