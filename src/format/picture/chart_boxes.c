/* Converts the frames of a lane to boxes. The open boxes are the path to the last span's node. A
 * box is listed when it starts, so when it ends, everything after it in the list is inside it. */
#include "format/picture/flame_chart.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/tree/tree.h"

#include <stdlib.h>

enum { NO_BOX = UINT32_MAX };

struct open_box {
	uint32_t box, node;
	uint32_t last_inside; /* the last box that ended directly inside it; NO_BOX */
};
struct boxer {
	const struct flame_chart *chart;
	struct chart_boxes *out;
	int64_t min_ns;
	size_t max;
	uint32_t path[CHART_MAX_DEPTH + 1], n_path;
	struct open_box open[CHART_MAX_DEPTH + 1]; /* [0] is the lane, [d + 1] a frame of depth d */
	uint32_t n_open;                           /* frames */
};

static void span_path(struct boxer *b, uint32_t node)
{
	uint32_t n = 0;
	const struct tree_node *nodes = b->chart->tree->nodes.v;
	for (; node != TREE_ROOT; node = nodes[node].parent)
		b->path[n++] = node;
	n -= n && b->chart->has_states;
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t swap = b->path[i];
		b->path[i] = b->path[n - 1 - i];
		b->path[n - 1 - i] = swap;
	}
	b->n_path = n;
}

/* Makes box i stand for itself and all boxes inside it, which are removed. */
static void swallow_inside(struct boxer *b, uint32_t i)
{
	struct chart_box *all = b->out->all.v, *box = &all[i];
	box->merged = 1;
	for (size_t k = i + 1; k < b->out->all.n; k++) {
		uint32_t rows = all[k].depth - box->depth + all[k].rows;
		box->merged += all[k].merged ? all[k].merged : 1;
		box->rows = rows > box->rows ? rows : box->rows;
	}
	b->out->all.n = i + 1;
}

/* Merges a box that is too narrow with all boxes inside it, and with a narrow box shortly before
 * it. Returns the resulting box. */
static uint32_t merge_narrow(struct boxer *b, uint32_t i, uint32_t last)
{
	struct chart_box *all = b->out->all.v;
	swallow_inside(b, i);
	if (last == NO_BOX || !all[last].merged || all[i].from_ns - all[last].to_ns > b->min_ns)
		return i;
	all[last].merged += all[i].merged;
	all[last].rows = all[i].rows > all[last].rows ? all[i].rows : all[last].rows;
	all[last].to_ns = all[i].to_ns;
	b->out->all.n = i;
	return last;
}

static void close_boxes(struct boxer *b, uint32_t keep, int64_t at_ns)
{
	while (b->n_open > keep) {
		uint32_t i = b->open[b->n_open].box;
		struct open_box *around = &b->open[b->n_open - 1];
		struct chart_box *box = &b->out->all.v[i];
		box->to_ns = at_ns;
		if (box->to_ns - box->from_ns < b->min_ns)
			i = merge_narrow(b, i, around->last_inside);
		around->last_inside = i;
		b->n_open--;
	}
}

static bool open_boxes(struct boxer *b, int64_t at_ns)
{
	while (b->n_open < b->n_path) {
		if (b->out->all.n >= b->max)
			return false;
		uint32_t depth = b->n_open++, node = b->path[depth];
		b->open[b->n_open] = (struct open_box){ b->out->all.n, node, NO_BOX };
		vec_push(&b->out->all, (struct chart_box){ node, depth, 0, 1, at_ns, at_ns });
	}
	return true;
}

static uint32_t common_frames(const struct boxer *b)
{
	uint32_t n = 0;
	while (n < b->n_open && n < b->n_path && b->open[n + 1].node == b->path[n])
		n++;
	return n;
}

bool chart_lane_boxes(const struct flame_chart *c, const struct chart_lane *lane, int64_t min_ns,
		      size_t max, struct chart_boxes *out)
{
	struct boxer *b = xcalloc(1, sizeof *b);
	size_t first = out->all.n;
	int64_t end_ns = INT64_MIN;
	bool fits = true;
	*b = (struct boxer){ .chart = c, .out = out, .min_ns = min_ns, .max = max };
	b->open[0] = (struct open_box){ NO_BOX, TREE_ROOT, NO_BOX };
	for (size_t i = lane->first; fits && i < lane->first + lane->n; i++) {
		const struct chart_span *s = &c->spans.v[i];
		span_path(b, s->node);
		close_boxes(b, s->from_ns > end_ns ? 0 : common_frames(b), end_ns);
		fits = open_boxes(b, s->from_ns);
		end_ns = s->to_ns;
	}
	close_boxes(b, 0, end_ns);
	/* Fields known only once all boxes exist. */
	for (size_t i = first; i < out->all.n; i++) {
		const struct chart_box *box = &out->all.v[i];
		uint32_t depth = box->depth + box->rows;
		out->depth = depth > out->depth ? depth : out->depth;
		out->merged += box->merged > 1 ? box->merged : 0;
	}
	free(b);
	return fits;
}
