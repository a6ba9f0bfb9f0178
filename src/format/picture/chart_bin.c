/* Writes the flame chart of one thread as a binary tree. */
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/common/tree_bin.h"
#include "format/picture/flame_chart.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Boxes being converted to a tree. */
struct chart_tree {
	const struct flame_chart *chart;
	const struct chart_bin_opts *opts;
	struct tree *tree;
	VEC(int64_t) starts;
	uint32_t open[CHART_MAX_DEPTH + 2]; /* the last node of each depth; [0]: the root */
	uint32_t last[CHART_MAX_DEPTH + 2]; /* the last child of each of them; TREE_NONE */
};

static int64_t axis_ns(const struct chart_bin_opts *opts)
{
	return sum_sub(opts->to_ns, opts->from_ns);
}

static int64_t on_axis(const struct chart_tree *c, int64_t chart_ns)
{
	int64_t length = axis_ns(c->opts);
	return chart_ns < 0 ? 0 : chart_ns > length ? length : chart_ns;
}

static uint32_t box_func(struct chart_tree *c, const struct chart_box *box)
{
	const struct tree *from = c->chart->tree;
	if (box->merged <= 1)
		return tree_func_copy(c->tree, from, from->nodes.v[box->node].func);
	char name[48];
	int len = snprintf(name, sizeof name, "(%u frames)", box->merged);
	struct tree_func f = { .name = strtab_putn(&c->tree->strings, name, len),
			       .kind = FRAME_REST };
	return tree_func_intern(c->tree, &f);
}

/* Adds a node. A child's time is subtracted from its parent's self time. */
static void add_box(struct chart_tree *c, const struct chart_box *box)
{
	uint32_t id = c->tree->nodes.n, depth = box->depth, parent = c->open[depth];
	int64_t from_ns = on_axis(c, box->from_ns), length = on_axis(c, box->to_ns) - from_ns;
	struct tree_node node = { .parent = parent,
				  .first_child = TREE_NONE,
				  .next = TREE_NONE,
				  .func = box_func(c, box),
				  .self = length };
	vec_push(&c->tree->nodes, node);
	vec_push(&c->starts, from_ns);
	c->tree->nodes.v[parent].self -= length;
	if (c->last[depth] == TREE_NONE)
		c->tree->nodes.v[parent].first_child = id;
	else
		c->tree->nodes.v[c->last[depth]].next = id;
	c->last[depth] = id;
	c->open[depth + 1] = id;
	c->last[depth + 1] = TREE_NONE;
}

static void make_tree(struct chart_tree *c, const struct chart_boxes *boxes)
{
	c->tree = tree_new();
	tree_set_unit(c->tree, c->chart->tree->type_name, "nanoseconds", 0, NULL);
	c->tree->nodes.v[TREE_ROOT].self = axis_ns(c->opts);
	vec_push(&c->starts, 0);
	c->last[0] = TREE_NONE;
	for (size_t i = 0; i < boxes->all.n; i++)
		add_box(c, &boxes->all.v[i]);
	tree_total(c->tree);
	c->tree->unfiltered_total = c->tree->nodes.v[TREE_ROOT].total;
}

static int check_threads(const struct flame_chart *chart, struct err *err)
{
	if (chart->n_threads <= 1)
		return 0;
	err_set(err, EINVAL, "a chart in this format has one thread, but there are %u",
		chart->n_threads);
	err_hint(err, "add the thread to the selector: cpu{pid=\"…\",tid=\"…\"}");
	return -EINVAL;
}

static int write_chart(const struct flame_chart *chart, const struct chart_bin_opts *opts,
		       struct buf *out, struct err *err)
{
	struct chart_tree *c = xcalloc(1, sizeof *c);
	struct chart_boxes boxes = { 0 };
	int64_t min_ns = axis_ns(opts) / opts->px;
	*c = (struct chart_tree){ .chart = chart, .opts = opts };
	int rc = 0;
	if (chart->lanes.n &&
	    !chart_lane_boxes(chart, &chart->lanes.v[0], min_ns, CHART_BIN_MAX_BOXES, &boxes))
		rc = err_set(err, E2BIG,
			     "the chart has more than %d frames: select a shorter range",
			     CHART_BIN_MAX_BOXES);
	if (rc == 0) {
		make_tree(c, &boxes);
		struct tree_bin_opts bin = { .from_ns = opts->from_ns,
					     .to_ns = opts->to_ns,
					     .starts_ns = c->starts.v };
		tree_bin_write(c->tree, &bin, out);
		tree_free(c->tree);
		vec_done(&c->starts);
	}
	vec_done(&boxes.all);
	free(c);
	return rc;
}

int chart_bin_write(struct profile *p, const struct chart_bin_opts *opts, struct buf *out,
		    struct err *err)
{
	struct flame_chart chart;
	const struct chart_opts how = { .tree = opts->tree };
	p->meta.start_mono_ns = opts->from_ns; /* the axis is the requested range */
	p->meta.duration_ns = axis_ns(opts);
	int rc = flame_chart_build(p, &how, &chart, err);
	if (rc == 0)
		rc = check_threads(&chart, err);
	if (rc == 0)
		rc = write_chart(&chart, opts, out, err);
	flame_chart_done(&chart);
	return rc;
}
