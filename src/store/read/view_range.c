/* Finds the first and the last time of a view: reads, of each day that could have them, the windows
 * of its outermost blocks, and the rows of heads. */
#include "store/day/view_state.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

struct range {
	int64_t from_ns, to_ns; /* INT64_MAX, INT64_MIN: none yet */
	int64_t windows[BLOCK_MAX_WINDOWS];
};

static int64_t ref_end(const struct part_ref *ref)
{
	return ref->from_ns + ref->windows * BLOCK_WINDOW_NS;
}

static int by_start(const void *a, const void *b)
{
	const struct part_ref *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int by_end(const void *a, const void *b)
{
	int64_t x = ref_end(a), y = ref_end(b);

	return (x < y) - (x > y);
}

static void take_window(struct range *r, int64_t time_ns)
{
	if (time_ns < r->from_ns)
		r->from_ns = time_ns;
	if (time_ns + BLOCK_WINDOW_NS > r->to_ns)
		r->to_ns = time_ns + BLOCK_WINDOW_NS;
}

static int take_block(struct range *r, struct part *part, const struct part_ref *ref,
		      struct err *err)
{
	int rc = part_read_windows(part, ref, r->windows, err);
	uint32_t first = 0, end = ref->windows;

	if (rc)
		return rc;
	while (first < end && !r->windows[first])
		first++;
	while (first < end && !r->windows[end - 1])
		end--;
	if (first == end)
		return 0;
	take_window(r, ref->from_ns + first * BLOCK_WINDOW_NS);
	take_window(r, ref->from_ns + (end - 1) * BLOCK_WINDOW_NS);
	return 0;
}

/* Reads blocks from both ends until no further one can extend the range. */
static int take_blocks(struct range *r, struct part *part, struct part_ref *refs, size_t n,
		       struct err *err)
{
	int rc = 0;

	if (n)
		qsort(refs, n, sizeof *refs, by_start);
	for (size_t i = 0; rc == 0 && i < n && refs[i].from_ns < r->from_ns; i++)
		rc = take_block(r, part, &refs[i], err);
	if (n)
		qsort(refs, n, sizeof *refs, by_end);
	for (size_t i = 0; rc == 0 && i < n && ref_end(&refs[i]) > r->to_ns; i++)
		rc = take_block(r, part, &refs[i], err);
	return rc;
}

static bool is_range_of(const struct store_range *k, const struct part_info *info)
{
	return k->is_known && k->inbox_sequence == info->inbox_sequence && k->rows == info->rows &&
	       k->blocks == info->blocks;
}

static int read_blocks(struct part *part, struct store_range *out, struct err *err)
{
	struct range *r = xcalloc(1, sizeof *r);
	struct part_ref *refs = NULL;
	struct part_info info;
	size_t n = 0;

	r->from_ns = INT64_MAX;
	r->to_ns = INT64_MIN;
	int rc = part_find(part, NULL, 0, INT64_MIN, INT64_MAX, &refs, &n, err);
	part_get_info(part, &info);
	if (rc == 0)
		rc = take_blocks(r, part, refs, n, err);
	*out = (struct store_range){ rc == 0,     info.inbox_sequence, info.rows,
				     info.blocks, r->from_ns,          r->to_ns };
	free(refs);
	free(r);
	return rc;
}

/* Returns the cached range if it is of the reader's blocks; reads and caches it otherwise. */
static int find_blocks(struct store *s, struct store_part *sp, struct part *part,
		       struct store_range *out, struct err *err)
{
	struct part_info info;
	int rc = 0;

	part_get_info(part, &info);
	pthread_mutex_lock(&s->lock);
	*out = sp->range;
	pthread_mutex_unlock(&s->lock);
	if (is_range_of(out, &info))
		return 0;
	rc = read_blocks(part, out, err);
	pthread_mutex_lock(&s->lock);
	if (rc == 0)
		sp->range = *out;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void take_head(void *ctx, const struct view_head *h)
{
	for (size_t i = 0; i < h->rows; i++)
		take_window(ctx, h->head->from_ns + h->head->rows.v[i].window * BLOCK_WINDOW_NS);
}

static void take_point(struct range *r, int64_t time_ns)
{
	take_window(r, time_ns / BLOCK_WINDOW_NS * BLOCK_WINDOW_NS);
}

static void take_metric_heads(struct range *r, struct store_view *v, const struct view_part *vp)
{
	pthread_mutex_lock(&v->s->lock);
	const struct heads *heads = vp->kept ? &vp->kept->heads : &vp->sp->heads;
	for (size_t i = 0; i < vp->points.n; i++)
		for (size_t k = 0; k < vp->points.v[i]; k++)
			take_point(r, heads->metrics.all.v[i].points.v[k].time_ns);
	pthread_mutex_unlock(&v->s->lock);
}

static int take_metrics(struct range *r, struct store_view *v, struct view_part *vp,
			struct part *part, struct err *err)
{
	int64_t first_ns = INT64_MIN, last_ns = INT64_MIN;
	int rc = part_points_range(part, &first_ns, &last_ns, err);

	if (rc == 0 && last_ns >= 0) {
		take_point(r, first_ns);
		take_point(r, last_ns);
	}
	take_metric_heads(r, v, vp);
	return rc;
}

static int take_part(struct range *r, struct store_view *v, struct view_part *vp, struct err *err)
{
	struct part_reader *reader;
	struct store_range blocks;

	view_heads(v, vp, INT64_MIN, INT64_MAX, take_head, r);
	int rc = view_reader(v, vp, &reader, err);
	if (rc == 0)
		rc = find_blocks(v->s, vp->sp, reader->part, &blocks, err);
	if (rc == 0) {
		r->from_ns = blocks.from_ns < r->from_ns ? blocks.from_ns : r->from_ns;
		r->to_ns = blocks.to_ns > r->to_ns ? blocks.to_ns : r->to_ns;
	}
	if (rc == 0)
		rc = take_metrics(r, v, vp, reader->part, err);
	return rc;
}

/* Takes a part; one that cannot be read has no data. */
static void look_at(struct range *r, struct store_view *v, struct view_part *vp)
{
	struct err err = { 0 };
	int rc = take_part(r, v, vp, &err);

	view_leave_out(v, vp, rc, &err);
}

/* Skips days between the first and the last with data. */
static void find_range(struct store_view *v, struct range *r)
{
	struct view_part *parts = v->parts.v;
	size_t n = v->parts.n, i = 0;

	for (; i < n && (r->to_ns == INT64_MIN || parts[i].sp->day_ns == parts[i - 1].sp->day_ns);
	     i++)
		look_at(r, v, &parts[i]);
	for (; n > i && parts[n - 1].sp->day_ns + STORE_DAY_NS > r->to_ns; n--)
		look_at(r, v, &parts[n - 1]);
}

void store_view_range(struct store_view *v, int64_t *from_ns, int64_t *to_ns)
{
	if (!v->has_range) {
		struct range *r = xcalloc(1, sizeof *r);

		r->from_ns = INT64_MAX;
		r->to_ns = INT64_MIN;
		find_range(v, r);
		v->has_range = true;
		v->from_ns = r->to_ns == INT64_MIN ? 0 : r->from_ns;
		v->to_ns = r->to_ns == INT64_MIN ? 0 : r->to_ns;
		free(r);
	}
	*from_ns = v->from_ns;
	*to_ns = v->to_ns;
}
